/* SPDX-License-Identifier: BSD-3-Clause
 * The cost model: for each algorithm, what its longest path costs, as a function of the number of ranks and the bytes
 * that all ranks know alike. Messages in flight at the same time share nothing but their sender's and receiver's time
 * for bytes and posts. An algorithm that has no formula here is never chosen for its cost: so the direct allreduce,
 * which all ranks' messages at once make slower than the ring where they share a memory. */
#include "nbcoll/inline/host.h"
#include "nbcoll/inline/select.h"

#define ANNOUNCED 4096 /* bytes beyond which a message is announced, asked for and answered: three for one */

/* On the longest path: messages after each other; sends and receives posted one after the other; bytes sent, copied or
 * combined one after the other. */
typedef struct cost_path {
    uint64_t hops, posts, bytes;
} cost_path;

/* X(OPERATION, name, length of a message, hops, posts, bytes), of P ranks and n bytes: m = n / P; L = log2 P, up; and
 * for what folds the ranks in excess of a power of two, D = log2 P, down, and x = 1 where there are such ranks. */
#define COST_LIST(X)                                                                                                   \
    X(BARRIER, dissemination, 0, L, 2 * L, 0)                                                                          \
    X(BCAST, binomial, n, L, 2 * L, L * n)                                                                             \
    X(BCAST, scatter_ring, m, P - 1 + (P > 2), 2 * (P - 1), 2 * (n - m))                                               \
    X(SCATTER, binomial, n / 2, L, 2 * L, n - m)                                                                       \
    X(SCATTER, flat, m, P > 1, P, n - m)                                                                               \
    X(GATHER, binomial, n / 2, L, 2 * L, n - m)                                                                        \
    X(GATHER, flat, m, P > 1, P, n - m)                                                                                \
    X(SCATTERV, binomial, n / 2, L, 2 * L, n - m)                                                                      \
    X(SCATTERV, flat, m, P > 1, P, n - m)                                                                              \
    X(GATHERV, binomial, n / 2, L, 2 * L, n - m)                                                                       \
    X(GATHERV, flat, m, P > 1, P, n - m)                                                                               \
    X(ALLGATHER, bruck, n / 2, L, 2 * L, n - m + n)                                                                    \
    X(ALLGATHER, ring, m, P - 1, 2 * (P - 1), n - m)                                                                   \
    X(ALLGATHERV, bruck, n / 2, L, 2 * L, n - m + n)                                                                   \
    X(ALLGATHERV, ring, m, P - 1, 2 * (P - 1), n - m)                                                                  \
    X(REDUCE, binomial, n, L, 2 * L, 2 * L * n)                                                                        \
    X(REDUCE, pairwise, m, 2 * (P > 1), 3 * (P - 1), 3 * (n - m))                                                      \
    X(REDUCE, direct, m, 2 * (P > 1), 3 * (P - 1), 3 * (n - m))                                                        \
    X(ALLREDUCE, recursive_doubling, n, D + 2 * x, 2 * (D + 2 * x), (2 * D + 3 * x) * n)                               \
    X(ALLREDUCE, ring, m, 2 * (P - 1), 4 * (P - 1), 3 * (n - m))                                                       \
    X(ALLREDUCE, aligned, n, L, 2 * (L + x), (2 * D + 3 * x) * n)                                                      \
    X(ALLTOALL, bruck, n / 2, L, 2 * L, L * n + n)                                                                     \
    X(ALLTOALL, pairwise, m, P - 1, 2 * (P - 1), n - m)                                                                \
    X(ALLTOALL, flat, m, P > 1, 2 * (P - 1), n - m)                                                                    \
    X(REDUCE_SCATTER, binomial, n, 2 * L, 4 * L, 2 * L * n + n - m)                                                    \
    X(REDUCE_SCATTER, direct, m, P > 1, 2 * (P - 1), 2 * (n - m))                                                      \
    X(REDUCE_SCATTER, halving, n / 2, D + 2 * x, 2 * (D + 2 * x), 2 * (n - m) + x * (2 * n + m))                       \
    X(REDUCE_SCATTER_BLOCK, binomial, n, 2 * L, 4 * L, 2 * L * n + n - m)                                              \
    X(REDUCE_SCATTER_BLOCK, direct, m, P > 1, 2 * (P - 1), 2 * (n - m))                                                \
    X(REDUCE_SCATTER_BLOCK, halving, n / 2, D + 2 * x, 2 * (D + 2 * x), 2 * (n - m) + x * (2 * n + m))                 \
    X(SCAN, recursive_doubling, n, L, 2 * L, (3 * L - (P > 1)) * n)                                                    \
    X(SCAN, linear, n, P - 1, 2 * (P - 1), 2 * (P - 1) * n)                                                            \
    X(EXSCAN, recursive_doubling, n, L, 2 * L, (3 * L - (P > 1)) * n)                                                  \
    X(EXSCAN, linear, n, P - 1, 2 * (P - 1), 2 * (P - 1) * n)

static int cost_path_of(const nbcoll_algorithm *algorithm, uint64_t P, uint64_t n, cost_path *path)
{
    uint64_t m = n / P, D = 63 - (uint64_t)__builtin_clzll(P), x = P > UINT64_C(1) << D, L = D + x;

#define COST_ENTRY(OPERATION, called, length, hop, post, byte)                                                         \
    if (algorithm->operation == NBCOLL_OPERATION_##OPERATION && !strcmp(algorithm->name, #called)) {                   \
        uint64_t times = (length) > ANNOUNCED ? 3 : 1;                                                                 \
        *path = (cost_path){times * (hop), times * (post), byte};                                                      \
        return 1;                                                                                                      \
    }
    COST_LIST(COST_ENTRY)
    return 0;
}

/* sum + count * price, or as much as there is room for. */
static uint64_t cost_add(uint64_t sum, uint64_t count, uint64_t price)
{
    uint64_t cost;
    return __builtin_mul_overflow(count, price, &cost) || __builtin_add_overflow(sum, cost, &sum) ? UINT64_MAX : sum;
}

uint64_t nbcolli_cost(const nbcoll_terms *terms, const nbcoll_algorithm *algorithm, size_t bytes)
{
    uint64_t ranks = (uint64_t)terms->ranks, most = (UINT64_C(1) << 56) / ranks; /* so that no formula overflows */
    cost_path path;

    if (!cost_path_of(algorithm, ranks, bytes < most ? bytes : most, &path))
        return 0;
    uint64_t cost = cost_add(1, path.hops, terms->alpha_ns * UINT64_C(1000)); /* 1: to be known is not 0 */
    return cost_add(cost_add(cost, path.posts, terms->overhead_ns * UINT64_C(1000)), path.bytes, terms->beta_ps);
}
