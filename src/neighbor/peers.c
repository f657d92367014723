/* SPDX-License-Identifier: BSD-3-Clause
 * One exposure, with a part for each rank that is a destination, however often it is: its blocks one behind the other,
 * or the one block of an allgather. Ranks fetch from their sources, the next rank's first. A part that cells do not
 * hold but a message does is sent. Several long blocks for one rank are not copied: two are exposed, in two more
 * exposures, which have the first and the second blocks of all such ranks; more go one by one. Both ends know the same.
 * Source: the slots of Ramos et al., "Nonblocking collectives for scalable Java communications", section 3.4, for the
 * ranks that are neighbours. */
#include "neighbor.h"

/* How the edges between two ranks go. */
typedef enum nbcolli_bundling {
    NBCOLLI_GOES_JOINED,
    NBCOLLI_GOES_SENT,
    NBCOLLI_GOES_PAIRED,
    NBCOLLI_GOES_APART
} nbcolli_bundling;

enum { NBCOLLI_EXPOSURES = 3 }; /* of what is joined; of the first and the second of pairs */

/* The bytes of several edges, and whether these lie one behind the other. */
typedef struct nbcolli_bundle {
    size_t bytes;
    int is_one;
    nbcolli_bundling goes;
} nbcolli_bundle;

static nbcolli_bundle nbcolli_bundle_of(const nbcolli_exchange *x, const nbcolli_edge edges[], const int sorted[],
                                        int n)
{
    nbcolli_bundle all = {0, 1, NBCOLLI_GOES_JOINED};

    n = x->gathers ? 1 : n;
    for (int i = 0; i < n; i++) {
        const nbcoll_region *first = &edges[sorted[0]].at, *at = &edges[sorted[i]].at;
        all.is_one &= at->at.buffer == first->at.buffer && at->at.offset == first->at.offset + all.bytes;
        all.bytes += at->bytes;
    }
    if (n > 1 && all.bytes > x->joined)
        all.goes = n == 2 && x->pairs ? NBCOLLI_GOES_PAIRED : NBCOLLI_GOES_APART;
    else if (all.bytes > NBCOLLI_NEIGHBOR_CELL && all.bytes <= x->sent)
        all.goes = NBCOLLI_GOES_SENT;
    return all;
}

/* The blocks for one peer, together; `put` waits for what they need. */
static nbcoll_region nbcolli_peers_join(nbcoll_builder *b, nbcolli_exchange *x, const int sorted[], int n,
                                        nbcolli_bundle all, nbcoll_step put)
{
    nbcoll_addr at = all.is_one ? x->out[sorted[0]].at.at : nbcoll_add_scratch(b, all.bytes), to = at;

    for (int i = 0; i < n; i++) {
        nbcolli_edge *e = &x->out[sorted[i]];
        nbcoll_step there = e->there;
        if (!all.is_one) {
            there = nbcoll_add_copy(b, to, e->at.at, e->at.bytes);
            nbcoll_after(b, there, e->there);
            to = nbcoll_at(to, e->at.bytes);
        }
        nbcoll_after(b, put, there);
    }
    return nbcoll_span(at, all.bytes);
}

/* The three exposures while their parts are gathered, and what these wait for. */
typedef struct nbcolli_shown {
    nbcoll_part *part[NBCOLLI_EXPOSURES];
    size_t parts[NBCOLLI_EXPOSURES];
    nbcoll_step put[NBCOLLI_EXPOSURES];
} nbcolli_shown;

static void nbcolli_peers_out(nbcoll_builder *b, nbcolli_exchange *x, const int sorted[], int n, nbcolli_shown *shown)
{
    nbcolli_bundle all = nbcolli_bundle_of(x, x->out, sorted, n);
    int peer = x->around->out.peer[sorted[0]];

    if (all.goes == NBCOLLI_GOES_APART)
        nbcolli_linear_out(b, x, sorted, n);
    for (int i = 0; i < n && all.goes == NBCOLLI_GOES_PAIRED; i++) {
        const nbcolli_edge *e = &x->out[sorted[i]];
        shown->part[1 + i][shown->parts[1 + i]++] = (nbcoll_part){peer, 0, e->at};
        nbcoll_after(b, shown->put[1 + i], e->there);
    }
    if (all.goes == NBCOLLI_GOES_JOINED)
        shown->part[0][shown->parts[0]++] =
            (nbcoll_part){peer, 0, nbcolli_peers_join(b, x, sorted, n, all, shown->put[0])};
    if (all.goes == NBCOLLI_GOES_SENT) {
        nbcoll_step put = nbcoll_add_join(b);
        nbcoll_region at = nbcolli_peers_join(b, x, sorted, n, all, put);
        nbcoll_after(b, nbcoll_add_send(b, peer, at.at, at.bytes), put);
    }
}

static void nbcolli_peers_in(nbcoll_builder *b, nbcolli_exchange *x, const int sorted[], int n)
{
    nbcolli_bundle all = nbcolli_bundle_of(x, x->in, sorted, n);
    int peer = x->around->in.peer[sorted[0]];

    if (all.goes == NBCOLLI_GOES_APART)
        nbcolli_linear_in(b, x, sorted, n);
    for (int i = 0; i < n && all.goes == NBCOLLI_GOES_PAIRED; i++) {
        nbcolli_edge *e = &x->in[sorted[i]];
        e->there = nbcoll_add_fetch(b, peer, e->at.at, e->at.bytes);
    }
    if (all.goes == NBCOLLI_GOES_APART || all.goes == NBCOLLI_GOES_PAIRED)
        return;
    nbcoll_addr at = all.is_one ? x->in[sorted[0]].at.at : nbcoll_add_scratch(b, all.bytes);
    nbcoll_step come = (all.goes == NBCOLLI_GOES_SENT ? nbcoll_add_recv : nbcoll_add_fetch)(b, peer, at, all.bytes);
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

void nbcolli_neighbor_peers(nbcoll_builder *b, nbcolli_exchange *x)
{
    const nbcolli_ends *out = &x->around->out, *in = &x->around->in;
    nbcolli_shown shown = {.parts = {0}};

    for (int k = 0; k < NBCOLLI_EXPOSURES; k++) {
        shown.part[k] = nbcoll_builder_parts(b, (size_t)out->count);
        shown.put[k] = nbcoll_add_join(b);
    }
    for (int i = 0, n; shown.part[2] && (n = nbcolli_same_peer(out, i)) > 0; i += n)
        if (out->peer[out->sorted[i]] != x->around->rank)
            nbcolli_peers_out(b, x, &out->sorted[i], n, &shown);
    for (int k = 0; k < NBCOLLI_EXPOSURES; k++)
        if (shown.parts[k])
            nbcoll_after(b, nbcoll_add_expose(b, shown.parts[k], shown.part[k]), shown.put[k]);
    for (int i = 0, n; (n = nbcolli_same_peer(in, i)) > 0; i += n)
        if (in->peer[in->sorted[i]] != x->around->rank)
            nbcolli_peers_in(b, x, &in->sorted[i], n);
    nbcolli_linear_own(b, x);
}
