/* SPDX-License-Identifier: BSD-3-Clause
 * Lists of buffers in collectives: over every loopback, by every algorithm. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "alone.h"
#include "nbcoll/lists.h"
#include "nbcoll/select.h"
#include "world.h"

enum { RANKS = 5, PIECES = 7, MOST = RANKS * PIECES };

static const size_t counts[PIECES] = {3, 0, 1, 4000, 0, 17, 0};

enum { ELEMENTS = 3 + 1 + 4000 + 17 };

/* The pieces of a rank: buffers of their own, `times` of each, in turn. */
typedef struct pieces {
    size_t n;
    nbcoll_list_piece one[MOST];
} pieces;

static pieces pieces_make(int times)
{
    pieces p = {.n = (size_t)times * PIECES};
    for (size_t i = 0; i < p.n; i++)
        p.one[i] = (nbcoll_list_piece){counts[i % PIECES] ? malloc(counts[i % PIECES] * sizeof(int32_t)) : NULL,
                                  counts[i % PIECES]};
    return p;
}

static void pieces_free(pieces *p)
{
    for (size_t i = 0; i < p->n; i++)
        free(p->one[i].at);
}

static void pieces_fill(pieces *p, int32_t first, int32_t step)
{
    for (size_t i = 0; i < p->n; i++)
        for (size_t k = 0; k < p->one[i].count; k++, first += step)
            ((int32_t *)p->one[i].at)[k] = first;
}

/* Elements first, first + step, ... from there on; returns the one behind them. */
static int32_t piece_is(const nbcoll_list_piece *p, int32_t first, int32_t step)
{
    for (size_t k = 0; k < p->count; k++, first += step)
        assert_int_equal(((int32_t *)p->at)[k], first);
    return first;
}

typedef struct scene {
    world w;
    pieces send[RANKS], recv[RANKS];
    nbcoll_lists *lists[RANKS];
    nbcoll_request q[RANKS];
} scene;

/* Sends `sends` times the pieces, and receives `recvs` times. */
static void scene_lists(scene *s, int sends, int recvs)
{
    for (int r = 0; r < RANKS; r++) {
        s->send[r] = pieces_make(sends);
        s->recv[r] = pieces_make(recvs);
        pieces_fill(&s->send[r], 1000 * r, 3);
        EXPECT(OK, nbcoll_lists_make(s->w.context[r], NBCOLL_INT32, NBCOLL_SUM, s->send[r].n, s->send[r].one,
                                     s->recv[r].n, s->recv[r].one, &s->lists[r]));
        assert_int_equal(s->lists[r]->received, recvs * ELEMENTS);
        assert_int_equal(s->lists[r]->sent, sends * ELEMENTS);
    }
}

static void scene_lists_free(scene *s)
{
    for (int r = 0; r < RANKS; r++) {
        nbcoll_lists_free(s->lists[r]);
        pieces_free(&s->send[r]);
        pieces_free(&s->recv[r]);
    }
}

static void check_arrived(scene *s)
{
    for (int r = 0; r < RANKS; r++)
        for (size_t i = 0; i < s->recv[r].n; i++)
            EXPECT(OK, nbcoll_lists_arrived(s->lists[r], s->q[r], i));
}

static void all_reduce(scene *s, int in_place)
{
    scene_lists(s, !in_place, 1);
    for (int r = 0; r < RANKS; r++) {
        nbcoll_lists *l = s->lists[r];
        if (in_place)
            pieces_fill(&s->recv[r], 1000 * r, 3);
        EXPECT(OK, nbcoll_iallreduce(l->send, l->recv, l->received, l->type, l->op, s->w.comm[r], &s->q[r]));
    }
    world_finish(&s->w, RANKS, s->q);
    for (int r = 0; r < RANKS; r++) {
        int32_t next = 1000 * (RANKS * (RANKS - 1) / 2);
        for (int i = 0; i < PIECES; i++)
            next = piece_is(&s->recv[r].one[i], next, 3 * RANKS);
    }
    scene_lists_free(s);
}

static void broadcast(scene *s, int root)
{
    scene_lists(s, 0, 1);
    for (int r = 0; r < RANKS; r++) {
        nbcoll_lists *l = s->lists[r];
        pieces_fill(&s->recv[r], r == root ? 70 : -1, r == root);
        EXPECT(OK, nbcoll_ibcast(l->recv, l->received, l->type, root, s->w.comm[r], &s->q[r]));
    }
    world_finish(&s->w, RANKS, s->q);
    for (int r = 0; r < RANKS; r++) {
        int32_t next = 70;
        for (int i = 0; i < PIECES; i++)
            next = piece_is(&s->recv[r].one[i], next, 1);
    }
    scene_lists_free(s);
}

static void all_gather(scene *s)
{
    scene_lists(s, 1, RANKS);
    for (int r = 0; r < RANKS; r++) {
        nbcoll_lists *l = s->lists[r];
        EXPECT(OK, nbcoll_iallgather(l->send, l->recv, l->sent, l->type, s->w.comm[r], &s->q[r]));
    }
    world_finish(&s->w, RANKS, s->q);
    for (int r = 0; r < RANKS; r++)
        for (int from = 0; from < RANKS; from++) {
            int32_t next = 1000 * from;
            for (int i = 0; i < PIECES; i++)
                next = piece_is(&s->recv[r].one[from * PIECES + i], next, 3);
        }
    scene_lists_free(s);
}

static void each(scene *s)
{
    all_reduce(s, 0);
    all_reduce(s, 1);
    broadcast(s, 0);
    broadcast(s, 3);
    all_gather(s);
}

static void over_every_transport(void **state)
{
    (void)state;
    for (int variant = 0; variant < WORLD_VARIANTS; variant++) {
        nbcoll_loopback_config loopback = world_variant(variant, 5 + (uint64_t)variant);
        scene s;
        world_open(&s.w, RANKS, &loopback, NULL, NULL);
        each(&s);
        world_close(&s.w);
    }
}

/* Each by a rule that prefers it; where it does not serve, the next one does. */
static void by_every_algorithm(void **state)
{
    static const nbcoll_operation operations[3] = {NBCOLL_OPERATION_ALLREDUCE, NBCOLL_OPERATION_BCAST,
                                                   NBCOLL_OPERATION_ALLGATHER};
    (void)state;

    for (int shared = 0; shared < 2; shared++)
        for (int o = 0; o < 3; o++) {
            const nbcoll_algorithm *a;
            for (unsigned i = 0; (a = nbcoll_algorithm_at(operations[o], i)); i++) {
                const nbcoll_rule rule = {.algorithm = a};
                nbcoll_comm_config config = NBCOLL_COMM_DEFAULTS;
                nbcoll_loopback_config loopback = world_variant(shared ? WORLD_SHARED : 0, i);
                scene s;
                config.rules = &rule;
                config.rule_count = 1;
                world_open(&s.w, RANKS, &loopback, NULL, &config);
                if (!o)
                    all_reduce(&s, i % 2);
                else if (o == 1)
                    broadcast(&s, (int)i % RANKS);
                else
                    all_gather(&s);
                world_close(&s.w);
            }
        }
}

/* A persistent request keeps what arrived until it is started again: each piece can be asked for. */
static void each_piece_says_that_it_has_arrived(void **state)
{
    scene s;
    int pending = 0;
    (void)state;

    world_open(&s.w, RANKS, NULL, NULL, NULL);
    scene_lists(&s, 0, 1);
    for (int r = 0; r < RANKS; r++) {
        nbcoll_lists *l = s.lists[r];
        pieces_fill(&s.recv[r], r ? -1 : 70, !r);
        EXPECT(OK, nbcoll_bcast_init(l->recv, l->received, l->type, 0, s.w.comm[r], &s.q[r]));
        EXPECT(OK, nbcoll_start(&s.q[r]));
    }
    pending = nbcoll_lists_arrived(s.lists[4], s.q[4], 3) == NBCOLL_PENDING;
    assert_true(pending);
    EXPECT(ERR_ARGUMENT, nbcoll_lists_arrived(s.lists[4], s.q[4], PIECES));
    for (int turn = 0; nbcoll_lists_arrived(s.lists[4], s.q[4], 3) == NBCOLL_PENDING; turn++) {
        world_watchdog(&s.w, turn < 100000);
        world_step(&s.w);
    }
    piece_is(&s.recv[4].one[3], 74, 1); /* though nobody has asked for the end */
    world_finish(&s.w, RANKS, s.q);
    check_arrived(&s);
    for (int r = 0; r < RANKS; r++)
        EXPECT(OK, nbcoll_request_free(&s.q[r]));
    scene_lists_free(&s);
    world_close(&s.w);
}

static void what_cannot_be_is_refused_by_name(void **state)
{
    int32_t x[20];
    const nbcoll_list_piece apart[2] = {{x, 5}, {x + 5, 5}}, over[2] = {{x + 4, 3}, {x, 5}}, null[1] = {{NULL, 1}};
    const nbcoll_list_piece within[2] = {{x, 10}, {x + 3, 2}}, huge[1] = {{x, SIZE_MAX / 8}};
    const nbcoll_list_piece none[2] = {{x, 5}, {x + 2, 0}};
    nbcoll_lists *l = NULL;
    world w;
    (void)state;

    world_open(&w, 1, NULL, NULL, NULL);
    nbcoll_context *c = w.context[0];
    EXPECT(ERR_BUFFER, nbcoll_lists_make(c, NBCOLL_INT32, NBCOLL_SUM, 0, NULL, 2, over, &l));
    EXPECT(ERR_BUFFER, nbcoll_lists_make(c, NBCOLL_INT32, NBCOLL_SUM, 0, NULL, 2, within, &l));
    EXPECT(ERR_BUFFER, nbcoll_lists_make(c, NBCOLL_INT32, NBCOLL_SUM, 1, within, 1, within + 1, &l));
    EXPECT(ERR_BUFFER, nbcoll_lists_make(c, NBCOLL_INT32, NBCOLL_SUM, 0, NULL, 1, null, &l));
    EXPECT(ERR_COUNT, nbcoll_lists_make(c, NBCOLL_INT32, NBCOLL_SUM, 0, NULL, 1, huge, &l));
    EXPECT(ERR_NULL, nbcoll_lists_make(c, NBCOLL_INT32, NBCOLL_SUM, 1, NULL, 1, apart, &l));
    EXPECT(ERR_TYPE, nbcoll_lists_make(c, NBCOLL_TYPE_COUNT, NBCOLL_SUM, 0, NULL, 1, apart, &l));
    EXPECT(ERR_OP, nbcoll_lists_make(c, NBCOLL_FLOAT, NBCOLL_BAND, 0, NULL, 1, apart, &l));
    assert_null(l);
    EXPECT(OK, nbcoll_lists_make(c, NBCOLL_INT32, NBCOLL_SUM, 2, over, 0, NULL, &l));
    nbcoll_lists_free(l);
    EXPECT(OK, nbcoll_lists_make(c, NBCOLL_INT32, NBCOLL_SUM, 1, apart + 1, 2, none, &l));
    nbcoll_lists_free(l);
    nbcoll_lists_free(NULL);
    world_close(&w);
}

/* ---- inside a host's function ----------------------------------------------------------------------------------- */

static nbcoll_context *making; /* null: no list is being made or freed */
static nbcoll_status made, freed;

static void *alloc(void *user, size_t bytes, size_t align)
{
    static int32_t x[2];
    const nbcoll_list_piece piece = {x, 2};
    nbcoll_context *c = making;
    nbcoll_lists *l;
    (void)user;

    making = NULL;
    if (c) {
        made = nbcoll_lists_make(c, NBCOLL_INT32, NBCOLL_SUM, 0, NULL, 1, &piece, &l);
        freed = nbcoll_context_free(c);
    }
    return aligned_alloc(align, (bytes + align - 1) / align * align);
}

static void release(void *user, void *memory, size_t bytes)
{
    (void)user, (void)bytes;
    if (making)
        freed = nbcoll_context_free(making);
    making = NULL;
    free(memory);
}

static void inside_the_memory_hooks_no_list_is_made_and_nothing_freed(void **state)
{
    const nbcoll_context_config config = {.size = sizeof config,
                                          .host = {.size = sizeof config.host, .alloc = alloc, .free = release}};
    int32_t x[2];
    const nbcoll_list_piece piece = {x, 2};
    nbcoll_lists *l = NULL;
    world w;
    (void)state;

    world_open(&w, 1, NULL, &config, NULL);
    made = freed = NBCOLL_OK;
    making = w.context[0];
    EXPECT(OK, nbcoll_lists_make(w.context[0], NBCOLL_INT32, NBCOLL_SUM, 0, NULL, 1, &piece, &l));
    EXPECT(ERR_BUSY, made);
    EXPECT(ERR_BUSY, freed);
    freed = NBCOLL_OK;
    making = w.context[0];
    nbcoll_lists_free(l);
    EXPECT(ERR_BUSY, freed);
    world_close(&w);
}

/* Where calls are checked, all ranks are told before anything is written. */
static void lists_that_differ_in_length_are_named(void **state)
{
    nbcoll_comm_config config = NBCOLL_COMM_DEFAULTS;
    int32_t x[2][5] = {{1, 2, 3, 4, 5}, {6, 7, 8, 9, 10}}, before[2][5];
    nbcoll_lists *l[2];
    nbcoll_request q[2];
    nbcoll_status s[2];
    world w;
    (void)state;

    memcpy(before, x, sizeof x);
    config.flags = NBCOLL_CHECKED;
    world_open(&w, 2, NULL, NULL, &config);
    for (int r = 0; r < 2; r++) {
        const nbcoll_list_piece cut[2] = {{x[r], 2}, {x[r] + 2, 2 + (size_t)r}};
        EXPECT(OK, nbcoll_lists_make(w.context[r], NBCOLL_INT32, NBCOLL_SUM, 0, NULL, 2, cut, &l[r]));
        EXPECT(OK, nbcoll_iallreduce(l[r]->send, l[r]->recv, l[r]->received, l[r]->type, l[r]->op, w.comm[r], &q[r]));
    }
    world_settle(&w, 2, q, s);
    for (int r = 0; r < 2; r++) {
        assert_int_equal(s[r], NBCOLL_ERR_MISMATCH);
        nbcoll_lists_free(l[r]);
    }
    assert_memory_equal(x, before, sizeof x);
    world_close(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        unit_test_alone(over_every_transport),
        unit_test_alone(by_every_algorithm),
        unit_test_alone(each_piece_says_that_it_has_arrived),
        unit_test_alone(what_cannot_be_is_refused_by_name),
        unit_test_alone(inside_the_memory_hooks_no_list_is_made_and_nothing_freed),
        unit_test_alone(lists_that_differ_in_length_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
