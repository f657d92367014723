/* SPDX-License-Identifier: BSD-3-Clause
 * A rank at its node's store: it copies what has arrived, remembers what is of operations that it has not started, and
 * hands over what it contributes. */
#include "../engine/progress/lock.h"
#include "../offload/offload.h"
#include "relays_agents.h"

#define NBCOLLI_RELAYS_LOOKS 64u /* at the store, from one look at the agent's process to the next */

/* ---- what has arrived -------------------------------------------------------------------------------------------- */

/* This rank is done with it. Whose own it is may have waited for it. */
static void nbcolli_relays_release(const nbcoll_relays *r, uint32_t buffer)
{
    const nbcolli_node_store *s = &r->agents->store;
    if (nbcolli_node_store_release(s, buffer) && buffer >= s->shape.received &&
        nbcolli_node_store_owner(s, buffer) != r->agents->reader)
        nbcolli_relays_wake(r, nbcolli_node_store_owner(s, buffer));
}

static void nbcolli_relays_copy_out(nbcoll_relays *r, uint32_t buffer)
{
    const nbcolli_relays_message *packed = nbcolli_node_store_message(&r->agents->store, buffer);
    uint32_t origin = packed->origin;
    if (origin < (uint32_t)r->ranks)
        nbcolli_relays_take(r, (int)origin, &packed->fragment);
    else
        r->status = NBCOLL_ERR_MISMATCH;
    nbcolli_relays_release(r, buffer);
}

static void nbcolli_relays_remember(nbcoll_relays *r, uint64_t operation, uint32_t buffer)
{
    nbcolli_relays_agents *a = r->agents;
    nbcolli_relays_later *later = &a->later[operation % r->config.at_once];
    a->after[buffer] = 0;
    if (later->first)
        a->after[later->last - 1] = buffer + 1;
    else
        later->first = buffer + 1;
    later->last = buffer + 1;
}

/* By the window nobody is more than F operations ahead. */
static void nbcolli_relays_note(nbcoll_relays *r, uint32_t buffer)
{
    nbcolli_relays_agents *a = r->agents;
    if (buffer >= a->store.buffers) {
        r->status = NBCOLL_ERR_MISMATCH; /* nonsense: another rank of the node has written it */
        return;
    }
    const nbcolli_relays_message *packed = nbcolli_node_store_message(&a->store, buffer);
    uint64_t operation = packed->fragment.operation;
    if (buffer >= a->shape.received && nbcolli_node_store_owner(&a->store, buffer) == a->reader)
        nbcolli_relays_release(r, buffer);
    else if (packed->fingerprint != a->fingerprint || operation > r->last + r->config.at_once)
        r->status = NBCOLL_ERR_MISMATCH;
    else if (operation <= r->last)
        nbcolli_relays_copy_out(r, buffer);
    else
        nbcolli_relays_remember(r, operation, buffer);
}

/* What came before the rank started its operation is taken out first: of each origin, fragments stay in order. */
static void nbcolli_relays_catch_up(nbcoll_relays *r)
{
    nbcolli_relays_agents *a = r->agents;
    while (a->caught_up < r->last) {
        nbcolli_relays_later *later = &a->later[++a->caught_up % r->config.at_once];
        for (uint32_t i = later->first, next; i && r->status == NBCOLL_OK; i = next) {
            next = a->after[i - 1];
            nbcolli_relays_copy_out(r, i - 1);
        }
        *later = (nbcolli_relays_later){0, 0};
    }
}

static void nbcolli_relays_read(nbcoll_relays *r)
{
    nbcolli_relays_agents *a = r->agents;
    uint64_t arrived = nbcolli_node_store_arrived(&a->store);
    nbcolli_relays_catch_up(r);
    if (arrived - a->read > a->store.buffers)
        r->status = NBCOLL_ERR_MISMATCH; /* nonsense, as below */
    for (; a->read < arrived && r->status == NBCOLL_OK; a->read++)
        nbcolli_relays_note(r, nbcolli_node_store_arrival(&a->store, a->read));
}

/* ---- the own block ----------------------------------------------------------------------------------------------- */

int nbcolli_relays_store_send(nbcoll_relays *r, const nbcolli_relays_fragment *f, const char *bytes)
{
    nbcolli_relays_agents *a = r->agents;
    if (!nbcolli_node_store_has_room(&a->store, a->reader, a->handed))
        return 0;
    nbcolli_relays_message *packed =
        nbcolli_node_store_message(&a->store, nbcolli_node_store_own(&a->store, a->reader, a->handed));
    packed->origin = (uint32_t)r->rank;
    packed->fingerprint = a->fingerprint;
    packed->fragment = *f;
    if (f->length)
        memcpy(packed + 1, bytes, f->length);
    nbcolli_node_store_hand(&a->store, a->reader, a->handed++);
    return 1;
}

/* Has it something to send, and room for that? */
static int nbcolli_relays_may_send(const nbcoll_relays *r)
{
    const nbcolli_relays_agents *a = r->agents;
    return (r->sending <= r->last || r->telling) && nbcolli_node_store_has_room(&a->store, a->reader, a->handed);
}

/* ---- moving ------------------------------------------------------------------------------------------------------ */

/* Has the agent's process ended? Another rank than the leader, which may be stopped, looks itself, now and then. */
static int nbcolli_relays_have_lost_process(nbcolli_relays_agents *a)
{
    if (!a->store.head)
        return 0;
    if (a->commands)
        return nbcolli_agent_is_lost(a->commands);
    return a->watch >= 0 && ++a->looks % NBCOLLI_RELAYS_LOOKS == 0 && nbcolli_node_store_has_ended(a->watch);
}

void nbcolli_relays_look_after_agent(nbcoll_relays *r)
{
    nbcolli_relays_agents *a = r->agents;
    if (a->is_begun)
        nbcolli_node_relays_look(a->preposted);
    else if (!nbcolli_relays_leads(r) && nbcolli_relays_have_lost_process(a))
        nbcolli_node_store_break(&a->store, NBCOLL_ERR_PEER_LOST);
}

/* How the node's agent is, and the other ranks. */
static nbcoll_status nbcolli_relays_health(nbcoll_relays *r)
{
    const nbcoll_comm *comm = r->agents->comm;
    int has_departed = 0;
    if (nbcolli_enter(r->context) == NBCOLL_OK) {
        nbcolli_relays_look_after_agent(r);
        has_departed = comm->departed != 0;
        nbcolli_leave(r->context, NBCOLL_OK);
    }
    nbcoll_status s = nbcolli_node_store_status(&r->agents->store);
    if (s == NBCOLL_OK)
        s = nbcolli_broken(comm);
    return s == NBCOLL_OK && has_departed ? NBCOLL_ERR_PEER_LOST : s;
}

void nbcolli_relays_store_move(nbcoll_relays *r)
{
    if (!nbcolli_relays_carry(r)) /* those move in passes */
        nbcoll_progress(r->context);
    if (r->status == NBCOLL_PENDING)
        nbcolli_relays_agents_open_on(r);
    if (r->status != NBCOLL_OK || (r->is_closing && !r->telling))
        return;
    nbcolli_relays_read(r);
    if (r->status == NBCOLL_OK)
        r->status = nbcolli_relays_health(r);
    if (r->status == NBCOLL_OK)
        nbcolli_relays_send_blocks(r);
    else
        nbcolli_node_store_break(&r->agents->store,
                                 r->status); /* the agent ends, and other nodes learn of it by that */
}

int nbcolli_relays_store_has_news(const nbcoll_relays *r)
{
    const nbcolli_relays_agents *a = r->agents;
    if (!a->store.head)
        return 0; /* it is being opened, by messages */
    nbcolli_node_store_state state = nbcolli_node_store_state_of(&a->store);
    if (r->is_closing)
        return a->is_begun && state >= NBCOLLI_NODE_STORE_ENDING;
    if (r->status == NBCOLL_PENDING)
        return a->is_awaited && state != NBCOLLI_NODE_STORE_OPENING;
    return nbcolli_node_store_arrived(&a->store) != a->read || nbcolli_node_store_status(&a->store) != NBCOLL_OK ||
           nbcolli_relays_may_send(r);
}

/* Of those that are closing: what is told, the barrier, or the agent. */
static int nbcolli_relays_closing_moves(const nbcoll_relays *r)
{
    const nbcolli_relays_agents *a = r->agents;
    if (atomic_load_explicit(&r->is_over, memory_order_relaxed)) /* stored by a mover */
        return 0;
    if (r->status == NBCOLL_OK && r->telling)
        return nbcolli_relays_may_send(r) || nbcolli_node_store_status(&a->store) != NBCOLL_OK;
    if (a->closing.at && !a->is_closed)
        return !a->is_closing || !nbcolli_relays_is_under_way(&a->closing);
    return !a->is_begun || nbcolli_relays_store_has_news(r);
}

nbcolli_sight nbcolli_relays_store_sight(nbcoll_relays *r, int poller)
{
    nbcolli_relays_agents *a = r->agents;
    nbcolli_sight sight = NBCOLLI_SIGHT_QUIET;
    int is_heard = 1;
    if (poller < 0)
        nbcolli_relays_listen_no_more(r);
    else
        is_heard = nbcolli_relays_listen(r, poller);
    nbcolli_relays_look_after_agent(r);
    if (r->is_closing)
        sight = nbcolli_relays_closing_moves(r) ? NBCOLLI_SIGHT_MOVES : sight;
    else if (r->status == NBCOLL_PENDING)
        sight = nbcolli_relays_agents_opening_sight(r);
    else if (r->status == NBCOLL_OK && (nbcolli_relays_store_has_news(r) || nbcolli_broken(a->comm) != NBCOLL_OK ||
                                        a->comm->departed))
        sight = NBCOLLI_SIGHT_MOVES;
    return sight == NBCOLLI_SIGHT_QUIET && !is_heard ? NBCOLLI_SIGHT_UNHEARD : sight;
}
