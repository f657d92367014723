/* SPDX-License-Identifier: BSD-3-Clause
 * Each edge a message of its own, straight to its place; the edges of one peer in the order that both ends know.
 * Source: the direct delivery of Traeff et al., "Isomorphic, sparse MPI-like collective communication operations for
 * parallel stencil computations" (2015). */
#include "neighbor.h"

void nbcolli_linear_out(nbcoll_builder *b, nbcolli_exchange *x, const int sorted[], int n)
{
    for (int i = 0; i < n; i++) {
        nbcolli_edge *e = &x->out[sorted[i]];
        nbcoll_after(b, nbcoll_add_send(b, x->around->out.peer[sorted[i]], e->at.at, e->at.bytes), e->there);
    }
}

void nbcolli_linear_in(nbcoll_builder *b, nbcolli_exchange *x, const int sorted[], int n)
{
    for (int i = 0; i < n; i++) {
        nbcolli_edge *e = &x->in[sorted[i]];
        e->there = nbcoll_add_recv(b, x->around->in.peer[sorted[i]], e->at.at, e->at.bytes);
    }
}

void nbcolli_linear_own(nbcoll_builder *b, nbcolli_exchange *x)
{
    const nbcolli_ends *out = &x->around->out, *in = &x->around->in;

    for (int i = 0, j = 0; i < out->count && j < in->count; i++) {
        if (out->peer[out->sorted[i]] != x->around->rank)
            continue;
        while (j < in->count && in->peer[in->sorted[j]] != x->around->rank)
            j++;
        if (j == in->count)
            return;
        nbcolli_edge *from = &x->out[out->sorted[i]], *to = &x->in[in->sorted[j++]];
        to->there = nbcoll_add_copy(b, to->at.at, from->at.at, to->at.bytes);
        nbcoll_after(b, to->there, from->there);
    }
}
