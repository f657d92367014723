/* SPDX-License-Identifier: BSD-3-Clause
 * Neighbours as grids: the verifier proves every call over all grids of up to 33 ranks in up to three dimensions,
 * periodic in any of them, with three stencils: the nearest, all around, and a wide one with itself in it. CI has all
 * of the nearest (sanitized builds a sample) and a sample of the others, NBCOLL_FULL=1 all. */
#include "proved.h"

#include <stdio.h>

#include "crew.h"

enum { RANKS = 33 };

/* All offsets of -1..1, but the middle. */
static int all_round(int offset[], int dims)
{
    int n = 0, all = dims == 1 ? 3 : dims == 2 ? 9 : 27;
    for (int code = 0; code < all; code++) {
        for (int k = 0, left = code; k < dims; k++, left /= 3)
            offset[n * dims + k] = left % 3 - 1;
        n += code != all / 2;
    }
    return n;
}

/* Itself, twice; a knight's move and its opposite, twice; far ones that may lead round. */
static int wide(int offset[], int dims)
{
    static const int wides[][3] = {{0, 0, 0},   {2, 1, 0},  {-2, -1, 0}, {0, 0, 0},  {2, 1, 0},
                                   {-2, -1, 0}, {3, 0, -1}, {1, 1, 1},   {-3, 0, 1}, {-1, -1, -1}};
    int n = (int)(sizeof wides / sizeof *wides);
    for (int i = 0; i < n; i++)
        for (int k = 0; k < dims; k++)
            offset[i * dims + k] = wides[i][k];
    return n;
}

static long long grids, proofs;
static uint64_t first; /* of each SAMPLE grids that are sampled, which one is proved */
enum { SAMPLE = 17 };

static void prove_grid(const int extent[], int dims, int ranks)
{
    int offset[27 * 3], periodic[3];
    for (int stencil = 0; stencil < 3; stencil++)
        for (int code = 0; code < 1 << dims; code++, grids++) {
            all_around all;
            for (int k = 0; k < dims; k++)
                periodic[k] = code >> k & 1;
            nbcoll_neighbor_grid grid = {.size = sizeof grid, .dims = dims, .extent = extent, .periodic = periodic};
            uint64_t step = is_full() || (!stencil && sampled(2) == 1) ? 1 : SAMPLE * (uint64_t)sampled(4);
            if ((uint64_t)grids % step != first % step)
                continue;
            grid.offset = stencil ? offset : NULL;
            grid.neighbors = stencil == 1 ? all_round(offset, dims) : stencil == 2 ? wide(offset, dims) : 0;
            all_of_grid(&all, &grid, ranks);
            proofs += prove_all(&all);
            all_close(&all);
        }
}

static void all_grids_up_to_33_ranks(void **state)
{
    (void)state;
    first = seed_of_test() % SAMPLE;
    for (int ranks = 1; ranks <= RANKS; ranks++)
        for (int x = 1; x <= ranks; x++)
            for (int y = 1; ranks % x == 0 && y <= ranks / x; y++) {
                if (ranks / x % y)
                    continue;
                int extent[3] = {x, y, ranks / x / y};
                if (y == 1 && x == ranks)
                    prove_grid(extent, 1, ranks);
                if (x * y == ranks)
                    prove_grid(extent, 2, ranks);
                prove_grid(extent, 3, ranks);
            }
    print_message("%lld grids, %lld proofs\n", grids, proofs);
    assert_true(proofs > 500);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(all_grids_up_to_33_ranks)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
