/* SPDX-License-Identifier: BSD-3-Clause
 * One point of the grid as calls: what each rank passes, and what must stand in its buffers at the end. */
#ifndef CALL_H
#define CALL_H

#include "buffers.h"
#include "point.h"
#include "reference.h"

typedef struct share {
    buffer send, recv;
    passed passes; /* to the library */
    passed truly;  /* what the reference reads: the same before the call, with counts that the library ignores */
} share;

typedef struct call {
    point p;
    collective c;
    size_t bytes; /* of all buffers */
    char text[POINT_TEXT];
    share of[POINT_RANKS_MOST];
} call;

call *call_make(const point *p);
void call_free(call *c);

/* The rank's buffers as they were. */
void call_restore(const call *c, int rank);
/* Says what is wrong at this rank's end; 0 if nothing is. */
int call_check(const call *c, int rank);

/* This rank's call in its forms. */
nbcoll_status call_start(const call *c, int rank, nbcoll_comm *comm, nbcoll_request *request);
nbcoll_status call_init(const call *c, int rank, nbcoll_comm *comm, nbcoll_request *request);
nbcoll_status call_blocking(const call *c, int rank, nbcoll_comm *comm, uint64_t timeout);

#endif
