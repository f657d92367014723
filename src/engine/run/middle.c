/* SPDX-License-Identifier: BSD-3-Clause
 * Middles that agents carry out: see middle.h. */
#include "middle.h"

#include "../wire/control.h"
#include "../../offload/offload.h"

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

int nbcolli_middle_lacks_room(const nbcolli_run *run)
{
    nbcoll_step room = run->schedule->room;
    return room != NBCOLL_START && run->before[room] != NBCOLLI_STEP_OVER;
}

int nbcolli_middle_take_room(nbcolli_run *run)
{
    nbcolli_programs *programs = &run->comm->programs;

    if (run->request->program_room != programs->roomed)
        return 0;
    unsigned char *room = nbcolli_agent_lend(run->comm->config.agent, run->schedule->extent[NBCOLL_BUFFER_SCRATCH],
                                             &run->loan);
    if (!room)
        return 0;
    programs->roomed++;
    run->base[NBCOLL_BUFFER_SCRATCH] = room;
    return 1;
}

void nbcolli_middle_give_room(nbcolli_run *run)
{
    if (run->schedule->room == NBCOLL_START || nbcolli_middle_lacks_room(run))
        return;
    nbcolli_agent_take_back(run->comm->config.agent, &run->loan);
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
