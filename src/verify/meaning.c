/* SPDX-License-Identifier: BSD-3-Clause
 * What the operations of this library mean, plain and in place. */
#include "nbcoll/inline/host.h"
#include "nbcoll/verify.h"

/* The arguments as rank `rank` passes them; they were checked before. */
static nbcoll_args meaning_args(const nbcoll_meaning *m, int rank)
{
    nbcoll_args a = {0};
    nbcolli_copy_tagged(&a, m->user, sizeof a);
    nbcoll_args_complete(&a, rank, m->ranks);
    return a;
}

static nbcoll_region meaning_input(const nbcoll_meaning *m, int rank)
{
    nbcoll_args a = meaning_args(m, rank);
    nbcoll_region none = {{NBCOLL_BUFFER_SEND, 0}, 0};
    switch (a.operation) {
    case NBCOLL_OPERATION_BCAST:
        return rank == a.root ? nbcoll_span(a.recv, a.bytes) : none;
    case NBCOLL_OPERATION_SCATTER:
        return rank == a.root ? nbcoll_span(a.send, a.bytes * (size_t)m->ranks) : none;
    case NBCOLL_OPERATION_GATHER:
    case NBCOLL_OPERATION_ALLGATHER:
    case NBCOLL_OPERATION_REDUCE:
    case NBCOLL_OPERATION_ALLREDUCE:
        return nbcoll_span(a.send, a.bytes);
    default:
        return none;
    }
}

static int meaning_claim(const nbcoll_meaning *m, int rank, size_t i, nbcoll_claim *out)
{
    nbcoll_args a = meaning_args(m, rank);
    nbcoll_claim c = {.offset = a.recv.offset, .bytes = a.bytes, .first = a.root, .last = a.root, .how = a.reduction};
    size_t claims = 1, ranks = (size_t)m->ranks;
    switch (a.operation) {
    case NBCOLL_OPERATION_BCAST:
        break;
    case NBCOLL_OPERATION_SCATTER:
        claims = a.recv.buffer == NBCOLL_BUFFER_RECV; /* in place: the block stays in the send buffer */
        c.from = (size_t)rank * a.bytes;
        break;
    case NBCOLL_OPERATION_GATHER:
    case NBCOLL_OPERATION_ALLGATHER:
        claims = a.operation == NBCOLL_OPERATION_ALLGATHER || rank == a.root ? ranks : 0;
        c.offset += i < claims ? i * a.bytes : 0;
        c.first = c.last = (int)i;
        break;
    case NBCOLL_OPERATION_REDUCE:
    case NBCOLL_OPERATION_ALLREDUCE:
        claims = a.operation == NBCOLL_OPERATION_ALLREDUCE || rank == a.root;
        c.first = 0;
        c.last = m->ranks - 1;
        break;
    default:
        claims = 0;
    }
    *out = c;
    return i < claims;
}

nbcoll_status nbcoll_meaning_of(const nbcoll_args *a, int ranks, uint32_t flags, nbcoll_meaning *out)
{
    nbcoll_args copy = {0};
    if (!a || !out)
        return NBCOLL_ERR_NULL;
    if (out->size < sizeof out->size || nbcolli_copy_tagged(&copy, a, sizeof copy) != NBCOLL_OK)
        return NBCOLL_ERR_CONFIG;
    if (ranks < 1)
        return NBCOLL_ERR_RANK;
    nbcoll_status status = nbcoll_args_complete(&copy, 0, ranks);
    if (status != NBCOLL_OK)
        return status;
    nbcoll_meaning m = {.size = out->size,
                        .user = a,
                        .ranks = ranks,
                        .any_order = (flags & NBCOLL_ALGORITHM_REORDERS) != 0,
                        .same_bits = copy.operation == NBCOLL_OPERATION_ALLREDUCE,
                        .is_barrier = copy.operation == NBCOLL_OPERATION_BARRIER,
                        .input = meaning_input,
                        .claim = meaning_claim};
    memcpy(out, &m, out->size < sizeof m ? out->size : sizeof m);
    return NBCOLL_OK;
}
