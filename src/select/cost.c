/* SPDX-License-Identifier: BSD-3-Clause
 * The cost model: for each algorithm, what its longest path costs, as a function of the number of ranks, their nodes,
 * and the bytes that all ranks know alike. An algorithm that has no formula here is never chosen for its cost: on the
 * machines that test/simulate/test_penalty.c simulates, another one is as fast, or nearly. */
#include "cost.h"

#include "../host/crowding.h"

/* One of each rank to the next, or to its partner. */
static nbcolli_cost_time nbcolli_cost_beside(const nbcolli_cost_call *c, uint64_t bytes, int is_shift)
{
    const nbcolli_cost_level l = is_shift ? nbcolli_cost_shift(c, 1) : nbcolli_cost_pairs(c, 1, 2);
    return nbcolli_cost_message(&l, bytes);
}

/* While a rank copies its own block, messages are under way; those that are announced are not answered. */
static nbcolli_cost_time nbcolli_cost_own_block(const nbcolli_cost_call *c, uint64_t bytes)
{
    return bytes > c->between.eager ? bytes * c->copy : 0;
}

#define NBCOLLI_COST_CELLS 8 /* NBCOLL_COMM_DEFAULTS */

/* Bytes to expose, of different parts of a rank that does not fetch: what does not fit into a cell is lent. */
static uint64_t nbcolli_cost_lent(uint64_t bytes)
{
    return bytes > NBCOLLI_CELL_INLINE ? UINT64_MAX : bytes;
}

/* One rank exposes, and all others fetch, by turns on each core. */
static nbcolli_cost_time nbcolli_cost_shown(const nbcolli_cost_call *c, uint64_t bytes, uint64_t exposed)
{
    const nbcolli_cost_call one = nbcolli_cost_working(c, 1);
    uint64_t turns = c->ranks - 1 < c->turns ? c->ranks - 1 : c->turns;
    nbcolli_cost_time first = nbcolli_cost_fetches(&one, turns > 0, bytes, exposed, 0);
    return first + (turns ? turns - 1 : 0) * bytes * (one.inside.beta < one.copy ? one.inside.beta : one.copy);
}

/* Parts of so many bytes for all other ranks are spread over as many cells as a communicator has by default, for a
 * quarter of what a post takes each and half of that to find one; longer ones are lent. */
static nbcolli_cost_time nbcolli_cost_parts(const nbcolli_cost_call *c, uint64_t bytes)
{
    uint64_t others = c->ranks - 1, all = others * bytes;

    if (others > 1 && bytes <= NBCOLLI_CELL_INLINE && (others - 1) >> nbcolli_spread_shift(bytes) < NBCOLLI_COST_CELLS)
        return nbcolli_cost_shown(c, bytes, bytes) + (others + 2) * c->inside.overhead / 4;
    return nbcolli_cost_shown(c, bytes, others > 1 ? nbcolli_cost_lent(all) : all);
}

/* A rank that fetches, too, makes its own copy first, and is not followed. */
static nbcolli_cost_time nbcolli_cost_shelving(const nbcolli_cost_call *c, uint64_t bytes)
{
    return nbcolli_cost_is_followed(c, bytes) ? (bytes - nbcolli_shelf_piece(bytes)) * c->copy : 0;
}

/* One rank fetches from each other one, and combines `worked` bytes, while their cores copy to shelves by turns. */
static nbcolli_cost_time nbcolli_cost_collected(const nbcolli_cost_call *c, uint64_t bytes, uint64_t worked)
{
    const nbcolli_cost_call one = nbcolli_cost_working(c, 1);
    uint64_t others = c->ranks - 1;
    nbcolli_cost_time own = nbcolli_cost_fetches(&one, others, bytes, bytes, worked);
    return nbcolli_cost_later(own, nbcolli_cost_fetches(c, others > 0, bytes, bytes, worked) +
                                       (c->turns > 1 ? nbcolli_cost_shelving(c, bytes) : 0));
}

/* Bytes of the result that others read where they lie, if memory is shared: each time, their lines are to be taken back
 * from those who have read them before they are written again, which takes as long as to move them. */
static nbcolli_cost_time nbcolli_cost_rewritten(const nbcolli_cost_call *c, uint64_t bytes)
{
    return c->shared ? bytes * c->inside.beta : 0;
}

#define NBCOLLI_COST_CACHED 262144 /* bytes that a rank has read and its cache keeps till they are written again */

/* ---- algorithms ------------------------------------------------------------------------------------------------ */

/* A formula adds up what waits for each other. In it,
 *
 *   P             ranks
 *   n, m          bytes that all ranks know alike, of a vector or of the blocks of all ranks; n / P: of one block
 *   L, D, x       log2 P, rounded up, and down; 1 if P is no power of two, and the ranks beyond it fold; else 0
 *   M, N          a message of all ranks to the next one, or of each to its neighbour with which it is a pair
 *   B(bytes)      a rank copies these
 *   C(bytes)      it combines these
 *   O(bytes)      it copies its own block
 *   R(bytes)      of the result, which others read; K(bytes): while their caches keep it
 *   S(bytes)      a rank that fetches, too, copies these to its shelf first
 *   G(bytes, w), E(bytes)   one rank fetches these from each other one, and combines w; all others fetch them from one
 *   T, F, TREE    a train of messages; fetches, one after the other; a binomial tree. As in cost.h */
#define NBCOLLI_COST_MESSAGE(bytes) nbcolli_cost_beside(c, bytes, 1)
#define NBCOLLI_COST_NEIGHBOUR(bytes) nbcolli_cost_beside(c, bytes, 0)
#define NBCOLLI_COST_COPIES(bytes) ((bytes) * c->copy)
#define NBCOLLI_COST_COMBINES(bytes) ((bytes) * c->gamma)
#define NBCOLLI_COST_OWN(bytes) nbcolli_cost_own_block(c, bytes)
#define NBCOLLI_COST_REWRITTEN(bytes) nbcolli_cost_rewritten(c, bytes)
#define NBCOLLI_COST_KEPT(bytes) ((bytes) <= NBCOLLI_COST_CACHED ? nbcolli_cost_rewritten(c, bytes) : 0)
#define NBCOLLI_COST_TRAIN(count, bytes, ends, worked)                                                                 \
    nbcolli_cost_train(c, count, bytes, ends, worked, (ends) == 2 ? c->node : 1)
#define NBCOLLI_COST_FETCHES(count, bytes, exposed, worked) nbcolli_cost_fetches(c, count, bytes, exposed, worked)
#define NBCOLLI_COST_SHELVING(bytes) nbcolli_cost_shelving(c, bytes)
#define NBCOLLI_COST_COLLECTED(bytes, worked) nbcolli_cost_collected(c, bytes, worked)
#define NBCOLLI_COST_SHOWN(bytes) nbcolli_cost_shown(c, bytes, bytes)
#define NBCOLLI_COST_TREE(whole, block, worked, is_up) nbcolli_cost_binomial(c, P, whole, block, worked, is_up)

#define NBCOLLI_COST_IS_V(OPERATION) (NBCOLL_OPERATION_##OPERATION == NBCOLL_OPERATION_ALLGATHERV)

/* X(OPERATION, name, time). The abbreviations are parameters: no macro of such a name reaches the host's code. */
#define NBCOLLI_COST_ALLGATHER(X, B, O, T, OPERATION)                                                                  \
    X(OPERATION, bruck, B(m) + nbcolli_cost_doubling(c, 1, m) + B(n))                                                  \
    X(OPERATION, bruck_ports, B(m) + nbcolli_cost_doubling(c, c->ports, m) + B(n))                                     \
    X(OPERATION, ring, O(m) + nbcolli_cost_ring(c, m, 0))                                                              \
    X(OPERATION, flat, T(P - 1, m, 2, 0) + O(m))                                                                       \
    X(OPERATION, exchange_pipelined, O(m) + nbcolli_cost_pipelined(c, c->ports))                                       \
    X(OPERATION, hierarchical, nbcolli_cost_nodes_allgather(c, NBCOLLI_COST_IS_V(OPERATION)))                          \
    X(OPERATION, hierarchical_groups, nbcolli_cost_nodes_groups(c, NBCOLLI_COST_IS_V(OPERATION)))
#define NBCOLLI_COST_REDUCE_SCATTER(X, M, N, B, C, T, TREE, OPERATION)                                                 \
    X(OPERATION, binomial, TREE(n, 0, n, 1) + TREE(0, m, 0, 0))                                                    \
    X(OPERATION, owners, T(P - 1, m, 2, m))                                                                            \
    X(OPERATION, halving, nbcolli_cost_halving(c, 1, 0) + B(m) + x * (N(n) + C(n) + N(m)))                             \
    X(OPERATION, ring, nbcolli_cost_ring(c, m, m))                                                                     \
    X(OPERATION, hierarchical, nbcolli_cost_nodes_reduce_scatter(c, 0))                                                \
    X(OPERATION, hierarchical_ordered, nbcolli_cost_nodes_reduce_scatter(c, 1))
#define NBCOLLI_COST_LIST(X, M, N, B, C, O, R, K, T, F, S, G, E, TREE)                                                 \
    X(BARRIER, dissemination, nbcolli_cost_rounds(c, L, 0, 0, 1))                                                      \
    X(BARRIER, dissemination_ports, nbcolli_cost_doubling(c, c->ports, 0))                                             \
    X(BARRIER, slots, F(P - 1, 0, 0, 0))                                                                               \
    X(BARRIER, hierarchical, nbcolli_cost_nodes_barrier(c))                                                            \
    X(BARRIER, hierarchical_domains, nbcolli_cost_domains_barrier(c))                                                  \
    X(BCAST, binomial, TREE(n, 0, 0, 0))                                                                            \
    X(BCAST, scatter_ring, T(P - 1, m, 1, 0) + nbcolli_cost_ring(c, m, 0))                                             \
    X(BCAST, flat, T(P - 1, n, 1, 0))                                                                                  \
    X(BCAST, tree, nbcolli_cost_levels(c, c->arity, 1))                                                                \
    X(BCAST, tree_pipelined, nbcolli_cost_levels(c, c->arity, nbcolli_cost_segments(c)))                               \
    X(BCAST, chain_pipelined, nbcolli_cost_levels(c, 1, nbcolli_cost_segments(c)))                                     \
    X(BCAST, slots, E(n))                                                                                              \
    X(BCAST, hierarchical, nbcolli_cost_nodes_bcast(c))                                                                \
    X(BCAST, hierarchical_domains, nbcolli_cost_domains_bcast(c))                                                      \
    X(SCATTER, binomial, O(m) + TREE(0, m, 0, 0))                                                                   \
    X(SCATTER, flat, O(m) + T(P - 1, m, 1, 0))                                                                         \
    X(SCATTER, slots, nbcolli_cost_parts(c, m))                                                                        \
    X(SCATTER, hierarchical, nbcolli_cost_nodes_scatter(c))                                                            \
    X(SCATTERV, binomial, B(n) + TREE(0, m, 0, 0) + B(m))                                                           \
    X(SCATTERV, flat, O(m) + T(P - 1, m, 1, 0))                                                                        \
    X(SCATTERV, spanning_tree, B(n) + nbcolli_cost_halves(c, m) + B(m))                                                \
    X(SCATTERV, hierarchical, nbcolli_cost_nodes_scatter(c))                                                           \
    X(GATHER, binomial, B(m) + TREE(0, m, 0, 1))                                                                      \
    X(GATHER, flat, O(m) + T(P - 1, m, NBCOLLI_COST_TAKES, 0))                                                         \
    X(GATHER, slots, G(m, 0))                                                                                          \
    X(GATHER, hierarchical, nbcolli_cost_nodes_gather(c))                                                              \
    X(GATHERV, binomial, B(m) + TREE(0, m, 0, 1) + B(n))                                                              \
    X(GATHERV, flat, O(m) + T(P - 1, m, NBCOLLI_COST_TAKES, 0))                                                        \
    X(GATHERV, spanning_tree, B(m) + nbcolli_cost_halves(c, m) + B(n))                                                 \
    X(GATHERV, hierarchical, nbcolli_cost_nodes_gather(c))                                                             \
    NBCOLLI_COST_ALLGATHER(X, B, O, T, ALLGATHER)                                                                      \
    NBCOLLI_COST_ALLGATHER(X, B, O, T, ALLGATHERV)                                                                     \
    X(ALLGATHER, recursive_doubling, nbcolli_cost_exchange(c, 1))                                                      \
    X(ALLGATHER, exchange, nbcolli_cost_exchange(c, c->ports))                                                         \
    X(ALLGATHER, slots, F(P - 1, m, m, 0) + S(m))                                                                      \
    X(ALLTOALL, bruck, nbcolli_cost_digits(c, m) + B(n))                                                               \
    X(ALLTOALL, pairwise, nbcolli_cost_turns(c, m) + B(m))                                                             \
    X(ALLTOALL, flat, T(P - 1, m, 2, 0) + B(m))                                                                        \
    X(ALLTOALL, slots, F(P - 1, m, n - m, 0) + B(m))                                                                   \
    X(ALLTOALL, hierarchical, nbcolli_cost_nodes_alltoall(c))                                                          \
    X(REDUCE, binomial, TREE(n, 0, n, 1))                                                                             \
    X(REDUCE, pairwise, T(P - 1, m, 2, m) + T(P - 1, m, NBCOLLI_COST_TAKES, 0))                                        \
    X(REDUCE, owners, T(P - 1, m, 2, m) + T(P - 1, m, NBCOLLI_COST_TAKES, 0))                                          \
    X(REDUCE, flat, T(P - 1, n, NBCOLLI_COST_TAKES, n))                                                                \
    X(REDUCE, slots, G(n, n))                                                                                          \
    X(REDUCE, hierarchical, nbcolli_cost_nodes_reduce(c))                                                              \
    X(REDUCE, hierarchical_ordered, nbcolli_cost_nodes_reduce(c))                                                      \
    X(REDUCE, hierarchical_domains, nbcolli_cost_domains_reduce(c))                                                    \
    X(ALLREDUCE, recursive_doubling, nbcolli_cost_rounds(c, D, n, n, 0) + x * (2 * N(n) + C(n)))                       \
    X(ALLREDUCE, ring, nbcolli_cost_ring(c, m, m) + nbcolli_cost_ring(c, m, 0) + (P - 1) * R(m))                       \
    X(ALLREDUCE, groups, nbcolli_cost_rounds(c, L, n, n, 0))                                                           \
    X(ALLREDUCE, owners, T(P - 1, m, 2, m) + T(P - 1, m, 2, 0) + R(m))                                                 \
    X(ALLREDUCE, flat, T(P - 1, n, 2, 0) + (P - 1) * C(n))                                                             \
    X(ALLREDUCE, halving,                                                                                              \
      nbcolli_cost_halving(c, 1, 1) + nbcolli_cost_halving(c, 0, 1) + x * (2 * N(n) + C(n)) + R(n - m))                \
    X(ALLREDUCE, slots, F(P - 1, n, n, n) + S(n) + B(n))                                                               \
    X(ALLREDUCE, slots_owners, B(m) + F(P - 1, m, n - m, m) + (P < 3) * S(m) + F(P - 1, m, m, 0) + S(m) + K(m))        \
    X(ALLREDUCE, hierarchical, nbcolli_cost_nodes_allreduce(c))                                                        \
    X(ALLREDUCE, hierarchical_ordered, nbcolli_cost_nodes_allreduce(c))                                                \
    X(ALLREDUCE, hierarchical_domains, nbcolli_cost_domains_allreduce(c))                                              \
    NBCOLLI_COST_REDUCE_SCATTER(X, M, N, B, C, T, TREE, REDUCE_SCATTER)                                                \
    NBCOLLI_COST_REDUCE_SCATTER(X, M, N, B, C, T, TREE, REDUCE_SCATTER_BLOCK)                                          \
    X(SCAN, recursive_doubling, nbcolli_cost_rounds(c, L, n, 2 * n, 0) - (P > 2) * C(n))                               \
    X(SCAN, linear, B(n) + nbcolli_cost_hops(c, n, n))                                                                 \
    X(SCAN, flat, nbcolli_cost_train(c, P - 1, n, NBCOLLI_COST_TAKES, 0, c->node) + (P - 1) * C(n))                    \
    X(SCAN, hierarchical, nbcolli_cost_nodes_scan(c))                                                                  \
    X(EXSCAN, recursive_doubling, nbcolli_cost_rounds(c, L, n, 2 * n, 0) - (P > 1) * 2 * C(n))                         \
    X(EXSCAN, linear, nbcolli_cost_hops(c, n, n) - (P > 1) * C(n))                                                     \
    X(EXSCAN, flat, nbcolli_cost_train(c, P - 1, n, NBCOLLI_COST_TAKES, 0, c->node) + (P - 1) * C(n) - (P > 1) * C(n)) \
    X(EXSCAN, hierarchical, nbcolli_cost_nodes_scan(c))

#define NBCOLLI_COST_OF_EACH(X)                                                                                        \
    NBCOLLI_COST_LIST(X, NBCOLLI_COST_MESSAGE, NBCOLLI_COST_NEIGHBOUR, NBCOLLI_COST_COPIES, NBCOLLI_COST_COMBINES,     \
                      NBCOLLI_COST_OWN, NBCOLLI_COST_REWRITTEN, NBCOLLI_COST_KEPT, NBCOLLI_COST_TRAIN,                 \
                      NBCOLLI_COST_FETCHES, NBCOLLI_COST_SHELVING, NBCOLLI_COST_COLLECTED, NBCOLLI_COST_SHOWN,         \
                      NBCOLLI_COST_TREE)

#define NBCOLLI_COST_FUNCTION(OPERATION, name, time)                                                                   \
    static nbcolli_cost_time nbcolli_cost_##OPERATION##_##name(const nbcolli_cost_call *c)                             \
    {                                                                                                                  \
        uint64_t P = c->ranks, n = c->bytes, m = n / P, D = 63 - (uint64_t)__builtin_clzll(P);                         \
        uint64_t x = P > UINT64_C(1) << D, L = D + x;                                                                  \
        (void)m, (void)L;                                                                                             \
        return time;                                                                                                   \
    }
NBCOLLI_COST_OF_EACH(NBCOLLI_COST_FUNCTION)

typedef struct nbcolli_cost_formula {
    nbcoll_operation operation;
    const char *name;
    nbcolli_cost_time (*time)(const nbcolli_cost_call *c);
} nbcolli_cost_formula;

#define NBCOLLI_COST_FORMULA(OPERATION, name, time)                                                                    \
    {NBCOLL_OPERATION_##OPERATION, #name, nbcolli_cost_##OPERATION##_##name},
static const nbcolli_cost_formula nbcolli_cost_formulas[] = {NBCOLLI_COST_OF_EACH(NBCOLLI_COST_FORMULA)};

static const nbcolli_cost_formula *nbcolli_cost_formula_of(const nbcoll_algorithm *algorithm)
{
    for (size_t i = 0; i < sizeof nbcolli_cost_formulas / sizeof *nbcolli_cost_formulas; i++)
        if (nbcolli_cost_formulas[i].operation == algorithm->operation &&
            !strcmp(nbcolli_cost_formulas[i].name, algorithm->name))
            return &nbcolli_cost_formulas[i];
    return NULL;
}

/* ---- parameters ------------------------------------------------------------------------------------------------ */

/* What is tried for a parameter: the one that is given, or else these; by nodes also 0, the algorithm's own default,
 * and an arity of 1. One that the algorithm does not read is not tried. Segments, in fourths: as long as a message can
 * be that is not announced, 4, 16 and 64 times as long; by nodes, which show pieces beside messages, also a fourth. */
#define NBCOLLI_COST_TRIALS 7
#define NBCOLLI_COST_PARAMETERS 4
static const unsigned nbcolli_cost_trials[NBCOLLI_COST_PARAMETERS][NBCOLLI_COST_TRIALS] = {
    {0, 1, 2, 3, 4, 6, 8}, {0, 1, 2, 3, 4, 6, 8}, {0, 1, 2, 4, 8, 8, 8}, {1, 4, 16, 64, 256, 256, 256}};

/* Of the values of a parameter the one with this number, counted from 0; 0 if there is none, which is not counted. */
static int nbcolli_cost_trial(uint64_t *out, int which, uint64_t given, uint32_t is_read, int has_default, int i)
{
    int first = which != 2 && has_default ? 0 : which ? 1 : 2;
    const unsigned *trials = nbcolli_cost_trials[which] + first;
    int is_one = given || !is_read;
    *out = is_one ? (given ? given : 1) : trials[i];
    return is_one ? i == 0 : i < NBCOLLI_COST_TRIALS - first && (i == 0 || trials[i] != trials[i - 1]);
}

/* Puts a combination of parameters into c: `at` has the number of each. Those whose number is one too many begin anew,
 * and the next goes on; 0: that was the last. */
static int nbcolli_cost_turn(nbcolli_cost_call *c, const nbcoll_choice *given, uint32_t flags,
                             int at[NBCOLLI_COST_PARAMETERS])
{
    uint64_t *const out[] = {&c->arity, &c->ports, &c->leaders, &c->segment};
    const uint64_t said[] = {given->arity, given->ports, given->leaders, given->segment};
    static const uint32_t reads[] = {NBCOLL_ALGORITHM_ARITY, NBCOLL_ALGORITHM_PORTS, NBCOLL_ALGORITHM_LEADERS,
                                     NBCOLL_ALGORITHM_SEGMENT};
    for (int i = 0; i < NBCOLLI_COST_PARAMETERS; i++) {
        int has_default = (flags & NBCOLL_ALGORITHM_NODES) != 0;
        if (nbcolli_cost_trial(out[i], i, said[i], flags & reads[i], has_default, at[i]))
            continue;
        if (i + 1 == NBCOLLI_COST_PARAMETERS)
            return 0;
        at[i] = 0;
        at[i + 1]++;
        nbcolli_cost_trial(out[i], i, said[i], flags & reads[i], has_default, 0);
    }
    if (!given->segment && (flags & NBCOLL_ALGORITHM_SEGMENT))
        c->segment = c->segment * (c->between.eager ? c->between.eager : 4096) / 4;
    return 1;
}

static nbcolli_cost_level nbcolli_cost_level_of(const nbcoll_level *l)
{
    return (nbcolli_cost_level){.alpha = (nbcolli_cost_time)l->alpha_ns * 1000,
                                .overhead = (nbcolli_cost_time)l->overhead_ns * 1000,
                                .beta = l->beta_ps,
                                .get = (nbcolli_cost_time)l->get_ns * 1000,
                                .fetch = (nbcolli_cost_time)(l->fetch_ns ? l->fetch_ns : l->get_ns) * 1000,
                                .copied = l->eager_ps,
                                .gap = (nbcolli_cost_time)l->gap_ns * 1000,
                                .eager = l->eager,
                                .ways = 1};
}

static uint64_t nbcolli_cost_largest(const nbcoll_nodes *nodes)
{
    uint64_t most = 1;
    for (int i = 0; i < nodes->count; i++)
        most = (uint64_t)nbcoll_node_size(nodes, i) > most ? (uint64_t)nbcoll_node_size(nodes, i) : most;
    return most;
}

/* What they say of domains. Nodes have about as many each. */
static void nbcolli_cost_know_domains(nbcolli_cost_call *c, const nbcoll_terms *t)
{
    const nbcoll_nodes *domains = t->nodes ? nbcoll_nodes_domains(t->nodes) : NULL;
    if (!domains)
        return;
    c->near = t->domain.eager ? nbcolli_cost_level_of(&t->domain) : c->inside;
    c->near.by_cores = c->inside.by_cores;
    c->domains = (uint64_t)domains->count;
    c->domain = nbcolli_cost_largest(domains);
    c->parts = (c->domains + c->nodes - 1) / c->nodes;
}

/* What the terms say of messages and nodes. */
static nbcolli_cost_call nbcolli_cost_of(const nbcoll_terms *t)
{
    const nbcoll_nodes *nodes = t->nodes;
    const nbcoll_level between = nbcolli_level_known(t->between);
    nbcolli_cost_call c = {.between = nbcolli_cost_level_of(&between),
                           .gamma = between.gamma_ps,
                           .copy = between.copy_ps,
                           .table = (nbcolli_cost_time)t->table_ns * 1000,
                           .credits = t->credits,
                           .shelf = t->shelf,
                           .part = t->shelf_part ? t->shelf_part : UINT64_MAX,
                           .ranks = (uint64_t)t->ranks,
                           .nodes = 1,
                           .turns = 1,
                           .node = (uint64_t)t->ranks,
                           .are_blocks = 1,
                           .interfaces = t->interfaces,
                           .shared = t->shared,
                           .nodes_share = t->nodes_share};
    c.inside = c.between;
    c.inside.by_cores = t->shared;
    if (nodes && nodes->count > 1 && t->inside.eager) {
        c.inside = nbcolli_cost_level_of(&t->inside);
        c.inside.by_cores = t->nodes_share;
        c.nodes = (uint64_t)nodes->count;
        c.are_blocks = nodes->are_blocks;
        c.node = nbcolli_cost_largest(nodes);
    } else if (t->shared && t->ranks_per_core > 1)
        c.turns = t->ranks_per_core < NBCOLLI_CORES ? t->ranks_per_core : NBCOLLI_CORES;
    nbcolli_cost_know_domains(&c, t);
    return c;
}

/* Is this what the algorithm is for? By nodes, and domains in them, there are to be several; those that keep rank order
 * are the flat ones where no neighbours share a node; and what exposes memory exposes it to all, or inside nodes. */
static int nbcolli_cost_is_meant(const nbcolli_cost_call *c, const nbcoll_algorithm *algorithm)
{
    int reduces = nbcolli_kind_of(algorithm->operation)->reduces;
    if (algorithm->flags & NBCOLL_ALGORITHM_DOMAINS)
        return c->domain > 1 && c->parts > 1 && c->nodes_share;
    if (algorithm->flags & NBCOLL_ALGORITHM_NODES)
        return c->nodes > 1 && c->node > 1 &&
               (c->are_blocks || !reduces || algorithm->flags & NBCOLL_ALGORITHM_REORDERS);
    return algorithm->flags < NBCOLL_ALGORITHM_EXPOSES(1) ||
           (c->shared && nbcolli_table_suffices(algorithm->flags, c->ranks));
}

uint64_t nbcolli_cost(const nbcoll_terms *terms, nbcoll_choice *choice)
{
    const nbcolli_cost_formula *formula = nbcolli_cost_formula_of(choice->algorithm);
    uint32_t flags = choice->algorithm->flags;
    nbcolli_cost_call c = nbcolli_cost_of(terms);
    const nbcoll_choice given = *choice;
    nbcolli_cost_time least = 0;

    c.bytes = choice->bytes;
    if (c.shelf && c.bytes >= NBCOLLI_SHELF_BEYOND)
        c.inside.beta = nbcolli_cost_later(c.inside.beta, 2 * c.copy); /* beyond the caches one core reads and writes */
    if (c.nodes < 2)
        c.between = c.inside;
    c.beyond = choice->algorithm->operation == NBCOLL_OPERATION_BCAST ? NBCOLLI_SHELF_BEYOND : UINT64_MAX;
    if (nbcolli_converges(choice->algorithm->operation))
        c.part = UINT64_MAX;
    int exchanges = choice->algorithm->operation == NBCOLL_OPERATION_ALLGATHER ||
                    choice->algorithm->operation == NBCOLL_OPERATION_ALLTOALL;
    c.rings = nbcolli_converges(choice->algorithm->operation) || c.beyond < UINT64_MAX || (exchanges && c.ranks > 2);
    if (!formula || !nbcolli_cost_is_meant(&c, choice->algorithm))
        return 0;
    for (int at[NBCOLLI_COST_PARAMETERS] = {0}; nbcolli_cost_turn(&c, &given, flags, at); at[0]++) {
        nbcolli_cost_time time = 1 + formula->time(&c); /* 1: to be known is not 0 */
        if (least && least <= time)
            continue;
        least = time;
        choice->arity = flags & NBCOLL_ALGORITHM_ARITY ? (unsigned)c.arity : given.arity;
        choice->ports = flags & NBCOLL_ALGORITHM_PORTS ? (unsigned)c.ports : given.ports;
        choice->leaders = flags & NBCOLL_ALGORITHM_LEADERS ? (unsigned)c.leaders : given.leaders;
        choice->segment = flags & NBCOLL_ALGORITHM_SEGMENT ? (size_t)c.segment : given.segment;
    }
    return least > UINT64_MAX ? UINT64_MAX : (uint64_t)least;
}
