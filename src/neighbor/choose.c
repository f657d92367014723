/* SPDX-License-Identifier: BSD-3-Clause
 * Which algorithm serves a call: by what all ranks know alike, the agreed prices, the grid and the length of equal
 * blocks. What a rank in the middle of the grid would take counts. */
#include "../reduce/packed.h"
#include "neighbor.h"

/* Bytes of several blocks for one rank that are rather copied twice than announced and got one by one, where ranks
 * share memory. */
#define NBCOLLI_NEIGHBOR_JOINED ((size_t)1280 << 10)

/* Up to so many ranks a rank's exposures have two parts for each (schedule.h). */
#define NBCOLLI_NEIGHBOR_TWO_PARTS 32

/* What the longest path through messages takes: of so many at a time, after each other. */
static uint64_t nbcolli_neighbor_cost(const nbcoll_level *price, uint64_t rounds, uint64_t messages, uint64_t bytes)
{
    return rounds * price->alpha_ns + 2 * messages * price->overhead_ns +
           bytes * ((uint64_t)price->beta_ps + price->eager_ps) / 1000;
}

/* Do offsets i and j go alike in the dimensions from..below? */
static int nbcolli_ways_alike(const nbcolli_around *a, int i, int j, int from, int below)
{
    for (int k = from; k < below; k++)
        if (nbcolli_grid_way(a, i, k) != nbcolli_grid_way(a, j, k))
            return 0;
    return 1;
}

/* Offsets that are no other's like in these dimensions, and go anywhere there. */
static uint64_t nbcolli_grid_ways(const nbcolli_around *a, int from, int below)
{
    uint64_t n = 0;
    for (int i = 0; i < a->out.count; i++) {
        int j = 0, goes = 0;
        for (int k = from; k < below; k++)
            goes |= nbcolli_grid_way(a, i, k) != 0;
        while (goes && !nbcolli_ways_alike(a, i, j, from, below))
            j++;
        n += (uint64_t)(goes && j == i);
    }
    return n;
}

static uint64_t nbcolli_cost_combining(const nbcolli_around *a, const nbcoll_level *price, size_t bytes, int gathers)
{
    uint64_t messages = 0, rounds = 0, blocks = 0;

    for (int k = 0; k < a->dims; k++) {
        uint64_t different = nbcolli_grid_ways(a, k, k + 1);
        messages += different;
        rounds += different > 0;
        for (int i = 0; !gathers && i < a->out.count; i++)
            blocks += nbcolli_grid_way(a, i, k) != 0;
    }
    if (gathers)
        blocks = nbcolli_grid_ways(a, 0, a->dims);
    return nbcolli_neighbor_cost(price, rounds, messages, blocks * bytes) +
           blocks * (2 * bytes * price->copy_ps / 1000 + price->overhead_ns / 4);
}

nbcolli_neighbor_choice nbcolli_neighbor_choose(const nbcolli_around *a, const nbcolli_neighbor_call *c,
                                                const nbcoll_terms *terms, uint32_t exposures)
{
    nbcolli_neighbor_choice choice = {.algorithm = nbcolli_neighbor_peers,
                                      .joined = terms->shared ? NBCOLLI_NEIGHBOR_JOINED : terms->between.eager,
                                      .sent = terms->between.eager,
                                      .pairs =
                                          terms->shared && exposures >= 3 && a->ranks <= NBCOLLI_NEIGHBOR_TWO_PARTS};
    int is_equal = c->kind == NBCOLLI_NEIGHBOR_ALLGATHER || c->kind == NBCOLLI_NEIGHBOR_ALLTOALL;

    if (!is_equal || !a->dims || terms->shared)
        return choice;
    nbcoll_type type = c->side[0].type;
    size_t bytes = c->side[0].count * nbcolli_packed_size(type);
    uint64_t peers = nbcolli_grid_ways(a, 0, a->dims), blocks = 0;
    for (int i = 0; !nbcolli_gathers(c) && i < a->out.count; i++)
        for (int k = 0; k < a->dims; k++)
            if (nbcolli_grid_way(a, i, k)) {
                blocks++;
                break;
            }
    uint64_t direct = nbcolli_neighbor_cost(&terms->between, 1, peers, (nbcolli_gathers(c) ? peers : blocks) * bytes);
    if (bytes < terms->between.eager / 4 &&
        nbcolli_cost_combining(a, &terms->between, bytes, nbcolli_gathers(c)) < direct)
        choice.algorithm = nbcolli_neighbor_combining;
    return choice;
}
