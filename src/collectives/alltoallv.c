/* SPDX-License-Identifier: BSD-3-Clause
 * Alltoall of blocks of different lengths: the algorithms, and the calls. */
#include "forms.h"

#define NBCOLLI_ALLTOALLV_ALGORITHMS(X)                                                                                \
    X(ALLTOALLV, alltoall_flat, flat, 0, NBCOLLI_NO_COST)                                                              \
    X(ALLTOALLV, alltoall_pairwise, pairwise, 0, NBCOLLI_NO_COST)                                                      \
    X(ALLTOALLV, alltoall_flat_sequential, flat_sequential, 0, NBCOLLI_NO_COST)                                        \
    X(ALLTOALLV, alltoall_flat_sequential_sends, flat_sequential_sends, 0, NBCOLLI_NO_COST)                            \
    X(ALLTOALLV, alltoall_flat_sequential_receives, flat_sequential_receives, 0, NBCOLLI_NO_COST)
NBCOLLI_TABLE(alltoallv, ALLTOALLV)
const nbcolli_algorithms nbcolli_algorithms_alltoallv = NBCOLLI_ALL_OF(alltoallv);

NBCOLLI_FORMS(alltoallv,
              (const void *send, const size_t send_counts[], const size_t send_displs[], void *recv,
               const size_t recv_counts[], const size_t recv_displs[], nbcoll_type type,),
              .args = {.operation = NBCOLL_OPERATION_ALLTOALLV, .reduction = {type, NBCOLL_SUM}},
              .send = send, .recv = recv, .blocks = {{.counts = send_counts, .displs = send_displs},
                                                     {.counts = recv_counts, .displs = recv_displs}})
