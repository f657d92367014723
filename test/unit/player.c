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

enum { GARBAGE = 0xa5 };

static uint64_t combined(nbcoll_op op, uint64_t left, uint64_t right)
{
    uint32_t a = (uint32_t)(left >> 32), b = (uint32_t)left, c = (uint32_t)(right >> 32), d = (uint32_t)right;
    if (op == NBCOLL_SUM)
        return left + right;
    if (op == NBCOLL_PROD)
        return (uint64_t)(a * c) << 32 | (uint32_t)(b + a * d);
    return (left * 3 ^ right * 5) * UINT64_C(0x9e3779b97f4a7c15) + 1;
}

/* Element i of what rank r has to give. An odd factor keeps compositions from all becoming alike. */
static uint64_t input(int r, size_t i)
{
    return ((uint64_t)r * 1000003 + i * 7919) * UINT64_C(0xd1342543de82ef95) | UINT64_C(1) << 32;
}

typedef struct player {
    const crowd *all;
    unsigned char *buffer[64][NBCOLL_BUFFER_COUNT];
    size_t bytes[64][NBCOLL_BUFFER_COUNT];
    uint32_t *before;
    unsigned char *is_posted; /* a RECV whose memory may be written, a SEND whose memory is being read */
    unsigned char **message;  /* what a SEND that ended has on its way */
    uint32_t *pool, pooled;   /* steps that may end next */
    int is_rendezvous;        /* a SEND ends only after its RECV was posted */
    uint64_t *dice;
} player;

static unsigned char *memory(const player *p, int r, nbcoll_region region)
{
    region = crowd_region(p->all, r, region);
    if (!region.bytes)
        return p->buffer[r][region.at.buffer];
    assert_true(region.at.offset + region.bytes <= p->bytes[r][region.at.buffer]);
    return p->buffer[r][region.at.buffer] + region.at.offset;
}

static void player_pool(player *p, uint32_t i)
{
    p->pool[p->pooled++] = i;
}

/* A step whose edges are satisfied. From now on a RECV may write, so that what was there is lost. */
static void player_ready(player *p, uint32_t i)
{
    const nbcoll_step_view *v = crowd_step(p->all, i);
    uint32_t other = p->all->other[i];
    p->is_posted[i] = 1;
    if (v->kind == NBCOLL_RECV) {
        memset(memory(p, p->all->rank[i], v->write), GARBAGE, crowd_region(p->all, p->all->rank[i], v->write).bytes);
        if (p->message[other])
            player_pool(p, i);
        else if (p->is_rendezvous && p->is_posted[other])
            player_pool(p, other);
    } else if (v->kind != NBCOLL_SEND || !p->is_rendezvous || p->is_posted[other]) {
        player_pool(p, i);
    }
}

static void player_reduce(player *p, int r, const nbcoll_step_view *v)
{
    unsigned char *to = memory(p, r, v->write), *left = memory(p, r, v->read[0]), *right = memory(p, r, v->read[1]);
    for (size_t i = 0; i < v->write.bytes; i += 8) {
        uint64_t a, b;
        memcpy(&a, left + i, 8);
        memcpy(&b, right + i, 8);
        a = combined(v->reduction.op, a, b);
        memcpy(to + i, &a, 8);
    }
}

static void player_end(player *p, uint32_t i)
{
    const nbcoll_step_view *v = crowd_step(p->all, i);
    int r = p->all->rank[i];
    size_t written = crowd_region(p->all, r, v->write).bytes, read = crowd_region(p->all, r, v->read[0]).bytes;
    if (v->kind == NBCOLL_SEND) {
        p->message[i] = filled(read, 1, 0);
        memcpy(p->message[i], memory(p, r, v->read[0]), read);
        if (p->is_posted[p->all->other[i]])
            player_pool(p, p->all->other[i]);
    } else if (v->kind == NBCOLL_RECV) {
        memcpy(memory(p, r, v->write), p->message[p->all->other[i]], written);
    } else if (v->kind == NBCOLL_COPY) {
        assert_int_equal(written, read);
        memcpy(memory(p, r, v->write), memory(p, r, v->read[0]), written);
    } else if (v->kind == NBCOLL_REDUCE) {
        player_reduce(p, r, v);
    }
    for (uint32_t k = 0; k < v->after_count; k++) {
        uint32_t next = p->all->base[r] + v->after[k];
        if (!--p->before[next])
            player_ready(p, next);
    }
}

/* Runs all steps, each time any one of those that may end. How many ended. */
static uint32_t player_run(player *p)
{
    uint32_t steps = p->all->base[p->all->ranks], ended = 0;
    for (uint32_t i = 0; i < steps; i++)
        p->before[i] = crowd_step(p->all, i)->before;
    for (uint32_t i = 0; i < steps; i++)
        if (!crowd_step(p->all, i)->before)
            player_ready(p, i);
    for (; p->pooled; ended++) {
        uint32_t at = (uint32_t)(world_random(p->dice) % p->pooled), i = p->pool[at];
        p->pool[at] = p->pool[--p->pooled];
        player_end(p, i);
    }
    return ended;
}

/* The elements of a buffer of a rank: exactly those that the operation has. */
static size_t elements_of(const crowd *all, int r, int is_recv)
{
    int is_scatter = is_one_of(all->args.operation, scatters);
    if (!crowd_is_in_place(all, r))
        return crowd_end(all, r, is_recv);
    if (is_recv == is_scatter) /* the one that is not there */
        return 0;
    size_t send = crowd_end(all, r, 0), recv = crowd_end(all, r, 1);
    return is_scatter || send > recv ? send : recv;
}

static void put(unsigned char *buffer, size_t at, uint64_t x)
{
    memcpy(buffer + 8 * at, &x, 8);
}

/* What a rank contributes. */
static void put_input(const crowd *all, unsigned char *buffer[], int r)
{
    int at_recv = crowd_is_in_place(all, r) && !is_one_of(all->args.operation, scatters);
    int blocks = crowd_blocks(all, r, 0);
    int is_gathered = is_one_of(all->args.operation, gathers | allgathers);
    if (all->args.operation == NBCOLL_OPERATION_BCAST && r == all->args.root)
        at_recv = blocks = 1;
    for (int i = 0; i < blocks; i++) {
        size_t place = at_recv && is_gathered ? crowd_place(all, r, 1, r) : crowd_place(all, r, 0, i);
        size_t before = crowd_before(all, r, 0, i);
        for (size_t k = 0; k < crowd_length(all, r, 0, i); k++)
            put(buffer[at_recv ? NBCOLL_BUFFER_RECV : NBCOLL_BUFFER_SEND], place + k, input(r, before + k));
    }
}

static void player_open(player *p, const crowd *all, int is_rendezvous, uint64_t *dice)
{
    uint32_t steps = all->base[all->ranks];
    *p = (player){.all = all, .is_rendezvous = is_rendezvous, .dice = dice};
    p->before = filled(steps, sizeof *p->before, 0);
    p->is_posted = filled(steps, 1, 0);
    p->message = calloc(steps, sizeof *p->message);
    p->pool = filled(steps, sizeof *p->pool, 0);
    assert_true(all->ranks <= 64 && p->message);
    for (int r = 0; r < all->ranks; r++) {
        nbcoll_schedule_info info = {.size = sizeof info};
        nbcoll_schedule_query(all->schedule[r], &info);
        p->bytes[r][NBCOLL_BUFFER_SEND] = elements_of(all, r, 0) * 8;
        p->bytes[r][NBCOLL_BUFFER_RECV] = elements_of(all, r, 1) * 8;
        p->bytes[r][NBCOLL_BUFFER_SCRATCH] = info.extent[NBCOLL_BUFFER_SCRATCH];
        for (int k = 0; k < NBCOLL_BUFFER_COUNT; k++)
            p->buffer[r][k] = filled(p->bytes[r][k], 1, GARBAGE);
        put_input(all, p->buffer[r], r);
    }
}

static void player_close(player *p)
{
    for (uint32_t i = 0; i < p->all->base[p->all->ranks]; i++)
        free(p->message[i]);
    for (int r = 0; r < p->all->ranks; r++)
        for (int k = 0; k < NBCOLL_BUFFER_COUNT; k++)
            free(p->buffer[r][k]);
    free(p->before);
    free(p->is_posted);
    free(p->message);
    free(p->pool);
}

/* Element i of what `ranks` ranks from `first` on give, combined along the tree of NBCOLL_REPRODUCIBLE. */
static uint64_t tree(nbcoll_op op, int first, int ranks, size_t i)
{
    int low = 1;
    if (ranks == 1)
        return input(first, i);
    while (2 * low < ranks)
        low *= 2;
    return combined(op, tree(op, first, low, i), tree(op, first + low, ranks - low, i));
}

/* What element k of block i of the receive buffer of rank r must be. */
static uint64_t output(const crowd *all, int r, int i, size_t k)
{
    nbcoll_operation operation = all->args.operation;
    nbcoll_op op = all->args.reduction.op;
    if (operation == NBCOLL_OPERATION_BCAST)
        return input(all->args.root, k);
    if (is_one_of(operation, scatters))
        return input(all->args.root, crowd_before(all, all->args.root, 0, r) + k);
    if (is_one_of(operation, gathers | allgathers))
        return input(i, k);
    if (is_one_of(operation, alltoalls))
        return input(i, crowd_before(all, i, 0, r) + k);
    if (is_one_of(operation, reduce_scatters))
        return tree(op, 0, all->ranks, crowd_before(all, r, 0, r) + k);
    if (operation == NBCOLL_OPERATION_SCAN || operation == NBCOLL_OPERATION_EXSCAN)
        return tree(op, 0, r + (operation == NBCOLL_OPERATION_SCAN), k);
    return tree(op, 0, all->ranks, k);
}

/* Are the buffers of a rank as they must be, and untouched where the operation has nothing? Of a mixture that is not
 * combined along the tree: only that it is the same as rank 0's. */
static int rank_is_right(const player *p, int r)
{
    const crowd *all = p->all;
    int is_mixed = reduces(all->args.operation) && all->args.reduction.op == NBCOLL_MAX &&
                   !(all->algorithm->flags & NBCOLL_ALGORITHM_REPRODUCIBLE);
    unsigned char *must[NBCOLL_BUFFER_COUNT];
    int is_right = 1;
    for (int k = 0; k < NBCOLL_BUFFER_COUNT; k++)
        must[k] = filled(p->bytes[r][k], 1, GARBAGE);
    put_input(all, must, r);
    for (int i = 0; p->bytes[r][NBCOLL_BUFFER_RECV] && i < crowd_blocks(all, r, 1); i++)
        for (size_t k = 0; k < crowd_length(all, r, 1, i); k++)
            put(must[NBCOLL_BUFFER_RECV], crowd_place(all, r, 1, i) + k, is_mixed ? 0 : output(all, r, i, k));
    if (is_mixed)
        memcpy(must[NBCOLL_BUFFER_RECV], p->buffer[0][NBCOLL_BUFFER_RECV], p->bytes[r][NBCOLL_BUFFER_RECV]);
    for (int k = NBCOLL_BUFFER_SEND; k <= NBCOLL_BUFFER_RECV; k++)
        is_right &= !memcmp(must[k], p->buffer[r][k], p->bytes[r][k]);
    for (int k = 0; k < NBCOLL_BUFFER_COUNT; k++)
        free(must[k]);
    return is_right;
}

static int player_is_right(const player *p)
{
    int is_right = 1;
    for (int r = 0; r < p->all->ranks; r++)
        is_right &= rank_is_right(p, r);
    return is_right;
}

int plays(const crowd *all, int is_rendezvous, uint64_t *dice)
{
    player p;
    player_open(&p, all, is_rendezvous, dice);
    int is_right = player_run(&p) == all->base[all->ranks] && player_is_right(&p);
    player_close(&p);
    return is_right;
}
