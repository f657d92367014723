/* SPDX-License-Identifier: BSD-3-Clause
 * Communicators that expose memory: where all ranks share it, an operation is served by its algorithm for that,
 * whatever it costs; a reduction up to 4096 bytes. For the tests of cells: the cost model chooses messages often. */
#ifndef NATIVE_H
#define NATIVE_H

#include "nbcoll/nbcoll.h"
#include "nbcoll/select.h"

typedef struct native {
    nbcoll_comm_config config;
    nbcoll_rule rule[NBCOLL_OPERATION_COUNT];
} native;

/* Adds the rules to a configuration (null: the defaults) that has none. */
void native_init(native *n, const nbcoll_comm_config *config);

#endif
