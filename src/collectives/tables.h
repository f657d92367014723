/* SPDX-License-Identifier: BSD-3-Clause
 * The algorithms of each collective. */
#ifndef NBCOLLI_COLLECTIVES_TABLES_H
#define NBCOLLI_COLLECTIVES_TABLES_H

#include "../select/select.h"

extern const nbcolli_algorithms nbcolli_algorithms_barrier;
extern const nbcolli_algorithms nbcolli_algorithms_bcast;
extern const nbcolli_algorithms nbcolli_algorithms_scatter;
extern const nbcolli_algorithms nbcolli_algorithms_gather;
extern const nbcolli_algorithms nbcolli_algorithms_allgather;
extern const nbcolli_algorithms nbcolli_algorithms_reduce;
extern const nbcolli_algorithms nbcolli_algorithms_allreduce;
extern const nbcolli_algorithms nbcolli_algorithms_scatterv;
extern const nbcolli_algorithms nbcolli_algorithms_gatherv;
extern const nbcolli_algorithms nbcolli_algorithms_allgatherv;
extern const nbcolli_algorithms nbcolli_algorithms_alltoall;
extern const nbcolli_algorithms nbcolli_algorithms_alltoallv;
extern const nbcolli_algorithms nbcolli_algorithms_alltoallw;
extern const nbcolli_algorithms nbcolli_algorithms_reduce_scatter;
extern const nbcolli_algorithms nbcolli_algorithms_reduce_scatter_block;
extern const nbcolli_algorithms nbcolli_algorithms_scan;
extern const nbcolli_algorithms nbcolli_algorithms_exscan;

#endif
