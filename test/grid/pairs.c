/* SPDX-License-Identifier: BSD-3-Clause
 * See pairs.h. Greedy: each point begins with a pair that is still missing; in each further dimension it takes the
 * value that adds most of the missing pairs, and steps back from dead ends. */
#include <string.h>

#include "pairs.h"
#include "world.h"

typedef struct cover {
    const grid *grid;
    uint64_t random;
    int first[PAIRS_DIMENSIONS + 1]; /* where the values of a dimension begin among all values */
    unsigned char is_covered[PAIRS_VALUES][PAIRS_VALUES];
} cover;

static unsigned char *pair(cover *c, int a, int value_a, int b, int value_b)
{
    return &c->is_covered[c->first[a] + value_a][c->first[b] + value_b];
}

/* Missing pairs that the value would make with those chosen. */
static int gain(cover *c, const int row[], int dimension, int value)
{
    int n = 0;
    for (int d = 0; d < c->grid->dimensions; d++)
        n += d != dimension && row[d] >= 0 && !*pair(c, d, row[d], dimension, value);
    return n;
}

static void mark(cover *c, const int row[])
{
    for (int a = 0; a < c->grid->dimensions; a++)
        for (int b = 0; b < c->grid->dimensions; b++)
            *pair(c, a, row[a], b, row[b]) = 1;
}

/* The values of a dimension, the best first. */
static void rank_values(cover *c, const int row[], int dimension, int values[])
{
    uint64_t worth[PAIRS_VALUES];
    int size = c->grid->sizes[dimension];

    for (int v = 0; v < size; v++) {
        int is_dear = c->grid->is_dear && c->grid->is_dear(dimension, v), at = v;
        uint64_t w = (uint64_t)gain(c, row, dimension, v) << 32 | (uint64_t)!is_dear << 31 |
                     world_random(&c->random) % (UINT64_C(1) << 31);
        for (; at > 0 && worth[at - 1] < w; at--) {
            worth[at] = worth[at - 1];
            values[at] = values[at - 1];
        }
        worth[at] = w;
        values[at] = v;
    }
}

/* Chooses values for order[at..]; 0 if there are none. */
static int complete(cover *c, int row[], const int order[], int at)
{
    int values[PAIRS_VALUES];

    if (!c->grid->is_legal(row))
        return 0;
    while (at < c->grid->dimensions && row[order[at]] >= 0)
        at++;
    if (at == c->grid->dimensions)
        return 1;
    rank_values(c, row, order[at], values);
    for (int i = 0; i < c->grid->sizes[order[at]]; i++) {
        row[order[at]] = values[i];
        if (complete(c, row, order, at + 1))
            return 1;
    }
    row[order[at]] = -1;
    return 0;
}

/* A point with this pair, if there is one. Dimension 0 is chosen first: it rules out most; and
 * the free ones last. */
static int point_with(cover *c, int a, int value_a, int b, int value_b, int row[])
{
    int order[PAIRS_DIMENSIONS] = {0};

    for (int d = 1; d < c->grid->dimensions; d++) {
        int first = d < c->grid->dimensions - c->grid->free ? 1 : c->grid->dimensions - c->grid->free;
        int at = first + (int)(world_random(&c->random) % (uint64_t)(d - first + 1));
        order[d] = order[at];
        order[at] = d;
    }
    for (int d = 0; d < c->grid->dimensions; d++)
        row[d] = -1;
    row[a] = value_a;
    row[b] = value_b;
    return complete(c, row, order, 0);
}

size_t pairs_cover(const grid *g, uint64_t seed, int *rows, size_t most)
{
    static cover c;
    int row[PAIRS_DIMENSIONS];
    size_t n = 0;

    memset(&c, 0, sizeof c);
    c.grid = g;
    c.random = seed;
    for (int d = 0; d < g->dimensions; d++)
        c.first[d + 1] = c.first[d] + g->sizes[d];
    for (int a = 0; a < g->dimensions; a++)
        for (int b = a + 1; b < g->dimensions; b++)
            for (int va = 0; va < g->sizes[a]; va++)
                for (int vb = 0; vb < g->sizes[b]; vb++) {
                    if (*pair(&c, a, va, b, vb) || !point_with(&c, a, va, b, vb, row))
                        continue;
                    mark(&c, row);
                    if (n < most)
                        memcpy(rows + n * (size_t)g->dimensions, row, sizeof(int) * (size_t)g->dimensions);
                    n++;
                }
    return n;
}
