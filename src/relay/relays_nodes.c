/* SPDX-License-Identifier: BSD-3-Clause
 * What stands ready in a stream: one receive, then the sends of the relay by which the blocks of its origin come to
 * this rank. By nodes a leader shows what comes to the ranks of its node instead, in place, and its operation ends when
 * all of them have fetched it: so its places are the node's store. It takes out its own share before that end, as a
 * step of the operation says. */
#include "../engine/run/queue.h"
#include "../engine/comm/area.h"
#include "../engine/exposures/cells.h"
#include "relays.h"

/* Does the one show the other what comes: do they share a node, which it leads? What goes the other way is a message:
 * leaders stand ready. */
static int nbcolli_relays_shows(const nbcoll_relays *r, int leader, int rank)
{
    return r->nodes && leader >= 0 && nbcoll_node_place(r->nodes, leader) == 0 &&
           nbcoll_node_of(r->nodes, leader) == nbcoll_node_of(r->nodes, rank);
}

/* Does this rank lead one with which it exposes memory over `comm`, or is it led so? */
static int nbcolli_relays_shares(const nbcoll_relays *r, nbcoll_comm *comm)
{
    int shares = 0;
    for (int rank = 0; rank < r->ranks; rank++)
        if (rank != r->rank && (nbcolli_relays_shows(r, r->rank, rank) || nbcolli_relays_shows(r, rank, r->rank)))
            shares |= nbcoll_comm_shares(comm, rank);
    return shares;
}

nbcoll_comm_config nbcolli_relays_flow_config(const nbcoll_relays *r, int i)
{
    const size_t eager = sizeof(nbcolli_relays_fragment) + r->config.fragment;
    nbcoll_comm_config config = NBCOLL_COMM_DEFAULTS;
    config.cells = config.schedules = 1;
    config.slots = NBCOLLI_RELAYS_BATCHES;
    if (i == 2 * r->ranks) { /* that of the closing */
        config.schedules = config.slots;
        config.eager = eager > config.eager ? eager : config.eager; /* the others have no larger one */
        return config;
    }
    if (i < r->ranks)
        config.slots = nbcolli_relays_most(r);
    config.cells = nbcolli_relays_flow_is_led(r, i); /* else nobody shows anything */
    config.eager = eager; /* as far as the transport goes */
    return config;
}

int nbcolli_relays_leader(const nbcoll_relays *r)
{
    return nbcoll_node_rank(r->nodes, nbcoll_node_of(r->nodes, r->rank), 0);
}

int nbcolli_relays_flow_is_led(const nbcoll_relays *r, int i)
{
    return i < r->ranks && r->nodes && r->nodes->count < r->ranks;
}

/* ---- the store --------------------------------------------------------------------------------------------------- */

/* Memory that the node shares, if there is as much beside the cells of all streams: without those, nobody reads it. */
static void *nbcolli_relays_shared_store(nbcoll_relays *r, size_t places)
{
    const nbcoll_comm_config closing = nbcolli_relays_flow_config(r, 2 * r->ranks);
    size_t bytes, cells = nbcoll_cells_bytes(&closing, r->ranks);
    void *room = NULL;
    if (nbcolli_relays_is_led(r) || !nbcolli_relays_shares(r, r->comm) ||
        __builtin_mul_overflow(places, r->stride, &bytes))
        return NULL;
    nbcolli_layout led = nbcolli_layout_led((size_t)r->ranks, nbcolli_relays_most(r), nbcolli_relays_leader(r));
    cells += (size_t)r->ranks * nbcolli_area_bytes(&led, nbcolli_relays_most(r), nbcolli_relays_leader(r) == r->rank);
    if (nbcoll_mem_alloc(r->comm, cells, &room) == NBCOLL_OK)
        nbcoll_mem_alloc(r->comm, bytes, &r->shared);
    nbcoll_mem_free(r->comm, room);
    return r->shared;
}

/* Of all streams in one piece, and last, so that the arena takes no more than that. Fragments lie on lines of their
 * own. */
nbcoll_status nbcolli_relays_lay_places(nbcoll_relays *r)
{
    size_t places = 0;
    for (int i = 0; i < r->ranks; i++)
        places += r->stream[i].fragments.places;
    char *at = nbcolli_relays_shared_store(r, places);
    if (!at && !(at = nbcolli_arena_take(&r->arena, places, r->stride)))
        return NBCOLL_ERR_MEMORY;
    for (int i = 0; i < r->ranks; i++)
        for (uint32_t k = 0; k < r->stream[i].fragments.places; k++, at += r->stride)
            r->stream[i].fragments.preposted[k].at = (nbcolli_relays_fragment *)(void *)at;
    return NBCOLL_OK;
}

/* ---- what comes before the end ----------------------------------------------------------------------------------- */

/* A step, inside: who waits looks again; those that carry out calls move on the way out. */
static nbcoll_status nbcolli_relays_came(void *user, const nbcoll_memory memory[])
{
    nbcolli_relays_flow *flow = user;
    nbcoll_relays *r = flow->of;
    size_t place = (size_t)((const char *)memory->at - (const char *)flow->preposted->at) / r->stride;
    atomic_store_explicit(&flow->preposted[place].has_come, 1, memory_order_release); /* shows what has come */
    nbcolli_request *q = r->notice;
    if (!q) {
        r->context->driven.ended++;
        return NBCOLL_OK;
    }
    if (!q->calling) /* else it will be told of this, too */
        atomic_fetch_add_explicit(&r->inside, 1, memory_order_relaxed); /* taken back by the callback */
    nbcolli_request_end(r->context, q);
    return NBCOLL_OK;
}

/* ---- schedules --------------------------------------------------------------------------------------------------- */

nbcoll_status nbcolli_relays_builder(const nbcoll_relays *r, nbcoll_comm *shares, nbcoll_builder **out)
{
    const nbcoll_builder_config config = {.size = sizeof config,
                                          .host = &r->arena.host,
                                          .rank = r->rank,
                                          .ranks = r->ranks,
                                          .shares = shares ? nbcoll_comm_shares : NULL,
                                          .shares_user = shares};
    nbcoll_status s = nbcoll_builder_open(&config, out);
    if (s != NBCOLL_OK)
        return s;
    nbcoll_set_name(*out, "relay");
    nbcoll_set_fingerprint(*out, nbcolli_relays_fingerprint(&r->config));
    nbcoll_set_preposted(*out);
    return NBCOLL_OK;
}

static nbcoll_status nbcolli_relays_build_in(nbcoll_relays *r, int origin, int from, const nbcoll_relay *relay,
                                             nbcoll_comm *shares, nbcoll_schedule **out)
{
    const nbcoll_addr at = {NBCOLL_BUFFER_RECV, 0};
    const size_t bytes = sizeof(nbcolli_relays_fragment) + r->config.fragment;
    const nbcoll_region all = nbcoll_span(at, bytes);
    nbcoll_step have = NBCOLL_START;
    size_t shown = 0;
    nbcoll_builder *b;
    nbcoll_status s = nbcolli_relays_builder(r, shares, &b);
    if (s != NBCOLL_OK)
        return s;
    if (nbcolli_relays_shows(r, from, r->rank))
        have = nbcoll_add_fetch(b, from, at, bytes);
    else if (r->rank != origin)
        have = nbcoll_add_recv(b, from, at, bytes);
    nbcoll_part *part = nbcoll_builder_parts(b, relay->destinations ? relay->destinations : 1);
    for (uint32_t i = 0; part && i < relay->destinations; i++)
        if (nbcolli_relays_shows(r, r->rank, relay->destination[i].rank))
            part[shown++] = (nbcoll_part){relay->destination[i].rank, 0, all};
        else
            nbcoll_after(b, nbcoll_add_send(b, relay->destination[i].rank, at, bytes), have);
    if (shown)
        nbcoll_after(b, nbcoll_add_expose(b, shown, part), have);
    if (shown && r->rank != origin) /* its own fragments nobody takes out */
        nbcoll_after(b, nbcoll_add_call(b, nbcolli_relays_came, &r->stream[origin].fragments, 1, &all, 0, NULL), have);
    return nbcoll_builder_finish(b, out);
}

nbcoll_status nbcolli_relays_build(nbcoll_relays *r, int origin, int from, const nbcoll_relay *relay)
{
    nbcolli_relays_flow *flow = &r->stream[origin].fragments;
    nbcoll_status s = nbcolli_relays_build_in(r, origin, from, relay, r->nodes ? r->comm : NULL, &flow->schedule);
    if (s == NBCOLL_OK && nbcolli_relays_shares(r, r->comm))
        s = nbcolli_relays_build_in(r, origin, from, relay, NULL, &flow->lowered);
    return s;
}

void nbcolli_relays_settle(nbcolli_relays_flow *flow)
{
    if (flow->lowered && !nbcolli_relays_shares(flow->of, flow->comm)) {
        nbcoll_schedule *lowered = flow->lowered;
        flow->lowered = flow->schedule;
        flow->schedule = lowered;
    }
    nbcoll_schedule_free(flow->lowered);
    flow->lowered = NULL;
}
