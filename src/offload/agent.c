/* SPDX-License-Identifier: BSD-3-Clause
 * Agents: runs that are started, in order, and their ends. */
#include <inttypes.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "agent.h"
#include "node_relays.h"
#include "../host/wakeup.h"
#include "../host/word.h"

static nbcoll_status nbcolli_agent_group(nbcoll_agent *a)
{
    const nbcoll_transport *t = a->ep->transport;
    const nbcoll_offload *group =
        t->size >= offsetof(nbcoll_transport, offload) + sizeof t->offload ? t->offload : NULL;
    if (!group || !t->bulk)
        return NBCOLL_ERR_UNSUPPORTED;
    a->memory = t->bulk->flags & NBCOLL_BULK_ANY_LOCAL ? NULL : t->bulk;
    memcpy(&a->call, group, group->size < sizeof a->call ? group->size : sizeof a->call);
    if (!a->call.open_cq || !a->call.open_queue || !a->call.post || !a->call.enable || !a->call.wait || !a->call.close)
        return NBCOLL_ERR_UNSUPPORTED;
    return NBCOLL_OK;
}

nbcoll_status nbcoll_agent_open(nbcoll_endpoint *ep, const nbcoll_agent_config *config, nbcoll_agent **out)
{
    nbcoll_agent made = {.serves = &nbcolli_agent_serves.agent, .ep = ep};
    if (!ep || !config || !out)
        return NBCOLL_ERR_NULL;
    made.rank = ep->rank;
    made.ranks = ep->ranks;
    nbcoll_status status = nbcolli_copy_tagged(&made.config, config, sizeof made.config);
    if (status == NBCOLL_OK && made.config.host && made.config.host->size)
        status = nbcolli_copy_tagged(&made.host, made.config.host, sizeof made.host);
    if (status == NBCOLL_OK)
        status = nbcolli_agent_group(&made);
    if (status != NBCOLL_OK)
        return status;
    made.config.eager = made.config.eager ? made.config.eager : 4096;
    made.config.depth = made.config.depth ? made.config.depth : 64;
    made.config.in_flight = made.config.in_flight ? made.config.in_flight : 1;
    nbcoll_agent *a = nbcolli_alloc(&made.host, sizeof *a, 64);
    if (!a)
        return NBCOLL_ERR_MEMORY;
    memcpy(a, &made, sizeof *a);
    a->runs_end = &a->runs;
    atomic_init(&a->handed, NULL);
    atomic_init(&a->open, 0);
    atomic_init(&a->is_cancelled, 0);
    atomic_init(&a->failed, NBCOLL_OK);
    atomic_init(&a->swept, NULL);
    nbcolli_alarm_open(&a->alarm);
    a->driver_bell = -1;
    atomic_init(&a->driver, 0);
    atomic_init(&a->driver_sleeps, 0);
    atomic_init(&a->begun, NULL);
    atomic_init(&a->lent, NULL);
    nbcolli_agent_hold(a);
    *out = a;
    return NBCOLL_OK;
}

/* ---- starting -------------------------------------------------------------------------------------------------- */

static nbcoll_status nbcolli_agent_check(const nbcoll_agent *a, const nbcoll_program *p, const size_t extent[3],
                                         const void *const buffer[2])
{
    if (p->info.rank != a->rank || p->info.ranks != a->ranks)
        return NBCOLL_ERR_RANK;
    if ((!buffer[0] && extent[NBCOLL_BUFFER_SEND]) || (!buffer[1] && extent[NBCOLL_BUFFER_RECV]))
        return NBCOLL_ERR_BUFFER;
    if (p->info.eager != a->config.eager)
        return NBCOLL_ERR_CONFIG;
    if (nbcolli_agent_excess(a, p))
        return NBCOLL_ERR_LIMIT;
    return nbcolli_agent_failed(a); /* told early, or by the run */
}

/* *why becomes what another process says of program and buffers. */
static nbcoll_status nbcolli_agent_ask(const nbcoll_agent *a, const nbcoll_program *p, const size_t extent[3],
                                       const void *const buffer[2], nbcoll_refusal *why)
{
    nbcoll_status status = nbcolli_agent_check(a, p, extent, buffer);
    *why = (nbcoll_refusal){.size = sizeof *why};
    if (status != NBCOLL_OK || !a->attached)
        return status;
    why->reason = nbcolli_attached_refuses(a, p, extent, buffer, &why->needed, &why->allowed);
    if (why->reason == NBCOLL_REFUSAL_NONE)
        return NBCOLL_OK;
    why->rank = a->rank;
    snprintf(why->text, sizeof why->text, "%s: rank %d: %s: %" PRIu64 " bytes, and %" PRIu64 " are allowed", p->name,
             a->rank, nbcoll_refusal_text(why->reason), why->needed, why->allowed);
    return why->reason == NBCOLL_REFUSAL_MEMORY ? NBCOLL_ERR_BUFFER : NBCOLL_ERR_LIMIT;
}

nbcoll_status nbcoll_agent_takes(const nbcoll_agent *a, const nbcoll_program *program, const void *send,
                                 const void *recv, nbcoll_refusal *why)
{
    const void *const buffer[2] = {send, recv};
    nbcoll_refusal said;
    if (!a || !program)
        return NBCOLL_ERR_NULL;
    if (why && why->size < sizeof why->size)
        return NBCOLL_ERR_CONFIG;
    nbcoll_status status = nbcolli_agent_ask(a, program, program->info.extent, buffer, &said);
    if (why) {
        said.size = why->size;
        memcpy(why, &said, why->size < sizeof said ? why->size : sizeof said);
    }
    return status;
}

static void nbcolli_agent_run_free(nbcoll_agent *a, nbcoll_program_run *r)
{
    nbcolli_agent_let_go(a, &r->own);
    nbcolli_free(&a->host, r, r->bytes);
}

/* Memory for a run: of one that has been reported, if there is one as large, so that starting the same programs again
 * and again allocates nothing. Of those that are too small one goes, so that there are never more than were open at
 * once. */
static char *nbcolli_agent_run_block(nbcoll_agent *a, size_t *bytes, nbcolli_agent_kept *own)
{
    *own = (nbcolli_agent_kept){.at = NULL};
    if (!a->spare)
        a->spare = atomic_exchange_explicit(&a->swept, NULL, memory_order_acquire); /* the agent is done with them */
    for (nbcoll_program_run **at = &a->spare; *at; at = &(*at)->next) {
        nbcoll_program_run *found = *at;
        if (found->bytes < *bytes)
            continue;
        *bytes = found->bytes;
        *own = found->own;
        *at = found->next;
        return (char *)found;
    }
    if (a->spare) {
        nbcoll_program_run *small = a->spare;
        a->spare = small->next;
        nbcolli_agent_run_free(a, small);
    }
    return nbcolli_alloc(&a->host, *bytes, 64);
}

/* `scratch` null: with scratch memory behind it. */
static nbcoll_program_run *nbcolli_agent_run_new(nbcoll_agent *a, const nbcoll_program *p, void *scratch)
{
    size_t head = nbcolli_lines(sizeof(nbcoll_program_run)),
           eager = nbcolli_lines(p->info.buffers * sizeof(nbcolli_agent_buffer));
    size_t pairs = nbcolli_lines(p->info.queues * sizeof(void *)),
           at = nbcolli_lines(p->info.queues * sizeof(uint32_t)),
           blocks = nbcolli_lines(((size_t)p->info.blocks[0] + p->info.blocks[1]) * sizeof(nbcoll_region));
    size_t tables = head + eager + pairs + at + blocks;
    size_t bytes = tables + (scratch ? 0 : p->info.extent[NBCOLL_BUFFER_SCRATCH]);
    nbcolli_agent_kept own;
    char *block = nbcolli_agent_run_block(a, &bytes, &own);
    if (!block)
        return NULL;
    memset(block, 0, tables);
    nbcoll_program_run *r = (nbcoll_program_run *)(void *)block;
    r->agent = a;
    r->p = p;
    r->pairs = p->info.queues - p->info.management;
    r->bytes = bytes;
    r->own = own;
    r->eager = (nbcolli_agent_buffer *)(void *)(block + head);
    r->pair = (nbcolli_agent_pair **)(void *)(block + head + eager);
    r->at = (_Atomic uint32_t *)(void *)(block + head + eager + pairs);
    r->block[0] = (nbcoll_region *)(void *)(block + head + eager + pairs + at);
    r->block[1] = r->block[0] + p->info.blocks[0];
    r->base[NBCOLL_BUFFER_SCRATCH] = scratch ? scratch : block + tables;
    r->is_scratch_lent = scratch != NULL;
    r->status = NBCOLL_PENDING;
    atomic_init(&r->state, NBCOLLI_AGENT_WAITING);
    return r;
}

static void nbcolli_agent_say(const nbcoll_agent *a, const nbcoll_host *host, nbcoll_status status,
                              const nbcoll_refusal *why)
{
    if (a->host.log || !host)
        host = &a->host;
    if (why->reason != NBCOLL_REFUSAL_NONE && host->log)
        host->log(host->user, status, why->text);
}

/* *extent: what it touches. */
static nbcoll_status nbcolli_agent_may(const nbcoll_agent *a, const nbcoll_program *program,
                                       const nbcolli_agent_call *call, size_t extent[3])
{
    const nbcolli_binding binding = {call->bind, call->user};
    const void *const buffer[2] = {call->send, call->recv};
    nbcoll_refusal why = {.reason = NBCOLL_REFUSAL_NONE};
    nbcoll_status status = nbcolli_bound_extent(program, &binding, extent);
    if (status == NBCOLL_OK)
        status = nbcolli_agent_ask(a, program, extent, buffer, &why);
    if (status != NBCOLL_OK)
        nbcolli_agent_say(a, call->host, status, &why);
    return status;
}

nbcoll_status nbcolli_agent_accepts(const nbcoll_agent *a, const nbcoll_program *program,
                                    const nbcolli_agent_call *call)
{
    size_t extent[3];
    return nbcolli_agent_may(a, program, call, extent);
}

nbcoll_status nbcolli_agent_make(nbcoll_agent *a, const nbcoll_program *program, const nbcolli_agent_call *call,
                                 nbcoll_program_run **out)
{
    const nbcolli_binding binding = {call->bind, call->user};
    const void *const buffer[2] = {call->send, call->recv};
    size_t extent[3];
    nbcoll_status status = nbcolli_agent_may(a, program, call, extent);
    if (status != NBCOLL_OK)
        return status;
    if (a->attached)
        return nbcolli_attached_start(a, program, buffer, call->scratch, &binding, out);
    nbcoll_program_run *r = nbcolli_agent_run_new(a, program, call->scratch);
    if (!r)
        return NBCOLL_ERR_MEMORY;
    r->base[NBCOLL_BUFFER_SEND] = (char *)(uintptr_t)call->send; /* only read */
    r->base[NBCOLL_BUFFER_RECV] = call->recv;
    memcpy(r->extent, extent, sizeof r->extent);
    for (int is_recv = 0; is_recv < 2; is_recv++)
        for (uint32_t i = 0; i < program->info.blocks[is_recv]; i++)
            r->block[is_recv][i] = call->bind(call->user, is_recv, (int)i);
    atomic_fetch_add_explicit(&a->open, 1, memory_order_relaxed); /* a count */
    *out = r;
    return NBCOLL_OK;
}

void nbcolli_agent_hand(nbcoll_program_run *r, uint64_t number)
{
    nbcoll_agent *a = r->agent;
    if (a->attached) {
        nbcolli_attached_give(r, number);
        return;
    }
    r->set = (uint32_t)(number % a->config.in_flight);
    r->next = atomic_load_explicit(&a->handed, memory_order_relaxed); /* compared below */
    /* seq_cst: whoever takes it sees all of it, and a driver that sleeps is seen below, or sees it */
    while (!atomic_compare_exchange_weak(&a->handed, &r->next, r))
        ;
    nbcolli_agent_rouse(a);
}

nbcoll_status nbcoll_agent_start(nbcoll_agent *a, const nbcoll_program *program, const void *send, void *recv,
                                 nbcoll_program_run **out)
{
    return nbcoll_agent_start_bound(a, program, send, recv, NULL, NULL, out);
}

nbcoll_status nbcoll_agent_start_bound(nbcoll_agent *a, const nbcoll_program *program, const void *send, void *recv,
                                       nbcoll_bind *bind, void *user, nbcoll_program_run **out)
{
    const nbcolli_agent_call call = {.send = send, .recv = recv, .bind = bind, .user = user};
    if (!a || !program || !out)
        return NBCOLL_ERR_NULL;
    nbcolli_agent_hold(a); /* its endpoint may have got a context since it was opened */
    nbcoll_status status = nbcolli_agent_make(a, program, &call, out);
    if (status == NBCOLL_OK && !a->attached)
        (*out)->is_alone = 1;
    if (status == NBCOLL_OK)
        nbcolli_agent_hand(*out, a->started++);
    return status;
}

/* ---- progress -------------------------------------------------------------------------------------------------- */

static void nbcolli_agent_take_handed(nbcoll_agent *a)
{
    /* acquire: what was written before it was handed over */
    nbcoll_program_run *last = atomic_exchange_explicit(&a->handed, NULL, memory_order_acquire), *first = NULL;
    while (last) {
        nbcoll_program_run *before = last->next;
        last->next = first;
        first = last;
        last = before;
    }
    *a->runs_end = first;
    while (*a->runs_end)
        a->runs_end = &(*a->runs_end)->next;
}

static void nbcolli_agent_end(nbcoll_program_run *r, nbcoll_status status)
{
    nbcolli_agent_deregister(r->agent, r);
    r->status = status;
    nbcoll_agent *a = r->agent;
    /* seq_cst, both: it shows the rank all that came; and either the rank sees it before it sleeps, or it is seen here
     * that the rank sleeps */
    atomic_store(&r->state, NBCOLLI_AGENT_ENDED);
    nbcolli_alarm_ring(&a->alarm);
}

/* From now on nobody touches memory of any program. */
static void nbcolli_agent_fail(nbcoll_agent *a, nbcoll_status status)
{
    atomic_store_explicit(&a->failed, status, memory_order_relaxed);
    nbcolli_agent_pairs_close(a); /* what has ended, and is not copied yet, stays in its buffers */
}

/* Is an earlier run of the same set still there? */
static int nbcolli_agent_must_wait(const nbcoll_agent *a, const nbcoll_program_run *r)
{
    for (const nbcoll_program_run *before = a->runs; before != r; before = before->next)
        if (before->set == r->set)
            return 1;
    return 0;
}

static int nbcolli_agent_advance(nbcoll_agent *a, nbcoll_program_run *r)
{
    nbcoll_status status = (nbcoll_status)atomic_load_explicit(&a->failed, memory_order_relaxed);
    int state = atomic_load_explicit(&r->state, memory_order_relaxed), moved = 0; /* the agent's, or not looked at */
    if (state > NBCOLLI_AGENT_RUNNING ||
        (status == NBCOLL_OK && state == NBCOLLI_AGENT_WAITING && nbcolli_agent_must_wait(a, r)))
        return 0;
    if (status == NBCOLL_OK && state == NBCOLLI_AGENT_WAITING) {
        status = nbcolli_agent_begin(a, r);
        atomic_store_explicit(&r->state, NBCOLLI_AGENT_RUNNING, memory_order_relaxed); /* still the agent's */
        moved = 1;
    }
    if (status == NBCOLL_OK)
        status = nbcolli_agent_go_on(a, r, &moved);
    if (status == NBCOLL_PENDING)
        return moved;
    if (status != NBCOLL_OK && state == NBCOLLI_AGENT_WAITING && r->is_alone)
        nbcolli_agent_pairs_show(a, r);
    if (status != NBCOLL_OK)
        nbcolli_agent_fail(a, status);
    nbcolli_agent_end(r, status);
    return 1;
}

static void nbcolli_agent_run_sweep(nbcoll_agent *a, nbcoll_program_run *r)
{
    r->next = atomic_load_explicit(&a->swept, memory_order_relaxed); /* compared below */
    /* release: whoever takes it may write to it */
    while (!atomic_compare_exchange_weak_explicit(&a->swept, &r->next, r, memory_order_release, memory_order_relaxed))
        ;
}

/* Takes out what has been reported, and makes room for those that come after. */
static int nbcolli_agent_sweep(nbcoll_agent *a)
{
    int moved = 0;
    for (nbcoll_program_run **at = &a->runs; *at;) {
        nbcoll_program_run *r = *at;
        /* acquire: the rank has made its copies */
        if (atomic_load_explicit(&r->state, memory_order_acquire) != NBCOLLI_AGENT_REPORTED) {
            at = &r->next;
            continue;
        }
        if (r->status == NBCOLL_OK && atomic_load_explicit(&a->failed, memory_order_relaxed) == NBCOLL_OK) {
            nbcoll_status status = nbcolli_agent_recycle(a, r);
            if (status != NBCOLL_OK)
                nbcolli_agent_fail(a, status);
        }
        *at = r->next;
        if (a->runs_end == &r->next)
            a->runs_end = at;
        nbcolli_agent_run_sweep(a, r);
        moved = 1;
    }
    return moved;
}

int nbcoll_agent_progress(nbcoll_agent *a)
{
    if (!a || a->attached)
        return 0;
    nbcolli_agent_take_handed(a);
    int moved = nbcolli_agent_sweep(a);
    if (atomic_load_explicit(&a->is_cancelled, memory_order_relaxed) && /* a wish */
        atomic_load_explicit(&a->failed, memory_order_relaxed) == NBCOLL_OK)
        nbcolli_agent_fail(a, NBCOLL_ERR_CANCELLED);
    if (atomic_load_explicit(&a->is_cancelled, memory_order_relaxed)) /* as above */
        nbcolli_node_relays_all_end(a, NBCOLL_ERR_CANCELLED);
    moved |= nbcolli_node_relays_all_move(a) | nbcolli_agent_routes_move(a);
    for (nbcoll_program_run *r = a->runs; r; r = r->next)
        moved |= nbcolli_agent_advance(a, r);
    return moved;
}

nbcoll_status nbcoll_agent_test(nbcoll_program_run *r)
{
    if (!r)
        return NBCOLL_ERR_NULL;
    if (r->agent->attached)
        return nbcolli_attached_test(r);
    /* acquire: what has come */
    if (atomic_load_explicit(&r->state, memory_order_acquire) != NBCOLLI_AGENT_ENDED)
        return NBCOLL_PENDING;
    nbcoll_status status = r->status;
    for (uint32_t i = 0; i < r->p->info.copies && status == NBCOLL_OK; i++)
        nbcolli_agent_calc(r, &r->p->copy[i]);
    nbcoll_agent *a = r->agent;
    atomic_store(&r->state, NBCOLLI_AGENT_REPORTED); /* seq_cst: the copies are made, before the look who sleeps */
    nbcolli_agent_rouse(a);                          /* r is gone: it takes up its receives again */
    atomic_fetch_sub_explicit(&a->open, 1, memory_order_release);
    return status;
}

int nbcolli_agent_watch(nbcoll_agent *a, int poller)
{
    return a->attached ? nbcolli_attached_watch(a, poller) : nbcolli_alarm_set(&a->alarm, poller);
}

void nbcolli_agent_unwatch(nbcoll_agent *a)
{
    if (a->attached)
        nbcolli_attached_unwatch(a);
    else
        nbcolli_alarm_unset(&a->alarm);
}

int nbcolli_agent_has_ended(const nbcoll_program_run *r)
{
    if (r->agent->attached)
        return nbcolli_attached_has_ended(r);
    return atomic_load(&r->state) == NBCOLLI_AGENT_ENDED; /* seq_cst: after the alarm was set */
}

nbcoll_status nbcolli_agent_over(const nbcoll_agent *a)
{
    nbcoll_status failed = nbcolli_agent_failed(a);
    int is_cancelled = atomic_load_explicit(&a->is_cancelled, memory_order_relaxed); /* by this rank */
    return failed == NBCOLL_OK && is_cancelled ? NBCOLL_ERR_CANCELLED : failed;
}

nbcoll_status nbcoll_agent_cancel(nbcoll_agent *a)
{
    if (!a)
        return NBCOLL_ERR_NULL;
    atomic_store(&a->is_cancelled, 1); /* seq_cst: before the look who sleeps */
    if (a->attached)
        nbcolli_attached_cancel(a);
    else
        nbcolli_agent_rouse(a);
    return NBCOLL_OK;
}

/* The memory of those that were reported. */
static void nbcolli_agent_runs_free(nbcoll_agent *a)
{
    /* relaxed: nobody is inside */
    nbcoll_program_run *lists[] = {a->spare, atomic_load_explicit(&a->swept, memory_order_relaxed)};
    for (size_t i = 0; i < 2; i++)
        while (lists[i]) {
            nbcoll_program_run *r = lists[i];
            lists[i] = r->next;
            nbcolli_agent_run_free(a, r);
        }
}

nbcoll_status nbcoll_agent_close(nbcoll_agent *a)
{
    if (!a)
        return NBCOLL_OK;
    if (atomic_load_explicit(&a->open, memory_order_acquire)) /* all runs are seen as reported */
        return NBCOLL_ERR_BUSY;
    if (atomic_load_explicit(&a->promised, memory_order_acquire)) /* else it has all, or will get none */
        return NBCOLL_ERR_BUSY;
    if (a->attached) {
        nbcolli_attached_close(a);
        return NBCOLL_OK;
    }
    if (atomic_load_explicit(&a->driver, memory_order_acquire)) /* sees what the driver did, if it is out */
        return NBCOLL_ERR_BUSY;
    nbcolli_node_relays_all_end(a, NBCOLL_ERR_CANCELLED);
    nbcolli_agent_routes_close(a);
    nbcolli_agent_pairs_free(a);
    for (int i = 0; i < 2; i++)
        nbcolli_agent_let_go(a, &a->kept[i]);
    atomic_store_explicit(&a->failed, NBCOLL_ERR_CANCELLED, memory_order_relaxed);
    nbcolli_agent_take_handed(a);
    nbcolli_agent_sweep(a);
    nbcolli_agent_runs_free(a);
    nbcolli_alarm_close(&a->alarm);
    if (a->driver_bell >= 0)
        close(a->driver_bell);
    nbcoll_host host = a->host;
    nbcolli_users *users = a->users;
    nbcolli_free(&host, a, sizeof *a);
    if (users) /* release: after all that it did with the endpoint */
        atomic_fetch_sub_explicit(&users->agents, 1, memory_order_release);
    return NBCOLL_OK;
}
