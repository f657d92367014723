/* SPDX-License-Identifier: BSD-3-Clause
 * The path that all collectives take: see call.h. */
#include "call.h"

#include "../engine/comm/executors.h"
#include "../engine/comm/requests.h"
#include "../engine/progress/lock.h"
#include "../engine/calls/request.h"
#include "../engine/calls/start.h"
#include "../reduce/packed.h"

/* ---- checks ---------------------------------------------------------------------------------------------------- */

/* Whose `in place` is it: that of the receive buffer where blocks are given out, else that of the send buffer. */
static int nbcolli_gives_out(const nbcolli_kind *kind)
{
    return kind->send[0] == NBCOLLI_ALL && kind->recv[0] == NBCOLLI_ONE && !kind->reduces;
}

/* Notes whether the call is in place, and refuses it where that means nothing. */
static nbcoll_status nbcolli_take_in_place(nbcolli_collective_call *c, const nbcolli_kind *kind, int rank)
{
    int may_be = kind->in_place == NBCOLLI_EVERYWHERE || (kind->in_place == NBCOLLI_AT_ROOT && rank == c->args.root);
    int uses_send = nbcolli_part_of(&c->args, rank, 0) != NBCOLLI_NONE && c->send == NBCOLL_IN_PLACE;
    int uses_recv = nbcolli_part_of(&c->args, rank, 1) != NBCOLLI_NONE && c->recv == NBCOLL_IN_PLACE;

    if (uses_send && c->recv == NBCOLL_IN_PLACE)
        return NBCOLL_ERR_BUFFER;
    c->args.in_place = nbcolli_gives_out(kind) ? uses_recv : uses_send;
    if ((c->args.in_place && !may_be) || (nbcolli_gives_out(kind) ? uses_send : uses_recv))
        return NBCOLL_ERR_BUFFER;
    if (c->args.in_place && nbcolli_gives_out(kind))
        c->recv = NULL;
    else if (c->args.in_place)
        c->send = NULL;
    return NBCOLL_OK;
}

/* The numbers, or a copy of 32-bit ones behind the `at` numbers of `to`. */
static const size_t *nbcolli_widened(const size_t *numbers, size_t *to, size_t at, size_t n)
{
    for (size_t i = 0; nbcolli_are_ints(numbers) && i < n; i++)
        to[at + i] = nbcolli_number_at(numbers, i);
    return nbcolli_are_ints(numbers) ? to + at : numbers;
}

/* Decides which counts the schedule is built from; the others are bound. */
static nbcoll_status nbcolli_take_counts(nbcolli_collective_call *c, const nbcolli_kind *kind, const nbcoll_comm *comm)
{
    const nbcolli_blocks *vector = &c->blocks[!nbcolli_gives_out(kind)];
    int is_known = kind->blocks == NBCOLLI_KNOWN || (kind->blocks == NBCOLLI_OWN && c->args.in_place) ||
                   (kind->blocks == NBCOLLI_PROMISED && (comm->config.flags & NBCOLL_COUNTS_KNOWN));
    int needs_displs = c->args.operation != NBCOLL_OPERATION_REDUCE_SCATTER &&
                       nbcolli_part_of(&c->args, comm->rank, !nbcolli_gives_out(kind)) == NBCOLLI_ALL;
    size_t n = (size_t)comm->size;

    if (kind->blocks == NBCOLLI_EQUAL || !is_known)
        return NBCOLL_OK;
    if (!vector->counts || (needs_displs && !vector->displs))
        return NBCOLL_ERR_NULL;
    if (nbcolli_are_ints(vector->counts) || nbcolli_are_ints(vector->displs)) {
        c->wide = nbcolli_alloc(&comm->context->host, 2 * n * sizeof *c->wide, sizeof *c->wide);
        if (!c->wide)
            return NBCOLL_ERR_MEMORY;
    }
    c->args.counts = nbcolli_widened(vector->counts, c->wide, 0, n);
    c->args.displs = nbcolli_widened(vector->displs, c->wide, n, n);
    c->args.types = vector->types;
    return NBCOLL_OK;
}

/* Would several elements of the type lie at one place? */
static int nbcolli_piles(nbcoll_type type, size_t count)
{
    return count > 1 && nbcolli_packs(type) && !nbcoll_type_size(type);
}

/* Is one of the blocks of an alltoallw of a type that packs? */
static int nbcolli_packs_some(const nbcolli_collective_call *c, int ranks)
{
    for (int is_recv = c->args.in_place; is_recv < 2; is_recv++) {
        const nbcolli_blocks *blocks = &c->blocks[is_recv];
        for (int i = 0; blocks->types && blocks->counts && i < ranks; i++)
            if (nbcolli_packs(nbcolli_type_at(blocks->types, blocks->counts, (size_t)i)))
                return 1;
    }
    return 0;
}

/* Bytes of an element in the caller's buffer, or as it travels, whichever are more. */
static size_t nbcolli_widest(nbcoll_type type)
{
    size_t loose = nbcoll_type_size(type), packed = nbcolli_packed_size(type);
    return loose > packed ? loose : packed;
}

/* Bound blocks of a buffer: *all is their bytes. */
static nbcoll_status nbcolli_check_blocks(const nbcolli_blocks *blocks, nbcolli_part part, int ranks, int is_w,
                                          int is_recv, size_t *all)
{
    size_t bytes, place, end;

    *all = 0;
    if (part == NBCOLLI_ONE)
        return __builtin_mul_overflow(blocks->count, nbcolli_widest(blocks->type), all) ? NBCOLL_ERR_COUNT : NBCOLL_OK;
    if (!blocks->counts || !blocks->displs || (is_w && !blocks->types))
        return NBCOLL_ERR_NULL;
    for (int i = 0; i < ranks; i++) {
        nbcoll_type type = is_w ? nbcolli_type_at(blocks->types, blocks->counts, (size_t)i) : blocks->type;
        size_t count = nbcolli_number_at(blocks->counts, (size_t)i), widest = nbcolli_widest(type);
        if (!nbcolli_is_type(type) || (is_recv && nbcolli_piles(type, count)))
            return NBCOLL_ERR_TYPE;
        if (__builtin_mul_overflow(count, widest, &bytes) ||
            __builtin_mul_overflow(nbcolli_number_at(blocks->displs, (size_t)i), is_w ? 1 : widest, &place) ||
            __builtin_add_overflow(place, bytes, &end) || (bytes && end > SIZE_MAX / 2) || /* or is negative */
            __builtin_add_overflow(*all, bytes, all))
            return NBCOLL_ERR_COUNT;
    }
    return NBCOLL_OK;
}

/* Bytes of a buffer whose blocks are not bound, as they travel; only whether there are any matters. */
static size_t nbcolli_bytes_of(const nbcoll_args *a, nbcolli_part part, int rank)
{
    return part == NBCOLLI_ONE ? nbcolli_block_count(a, rank) * a->element : a->bytes;
}

/* Checks one side's blocks, if they are bound, and its buffer. */
static nbcoll_status nbcolli_check_side(nbcolli_collective_call *c, const nbcolli_kind *kind, int is_recv,
                                        const nbcoll_comm *comm)
{
    nbcolli_part part = nbcolli_part_of(&c->args, comm->rank, is_recv);
    int is_in_place = c->args.in_place && is_recv == nbcolli_gives_out(kind);
    const void *buffer = is_recv ? c->recv : c->send;
    size_t bytes = 0;

    if (is_in_place)
        return NBCOLL_OK;
    if (c->args.in_place && part == NBCOLLI_NONE)
        part = NBCOLLI_ONE; /* rank 0 of an exscan: it holds the contribution */
    if (part == NBCOLLI_NONE)
        return NBCOLL_OK;
    if (kind->blocks == NBCOLLI_EQUAL || c->args.counts)
        bytes = nbcolli_bytes_of(&c->args, part, comm->rank);
    else {
        c->blocks[is_recv].type = c->args.reduction.type;
        c->blocks[is_recv].element = nbcoll_type_size(c->args.reduction.type);
        nbcoll_status s = nbcolli_check_blocks(&c->blocks[is_recv], part, comm->size,
                                               c->args.operation == NBCOLL_OPERATION_ALLTOALLW, is_recv, &bytes);
        if (s != NBCOLL_OK)
            return s;
    }
    return !buffer && bytes ? NBCOLL_ERR_BUFFER : NBCOLL_OK;
}

/* Is what a rank keeps for itself as long at both of its ends? */
static int nbcolli_keeps_all(const nbcolli_collective_call *c, const nbcolli_kind *kind, const nbcoll_comm *comm)
{
    int is_bound = kind->blocks != NBCOLLI_EQUAL && !c->args.counts;
    int keeps = !c->args.in_place && (!kind->has_root || comm->rank == c->args.root);
    size_t own = (size_t)comm->rank;
    return !is_bound || !keeps ||
           nbcolli_block_packed(&c->blocks[0], NULL, own).bytes == nbcolli_block_packed(&c->blocks[1], NULL, own).bytes;
}

/* Is the receive buffer the send buffer, and both are used from their beginning on? */
static int nbcolli_is_aliased(const nbcolli_collective_call *c, const nbcolli_kind *kind, int rank)
{
    if (c->send != c->recv || c->args.displs || !(kind->blocks == NBCOLLI_EQUAL || c->args.counts))
        return 0;
    nbcolli_part sends = nbcolli_part_of(&c->args, rank, 0), receives = nbcolli_part_of(&c->args, rank, 1);
    return sends != NBCOLLI_NONE && receives != NBCOLLI_NONE && nbcolli_bytes_of(&c->args, receives, rank);
}

/* Elements of the receive buffer, or NBCOLLI_AS_COUNTED. */
static size_t nbcolli_recv_elements(const nbcolli_collective_call *c, const nbcolli_kind *kind, const nbcoll_comm *comm)
{
    const nbcoll_args *a = &c->args;
    nbcolli_part part = nbcolli_part_of(a, comm->rank, 1), sends = nbcolli_part_of(a, comm->rank, 0);

    if (a->in_place && nbcolli_gives_out(kind))
        return 0;
    if (a->in_place && kind->reduces && (part == NBCOLLI_NONE || sends == NBCOLLI_ALL))
        return a->counts || part == NBCOLLI_NONE ? a->count : (size_t)comm->size * a->count; /* the contribution */
    if (part == NBCOLLI_NONE)
        return 0;
    if (part == NBCOLLI_ALL)
        return kind->blocks == NBCOLLI_EQUAL ? (size_t)comm->size * a->count : NBCOLLI_AS_COUNTED;
    return kind->blocks == NBCOLLI_EQUAL || a->counts ? nbcolli_block_count(a, comm->rank) : c->blocks[1].count;
}

/* Ranks whose elements a result here is made of. */
static int nbcolli_operands(const nbcoll_args *a, const nbcoll_comm *comm)
{
    int before = a->operation == NBCOLL_OPERATION_EXSCAN, within = a->operation == NBCOLL_OPERATION_SCAN;
    return before || within ? comm->rank + within : comm->size;
}

/* All that can be said before the ranks meet. */
static nbcoll_status nbcolli_check(nbcolli_collective_call *c, const nbcoll_comm *comm)
{
    const nbcolli_kind *kind = nbcolli_kind_of(c->args.operation);
    nbcoll_status s;

    c->args.size = sizeof c->args;
    if (c->args.root < 0 || c->args.root >= comm->size)
        return NBCOLL_ERR_ROOT;
    s = nbcolli_take_in_place(c, kind, comm->rank);
    if (s == NBCOLL_OK)
        s = nbcolli_take_counts(c, kind, comm);
    if (s == NBCOLL_OK && c->args.operation == NBCOLL_OPERATION_ALLTOALLW)
        c->args.packs = nbcolli_packs_some(c, comm->size);
    if (s == NBCOLL_OK)
        s = nbcolli_resolve_op(&c->args.reduction, nbcolli_operands(&c->args, comm), c->states);
    if (s == NBCOLL_OK)
        s = nbcoll_args_complete(&c->args, comm->rank, comm->size);
    for (int is_recv = 0; s == NBCOLL_OK && is_recv < 2; is_recv++)
        s = nbcolli_check_side(c, kind, is_recv, comm);
    if (s == NBCOLL_OK && nbcolli_is_aliased(c, kind, comm->rank))
        s = NBCOLL_ERR_BUFFER;
    c->blocks[1].type = c->args.reduction.type;
    c->blocks[1].element = nbcoll_type_size(c->args.reduction.type);
    c->extent = s == NBCOLL_OK ? nbcolli_recv_elements(c, kind, comm) : 0;
    int only_sends = c->args.operation == NBCOLL_OPERATION_BCAST && c->args.root == comm->rank;
    if (!only_sends && nbcolli_piles(c->args.reduction.type, c->extent))
        return NBCOLL_ERR_TYPE;
    if (c->extent != NBCOLLI_AS_COUNTED)
        c->extent *= c->blocks[1].element;
    if (kind->blocks == NBCOLLI_OWN && c->args.in_place && !c->args.counts) { /* bound: packed from where it is */
        c->send = c->recv;
        c->blocks[0] = c->blocks[1];
    }
    return s == NBCOLL_OK && !nbcolli_keeps_all(c, kind, comm) ? NBCOLL_ERR_COUNT : s;
}

/* ---- carrying out ---------------------------------------------------------------------------------------------- */

/* Begins it on the caller's side: by the first executor that needs no schedule for it, else by a schedule. */
static nbcoll_status nbcolli_call_begin(nbcolli_collective_call *c, nbcoll_comm *comm, const nbcolli_algorithms *among,
                                        int persistent, nbcoll_request *request)
{
    nbcoll_schedule *schedule = NULL;
    nbcoll_host_type states;

    c->states = &states;
    nbcoll_status s = nbcolli_check(c, comm);
    nbcolli_executor *e = s == NBCOLL_OK ? nbcolli_executor_taking(comm, &c->args) : NULL;

    if (s == NBCOLL_OK && !e)
        s = nbcolli_comm_schedule(comm, &c->args, among, &schedule);
    if (s != NBCOLL_OK)
        return s;
    nbcolli_request *r = nbcolli_request_open(comm, schedule, c->send, c->recv, c->extent);
    if (r) {
        memcpy(r->blocks, c->blocks, sizeof r->blocks);
        r->op = c->args.reduction.op;
        if (r->blocks[1].type == nbcoll_type_of(&states)) {
            r->states = states;
            r->blocks[1].type = nbcoll_type_of(&r->states);
        }
    }
    if (r && e) {
        r->executor = e;
        if ((s = e->does->open(e, r, &c->args)) != NBCOLL_OK) {
            nbcolli_request_discard(r->context, r);
            return s;
        }
    }
    return nbcolli_begin(comm, r, persistent, request);
}

/* The arguments that make this word. */
static nbcoll_args nbcolli_word_args(uint64_t what, size_t count)
{
    return (nbcoll_args){.operation = (nbcoll_operation)((what & 0xff) - 1), .root = (int)(uint32_t)(what >> 32),
                         .count = count, .reduction = {what >> 8 & 0xff, what >> 16 & 0xff}};
}

/* The first call with this word and count. */
static __attribute__((noinline)) nbcoll_status nbcolli_plain_first(uint64_t what, size_t count, const void *send,
                                                                   void *recv, nbcoll_comm *comm,
                                                                   nbcoll_request *request,
                                                                   const nbcolli_algorithms *among)
{
    nbcolli_collective_call c = {.args = nbcolli_word_args(what, count), .send = send, .recv = recv};
    nbcoll_status s = nbcolli_call_begin(&c, comm, among, 0, request);

    if (s == NBCOLL_OK && !nbcolli_entry_of(*request)->executor)
        nbcolli_memorise(comm, what, count, c.extent);
    return s;
}

/* The request is that of *at, which a blocking call has of its own, or else the one of the call. */
static inline nbcoll_status nbcolli_enter_call(nbcoll_comm *comm, const nbcolli_manner *how, nbcoll_request **at)
{
    if (how->form != NBCOLLI_AND_WAIT)
        *at = how->request;
    return comm && *at ? nbcolli_enter_caller(comm->context) : NBCOLL_ERR_NULL;
}

/* With the status of its start. */
static inline nbcoll_status nbcolli_leave_call(nbcoll_comm *comm, const nbcolli_manner *how, nbcoll_request *request,
                                               nbcoll_status s)
{
    s = nbcolli_start_over(comm, s);
    return how->form == NBCOLLI_AND_WAIT ? nbcolli_wait_or_leave(s, request, how->timeout) : s;
}

nbcoll_status nbcolli_carry_out(nbcolli_collective_call *c, nbcoll_comm *comm, const nbcolli_manner *how)
{
    nbcoll_request mine, *request = &mine;
    nbcoll_status s = nbcolli_enter_call(comm, how, &request);

    if (s != NBCOLL_OK)
        return s;
    s = nbcolli_call_begin(c, comm, how->among, how->form == NBCOLLI_LATER, request);
    nbcolli_free(&comm->context->host, c->wide, 2 * (size_t)comm->size * sizeof *c->wide);
    return nbcolli_leave_call(comm, how, request, s);
}

nbcoll_status nbcolli_plain_slowly(nbcoll_args args, const void *send, void *recv, nbcoll_comm *comm,
                                   const nbcolli_manner *how)
{
    nbcolli_collective_call c = {.args = args, .send = send, .recv = recv};
    return nbcolli_carry_out(&c, comm, how);
}

nbcoll_status nbcolli_plain_noted(uint64_t what, size_t count, const void *send, void *recv, nbcoll_comm *comm,
                                  const nbcolli_manner *how)
{
    nbcoll_request mine, *request = &mine;
    nbcoll_status s = nbcolli_enter_call(comm, how, &request);

    if (s != NBCOLL_OK)
        return s;
    const nbcolli_cached *e = nbcolli_recall(comm, what, count);
    if (e)
        s = nbcolli_begin(comm, nbcolli_request_open(comm, e->schedule, send, recv, e->extent), 0, request);
    else
        s = nbcolli_plain_first(what, count, send, recv, comm, request, how->among);
    return nbcolli_leave_call(comm, how, request, s);
}
