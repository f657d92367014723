/* SPDX-License-Identifier: BSD-3-Clause
 * Requests, and where the regions of a schedule lie in the buffers of one. Inline: look-ups. */
#ifndef NBCOLLI_ENGINE_STATE_REQUEST_H
#define NBCOLLI_ENGINE_STATE_REQUEST_H

#include <stdatomic.h>

#include "operation.h"
#include "../../reduce/packed.h"

/* The blocks of a buffer, one for each rank, as the call described them: the arrays are the caller's. */
typedef struct nbcolli_blocks {
    const size_t *counts;     /* null: every block is the first `count` elements of the buffer */
    const size_t *displs;     /* elements; with `types`: bytes */
    const nbcoll_type *types; /* null: all of `type` */
    nbcoll_type type;
    size_t element; /* bytes of one of `type` there */
    size_t count;
} nbcolli_blocks;

#define NBCOLLI_AS_COUNTED SIZE_MAX /* bytes of a buffer: follow from the counts and displacements of its blocks */

struct nbcolli_request {
    /* As nbcoll_request_head and nbcoll_start_block. Written under the lock, read without it: inline, and after a
     * failed try-lock. `state` hands the rest, and the program's buffers, over: a start stores HANDED; progress ACTIVE,
     * then ENDED or OVER with release; a call that reports the end the others; an inline look turns OVER into INACTIVE.
     * The call that releases the request counts `generation` up. */
    _Atomic uint64_t generation;
    _Atomic uint32_t state;           /* nbcolli_request_state */
    nbcoll_status status;             /* progress */
    const volatile uint32_t *process; /* made */
    nbcoll_status (*restart)(nbcoll_start_block *at); /* the context's while it keeps a run, else null: as `kept` */

    nbcoll_context *context; /* made */

    uint64_t reported; /* bit i: a callback reported the end of the request that had the entry 1 + i generations ago;
                          the last bit stands for all older ones, too. The call that releases it writes it */

    uint8_t persistent; /* the call that opens it */
    uint8_t detached; /* a call whose deadline is over: released by itself at its end */
    uint8_t calling;  /* in the list of callbacks to run: set by progress, cleared by the way out of a call */

    /* The start, before it hands the request over; then progress. */
    uint64_t tag;       /* of its last start */
    nbcolli_run *run;   /* taken for it, if a slot seemed free; then while active and not waiting for its slot */
    uint64_t history;   /* of its communicator, before that tag (history.h). Apart from it, or gcc would join the
                           stores */
    nbcolli_request *next; /* in the free list or its schedule's, or of those handed over or ended: written by the
                              list's owner. Here, or replays are slower */
    nbcolli_run *kept;  /* its own, which a start may replay; null: a start takes one from the pool. A request with its
                           own run has no callback, and its context one thread */

    /* The call that opens it. */
    nbcolli_executor *executor; /* that carries it out, all or its inner part; null: runs do */
    nbcoll_schedule *schedule;
    nbcoll_comm *comm; /* progress, if that is not made in the end */
    const void *send;
    void *recv;
    size_t extent; /* bytes of the receive buffer that the call named, or NBCOLLI_AS_COUNTED */
    nbcolli_list_item listed; /* in the communicator's list, if it is persistent */

    nbcoll_done *done; /* these two: nbcoll_on_done */
    void *user;
    nbcoll_comm *creating;  /* the communicator that this request makes: the call that opens it; progress, at its end */
    nbcolli_list_item queued; /* in a slot's list of those that wait: progress, and a call that cancels */
    nbcolli_blocks blocks[2]; /* of the send and the receive buffer, if the call has such: the call that opens it */
    nbcoll_op op;             /* that the call named, if its schedule has stand-ins: likewise */
    nbcoll_host_type states;  /* of an operation that resolves, the type of its blocks: likewise */

    nbcolli_executed executed; /* of one with an executor: that writes it */

    nbcolli_list_item unreported;     /* as that list of its context: calls and progress */
    const nbcoll_request *seen_at;    /* where its handle was at the last look at all: calls for several */
};

_Static_assert(offsetof(nbcolli_request, generation) == offsetof(nbcoll_request_head, generation) &&
                   offsetof(nbcolli_request, state) == offsetof(nbcoll_request_head, state) &&
                   offsetof(nbcolli_request, status) == offsetof(nbcoll_request_head, outcome) &&
                   offsetof(nbcolli_request, process) == offsetof(nbcoll_start_block, process) &&
                   offsetof(nbcolli_request, restart) == offsetof(nbcoll_start_block, restart) &&
                   offsetof(nbcolli_request, context) == sizeof(nbcoll_start_block) && sizeof(_Atomic uint64_t) == 8 &&
                   sizeof(_Atomic uint32_t) == 4 && sizeof(nbcoll_status) == 4,
               "a request begins as it is published");

/* Acquire: who sees its end sees the buffers, and how it ended. */
static inline unsigned nbcolli_state_of(const nbcolli_request *r)
{
    return atomic_load_explicit(&r->state, memory_order_acquire);
}

/* Has it been started, and not ended? */
static inline int nbcolli_is_pending(unsigned state)
{
    return state == NBCOLLI_REQUEST_ACTIVE || state == NBCOLLI_REQUEST_HANDED;
}

/* Does an executor have all of it? */
static inline int nbcolli_is_executed(const nbcolli_request *r)
{
    return r->executor && !(r->schedule && r->schedule->is_cut);
}

/* A cut one has failed, or is to end. `tell`: as nbcolli_run_fail. */
static inline void nbcolli_executed_fail(nbcolli_request *r, int tell)
{
    if (r->executor)
        r->executor->does->cancel(r->executor, r, tell);
}

/* Has it ended, and has that not been reported? */
static inline int nbcolli_is_unreported(unsigned state)
{
    return state >= NBCOLLI_REQUEST_ENDED;
}

/* Chunk i of the table holds 64 << i requests. */
#define NBCOLLI_REQUEST_CHUNK 64u
#define NBCOLLI_REQUEST_CHUNKS 24u

/* Block i of a buffer as it travels, at `at`. */
static inline nbcoll_memory nbcolli_block_packed(const nbcolli_blocks *blocks, unsigned char *at, size_t i)
{
    nbcoll_type type = blocks->types ? nbcolli_type_at(blocks->types, blocks->counts, i) : blocks->type;
    return (nbcoll_memory){at, nbcolli_number_or(blocks->counts, i, blocks->count) * nbcolli_packed_size(type), type};
}

/* Where block i of a buffer lies. */
static inline nbcoll_memory nbcolli_block(const nbcolli_blocks *blocks, unsigned char *base, size_t i)
{
    nbcoll_type type = blocks->types ? nbcolli_type_at(blocks->types, blocks->counts, i) : blocks->type;
    size_t element = blocks->types ? nbcoll_type_size(type) : blocks->element;
    size_t count = nbcolli_number_or(blocks->counts, i, blocks->count);
    size_t place = nbcolli_number_or(blocks->counts ? blocks->displs : NULL, i, 0) * (blocks->types ? 1 : element);
    int is_somewhere = count && (element || nbcolli_packs(type)); /* no bytes: null is allowed */
    return (nbcoll_memory){is_somewhere ? base + place : base, count * element, type};
}

/* Where a region of the schedule that is a block lies in this run, and its bytes. Not inlined, so that nbcolli_resolve
 * is: most regions are no blocks. */
static __attribute__((noinline, unused)) nbcoll_memory nbcolli_resolve_block(const nbcolli_run *run, nbcoll_addr at)
{
    int is_recv = nbcolli_is_recv_block(at);
    if (nbcolli_is_packed(at))
        return run->packed[is_recv][at.offset];
    return nbcolli_block(&run->request->blocks[is_recv], run->base[is_recv ? NBCOLL_BUFFER_RECV : NBCOLL_BUFFER_SEND],
                         at.offset);
}

/* Where any region lies. */
static inline nbcoll_memory nbcolli_resolve(const nbcolli_run *run, nbcoll_region r)
{
    if (nbcolli_is_block(r.at))
        return nbcolli_resolve_block(run, r.at);
    return (nbcoll_memory){run->base[r.at.buffer] + (r.bytes ? r.at.offset : 0), r.bytes, NBCOLL_BYTE};
}

/* The reduction of a step: the call's descriptors, where the schedule has stand-ins. */
static inline nbcoll_reduction nbcolli_reduction_of(const nbcolli_run *run, const nbcoll_step_view *v)
{
    const nbcolli_stand_in *in = run->schedule->stand_in;
    if (!in || v->reduction.op != nbcoll_op_of(&in->op))
        return v->reduction;
    return (nbcoll_reduction){run->request->blocks[1].type, run->request->op};
}

/* The `user` of a CALL, likewise. */
static inline void *nbcolli_call_user(const nbcolli_run *run, const nbcoll_step_view *v)
{
    const nbcolli_stand_in *in = run->schedule->stand_in;
    if (in && v->call_user == &in->type)
        return (void *)run->request->blocks[1].type;
    return in && v->call_user == &in->op ? (void *)run->request->op : v->call_user;
}

/* At most NBCOLLI_SMALL_BYTES. */
static inline void nbcolli_small_copy(void *to, const void *from, size_t bytes)
{
    if (bytes == 8)
        memcpy(to, from, 8);
    else if (bytes)
        memcpy(to, from, bytes);
}

#endif
