/* SPDX-License-Identifier: BSD-3-Clause
 * Middles that agents carry out: see middle.h. */
#include "middle.h"

#include "nbcoll/offload.h"
#include "../2_wire/control.h"

void nbcolli_middle_list(nbcoll_context *c, nbcolli_request *r)
{
    r->next = NULL;
    *c->offloaded_end = r;
    c->offloaded_end = &r->next;
    c->news |= NBCOLLI_NEWS_OF_PROGRAMS;
}

void nbcolli_middle_begin(nbcolli_run *run)
{
    run->is_offloaded = 1;
    nbcolli_middle_list(run->comm->context, run->request);
}

void nbcolli_agents_end(nbcoll_comm *comm, nbcoll_status why, int tell)
{
    /* relaxed, both: starts read nothing else by it */
    if (nbcolli_broken(comm) != NBCOLL_OK || atomic_load_explicit(&comm->agents, memory_order_relaxed) != NBCOLL_OK)
        return;
    atomic_store_explicit(&comm->agents, why, memory_order_relaxed);
    if (tell)
        nbcolli_tell_all(comm, NBCOLLI_AGENT, 0, why, comm->rank, 0);
}

void nbcolli_middle_fail(const nbcoll_schedule *s, nbcoll_comm *comm, int tell)
{
    if (!s || !s->is_cut)
        return;
    nbcoll_agent_cancel(comm->config.agent);
    nbcolli_agents_end(comm, NBCOLL_ERR_CANCELLED, tell);
}
