/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A transport refuses registrations, gets and puts wherever the contract allows it: where memory cannot be registered,
 * all operations end well, by fragments; a get or put that fails is the loss of its peer; what cannot be exposed ends
 * its operation, and no other. Nothing hangs, and nothing stays registered. Messages are shorter and longer than keys,
 * eager messages and fragments.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "native.h"
#include "operation.h"
#include "rdma_like.h"
#include "refusing.h"
#include "world.h"

enum {
    MOST_RANKS = 4,
    EAGER = 16,
    PAYLOAD = 256,
    KEY = 56,
    LOOPBACKS = 5,
    ALIKE = LOOPBACKS + 3,
    WAYS = ALIKE + 4,
    WHENS = 5
};

/* Ends that get, put, or do both, at once or lent, and one that exposes; then ones with registrations at both ends, all
 * of one kind; then those of different kinds, one of which has no bulk data at all. */
static const uint32_t loopbacks[LOOPBACKS] = {0, NBCOLL_LOOPBACK_NO_GET, NBCOLL_LOOPBACK_LEND,
                                              NBCOLL_LOOPBACK_LEND | NBCOLL_LOOPBACK_NO_GET, NBCOLL_LOOPBACK_SHARED};
static const size_t sizes[] = {EAGER,           EAGER + 1,   KEY - 1,         KEY,         KEY + 1,
                               PAYLOAD - 1,     PAYLOAD,     PAYLOAD + 1,     2 * PAYLOAD, 2 * PAYLOAD + 1,
                               3 * PAYLOAD - 1, 4 * PAYLOAD, 4 * PAYLOAD + 40};
enum { SIZES = sizeof sizes / sizeof *sizes };
static const nbcoll_operation operations[] = {NBCOLL_OPERATION_BCAST, NBCOLL_OPERATION_ALLTOALL,
                                              NBCOLL_OPERATION_ALLREDUCE, NBCOLL_OPERATION_GATHER,
                                              NBCOLL_OPERATION_ALLGATHERV};
enum { OPERATIONS = sizeof operations / sizeof *operations };

/* The calls that are refused, counted from 1. */
static const struct when {
    int from, to;
} whens[WHENS] = {{1, 1}, {2, 2}, {3, INT32_MAX}, {1, INT32_MAX}, {4, 5}};

static const nbcoll_status errors[] = {NBCOLL_ERR_MEMORY, NBCOLL_ERR_LIMIT, NBCOLL_ERR_UNSUPPORTED,
                                       NBCOLL_ERR_TRANSPORT, NBCOLL_ERR_BUFFER};

typedef struct scene {
    world w;
    rdma_like *rdma; /* null: a loopback alone */
    refusing_plan plan[MOST_RANKS];
    int refused;
} scene;

static nbcoll_endpoint *open_end(scene *s, int way, int rank)
{
    nbcoll_endpoint *end = s->w.endpoint[rank];
    uint32_t variant = way < ALIKE ? (uint32_t)(way - LOOPBACKS) : (uint32_t)(rank + way - ALIKE) % 4;

    if (s->rdma) {
        rdma_like_vary(s->rdma, variant % 3);
        end = rdma_like_open(s->rdma, end);
    } else
        end->limits.payload -= 512;
    s->plan[rank].what = s->rdma && variant == 3 ? REFUSING_BULK : REFUSING_NOTHING;
    return refusing_open(end, &s->plan[rank], &s->refused);
}

static void open_scene(scene *s, int way, int ranks)
{
    const nbcoll_loopback_config loopback = {
        .size = sizeof loopback, .payload = PAYLOAD + 512, .flags = way < LOOPBACKS ? loopbacks[way] : 0};
    const nbcoll_comm_config config = {
        .size = sizeof config, .slots = 4, .cells = 8, .schedules = 16, .eager = EAGER, .large = 2048};
    nbcoll_request q[MOST_RANKS];
    native n;

    *s = (scene){.rdma = way < LOOPBACKS ? NULL : rdma_like_make(0)};
    native_init(&n, &config);
    world_open_contexts(&s->w, ranks, &loopback, NULL);
    for (int r = 0; r < ranks; r++) {
        s->w.endpoint[r] = open_end(s, way, r);
        EXPECT(OK, nbcoll_comm_icreate(s->w.context[r], s->w.endpoint[r], &n.config, &s->w.comm[r], &q[r]));
    }
    world_finish(&s->w, (size_t)ranks, q);
}

static void close_scene(scene *s)
{
    rdma_like *rdma = s->rdma;

    world_close(&s->w);
    if (!rdma)
        return;
    rdma_like_count count = rdma_like_counted(rdma);
    assert_int_equal(count.bad_key, 0);
    assert_int_equal(count.bad_local, 0);
    assert_int_equal(count.bad_deregister, 0);
    assert_int_equal(count.registered, 0);
    rdma_like_free(rdma);
}

/* One operation with blocks of so many bytes. status[r]: how it ended; those that were OK have the right values. */
static void run(scene *s, int ranks, const operation *o, nbcoll_status status[])
{
    nbcoll_request q[MOST_RANKS];
    share shares[MOST_RANKS];

    for (int r = 0; r < ranks; r++) {
        shares[r] = share_make(o, r, ranks);
        EXPECT(OK, operation_start(o, &shares[r], s->w.comm[r], &q[r]));
    }
    world_settle(&s->w, (size_t)ranks, q, status);
    for (int r = 0; r < ranks; r++) {
        if (status[r] == NBCOLL_OK)
            operation_check(o, &shares[r], r, ranks);
        share_free(&shares[r]);
    }
}

/* Another operation and root for each. */
static operation operation_of(int turn, size_t bytes, int ranks)
{
    return (operation){.what = operations[turn % OPERATIONS],
                       .root = turn / OPERATIONS % ranks,
                       .count = bytes,
                       .how = {NBCOLL_UINT8, NBCOLL_SUM},
                       .seed = (uint64_t)turn + 1};
}

/* On which ranks it is refused: on one of them, or on all. */
static void plan_all(scene *s, int ranks, int turn, refusing_plan plan)
{
    for (int r = 0; r < ranks; r++)
        if (turn % (ranks + 1) == ranks || turn % (ranks + 1) == r)
            s->plan[r] = plan;
        else
            s->plan[r] = (refusing_plan){.what = REFUSING_NOTHING};
}

static void restart(scene *s, int ranks)
{
    for (int r = 0; r < ranks; r++)
        refusing_restart(s->w.endpoint[r]);
}

static void without_registrations_all_operations_end_well_by_fragments(void **state)
{
    int refused = 0, turn = 0;
    (void)state;

    for (int way = 0; way < WAYS; way++)
        for (int ranks = 2; ranks <= MOST_RANKS; ranks++) {
            scene s;
            if (way == LOOPBACKS - 1) /* which exposes */
                continue;
            open_scene(&s, way, ranks);
            for (int what = REFUSING_READ_BY_PEER; what <= REFUSING_OWN_END; what++)
                for (int when = 0; when < WHENS; when++)
                    for (int size = 0; size < SIZES; size++, turn++) {
                        nbcoll_status status[MOST_RANKS];
                        operation o = operation_of(turn, sizes[size], ranks);
                        plan_all(&s, ranks, turn,
                                 (refusing_plan){.what = (refusing_what)what,
                                                 .from = whens[when].from,
                                                 .to = whens[when].to,
                                                 .with = errors[turn % 5]});
                        restart(&s, ranks);
                        run(&s, ranks, &o, status);
                        for (int r = 0; r < ranks; r++)
                            assert_int_equal(status[r], NBCOLL_OK);
                    }
            refused += s.refused;
            close_scene(&s);
        }
    assert_true(refused > 1000);
}

static void a_get_or_put_that_fails_is_the_loss_of_its_peer(void **state)
{
    int refused = 0, turn = 0, lost = 0;
    (void)state;

    for (int way = 0; way < WAYS; way++)
        for (int what = REFUSING_GET; what <= REFUSING_PUT; what++)
            for (int when = 0; when < WHENS; when++)
                for (int late = 0; late < 2; late++)
                    for (int size = turn % 3; size < SIZES; size += 3, turn++) {
                        int ranks = 2 + turn % 3, before = 0;
                        nbcoll_status status[MOST_RANKS];
                        operation o = operation_of(turn, sizes[size], ranks);
                        scene s;
                        open_scene(&s, way, ranks);
                        plan_all(&s, ranks, turn,
                                 (refusing_plan){.what = (refusing_what)what,
                                                 .from = whens[when].from,
                                                 .to = whens[when].to,
                                                 .late = late});
                        run(&s, ranks, &o, status);
                        for (int r = 0; r < ranks; r++) {
                            assert_true(status[r] == NBCOLL_OK || status[r] == NBCOLL_ERR_PEER_LOST);
                            before += status[r] == NBCOLL_ERR_PEER_LOST;
                        }
                        assert_true(s.refused ? before > 0 : before == 0);
                        lost += before;
                        refused += s.refused;
                        close_scene(&s);
                    }
    assert_true(refused > 100 && lost > 100);
}

static void what_cannot_be_exposed_ends_its_operation_and_no_other(void **state)
{
    int refused = 0, turn = 0;
    (void)state;

    for (int ranks = 2; ranks <= MOST_RANKS; ranks++) {
        scene s;
        open_scene(&s, LOOPBACKS - 1, ranks);
        for (int when = 0; when < WHENS; when++)
            for (int size = 0; size < SIZES; size++, turn++) {
                nbcoll_status status[MOST_RANKS];
                operation o = operation_of(turn, sizes[size], ranks);
                int before = s.refused, failed = 0;
                plan_all(&s, ranks, turn,
                         (refusing_plan){.what = REFUSING_READ_BY_PEER,
                                         .from = whens[when].from,
                                         .to = whens[when].to,
                                         .with = errors[turn % 5]});
                restart(&s, ranks);
                run(&s, ranks, &o, status);
                for (int r = 0; r < ranks; r++) {
                    assert_true(status[r] == NBCOLL_OK || status[r] == errors[turn % 5]);
                    failed += status[r] != NBCOLL_OK;
                }
                assert_true((s.refused > before) == (failed > 0));
                plan_all(&s, ranks, turn, (refusing_plan){.what = REFUSING_NOTHING});
                run(&s, ranks, &o, status);
                for (int r = 0; r < ranks; r++)
                    assert_int_equal(status[r], NBCOLL_OK);
            }
        refused += s.refused;
        close_scene(&s);
    }
    assert_true(refused > 50);
}

static void what_cannot_be_viewed_is_got(void **state)
{
    int refused = 0, turn = 0;
    (void)state;

    for (int i = 0; i < 4; i++) { /* half of them copy what they expose to a staging buffer */
        scene s;
        open_scene(&s, LOOPBACKS - 1, MOST_RANKS);
        for (int when = 0; when < WHENS; when++)
            for (int size = 0; size < SIZES; size++, turn++) {
                nbcoll_status status[MOST_RANKS];
                operation o = operation_of(turn, sizes[size], MOST_RANKS);
                plan_all(&s, MOST_RANKS, turn,
                         (refusing_plan){.what = REFUSING_VIEW, .from = whens[when].from, .to = whens[when].to});
                restart(&s, MOST_RANKS);
                run(&s, MOST_RANKS, &o, status);
                for (int r = 0; r < MOST_RANKS; r++)
                    assert_int_equal(status[r], NBCOLL_OK);
            }
        refused += s.refused;
        close_scene(&s);
    }
    assert_true(refused > 50);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_registrations_all_operations_end_well_by_fragments),
        cmocka_unit_test(a_get_or_put_that_fails_is_the_loss_of_its_peer),
        cmocka_unit_test(what_cannot_be_exposed_ends_its_operation_and_no_other),
        cmocka_unit_test(what_cannot_be_viewed_is_got),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
