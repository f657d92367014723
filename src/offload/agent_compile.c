/* SPDX-License-Identifier: BSD-3-Clause
 * Programs that the agents of all ranks can take. */
#include <inttypes.h>
#include <stdio.h>

#include "agent.h"
#include "cut.h"

const nbcoll_endpoint *nbcolli_agent_endpoint(const nbcoll_agent *a)
{
    return a->ep;
}

void nbcolli_agent_hold(nbcoll_agent *a)
{
    if (a->attached || a->users || !a->ep->owner)
        return;
    a->users = (nbcolli_users *)(void *)a->ep->owner;
    atomic_fetch_add_explicit(&a->users->agents, 1, memory_order_relaxed); /* it is open for the caller anyway */
}

void nbcolli_agent_borrow(nbcoll_agent *a)
{
    atomic_fetch_add_explicit(&a->promised, 1, memory_order_relaxed); /* it is open for the caller anyway */
}

void nbcolli_agent_give_back(nbcoll_agent *a)
{
    atomic_fetch_sub_explicit(&a->promised, 1, memory_order_release); /* after all that was done with it */
}

nbcoll_status nbcolli_agent_failed(const nbcoll_agent *a)
{
    nbcoll_status s = (nbcoll_status)atomic_load_explicit(&a->failed, memory_order_relaxed); /* for itself */
    return s == NBCOLL_ERR_MEMORY || s == NBCOLL_ERR_LIMIT ? NBCOLL_ERR_CANCELLED : s;
}

uint32_t nbcolli_agent_commands(const nbcoll_agent *a)
{
    return a->attached ? nbcolli_attached_commands(a) : 0;
}

int nbcolli_agent_is_lost(nbcoll_agent *a)
{
    return nbcolli_attached_is_lost(a);
}

int nbcolli_agent_process(const nbcoll_agent *a)
{
    return a->attached ? nbcolli_attached_process(a) : 0;
}

size_t nbcolli_agent_lends(const nbcoll_agent *a)
{
    return a->attached ? nbcolli_attached_lends(a) : SIZE_MAX;
}

void *nbcolli_agent_lend(nbcoll_agent *a, size_t bytes, nbcolli_loan *loan)
{
    return nbcolli_attached_lend(a, bytes, loan);
}

void nbcolli_agent_take_back(nbcoll_agent *a, const nbcolli_loan *loan)
{
    nbcolli_attached_take_back(a, loan);
}

uint32_t nbcolli_agent_hash(const nbcoll_agent *a)
{
    /* what is refused depends on these, too; of a process they are not 0 */
    uint64_t shared = a->attached ? nbcolli_attached_lends(a) * 3 + nbcolli_attached_room(a) : 0;
    uint64_t hash = (a->config.eager * UINT64_C(0x9e3779b97f4a7c15)) ^ ((uint64_t)a->config.depth << 32) ^
                    a->config.in_flight ^ shared * UINT64_C(0xbf58476d1ce4e5b9);
    return (uint32_t)((hash * UINT64_C(0xd6e8feb86659fd93)) >> 32) | 1;
}

uint32_t nbcolli_agent_excess(const nbcoll_agent *a, const nbcoll_program *p)
{
    for (uint32_t i = 0; i < p->info.queues - p->info.management; i++) {
        const nbcoll_queue_view *q = &p->queue[i];
        uint32_t most = q->kind == NBCOLL_QUEUE_BULK ? 2 * a->config.depth : a->config.depth; /* with their waits */
        if (q->send_count > most)
            return q->send_count;
        if (q->receive_count > a->config.depth)
            return q->receive_count;
    }
    return 0;
}

/* The first reason why an agent cannot take a program; `around`: what it is a part of, whose scratch memory the agent
 * is to lend; or null. */
static nbcoll_refusal_reason nbcolli_agent_refuses(const nbcoll_agent *a, const nbcoll_program *p,
                                                   const nbcoll_schedule *around, uint64_t *needed, uint64_t *allowed)
{
    *needed = nbcolli_agent_excess(a, p);
    *allowed = a->config.depth;
    if (*needed)
        return NBCOLL_REFUSAL_DEPTH;
    if (a->attached)
        *needed = nbcolli_attached_tables(a, p, allowed);
    if (*needed > *allowed)
        return NBCOLL_REFUSAL_TABLES;
    *needed = around && p->info.tasks ? around->extent[NBCOLL_BUFFER_SCRATCH] : 0;
    *allowed = nbcolli_agent_lends(a);
    return *needed > *allowed ? NBCOLL_REFUSAL_SCRATCH : NBCOLL_REFUSAL_NONE;
}

/* All ranks are refused if one is, so that all know alike. */
static nbcoll_status nbcolli_agent_fits_all(const nbcoll_agent *a, nbcoll_program *const programs[], int ranks,
                                            const nbcoll_schedule *const around[], nbcoll_refusal *why)
{
    for (int rank = 0; rank < ranks; rank++) {
        nbcoll_refusal said = {.size = why ? why->size : sizeof said, .rank = rank};
        const nbcoll_schedule *its = around ? around[rank] : NULL;
        said.reason = nbcolli_agent_refuses(a, programs[rank], its, &said.needed, &said.allowed);
        if (said.reason == NBCOLL_REFUSAL_NONE)
            continue;
        snprintf(said.text, sizeof said.text, "%s: rank %d: %s: %" PRIu64 ", and %" PRIu64 " are allowed",
                 programs[rank]->name, rank, nbcoll_refusal_text(said.reason), said.needed, said.allowed);
        if (why)
            memcpy(why, &said, why->size < sizeof said ? why->size : sizeof said);
        return NBCOLL_ERR_UNSUPPORTED;
    }
    return NBCOLL_OK;
}

nbcoll_status nbcolli_agent_compile(const nbcoll_agent *a, const nbcoll_schedule *const schedules[], int ranks,
                                    int rank, nbcolli_inners *m, nbcoll_program **out, nbcoll_refusal *why)
{
    nbcoll_program_config config = {.size = sizeof config,
                                    .host = &a->host,
                                    .eager = a->config.eager,
                                    .in_flight = a->config.in_flight,
                                    .in_parts = m != NULL};
    size_t bytes = (size_t)ranks * sizeof(nbcoll_program *);
    nbcoll_program **programs = nbcolli_alloc(&a->host, bytes, sizeof *programs);
    if (!programs)
        return NBCOLL_ERR_MEMORY;
    memset(programs, 0, bytes);
    nbcoll_status status = nbcolli_compile_keeping(schedules, ranks, &config, 0, ranks, programs, why, m);
    if (status == NBCOLL_OK) {
        status = nbcolli_agent_fits_all(a, programs, ranks, m ? schedules : NULL, why);
        if (status == NBCOLL_OK) {
            *out = programs[rank];
            programs[rank] = NULL;
        }
        for (int i = 0; i < ranks; i++)
            nbcoll_program_free(programs[i]);
    }
    nbcolli_free(&a->host, programs, bytes);
    return status;
}
