/* SPDX-License-Identifier: BSD-3-Clause
 * Relays are opened. A stream's fragments go by the relays by which the blocks of its origin come to ranks, its credits
 * the other way. */
#include "relays.h"

/* ---- schedules --------------------------------------------------------------------------------------------------- */

/* By which relay a stream's fragments come to a rank, and from which one. */
typedef struct nbcolli_relays_hop {
    int from;
    uint32_t relay;
} nbcolli_relays_hop;

/* What the schedules of all streams are made of. */
typedef struct nbcolli_relays_plan {
    nbcolli_arena arena;
    nbcoll_topology **topology;  /* [ranks] */
    nbcolli_between between; /* by nodes: what these are made of */
    nbcolli_relays_hop *hop; /* [ranks] */
    int *reached;            /* [ranks] in this order */
} nbcolli_relays_plan;

/* Follows the blocks of `origin`, which come to each rank once. */
static void nbcolli_relays_trace(nbcolli_relays_plan *p, int origin)
{
    int count = 0;
    p->hop[origin] = (nbcolli_relays_hop){-1, 0};
    p->reached[count++] = origin;
    for (int i = 0; i < count; i++) {
        int rank = p->reached[i];
        const nbcoll_relay *relay = &p->topology[rank]->relay[p->hop[rank].relay];
        for (uint32_t k = 0; k < relay->destinations; k++) {
            const nbcoll_relay_end *end = &relay->destination[k];
            p->hop[end->rank] = (nbcolli_relays_hop){rank, end->relay};
            p->reached[count++] = end->rank;
        }
    }
}

/* Credits of all who are sent to, then the own one, the other way. */
static nbcoll_status nbcolli_relays_build_credit(nbcoll_relays *r, const nbcolli_relays_plan *p, int origin)
{
    const nbcolli_relays_hop *hop = &p->hop[r->rank];
    const nbcoll_relay *relay = &p->topology[r->rank]->relay[hop->relay];
    const nbcoll_addr nothing = {NBCOLL_BUFFER_RECV, 0};
    nbcoll_builder *b;
    nbcoll_status s = nbcolli_relays_builder(r, NULL, &b);
    if (s != NBCOLL_OK)
        return s;
    nbcoll_step all = nbcoll_add_join(b);
    for (uint32_t i = 0; i < relay->destinations; i++)
        nbcoll_after(b, all, nbcoll_add_recv(b, relay->destination[i].rank, nothing, 0));
    if (r->rank != origin)
        nbcoll_after(b, nbcoll_add_send(b, hop->from, nothing, 0), all);
    return nbcoll_builder_finish(b, &r->stream[origin].credits.schedule);
}

/* Of all ranks. */
static nbcoll_status nbcolli_relays_wire(const nbcoll_relays *r, nbcolli_relays_plan *p)
{
    const nbcoll_relays_config *c = &r->config;
    nbcoll_status s = NBCOLL_OK;
    if (r->nodes)
        s = nbcolli_between_open(&p->between, c->topology, c->ports, r->nodes, &r->arena.host);
    for (int i = 0; i < r->ranks && s == NBCOLL_OK; i++)
        s = r->nodes ? nbcolli_between_wire(&p->between, i, &p->topology[i])
                     : nbcoll_topology_make(c->topology, c->ports, r->ranks, i, &r->arena.host, &p->topology[i]);
    if (r->nodes)
        nbcolli_between_close(&p->between);
    return s;
}

static nbcoll_status nbcolli_relays_plan_all(nbcoll_relays *r, nbcolli_relays_plan *p)
{
    size_t ranks = (size_t)r->ranks;
    p->topology = nbcolli_arena_take(&p->arena, ranks, sizeof *p->topology);
    p->hop = nbcolli_arena_take(&p->arena, ranks, sizeof *p->hop);
    p->reached = nbcolli_arena_take(&p->arena, ranks, sizeof *p->reached);
    if (!p->topology || !p->hop || !p->reached)
        return NBCOLL_ERR_MEMORY;
    nbcoll_status s = nbcolli_relays_wire(r, p);
    for (int origin = 0; origin < r->ranks && s == NBCOLL_OK; origin++) {
        nbcolli_relays_trace(p, origin);
        const nbcolli_relays_hop *hop = &p->hop[r->rank];
        s = nbcolli_relays_build(r, origin, hop->from, &p->topology[r->rank]->relay[hop->relay]);
        if (s == NBCOLL_OK)
            s = nbcolli_relays_build_credit(r, p, origin);
    }
    for (int i = 0; i < r->ranks; i++)
        nbcoll_topology_free(p->topology[i]);
    return s;
}

/* ---- opening ----------------------------------------------------------------------------------------------------- */

static nbcoll_status nbcolli_relays_flow_reserve(nbcoll_relays *r, nbcolli_relays_flow *flow, uint32_t places)
{
    flow->of = r;
    flow->places = places;
    flow->preposted = nbcolli_arena_take(&r->arena, places, sizeof *flow->preposted);
    return flow->preposted ? NBCOLL_OK : NBCOLL_ERR_MEMORY;
}

static nbcoll_status nbcolli_relays_stream_reserve(nbcoll_relays *r, int origin)
{
    nbcolli_relays_stream *s = &r->stream[origin];
    uint32_t places = nbcolli_relays_is_led(r) && origin != r->rank ? NBCOLLI_RELAYS_NEAR : nbcolli_relays_most(r);
    s->total = UINT64_MAX;
    nbcoll_status status = nbcolli_relays_flow_reserve(r, &s->fragments, places);
    return status == NBCOLL_OK ? nbcolli_relays_flow_reserve(r, &s->credits, NBCOLLI_RELAYS_BATCHES) : status;
}

/* Takes all memory. */
static nbcoll_status nbcolli_relays_reserve(nbcoll_relays *r)
{
    size_t ranks = (size_t)r->ranks;
    nbcoll_status s = NBCOLL_OK;
    r->stream = nbcolli_arena_take(&r->arena, ranks, sizeof *r->stream);
    if (!r->stream)
        return NBCOLL_ERR_MEMORY;
    for (int i = 0; i < r->ranks && s == NBCOLL_OK; i++)
        s = nbcolli_relays_stream_reserve(r, i);
    r->totals = nbcolli_arena_take(&r->arena, ranks, sizeof *r->totals);
    if (s == NBCOLL_OK)
        s = r->totals ? nbcolli_relays_flow_reserve(r, &r->closing, 2) : NBCOLL_ERR_MEMORY;
    return s == NBCOLL_OK ? nbcolli_relays_lay_places(r) : s;
}

void nbcolli_relays_free(nbcoll_relays *r)
{
    for (int i = 0; r->stream && i < r->ranks; i++) {
        nbcolli_relays_stream *s = &r->stream[i];
        nbcoll_comm_free(s->fragments.comm);
        nbcoll_comm_free(s->credits.comm);
        nbcoll_schedule_free(s->fragments.schedule);
        nbcoll_schedule_free(s->fragments.lowered);
        nbcoll_schedule_free(s->credits.schedule);
    }
    nbcoll_comm_free(r->closing.comm);
    if (r->shared)
        nbcoll_mem_free(r->comm, r->shared);
    nbcolli_relays_discard(r);
}

/* All flows are made at once, in the same order on all ranks: that of the closing first, since it has cells anyway, and
 * then those whose fragments leaders show. */
static nbcoll_status nbcolli_relays_begin(nbcoll_relays *r, nbcolli_relays_plan *p)
{
    int flows = nbcolli_relays_flows(r);
    nbcolli_twin *twin = nbcolli_arena_take(&p->arena, (size_t)flows, sizeof *twin);
    if (!twin)
        return NBCOLL_ERR_MEMORY;
    for (int i = 0; i < flows; i++) {
        nbcolli_relays_flow *flow = nbcolli_relays_any_flow(r, i);
        nbcolli_twin *one = &twin[(i + 1) % flows];
        one->config = nbcolli_relays_flow_config(r, i);
        if (nbcolli_relays_flow_is_led(r, i))
            one->leader = 1 + nbcolli_relays_leader(r);
        one->out = &flow->comm;
    }
    return nbcolli_relays_make_comms(r, flows, twin);
}

nbcoll_status nbcolli_relays_make(nbcoll_comm *comm, const nbcoll_relays_config *config, const nbcoll_host *host,
                                  const nbcolli_relays_kind *kind, nbcoll_relays **out)
{
    nbcolli_relays_plan plan = {.arena.host = *host};
    nbcoll_relays *r;
    nbcoll_status s = nbcolli_relays_new(comm, config, host, kind, &r);
    if (s != NBCOLL_OK)
        return s;
    r->stride = nbcolli_lines(sizeof(nbcolli_relays_fragment) + r->config.fragment);
    r->nodes = r->config.hierarchical ? nbcoll_comm_nodes(comm) : NULL;
    s = nbcolli_relays_open_executor(r);
    if (s == NBCOLL_OK)
        s = nbcolli_relays_reserve(r);
    if (s == NBCOLL_OK)
        s = nbcolli_relays_plan_all(r, &plan);
    if (s == NBCOLL_OK)
        s = nbcolli_relays_begin(r, &plan);
    nbcolli_arena_close(&plan.arena);
    if (s != NBCOLL_OK)
        nbcolli_relays_free(r);
    else
        *out = r;
    return s;
}

/* The collectives of the closing stand ready, so that it needs no memory. */
static nbcoll_status nbcolli_relays_prepare_closing(nbcoll_relays *r)
{
    nbcolli_relays_flow *flow = &r->closing;
    nbcoll_status s = nbcoll_allgather_init(&r->stream[r->rank].next, r->totals, sizeof *r->totals, NBCOLL_BYTE,
                                            flow->comm, &flow->preposted[0].request);
    if (s == NBCOLL_OK)
        s = nbcoll_barrier_init(flow->comm, &flow->preposted[1].request);
    for (uint32_t i = 0; i < flow->places && s == NBCOLL_OK; i++) {
        flow->preposted[i].of = r;
        if (nbcolli_relays_carry(r))
            s = nbcoll_on_done(flow->preposted[i].request, r->heeds, &flow->preposted[i]);
    }
    return s;
}

/* Each stream but the own one waits for its first fragments. */
static nbcoll_status nbcolli_relays_stand(nbcoll_relays *r)
{
    nbcoll_status ready = nbcolli_relays_prepare_closing(r);
    if (ready != NBCOLL_OK)
        return ready;
    for (int i = 0; i < 2 * r->ranks; i++) {
        nbcolli_relays_flow *flow = nbcolli_relays_flow_at(r, i);
        nbcolli_relays_settle(flow);
        for (uint32_t k = 0; k < flow->places; k++) {
            nbcolli_relays_place *at = &flow->preposted[k];
            at->of = r;
            nbcoll_status s = nbcoll_schedule_init(flow->schedule, NULL, at->at, flow->comm, &at->request);
            if (s == NBCOLL_OK && nbcolli_relays_carry(r))
                s = nbcoll_on_done(at->request, r->heeds, at);
            if (s != NBCOLL_OK)
                return s;
            if (at->at && flow != &r->stream[r->rank].fragments)
                nbcolli_relays_place_start(r, at);
        }
    }
    return r->status == NBCOLL_PENDING ? NBCOLL_OK : r->status;
}

/* What this rank lacks is told to all, whatever they wait for: it takes no memory. Else they know. */
static void nbcolli_relays_give_up(nbcoll_relays *r, nbcoll_status why)
{
    int is_lacking = why == NBCOLL_ERR_MEMORY || why == NBCOLL_ERR_LIMIT;
    for (int i = 0; i < nbcolli_relays_flows(r) && is_lacking; i++)
        nbcolli_relays_break_flow(r, nbcolli_relays_any_flow(r, i));
}

void nbcolli_relays_open_on(nbcoll_relays *r)
{
    nbcoll_status s = nbcolli_relays_carry(r) /* acquire: sees the communicators */
                          ? (nbcoll_status)atomic_load_explicit(&r->opened, memory_order_acquire)
                          : nbcoll_test(&r->opening);
    if (s == NBCOLL_ERR_MISMATCH)
        nbcolli_relays_out_of_step(r);
    if (s == NBCOLL_OK && (s = nbcolli_relays_stand(r)) != NBCOLL_OK)
        nbcolli_relays_give_up(r, s);
    r->status = s;
}

void nbcolli_relays_open_no_more(nbcoll_relays *r)
{
    nbcoll_cancel(r->opening);
}
