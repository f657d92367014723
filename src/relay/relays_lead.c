/* SPDX-License-Identifier: BSD-3-Clause
 * What the leader of a node does for relays that agents move: it takes the store, and joins its agent with others by
 * the topology of the nodes. */
#include "../engine/exposures/cells.h"
#include "../engine/comm/comm.h"
#include "../engine/progress/lock.h"
#include "../offload/offload.h"
#include "relays_agents.h"

/* ---- connections ------------------------------------------------------------------------------------------------- */

/* The connections from one node to another have numbers, by the relay that sends, then the one that receives. */
typedef struct nbcolli_relays_way {
    uint32_t from, to; /* relays */
} nbcolli_relays_way;

static int nbcolli_relays_is_before(nbcolli_relays_way a, nbcolli_relays_way b)
{
    return a.from < b.from || (a.from == b.from && a.to < b.to);
}

/* The number of a connection of this node with `end`, one of its relay's. Those of the two directions alternate. */
static uint32_t nbcolli_relays_number(const nbcoll_topology *w, uint32_t relay, const nbcoll_relay_end *end,
                                      int is_source)
{
    nbcolli_relays_way mine =
        is_source ? (nbcolli_relays_way){end->relay, relay} : (nbcolli_relays_way){relay, end->relay};
    int is_rising = is_source ? end->rank < w->rank : w->rank < end->rank;
    uint32_t before = 0;
    for (uint32_t i = 0; i < w->relays; i++) {
        const nbcoll_relay_end *other = is_source ? w->relay[i].source : w->relay[i].destination;
        uint32_t count = is_source ? w->relay[i].sources : w->relay[i].destinations;
        for (uint32_t k = 0; k < count; k++) {
            nbcolli_relays_way way =
                is_source ? (nbcolli_relays_way){other[k].relay, i} : (nbcolli_relays_way){i, other[k].relay};
            before += other[k].rank == end->rank && nbcolli_relays_is_before(way, mine);
        }
    }
    return 2 * before + (uint32_t)is_rising;
}

/* One end, of `passed` ranks' blocks. */
static nbcolli_node_relays_end nbcolli_relays_end(const nbcoll_relays *r, const nbcolli_between *p, uint32_t relay,
                                                  const nbcoll_relay_end *end, int is_source)
{
    int node = nbcoll_node_of(p->nodes, r->rank), leader = nbcoll_node_rank(p->nodes, end->rank, 0);
    uint32_t passed = is_source ? p->passed[end->rank][end->relay] : p->passed[node][relay];
    return (nbcolli_node_relays_end){r->comm->peer[leader].home,
                                     nbcolli_relays_number(p->topology[node], relay, end, is_source),
                                     r->agents->shape.own * passed};
}

static nbcoll_status nbcolli_relays_join(nbcoll_relays *r, nbcolli_between *p, nbcolli_node_relays_relay *out)
{
    const nbcoll_topology *w = p->topology[nbcoll_node_of(p->nodes, r->rank)];
    nbcolli_node_relays_end *end = nbcolli_arena_take(&p->arena, w->connections, sizeof *end);
    uint32_t most = 0;
    if (!end)
        return NBCOLL_ERR_MEMORY;
    for (uint32_t i = 0; i < w->relays; i++) {
        const nbcoll_relay *relay = &w->relay[i];
        out[i] = (nbcolli_node_relays_relay){relay->sources, relay->destinations, end, end + relay->sources};
        for (uint32_t k = 0; k < relay->sources + relay->destinations; k++, end++) {
            int is_source = k < relay->sources;
            *end = nbcolli_relays_end(r, p, i, is_source ? &relay->source[k] : &relay->destination[k - relay->sources],
                                      is_source);
            most = end->number > most ? end->number : most;
        }
    }
    return most < NBCOLLI_NODE_RELAYS_NUMBERS ? NBCOLL_OK : NBCOLL_ERR_LIMIT;
}

/* ---- waking ------------------------------------------------------------------------------------------------------ */

void nbcolli_relays_wake(const nbcoll_relays *r, uint32_t reader)
{
    const nbcoll_nodes *nodes = nbcoll_comm_nodes(r->comm);
    nbcolli_shared_wake(r->comm, nbcoll_node_rank(nodes, nbcoll_node_of(nodes, r->rank), (int)reader));
}

/* By the agent, which is a thread. */
static void nbcolli_relays_roused(void *user, const nbcolli_node_store *store, uint32_t reader)
{
    nbcoll_relays *r = user;
    (void)store;
    if (reader == r->agents->reader)
        nbcolli_alarm_ring(&r->agents->alarm);
    else
        nbcolli_relays_wake(r, reader);
}

/* ---- the agent -------------------------------------------------------------------------------------------------- */

nbcolli_node_store_state nbcolli_relays_agents_state(const nbcoll_relays *r)
{
    if (nbcolli_enter(r->context) != NBCOLL_OK)
        return nbcolli_node_store_state_of(&r->agents->store);
    nbcolli_node_store_state state = nbcolli_node_relays_look(r->agents->preposted);
    nbcolli_leave(r->context, NBCOLL_OK);
    return state;
}

/* ---- the store --------------------------------------------------------------------------------------------------- */

/* Memory for it: this rank's own, or such as all ranks of the node have, and an agent that is another process. */
static nbcoll_status nbcolli_relays_reserve_store(nbcoll_relays *r, const nbcoll_nodes *nodes, void **memory)
{
    nbcolli_relays_agents *a = r->agents;
    const nbcolli_link *link = r->comm->link->first;
    size_t bytes = nbcolli_node_store_bytes(&a->shape);
    if (a->shape.readers == 1 && !nbcolli_agent_process(r->config.agent)) {
        *memory = nbcolli_arena_take(&r->arena, 1, bytes);
        return *memory ? NBCOLL_OK : NBCOLL_ERR_MEMORY;
    }
    int node = nbcoll_node_of(nodes, r->rank), is_shared = link->transport.shared != NULL;
    for (int place = 1; place < nbcoll_node_size(nodes, node); place++)
        is_shared &= r->comm->peer[nbcoll_node_rank(nodes, node, place)].is_near;
    if (!is_shared)
        return NBCOLL_ERR_UNSUPPORTED;
    nbcoll_status s = nbcolli_enter(r->context);
    if (s != NBCOLL_OK)
        return s;
    s = link->shared.reserve(link->endpoint, bytes, &a->mine.at);
    a->is_reserved = s == NBCOLL_OK;
    *memory = a->is_reserved ? link->shared.map(link->endpoint, a->mine.at, bytes) : NULL;
    return nbcolli_leave(r->context, s);
}

/* By these numbers agents tell apart sets of relays that they have in common. */
static nbcoll_status nbcolli_relays_number_set(nbcoll_relays *r)
{
    nbcoll_status s = nbcolli_enter(r->context);
    if (s != NBCOLL_OK)
        return s;
    r->agents->mine.set = r->comm->link->relays++ % NBCOLLI_NODE_RELAYS_SETS;
    return nbcolli_leave(r->context, NBCOLL_OK);
}

static nbcoll_status nbcolli_relays_make_preposted(nbcoll_relays *r, nbcolli_between *p, void *memory)
{
    nbcolli_relays_agents *a = r->agents;
    uint32_t relays = p->topology[nbcoll_node_of(p->nodes, r->rank)]->relays;
    nbcolli_node_relays_relay *relay = nbcolli_arena_take(&p->arena, relays, sizeof *relay);
    if (!relay)
        return NBCOLL_ERR_MEMORY;
    nbcoll_status s = nbcolli_relays_join(r, p, relay);
    if (s == NBCOLL_OK)
        s = nbcolli_relays_number_set(r);
    const nbcolli_node_relays_config config = {.host = &r->arena.host,
                                               .set = a->mine.set,
                                               .relays = relays,
                                               .relay = relay,
                                               .store = a->store,
                                               .memory = memory,
                                               .bytes = nbcolli_node_store_bytes(&a->shape),
                                               .wake = nbcolli_relays_roused,
                                               .user = r};
    return s == NBCOLL_OK ? nbcolli_node_relays_make(r->config.agent, &config, &a->preposted) : s;
}

/* Is it an agent of this rank, among all ranks of the communicator's last endpoint? */
static int nbcolli_relays_agent_suits(const nbcoll_relays *r)
{
    const nbcoll_endpoint *ep = r->config.agent ? nbcolli_agent_endpoint(r->config.agent) : NULL;
    return ep && ep->rank == r->comm->peer[r->rank].home && ep->ranks == r->comm->link->endpoint->ranks;
}

nbcoll_status nbcolli_relays_lead(nbcoll_relays *r)
{
    const nbcoll_nodes *nodes = nbcoll_comm_nodes(r->comm);
    nbcolli_relays_agents *a = r->agents;
    nbcolli_between between;
    void *memory = NULL;
    if (!nbcolli_relays_agent_suits(r))
        return NBCOLL_ERR_UNSUPPORTED;
    nbcolli_agent_hold(r->config.agent);
    if (!a->commands)
        nbcolli_alarm_open(&a->alarm);
    nbcoll_status s = nbcolli_relays_reserve_store(r, nodes, &memory);
    if (s != NBCOLL_OK)
        return s;
    a->store = nbcolli_node_store_at(memory, &a->shape);
    /* relaxed: shown to the agent and the other ranks with all of it */
    atomic_store_explicit(&a->store.head->users, a->shape.readers - 1, memory_order_relaxed);
    atomic_store_explicit(&a->store.head->process, nbcolli_agent_process(r->config.agent), memory_order_relaxed);
    nbcolli_relays_say_commands(r);
    s = nbcolli_between_open(&between, r->config.topology, r->config.ports, nodes, &r->arena.host);
    if (s == NBCOLL_OK)
        s = nbcolli_relays_make_preposted(r, &between, memory);
    nbcolli_between_close(&between);
    return s;
}

void nbcolli_relays_lead_no_more(nbcoll_relays *r)
{
    nbcolli_relays_agents *a = r->agents;
    const nbcolli_link *link = r->comm->link->first;
    nbcolli_node_relays_free(a->preposted);
    nbcolli_alarm_close(&a->alarm);
    /* acquire: all others have left it. Whose end nobody knows may still be there: then it stays as it is. */
    if (!a->is_reserved || atomic_load_explicit(&a->store.head->users, memory_order_acquire) ||
        nbcolli_enter(r->context) != NBCOLL_OK)
        return;
    link->shared.release(link->endpoint, a->mine.at);
    nbcolli_leave(r->context, NBCOLL_OK);
}
