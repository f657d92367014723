/* SPDX-License-Identifier: BSD-3-Clause
 * A host whose memory is counted, and which has none when the test says so. */
#ifndef TALLY_H
#define TALLY_H

#include "nbcoll/nbcoll.h"

typedef struct tally {
    size_t used;        /* bytes */
    int (*lacks)(void); /* asked at each allocation; null: there is always memory */
} tally;

nbcoll_host tally_host(tally *t);

#endif
