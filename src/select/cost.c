/* SPDX-License-Identifier: BSD-3-Clause
 * The cost model: for each algorithm, what its longest path costs, as a function of the number of ranks and the bytes
 * that all ranks know alike. Messages in flight at the same time share nothing but the time of the ranks at their ends.
 * An algorithm that has no formula here is never chosen for its cost: on the machines that test/simulate/test_penalty.c
 * simulates, another one is as fast, or nearly. */
#include "../host/host.h"
#include "../schedule/schedule.h"
#include "select.h"
#include "nbcoll/pattern.h"

/* Picoseconds. 128 bits: bytes of all ranks are below 2^64, prices below 2^32, and what multiplies both is small. */
__extension__ typedef unsigned __int128 nbcolli_cost_time;

typedef struct nbcolli_cost_call {
    nbcolli_cost_time alpha, overhead, beta, gamma, get,
        copied;              /* copied: of each byte of a message that is not announced */
    uint64_t eager, credits; /* bytes of the longest message that is not announced, and how many of them at once */
    uint64_t shelf;          /* bytes that a rank's copies of what it exposes take at most */
    uint64_t ranks, bytes;
    uint64_t arity, ports, segment;
    int shared;
} nbcolli_cost_call;

/* ---- messages -------------------------------------------------------------------------------------------------- */

/* A long message is announced, asked for, and sent. */
static int nbcolli_cost_is_long(const nbcolli_cost_call *c, uint64_t bytes)
{
    return bytes > c->eager;
}

static nbcolli_cost_time nbcolli_cost_later(nbcolli_cost_time x, nbcolli_cost_time y)
{
    return x > y ? x : y;
}

/* What the bytes of a message take on their way. */
static nbcolli_cost_time nbcolli_cost_bytes(const nbcolli_cost_call *c, uint64_t bytes)
{
    return bytes * (nbcolli_cost_is_long(c, bytes) ? c->beta : c->beta + c->copied);
}

/* From the SEND of a message to the end of its RECV. */
static nbcolli_cost_time nbcolli_cost_message(const nbcolli_cost_call *c, uint64_t bytes)
{
    nbcolli_cost_time once = c->alpha + 2 * c->overhead;
    return (nbcolli_cost_is_long(c, bytes) ? 3 * once + c->get : once) + nbcolli_cost_bytes(c, bytes);
}

/* Of several messages, from one to the next: a rank posts `ends` for each (1: it sends or receives, 2: both), and
 * copies or combines `worked` bytes, while the bytes of others move. Nothing moves while a long one is announced, asked
 * for and got. */
static nbcolli_cost_time nbcolli_cost_next(const nbcolli_cost_call *c, uint64_t bytes, uint64_t ends, uint64_t worked)
{
    nbcolli_cost_time before = nbcolli_cost_is_long(c, bytes) ? (2 * ends - 1) * c->overhead + c->get : 0;
    uint64_t posts = nbcolli_cost_is_long(c, bytes) ? ends + 1 : ends;
    return before + nbcolli_cost_later(posts * c->overhead + worked * c->gamma, nbcolli_cost_bytes(c, bytes));
}

/* `count` messages, of which none waits for another. */
static nbcolli_cost_time nbcolli_cost_train(const nbcolli_cost_call *c, uint64_t count, uint64_t bytes, uint64_t ends,
                                            uint64_t worked)
{
    if (!count)
        return 0;
    nbcolli_cost_time last =
        nbcolli_cost_message(c, bytes) + (count - 1) * nbcolli_cost_next(c, bytes, 1, worked) + worked * c->gamma;
    return nbcolli_cost_later(last, count * nbcolli_cost_next(c, bytes, ends, worked));
}

static int nbcolli_cost_is_shelved(const nbcolli_cost_call *c, uint64_t bytes)
{
    return bytes > NBCOLLI_CELL_INLINE && bytes <= c->shelf;
}

/* Of a part that is alike for all readers: do they follow the copy while it is made? */
static int nbcolli_cost_is_followed(const nbcolli_cost_call *c, uint64_t bytes)
{
    return bytes >= NBCOLLI_SHELF_FILLS && nbcolli_cost_is_shelved(c, bytes);
}

/* `count` fetches of one rank, one after the other, from exposures all of whose parts have `exposed` bytes. What fits
 * into a cell is there at once, for half of what a post takes. What its owner has copied to its shelf is copied or
 * combined where it lies; of one part a long copy is followed while it is made. The rest is got from the owner's
 * memory. */
static nbcolli_cost_time nbcolli_cost_fetches(const nbcolli_cost_call *c, uint64_t count, uint64_t bytes,
                                              uint64_t exposed, uint64_t worked)
{
    nbcolli_cost_time one = c->overhead / 2 + bytes * c->beta + worked * c->gamma, copy = 0;

    if (nbcolli_cost_is_shelved(c, exposed)) {
        one = c->get + c->overhead + nbcolli_cost_later(bytes, worked) * c->gamma;
        copy = (exposed == bytes && nbcolli_cost_is_followed(c, bytes) ? NBCOLLI_SHELF_PIECE : exposed) * c->gamma;
    } else if (exposed > NBCOLLI_CELL_INLINE)
        one += c->get + c->overhead - c->overhead / 2;
    return count ? c->alpha + 2 * c->overhead + copy + count * one : 0;
}

/* Bytes to expose, of different parts of a rank that does not fetch: what does not fit into a cell is lent. */
static uint64_t nbcolli_cost_lent(uint64_t bytes)
{
    return bytes > NBCOLLI_CELL_INLINE ? UINT64_MAX : bytes;
}

/* A rank that fetches, too, makes its own copy first, and is not followed. */
static nbcolli_cost_time nbcolli_cost_shelving(const nbcolli_cost_call *c, uint64_t bytes)
{
    return nbcolli_cost_is_followed(c, bytes) ? (bytes - NBCOLLI_SHELF_PIECE) * c->gamma : 0;
}

/* Bytes of the result that others read where they lie, if memory is shared: each time, their lines are to be taken back
 * from those who have read them before they are written again, which takes as long as to move them. */
static nbcolli_cost_time nbcolli_cost_rewritten(const nbcolli_cost_call *c, uint64_t bytes)
{
    return c->shared ? bytes * c->beta : 0;
}

/* ---- trees ----------------------------------------------------------------------------------------------------- */

/* Down a binomial tree, or up: messages of `whole` bytes and a `block` for each rank below, `worked` bytes for each. */
static nbcolli_cost_time nbcolli_cost_binomial(const nbcolli_cost_call *c, uint64_t ranks, uint64_t whole,
                                               uint64_t block, uint64_t worked)
{
    if (ranks < 2)
        return 0;
    uint64_t low = (uint64_t)nbcoll_power((int)(ranks - 1)), high = ranks - low, bytes = whole + high * block;
    nbcolli_cost_time far =
        nbcolli_cost_message(c, bytes) + worked * c->gamma + nbcolli_cost_binomial(c, high, whole, block, worked);
    if (high == low)
        return far;
    return nbcolli_cost_later(far, nbcolli_cost_next(c, bytes, 1, worked) +
                                       nbcolli_cost_binomial(c, low, whole, block, worked));
}

/* To a rank of a tree of that arity, numbered level by level, past its brothers. */
static nbcolli_cost_time nbcolli_cost_descent(const nbcolli_cost_call *c, uint64_t rank, uint64_t bytes)
{
    nbcolli_cost_time sum = 0;

    if (c->arity == 1) /* too many levels to go through */
        return rank * nbcolli_cost_message(c, bytes);
    for (; rank; rank = (rank - 1) / c->arity)
        sum += nbcolli_cost_train(c, (rank - 1) % c->arity + 1, bytes, 1, 0);
    return sum;
}

/* Down such a tree in segments: to the last rank, or to the last one that has no younger brother and as many elder ones
 * as can be; and from one segment to the next. More segments than there are credits for are announced. */
static nbcolli_cost_time nbcolli_cost_levels(const nbcolli_cost_call *c, uint64_t arity, uint64_t segments)
{
    uint64_t last = c->ranks - 1, bytes = c->bytes / segments, children = last < arity ? last : arity;
    uint64_t ends = children + (last > arity), full = (last - 1) / arity * arity;
    nbcolli_cost_time work = ends * c->overhead;
    nbcolli_cost_call tree = *c;

    if (!last)
        return 0;
    tree.arity = arity;
    tree.eager = c->credits && segments > c->credits ? 0 : c->eager;
    nbcolli_cost_time wire = children * nbcolli_cost_bytes(&tree, bytes);
    nbcolli_cost_time first =
        nbcolli_cost_later(nbcolli_cost_descent(&tree, last, bytes), nbcolli_cost_descent(&tree, full, bytes));
    if (nbcolli_cost_is_long(
            &tree, bytes)) /* announcing goes on beside the bytes of earlier segments, and waits behind them */
        return first + (segments - 1) * (3 * work + c->get + wire);
    return first + (segments - 1) * nbcolli_cost_later(work, wire);
}

static uint64_t nbcolli_cost_segments(const nbcolli_cost_call *c)
{
    return (uint64_t)nbcoll_segments(c->bytes, c->segment);
}

/* ---- rounds ---------------------------------------------------------------------------------------------------- */

/* Rounds in each of which what a rank has becomes ports + 1 times as much, a block of each rank in the end. */
static nbcolli_cost_time nbcolli_cost_doubling(const nbcolli_cost_call *c, uint64_t ports, uint64_t block)
{
    nbcolli_cost_time sum = 0;

    for (uint64_t have = 1; have < c->ranks; have *= ports + 1) {
        uint64_t left = c->ranks - have, messages = (left + have - 1) / have;
        sum += nbcolli_cost_train(c, messages < ports ? messages : ports, (left < have ? left : have) * block, 2, 0);
    }
    return sum;
}

/* The same among the first of groups of neighbours, whose number is the largest power of ports + 1; each gets the
 * others' blocks first, and gives them all of them. */
static nbcolli_cost_time nbcolli_cost_exchange(const nbcolli_cost_call *c, uint64_t ports)
{
    nbcolli_cost_call groups = *c;
    uint64_t block = c->bytes / c->ranks;

    for (groups.ranks = 1; groups.ranks * (ports + 1) <= c->ranks;)
        groups.ranks *= ports + 1;
    uint64_t others = (c->ranks - 1) / groups.ranks;
    return block * c->gamma + nbcolli_cost_train(c, others, block, 1, 0) +
           nbcolli_cost_doubling(&groups, ports, c->bytes / groups.ranks) +
           nbcolli_cost_train(c, others, c->bytes, 1, 0);
}

/* Halves of a vector, halves of them, and so on, `worked` times combined. */
static nbcolli_cost_time nbcolli_cost_halving(const nbcolli_cost_call *c, uint64_t worked)
{
    nbcolli_cost_time sum = 0;

    for (uint64_t parts = 2; parts <= c->ranks; parts *= 2)
        sum += nbcolli_cost_message(c, c->bytes / parts) + worked * (c->bytes / parts) * c->gamma;
    return sum;
}

/* ---- algorithms ------------------------------------------------------------------------------------------------ */

/* A formula adds up what waits for each other. In it,
 *
 *   P             ranks
 *   n, m          bytes that all ranks know alike, of a vector or of the blocks of all ranks; n / P: of one block
 *   L, D, x       log2 P, rounded up, and down; 1 if P is no power of two, and the ranks beyond it fold; else 0
 *   M(bytes)      a message
 *   B(bytes)      a rank copies or combines these
 *   R(bytes)      of the result, which others read
 *   S(bytes)      a rank that fetches, too, copies these to its shelf first
 *   T, F, TREE    a train of messages; fetches, one after the other; a binomial tree. As above */
#define NBCOLLI_COST_MESSAGE(bytes) nbcolli_cost_message(c, bytes)
#define NBCOLLI_COST_WORK(bytes) ((bytes) * c->gamma)
#define NBCOLLI_COST_REWRITTEN(bytes) nbcolli_cost_rewritten(c, bytes)
#define NBCOLLI_COST_TRAIN(count, bytes, ends, worked) nbcolli_cost_train(c, count, bytes, ends, worked)
#define NBCOLLI_COST_FETCHES(count, bytes, exposed, worked) nbcolli_cost_fetches(c, count, bytes, exposed, worked)
#define NBCOLLI_COST_SHELVING(bytes) nbcolli_cost_shelving(c, bytes)
#define NBCOLLI_COST_TREE(whole, block, worked) nbcolli_cost_binomial(c, P, whole, block, worked)

/* X(OPERATION, name, time). The abbreviations are parameters: no macro of such a name reaches the host's code. */
#define NBCOLLI_COST_ALLGATHER(X, M, B, T, OPERATION)                                                                  \
    X(OPERATION, bruck, B(m) + nbcolli_cost_doubling(c, 1, m) + B(n))                                                  \
    X(OPERATION, bruck_ports, B(m) + nbcolli_cost_doubling(c, c->ports, m) + B(n))                                     \
    X(OPERATION, ring, (P - 1) * M(m))                                                                                 \
    X(OPERATION, flat, T(P - 1, m, 2, 0))
#define NBCOLLI_COST_REDUCE_SCATTER(X, M, B, T, TREE, OPERATION)                                                       \
    X(OPERATION, binomial, TREE(n, 0, n) + TREE(0, m, 0))                                                              \
    X(OPERATION, owners, T(P - 1, m, 2, m))                                                                            \
    X(OPERATION, halving, nbcolli_cost_halving(c, 1) + B(m) + x * (M(n) + B(n) + M(m)))                                \
    X(OPERATION, ring, (P - 1) * (M(m) + B(m)))
#define NBCOLLI_COST_LIST(X, M, B, R, T, F, S, TREE)                                                                   \
    X(BARRIER, dissemination, L *M(0))                                                                                 \
    X(BARRIER, dissemination_ports, nbcolli_cost_doubling(c, c->ports, 0))                                             \
    X(BARRIER, slots, F(P - 1, 0, 0, 0))                                                                               \
    X(BCAST, binomial, TREE(n, 0, 0))                                                                                  \
    X(BCAST, scatter_ring, T(P - 1, m, 1, 0) + (P - 1) * M(m))                                                         \
    X(BCAST, flat, T(P - 1, n, 1, 0))                                                                                  \
    X(BCAST, tree, nbcolli_cost_levels(c, c->arity, 1))                                                                \
    X(BCAST, tree_pipelined, nbcolli_cost_levels(c, c->arity, nbcolli_cost_segments(c)))                               \
    X(BCAST, chain_pipelined, nbcolli_cost_levels(c, 1, nbcolli_cost_segments(c)))                                     \
    X(BCAST, slots, F(P > 1, n, n, 0))                                                                                 \
    X(SCATTER, binomial, TREE(0, m, 0))                                                                                \
    X(SCATTER, flat, T(P - 1, m, 1, 0))                                                                                \
    X(SCATTER, slots, F(P > 1, m, P > 2 ? nbcolli_cost_lent(n - m) : n - m, 0))                                        \
    X(SCATTERV, binomial, B(n) + TREE(0, m, 0) + B(m))                                                                 \
    X(SCATTERV, flat, T(P - 1, m, 1, 0))                                                                               \
    X(GATHER, binomial, B(m) + TREE(0, m, 0))                                                                          \
    X(GATHER, flat, T(P - 1, m, 1, 0))                                                                                 \
    X(GATHER, slots, F(P - 1, m, m, 0))                                                                                \
    X(GATHERV, binomial, B(m) + TREE(0, m, 0) + B(n))                                                                  \
    X(GATHERV, flat, T(P - 1, m, 1, 0))                                                                                \
    NBCOLLI_COST_ALLGATHER(X, M, B, T, ALLGATHER)                                                                      \
    NBCOLLI_COST_ALLGATHER(X, M, B, T, ALLGATHERV)                                                                     \
    X(ALLGATHER, recursive_doubling, nbcolli_cost_exchange(c, 1))                                                      \
    X(ALLGATHER, exchange, nbcolli_cost_exchange(c, c->ports))                                                         \
    X(ALLGATHER, slots, F(P - 1, m, m, 0) + S(m))                                                                      \
    X(ALLTOALL, bruck, L * (M(n / 2) + B(n / 2)) + B(n))                                                               \
    X(ALLTOALL, pairwise, (P - 1) * M(m) + B(m))                                                                       \
    X(ALLTOALL, flat, T(P - 1, m, 2, 0) + B(m))                                                                        \
    X(ALLTOALL, slots, F(P - 1, m, n - m, 0) + B(m))                                                                   \
    X(REDUCE, binomial, TREE(n, 0, n))                                                                                 \
    X(REDUCE, pairwise, T(P - 1, m, 2, m) + T(P - 1, m, 1, 0))                                                         \
    X(REDUCE, owners, T(P - 1, m, 2, m) + T(P - 1, m, 1, 0))                                                           \
    X(REDUCE, flat, T(P - 1, n, 1, n))                                                                                 \
    X(REDUCE, slots, F(P - 1, n, n, n))                                                                                \
    X(ALLREDUCE, recursive_doubling, D *(M(n) + B(n)) + x * (2 * M(n) + B(n)))                                         \
    X(ALLREDUCE, ring, (P - 1) * (2 * M(m) + B(m) + R(m)))                                                             \
    X(ALLREDUCE, groups, L * (M(n) + B(n)))                                                                            \
    X(ALLREDUCE, owners, T(P - 1, m, 2, m) + T(P - 1, m, 2, 0) + R(m))                                                 \
    X(ALLREDUCE, flat, T(P - 1, n, 2, 0) + (P - 1) * B(n))                                                             \
    X(ALLREDUCE, halving,                                                                                              \
      nbcolli_cost_halving(c, 1) + nbcolli_cost_halving(c, 0) + x * (2 * M(n) + B(n)) + R(n - m))                      \
    X(ALLREDUCE, slots, F(P - 1, n, n, n) + S(n) + B(n))                                                               \
    NBCOLLI_COST_REDUCE_SCATTER(X, M, B, T, TREE, REDUCE_SCATTER)                                                      \
    NBCOLLI_COST_REDUCE_SCATTER(X, M, B, T, TREE, REDUCE_SCATTER_BLOCK)                                                \
    X(SCAN, recursive_doubling, L * (M(n) + 2 * B(n)) - (P > 2) * B(n))                                                \
    X(SCAN, linear, B(n) + (P - 1) * (M(n) + B(n)))                                                                    \
    X(SCAN, flat, T(P - 1, n, 1, 0) + (P - 1) * B(n))                                                                  \
    X(EXSCAN, recursive_doubling, L * (M(n) + 2 * B(n)) - (P > 1) * 2 * B(n))                                          \
    X(EXSCAN, linear, (P - 1) * (M(n) + B(n)) - (P > 1) * B(n))                                                        \
    X(EXSCAN, flat, T(P - 1, n, 1, 0) + (P - 1) * B(n) - (P > 1) * B(n))

#define NBCOLLI_COST_OF_EACH(X)                                                                                        \
    NBCOLLI_COST_LIST(X, NBCOLLI_COST_MESSAGE, NBCOLLI_COST_WORK, NBCOLLI_COST_REWRITTEN, NBCOLLI_COST_TRAIN,          \
                      NBCOLLI_COST_FETCHES, NBCOLLI_COST_SHELVING, NBCOLLI_COST_TREE)

#define NBCOLLI_COST_FUNCTION(OPERATION, name, time)                                                                   \
    static nbcolli_cost_time nbcolli_cost_##OPERATION##_##name(const nbcolli_cost_call *c)                             \
    {                                                                                                                  \
        uint64_t P = c->ranks, n = c->bytes, m = n / P, D = 63 - (uint64_t)__builtin_clzll(P);                         \
        uint64_t x = P > UINT64_C(1) << D, L = D + x;                                                                  \
        (void)m, (void)L;                                                                                              \
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

/* What is tried for a parameter: the one that is given, or else these. One that the algorithm does not read is tried
 * once. Segments: as long as a message can be that is not announced, and 4, 16 and 64 times as long. */
#define NBCOLLI_COST_TRIALS 6
static const unsigned nbcolli_cost_arities[NBCOLLI_COST_TRIALS] = {2, 3, 4, 6, 8},
                      nbcolli_cost_ports[NBCOLLI_COST_TRIALS] = {1, 2, 3, 4, 6, 8};

static unsigned nbcolli_cost_trial(unsigned given, const unsigned trials[], int is_read, int i)
{
    return i && (given || !is_read) ? 0 : given ? given : trials[i];
}

static uint64_t nbcolli_cost_segment(uint64_t given, uint64_t eager, int is_read, int i)
{
    return i && (given || !is_read || i > 3) ? 0 : given ? given : (eager ? eager : 4096) << 2 * i;
}

/* Whether there is an i-th combination of parameters to try; if so, puts it into c. */
static int nbcolli_cost_try(nbcolli_cost_call *c, const nbcoll_choice *given, uint32_t flags, int i)
{
    int by_arity = i % NBCOLLI_COST_TRIALS, by_ports = i / NBCOLLI_COST_TRIALS % NBCOLLI_COST_TRIALS;
    int by_segment = i / NBCOLLI_COST_TRIALS / NBCOLLI_COST_TRIALS;

    c->arity = nbcolli_cost_trial(given->arity, nbcolli_cost_arities, flags & NBCOLL_ALGORITHM_ARITY, by_arity);
    c->ports = nbcolli_cost_trial(given->ports, nbcolli_cost_ports, flags & NBCOLL_ALGORITHM_PORTS, by_ports);
    c->segment = nbcolli_cost_segment(given->segment, c->eager, flags & NBCOLL_ALGORITHM_SEGMENT, by_segment);
    return c->arity && c->ports && c->segment;
}

uint64_t nbcolli_cost(const nbcoll_terms *terms, nbcoll_choice *choice)
{
    const nbcolli_cost_formula *formula = nbcolli_cost_formula_of(choice->algorithm);
    uint32_t flags = choice->algorithm->flags;
    nbcolli_cost_call c = {.alpha = (nbcolli_cost_time)terms->alpha_ns * 1000,
                           .overhead = (nbcolli_cost_time)terms->overhead_ns * 1000,
                           .beta = terms->beta_ps,
                           .gamma = terms->gamma_ps ? terms->gamma_ps : terms->beta_ps,
                           .get = (nbcolli_cost_time)terms->get_ns * 1000,
                           .copied = terms->eager_ps,
                           .eager = terms->eager,
                           .credits = terms->credits,
                           .shelf = terms->shelf,
                           .ranks = (uint64_t)terms->ranks,
                           .shared = terms->shared,
                           .bytes = choice->bytes};
    const nbcoll_choice given = *choice;
    nbcolli_cost_time least = 0;

    if (flags >= NBCOLL_ALGORITHM_EXPOSES(1) && !terms->shared)
        return 0;
    for (int i = 0; formula && i < NBCOLLI_COST_TRIALS * NBCOLLI_COST_TRIALS * NBCOLLI_COST_TRIALS; i++) {
        if (!nbcolli_cost_try(&c, &given, flags, i))
            continue;
        nbcolli_cost_time time = 1 + formula->time(&c); /* 1: to be known is not 0 */
        if (least && least <= time)
            continue;
        least = time;
        choice->arity = flags & NBCOLL_ALGORITHM_ARITY ? (unsigned)c.arity : given.arity;
        choice->ports = flags & NBCOLL_ALGORITHM_PORTS ? (unsigned)c.ports : given.ports;
        choice->segment = flags & NBCOLL_ALGORITHM_SEGMENT ? (size_t)c.segment : given.segment;
    }
    return least > UINT64_MAX ? UINT64_MAX : (uint64_t)least;
}
