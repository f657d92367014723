/* SPDX-License-Identifier: BSD-3-Clause
 * A program while an agent executes it. */
#include "../reduce/packed.h"
#include "agent.h"
#if NBCOLL_WITH_WIDE
#include "nbcoll/wide.h"
#endif

/* Bytes as they lie in this run: where they have been bound to. */
static nbcoll_task_bytes nbcolli_agent_bytes(const nbcoll_program_run *r, nbcoll_task_bytes b)
{
    if (nbcolli_is_block(b.region.at))
        b.region = r->block[nbcolli_is_recv_block(b.region.at)][b.region.at.offset];
    return b;
}

static void *nbcolli_agent_place(const nbcoll_program_run *r, const nbcoll_task_bytes *b)
{
    if (!b->region.bytes)
        return NULL;
    return (b->eager != NBCOLL_NO_QUEUE ? r->eager[b->eager].at : r->base[b->region.at.buffer]) + b->region.at.offset;
}

/* What covers it; null where nothing has to. */
static const nbcoll_registration *nbcolli_agent_local(const nbcoll_program_run *r, const nbcoll_task_bytes *b)
{
    if (!b->region.bytes || !r->agent->memory)
        return NULL;
    return b->eager != NBCOLL_NO_QUEUE ? &r->eager[b->eager].pair->registered : &r->registered[b->region.at.buffer];
}

/* Agents have no configuration that names kernels: they take the widest that are linked. */
static const nbcoll_reducers *nbcolli_agent_reducers(void)
{
#if NBCOLL_WITH_WIDE
    const nbcoll_reducers *wide = nbcoll_wide();
    return wide ? wide : nbcolli_reducers;
#else
    return nbcolli_reducers;
#endif
}

void nbcolli_agent_calc(const nbcoll_program_run *r, const nbcoll_task *t)
{
    nbcoll_task_bytes write = nbcolli_agent_bytes(r, t->write), read = nbcolli_agent_bytes(r, t->read[0]);
    size_t bytes = write.region.bytes;
    void *to = nbcolli_agent_place(r, &write), *left = nbcolli_agent_place(r, &read);
    if (t->read[1].region.bytes)
        nbcolli_reduce(nbcolli_agent_reducers(), t->reduction, to, left, nbcolli_agent_place(r, &t->read[1]),
                       bytes / nbcolli_packed_size(t->reduction.type));
    else if (bytes)
        memcpy(to, left, bytes);
}

/* ---- posting --------------------------------------------------------------------------------------------------- */

/* Receives that are not posted in advance; and which buffers those have that are. */
static nbcoll_status nbcolli_agent_post_receives(nbcoll_agent *a, nbcoll_program_run *r, uint32_t queue)
{
    const nbcoll_queue_view *q = &r->p->queue[queue];
    nbcolli_agent_pair *pair = r->pair[queue];
    nbcoll_status status = NBCOLL_OK;
    for (uint32_t i = 0; i < q->receive_count && status == NBCOLL_OK; i++) {
        const nbcoll_task_bytes to = nbcolli_agent_bytes(r, q->receives[i].write);
        if (q->kind == NBCOLL_QUEUE_BULK) {
            nbcoll_posting p = {.kind = NBCOLL_POSTING_RECEIVE,
                                .memory = nbcolli_agent_place(r, &to),
                                .bytes = to.region.bytes,
                                .local = nbcolli_agent_local(r, &to)};
            status = a->call.post(a->ep, pair->queue, &p);
            continue;
        }
        if (to.eager != NBCOLL_NO_QUEUE)
            r->eager[to.eager] =
                (nbcolli_agent_buffer){pair->memory + pair->taken % a->config.depth * a->config.eager, pair};
        pair->taken++;
    }
    if (status == NBCOLL_OK && q->kind == NBCOLL_QUEUE_BULK && !(q->held & NBCOLL_HOLDS_RECEIVES))
        a->call.enable(a->ep, pair->queue, 0, q->receive_count);
    return status;
}

/* The last SEND of a queue, or as many as there are tasks. */
static uint32_t nbcolli_agent_last_send(const nbcoll_queue_view *q)
{
    uint32_t last = q->send_count;
    while (last > 0 && q->sends[last - 1].kind != NBCOLL_TASK_SEND)
        last--;
    return last ? last - 1 : q->send_count;
}

/* The last send is signalled in any case, so that its end is seen. */
static nbcoll_status nbcolli_agent_post_sends(nbcoll_agent *a, nbcoll_program_run *r, uint32_t queue)
{
    const nbcoll_queue_view *q = &r->p->queue[queue];
    nbcolli_agent_pair *pair = r->pair[queue];
    nbcoll_status status = NBCOLL_OK;
    uint32_t sends = 0, last = nbcolli_agent_last_send(q);
    for (uint32_t i = 0; i < q->send_count && status == NBCOLL_OK; i++) {
        const nbcoll_task *t = &q->sends[i];
        const nbcoll_task_bytes from = nbcolli_agent_bytes(r, t->read[0]);
        nbcoll_posting p = {.kind = NBCOLL_POSTING_WAIT, .count = t->count};
        if (t->kind == NBCOLL_TASK_WAIT) /* for what its own connection clears */
            for (uint32_t k = 0; k < r->p->info.queues; k++)
                p.completions = r->p->queue[k].receive_cq == t->cq ? r->pair[k]->received : p.completions;
        else
            p = (nbcoll_posting){.kind = NBCOLL_POSTING_SEND,
                                 .signal = t->signal || i == last,
                                 .memory = nbcolli_agent_place(r, &from),
                                 .bytes = from.region.bytes,
                                 .local = nbcolli_agent_local(r, &from)};
        sends += t->kind == NBCOLL_TASK_SEND;
        status = a->call.post(a->ep, pair->queue, &p);
    }
    if (status == NBCOLL_OK && !(q->held & NBCOLL_HOLDS_SENDS))
        a->call.enable(a->ep, pair->queue, sends, 0);
    return status;
}

/* ---- registrations --------------------------------------------------------------------------------------------- */

static nbcoll_status nbcolli_agent_register_kept(nbcoll_agent *a, void *memory, size_t bytes, nbcolli_agent_kept *k)
{
    nbcoll_status status =
        a->memory->register_memory(a->ep, -1, memory, bytes, NBCOLL_LOCAL_END, &k->registered);
    if (status == NBCOLL_OK) {
        k->at = memory;
        k->bytes = bytes;
    }
    return status;
}

void nbcolli_agent_keep(nbcoll_agent *a, void *memory, size_t bytes)
{
    if (a->memory && bytes)
        (void)nbcolli_agent_register_kept(a, memory, bytes, &a->kept[a->kept[0].bytes != 0]);
}

void nbcolli_agent_let_go(nbcoll_agent *a, nbcolli_agent_kept *k)
{
    if (k->bytes && a->memory->deregister_memory)
        a->memory->deregister_memory(a->ep, &k->registered);
    k->bytes = 0;
}

/* The one that has the memory; null: none has. */
static const nbcolli_agent_kept *nbcolli_agent_kept_of(const nbcoll_agent *a, const char *memory, size_t bytes)
{
    for (int i = 0; i < 2; i++) {
        const nbcolli_agent_kept *k = &a->kept[i];
        uintptr_t at = (uintptr_t)memory, base = (uintptr_t)k->at; /* as numbers: it may lie anywhere */
        if (at >= base && bytes <= k->bytes && at - base <= k->bytes - bytes)
            return k;
    }
    return NULL;
}

static nbcoll_status nbcolli_agent_register(nbcoll_agent *a, nbcoll_program_run *r)
{
    nbcoll_status status = NBCOLL_OK;
    if (!a->memory)
        return NBCOLL_OK;
    if (r->extent[NBCOLL_BUFFER_SCRATCH] && !r->is_scratch_lent && !r->own.bytes)
        status = nbcolli_agent_register_kept(a, r, r->bytes, &r->own);
    r->registered[NBCOLL_BUFFER_SCRATCH] = r->own.registered;
    for (int i = 0; i < 2 + r->is_scratch_lent && status == NBCOLL_OK; i++) {
        size_t bytes = r->extent[i];
        const nbcolli_agent_kept *k = bytes ? nbcolli_agent_kept_of(a, r->base[i], bytes) : NULL;
        if (k)
            r->registered[i] = k->registered;
        else if (bytes) {
            status = a->memory->register_memory(a->ep, -1, r->base[i], bytes, NBCOLL_LOCAL_END, &r->registered[i]);
            r->registrations |= (uint32_t)(status == NBCOLL_OK) << i;
        }
    }
    return status;
}

void nbcolli_agent_deregister(nbcoll_agent *a, nbcoll_program_run *r)
{
    for (int i = 0; i < 3; i++)
        if (r->registrations >> i & 1 && a->memory->deregister_memory)
            a->memory->deregister_memory(a->ep, &r->registered[i]);
    r->registrations = 0;
}

/* ---- beginning ------------------------------------------------------------------------------------------------- */

nbcoll_status nbcolli_agent_begin(nbcoll_agent *a, nbcoll_program_run *r)
{
    uint32_t pairs = r->p->info.queues - r->p->info.management;
    nbcoll_status status = nbcolli_agent_register(a, r);
    for (uint32_t i = 0; i < pairs && status == NBCOLL_OK; i++)
        status = nbcolli_agent_pair_of(a, &r->p->queue[i], r->set, &r->pair[i]);
    for (uint32_t i = 0; i < pairs && status == NBCOLL_OK; i++)
        status = nbcolli_agent_post_receives(a, r, i);
    for (uint32_t i = 0; i < pairs && status == NBCOLL_OK; i++)
        status = nbcolli_agent_post_sends(a, r, i);
    return status;
}

/* ---- going on -------------------------------------------------------------------------------------------------- */

static nbcoll_status nbcolli_agent_wait(nbcoll_agent *a, nbcoll_program_run *r, const nbcoll_task *t)
{
    for (uint32_t i = 0; i < r->p->info.queues; i++) {
        const nbcoll_queue_view *q = &r->p->queue[i];
        if (q->receive_cq == t->cq)
            return a->call.wait(a->ep, r->pair[i]->received, t->count);
        if (q->send_cq == t->cq)
            return a->call.wait(a->ep, r->pair[i]->sent, t->count);
    }
    return NBCOLL_ERR_ARGUMENT;
}

static nbcoll_status nbcolli_agent_task(nbcoll_agent *a, nbcoll_program_run *r, const nbcoll_task *t)
{
    switch (t->kind) {
    case NBCOLL_TASK_WAIT:
        return nbcolli_agent_wait(a, r, t);
    case NBCOLL_TASK_SEND_ENABLE:
        a->call.enable(a->ep, r->pair[t->queue]->queue, t->count, 0);
        return NBCOLL_OK;
    case NBCOLL_TASK_RECEIVE_ENABLE:
        a->call.enable(a->ep, r->pair[t->queue]->queue, 0, t->count);
        return NBCOLL_OK;
    default:
        nbcolli_agent_calc(r, t);
        return NBCOLL_OK;
    }
}

/* Have all sends of a queue ended? The last one's entry is the program's to consume if it is signalled there. */
static nbcoll_status nbcolli_agent_drain(nbcoll_agent *a, nbcoll_program_run *r, uint32_t queue)
{
    const nbcoll_queue_view *q = &r->p->queue[queue];
    uint32_t last = nbcolli_agent_last_send(q);
    nbcoll_status status = NBCOLL_OK;
    /* relaxed, both: the agent's alone */
    if (!atomic_load_explicit(&r->at[queue], memory_order_relaxed) && last < q->send_count && !q->sends[last].signal)
        status = a->call.wait(a->ep, r->pair[queue]->sent, 1);
    if (status == NBCOLL_OK)
        atomic_store_explicit(&r->at[queue], 1, memory_order_relaxed);
    return status;
}

nbcoll_status nbcolli_agent_go_on(nbcoll_agent *a, nbcoll_program_run *r, int *moved)
{
    uint32_t queues = r->p->info.queues, pairs = queues - r->p->info.management;
    int is_through = 1;
    for (uint32_t i = pairs; i < queues; i++) {
        const nbcoll_queue_view *q = &r->p->queue[i];
        uint32_t at = atomic_load_explicit(&r->at[i], memory_order_relaxed); /* only the agent changes it */
        for (; at < q->send_count; *moved = 1) {
            nbcoll_status status = nbcolli_agent_task(a, r, &q->sends[at]);
            if (status == NBCOLL_PENDING)
                break;
            if (status != NBCOLL_OK)
                return status;
            atomic_store_explicit(&r->at[i], ++at, memory_order_release); /* shows what has come, or was combined */
        }
        is_through &= at == q->send_count;
    }
    for (uint32_t i = 0; i < pairs && is_through; i++) {
        nbcoll_status status = nbcolli_agent_drain(a, r, i);
        if (status != NBCOLL_OK)
            return status;
    }
    return is_through ? NBCOLL_OK : NBCOLL_PENDING;
}

/* ---- what has come --------------------------------------------------------------------------------------------- */

/* Does the task write there, in the receive buffer? */
static int nbcolli_agent_writes(const nbcoll_program_run *r, const nbcoll_task *t, size_t offset, size_t bytes)
{
    const nbcoll_task_bytes to = nbcolli_agent_bytes(r, t->write);
    size_t at = to.region.at.offset;
    return to.eager == NBCOLL_NO_QUEUE && to.region.at.buffer == NBCOLL_BUFFER_RECV && to.region.bytes &&
           at < offset + bytes && offset < at + to.region.bytes;
}

/* Has a management queue waited for so many entries of a completion queue? One of them consumes all of it. */
static int nbcolli_agent_has_waited(const nbcoll_program_run *r, uint32_t cq, uint32_t entries)
{
    for (uint32_t i = r->pairs; i < r->p->info.queues; i++) {
        const nbcoll_queue_view *q = &r->p->queue[i];
        uint32_t waited = 0, at = atomic_load_explicit(&r->at[i], memory_order_acquire); /* sees what has come */
        for (uint32_t k = 0; k < at; k++)
            waited += q->sends[k].kind == NBCOLL_TASK_WAIT && q->sends[k].cq == cq ? q->sends[k].count : 0;
        if (waited >= entries)
            return 1;
    }
    return 0;
}

/* Has all that the agent writes there been written? */
static int nbcolli_agent_has_written(const nbcoll_program_run *r, size_t offset, size_t bytes)
{
    int is_over = 1;
    for (uint32_t i = 0; i < r->pairs; i++) {
        const nbcoll_queue_view *q = &r->p->queue[i];
        uint32_t last = q->receive_count;
        while (last && !nbcolli_agent_writes(r, &q->receives[last - 1], offset, bytes))
            last--;
        is_over &= !last || nbcolli_agent_has_waited(r, q->receive_cq, last);
    }
    for (uint32_t i = r->pairs; i < r->p->info.queues; i++) {
        const nbcoll_queue_view *q = &r->p->queue[i];
        /* acquire: sees what was combined */
        for (uint32_t k = atomic_load_explicit(&r->at[i], memory_order_acquire); k < q->send_count; k++)
            is_over &= q->sends[k].kind != NBCOLL_TASK_CALC || !nbcolli_agent_writes(r, &q->sends[k], offset, bytes);
    }
    return is_over;
}

int nbcolli_agent_has_arrived(const nbcoll_program_run *r, size_t offset, size_t bytes)
{
    if (r->agent->attached)
        return 0;
    for (uint32_t i = 0; i < r->p->info.copies; i++) /* of the end */
        if (nbcolli_agent_writes(r, &r->p->copy[i], offset, bytes))
            return 0;
    return nbcolli_agent_has_written(r, offset, bytes);
}

/* ---- afterwards ------------------------------------------------------------------------------------------------ */

nbcoll_status nbcolli_agent_recycle(nbcoll_agent *a, nbcoll_program_run *r)
{
    nbcoll_status status = NBCOLL_OK;
    for (uint32_t i = 0; i < r->pairs && status == NBCOLL_OK; i++) /* the program may be gone */
        status = nbcolli_agent_pair_fill(a, r->pair[i]);
    return status;
}
