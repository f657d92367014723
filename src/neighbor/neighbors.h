/* SPDX-License-Identifier: BSD-3-Clause
 * Neighbours on a communicator, with the schedules of the last calls. */
#ifndef NBCOLLI_NEIGHBORS_H
#define NBCOLLI_NEIGHBORS_H

#include "neighbor.h"

/* A call, with copies of its arrays and of the descriptors of its types behind it. */
typedef struct nbcolli_cached_call {
    struct nbcolli_cached_call *next;
    size_t memory;
    nbcoll_schedule *schedule;
    nbcolli_neighbor_call call;
    size_t sent, received; /* how far it reaches into the buffers */
} nbcolli_cached_call;

struct nbcoll_neighbors {
    nbcoll_host host;
    nbcoll_comm *comm; /* made for them */
    nbcolli_around *around;
    nbcoll_terms terms;
    uint32_t exposures;          /* that an operation may make on a rank */
    nbcolli_cached_call *cached; /* the one used last first */
};

/* cached.c: the call's schedule, built where none of the last calls was like it. */
nbcoll_status nbcolli_cached_find(nbcoll_neighbors *n, const nbcolli_neighbor_call *c, nbcolli_cached_call **out);
/* All of them. ERR_BUSY: some are in use, and stay. */
nbcoll_status nbcolli_cached_free(nbcoll_neighbors *n);

/* forgo.c: in place of the split, by a rank that lacks memory for it: the split ends with ERR_MEMORY on all ranks. */
void nbcolli_neighbors_forgo(nbcoll_comm *comm);

#endif
