/* SPDX-License-Identifier: BSD-3-Clause
 * Memory that is counted, and that runs out. */
#ifndef TEST_RELAY_PURSE_H
#define TEST_RELAY_PURSE_H

#include "nbcoll/nbcoll.h"

typedef struct purse {
    int left;         /* times that there is memory */
    size_t out, most; /* bytes */
} purse;

nbcoll_host purse_host(purse *p);

#endif
