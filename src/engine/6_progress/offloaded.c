/* SPDX-License-Identifier: BSD-3-Clause
 * Operations that a communicator's agent carries out: see offloaded.h. */
#include "offloaded.h"

#include "../1_state/failure.h"
#include "../2_wire/control.h"
#include "../3_run/queue.h"
#include "../4_comm/programs.h"
#include "../../offload/offload.h"

/* Where a block of the call lies: nbcoll_bind. */
static nbcoll_region nbcolli_offloaded_block(void *user, int is_recv, int index)
{
    const nbcolli_request *r = user;
    unsigned char *base = is_recv ? r->recv : (unsigned char *)(uintptr_t)r->send; /* only a place is asked for */
    nbcoll_memory block = nbcolli_block(&r->blocks[is_recv], base, (size_t)index);
    nbcoll_addr at = {is_recv ? NBCOLL_BUFFER_RECV : NBCOLL_BUFFER_SEND, 0};
    return nbcoll_span(nbcoll_at(at, (uintptr_t)block.at - (uintptr_t)base), block.bytes);
}

/* Why no member starts a program any more, or OK. */
static nbcoll_status nbcolli_offloaded_over(const nbcoll_comm *comm)
{
    nbcoll_status broken = nbcolli_broken(comm);
    /* relaxed: for itself */
    return broken != NBCOLL_OK ? broken : (nbcoll_status)atomic_load_explicit(&comm->agents, memory_order_relaxed);
}

void nbcolli_offloaded_tell(nbcoll_comm *comm)
{
    nbcoll_status failed = comm->config.agent ? nbcolli_agent_failed(comm->config.agent) : NBCOLL_OK;
    if (failed == NBCOLL_OK || nbcolli_offloaded_over(comm) != NBCOLL_OK)
        return;
    atomic_store_explicit(&comm->agents, failed, memory_order_relaxed); /* starts read nothing else by it */
    nbcolli_tell_all(comm, NBCOLLI_AGENT, 0, failed, comm->rank, 0);
}

nbcoll_status nbcolli_offloaded_give(nbcolli_request *r)
{
    nbcoll_comm *comm = r->comm;
    nbcoll_status s = nbcolli_offloaded_over(comm);

    return s == NBCOLL_OK ? nbcolli_agent_start(comm->config.agent, r->schedule->program, r->send, r->recv,
                                                nbcolli_offloaded_block, r, &comm->context->host, &r->program)
                          : s;
}

void nbcolli_offloaded_take(nbcolli_request *r)
{
    nbcoll_context *c = r->context;

    r->comm->active++;
    c->active++;
    r->status = NBCOLL_PENDING;
    atomic_store_explicit(&r->state, NBCOLLI_REQUEST_ACTIVE, memory_order_relaxed); /* the lock orders it */
    r->next = c->offloaded;
    c->offloaded = r;
    c->news |= NBCOLLI_NEWS_OF_PROGRAMS;
}

static void nbcolli_offloaded_end(nbcolli_request *r, nbcoll_status status)
{
    nbcoll_comm *comm = r->comm;

    if (status != NBCOLL_OK) {
        nbcolli_note_failure(comm, status, -1, comm->taken);
        nbcolli_offloaded_tell(comm);
    }
    comm->active--;
    comm->context->active--;
    r->program = NULL;
    r->status = status;
    nbcolli_request_end(comm->context, r);
}

int nbcolli_offloaded_arm(nbcoll_context *c)
{
    int sleeps = 1;
    for (const nbcolli_request *r = c->offloaded; r && sleeps; r = r->next)
        sleeps = nbcolli_agent_watch(r->comm->config.agent, c->poller) && !nbcolli_agent_has_ended(r->program);
    return sleeps;
}

void nbcolli_offloaded_look(nbcoll_context *c)
{
    c->driven.looked = 1; /* no program wakes a driver that sleeps: no new one and, from here on, no other */
    for (const nbcolli_request *r = c->offloaded; r; r = r->next)
        nbcolli_agent_unwatch(r->comm->config.agent);
    for (nbcolli_request **at = &c->offloaded; *at;) {
        nbcolli_request *r = *at;
        nbcoll_status over = nbcolli_offloaded_over(r->comm);

        if (over != NBCOLL_OK) /* no member can be waited for any more */
            nbcoll_agent_cancel(r->comm->config.agent);
        nbcoll_status status = nbcoll_agent_test(r->program);
        if (status == NBCOLL_PENDING) {
            at = &r->next;
            continue;
        }
        *at = r->next;
        nbcolli_offloaded_end(r, status == NBCOLL_ERR_CANCELLED && over != NBCOLL_OK ? over : status);
    }
}
