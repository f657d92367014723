/* SPDX-License-Identifier: BSD-3-Clause
 * Alltoall of blocks of different lengths and types: the algorithms, and the calls. */
#include "forms.h"

#define NBCOLLI_ALLTOALLW_ALGORITHMS(X)                                                                                \
    X(ALLTOALLW, alltoall_flat, flat, 0, NBCOLLI_NO_COST)                                                              \
    X(ALLTOALLW, alltoall_pairwise, pairwise, 0, NBCOLLI_NO_COST)                                                      \
    X(ALLTOALLW, alltoall_flat_sequential, flat_sequential, 0, NBCOLLI_NO_COST)                                        \
    X(ALLTOALLW, alltoall_flat_sequential_sends, flat_sequential_sends, 0, NBCOLLI_NO_COST)                            \
    X(ALLTOALLW, alltoall_flat_sequential_receives, flat_sequential_receives, 0, NBCOLLI_NO_COST)
NBCOLLI_TABLE(alltoallw, ALLTOALLW)
const nbcolli_algorithms nbcolli_algorithms_alltoallw = NBCOLLI_ALL_OF(alltoallw);

NBCOLLI_FORMS(alltoallw,
              (const void *send, const size_t send_counts[], const size_t send_displs[], const nbcoll_type send_types[],
               void *recv, const size_t recv_counts[], const size_t recv_displs[], const nbcoll_type recv_types[],),
              .args = {.operation = NBCOLL_OPERATION_ALLTOALLW}, .send = send, .recv = recv,
              .blocks = {{.counts = send_counts, .displs = send_displs, .types = send_types},
                         {.counts = recv_counts, .displs = recv_displs, .types = recv_types}})
