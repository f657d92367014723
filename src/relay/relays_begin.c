/* SPDX-License-Identifier: BSD-3-Clause
 * Relays that agents move are opened: over a communicator of their own all ranks say how they are, a leader once its
 * agent has opened all that it needs. Where there is no memory for a step, that is tried again. */
#include "../engine/6_progress/lock.h"
#include "relays_agents.h"

/* Of two sets of relays that exist at a time, which have agents in common. */
static uint32_t nbcolli_relays_set(const nbcoll_comm *comm)
{
    return (uint32_t)comm->id + (uint32_t)(comm->id >> 32) * 0x9e3779b1u;
}

static nbcoll_status nbcolli_relays_prepare(nbcoll_relays *r)
{
    nbcolli_relays_agents *a = r->agents;
    nbcoll_status s = nbcoll_barrier_init(a->comm, &a->closing);
    if (s != NBCOLL_OK)
        return s == NBCOLL_ERR_MEMORY ? NBCOLL_PENDING : s;
    a->is_begun = a->standing != NULL;
    if (a->is_begun)
        nbcolli_node_relays_begin(a->standing, nbcolli_relays_set(a->comm));
    return NBCOLL_OK;
}

/* Is the agent ready? Or why not. */
static nbcoll_status nbcolli_relays_await_agent(nbcolli_relays_agents *a)
{
    /* acquire: after all that it has posted, or its last touch */
    unsigned state = a->is_begun ? atomic_load_explicit(&a->store.head->state, memory_order_acquire) : 0;
    if (a->is_begun && state == NBCOLLI_NODE_STORE_OPENING)
        return NBCOLL_PENDING;
    if (a->is_begun && state == NBCOLLI_NODE_STORE_OVER)
        a->mine.status = nbcolli_node_store_status(&a->store);
    return NBCOLL_OK;
}

static nbcoll_status nbcolli_relays_say(nbcoll_relays *r)
{
    nbcolli_relays_agents *a = r->agents;
    nbcoll_status s = nbcoll_iallgather(&a->mine, a->said, sizeof a->mine, NBCOLL_UINT8, a->comm, &a->saying);
    return s == NBCOLL_ERR_MEMORY ? NBCOLL_PENDING : s;
}

/* What the ranks have said: the first that is not well, so that all know alike. */
static nbcoll_status nbcolli_relays_hear(nbcoll_relays *r)
{
    nbcolli_relays_agents *a = r->agents;
    nbcoll_status s = nbcoll_test(&a->saying);
    for (int i = 0; i < r->ranks && s == NBCOLL_OK; i++)
        s = (nbcoll_status)a->said[i].status;
    if (s != NBCOLL_OK || a->store.head)
        return s;
    const nbcolli_link *link = r->comm->link->first;
    void *memory = link->shared.map(link->endpoint, a->said[a->leader].at, nbcolli_node_store_bytes(&a->shape));
    if (!memory)
        return NBCOLL_ERR_MEMORY;
    a->store = nbcolli_node_store_at(memory, &a->shape);
    return NBCOLL_OK;
}

void nbcolli_relays_agents_open_on(nbcoll_relays *r)
{
    nbcolli_relays_agents *a = r->agents;
    nbcoll_status s = NBCOLL_OK;
    if (a->stage == NBCOLLI_RELAYS_DUPLICATES && (s = nbcoll_test(&a->opening)) == NBCOLL_OK)
        a->stage = NBCOLLI_RELAYS_PREPARES;
    else if (a->stage == NBCOLLI_RELAYS_DUPLICATES && s == NBCOLL_ERR_MISMATCH)
        nbcolli_relays_out_of_step(r);
    if (a->stage == NBCOLLI_RELAYS_PREPARES && (s = nbcolli_relays_prepare(r)) == NBCOLL_OK)
        a->stage = NBCOLLI_RELAYS_AWAITS;
    if (a->stage == NBCOLLI_RELAYS_AWAITS && (s = nbcolli_relays_await_agent(a)) == NBCOLL_OK)
        a->stage = NBCOLLI_RELAYS_SAYS;
    if (a->stage == NBCOLLI_RELAYS_SAYS && (s = nbcolli_relays_say(r)) == NBCOLL_OK)
        a->stage = NBCOLLI_RELAYS_HEARS;
    if (s == NBCOLL_OK && a->gives_up)
        nbcoll_cancel(a->saying);
    if (s == NBCOLL_OK)
        s = nbcolli_relays_hear(r);
    r->status = s;
}

/* What all are to hear is revoked, as soon as there is something to revoke. */
void nbcolli_relays_agents_open_no_more(nbcoll_relays *r)
{
    nbcolli_relays_agents *a = r->agents;
    a->gives_up = 1;
    if (a->stage == NBCOLLI_RELAYS_DUPLICATES)
        nbcoll_cancel(a->opening);
    else if (a->stage == NBCOLLI_RELAYS_HEARS)
        nbcoll_cancel(a->saying);
}
