/* SPDX-License-Identifier: BSD-3-Clause
 * In a grid, dimension by dimension: in dimension k each block travels as far as its offset says there. Blocks that go
 * equally far are one message, so that a rank sends as many messages as there are different components of offsets: 6
 * instead of 26 for the neighbours in a cube. Blocks of an allgather that have the same way behind them are one block.
 * Source: Traeff, Luebbe, Rougier, Hunold, "Isomorphic, sparse MPI-like collective communication operations for
 * parallel stencil computations" (2015), algorithms 1 and 2; "Cartesian collective communication" (2019) for grids that
 * end. */
#include "neighbor.h"

/* Is block i of some rank here, when it has gone its way in the first `gone` dimensions? Where both ends of its whole
 * way are in the grid, so is all between them. */
static int nbcolli_combining_has(const nbcolli_around *a, int i, int gone)
{
    int from[NBCOLL_NEIGHBOR_DIMS], to[NBCOLL_NEIGHBOR_DIMS];
    for (int k = 0; k < a->dims; k++) {
        from[k] = a->coordinate[k] - (k < gone ? a->offset[i * a->dims + k] : 0);
        to[k] = from[k] + a->offset[i * a->dims + k];
    }
    return nbcolli_grid_rank(a, from) >= 0 && nbcolli_grid_rank(a, to) >= 0;
}

/* The first block here that is the same as block i, which is here, and goes the same way in the first `ways`
 * dimensions: of an allgather, one from the same rank. */
static int nbcolli_combining_same(const nbcolli_exchange *x, int i, int ways, int gone)
{
    const nbcolli_around *a = x->around;
    for (int j = 0; x->gathers && j < i; j++) {
        int k = 0;
        while (k < ways && nbcolli_grid_way(a, i, k) == nbcolli_grid_way(a, j, k))
            k++;
        if (k == ways && nbcolli_combining_has(a, j, gone))
            return j;
    }
    return i;
}

/* The blocks of one message: those of offsets that go as far as `like` in dimension k. Of the sender's, with k
 * dimensions behind them, or of the receiver's, with k + 1: they are the same. Returns whether i is one. */
static int nbcolli_combining_takes(const nbcolli_exchange *x, int like, int i, int k, int gone)
{
    return nbcolli_grid_way(x->around, i, k) == nbcolli_grid_way(x->around, like, k) &&
           nbcolli_combining_has(x->around, i, gone) && nbcolli_combining_same(x, i, k + 1, gone) == i;
}

static size_t nbcolli_combining_count(const nbcolli_exchange *x, int like, int k, int gone)
{
    size_t n = 0;
    for (int i = 0; i < x->around->out.count; i++)
        n += (size_t)nbcolli_combining_takes(x, like, i, k, gone);
    return n;
}

static int nbcolli_combining_peer(const nbcolli_around *a, int like, int k, int sign)
{
    int at[NBCOLL_NEIGHBOR_DIMS];
    for (int d = 0; d < a->dims; d++)
        at[d] = a->coordinate[d] + (d == k ? sign * a->offset[like * a->dims + k] : 0);
    return nbcolli_grid_rank(a, at);
}

static void nbcolli_combining_send(nbcoll_builder *b, nbcolli_exchange *x, int like, int k)
{
    size_t n = nbcolli_combining_count(x, like, k, k), bytes = n * x->bytes;
    nbcoll_addr at = n > 1 ? nbcoll_add_scratch(b, bytes) : x->out[like].at.at;
    nbcoll_step put = nbcoll_add_join(b);

    if (!n)
        return;
    for (int i = 0, place = 0; i < x->around->out.count; i++) {
        if (!nbcolli_combining_takes(x, like, i, k, k))
            continue;
        nbcoll_step there = x->out[i].there;
        if (n > 1) {
            there = nbcoll_add_copy(b, nbcoll_at(at, (size_t)place++ * x->bytes), x->out[i].at.at, x->bytes);
            nbcoll_after(b, there, x->out[i].there);
        } else
            at = x->out[i].at.at;
        nbcoll_after(b, put, there);
    }
    nbcoll_after(b, nbcoll_add_send(b, nbcolli_combining_peer(x->around, like, k, 1), at, bytes), put);
}

/* Is dimension k the last in which block i goes anywhere? */
static int nbcolli_combining_ends(const nbcolli_around *a, int i, int k)
{
    while (++k < a->dims)
        if (nbcolli_grid_way(a, i, k))
            return 0;
    return 1;
}

static void nbcolli_combining_receive(nbcoll_builder *b, nbcolli_exchange *x, int like, int k)
{
    const nbcolli_around *a = x->around;
    size_t n = nbcolli_combining_count(x, like, k, k + 1), place = 0;
    int only = 0;

    if (!n)
        return;
    while (!nbcolli_combining_takes(x, like, only, k, k + 1))
        only++;
    nbcoll_addr at = n == 1 && nbcolli_combining_ends(a, only, k) ? x->in[a->opposite[only]].at.at
                                                                  : nbcoll_add_scratch(b, n * x->bytes);
    nbcoll_step come = nbcoll_add_recv(b, nbcolli_combining_peer(a, like, k, -1), at, n * x->bytes);
    for (int i = 0; i < a->out.count; i++) {
        if (nbcolli_combining_takes(x, like, i, k, k + 1))
            x->out[i] = (nbcolli_edge){nbcoll_span(nbcoll_at(at, place++ * x->bytes), x->bytes), come};
        else if (nbcolli_grid_way(a, i, k) == nbcolli_grid_way(a, like, k) && nbcolli_combining_has(a, i, k + 1))
            x->out[i] = x->out[nbcolli_combining_same(x, i, k + 1, k + 1)];
    }
}

void nbcolli_neighbor_combining(nbcoll_builder *b, nbcolli_exchange *x)
{
    const nbcolli_around *a = x->around;

    for (int k = 0; k < a->dims; k++)
        for (int like = 0; like < a->out.count; like++) {
            int first = 0;
            while (nbcolli_grid_way(a, first, k) != nbcolli_grid_way(a, like, k))
                first++;
            if (first < like || !nbcolli_grid_way(a, like, k))
                continue;
            nbcolli_combining_send(b, x, like, k);
            nbcolli_combining_receive(b, x, like, k);
        }
    for (int i = 0; i < a->out.count; i++) {
        nbcolli_edge *to = &x->in[a->opposite[i]], *from = &x->out[i];
        if (!nbcolli_combining_has(a, i, a->dims))
            continue;
        to->there = from->there;
        if (from->at.at.buffer != to->at.at.buffer || from->at.at.offset != to->at.at.offset) {
            to->there = nbcoll_add_copy(b, to->at.at, from->at.at, x->bytes);
            nbcoll_after(b, to->there, from->there);
        }
    }
}
