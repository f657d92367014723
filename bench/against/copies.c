/* SPDX-License-Identifier: BSD-3-Clause
 * The bare copies of an operation, which begin when all ranks are there and know where everything is: what no library
 * can avoid. From private memory they are read by the kernel (process_vm_readv), or go through rings of pieces in
 * shared memory; what lies in shared memory is read where it is. What is added is added as it comes. */
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "against.h"

enum { SLOTS = 8, PIECE = 16384, BOUNCE = 131072, LINE = 128 };

/* From one rank to another, or to all: who has read how much. */
typedef struct ring {
    _Alignas(LINE) atomic_uint head;
    struct {
        _Alignas(LINE) atomic_uint count;
    } tail[RANKS_MOST];
    _Alignas(LINE) unsigned char slot[SLOTS][PIECE];
} ring;

/* What each rank shows the others, at the beginning of its part of the arena. */
typedef struct board {
    _Alignas(LINE) atomic_uint phase; /* phases that it has ended */
    int pid;
    float *send[TURNS], *recv[TURNS]; /* of its private memory */
} board;

struct copies {
    world *world;
    unsigned phase;
    unsigned pushed[RANKS_MOST], pulled[RANKS_MOST][RANKS_MOST]; /* pieces, of my rings; of [rank][its ring] */
};

typedef enum path { READ, RING, STREAM, DIRECT } path; /* STREAM: a ring, written past the cache */

static const char *const path_names[] = {"read", "ring", "stream", "direct"};

/* A phase: what this rank takes from each other, and where that is put. Where pieces are added, to[r] are the same, and
 * `own` is added, too. */
typedef struct phase {
    int is_same;   /* everyone takes the same of a rank */
    int from_recv; /* what is taken lies in the receive buffer */
    const float *own;
    size_t take[RANKS_MOST], give[RANKS_MOST];  /* floats; 0: nothing */
    size_t at[RANKS_MOST], give_at[RANKS_MOST]; /* where they begin there, in floats, and here */
    float *to[RANKS_MOST];
} phase;

typedef struct job {
    copies *copies;
    path path;
} job;

/* ---- the arena -------------------------------------------------------------------------------------------------- */

static size_t head_bytes(int ranks)
{
    return (sizeof(board) + sizeof(ring) * (size_t)ranks + 4095) / 4096 * 4096;
}

size_t copies_arena(int ranks, size_t memory)
{
    return head_bytes(ranks) + (memory + 4095) / 4096 * 4096;
}

static unsigned char *part(const world *w, int rank)
{
    return w->arena + (size_t)rank * w->arena_bytes;
}

static board *board_of(const world *w, int rank)
{
    return (board *)part(w, rank);
}

/* Its ring to another one; ring [rank][rank] is the one to all. */
static ring *ring_of(const world *w, int from, int to)
{
    return (ring *)(part(w, from) + sizeof(board)) + to;
}

float *copies_buffer(const world *w, int rank, const cell *c, int turn, int is_recv)
{
    size_t floats = (buffer_floats(c, w->ranks) + 1023) / 1024 * 1024;
    unsigned char *first = part(w, rank) + head_bytes(w->ranks);
    float *at = (float *)first + floats * (size_t)(2 * turn + is_recv);
    return (unsigned char *)(at + floats) <= part(w, rank) + w->arena_bytes ? at : NULL;
}

copies *copies_open(world *w)
{
    copies *k = calloc(1, sizeof *k);
    if (!k)
        give_up("no memory");
    k->world = w;
    board_of(w, w->rank)->pid = (int)getpid();
    return k;
}

/* ---- pieces ----------------------------------------------------------------------------------------------------- */

typedef float lanes __attribute__((vector_size(32), aligned(4), may_alias));

static void add(float *to, const float *a, const float *b, size_t n)
{
    size_t i = 0;
    for (; i + 8 <= n; i += 8)
        *(lanes *)(to + i) = *(const lanes *)(a + i) + *(const lanes *)(b + i);
    for (; i < n; i++)
        to[i] = a[i] + b[i];
}

static void put(const phase *p, int from, size_t at, const float *piece, size_t n, int is_first)
{
    float *to = p->to[from] + at;
    if (p->own)
        add(to, is_first ? p->own + at : to, piece, n);
    else
        memcpy(to, piece, n * sizeof *to);
}

static void pause_for(const world *w)
{
    if (w->is_crowded)
        sched_yield();
}

/* Until every rank has ended the phase; of one that is the last, those that read this rank's memory. */
static void end_phase(copies *k, const phase *last)
{
    const world *w = k->world;
    atomic_store_explicit(&board_of(w, w->rank)->phase, ++k->phase, memory_order_release);
    for (int r = 0; r < w->ranks; r++) {
        atomic_uint *its = &board_of(w, r)->phase;
        while ((!last || last->give[r]) && (int)(atomic_load_explicit(its, memory_order_acquire) - k->phase) < 0)
            pause_for(w);
    }
}

/* ---- read, and direct ------------------------------------------------------------------------------------------- */

/* A piece of another rank's memory; `bounce` has room for it. */
static const float *look(const world *w, const entry *e, const phase *p, int from, int turn, size_t at, size_t n,
                         float *bounce)
{
    const job *j = e->user;
    if (j->path == DIRECT)
        return copies_buffer(w, from, e->cell, turn, p->from_recv) + at;
    const board *there = board_of(w, from);
    struct iovec here = {bounce, n * sizeof(float)};
    struct iovec remote = {(p->from_recv ? there->recv[turn] : there->send[turn]) + at, n * sizeof(float)};
    return process_vm_readv(there->pid, &here, 1, &remote, 1, 0) == (ssize_t)here.iov_len ? bounce : NULL;
}

/* What is only copied by the kernel goes where it belongs in one call. */
static int fetch(entry *e, const phase *p, int turn)
{
    static _Alignas(LINE) float bounce[BOUNCE / sizeof(float)];
    const job *j = e->user;
    const world *w = j->copies->world;
    size_t step = p->own ? BOUNCE / sizeof(float) : SIZE_MAX, most = 0;
    for (int r = 0; r < w->ranks; r++)
        most = p->take[r] > most ? p->take[r] : most;
    for (size_t at = 0; at < most; at += step < most ? step : most) {
        int is_first = 1;
        for (int i = 1; i < w->ranks; i++) {
            int from = (w->rank + i) % w->ranks;
            size_t n = p->take[from] > at ? p->take[from] - at : 0;
            n = n < step ? n : step;
            if (!n)
                continue;
            const float *piece = look(w, e, p, from, turn, p->at[from] + at, n, p->own ? bounce : p->to[from] + at);
            if (!piece)
                return -1;
            if (p->own || piece != p->to[from] + at)
                put(p, from, at, piece, n, is_first);
            is_first = 0;
        }
    }
    return 0;
}

/* ---- rings ------------------------------------------------------------------------------------------------------ */

static size_t pieces(size_t floats)
{
    return (floats * sizeof(float) + PIECE - 1) / PIECE;
}

static int has_room(const world *w, const ring *r, int to, unsigned head)
{
    int first = to == w->rank ? 0 : to, last = to == w->rank ? w->ranks - 1 : to;
    for (int i = first; i <= last; i++)
        if (i != w->rank && head - atomic_load_explicit(&r->tail[i].count, memory_order_acquire) >= SLOTS)
            return 0;
    return 1;
}

static void copy(void *to, const void *from, size_t bytes)
{
    memcpy(to, from, bytes);
}

/* Past the cache, whose lines the other core would have to give back first. */
static void stream(void *to, const void *from, size_t bytes)
{
#ifdef __SSE2__
    size_t i = 0;
    for (; i + 16 <= bytes; i += 16)
        _mm_stream_si128((__m128i *)((char *)to + i), _mm_loadu_si128((const __m128i *)((const char *)from + i)));
    memcpy((char *)to + i, (const char *)from + i, bytes - i);
    _mm_sfence();
#else
    memcpy(to, from, bytes);
#endif
}

/* Puts the next piece into a ring, if there is room and one is left. `done` counts those of this phase. */
static void push(copies *k, const phase *p, int to, const float *from, size_t *done, path by)
{
    const world *w = k->world;
    int target = to == w->rank ? (w->rank + 1) % w->ranks : to;
    ring *r = ring_of(w, w->rank, to);
    size_t at = *done * (PIECE / sizeof(float)), left = p->give[target] - at;
    if (*done == pieces(p->give[target]) || !has_room(w, r, to, k->pushed[to]))
        return;
    left = left * sizeof(float) < PIECE ? left * sizeof(float) : PIECE;
    (by == STREAM ? stream : copy)(r->slot[k->pushed[to] % SLOTS], from + p->give_at[target] + at, left);
    atomic_store_explicit(&r->head, ++k->pushed[to], memory_order_release);
    ++*done;
}

/* Takes piece `at` of a rank; 0 if it is not there yet. */
static int pull(copies *k, const phase *p, int from, size_t at, int is_first)
{
    const world *w = k->world;
    int to = p->is_same ? from : w->rank;
    ring *r = ring_of(w, from, to);
    unsigned *count = &k->pulled[from][to];
    size_t begin = at * (PIECE / sizeof(float)), n = p->take[from] - begin;
    if (atomic_load_explicit(&r->head, memory_order_acquire) == *count)
        return 0;
    n = n < PIECE / sizeof(float) ? n : PIECE / sizeof(float);
    put(p, from, begin, (const float *)r->slot[*count % SLOTS], n, is_first);
    atomic_store_explicit(&r->tail[w->rank].count, ++*count, memory_order_release);
    return 1;
}

static size_t give_all(copies *k, const phase *p, const float *from, size_t done[], path by)
{
    const world *w = k->world;
    size_t left = 0;
    for (int i = 1; i < w->ranks; i++) {
        int to = p->is_same ? w->rank : (w->rank + i) % w->ranks;
        size_t all = pieces(p->give[(w->rank + i) % w->ranks]);
        if (all && done[to] < all)
            push(k, p, to, from, &done[to], by);
        left += all - done[to];
        if (p->is_same)
            break;
    }
    return left;
}

/* Gives and takes by turns; what it takes in one order, piece after piece and rank after rank. */
static int pass(entry *e, const phase *p, int turn)
{
    const job *j = e->user;
    copies *k = j->copies;
    const world *w = k->world;
    const float *from = p->from_recv ? e->buffers->recv[turn] : e->buffers->send[turn];
    size_t done[RANKS_MOST] = {0}, most = 0, at = 0, left = SIZE_MAX;
    int i = 1;
    for (int r = 0; r < w->ranks; r++)
        most = pieces(p->take[r]) > most ? pieces(p->take[r]) : most;
    do {
        int moved = 0;
        size_t before = left;
        left = give_all(k, p, from, done, j->path);
        while (at < most && !moved) {
            int source = (w->rank + i) % w->ranks;
            if (at < pieces(p->take[source]) && !(moved = pull(k, p, source, at, i == 1)))
                break;
            at += i + 1 == w->ranks;
            i = i + 1 == w->ranks ? 1 : i + 1;
        }
        if (!moved && left == before) /* whoever can go on keeps his core */
            pause_for(w);
    } while (left || at < most);
    return 0;
}

/* ---- operations ------------------------------------------------------------------------------------------------- */

static size_t cut(size_t n, int rank, int ranks)
{
    return rank == ranks ? n : n / (size_t)ranks / 32 * 32 * (size_t)rank;
}

/* What a rank takes from another in the first phase: floats, where they lie there, and where they go to. */
static size_t share(const cell *c, int me, int from, int ranks, size_t *at, size_t *to)
{
    size_t n = c->count;
    *at = *to = 0;
    switch (c->operation) {
    case NBCOLL_OPERATION_BCAST:
        return from == 0 ? n : 0;
    case NBCOLL_OPERATION_SCATTER:
        *at = (size_t)me * n;
        return from == 0 ? n : 0;
    case NBCOLL_OPERATION_GATHER:
        *to = (size_t)from * n;
        return me == 0 ? n : 0;
    case NBCOLL_OPERATION_ALLGATHER:
        *to = (size_t)from * n;
        return n;
    case NBCOLL_OPERATION_ALLTOALL:
        *at = (size_t)me * n;
        *to = (size_t)from * n;
        return n;
    case NBCOLL_OPERATION_REDUCE:
        return me == 0 ? n : 0;
    default: /* allreduce: a part of the vector; of two ranks all of it, in one phase */
        *at = *to = ranks == 2 ? 0 : cut(n, me, ranks);
        return ranks == 2 ? n : cut(n, me + 1, ranks) - *at;
    }
}

static phase first_phase(const world *w, const entry *e, int turn)
{
    const cell *c = e->cell;
    int adds = c->operation == NBCOLL_OPERATION_REDUCE || c->operation == NBCOLL_OPERATION_ALLREDUCE;
    phase p = {.is_same = c->operation == NBCOLL_OPERATION_BCAST || c->operation == NBCOLL_OPERATION_ALLGATHER,
               .from_recv = c->operation == NBCOLL_OPERATION_BCAST};
    size_t at, to;
    for (int r = 0; r < w->ranks; r++) {
        if (r == w->rank)
            continue;
        p.take[r] = share(c, w->rank, r, w->ranks, &p.at[r], &to);
        p.to[r] = e->buffers->recv[turn] + to;
        p.own = adds && p.take[r] ? e->buffers->send[turn] + to : p.own;
        p.give[r] = share(c, r, w->rank, w->ranks, &p.give_at[r], &at);
    }
    return p;
}

/* Of an allreduce: everyone's part to all. */
static phase second_phase(const world *w, const entry *e, int turn)
{
    size_t n = e->cell->count, mine = cut(n, w->rank, w->ranks);
    phase p = {.is_same = 1, .from_recv = 1};
    for (int r = 0; r < w->ranks; r++) {
        if (r == w->rank)
            continue;
        p.at[r] = cut(n, r, w->ranks);
        p.take[r] = cut(n, r + 1, w->ranks) - p.at[r];
        p.to[r] = e->buffers->recv[turn] + p.at[r];
        p.give_at[r] = mine;
        p.give[r] = cut(n, w->rank + 1, w->ranks) - mine;
    }
    return p;
}

/* The own block. */
static void copy_own(const world *w, const entry *e, int turn)
{
    size_t at, to, n = share(e->cell, w->rank, w->rank, w->ranks, &at, &to);
    if (has_blocks(e->cell->operation) && n)
        memcpy(e->buffers->recv[turn] + to, e->buffers->send[turn] + at, n * sizeof(float));
}

static int call(entry *e, int turn)
{
    const job *j = e->user;
    copies *k = j->copies;
    int is_ring = j->path == RING || j->path == STREAM;
    phase p = first_phase(k->world, e, turn);
    int status = is_ring ? pass(e, &p, turn) : fetch(e, &p, turn);
    copy_own(k->world, e, turn);
    if (!status && e->cell->operation == NBCOLL_OPERATION_ALLREDUCE && k->world->ranks > 2) {
        if (!is_ring)
            end_phase(k, NULL);
        p = second_phase(k->world, e, turn);
        status = is_ring ? pass(e, &p, turn) : fetch(e, &p, turn);
    }
    if (!is_ring)
        end_phase(k, &p);
    return status;
}

static int show(entry *e)
{
    const job *j = e->user;
    const world *w = j->copies->world;
    for (int i = 0; j->path == READ && i < e->cell->turns; i++) {
        board_of(w, w->rank)->send[i] = e->buffers->send[i];
        board_of(w, w->rank)->recv[i] = e->buffers->recv[i];
    }
    return j->path == DIRECT && !copies_buffer(w, w->rank, e->cell, e->cell->turns - 1, 1);
}

static void close_job(entry *e)
{
    free(e->user);
}

int copies_entry(copies *k, entry *e, int which)
{
    job *j = malloc(sizeof *j);
    if (!j)
        return -1;
    *j = (job){.copies = k, .path = (path)which};
    e->library = "copies";
    e->form_name = path_names[which];
    e->user = j;
    e->open = show;
    e->call = call;
    e->close = close_job;
    return 0;
}
