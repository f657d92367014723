/* SPDX-License-Identifier: BSD-3-Clause
 * See player.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "player.h"
#include "world.h"

enum { NONE = UINT32_MAX, BUFFERS = NBCOLL_BUFFER_SEND_BLOCK };

/* How elements are combined: what a claim says needs only that operands are there in their order, or in any; or so that
 * each bracketing gives another value, for claims of the same bits. */
typedef enum manner { BY_VALUE, BY_BRACKETS } manner;

/* The other end of a SEND, RECV, FETCH or FETCH_REDUCE: of a fetch, the EXPOSE and the part. */
typedef struct mate {
    uint32_t step;
    uint32_t part;
} mate;

/* A step of all ranks' has the number base[rank] + step. */
struct player {
    const nbcoll_schedule *const *schedules;
    const nbcoll_meaning *meaning;
    int ranks;
    uint32_t steps, *base, *rank; /* [ranks + 1], [steps] */
    mate *mate;
    const char *unmatched;                   /* what makes a play pointless */
    size_t *bytes[BUFFERS];                  /* [ranks] */
    unsigned char **buffer[BUFFERS], **must; /* `must`: of the receive buffer */
    /* Of one play: */
    uint64_t *dice;
    manner manner;
    int is_rendezvous, is_driven; /* driven: the step of highest priority ends next, else any */
    uint32_t *before, *unread;    /* unread: parts of an EXPOSE that are not fetched yet */
    uint64_t *priority;
    unsigned char *is_ready;
    unsigned char **message;
    uint32_t *pool, pooled;
    int started;
    const char *wrong;
};

static const nbcoll_step_view *view_of(const player *p, uint32_t i)
{
    int rank = (int)p->rank[i];
    return nbcoll_schedule_step(p->schedules[rank], i - p->base[rank]);
}

/* ---- elements -------------------------------------------------------------------------------------------------- */

static uint32_t combined(const player *p, uint32_t x, uint32_t y)
{
    uint32_t a = x >> 16, b = x & 0xffff, c = y >> 16, d = y & 0xffff;
    if (p->manner == BY_BRACKETS)
        return (p->meaning->any_order ? (x ^ y) * 0x9e3779b1u + x * y : x * 0x9e3779b1u ^ (y + 0x7f4a7c15u) * 5) + 1;
    if (p->meaning->any_order)
        return x + y;
    return (a * c) << 16 | ((b + a * d) & 0xffff); /* z -> a z + b, one after the other: associative, not commutative */
}

static void combine(const player *p, unsigned char *to, const unsigned char *left, const unsigned char *right,
                    size_t bytes)
{
    for (size_t i = 0; i + 4 <= bytes; i += 4) {
        uint32_t x, y;
        memcpy(&x, left + i, 4);
        memcpy(&y, right + i, 4);
        x = combined(p, x, y);
        memcpy(to + i, &x, 4);
    }
}

/* Byte `at` of the input of a rank. The halves of an element are odd, so that compositions stay apart. */
static unsigned char input_byte(int rank, size_t at)
{
    uint64_t x = (uint64_t)rank * 1000003 + at / 4 * 7919 + 1;
    uint32_t element = (uint32_t)(x * UINT64_C(0xd1342543de82ef95) >> 32) | 0x10001;
    return (unsigned char)(element >> at % 4 * 8);
}

/* ---- memory ---------------------------------------------------------------------------------------------------- */

/* A region, or the place of a bound block. */
static nbcoll_region bound(const player *p, int rank, nbcoll_region r)
{
    if (r.at.buffer < NBCOLL_BUFFER_SEND_BLOCK)
        return r;
    return p->meaning->block(p->meaning, rank, r.at.buffer == NBCOLL_BUFFER_RECV_BLOCK, (int)r.at.offset);
}

static unsigned char *memory(const player *p, int rank, nbcoll_region r)
{
    r = bound(p, rank, r);
    assert_true(!r.bytes || r.at.offset + r.bytes <= p->bytes[r.at.buffer][rank]);
    return p->buffer[r.at.buffer][rank] + (r.bytes ? r.at.offset : 0);
}

static void reach(player *p, int rank, nbcoll_region r)
{
    r = bound(p, rank, r);
    size_t *bytes = &p->bytes[r.at.buffer][rank];
    if (r.bytes && *bytes < r.at.offset + r.bytes)
        *bytes = r.at.offset + r.bytes;
}

static void open_rank(player *p, int rank)
{
    const nbcoll_meaning *m = p->meaning;
    nbcoll_claim claim = {0};
    for (uint32_t i = p->base[rank]; i < p->base[rank + 1]; i++) {
        p->rank[i] = (uint32_t)rank;
        const nbcoll_step_view *v = view_of(p, i);
        assert_true(v->kind != NBCOLL_CALL);
        reach(p, rank, v->write);
        reach(p, rank, v->read[0]);
        reach(p, rank, v->read[1]);
        for (uint32_t k = 0; k < v->part_count; k++)
            reach(p, rank, v->parts[k].region);
    }
    reach(p, rank, m->input(m, rank));
    for (size_t i = 0; m->claim(m, rank, i, &claim); i++, claim = (nbcoll_claim){0})
        reach(p, rank, nbcoll_span((nbcoll_addr){NBCOLL_BUFFER_RECV, claim.offset}, claim.bytes));
    for (int k = 0; k < BUFFERS; k++)
        p->buffer[k][rank] = malloc(p->bytes[k][rank] + 1);
    p->must[rank] = malloc(p->bytes[NBCOLL_BUFFER_RECV][rank] + 1);
}

/* ---- the two ends of a message --------------------------------------------------------------------------------- */

static uint32_t find(const player *p, int rank, nbcoll_kind kind, int peer, uint32_t number)
{
    for (uint32_t i = p->base[rank]; i < p->base[rank + 1]; i++) {
        const nbcoll_step_view *v = view_of(p, i);
        if (v->kind == kind && v->peer == peer && v->number == number)
            return i;
    }
    return NONE;
}

static int find_part(const player *p, int rank, int reader, uint32_t number, mate *out)
{
    for (uint32_t i = p->base[rank]; i < p->base[rank + 1]; i++) {
        const nbcoll_step_view *v = view_of(p, i);
        for (uint32_t k = 0; v->kind == NBCOLL_EXPOSE && k < v->part_count; k++)
            if (v->parts[k].peer == reader && v->parts[k].number == number) {
                *out = (mate){i, k};
                return 1;
            }
    }
    return 0;
}

/* Every end must have one other of the same length. */
static void match(player *p)
{
    uint32_t parts = 0, fetches = 0;
    for (uint32_t i = 0; i < p->steps; i++) {
        const nbcoll_step_view *v = view_of(p, i), *w;
        int rank = (int)p->rank[i], is_send = v->kind == NBCOLL_SEND;
        mate *m = &p->mate[i];
        *m = (mate){NONE, 0};
        parts += v->kind == NBCOLL_EXPOSE ? v->part_count : 0;
        if (is_send || v->kind == NBCOLL_RECV) {
            m->step = find(p, v->peer, is_send ? NBCOLL_RECV : NBCOLL_SEND, rank, v->number);
            w = m->step == NONE ? NULL : view_of(p, m->step);
            if (!w)
                p->unmatched = "a message has one end";
            else if (bound(p, rank, is_send ? v->read[0] : v->write).bytes !=
                     bound(p, v->peer, is_send ? w->write : w->read[0]).bytes)
                p->unmatched = "the ends of a message differ";
        } else if (v->kind == NBCOLL_FETCH || v->kind == NBCOLL_FETCH_REDUCE) {
            fetches++;
            if (!find_part(p, v->peer, rank, v->number, m))
                p->unmatched = "a fetch has no part";
            else if (view_of(p, m->step)->parts[m->part].region.bytes != v->write.bytes)
                p->unmatched = "part and fetch differ";
        }
    }
    if (parts != fetches)
        p->unmatched = "a part has no fetch";
}

player *player_open(const nbcoll_schedule *const schedules[], const nbcoll_meaning *meaning)
{
    player *p = calloc(1, sizeof *p);
    assert_non_null(p);
    size_t ranks = (size_t)meaning->ranks;
    p->schedules = schedules;
    p->meaning = meaning;
    p->ranks = meaning->ranks;
    p->base = calloc(ranks + 1, sizeof *p->base);
    for (size_t rank = 0; rank < ranks; rank++) {
        nbcoll_schedule_info info = {.size = sizeof info};
        nbcoll_schedule_query(schedules[rank], &info);
        p->base[rank + 1] = p->base[rank] + info.steps;
    }
    p->steps = p->base[ranks];
    p->rank = calloc(p->steps, sizeof *p->rank);
    p->mate = calloc(p->steps, sizeof *p->mate);
    p->before = calloc(p->steps, sizeof *p->before);
    p->unread = calloc(p->steps, sizeof *p->unread);
    p->priority = calloc(p->steps, sizeof *p->priority);
    p->is_ready = calloc(p->steps, 1);
    p->message = calloc(p->steps, sizeof *p->message);
    p->pool = calloc(p->steps, sizeof *p->pool);
    p->must = calloc(ranks, sizeof *p->must);
    for (int k = 0; k < BUFFERS; k++) {
        p->bytes[k] = calloc(ranks, sizeof *p->bytes[k]);
        p->buffer[k] = calloc(ranks, sizeof *p->buffer[k]);
    }
    for (int rank = 0; rank < p->ranks; rank++)
        open_rank(p, rank);
    match(p);
    return p;
}

void player_close(player *p)
{
    for (int rank = 0; rank < p->ranks; rank++) {
        free(p->must[rank]);
        for (int k = 0; k < BUFFERS; k++)
            free(p->buffer[k][rank]);
    }
    for (int k = 0; k < BUFFERS; k++) {
        free(p->bytes[k]);
        free(p->buffer[k]);
    }
    for (uint32_t i = 0; i < p->steps; i++)
        free(p->message[i]);
    void *rest[] = {p->base,     p->rank,    p->mate, p->before, p->unread, p->priority,
                    p->is_ready, p->message, p->pool, p->must,   p};
    for (size_t i = 0; i < sizeof rest / sizeof *rest; i++)
        free(rest[i]);
}

/* ---- playing --------------------------------------------------------------------------------------------------- */

static void add(player *p, uint32_t i)
{
    p->pool[p->pooled++] = i;
}

static void scribble(const player *p, int rank, nbcoll_region r)
{
    unsigned char *at = memory(p, rank, r);
    for (size_t i = 0; i < bound(p, rank, r).bytes; i++)
        at[i] = (unsigned char)(0xa5 + i);
}

/* May this end be the next that ends, as far as the other end goes? */
static void consider(player *p, uint32_t i)
{
    const nbcoll_step_view *v = view_of(p, i);
    uint32_t other = p->mate[i].step;
    switch (v->kind) {
    case NBCOLL_SEND:
        if (!p->is_rendezvous || p->is_ready[other])
            add(p, i);
        break;
    case NBCOLL_RECV:
        if (p->message[other])
            add(p, i);
        else if (p->is_rendezvous && p->is_ready[other])
            add(p, other);
        break;
    case NBCOLL_FETCH:
    case NBCOLL_FETCH_REDUCE:
        if (p->is_ready[other])
            add(p, i);
        break;
    case NBCOLL_EXPOSE:
        if (!v->part_count)
            add(p, i);
        break;
    default:
        add(p, i);
    }
}

/* The fetches of an exposure that has begun. */
static void show(player *p, uint32_t i)
{
    const nbcoll_step_view *v = view_of(p, i);
    for (uint32_t k = 0; k < v->part_count; k++) {
        int reader = v->parts[k].peer;
        for (uint32_t j = p->base[reader]; j < p->base[reader + 1]; j++)
            if (p->mate[j].step == i && p->mate[j].part == k && p->is_ready[j])
                add(p, j);
    }
}

static int same_place(nbcoll_addr a, nbcoll_addr b)
{
    return a.buffer == b.buffer && a.offset == b.offset;
}

/* A step whose edges are satisfied: from now on it may write, so that what was there is lost. */
static void ready(player *p, uint32_t i)
{
    const nbcoll_step_view *v = view_of(p, i);
    int reads_it = same_place(v->write.at, v->read[0].at) || same_place(v->write.at, v->read[1].at);
    p->is_ready[i] = 1;
    if (v->kind == NBCOLL_RECV || v->kind == NBCOLL_FETCH || v->kind == NBCOLL_COPY ||
        (v->kind == NBCOLL_REDUCE && !reads_it))
        scribble(p, (int)p->rank[i], v->write);
    consider(p, i);
    if (v->kind == NBCOLL_EXPOSE)
        show(p, i);
}

/* Takes parts off the exposures of `peer` that this rank has fetched, in order of their numbers: a part counts when all
 * of lower numbers are fetched. */
static void count_fetched(player *p, int rank, int peer)
{
    for (uint32_t number = 0;; number++) {
        mate m;
        uint32_t fetch = find(p, rank, NBCOLL_FETCH, peer, number);
        if (fetch == NONE)
            fetch = find(p, rank, NBCOLL_FETCH_REDUCE, peer, number);
        if (fetch == NONE || !find_part(p, peer, rank, number, &m) || !p->message[fetch])
            return;
        if (p->message[fetch][0]) /* counted before */
            continue;
        p->message[fetch][0] = 1;
        if (--p->unread[m.step] == 0)
            add(p, m.step);
    }
}

static void take(player *p, uint32_t i, const nbcoll_step_view *v)
{
    int rank = (int)p->rank[i];
    const nbcoll_part *part = &view_of(p, p->mate[i].step)->parts[p->mate[i].part];
    unsigned char *from = memory(p, v->peer, part->region), *to = memory(p, rank, v->write);
    if (v->kind == NBCOLL_FETCH)
        memmove(to, from, v->write.bytes);
    else if (v->side == NBCOLL_LEFT)
        combine(p, to, from, to, v->write.bytes);
    else
        combine(p, to, to, from, v->write.bytes);
    p->message[i] = calloc(1, 1); /* it is fetched */
    count_fetched(p, rank, v->peer);
}

static void act(player *p, uint32_t i, const nbcoll_step_view *v)
{
    int rank = (int)p->rank[i];
    uint32_t other = p->mate[i].step;
    size_t read = bound(p, rank, v->read[0]).bytes, written = bound(p, rank, v->write).bytes;
    switch (v->kind) {
    case NBCOLL_SEND:
        p->message[i] = malloc(read + 1);
        memcpy(p->message[i], memory(p, rank, v->read[0]), read);
        if (p->is_ready[other])
            add(p, other);
        break;
    case NBCOLL_RECV:
        memcpy(memory(p, rank, v->write), p->message[other], written);
        break;
    case NBCOLL_COPY:
        if (read != written)
            p->wrong = "a copy between blocks of different lengths";
        else
            memmove(memory(p, rank, v->write), memory(p, rank, v->read[0]), read);
        break;
    case NBCOLL_REDUCE:
        combine(p, memory(p, rank, v->write), memory(p, rank, v->read[0]), memory(p, rank, v->read[1]), written);
        break;
    case NBCOLL_FETCH:
    case NBCOLL_FETCH_REDUCE:
        take(p, i, v);
        break;
    default:
        break;
    }
}

static void end(player *p, uint32_t i)
{
    const nbcoll_step_view *v = view_of(p, i);
    int rank = (int)p->rank[i];
    nbcoll_step step = i - p->base[rank];
    act(p, i, v);
    p->started += step == NBCOLL_START;
    if (step == NBCOLL_END && p->meaning->is_barrier && p->started < p->ranks)
        p->wrong = "a rank ended before another had started";
    if (step == NBCOLL_START) { /* all that waits for nothing else waits for it; nothing ends before the END */
        for (uint32_t k = p->base[rank] + 2; k < p->base[rank + 1]; k++)
            if (!p->before[k])
                ready(p, k);
    }
    for (uint32_t k = 0; k < v->after_count; k++) {
        uint32_t next = p->base[rank] + v->after[k];
        if (next != p->base[rank] + NBCOLL_END && !--p->before[next])
            ready(p, next);
    }
    if (step != NBCOLL_END && !--p->before[p->base[rank] + NBCOLL_END])
        ready(p, p->base[rank] + NBCOLL_END);
}

static uint32_t next_of(player *p)
{
    uint32_t at = (uint32_t)(world_random(p->dice) % p->pooled);
    for (uint32_t k = 0; p->is_driven && k < p->pooled; k++)
        if (p->priority[p->pool[k]] > p->priority[p->pool[at]])
            at = k;
    uint32_t i = p->pool[at];
    p->pool[at] = p->pool[--p->pooled];
    return i;
}

static void fill(player *p)
{
    const nbcoll_meaning *m = p->meaning;
    for (int rank = 0; rank < p->ranks; rank++) {
        for (int k = 0; k < BUFFERS; k++)
            for (size_t i = 0; i < p->bytes[k][rank]; i++)
                p->buffer[k][rank][i] = (unsigned char)(0x5a + 3 * i + (size_t)rank);
        nbcoll_region in = m->input(m, rank);
        for (size_t i = 0; in.at.buffer != NBCOLL_BUFFER_SCRATCH && i < in.bytes; i++)
            p->buffer[in.at.buffer][rank][in.at.offset + i] = input_byte(rank, i);
        memcpy(p->must[rank], p->buffer[NBCOLL_BUFFER_RECV][rank], p->bytes[NBCOLL_BUFFER_RECV][rank]);
    }
}

static void begin(player *p)
{
    p->pooled = 0;
    p->started = 0;
    p->wrong = NULL;
    for (uint32_t i = 0; i < p->steps; i++) {
        const nbcoll_step_view *v = view_of(p, i);
        p->before[i] = v->before;
        p->unread[i] = v->kind == NBCOLL_EXPOSE ? v->part_count : 0;
        p->is_ready[i] = 0;
        p->priority[i] = world_random(p->dice);
        free(p->message[i]);
        p->message[i] = NULL;
    }
    for (int rank = 0; rank < p->ranks; rank++) {
        uint32_t first = p->base[rank];
        p->before[first + NBCOLL_END] = p->base[rank + 1] - first - 1;
        /* Sometimes a whole rank is slow, sometimes it is fast. */
        uint64_t bias = world_random(p->dice) % 4;
        for (uint32_t i = first; bias < 2 && i < p->base[rank + 1]; i++)
            p->priority[i] = bias ? p->priority[i] >> 1 : p->priority[i] | UINT64_C(1) << 63;
    }
    fill(p);
    for (int rank = 0; rank < p->ranks; rank++)
        ready(p, p->base[rank] + NBCOLL_START);
}

/* ---- judging --------------------------------------------------------------------------------------------------- */

/* The element at `from` of ranks first..last, along the tree of NBCOLL_REPRODUCIBLE. */
static uint32_t tree(const player *p, int first, int last, size_t from)
{
    uint32_t x = 0;
    int low = 1, ranks = last - first + 1;
    if (ranks == 1) {
        for (size_t k = 4; k-- > 0;)
            x = x << 8 | input_byte(first, from + k);
        return x;
    }
    while (2 * low < ranks)
        low *= 2;
    return combined(p, tree(p, first, first + low - 1, from), tree(p, first + low, last, from));
}

/* Another rank with the same claim of a reduction: they must have the same bits. */
static int same_bits(const player *p, int rank, const nbcoll_claim *c)
{
    const nbcoll_meaning *m = p->meaning;
    nbcoll_claim other = {0};
    for (int r = 0; r < rank; r++)
        for (size_t i = 0; other = (nbcoll_claim){0}, m->claim(m, r, i, &other); i++)
            if (other.first == c->first && other.last == c->last && other.from == c->from && other.bytes == c->bytes)
                return !memcmp(p->buffer[NBCOLL_BUFFER_RECV][rank] + c->offset,
                               p->buffer[NBCOLL_BUFFER_RECV][r] + other.offset, c->bytes);
    return 1;
}

/* Writes what is claimed into `must`; what cannot be foretold stays as it came out. */
static int expect(player *p, int rank, const nbcoll_claim *c)
{
    unsigned char *must = p->must[rank] + c->offset;
    const unsigned char *is = p->buffer[NBCOLL_BUFFER_RECV][rank] + c->offset;
    int is_open = c->first > c->last || (c->first < c->last && p->manner == BY_BRACKETS && !p->meaning->same_tree);
    if (is_open) {
        memcpy(must, is, c->bytes);
        return c->first > c->last || !p->meaning->same_bits || same_bits(p, rank, c);
    }
    for (size_t i = 0; i < c->bytes; i++) {
        if (c->first == c->last)
            must[i] = input_byte(c->first, c->from + i);
        else if (i % 4 == 0 && i + 4 <= c->bytes) {
            uint32_t x = tree(p, c->first, c->last, c->from + i);
            memcpy(must + i, &x, 4);
        }
    }
    return 1;
}

static const char *judge(player *p)
{
    const nbcoll_meaning *m = p->meaning;
    for (int rank = 0; rank < p->ranks; rank++) {
        nbcoll_claim c = {0};
        for (size_t i = 0; m->claim(m, rank, i, &c); i++, c = (nbcoll_claim){0})
            if (!expect(p, rank, &c))
                return "two ranks have different bits";
        if (memcmp(p->must[rank], p->buffer[NBCOLL_BUFFER_RECV][rank], p->bytes[NBCOLL_BUFFER_RECV][rank]))
            return "a receive buffer is wrong";
    }
    return NULL;
}

const char *player_play(player *p, uint64_t *dice)
{
    if (p->unmatched)
        return p->unmatched;
    p->dice = dice;
    p->manner = world_random(dice) % 2 ? BY_VALUE : BY_BRACKETS;
    p->is_rendezvous = (int)(world_random(dice) % 2);
    p->is_driven = (int)(world_random(dice) % 4 != 0);
    begin(p);
    uint32_t ended = 0;
    for (; p->pooled && !p->wrong; ended++)
        end(p, next_of(p));
    if (p->wrong)
        return p->wrong;
    return ended < p->steps ? "steps wait for ever" : judge(p);
}

const char *player_judge(const nbcoll_schedule *const schedules[], const nbcoll_meaning *meaning, int times,
                         uint64_t *dice)
{
    player *p = player_open(schedules, meaning);
    const char *wrong = NULL;
    for (int i = 0; i < times && !wrong; i++)
        wrong = player_play(p, dice);
    player_close(p);
    return wrong;
}
