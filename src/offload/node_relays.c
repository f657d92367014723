/* SPDX-License-Identifier: BSD-3-Clause
 * Relays of a node: their memory, and their queue pairs. */
#include "commands.h"
#include "node_relays_run.h"

#include "../host/host.h"

/* ---- made -------------------------------------------------------------------------------------------------------- */

/* Messages that may wait for each destination of a relay: what comes there, or all that the node's ranks hand over. */
static uint32_t nbcolli_node_relays_room(const nbcolli_node_relays_config *c, uint32_t relay)
{
    uint32_t room = relay ? 0 : c->store.shape.readers * c->store.shape.own;
    for (uint32_t i = 0; i < c->relay[relay].sources; i++)
        room += c->relay[relay].source[i].credits;
    return room;
}

/* What grows with the store is one piece. */
static nbcoll_status nbcolli_node_relays_reserve(nbcolli_node_relays *s, const nbcolli_node_relays_config *c)
{
    size_t buffers = s->store.buffers * sizeof *s->buffer, waiting = 0;
    for (uint32_t i = 0; i < c->relays; i++) {
        s->ins += c->relay[i].sources;
        s->outs += c->relay[i].destinations;
        waiting += (size_t)c->relay[i].destinations * nbcolli_node_relays_room(c, i);
    }
    s->relays = c->relays;
    s->relay = nbcolli_arena_take(&s->arena, s->relays, sizeof *s->relay);
    s->in = nbcolli_arena_take(&s->arena, s->ins, sizeof *s->in);
    s->out = nbcolli_arena_take(&s->arena, s->outs, sizeof *s->out);
    s->taken = nbcolli_arena_take(&s->arena, s->store.shape.readers, sizeof *s->taken);
    s->buffer = nbcolli_arena_take(&s->arena, 1, buffers + waiting * sizeof(uint32_t));
    return s->relay && s->in && s->out && s->taken && s->buffer ? NBCOLL_OK : NBCOLL_ERR_MEMORY;
}

/* Each relay has its buffers one after the other; all that may wait for a connection finds room in its queue. */
static nbcoll_status nbcolli_node_relays_lay_out(nbcolli_node_relays *s, const nbcolli_node_relays_config *c)
{
    uint32_t in = 0, out = 0, buffer = 0;
    if (nbcolli_node_relays_reserve(s, c) != NBCOLL_OK)
        return NBCOLL_ERR_MEMORY;
    uint32_t *queue = (uint32_t *)(void *)(s->buffer + s->store.buffers);
    for (uint32_t i = 0; i < c->relays; i++) {
        const nbcolli_node_relays_relay *from = &c->relay[i];
        nbcolli_node_relays_instance *r = &s->relay[i];
        uint32_t room = nbcolli_node_relays_room(c, i);
        *r = (nbcolli_node_relays_instance){
            .in = &s->in[in], .ins = from->sources, .first = buffer, .buffers = i ? room : 0};
        r->out = &s->out[out];
        r->outs = from->destinations;
        buffer += r->buffers;
        for (uint32_t k = 0; k < from->sources; k++)
            s->in[in++] = (nbcolli_node_relays_in){.end = from->source[k], .relay = r};
        for (uint32_t k = 0; k < from->destinations; k++, queue += room)
            s->out[out++] = (nbcolli_node_relays_out){.end = from->destination[k],
                                                      .credits = from->destination[k].credits,
                                                      .room = room,
                                                      .queue = queue};
    }
    return NBCOLL_OK;
}

/* May all of it be open at a time? */
static nbcoll_status nbcolli_node_relays_ask(const nbcolli_node_relays *s)
{
    const nbcoll_agent *a = s->agent;
    nbcoll_queue_demand demand = {.size = sizeof demand, .pairs = s->ins + s->outs};
    for (uint32_t i = 0; i < s->ins; i++)
        demand.depth = s->in[i].end.credits > demand.depth ? s->in[i].end.credits : demand.depth;
    for (uint32_t i = 0; i < s->outs; i++)
        demand.depth = s->out[i].end.credits > demand.depth ? s->out[i].end.credits : demand.depth;
    for (uint32_t i = 0; i < s->relays; i++) {
        demand.shared += s->relay[i].ins > 0;
        demand.shared_depth = s->relay[i].buffers > demand.shared_depth ? s->relay[i].buffers : demand.shared_depth;
    }
    return a->call.admits ? a->call.admits(a->ep, &demand) : NBCOLL_OK;
}

nbcoll_status nbcolli_node_relays_make(nbcoll_agent *agent, const nbcolli_node_relays_config *config,
                                       nbcolli_node_relays **out)
{
    nbcolli_arena arena = {.host = *config->host};
    if (!agent->attached && (!agent->call.open_shared || !agent->call.post_shared || !agent->call.take ||
                             !agent->call.close_shared))
        return NBCOLL_ERR_UNSUPPORTED;
    nbcolli_node_relays *s = nbcolli_arena_take(&arena, 1, sizeof *s);
    if (!s)
        return NBCOLL_ERR_MEMORY;
    *s = (nbcolli_node_relays){.arena = arena,
                               .agent = agent,
                               .store = config->store,
                               .memory = config->memory,
                               .bytes = config->bytes,
                               .set = config->set,
                               .wake = config->wake,
                               .user = config->user,
                               .is_agents = config->is_agents};
    nbcoll_status status =
        agent->attached ? nbcolli_node_attached_make(s, config) : nbcolli_node_relays_lay_out(s, config);
    if (status == NBCOLL_OK)
        status = nbcolli_node_relays_ask(s);
    if (status != NBCOLL_OK) {
        nbcolli_node_relays_free(s);
        return status;
    }
    s->is_promised = 1;
    nbcolli_agent_borrow(agent);
    *out = s;
    return NBCOLL_OK;
}

/* The agent may be closed from now on. */
static void nbcolli_node_relays_keep_promise(nbcolli_node_relays *s)
{
    if (s->is_promised) {
        s->is_promised = 0;
        nbcolli_agent_give_back(s->agent);
    }
}

void nbcolli_node_relays_free(nbcolli_node_relays *s)
{
    if (!s)
        return;
    nbcolli_node_relays_keep_promise(s);
    nbcolli_arena arena = s->arena;
    nbcolli_arena_close(&arena);
}

void nbcolli_node_relays_meet(nbcolli_node_relays *s, int peer, uint32_t set)
{
    uint32_t lower = s->agent->rank < peer ? s->set : set;
    uint32_t first = (NBCOLLI_NODE_RELAYS_SETS + lower) * NBCOLLI_NODE_RELAYS_NUMBERS; /* above those of programs */
    if (s->packed)
        nbcolli_node_bytes_meet(s->packed, peer, first);
    for (uint32_t i = 0; i < s->ins; i++)
        s->in[i].end.number += s->in[i].end.peer == peer ? first : 0;
    for (uint32_t i = 0; i < s->outs; i++)
        s->out[i].end.number += s->out[i].end.peer == peer ? first : 0;
}

nbcoll_status nbcolli_node_relays_begin(nbcolli_node_relays *s)
{
    nbcoll_agent *a = s->agent;
    if (s->packed)
        return nbcolli_node_attached_begin(s);
    s->next = atomic_load_explicit(&a->begun, memory_order_relaxed); /* compared below */
    /* seq_cst: the agent sees all of it, and a driver that sleeps is seen below, or sees it */
    while (!atomic_compare_exchange_weak(&a->begun, &s->next, s))
        ;
    nbcolli_agent_rouse(a);
    nbcolli_node_relays_keep_promise(s);
    return NBCOLL_OK;
}

nbcolli_node_store_state nbcolli_node_relays_look(nbcolli_node_relays *s)
{
    if (s->packed)
        nbcolli_node_attached_look(s);
    return nbcolli_node_store_state_of(&s->store);
}

/* ---- queue pairs ------------------------------------------------------------------------------------------------- */

nbcoll_status nbcolli_node_relays_post_free(nbcolli_node_relays *s, const nbcolli_node_relays_in *in, uint32_t buffer)
{
    const nbcoll_posting p = {.kind = NBCOLL_POSTING_RECEIVE,
                              .memory = nbcolli_node_store_message(&s->store, buffer),
                              .bytes = s->store.shape.bytes,
                              .local = s->is_registered ? &s->registered : NULL,
                              .from = in->end.peer + 1};
    return s->agent->call.post_shared(s->agent->ep, in->relay->shared, &p);
}

nbcoll_status nbcolli_node_relays_post_credit(nbcolli_node_relays *s, nbcoll_queue_pair *pair, nbcoll_posting_kind kind)
{
    const nbcoll_posting p = {.kind = kind};
    return s->agent->call.post(s->agent->ep, pair, &p);
}

/* The receives are there before the first message can come: for each connection as many as it has credits. */
static nbcoll_status nbcolli_node_relays_open_in(nbcolli_node_relays *s, nbcolli_node_relays_in *in, uint32_t first)
{
    const nbcoll_queue_config config = {.size = sizeof config,
                                        .peer = in->end.peer,
                                        .number = in->end.number,
                                        .depth = in->end.credits,
                                        .received = in->relay->arrived,
                                        .shared = in->relay->shared};
    nbcoll_status status = NBCOLL_OK;
    for (uint32_t i = 0; i < in->end.credits && status == NBCOLL_OK; i++)
        status = nbcolli_node_relays_post_free(s, in, first + i);
    return status == NBCOLL_OK ? s->agent->call.open_queue(s->agent->ep, &config, &in->pair) : status;
}

static nbcoll_status nbcolli_node_relays_open_relay(nbcolli_node_relays *s, nbcolli_node_relays_instance *r)
{
    const nbcoll_offload *call = &s->agent->call;
    nbcoll_endpoint *ep = s->agent->ep;
    if (!r->ins)
        return NBCOLL_OK;
    nbcoll_status status = call->open_cq(ep, r->buffers, &r->arrived);
    if (status == NBCOLL_OK)
        status = call->open_shared(ep, r->buffers, r->arrived, &r->shared);
    for (uint32_t i = 0, buffer = r->first; i < r->ins && status == NBCOLL_OK; buffer += r->in[i++].end.credits)
        status = nbcolli_node_relays_open_in(s, &r->in[i], buffer);
    return status;
}

static nbcoll_status nbcolli_node_relays_open_out(nbcolli_node_relays *s, nbcolli_node_relays_out *o)
{
    const nbcoll_offload *call = &s->agent->call;
    nbcoll_endpoint *ep = s->agent->ep;
    nbcoll_queue_config config = {
        .size = sizeof config, .peer = o->end.peer, .number = o->end.number, .depth = o->end.credits};
    nbcoll_status status = call->open_cq(ep, config.depth, &o->sent);
    if (status == NBCOLL_OK)
        status = call->open_cq(ep, config.depth, &o->returned);
    config.sent = o->sent;
    config.received = o->returned;
    if (status == NBCOLL_OK)
        status = call->open_queue(ep, &config, &o->pair);
    for (uint32_t i = 0; i < o->end.credits && status == NBCOLL_OK; i++)
        status = nbcolli_node_relays_post_credit(s, o->pair, NBCOLL_POSTING_RECEIVE);
    return status;
}

nbcoll_status nbcolli_node_relays_open_pairs(nbcolli_node_relays *s)
{
    const nbcoll_bulk *memory = s->agent->memory;
    nbcoll_status status = NBCOLL_OK;
    if (memory)
        status = memory->register_memory(s->agent->ep, -1, s->memory, s->bytes, NBCOLL_LOCAL_END, &s->registered);
    s->is_registered = memory && status == NBCOLL_OK;
    for (uint32_t i = 0; i < s->relays && status == NBCOLL_OK; i++)
        status = nbcolli_node_relays_open_relay(s, &s->relay[i]);
    for (uint32_t i = 0; i < s->outs && status == NBCOLL_OK; i++)
        status = nbcolli_node_relays_open_out(s, &s->out[i]);
    return status;
}

void nbcolli_node_relays_close_pairs(nbcolli_node_relays *s)
{
    const nbcoll_offload *call = &s->agent->call;
    const nbcoll_bulk *memory = s->agent->memory;
    nbcoll_endpoint *ep = s->agent->ep;
    for (uint32_t i = 0; i < s->ins; i++)
        if (s->in[i].pair)
            call->close(ep, s->in[i].pair, NULL);
    for (uint32_t i = 0; i < s->outs; i++) {
        nbcolli_node_relays_out *o = &s->out[i];
        if (o->pair)
            call->close(ep, o->pair, NULL);
        if (o->sent)
            call->close(ep, NULL, o->sent);
        if (o->returned)
            call->close(ep, NULL, o->returned);
    }
    for (uint32_t i = 0; i < s->relays; i++) {
        nbcolli_node_relays_instance *r = &s->relay[i];
        if (r->shared)
            call->close_shared(ep, r->shared);
        if (r->arrived)
            call->close(ep, NULL, r->arrived);
    }
    if (s->is_registered && memory->deregister_memory)
        memory->deregister_memory(ep, &s->registered);
}
