/* SPDX-License-Identifier: BSD-3-Clause
 * What the file of a collective is made of: the table of its algorithms, the one for small data first and the one for
 * large data second, append-only; and the calls in their three forms. What a program does not call is not linked: no
 * table names another one. */
#ifndef NBCOLLI_COLLECTIVES_FORMS_H
#define NBCOLLI_COLLECTIVES_FORMS_H

#include "call.h"
#include "tables.h"
#include "../algorithms/algorithms.h"
#include "../select/cost.h"
#include "../engine/comm/requests.h"
#include "../engine/progress/lock.h"
#include "../engine/progress/replay.h"
#include "../engine/calls/request.h"

/* ---- algorithms ------------------------------------------------------------------------------------------------ */

#define NBCOLLI_REORDERS NBCOLL_ALGORITHM_REORDERS
#define NBCOLLI_REPRODUCIBLE NBCOLL_ALGORITHM_REPRODUCIBLE
#define NBCOLLI_COUNTS NBCOLL_ALGORITHM_COUNTS
#define NBCOLLI_SEGMENT NBCOLL_ALGORITHM_SEGMENT
#define NBCOLLI_ARITY NBCOLL_ALGORITHM_ARITY
#define NBCOLLI_PORTS NBCOLL_ALGORITHM_PORTS
#define NBCOLLI_SPLIT NBCOLL_ALGORITHM_SPLIT
#define NBCOLLI_LEADERS NBCOLL_ALGORITHM_LEADERS
#define NBCOLLI_NODES NBCOLL_ALGORITHM_NODES
#define NBCOLLI_EXPOSES NBCOLL_ALGORITHM_EXPOSES(1)
#define NBCOLLI_BY_NODES (NBCOLLI_NODES | NBCOLLI_LEADERS | NBCOLLI_EXPOSES)
#define NBCOLLI_BY_DOMAINS (NBCOLLI_NODES | NBCOLL_ALGORITHM_DOMAINS | NBCOLLI_LEADERS)
#define NBCOLLI_TOLERANT NBCOLL_ALGORITHM_ARRIVAL_TOLERANT
#define NBCOLLI_TOGETHER NBCOLL_ALGORITHM_TOGETHER

/* Of NBCOLLI_<NAME>_ALGORITHMS(X), a list of X(NAME, function, name, flags, cost): nbcolli_<function> is defined in
 * src/algorithms, in the file of that name, or in that of the builder which it shares with others. The cost adds up
 * what waits for each other (select/cost.h). In it,
 *
 *   c, P   the call; its ranks
 *   n, m   bytes that all ranks know alike, of a vector or of the blocks of all ranks; n / P: of one block
 *   L, D   log2 P, rounded up, and down
 *   x      1 if P is no power of two, and the ranks beyond it fold; else 0 */
#define NBCOLLI_ENTRY(NAME, function, name, flags, cost)                                                               \
    {sizeof(nbcoll_algorithm), #name, NBCOLL_OPERATION_##NAME, nbcolli_##function, flags, NULL},
#define NBCOLLI_COST(NAME, function, name, flags, cost)                                                                \
    static nbcolli_cost_time nbcolli_cost_##NAME##_##name(const nbcolli_cost_call *c)                                  \
    {                                                                                                                  \
        uint64_t P = c->ranks, n = c->bytes, m = n / P, D = 63 - (uint64_t)__builtin_clzll(P);                         \
        uint64_t x = P > UINT64_C(1) << D, L = D + x;                                                                  \
        (void)m, (void)L;                                                                                              \
        return cost;                                                                                                   \
    }
#define NBCOLLI_COST_ENTRY(NAME, function, name, flags, cost) nbcolli_cost_##NAME##_##name,
#define NBCOLLI_TABLE(name, NAME)                                                                                      \
    NBCOLLI_##NAME##_ALGORITHMS(NBCOLLI_COST)                                                                          \
    static const nbcoll_algorithm nbcolli_table_##name[] = {NBCOLLI_##NAME##_ALGORITHMS(NBCOLLI_ENTRY)};               \
    static nbcolli_cost_formula *const nbcolli_costs_##name[] = {NBCOLLI_##NAME##_ALGORITHMS(NBCOLLI_COST_ENTRY)};
#define NBCOLLI_ALL_OF(name)                                                                                           \
    {nbcolli_table_##name, nbcolli_costs_##name, sizeof nbcolli_table_##name / sizeof *nbcolli_table_##name}

/* ---- calls ----------------------------------------------------------------------------------------------------- */

_Static_assert(NBCOLL_OPERATION_COUNT < 255 && NBCOLL_TYPE_COUNT <= 256 && NBCOLL_OP_COUNT <= 256,
               "a byte each, and no call's word is 0");

/* A call's word says of a buffer: in place, null, or another one. */
static inline uint32_t nbcolli_buffer_word(const void *buffer)
{
    uintptr_t word = (uintptr_t)buffer - (uintptr_t)NBCOLL_IN_PLACE;
    return word < 2 ? (uint32_t)word : 2;
}

/* The word of a call without arrays: all but its count. 0: it has none, and is not noted. */
static inline uint64_t nbcolli_call_word(nbcoll_operation operation, nbcoll_type type, nbcoll_op op, int root,
                                         const void *send, const void *recv)
{
    if (type >= NBCOLL_TYPE_COUNT || op >= NBCOLL_OP_COUNT)
        return 0;
    uint32_t buffers = nbcolli_buffer_word(send) | nbcolli_buffer_word(recv) << 2 | (uint32_t)(send == recv) << 4;
    return (uint64_t)(uint32_t)root << 32 | buffers << 24 | (uint32_t)op << 16 | (uint32_t)type << 8 |
           ((uint32_t)operation + 1);
}

/* Starts one that has been called before, by a replay. Null: it is to be begun as others are. */
static inline nbcolli_request *nbcolli_plain_replay(uint64_t what, size_t count, const void *send, void *recv,
                                                    nbcoll_comm *comm)
{
    if (comm->context->flags & NBCOLL_ANY_THREAD || nbcolli_is_forked(comm->context) ||
        !nbcolli_can_replay(comm->context, comm))
        return NULL;
    const nbcolli_cached *e = nbcolli_recall(comm, what, count);
    nbcolli_request *r = e ? nbcolli_request_reopen(e->schedule, send, recv) : NULL;
    if (r)
        nbcolli_replay_start(r);
    return r;
}

static inline nbcoll_status nbcolli_plain_handle(nbcolli_request *r, nbcoll_request *request)
{
    *request = nbcolli_request_handle(r);
    return NBCOLL_OK;
}

/* A call without arrays. Inline, for what it has of its word when it is compiled. */
static inline __attribute__((always_inline)) nbcoll_status nbcolli_plain(nbcoll_operation operation, const void *send,
                                                                         void *recv, size_t count, nbcoll_type type,
                                                                         nbcoll_op op, int root, nbcoll_comm *comm,
                                                                         const nbcolli_manner *how)
{
    uint64_t what = nbcolli_call_word(operation, type, op, root, send, recv);
    int is_now = how->form == NBCOLLI_NOW, has_all = what && comm && (!is_now || how->request);

    if (how->form == NBCOLLI_LATER || !has_all)
        return nbcolli_plain_slowly((nbcoll_args){.operation = operation, .root = root, .count = count,
                                                  .reduction = {type, op}}, send, recv, comm,
                                    &(nbcolli_manner){how->form, how->request, how->timeout, how->among});
    nbcolli_request *r = nbcolli_plain_replay(what, count, send, recv, comm);
    if (!r) /* a copy of how: else it would be stored above */
        return nbcolli_plain_noted(what, count, send, recv, comm,
                                   &(nbcolli_manner){how->form, how->request, how->timeout, how->among});
    return is_now ? nbcolli_plain_handle(r, how->request) : nbcolli_wait_kept(r, how->timeout);
}

/* What those that move or combine data have in common: their parameters, and what these say. */
#define NBCOLLI_MOVED const void *send, void *recv, size_t count, nbcoll_type type,
#define NBCOLLI_MOVED_SAID(NAME, root) NBCOLL_OPERATION_##NAME, send, recv, count, type, NBCOLL_SUM, root
#define NBCOLLI_COMBINED const void *send, void *recv, size_t count, nbcoll_type type, nbcoll_op op,
#define NBCOLLI_COMBINED_SAID(NAME, root) NBCOLL_OPERATION_##NAME, send, recv, count, type, op, root

/* The three forms of a call that `carries` carries out. Parameters come in parentheses, with their last comma. */
#define NBCOLLI_BARE(...) __VA_ARGS__
#define NBCOLLI_FORM(function, parameters, form, request, timeout, carries, name)                                      \
    nbcoll_status function(NBCOLLI_BARE parameters)                                                                    \
    {                                                                                                                  \
        const nbcolli_manner how = {form, request, timeout, &nbcolli_algorithms_##name};                               \
        return carries;                                                                                                \
    }
#define NBCOLLI_THREE_FORMS(name, parameters, carries)                                                                 \
    NBCOLLI_FORM(nbcoll_i##name, (NBCOLLI_BARE parameters nbcoll_comm *comm, nbcoll_request *request), NBCOLLI_NOW,    \
                 request, 0, carries, name)                                                                            \
    NBCOLLI_FORM(nbcoll_##name##_init, (NBCOLLI_BARE parameters nbcoll_comm *comm, nbcoll_request *request),           \
                 NBCOLLI_LATER, request, 0, carries, name)                                                             \
    NBCOLLI_FORM(nbcoll_##name, (NBCOLLI_BARE parameters nbcoll_comm *comm, uint64_t timeout), NBCOLLI_AND_WAIT, NULL, \
                 timeout, carries, name)

/* The call is what the members say that follow the parameters. */
#define NBCOLLI_FORMS(name, parameters, ...)                                                                           \
    NBCOLLI_THREE_FORMS(name, parameters, nbcolli_carry_out(&(nbcolli_collective_call){__VA_ARGS__}, comm, &how))

/* One without arrays: the parameters say so. */
#define NBCOLLI_PLAIN_FORMS(name, parameters, ...)                                                                     \
    NBCOLLI_THREE_FORMS(name, parameters, nbcolli_plain(__VA_ARGS__, comm, &how))

#endif
