/* SPDX-License-Identifier: BSD-3-Clause
 * The request table of a context, and runs: taken, pooled with their schedule, given back. */
#include "../7_calls/context.h"

#define QUEUE_LEAST 64u /* requests that wait for their slot, with the first table for them */

/* ---- the table ------------------------------------------------------------------------------------------------- */

/* Generations of different contexts begin apart, so that a request of another one is recognised. */
static uint32_t first_generation(const nbcoll_context *c)
{
    return 1 + (uint32_t)((uintptr_t)c >> 6) * 2654435761u % 0x40000000u;
}

static nbcoll_status chunk_add(nbcoll_context *c)
{
    uint32_t chunks = atomic_load_explicit(&c->chunks, memory_order_relaxed); /* the lock orders it */
    size_t n = nbcolli_chunk_size(chunks);
    nbcolli_request *chunk;

    if (chunks == NBCOLLI_REQUEST_CHUNKS)
        return NBCOLL_ERR_LIMIT;
    chunk = nbcolli_alloc(&c->host, n * sizeof *chunk, 64);
    if (!chunk)
        return NBCOLL_ERR_MEMORY;
    memset(chunk, 0, n * sizeof *chunk);
    for (size_t i = n; i-- > 0;) {
        chunk[i].index = (uint32_t)(NBCOLLI_REQUEST_CHUNK * ((1u << chunks) - 1) + i);
        chunk[i].generation = first_generation(c);
        chunk[i].next = c->free_requests;
        c->free_requests = &chunk[i];
    }
    c->chunk[chunks] = chunk;
    atomic_store_explicit(&c->chunks, chunks + 1, memory_order_release); /* shows the chunk to losers of the try-lock */
    return NBCOLL_OK;
}

/* The entry of a handle, whatever its generation, or null. */
static nbcolli_request *entry_of(nbcoll_request request)
{
    uint32_t at = request.index / NBCOLLI_REQUEST_CHUNK + 1;
    uint32_t chunk = 31 - (uint32_t)__builtin_clz(at);
    nbcoll_context *c = request.context;

    if (request.index / NBCOLLI_REQUEST_CHUNK == UINT32_MAX / NBCOLLI_REQUEST_CHUNK ||
        chunk >= atomic_load_explicit(&c->chunks, memory_order_acquire)) /* sees the chunk */
        return NULL;
    return &c->chunk[chunk][request.index - NBCOLLI_REQUEST_CHUNK * ((1u << chunk) - 1)];
}

nbcolli_request *nbcolli_request_find(nbcoll_request request)
{
    nbcolli_request *r = entry_of(request);
    return r && atomic_load_explicit(&r->generation, memory_order_relaxed) == request.generation && /* for itself */
                   atomic_load_explicit(&r->state, memory_order_acquire) != NBCOLLI_REQUEST_FREE /* sees its run */
               ? r
               : NULL;
}

int nbcolli_was_reported(nbcoll_request request)
{
    const nbcolli_request *r = entry_of(request);
    if (!r)
        return 0;
    uint32_t now = atomic_load_explicit(&r->generation, memory_order_relaxed), age = now - request.generation;
    if (age > now - first_generation(request.context))
        return 0; /* there never was such a one */
    if (age == 0) /* retired, or in use */
        return atomic_load_explicit(&r->state, memory_order_relaxed) == NBCOLLI_REQUEST_FREE && r->reported & 1;
    return age <= 64 ? r->reported >> (age - 1) & 1 : r->reported_before;
}

nbcoll_request nbcolli_request_handle(const nbcoll_context *c, const nbcolli_request *r)
{
    return (nbcoll_request){(nbcoll_context *)(uintptr_t)c, r->index, r->generation};
}

nbcolli_request *nbcolli_request_open(nbcoll_comm *comm, nbcoll_schedule *s, const void *send, void *recv)
{
    nbcoll_context *c = comm->context;
    nbcolli_request *r;

    if (!c->free_requests && chunk_add(c) != NBCOLL_OK)
        return NULL;
    r = c->free_requests;
    c->free_requests = r->next;
    memset(&r->persistent, 0, sizeof *r - offsetof(nbcolli_request, persistent));
    r->schedule = s;
    r->comm = comm;
    r->send = send;
    r->recv = recv;
    atomic_store_explicit(&r->state, NBCOLLI_REQUEST_INACTIVE, memory_order_relaxed); /* nobody knows it yet */
    if (s) /* a shrink has none */
        s->users++;
    return r;
}

void nbcolli_request_release(nbcoll_context *c, nbcolli_request *r)
{
    if (r->persistent)
        for (nbcolli_request **at = &r->comm->persistent; *at; at = &(*at)->next_persistent)
            if (*at == r) {
                *at = r->next_persistent;
                break;
            }
    r->reported_before |= r->reported >> 63;
    r->reported = r->reported << 1 | (r->done && !r->persistent);
    if (r->schedule)
        nbcolli_schedule_release(r->schedule);
    atomic_store_explicit(&r->state, NBCOLLI_REQUEST_FREE, memory_order_relaxed); /* readers hold stale handles */
    uint32_t generation = atomic_load_explicit(&r->generation, memory_order_relaxed); /* the lock orders it */
    if (generation == UINT32_MAX)
        return; /* retired: its handles would come round again */
    atomic_store_explicit(&r->generation, generation + 1, memory_order_relaxed); /* as above */
    r->next = c->free_requests;
    c->free_requests = r;
}

void nbcolli_requests_clear(nbcoll_context *c)
{
    for (uint32_t i = 0; i < atomic_load_explicit(&c->chunks, memory_order_relaxed); i++) /* the lock orders all */
        for (size_t k = 0; k < nbcolli_chunk_size(i); k++)
            if (atomic_load_explicit(&c->chunk[i][k].state, memory_order_relaxed) != NBCOLLI_REQUEST_FREE)
                nbcolli_request_release(c, &c->chunk[i][k]);
}

/* ---- runs ------------------------------------------------------------------------------------------------------ */

void nbcolli_schedule_release(nbcoll_schedule *s)
{
    if (--s->users == 0 && s->evicted)
        nbcolli_schedule_drop(s);
}

nbcoll_status nbcolli_schedule_own(nbcoll_schedule *s, nbcoll_context *c)
{
    if (s->owner)
        return s->owner == c ? NBCOLL_OK : NBCOLL_ERR_FOREIGN;
    s->owner = c;
    s->owned_at = &c->schedules;
    s->owned_next = c->schedules;
    if (s->owned_next)
        s->owned_next->owned_at = &s->owned_next;
    c->schedules = s;
    return NBCOLL_OK;
}

void nbcolli_schedule_disown(nbcoll_schedule *s)
{
    while (s->idle) {
        nbcolli_run *run = s->idle;
        s->idle = run->next;
        nbcolli_free(&s->host, run->room, run->room_bytes);
        nbcolli_free(&s->host, run, run->memory);
    }
    *s->owned_at = s->owned_next;
    if (s->owned_next)
        s->owned_next->owned_at = s->owned_at;
    s->owner = NULL;
}

void nbcolli_schedule_drop(nbcoll_schedule *s)
{
    if (s->owner)
        nbcolli_schedule_disown(s);
    nbcoll_schedule_free(s);
}

nbcoll_status nbcolli_schedule_withdraw(nbcoll_schedule *s)
{
    nbcoll_context *c = s->owner;
    nbcoll_status status = nbcolli_enter(c);

    if (status != NBCOLL_OK)
        return status;
    if (s->users)
        return nbcolli_leave(c, NBCOLL_ERR_BUSY);
    nbcolli_schedule_disown(s);
    return nbcolli_leave(c, NBCOLL_OK);
}

static uint32_t most_parts(const nbcoll_schedule *s)
{
    uint32_t most = 0;
    for (nbcoll_step i = 0; i < s->steps; i++)
        if (s->step[i].kind == NBCOLL_CALL && s->step[i].part_count > most)
            most = s->step[i].part_count;
    return most;
}

/* A run in one block: the struct, ops, pieces, packed blocks, counters, ready list, answers, scratch. */
static nbcolli_run *run_make(nbcoll_schedule *s)
{
    size_t scratch = s->extent[NBCOLL_BUFFER_SCRATCH];
    size_t ops = nbcolli_lines(sizeof(nbcolli_run));
    size_t pieces = ops + nbcolli_lines(s->ops * sizeof(nbcolli_op));
    size_t packed = pieces + nbcolli_lines(most_parts(s) * sizeof(nbcoll_piece));
    size_t sent = s->extent[NBCOLL_BUFFER_SEND_PACKED], received = s->extent[NBCOLL_BUFFER_RECV_PACKED];
    size_t before = packed + nbcolli_lines((sent + received) * sizeof(nbcoll_piece));
    size_t ready = before + nbcolli_lines(s->steps * sizeof(uint32_t));
    size_t answered = ready + nbcolli_lines(s->steps * sizeof(nbcoll_step));
    size_t fixed = answered + (s->cells ? nbcolli_lines((size_t)s->ranks) : 0);

    if (scratch > SIZE_MAX - fixed - 63 || s->bounce > SIZE_MAX - fixed - nbcolli_lines(scratch))
        return NULL;
    size_t memory = fixed + nbcolli_lines(scratch) + s->bounce;
    unsigned char *block = nbcolli_alloc(&s->host, memory, 64);
    if (!block)
        return NULL;
    memset(block, 0, fixed);
    nbcolli_run *run = (nbcolli_run *)(void *)block;
    run->memory = memory;
    run->schedule = s;
    run->op = (nbcolli_op *)(void *)(block + ops);
    run->pieces = (nbcoll_piece *)(void *)(block + pieces);
    run->packed[0] = (nbcoll_piece *)(void *)(block + packed);
    run->packed[1] = run->packed[0] + sent;
    run->before = (uint32_t *)(void *)(block + before);
    run->ready = (nbcoll_step *)(void *)(block + ready);
    run->answered = s->cells ? block + answered : NULL;
    run->base[NBCOLL_BUFFER_SCRATCH] = block + fixed;
    run->bounce = block + fixed + nbcolli_lines(scratch);
    for (nbcoll_step i = 0; i < s->steps; i++)
        if (s->op[i] != UINT32_MAX) {
            nbcolli_op *op = &run->op[s->op[i]];
            op->run = run;
            op->step = i;
            op->post.op = op;
        }
    return run;
}

/* Gives the packed blocks of one side their places behind `bytes` bytes of `room`; returns the new end, or SIZE_MAX.
 * Without room they get their lengths only. */
static size_t run_place(nbcoll_piece *packed, size_t n, const nbcolli_blocks *blocks, unsigned char *room, size_t bytes)
{
    for (size_t i = 0; i < n; i++) {
        packed[i] = nbcolli_block_packed(blocks, room ? room + bytes : NULL, i);
        if (packed[i].bytes > SIZE_MAX - 64 || __builtin_add_overflow(bytes, nbcolli_lines(packed[i].bytes), &bytes))
            return SIZE_MAX;
    }
    return bytes;
}

static size_t run_place_all(nbcolli_run *run, const nbcolli_request *r, unsigned char *room)
{
    const size_t *n = &run->schedule->extent[NBCOLL_BUFFER_SEND_PACKED];
    size_t bytes = run_place(run->packed[0], n[0], &r->blocks[0], room, 0);
    return bytes == SIZE_MAX ? bytes : run_place(run->packed[1], n[1], &r->blocks[1], room, bytes);
}

/* Room for this start's packed blocks: 0 if there is none. What an earlier start needed is kept. */
static int run_pack(nbcolli_run *run, const nbcolli_request *r)
{
    const nbcoll_host *host = &run->schedule->host;
    size_t bytes = run_place_all(run, r, NULL);

    if (bytes > run->room_bytes) {
        unsigned char *room = bytes == SIZE_MAX ? NULL : nbcolli_alloc(host, bytes, 64);
        if (!room)
            return 0;
        nbcolli_free(host, run->room, run->room_bytes);
        run->room = room;
        run->room_bytes = bytes;
    }
    run_place_all(run, r, run->room);
    return 1;
}

nbcolli_run *nbcolli_run_take(nbcolli_request *r)
{
    nbcoll_schedule *s = r->schedule;
    nbcolli_run *run = s->idle ? s->idle : run_make(s);

    if (!run)
        return NULL;
    s->idle = run->next;
    if ((s->extent[NBCOLL_BUFFER_SEND_PACKED] || s->extent[NBCOLL_BUFFER_RECV_PACKED]) && !run_pack(run, r)) {
        run->next = s->idle;
        s->idle = run;
        return NULL;
    }
    memcpy(run->before, s->before, s->steps * sizeof *run->before);
    for (uint32_t i = 0; i < s->ops; i++) {
        nbcolli_op *op = &run->op[i];
        op->moved = 0;
        op->cell = 0;
        op->keys = 0;
        op->post.where = NBCOLLI_FREE;
        op->phase = NBCOLLI_IDLE;
        op->fin = op->refused = op->cts = op->keyed = op->recalled = op->may_go = op->status = 0;
        op->suspect = 0;
    }
    if (run->answered)
        memset(run->answered, 0, (size_t)s->ranks);
    run->cells = run->parts = 0;
    run->next = NULL;
    run->comm = r->comm;
    run->request = r;
    run->tag = r->tag;
    r->run = run;
    run->base[NBCOLL_BUFFER_SEND] = (unsigned char *)(uintptr_t)r->send; /* the builder refused to write to it */
    run->base[NBCOLL_BUFFER_RECV] = r->recv;
    run->remaining = s->steps - 2;
    run->head = run->tail = 0;
    run->place = 0;
    run->status = NBCOLL_OK;
    run->cause = -1;
    run->listed = 0;
    run->stuck = run->suspected = 0;
    run->suspect = 0;
    run->mark = 0;
    return run;
}

static nbcoll_status comm_can_start(const nbcoll_comm *comm)
{
    if (comm->broken != NBCOLL_OK) {
        comm->context->failure = comm->failure;
        comm->context->failure.status = comm->broken;
        return comm->broken;
    }
    /* A reader's word has 48 bits for the tag's turn in its slot. */
    return comm->next_tag / comm->config.slots >= UINT64_C(1) << 48 ? NBCOLL_ERR_LIMIT : NBCOLL_OK;
}

/* Room for one more request that waits for its slot. */
static nbcoll_status queue_reserve(nbcoll_comm *comm)
{
    const nbcoll_host *host = &comm->context->host;
    size_t room = comm->queue_room, more = room ? 2 * room : QUEUE_LEAST;
    nbcolli_request **old = comm->queue, **table;

    if (comm->queued < room)
        return NBCOLL_OK;
    table = nbcolli_alloc(host, more * sizeof *table, _Alignof(nbcolli_request *));
    if (!table)
        return NBCOLL_ERR_MEMORY;
    memset(table, 0, more * sizeof *table);
    comm->queue = table;
    comm->queue_room = more;
    comm->queued = 0;
    for (size_t i = 0; i < room; i++)
        for (nbcolli_request *r = old[i], *next; r; r = next) {
            next = r->next;
            nbcolli_queue_add(r);
        }
    nbcolli_free(host, old, room * sizeof *old);
    return NBCOLL_OK;
}

nbcoll_status nbcolli_request_start(nbcolli_request *r)
{
    nbcoll_comm *comm = r->comm;
    nbcolli_slot *slot = nbcolli_slot_of(comm, comm->next_tag);
    nbcoll_status s = comm_can_start(comm), why = NBCOLL_OK;
    nbcolli_run *run = NULL;
    int cause = -1, is_revoked;

    if (s != NBCOLL_OK)
        return s;
    r->tag = comm->next_tag;
    is_revoked = nbcolli_pending_take(comm, r->tag, &why, &cause);
    if (is_revoked)
        s = NBCOLL_OK; /* nothing is needed */
    else if (slot->active || slot->next)
        s = queue_reserve(comm);
    else if (!(run = nbcolli_run_take(r)))
        s = NBCOLL_ERR_MEMORY;
    if (s != NBCOLL_OK)
        return s;
    comm->next_tag++;
    nbcolli_note_started(r);
    comm->active++;
    comm->context->active++;
    comm->context->bytes_left = NBCOLL_PASS_BYTES;
    r->status = NBCOLL_PENDING;
    atomic_store_explicit(&r->state, NBCOLLI_REQUEST_ACTIVE, memory_order_relaxed); /* its handle is not out yet */
    if (run)
        nbcolli_activate(run);
    else if (is_revoked)
        nbcolli_runless_fail(r, why, cause, 0);
    else
        nbcolli_queue_add(r);
    nbcolli_drain(comm->context);
    return NBCOLL_OK;
}
