/* SPDX-License-Identifier: BSD-3-Clause
 * Cases of this library's operations: how long the blocks are and where they lie. */
#include "case.h"

#include "../reduce/reduce.h"

/* The operation that has blocks of one length in the place of this one's. */
static nbcoll_operation nbcolli_case_equal(nbcoll_operation operation)
{
    switch (operation) {
    case NBCOLL_OPERATION_SCATTERV:
        return NBCOLL_OPERATION_SCATTER;
    case NBCOLL_OPERATION_GATHERV:
        return NBCOLL_OPERATION_GATHER;
    case NBCOLL_OPERATION_ALLGATHERV:
        return NBCOLL_OPERATION_ALLGATHER;
    case NBCOLL_OPERATION_ALLTOALLV:
    case NBCOLL_OPERATION_ALLTOALLW:
        return NBCOLL_OPERATION_ALLTOALL;
    case NBCOLL_OPERATION_REDUCE_SCATTER:
        return NBCOLL_OPERATION_REDUCE_SCATTER_BLOCK;
    default:
        return operation;
    }
}

nbcoll_status nbcolli_case_take(const nbcoll_case *c, nbcoll_case *out)
{
    *out = (nbcoll_case){0};
    if (nbcolli_copy_tagged(out, c, sizeof *out) != NBCOLL_OK)
        return NBCOLL_ERR_CONFIG;
    if (out->ranks < 1 || (out->nodes && out->nodes->ranks != out->ranks))
        return NBCOLL_ERR_RANK;
    if ((unsigned)out->spread >= NBCOLL_SPREAD_COUNT || out->node < NBCOLL_CASE_BY_NODE)
        return NBCOLL_ERR_ARGUMENT;
    nbcoll_args a = {.size = sizeof a,
                     .operation = nbcolli_case_equal(out->operation),
                     .root = out->root,
                     .count = out->count,
                     .reduction = out->reduction};
    /* Blocks of one length that leave room for those of this case, wherever they lie. */
    if (a.operation != out->operation && __builtin_add_overflow(a.count, (size_t)out->ranks + 2, &a.count))
        return NBCOLL_ERR_COUNT;
    return nbcoll_args_complete(&a, 0, out->ranks);
}

static int nbcolli_case_in_place(const nbcoll_case *c, int rank)
{
    switch (nbcolli_kind_of(c->operation)->in_place) {
    case NBCOLLI_AT_ROOT:
        return c->in_place && rank == c->root;
    case NBCOLLI_EVERYWHERE:
        return c->in_place == 2 ? rank % 2 : c->in_place != 0;
    default:
        return 0;
    }
}

nbcolli_part nbcolli_case_part(const nbcoll_case *c, int rank, int is_recv)
{
    nbcoll_args a = {.operation = c->operation, .root = c->root};
    return nbcolli_part_of(&a, rank, is_recv);
}

/* Do builders see the counts of blocks that may differ? */
static int nbcolli_case_is_known(const nbcoll_case *c, int rank)
{
    switch (nbcolli_kind_of(c->operation)->blocks) {
    case NBCOLLI_KNOWN:
        return 1;
    case NBCOLLI_PROMISED:
        return c->known;
    case NBCOLLI_OWN:
        return nbcolli_case_in_place(c, rank) && !nbcolli_packs(c->reduction.type);
    default:
        return 0;
    }
}

/* ---- blocks ---------------------------------------------------------------------------------------------------- */

/* The elements of block number `i`; of `count` and P it knows by these names. */
static size_t nbcolli_case_spread(const nbcoll_case *c, size_t i)
{
    size_t count = c->count, P = (size_t)c->ranks;
    switch (c->spread) {
#define NBCOLLI_CASE_SPREAD(name, elements)                                                                            \
    case NBCOLL_SPREAD_##name:                                                                                         \
        return elements;
        NBCOLL_SPREAD_LIST(NBCOLLI_CASE_SPREAD)
#undef NBCOLLI_CASE_SPREAD
    default:
        return P;
    }
}

/* The elements of block i of a side that has one for each rank. */
static size_t nbcolli_case_elements(const nbcoll_case *c, int rank, int is_recv, int i)
{
    const nbcolli_kind *kind = nbcolli_kind_of(c->operation);
    size_t from = (size_t)(is_recv ? i : rank), to = (size_t)(is_recv ? rank : i), ranks = (size_t)c->ranks;
    if (kind->blocks == NBCOLLI_EQUAL)
        return c->count;
    if (kind->blocks != NBCOLLI_OWN)
        return nbcolli_case_spread(c, (size_t)i);
    return nbcolli_case_spread(c, (c->in_place ? from + to : 2 * from + to) % ranks);
}

/* The elements before block i. */
static size_t nbcolli_case_place(const nbcoll_case *c, int rank, int is_recv, int i)
{
    size_t place = 0;
    if (nbcolli_kind_of(c->operation)->blocks == NBCOLLI_EQUAL)
        return (size_t)i * c->count;
    if (!c->apart || c->operation == NBCOLL_OPERATION_REDUCE_SCATTER) {
        for (int before = 0; before < i; before++)
            place += nbcolli_case_elements(c, rank, is_recv, before);
        return place;
    }
    place = (size_t)rank;
    for (int before = i + 1; before < c->ranks; before++)
        place += nbcolli_case_elements(c, rank, is_recv, before) + 1;
    return place;
}

/* As if it were not in place. */
static nbcoll_region nbcolli_case_own_block(const nbcoll_case *c, int rank, int is_recv, int i)
{
    nbcoll_addr at = {is_recv ? NBCOLL_BUFFER_RECV : NBCOLL_BUFFER_SEND, 0};
    size_t element = nbcoll_type_size(c->reduction.type);
    switch (nbcolli_case_part(c, rank, is_recv)) {
    case NBCOLLI_ALL:
        at.offset = nbcolli_case_place(c, rank, is_recv, i) * element;
        return nbcoll_span(at, nbcolli_case_elements(c, rank, is_recv, i) * element);
    case NBCOLLI_ONE:
        return nbcoll_span(at, nbcolli_case_elements(c, rank, is_recv, rank) * element);
    default:
        return nbcoll_span(at, 0);
    }
}

nbcoll_region nbcolli_case_block(const nbcoll_case *c, int rank, int is_recv, int i)
{
    nbcolli_part sends = nbcolli_case_part(c, rank, 0), receives = nbcolli_case_part(c, rank, 1);
    if (!nbcolli_case_in_place(c, rank))
        return nbcolli_case_own_block(c, rank, is_recv, i);
    if (sends == NBCOLLI_ONE && receives == NBCOLLI_ALL && !is_recv)
        return nbcolli_case_own_block(c, rank, 1, rank);
    if (sends == NBCOLLI_ALL && receives == NBCOLLI_ONE && !nbcolli_kind_of(c->operation)->reduces)
        return nbcolli_case_own_block(c, rank, 0, is_recv ? rank : i);
    nbcoll_region block = nbcolli_case_own_block(c, rank, is_recv, i);
    block.at.buffer = NBCOLL_BUFFER_RECV;
    return block;
}

nbcoll_region nbcolli_case_blocks(const nbcoll_case *c, int rank)
{
    int is_falling = c->apart && nbcolli_kind_of(c->operation)->blocks != NBCOLLI_EQUAL &&
                     c->operation != NBCOLL_OPERATION_REDUCE_SCATTER;
    nbcoll_region all = nbcolli_case_block(c, rank, 0, is_falling ? 0 : c->ranks - 1);
    if (nbcolli_case_part(c, rank, 0) == NBCOLLI_ALL) {
        all.bytes += all.at.offset;
        all.at.offset = 0;
    }
    return all;
}

/* ---- building -------------------------------------------------------------------------------------------------- */

typedef struct nbcolli_case_shares {
    int rank, node;
    const nbcoll_nodes *nodes;
} nbcolli_case_shares;

static int nbcolli_case_shares_with(void *user, int peer)
{
    const nbcolli_case_shares *s = user;
    if (s->node == NBCOLL_CASE_BY_NODE)
        return !s->nodes || nbcoll_node_of(s->nodes, s->rank) == nbcoll_node_of(s->nodes, peer);
    return s->rank / s->node == peer / s->node;
}

/* What this rank passes; `number` and `types` have room for twice, and once, as many as there are ranks. */
static nbcoll_args nbcolli_case_args(const nbcoll_case *c, int rank, size_t *number, nbcoll_type *types)
{
    int is_recv = nbcolli_case_part(c, rank, 1) == NBCOLLI_ALL, is_typed = c->operation == NBCOLL_OPERATION_ALLTOALLW;
    size_t element = nbcoll_type_size(c->reduction.type);
    nbcoll_args a = {.size = sizeof a,
                     .operation = c->operation,
                     .root = c->root,
                     .count = c->count,
                     .reduction = c->reduction,
                     .in_place = nbcolli_case_in_place(c, rank),
                     .segment = c->segment,
                     .arity = c->arity,
                     .ports = c->ports,
                     .split = c->split,
                     .leaders = c->leaders,
                     .packs = nbcolli_packs(c->reduction.type)};
    if (!nbcolli_case_is_known(c, rank))
        return a;
    for (int i = 0; i < c->ranks; i++) {
        int is_odd = is_typed && i % 2;
        number[i] = nbcolli_case_elements(c, rank, is_recv, i) * (is_odd ? element : 1);
        number[c->ranks + i] = nbcolli_case_place(c, rank, is_recv, i) * (is_typed ? element : 1);
        types[i] = is_odd ? (nbcoll_type)NBCOLL_BYTE : c->reduction.type;
    }
    a.counts = number;
    a.displs = c->apart || is_typed ? number + c->ranks : NULL;
    a.types = types;
    return a;
}

/* `number`: room for nbcolli_case_args, and behind it for the types. */
static nbcoll_status nbcolli_case_build_one(const nbcoll_algorithm *algorithm, const nbcoll_case *c, int rank,
                                            const nbcoll_host *host, size_t *number, nbcoll_schedule **out)
{
    nbcolli_case_shares shares = {rank, c->node, c->nodes};
    nbcoll_args a = nbcolli_case_args(c, rank, number, (nbcoll_type *)(number + 2 * (size_t)c->ranks));
    nbcoll_builder_config config = {.size = sizeof config,
                                    .host = host,
                                    .rank = rank,
                                    .ranks = c->ranks,
                                    .shares = c->node ? nbcolli_case_shares_with : NULL,
                                    .shares_user = &shares,
                                    .nodes = c->nodes};
    return nbcoll_build_schedule(algorithm, &a, &config, out);
}

_Static_assert(sizeof(nbcoll_type) == sizeof(size_t), "types lie behind numbers");

/* The schedules of ranks first..last. */
static nbcoll_status nbcolli_case_build_some(const nbcoll_algorithm *algorithm, const nbcoll_case *c, int first,
                                             int last, const nbcoll_host *host, nbcoll_schedule *schedules[])
{
    nbcoll_host memory = {0};
    size_t bytes = 3 * (size_t)c->ranks * sizeof(size_t);
    nbcoll_status status = NBCOLL_OK;
    if (host && host->size && nbcolli_copy_tagged(&memory, host, sizeof memory) != NBCOLL_OK)
        return NBCOLL_ERR_CONFIG;
    size_t *number = nbcolli_alloc(&memory, bytes, sizeof *number);
    if (!number)
        return NBCOLL_ERR_MEMORY;
    for (int rank = first; rank <= last && status == NBCOLL_OK; rank++)
        status = nbcolli_case_build_one(algorithm, c, rank, host, number, &schedules[rank - first]);
    nbcolli_free(&memory, number, bytes);
    return status;
}

nbcoll_status nbcolli_case_build(const nbcoll_algorithm *algorithm, const nbcoll_case *c, const nbcoll_host *host,
                                 nbcoll_schedule *schedules[])
{
    return nbcolli_case_build_some(algorithm, c, 0, c->ranks - 1, host, schedules);
}

nbcoll_status nbcoll_build_case(const nbcoll_algorithm *algorithm, const nbcoll_case *c, int rank,
                                const nbcoll_host *host, nbcoll_schedule **out)
{
    nbcoll_case taken;
    if (!algorithm || !c || !out)
        return NBCOLL_ERR_NULL;
    nbcoll_status status = nbcolli_case_take(c, &taken);
    if (status != NBCOLL_OK)
        return status;
    if (rank < 0 || rank >= taken.ranks)
        return NBCOLL_ERR_RANK;
    return nbcolli_case_build_some(algorithm, &taken, rank, rank, host, out);
}

nbcoll_status nbcoll_case_args(const nbcoll_case *c, size_t counts[], nbcoll_args *out)
{
    nbcoll_case taken;
    if (!c || !counts || !out)
        return NBCOLL_ERR_NULL;
    nbcoll_status status = nbcolli_case_take(c, &taken);
    if (status != NBCOLL_OK)
        return status;
    for (int i = 0; i < taken.ranks; i++)
        counts[i] = nbcolli_case_spread(&taken, (size_t)i);
    *out = (nbcoll_args){.size = sizeof *out, .operation = taken.operation, .root = taken.root, .count = taken.count,
                         .reduction = taken.reduction};
    if (nbcolli_kind_of(taken.operation)->blocks != NBCOLLI_PROMISED || taken.known)
        out->counts = counts;
    return nbcoll_args_complete(out, 0, taken.ranks);
}

nbcoll_status nbcoll_compile_case(const nbcoll_algorithm *algorithm, const nbcoll_case *c, const nbcoll_host *host,
                                  const nbcoll_program_config *config, int first, int count, nbcoll_program *out[],
                                  nbcoll_refusal *why)
{
    const nbcoll_program_config usual = {.size = sizeof usual};
    nbcoll_case taken;
    nbcoll_host memory = {0};
    if (!algorithm || !c || !out)
        return NBCOLL_ERR_NULL;
    nbcoll_status status = nbcolli_case_take(c, &taken);
    if (status == NBCOLL_OK && host && host->size)
        status = nbcolli_copy_tagged(&memory, host, sizeof memory);
    if (status != NBCOLL_OK)
        return status;
    size_t bytes = (size_t)taken.ranks * sizeof(nbcoll_schedule *);
    nbcoll_schedule **schedules = nbcolli_alloc(&memory, bytes, sizeof *schedules);
    if (!schedules)
        return NBCOLL_ERR_MEMORY;
    memset(schedules, 0, bytes);
    status = nbcolli_case_build(algorithm, &taken, host, schedules);
    if (status == NBCOLL_OK)
        status = nbcoll_compile((const nbcoll_schedule *const *)schedules, taken.ranks, config ? config : &usual, first,
                                count, out, why);
    for (int rank = 0; rank < taken.ranks; rank++)
        nbcoll_schedule_free(schedules[rank]);
    nbcolli_free(&memory, schedules, bytes);
    return status;
}
