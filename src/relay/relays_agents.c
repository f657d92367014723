/* SPDX-License-Identifier: BSD-3-Clause
 * Relays that agents move, from their making to their end. */
#include "../engine/progress/lock.h"
#include "../offload/offload.h"
#include "relays_agents.h"

/* ---- waiting ----------------------------------------------------------------------------------------------------- */

#define NBCOLLI_RELAYS_LOOK 1000000u /* ns between two looks of a rank that nobody wakes */

/* The sleep is armed, but for the agent. */
static int nbcolli_relays_agents_have_come(nbcolli_waiter *w)
{
    nbcoll_relays *r = w->user;
    if (nbcolli_enter(r->context) != NBCOLL_OK)
        return 1;
    int is_heard = nbcolli_relays_listen(r, r->context->poller);
    nbcolli_relays_look_after_agent(r);
    /* Nobody tells when the process has a place: that is when this rank has reported a program. */
    w->longest = is_heard && !r->agents->lacks_place ? 0 : NBCOLLI_RELAYS_LOOK;
    nbcolli_leave(r->context, NBCOLL_OK);
    return nbcolli_relays_store_has_news(r);
}

static int nbcolli_relays_agents_pause(nbcoll_relays *r, nbcolli_waiter *w, uint64_t deadline)
{
    if (nbcolli_relays_carry(r)) /* who sleeps looks at those anyway */
        return nbcolli_relays_pause(r, w, deadline);
    w->has_come = nbcolli_relays_agents_have_come;
    w->user = r;
    int goes_on = nbcolli_relays_pause(r, w, deadline);
    if (r->agents->listens && nbcolli_enter(r->context) == NBCOLL_OK) {
        nbcolli_relays_listen_no_more(r);
        nbcolli_leave(r->context, NBCOLL_OK);
    }
    return goes_on;
}

/* ---- the end ----------------------------------------------------------------------------------------------------- */

/* The leader stays until its agent has closed its queue pairs. */
static void nbcolli_relays_leave(nbcoll_relays *r)
{
    nbcolli_relays_agents *a = r->agents;
    if (a->has_left || !a->store.head)
        return;
    a->has_left = 1;
    if (r->status != NBCOLL_OK)
        nbcolli_node_store_break(&a->store, r->status);
    if (!nbcolli_relays_leads(r)) {
        atomic_fetch_sub_explicit(&a->store.head->users, 1, memory_order_release); /* after all touches of it here */
        a->store.head = NULL;
        nbcolli_node_store_unwatch(a->watch);
        a->watch = -1;
    }
}

/* Have all ranks come so far? Of broken relays nobody waits for another one: whoever closes them first revokes the
 * barrier. */
static int nbcolli_relays_all_close(nbcoll_relays *r)
{
    nbcolli_relays_agents *a = r->agents;
    if (a->is_closed || !a->closing.at)
        return 1;
    nbcoll_status s = a->is_closing ? NBCOLL_OK : nbcoll_start(&a->closing);
    if (s == NBCOLL_ERR_MEMORY)
        return 0;
    a->is_closing = 1;
    if (s == NBCOLL_OK && r->status != NBCOLL_OK)
        nbcoll_cancel(a->closing);
    if (s == NBCOLL_OK)
        s = nbcoll_test(&a->closing);
    a->is_closed = s != NBCOLL_PENDING;
    return a->is_closed;
}

static int nbcolli_relays_agents_are_over(nbcoll_relays *r)
{
    nbcolli_relays_agents *a = r->agents;
    if (!nbcolli_relays_carry(r)) /* those move in passes */
        nbcoll_progress(r->context);
    if (r->status == NBCOLL_OK && r->telling) /* its agent will soon have room for that, whatever others do */
        return 0;
    nbcolli_relays_leave(r);
    if (!nbcolli_relays_all_close(r))
        return 0;
    if (!a->is_begun)
        return 1;
    atomic_store_explicit(&a->store.head->is_ending, 1, memory_order_release); /* after all that was done here */
    return nbcolli_relays_agents_state(r) == NBCOLLI_NODE_STORE_OVER; /* its agent's last touch */
}

static void nbcolli_relays_agents_free(nbcoll_relays *r)
{
    nbcoll_comm_free(r->agents->comm);
    if (nbcolli_enter(r->context) == NBCOLL_OK) {
        nbcolli_relays_hear_no_more(r);
        nbcolli_leave(r->context, NBCOLL_OK);
    }
    nbcolli_relays_lead_no_more(r);
    nbcolli_relays_discard(r);
}

/* ---- made -------------------------------------------------------------------------------------------------------- */

/* What a rank needs of its own. */
static nbcoll_status nbcolli_relays_agents_reserve(nbcoll_relays *r)
{
    const nbcoll_nodes *nodes = nbcoll_comm_nodes(r->comm);
    int node = nbcoll_node_of(nodes, r->rank);
    nbcolli_relays_agents *a = nbcolli_arena_take(&r->arena, 1, sizeof *a);
    if (!a)
        return NBCOLL_ERR_MEMORY;
    r->agents = a;
    a->leader = nbcoll_node_rank(nodes, node, 0);
    a->reader = (uint32_t)nbcoll_node_place(nodes, r->rank);
    a->shape.readers = (uint32_t)nbcoll_node_size(nodes, node);
    /* Of those that carry out calls, each of 2 F may be revoked after all of it has gone, and F before them: so who is
     * to say so has room, if all that others call is the agents. */
    a->shape.own = 2 * r->batch + (nbcolli_relays_carry(r) ? 3 * r->config.at_once : 0);
    a->shape.received = a->shape.own * ((uint32_t)r->ranks - a->shape.readers);
    a->shape.bytes = (uint32_t)sizeof(nbcolli_relays_message) + r->config.fragment;
    a->fingerprint = nbcolli_relays_fingerprint(&r->config);
    a->alarm.bell = a->alarm.poller = a->watch = -1;
    a->said = nbcolli_arena_take(&r->arena, (size_t)r->ranks, sizeof *a->said);
    a->later = nbcolli_arena_take(&r->arena, r->config.at_once, sizeof *a->later);
    a->after = nbcolli_arena_take(&r->arena, (size_t)a->shape.own * (size_t)r->ranks, sizeof *a->after);
    r->sending = 1;
    if (!a->said || !a->later || !a->after)
        return NBCOLL_ERR_MEMORY;
    if (r->config.agent && nbcolli_agent_process(r->config.agent)) {
        a->commands = r->config.agent;
        nbcolli_agent_borrow(a->commands);
    }
    return NBCOLL_OK;
}

/* Whatever a rank lacks it says to all, once they have a communicator. */
nbcoll_status nbcolli_relays_make_agents(nbcoll_comm *comm, const nbcoll_relays_config *config, const nbcoll_host *host,
                                         nbcoll_relays **out)
{
    static const nbcolli_relays_kind kind = {1,
                                             nbcolli_relays_store_move,
                                             nbcolli_relays_store_send,
                                             nbcolli_relays_agents_open_no_more,
                                             nbcolli_relays_agents_pause,
                                             nbcolli_relays_agents_are_over,
                                             nbcolli_relays_agents_free};
    nbcolli_twin own = {.config = NBCOLL_COMM_DEFAULTS};
    nbcoll_relays *r;
    nbcoll_status s = nbcolli_relays_new(comm, config, host, &kind, &r);
    if (s != NBCOLL_OK)
        return s;
    own.config.slots = own.config.schedules = 2;
    own.config.cells = 1;
    s = nbcolli_relays_open_executor(r);
    if (s == NBCOLL_OK)
        s = nbcolli_relays_agents_reserve(r);
    if (s != NBCOLL_OK) {
        nbcolli_relays_discard(r);
        return s;
    }
    if (nbcolli_relays_leads(r))
        r->agents->mine.status = nbcolli_relays_lead(r);
    else if (!comm->link->first->transport.shared) /* the store that its leader takes */
        r->agents->mine.status = NBCOLL_ERR_UNSUPPORTED;
    own.out = &r->agents->comm;
    s = nbcolli_relays_make_comms(r, 1, &own);
    if (s == NBCOLL_OK)
        *out = r;
    else
        nbcolli_relays_agents_free(r);
    return s;
}
