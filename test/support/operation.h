/* SPDX-License-Identifier: BSD-3-Clause
 * One call of a collective as all ranks make it: its buffers, its three forms, and what it must have done, computed in
 * plain serial C. */
#ifndef OPERATION_H
#define OPERATION_H

#include <stddef.h>
#include <stdint.h>

#include "nbcoll/nbcoll.h"
#include "nbcoll/schedule.h"

typedef struct operation {
    nbcoll_operation what;
    int root;             /* 0 where there is none */
    size_t count;
    nbcoll_reduction how; /* the type everywhere, the op where there is one */
    int in_place;         /* on the ranks that may */
    uint64_t seed;        /* of the inputs; in the v and w forms also of the blocks, of 0 to `count` elements each */
    int counts_known;     /* the communicator has NBCOLL_COUNTS_KNOWN */
} operation;

/* What one rank passes: buffers, null where it has none, and not a byte longer than needed; in the v and w forms the
 * arrays that it needs, of the send and of the receive buffer. */
typedef struct share {
    void *send, *recv;
    size_t *counts[2], *displs[2], count[2];
    nbcoll_type *types[2];
} share;

/* Anything that a communicator of so many ranks can do with at most `most` elements. */
operation operation_random(uint64_t *random, int ranks, size_t most);
/* The pairs of a type and an op that it has: the i-th, and how many there are. */
nbcoll_reduction operation_reduction(size_t i);
size_t operation_reductions(void);

/* The buffers of a rank with its inputs in them, the rest filled with garbage; and their end. */
share share_make(const operation *o, int rank, int ranks);
void share_free(share *s);

nbcoll_status operation_start(const operation *o, const share *s, nbcoll_comm *comm, nbcoll_request *request);
nbcoll_status operation_init(const operation *o, const share *s, nbcoll_comm *comm, nbcoll_request *request);
nbcoll_status operation_call(const operation *o, const share *s, nbcoll_comm *comm, uint64_t timeout);

/* Fails the test, and says which operation it was, unless the rank has its result and kept its inputs. */
void operation_check(const operation *o, const share *s, int rank, int ranks);

#endif
