/* SPDX-License-Identifier: BSD-3-Clause
 * Relays that agents move are opened: over a communicator of their own all ranks say how they are, and, if all are
 * well, once more when the leaders' agents have opened what they need. Where there is no memory for a step, or an
 * agent's process has no place for the relays, that is tried again. */
#include "../engine/progress/lock.h"
#include "../offload/offload.h"
#include "relays_agents.h"

static nbcoll_status nbcolli_relays_duplicate(nbcoll_relays *r)
{
    nbcoll_status s = nbcoll_test(&r->opening);
    if (s == NBCOLL_ERR_MISMATCH)
        nbcolli_relays_out_of_step(r);
    return s;
}

/* All that is started later. */
static nbcoll_status nbcolli_relays_prepare(nbcoll_relays *r)
{
    nbcolli_relays_agents *a = r->agents;
    nbcoll_status s = a->closing.at ? NBCOLL_OK : nbcoll_barrier_init(a->comm, &a->closing);
    if (s == NBCOLL_OK)
        s = nbcoll_allgather_init(&a->mine, a->said, sizeof a->mine, NBCOLL_UINT8, a->comm, &a->saying);
    return s == NBCOLL_ERR_MEMORY ? NBCOLL_PENDING : s;
}

static nbcoll_status nbcolli_relays_say(nbcoll_relays *r)
{
    nbcoll_status s = nbcoll_start(&r->agents->saying);
    return s == NBCOLL_ERR_MEMORY ? NBCOLL_PENDING : s;
}

/* What the ranks have said: the first that is not well, so that all know alike; but rather what an agent lacked than
 * that others, whose agents have heard of its end by then, have lost it. */
static nbcoll_status nbcolli_relays_hear(nbcoll_relays *r)
{
    nbcolli_relays_agents *a = r->agents;
    if (r->gives_up)
        nbcoll_cancel(a->saying);
    nbcoll_status s = nbcoll_test(&a->saying), lost = NBCOLL_OK;
    for (int i = 0; i < r->ranks && s == NBCOLL_OK; i++)
        if (a->said[i].status == NBCOLL_ERR_PEER_LOST)
            lost = NBCOLL_ERR_PEER_LOST;
        else
            s = (nbcoll_status)a->said[i].status;
    return s == NBCOLL_OK ? lost : s;
}

/* A leader: its relays get the numbers that they have in common with others. */
static nbcoll_status nbcolli_relays_meet(nbcoll_relays *r)
{
    const nbcoll_nodes *nodes = nbcoll_comm_nodes(r->comm);
    nbcolli_relays_agents *a = r->agents;
    for (int node = 0; node < nodes->count && a->preposted; node++) {
        int leader = nbcoll_node_rank(nodes, node, 0);
        if (leader != r->rank)
            nbcolli_node_relays_meet(a->preposted, r->comm->peer[leader].home, a->said[leader].set);
    }
    return NBCOLL_OK;
}

/* Its agent gets them, unless nobody is to have them any more. */
static nbcoll_status nbcolli_relays_hand_over(nbcoll_relays *r)
{
    nbcolli_relays_agents *a = r->agents;
    nbcoll_status s = a->preposted ? nbcolli_enter(r->context) : NBCOLL_OK;
    if (a->preposted && s == NBCOLL_OK) { /* on the caller's side: where an agent's process has it, as a start */
        nbcolli_caller_lock(r->context);
        s = nbcolli_node_relays_begin(a->preposted);
        nbcolli_caller_unlock(r->context);
        nbcolli_leave(r->context, s);
    }
    a->is_begun = a->preposted && s == NBCOLL_OK;
    a->lacks_place = s == NBCOLL_PENDING;
    return r->gives_up ? NBCOLL_OK : s;
}

/* Has the agent opened its queue pairs? Or why not. */
static nbcoll_status nbcolli_relays_await_agent(nbcoll_relays *r)
{
    nbcolli_relays_agents *a = r->agents;
    nbcolli_node_store_state state = a->is_begun ? nbcolli_relays_agents_state(r) : NBCOLLI_NODE_STORE_OPEN;
    a->is_awaited = state == NBCOLLI_NODE_STORE_OPENING || state == NBCOLLI_NODE_STORE_ENDING;
    if (state == NBCOLLI_NODE_STORE_OVER)
        a->mine.status = nbcolli_node_store_status(&a->store);
    return a->is_awaited ? NBCOLL_PENDING : NBCOLL_OK;
}

/* Another rank of the node: finds the store. */
static nbcoll_status nbcolli_relays_map(nbcoll_relays *r)
{
    nbcolli_relays_agents *a = r->agents;
    const nbcolli_link *link = r->comm->link->first;
    if (a->store.head)
        return NBCOLL_OK;
    nbcoll_status s = nbcolli_enter(r->context);
    if (s != NBCOLL_OK)
        return s;
    void *memory = link->shared.map(link->endpoint, a->said[a->leader].at, nbcolli_node_store_bytes(&a->shape));
    if (!memory)
        return nbcolli_leave(r->context, NBCOLL_ERR_MEMORY);
    a->store = nbcolli_node_store_at(memory, &a->shape);
    int process = atomic_load_explicit(&a->store.head->process, memory_order_relaxed); /* it does not change */
    if (a->commands && nbcolli_agent_process(a->commands) != process)
        nbcolli_relays_hear_no_more(r);
    nbcolli_relays_say_commands(r);
    a->watch = a->commands ? -1 : nbcolli_node_store_watch(&a->store);
    return nbcolli_leave(r->context, NBCOLL_OK);
}

void nbcolli_relays_agents_open_on(nbcoll_relays *r)
{
    static nbcoll_status (*const stage[])(nbcoll_relays *) = {
        nbcolli_relays_duplicate, nbcolli_relays_prepare,   nbcolli_relays_say,         nbcolli_relays_hear,
        nbcolli_relays_meet,      nbcolli_relays_hand_over, nbcolli_relays_await_agent, nbcolli_relays_say,
        nbcolli_relays_hear,      nbcolli_relays_map};
    nbcolli_relays_agents *a = r->agents;
    nbcoll_status s = NBCOLL_OK;
    while (a->stage < sizeof stage / sizeof *stage && (s = stage[a->stage](r)) == NBCOLL_OK)
        a->stage++;
    if (s != NBCOLL_OK && s != NBCOLL_PENDING && !a->is_begun) {
        nbcolli_node_relays_free(a->preposted); /* the agent gets nothing */
        a->preposted = NULL;
    }
    r->status = s;
}

nbcolli_sight nbcolli_relays_agents_opening_sight(const nbcoll_relays *r)
{
    const nbcolli_relays_agents *a = r->agents;
    if (!a->stage)
        return nbcolli_relays_is_under_way(&r->opening) ? NBCOLLI_SIGHT_QUIET : NBCOLLI_SIGHT_MOVES;
    if (a->is_awaited)
        return nbcolli_node_store_state_of(&a->store) == NBCOLLI_NODE_STORE_OPENING ? NBCOLLI_SIGHT_QUIET
                                                                                    : NBCOLLI_SIGHT_MOVES;
    return a->saying.at && nbcolli_relays_is_under_way(&a->saying) ? NBCOLLI_SIGHT_QUIET : NBCOLLI_SIGHT_MOVES;
}

/* What all are to hear is revoked, as soon as there is something to revoke. */
void nbcolli_relays_agents_open_no_more(nbcoll_relays *r)
{
    nbcolli_relays_agents *a = r->agents;
    if (!a->stage)
        nbcoll_cancel(r->opening);
}
