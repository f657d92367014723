/* SPDX-License-Identifier: BSD-3-Clause
 * One exposure, with a part for each rank that is a destination, however often it is: its blocks one behind the other,
 * or the one block of an allgather. Ranks fetch from their sources, the next rank's first. Several long blocks for one
 * rank go one by one, as both ends know. Source: the slots of Ramos et al., "Nonblocking collectives for scalable Java
 * communications", section 3.4, for the ranks that are neighbours. */
#include "neighbor.h"

/* The bytes of several edges, and whether these lie one behind the other. */
typedef struct nbcolli_bundle {
    size_t bytes;
    int is_one;
} nbcolli_bundle;

static nbcolli_bundle nbcolli_bundle_of(const nbcolli_edge edges[], const int sorted[], int n)
{
    nbcolli_bundle all = {0, 1};
    for (int i = 0; i < n; i++) {
        const nbcoll_region *first = &edges[sorted[0]].at, *at = &edges[sorted[i]].at;
        all.is_one &= at->at.buffer == first->at.buffer && at->at.offset == first->at.offset + all.bytes;
        all.bytes += at->bytes;
    }
    return all;
}

/* Does a part go as a message? Where cells do not hold it, and a message does. */
static int nbcolli_peers_sent(const nbcolli_exchange *x, size_t bytes)
{
    return bytes > NBCOLLI_NEIGHBOR_CELL && bytes <= x->sent;
}

/* The part for one peer; `shown` waits for what it needs. */
static nbcoll_region nbcolli_peers_out(nbcoll_builder *b, nbcolli_exchange *x, const int sorted[], int n,
                                       nbcoll_step shown)
{
    nbcolli_bundle all = nbcolli_bundle_of(x->out, sorted, x->gathers ? 1 : n);
    nbcoll_addr at = all.is_one ? x->out[sorted[0]].at.at : nbcoll_add_scratch(b, all.bytes), to = at;

    for (int i = 0; i < n; i++) {
        nbcolli_edge *e = &x->out[sorted[i]];
        nbcoll_step there = e->there;
        if (!all.is_one) {
            there = nbcoll_add_copy(b, to, e->at.at, e->at.bytes);
            nbcoll_after(b, there, e->there);
            to = nbcoll_at(to, e->at.bytes);
        }
        nbcoll_after(b, shown, there);
    }
    return nbcoll_span(at, all.bytes);
}

static void nbcolli_peers_in(nbcoll_builder *b, nbcolli_exchange *x, const int sorted[], int n)
{
    nbcolli_bundle all = nbcolli_bundle_of(x->in, sorted, x->gathers ? 1 : n);
    nbcoll_addr at = all.is_one ? x->in[sorted[0]].at.at : nbcoll_add_scratch(b, all.bytes);
    nbcoll_step come = (nbcolli_peers_sent(x, all.bytes) ? nbcoll_add_recv : nbcoll_add_fetch)(
        b, x->around->in.peer[sorted[0]], at, all.bytes);

    for (int i = 0; i < n; i++) {
        nbcolli_edge *e = &x->in[sorted[i]];
        e->there = come;
        if (all.is_one && (!x->gathers || i == 0))
            continue;
        e->there = nbcoll_add_copy(b, e->at.at, at, e->at.bytes);
        nbcoll_after(b, e->there, come);
        at = x->gathers ? at : nbcoll_at(at, e->at.bytes);
    }
}

/* Do these go one by one? */
static int nbcolli_peers_apart(const nbcolli_exchange *x, const nbcolli_edge edges[], const int sorted[], int n)
{
    return n > 1 && !x->gathers && nbcolli_bundle_of(edges, sorted, n).bytes > x->joined;
}

void nbcolli_neighbor_peers(nbcoll_builder *b, nbcolli_exchange *x)
{
    const nbcolli_ends *out = &x->around->out, *in = &x->around->in;
    nbcoll_part *part = nbcoll_builder_parts(b, (size_t)out->count);
    nbcoll_step shown = nbcoll_add_join(b);
    size_t parts = 0;

    for (int i = 0, n; part && (n = nbcolli_same_peer(out, i)) > 0; i += n) {
        int peer = out->peer[out->sorted[i]];
        if (peer == x->around->rank)
            continue;
        if (nbcolli_peers_apart(x, x->out, &out->sorted[i], n)) {
            nbcolli_linear_out(b, x, &out->sorted[i], n);
            continue;
        }
        size_t bytes = nbcolli_bundle_of(x->out, &out->sorted[i], x->gathers ? 1 : n).bytes;
        int is_sent = nbcolli_peers_sent(x, bytes);
        nbcoll_step put = is_sent ? nbcoll_add_join(b) : shown;
        nbcoll_region at = nbcolli_peers_out(b, x, &out->sorted[i], n, put);
        if (is_sent)
            nbcoll_after(b, nbcoll_add_send(b, peer, at.at, at.bytes), put);
        else
            part[parts++] = (nbcoll_part){peer, 0, at};
    }
    if (parts)
        nbcoll_after(b, nbcoll_add_expose(b, parts, part), shown);
    for (int i = 0, n; (n = nbcolli_same_peer(in, i)) > 0; i += n) {
        if (in->peer[in->sorted[i]] == x->around->rank)
            continue;
        if (nbcolli_peers_apart(x, x->in, &in->sorted[i], n))
            nbcolli_linear_in(b, x, &in->sorted[i], n);
        else
            nbcolli_peers_in(b, x, &in->sorted[i], n);
    }
    nbcolli_linear_own(b, x);
}
