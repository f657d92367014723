/* SPDX-License-Identifier: BSD-3-Clause
 * Ranks that wait for each other. Where they run different operations, all that have not ended learn it within 200 ms
 * of a clock that the test moves, nothing can be started afterwards, and what had been started before ends as it
 * should. A rank that is late is no mismatch, and is named. Whoever need not ask asks nobody, and a rank that does not
 * answer is asked once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "nbcoll/schedule.h"
#include "nbcoll/trace.h"
#include "layout.h"
#include "operation.h"
#include "world.h"

enum { MS = 1000000, MOST = 4, LIMIT = 200, LARGE = 20000 };

/* ---- a clock that the test moves ------------------------------------------------------------------------------- */

typedef struct scene {
    world w;
    uint64_t clock;
    int silent; /* a rank that computes outside the library, or -1 */
    nbcoll_context_config config;
} scene;

static uint64_t clock_now(void *user)
{
    return ((scene *)user)->clock;
}

/* A millisecond in which all look, but for the one that computes. */
static void pass(scene *s)
{
    s->clock += MS;
    for (int r = 0; r < s->w.ranks; r++)
        if (r != s->silent && s->w.context[r])
            nbcoll_progress(s->w.context[r]);
}

static void pause_for(void *user, uint64_t looks)
{
    (void)looks;
    pass(user);
}

static void scene_open(scene *s, int ranks, int variant, const nbcoll_comm_config *comm)
{
    nbcoll_loopback_config loopback = world_variant(variant, 5);

    s->clock = 1;
    s->silent = -1;
    s->config = (nbcoll_context_config){.size = sizeof s->config,
                                        .host = {.size = sizeof s->config.host, .user = s, .now = clock_now,
                                                 .pause = pause_for}};
    world_open(&s->w, ranks, &loopback, &s->config, comm);
}

/* Looks until all of n requests have ended; returns the milliseconds, or fails after `limit`. */
static int settle(scene *s, size_t n, nbcoll_request q[], nbcoll_status status[], int limit)
{
    for (size_t i = 0; i < n; i++)
        status[i] = NBCOLL_PENDING;
    for (int ms = 0;; ms++) {
        size_t left = 0;
        for (size_t i = 0; i < n; i++) {
            if (status[i] == NBCOLL_PENDING)
                status[i] = nbcoll_test(&q[i]);
            left += status[i] == NBCOLL_PENDING;
        }
        if (!left)
            return ms;
        world_watchdog(&s->w, ms < limit);
        pass(s);
    }
}

static void nothing_starts(scene *s)
{
    nbcoll_failure failure;
    nbcoll_request q;

    for (int i = 0; i < 20; i++)
        pass(s);
    for (int r = 0; r < s->w.ranks; r++) {
        EXPECT(ERR_MISMATCH, nbcoll_ibarrier(s->w.comm[r], &q));
        EXPECT(OK, nbcoll_comm_failure(s->w.comm[r], &failure));
        EXPECT(ERR_MISMATCH, failure.status);
        assert_in_range(failure.rank, 0, s->w.ranks - 1);
    }
}

/* ---- ranks out of step ----------------------------------------------------------------------------------------- */

static int32_t small[MOST][MOST * LARGE], large[MOST][MOST * LARGE];

/* The calls of a rank: `odd` says whether it is the one that differs. Returns how many. */
typedef int calls(nbcoll_comm *comm, int rank, int odd, size_t n, nbcoll_request q[]);

#define ROOTED(name, send, recv)                                                                                       \
    static int name##_with_another_root(nbcoll_comm *comm, int rank, int odd, size_t n, nbcoll_request q[])            \
    {                                                                                                                  \
        EXPECT(OK, nbcoll_i##name(send[rank], recv[rank], n, NBCOLL_INT32, odd ? 1 : 0, comm, q));                     \
        return 1;                                                                                                      \
    }
ROOTED(scatter, large, small)
ROOTED(gather, small, large)

static int bcast_with_another_root(nbcoll_comm *comm, int rank, int odd, size_t n, nbcoll_request q[])
{
    EXPECT(OK, nbcoll_ibcast(small[rank], n, NBCOLL_INT32, odd ? 1 : 0, comm, q));
    return 1;
}

static int reduce_with_another_root(nbcoll_comm *comm, int rank, int odd, size_t n, nbcoll_request q[])
{
    EXPECT(OK, nbcoll_ireduce(small[rank], large[rank], n, NBCOLL_INT32, NBCOLL_SUM, odd ? 1 : 0, comm, q));
    return 1;
}

static int scatter_and_gather(nbcoll_comm *comm, int rank, int odd, size_t n, nbcoll_request q[])
{
    if (odd)
        EXPECT(OK, nbcoll_igather(small[rank], large[rank], n, NBCOLL_INT32, 0, comm, q));
    else
        EXPECT(OK, nbcoll_iscatter(large[rank], small[rank], n, NBCOLL_INT32, 0, comm, q));
    return 1;
}

static int bcast_and_barrier(nbcoll_comm *comm, int rank, int odd, size_t n, nbcoll_request q[])
{
    if (odd)
        EXPECT(OK, nbcoll_ibarrier(comm, q));
    else
        EXPECT(OK, nbcoll_ibcast(small[rank], n, NBCOLL_INT32, 0, comm, q));
    return 1;
}

/* Where memory is shared, the start of the first may show the difference: then the second is refused. */
static int two_in_another_order(nbcoll_comm *comm, int rank, int odd, size_t n, nbcoll_request q[])
{
    for (int i = 0; i < 2; i++) {
        nbcoll_status s = i == odd ? nbcoll_igather(small[rank], large[rank], n, NBCOLL_INT32, 0, comm, &q[i])
                                   : nbcoll_ibarrier(comm, &q[i]);
        if (i && s == NBCOLL_ERR_MISMATCH)
            return 1;
        EXPECT(OK, s);
    }
    return 2;
}

/* The root has nothing to take, or nothing to give: nobody sends first. */
static int gather_without_elements_at_the_root(nbcoll_comm *comm, int rank, int odd, size_t n, nbcoll_request q[])
{
    (void)odd;
    EXPECT(OK, nbcoll_igather(small[rank], large[rank], rank ? n : 0, NBCOLL_INT32, 0, comm, q));
    return 1;
}

static int gather_at_all(nbcoll_comm *comm, int rank, int odd, size_t n, nbcoll_request q[])
{
    (void)odd;
    EXPECT(OK, nbcoll_igather(small[rank], large[rank], n, NBCOLL_INT32, rank, comm, q));
    return 1;
}

static calls *const cases[] = {bcast_with_another_root, scatter_with_another_root, gather_with_another_root,
                               reduce_with_another_root, scatter_and_gather, bcast_and_barrier, two_in_another_order,
                               gather_without_elements_at_the_root, gather_at_all};
enum { CASES = sizeof cases / sizeof cases[0] };

/* Some differences of small operations are over before anything can be compared: each rank that needed nothing more is
 * content. Of large ones each is found. */
static void run_case(calls *make, int ranks, int odd, int variant, size_t n)
{
    nbcoll_request q[2 * MOST];
    nbcoll_status status[2 * MOST];
    size_t made = 0, mismatched = 0;
    scene s;

    scene_open(&s, ranks, variant, NULL);
    for (int r = 0; r < ranks; r++)
        made += (size_t)make(s.w.comm[r], r, r == odd, n, &q[made]);
    settle(&s, made, q, status, LIMIT);
    for (size_t i = 0; i < made; i++) {
        if (status[i] != NBCOLL_OK)
            EXPECT(ERR_MISMATCH, status[i]);
        mismatched += status[i] == NBCOLL_ERR_MISMATCH;
    }
    assert_true(mismatched || n != LARGE);
    if (mismatched)
        nothing_starts(&s);
    world_close(&s.w);
}

static void all_that_have_not_ended_learn_of_a_difference_within_200_ms(void **state)
{
    static const int variants[] = {0, 1, 5, WORLD_SHARED, WORLD_SHARED + 2};
    (void)state;
    for (int k = 0; k < CASES; k++)
        for (int ranks = 2; ranks <= MOST; ranks++)
            for (size_t v = 0; v < sizeof variants / sizeof variants[0]; v++)
                for (int odd = 0; odd < ranks; odd += ranks - 1) {
                    run_case(cases[k], ranks, odd, variants[v], 4);
                    run_case(cases[k], ranks, odd, variants[v], LARGE);
                }
}

/* The second and the third differ; the first is in flight when that is found, and the fourth is started by one only, or
 * refused, if the start of the third has shown the difference. */
static void what_was_started_before_the_difference_ends_well(void **state)
{
    static int32_t data[3][LARGE];
    nbcoll_request q[10];
    nbcoll_status status[10];
    scene s;

    (void)state;
    for (int variant = 0; variant < WORLD_VARIANTS; variant++) {
        scene_open(&s, 3, variant, NULL);
        memset(data, 0, sizeof data);
        for (int i = 0; i < LARGE; i++)
            data[2][i] = i + 1;
        for (int r = 0; r < 3; r++) {
            EXPECT(OK, nbcoll_ibcast(data[r], LARGE, NBCOLL_INT32, 2, s.w.comm[r], &q[r]));
            EXPECT(OK, nbcoll_igather(small[r], large[r], 4, NBCOLL_INT32, r, s.w.comm[r], &q[3 + r]));
            EXPECT(OK, nbcoll_iallreduce(small[r], large[r], 1, NBCOLL_INT32, r ? NBCOLL_SUM : NBCOLL_MAX,
                                         s.w.comm[r], &q[6 + r]));
        }
        nbcoll_status fourth = nbcoll_ibarrier(s.w.comm[1], &q[9]);
        settle(&s, fourth == NBCOLL_OK ? 10 : 9, q, status, LIMIT);
        for (int r = 0; r < 3; r++) {
            EXPECT(OK, status[r]);
            EXPECT(ERR_MISMATCH, status[3 + r]);
            EXPECT(ERR_MISMATCH, status[6 + r]);
            assert_memory_equal(data[r], data[2], sizeof data[2]);
        }
        EXPECT(ERR_MISMATCH, fourth == NBCOLL_OK ? status[9] : fourth);
        nothing_starts(&s);
        world_close(&s.w);
    }
}

/* ---- differences that end well --------------------------------------------------------------------------------- */

enum { WARM = 6 };

/* What a rank passes to a rooted operation and to an allreduce, and persistent requests for both. */
typedef struct two_calls {
    share s[2];
    nbcoll_request q[2];
} two_calls;

/* Both again and again, alike on all ranks, so that they go the short ways. */
static void warm_up(scene *s, two_calls c[])
{
    for (int i = 0; i < 2 * WARM; i++) {
        nbcoll_request q[MOST];
        nbcoll_status status[MOST];
        for (int r = 0; r < s->w.ranks; r++) {
            q[r] = c[r].q[i % 2];
            EXPECT(OK, nbcoll_start(&q[r]));
        }
        settle(s, (size_t)s->w.ranks, q, status, LIMIT);
        for (int r = 0; r < s->w.ranks; r++)
            EXPECT(OK, status[r]);
    }
}

/* `rooted` with another root at the odd rank, then the allreduce, which fails on all, if it can be started. */
static void run_two(const operation *rooted, int ranks, int odd, int variant, int is_warm)
{
    two_calls c[MOST];
    nbcoll_request q[MOST];
    nbcoll_status status[MOST];
    operation all = {.what = NBCOLL_OPERATION_ALLREDUCE, .count = 1, .how = {NBCOLL_INT64, NBCOLL_SUM}, .seed = 2};
    size_t started = 0;
    scene s;

    scene_open(&s, ranks, variant, NULL);
    for (int r = 0; r < ranks; r++) {
        c[r] = (two_calls){.s = {share_make(rooted, r, ranks), share_make(&all, r, ranks)}};
        EXPECT(OK, operation_init(rooted, &c[r].s[0], s.w.comm[r], &c[r].q[0]));
        EXPECT(OK, operation_init(&all, &c[r].s[1], s.w.comm[r], &c[r].q[1]));
    }
    if (is_warm)
        warm_up(&s, c);
    for (int r = 0; r < ranks; r++) {
        operation mine = *rooted;
        mine.root = r == odd;
        share_free(&c[r].s[0]);
        c[r].s[0] = share_make(&mine, r, ranks);
        EXPECT(OK, operation_start(&mine, &c[r].s[0], s.w.comm[r], &q[r]));
    }
    settle(&s, (size_t)ranks, q, status, LIMIT);
    for (int r = 0; r < ranks; r++) {
        nbcoll_status second = nbcoll_start(&c[r].q[1]);
        if (second == NBCOLL_OK)
            q[started++] = c[r].q[1];
        else
            EXPECT(ERR_MISMATCH, second);
    }
    settle(&s, started, q, status, LIMIT);
    for (size_t i = 0; i < started; i++)
        EXPECT(ERR_MISMATCH, status[i]);
    for (int r = 0; r < ranks; r++)
        for (int i = 0; i < 2; i++) {
            EXPECT(OK, nbcoll_request_free(&c[r].q[i]));
            share_free(&c[r].s[i]);
        }
    world_close(&s.w);
}

static void a_difference_that_ends_well_is_found_with_the_next_exchange(void **state)
{
    static const nbcoll_operation rooted[] = {NBCOLL_OPERATION_BCAST, NBCOLL_OPERATION_SCATTER,
                                              NBCOLL_OPERATION_GATHER, NBCOLL_OPERATION_REDUCE};
    (void)state;
    for (int k = 0; k < 4; k++)
        for (int ranks = 2; ranks <= MOST; ranks++)
            for (int odd = 0; odd < ranks; odd++)
                for (int variant = 0; variant < WORLD_VARIANTS; variant++) {
                    operation o = {.what = rooted[k], .count = variant % 2 ? 1 : LARGE,
                                   .how = {NBCOLL_INT64, NBCOLL_SUM}, .seed = 1};
                    run_two(&o, ranks, odd, variant, 0);
                    o.count = 1;
                    run_two(&o, ranks, odd, variant, 1);
                }
}

/* The odd rank calls something else: all are told in that operation, and no buffer has been written to. */
static void run_checked(const operation *common, const operation *other, int ranks, int odd, int variant)
{
    nbcoll_comm_config config = NBCOLL_COMM_DEFAULTS;
    nbcoll_request q[MOST];
    nbcoll_status status[MOST];
    share sh[MOST];
    void *before[MOST];
    scene s;

    config.flags = NBCOLL_CHECKED;
    scene_open(&s, ranks, variant, &config);
    for (int r = 0; r < ranks; r++) {
        const operation *o = r == odd ? other : common;
        size_t bytes = extent(o, r, RECV, ranks) * sizeof(int64_t);
        sh[r] = share_make(o, r, ranks);
        before[r] = malloc(bytes + 1);
        memcpy(before[r], sh[r].recv ? sh[r].recv : "", sh[r].recv ? bytes : 0);
        EXPECT(OK, operation_start(o, &sh[r], s.w.comm[r], &q[r]));
    }
    settle(&s, (size_t)ranks, q, status, LIMIT);
    for (int r = 0; r < ranks; r++) {
        const operation *o = r == odd ? other : common;
        EXPECT(ERR_MISMATCH, status[r]);
        if (sh[r].recv)
            assert_memory_equal(sh[r].recv, before[r], extent(o, r, RECV, ranks) * sizeof(int64_t));
        free(before[r]);
        share_free(&sh[r]);
    }
    world_close(&s.w);
}

static void a_checked_communicator_tells_all_before_data_moves(void **state)
{
    (void)state;
    for (int what = NBCOLL_OPERATION_BCAST; what < NBCOLL_OPERATION_COUNT; what++)
        for (int ranks = 2; ranks <= MOST; ranks++)
            for (int variant = 0; variant < WORLD_VARIANTS; variant++) {
                operation common = {.what = (nbcoll_operation)what, .count = variant % 2 ? 2 : 5000,
                                    .how = {NBCOLL_INT64, NBCOLL_SUM}, .seed = 1};
                operation other = common;
                if (has_root(common.what))
                    other.root = 1;
                else if (is_v(common.what))
                    other.what = NBCOLL_OPERATION_ALLGATHER;
                else
                    other.count++;
                run_checked(&common, &other, ranks, variant % ranks, variant);
            }
}

static void a_checked_communicator_does_what_others_do(void **state)
{
    nbcoll_comm_config config = NBCOLL_COMM_DEFAULTS;
    nbcoll_request q[MOST];
    nbcoll_status status[MOST];
    share sh[MOST];
    scene s;

    (void)state;
    config.flags = NBCOLL_CHECKED;
    for (int variant = 0; variant < WORLD_VARIANTS; variant++) {
        int ranks = 2 + variant % 3;
        scene_open(&s, ranks, variant, &config);
        for (int what = 0; what < NBCOLL_OPERATION_COUNT; what++)
            for (size_t count = 0; count <= 5000; count = 10 * count + 5) {
                operation o = {.what = (nbcoll_operation)what, .count = count, .how = {NBCOLL_INT64, NBCOLL_SUM},
                               .seed = count + 1};
                for (int r = 0; r < ranks; r++) {
                    sh[r] = share_make(&o, r, ranks);
                    EXPECT(OK, operation_start(&o, &sh[r], s.w.comm[r], &q[r]));
                }
                settle(&s, (size_t)ranks, q, status, LIMIT);
                for (int r = 0; r < ranks; r++) {
                    EXPECT(OK, status[r]);
                    operation_check(&o, &sh[r], r, ranks);
                    share_free(&sh[r]);
                }
            }
        world_close(&s.w);
    }
}

/* What ranks may say differently, and what became of an operation, is no difference. */
static void what_may_differ_from_rank_to_rank_leaves_no_trace(void **state)
{
    nbcoll_request q[MOST];
    nbcoll_status status[MOST];
    scene s;

    (void)state;
    for (int variant = 0; variant < WORLD_VARIANTS; variant++) {
        scene_open(&s, 3, variant, NULL);
        for (int i = 0; i < 4; i++) {
            for (int r = 0; r < 3; r++) /* a type */
                EXPECT(OK, r ? nbcoll_ibcast(small[r], 4, NBCOLL_INT32, 0, s.w.comm[r], &q[r])
                             : nbcoll_ibcast(small[r], 16, NBCOLL_BYTE, 0, s.w.comm[r], &q[r]));
            settle(&s, 3, q, status, LIMIT);
            for (int r = 0; r < 3; r++) /* in place */
                EXPECT(OK, nbcoll_iallgather(r == i % 3 ? NBCOLL_IN_PLACE : small[r], large[r], 4, NBCOLL_INT32,
                                             s.w.comm[r], &q[r]));
            settle(&s, 3, q, status, LIMIT);
            for (int r = 0; r < 3; r++) { /* counts of one's own */
                size_t counts[3] = {(size_t)i, 1, 2}, displs[3] = {0, 8, 16};
                EXPECT(OK, nbcoll_igatherv(small[r], counts[r], r ? NULL : large[r], r ? NULL : counts,
                                           r ? NULL : displs, NBCOLL_INT32, 0, s.w.comm[r], &q[r]));
            }
            settle(&s, 3, q, status, LIMIT);
            for (int r = 0; r < 3; r++) /* who cancels, and when the others have begun */
                if (r != 2)
                    EXPECT(OK, nbcoll_ibarrier(s.w.comm[r], &q[r]));
            EXPECT(OK, nbcoll_cancel(q[i % 2]));
            settle(&s, 2, q, status, LIMIT);
            EXPECT(ERR_CANCELLED, status[0]);
            nbcoll_status late = nbcoll_ibarrier(s.w.comm[2], &q[2]);
            EXPECT(OK, late);
            settle(&s, 1, &q[2], &status[2], LIMIT);
            assert_true(status[2] == NBCOLL_ERR_CANCELLED || status[2] == NBCOLL_OK); /* all had come, for it */
            for (int r = 0; r < 3; r++)
                EXPECT(OK, nbcoll_iallreduce(small[r], large[r], 4, NBCOLL_INT32, NBCOLL_SUM, s.w.comm[r], &q[r]));
            settle(&s, 3, q, status, LIMIT);
            for (int r = 0; r < 3; r++)
                EXPECT(OK, status[r]);
        }
        world_close(&s.w);
    }
}

/* ---- schedules of a program's own ------------------------------------------------------------------------------ */

enum { IDLES, SENDS, RECEIVES };

static nbcoll_schedule *own_schedule(int rank, int does, uint32_t fingerprint)
{
    nbcoll_builder_config config = {.size = sizeof config, .rank = rank, .ranks = 2};
    nbcoll_schedule *s = NULL;
    nbcoll_builder *b = NULL;

    EXPECT(OK, nbcoll_builder_open(&config, &b));
    nbcoll_set_fingerprint(b, fingerprint);
    if (does == RECEIVES)
        nbcoll_add_recv(b, 1 - rank, (nbcoll_addr){NBCOLL_BUFFER_RECV, 0}, 4);
    if (does == SENDS)
        nbcoll_add_send(b, 1 - rank, (nbcoll_addr){NBCOLL_BUFFER_SEND, 0}, 4);
    EXPECT(OK, nbcoll_builder_finish(b, &s));
    return s;
}

/* Rank 0 waits for rank 1, which has ended `ahead` operations, none of which sends. */
static nbcoll_status wait_for_one_that_has_ended(uint32_t fingerprint, int ahead)
{
    nbcoll_schedule *receiver = own_schedule(0, RECEIVES, fingerprint), *idle = own_schedule(1, IDLES, fingerprint);
    nbcoll_request q, other;
    nbcoll_status status;
    scene s;

    scene_open(&s, 2, 0, NULL);
    for (int i = 0; i < ahead; i++) {
        EXPECT(OK, nbcoll_schedule_start(idle, NULL, NULL, s.w.comm[1], &other));
        EXPECT(OK, nbcoll_test(&other));
    }
    EXPECT(OK, nbcoll_schedule_start(receiver, NULL, small[0], s.w.comm[0], &q));
    for (int ms = 0; ms < LIMIT && (status = nbcoll_test(&q)) == NBCOLL_PENDING; ms++)
        pass(&s);
    if (status == NBCOLL_PENDING) {
        EXPECT(OK, nbcoll_cancel(q));
        settle(&s, 1, &q, &status, LIMIT);
    }
    nbcoll_schedule_free(receiver);
    nbcoll_schedule_free(idle);
    world_close(&s.w);
    return status;
}

static void a_rank_that_ended_without_sending_is_out_of_step_unless_its_fingerprint_says_that_it_has(void **state)
{
    (void)state;
    EXPECT(ERR_MISMATCH, wait_for_one_that_has_ended(0, 1));   /* no fingerprint */
    EXPECT(ERR_MISMATCH, wait_for_one_that_has_ended(7, 100)); /* forgotten */
    EXPECT(ERR_CANCELLED, wait_for_one_that_has_ended(7, 1));  /* what it has sent is on its way */
}

static void who_waits_for_a_rank_that_has_freed_the_communicator_is_told(void **state)
{
    nbcoll_comm *twin[2];
    nbcoll_request q[2];
    nbcoll_status status;
    scene s;

    (void)state;
    for (int variant = 0; variant < WORLD_VARIANTS; variant++) {
        scene_open(&s, 2, variant, NULL);
        for (int r = 0; r < 2; r++)
            EXPECT(OK, nbcoll_comm_idup(s.w.comm[r], &twin[r], &q[r]));
        world_finish(&s.w, 2, q);
        EXPECT(OK, nbcoll_comm_free(twin[1]));
        EXPECT(OK, nbcoll_ibarrier(twin[0], &q[0]));
        settle(&s, 1, q, &status, LIMIT);
        EXPECT(ERR_MISMATCH, status);
        world_close(&s.w);
    }
}

/* Rank 1 sends to rank 2, which answers that it has freed it; rank 0 waits for rank 1 alone. */
static void who_waits_for_one_that_a_rank_without_the_communicator_has_answered_is_told(void **state)
{
    nbcoll_builder_config config = {.size = sizeof config, .ranks = 3};
    nbcoll_schedule *schedule[2];
    nbcoll_comm *twin[3];
    nbcoll_request q[3];
    nbcoll_status status[2];
    nbcoll_builder *b;
    scene s;

    (void)state;
    scene_open(&s, 3, 0, NULL);
    for (int r = 0; r < 3; r++)
        EXPECT(OK, nbcoll_comm_idup(s.w.comm[r], &twin[r], &q[r]));
    world_finish(&s.w, 3, q);
    EXPECT(OK, nbcoll_comm_free(twin[2]));
    for (config.rank = 0; config.rank < 2; config.rank++) {
        EXPECT(OK, nbcoll_builder_open(&config, &b));
        nbcoll_add_recv(b, config.rank + 1, (nbcoll_addr){NBCOLL_BUFFER_RECV, 0}, 4);
        if (config.rank)
            nbcoll_add_send(b, 2, (nbcoll_addr){NBCOLL_BUFFER_SEND, 0}, 4);
        EXPECT(OK, nbcoll_builder_finish(b, &schedule[config.rank]));
        EXPECT(OK, nbcoll_schedule_start(schedule[config.rank], small[0], large[config.rank], twin[config.rank],
                                         &q[config.rank]));
    }
    settle(&s, 2, q, status, LIMIT);
    for (int r = 0; r < 2; r++) {
        EXPECT(ERR_MISMATCH, status[r]);
        nbcoll_schedule_free(schedule[r]);
    }
    world_close(&s.w);
}

/* Rank 0 exposes to all, and would write again where rank 2 has not read. */
static void who_waits_until_one_has_read_that_has_freed_the_communicator_is_told(void **state)
{
    nbcoll_comm_config config = {.size = sizeof config, .slots = 1, .cells = 4, .schedules = 4, .eager = 256};
    nbcoll_comm *twin[3];
    nbcoll_request q[3];
    nbcoll_status status[2];
    scene s;

    (void)state;
    scene_open(&s, 3, WORLD_SHARED, &config);
    for (int r = 0; r < 3; r++)
        EXPECT(OK, nbcoll_comm_idup(s.w.comm[r], &twin[r], &q[r]));
    world_finish(&s.w, 3, q);
    EXPECT(OK, nbcoll_comm_free(twin[2]));
    for (int i = 1; i <= 2; i++) {
        small[0][0] = i;
        for (int r = 0; r < 2; r++)
            EXPECT(OK, nbcoll_ibcast(small[r], 1, NBCOLL_INT32, 0, twin[r], &q[r]));
        settle(&s, 2, q, status, LIMIT);
        for (int r = 0; r < 2; r++)
            assert_int_equal(status[r], i == 1 ? NBCOLL_OK : NBCOLL_ERR_MISMATCH);
        assert_int_equal(small[1][0], 1);
    }
    world_close(&s.w);
}

/* Rank 2 leaves; rank 1, whose gather needs it, frees the communicator; rank 0 waits for rank 1 in what follows. */
static void who_waits_for_a_rank_that_has_freed_the_communicator_after_a_loss_is_told_of_the_loss(void **state)
{
    nbcoll_request q[3];
    nbcoll_status status[2];
    nbcoll_failure failure;
    scene s;

    (void)state;
    for (int variant = 0; variant < WORLD_VARIANTS; variant++) {
        scene_open(&s, 3, variant, NULL);
        for (int r = 0; r < 2; r++)
            EXPECT(OK, nbcoll_igather(small[r], large[r], 1, NBCOLL_INT32, 1, s.w.comm[r], &q[r]));
        settle(&s, 1, &q[0], &status[0], LIMIT);
        EXPECT(OK, status[0]);
        EXPECT(OK, nbcoll_context_free(s.w.context[2]));
        s.w.context[2] = NULL;
        settle(&s, 1, &q[1], &status[1], LIMIT);
        EXPECT(ERR_PEER_LOST, status[1]);
        EXPECT(OK, nbcoll_comm_free(s.w.comm[1]));
        EXPECT(OK, nbcoll_ibcast(small[0], 1, NBCOLL_INT32, 1, s.w.comm[0], &q[0]));
        settle(&s, 1, &q[0], &status[0], LIMIT);
        EXPECT(ERR_PEER_LOST, status[0]);
        EXPECT(OK, nbcoll_comm_failure(s.w.comm[0], &failure));
        EXPECT(ERR_PEER_LOST, failure.status);
        world_close(&s.w);
    }
}

/* ---- messages under way ---------------------------------------------------------------------------------------- */

/* The transport of a rank to which nothing is delivered for a while. */
static const nbcoll_transport *loopback;
static int is_held;

static void held_progress(nbcoll_endpoint *ep, nbcoll_completions *found)
{
    if (!is_held)
        loopback->progress(ep, found);
}

/* Two ranks that share memory; what is sent to rank 0 can be held. */
static void scene_open_held(scene *s)
{
    static nbcoll_transport held;
    nbcoll_loopback_config config = world_variant(WORLD_SHARED, 5);
    nbcoll_request q[2];

    *s = (scene){.clock = 1, .silent = -1, .config = {.size = sizeof s->config,
                 .host = {.size = sizeof s->config.host, .user = s, .now = clock_now, .pause = pause_for}}};
    world_open_contexts(&s->w, 2, &config, &s->config);
    loopback = s->w.endpoint[0]->transport;
    held = *loopback;
    held.progress = held_progress;
    s->w.endpoint[0]->transport = &held;
    for (int r = 0; r < 2; r++)
        EXPECT(OK, nbcoll_comm_icreate(s->w.context[r], s->w.endpoint[r], NULL, &s->w.comm[r], &q[r]));
    world_finish(&s->w, 2, q);
}

/* Rank 1 shares memory: rank 0 reads there that it has ended the operation, and has started so many since that it no
 * longer knows which one that was, or knows a schedule without a fingerprint. */
static void what_an_ended_rank_has_sent_may_be_under_way(void **state)
{
    (void)state;
    for (uint32_t fingerprint = 0; fingerprint < 2; fingerprint++)
        for (int later = 0; later <= 40; later += 40) {
            nbcoll_schedule *schedule[] = {own_schedule(0, RECEIVES, fingerprint), own_schedule(1, SENDS, fingerprint),
                                           own_schedule(1, IDLES, fingerprint)};
            nbcoll_request q, other;
            nbcoll_status status;
            scene s;

            scene_open_held(&s);
            is_held = 1;
            for (int i = 0; i <= later; i++) {
                EXPECT(OK, nbcoll_schedule_start(schedule[i ? 2 : 1], small[1], NULL, s.w.comm[1], &other));
                EXPECT(OK, nbcoll_test(&other));
            }
            EXPECT(OK, nbcoll_schedule_start(schedule[0], NULL, small[0], s.w.comm[0], &q));
            for (int ms = 0; ms < 10 * LIMIT; ms++) {
                pass(&s);
                EXPECT(PENDING, nbcoll_test(&q));
            }
            is_held = 0;
            settle(&s, 1, &q, &status, LIMIT);
            EXPECT(OK, status);
            for (int i = 0; i < 3; i++)
                nbcoll_schedule_free(schedule[i]);
            world_close(&s.w);
        }
}

/* ---- late ranks ------------------------------------------------------------------------------------------------ */

static void expect_text(const nbcoll_failure *failure, const char *wanted)
{
    char text[120], cut[5];
    size_t length = nbcoll_failure_text(failure, text, sizeof text);

    assert_string_equal(text, wanted);
    assert_int_equal(length, strlen(wanted));
    assert_int_equal(nbcoll_failure_text(failure, cut, sizeof cut), length);
    assert_int_equal(strlen(cut), sizeof cut - 1);
    assert_int_equal(nbcoll_failure_text(failure, NULL, 0), length);
}

/* In the barrier rank 0 does not wait for rank 3 itself, but for ranks that wait for it. */
static void a_late_rank_is_no_mismatch_and_the_deadline_names_it(void **state)
{
    nbcoll_request q[8];
    nbcoll_status status[8];
    nbcoll_failure failure;
    char wanted[100];
    scene s;

    (void)state;
    for (int variant = 0; variant < WORLD_VARIANTS; variant++) {
        scene_open(&s, 8, variant, NULL);
        for (int r = 0; r < 8; r++)
            if (r != 3)
                EXPECT(OK, nbcoll_ibarrier(s.w.comm[r], &q[r]));
        EXPECT(ERR_TIMEOUT, nbcoll_wait(&q[0], (uint64_t)2000 * MS));
        EXPECT(OK, nbcoll_comm_failure(s.w.comm[0], &failure));
        EXPECT(ERR_TIMEOUT, failure.status);
        assert_int_equal(failure.rank, 3);
        assert_int_equal(failure.position, NBCOLL_POSITION_NOT_STARTED);
        snprintf(wanted, sizeof wanted, "rank 3 has not started operation %d", (int)failure.tag);
        expect_text(&failure, wanted);
        EXPECT(OK, nbcoll_ibarrier(s.w.comm[3], &q[3]));
        settle(&s, 8, q, status, LIMIT);
        for (int r = 0; r < 8; r++)
            EXPECT(OK, status[r]);
        world_close(&s.w);
    }
}

enum { MEMBERS = 3, AHEAD = 300, STEP = 5, LATENESS = 400 };

/* Where a rank of the next test is in its program: `left` operations, one after the other, then a barrier. */
typedef struct walk {
    int left;
    share s;
    nbcoll_request q;
    nbcoll_status status;
} walk;

static void walk_on(walk *k, const operation *o, nbcoll_comm *comm)
{
    while (k->left >= 0 && (k->status = nbcoll_test(&k->q)) != NBCOLL_PENDING) {
        EXPECT(OK, k->status);
        if (--k->left > 0)
            EXPECT(OK, operation_start(o, &k->s, comm, &k->q));
        else if (k->left == 0)
            EXPECT(OK, nbcoll_ibarrier(comm, &k->q));
    }
}

/* Ranks that can get ahead of the late one do so by up to `ahead` operations, and then wait. */
static void run_late(scene *s, const operation *o, int late, int ahead)
{
    walk k[MEMBERS];

    for (int r = 0; r < MEMBERS; r++) {
        k[r] = (walk){.left = ahead, .s = share_make(o, r, MEMBERS)};
        if (r != late)
            EXPECT(OK, operation_start(o, &k[r].s, s->w.comm[r], &k[r].q));
    }
    for (int ms = 0, left = 1; left; ms += STEP) {
        world_watchdog(&s->w, ms < 20 * LATENESS);
        s->clock += (STEP - 1) * MS;
        pass(s);
        if (ms == LATENESS)
            EXPECT(OK, operation_start(o, &k[late].s, s->w.comm[late], &k[late].q));
        left = 0;
        for (int r = 0; r < MEMBERS; r++)
            if (r != late || ms >= LATENESS) {
                walk_on(&k[r], o, s->w.comm[r]);
                left += k[r].left >= 0;
            } else
                left++;
    }
    for (int r = 0; r < MEMBERS; r++) {
        operation_check(o, &k[r].s, r, MEMBERS);
        share_free(&k[r].s);
    }
}

static void however_far_others_are_ahead_a_late_rank_is_no_mismatch(void **state)
{
    static const int variants[] = {0, 4, 6, WORLD_SHARED, WORLD_SHARED + 2}, aheads[] = {20, 70, AHEAD};
    scene s;

    (void)state;
    for (size_t v = 0; v < sizeof variants / sizeof variants[0]; v++)
        for (int what = 0; what < NBCOLL_OPERATION_COUNT; what++)
            for (int late = 0; late < MEMBERS; late++) {
                operation o = {.what = (nbcoll_operation)what, .count = 1, .how = {NBCOLL_INT64, NBCOLL_SUM},
                               .root = has_root((nbcoll_operation)what) && late == 2 ? 1 : 0, .seed = 1};
                scene_open(&s, MEMBERS, variants[v], NULL);
                for (int i = 0; i < 3; i++)
                    run_late(&s, &o, late, aheads[i]);
                world_close(&s.w);
            }
}

/* Without shared memory a rank that computes says nothing. */
static void a_silent_rank_is_named_as_silent(void **state)
{
    nbcoll_request q[2];
    nbcoll_failure failure;
    char wanted[100];
    scene s;

    (void)state;
    for (int shares = 0; shares < 2; shares++) {
        scene_open(&s, 2, shares ? WORLD_SHARED : 0, NULL);
        s.silent = 1;
        EXPECT(OK, nbcoll_ibarrier(s.w.comm[0], &q[0]));
        EXPECT(ERR_TIMEOUT, nbcoll_wait(&q[0], (uint64_t)500 * MS));
        EXPECT(OK, nbcoll_last_failure(s.w.context[0], &failure));
        assert_int_equal(failure.rank, 1);
        assert_int_equal(failure.position, shares ? NBCOLL_POSITION_NOT_STARTED : NBCOLL_POSITION_UNKNOWN);
        snprintf(wanted, sizeof wanted,
                 shares ? "rank 1 has not started operation %d"
                        : "operation %d waits for rank 1, which has not said where it is",
                 (int)failure.tag);
        expect_text(&failure, wanted);
        s.silent = -1;
        EXPECT(OK, nbcoll_ibarrier(s.w.comm[1], &q[1]));
        world_finish(&s.w, 2, q);
        world_close(&s.w);
    }
}

static void what_a_failure_was_about_is_said_in_words(void **state)
{
    nbcoll_failure f = {.status = NBCOLL_ERR_PEER_LOST, .rank = 2, .tag = 9};

    (void)state;
    expect_text(&f, "rank 2 was lost, or has left, before the end of operation 9");
    f.status = NBCOLL_ERR_CANCELLED;
    expect_text(&f, "rank 2 cancelled operation 9");
    f.status = NBCOLL_ERR_MISMATCH;
    expect_text(&f, "rank 2 called something else as operation 9");
    f.status = NBCOLL_ERR_CALL;
    expect_text(&f, "rank 2 had a host function that failed in operation 9");
    f.status = NBCOLL_ERR_NO_SLOT;
    f.position = NBCOLL_POSITION_NOT_STARTED;
    expect_text(&f, "no slot is free: rank 2 has not started operation 9");
    f.position = NBCOLL_POSITION_ACTIVE;
    expect_text(&f, "no slot is free: operation 9 waits for rank 2, which has started it and not ended it");
    f = (nbcoll_failure){.status = NBCOLL_OK, .rank = -1};
    expect_text(&f, "success");
    assert_int_equal(nbcoll_failure_text(NULL, NULL, 0), 0);
}

/* ---- the messages that it costs -------------------------------------------------------------------------------- */

typedef struct traced {
    scene s;
    int posts[2];
} traced;

static void count_posts(void *user, const nbcoll_trace_event *event)
{
    if (event->call == NBCOLL_TRACE_POST || event->call == NBCOLL_TRACE_LINE)
        ((traced *)user)->posts[event->rank]++;
}

static void traced_open(traced *t)
{
    nbcoll_trace_config trace = {.size = sizeof trace, .user = t, .event = count_posts};
    nbcoll_request q[2];
    nbcoll_status status[2];
    scene *s = &t->s;

    *t = (traced){.s = {.silent = -1, .clock = 1}};
    s->config = (nbcoll_context_config){.size = sizeof s->config,
                                        .host = {.size = sizeof s->config.host, .user = s, .now = clock_now,
                                                 .pause = pause_for}};
    world_open_contexts(&s->w, 2, NULL, &s->config);
    for (int r = 0; r < 2; r++) {
        EXPECT(OK, nbcoll_trace_open(&trace, s->w.endpoint[r], &s->w.endpoint[r]));
        EXPECT(OK, nbcoll_comm_icreate(s->w.context[r], s->w.endpoint[r], NULL, &s->w.comm[r], &q[r]));
    }
    settle(s, 2, q, status, LIMIT);
    t->posts[0] = t->posts[1] = 0;
}

static void nobody_asks_in_an_operation_that_goes_well(void **state)
{
    nbcoll_request q[2];
    nbcoll_status status[2];
    traced t;

    (void)state;
    traced_open(&t);
    for (int i = -3; i < 100; i++) {
        if (i == 0) /* what is sent each time goes as lines by now */
            t.posts[0] = t.posts[1] = 0;
        EXPECT(OK, nbcoll_ibarrier(t.s.w.comm[0], &q[0]));
        for (int ms = 0; ms < 30; ms++) /* the other one comes a little later */
            pass(&t.s);
        EXPECT(OK, nbcoll_ibarrier(t.s.w.comm[1], &q[1]));
        settle(&t.s, 2, q, status, LIMIT);
    }
    assert_int_equal(t.posts[0], 100);
    assert_int_equal(t.posts[1], 100);
    world_close(&t.s.w);
}

static void a_rank_that_does_not_answer_is_asked_once(void **state)
{
    nbcoll_request q[2];
    nbcoll_status status[2];
    traced t;

    (void)state;
    traced_open(&t);
    EXPECT(OK, nbcoll_ibarrier(t.s.w.comm[0], &q[0]));
    t.s.silent = 1;
    for (int ms = 0; ms < 10000; ms++)
        pass(&t.s);
    assert_int_equal(t.posts[0], 2);
    t.s.silent = -1;
    EXPECT(OK, nbcoll_ibarrier(t.s.w.comm[1], &q[1]));
    settle(&t.s, 2, q, status, LIMIT);
    EXPECT(OK, status[0]);
    world_close(&t.s.w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_that_have_not_ended_learn_of_a_difference_within_200_ms),
        cmocka_unit_test(what_was_started_before_the_difference_ends_well),
        cmocka_unit_test(a_difference_that_ends_well_is_found_with_the_next_exchange),
        cmocka_unit_test(a_checked_communicator_tells_all_before_data_moves),
        cmocka_unit_test(a_checked_communicator_does_what_others_do),
        cmocka_unit_test(what_may_differ_from_rank_to_rank_leaves_no_trace),
        cmocka_unit_test(a_rank_that_ended_without_sending_is_out_of_step_unless_its_fingerprint_says_that_it_has),
        cmocka_unit_test(what_an_ended_rank_has_sent_may_be_under_way),
        cmocka_unit_test(who_waits_for_a_rank_that_has_freed_the_communicator_is_told),
        cmocka_unit_test(who_waits_for_one_that_a_rank_without_the_communicator_has_answered_is_told),
        cmocka_unit_test(who_waits_for_a_rank_that_has_freed_the_communicator_after_a_loss_is_told_of_the_loss),
        cmocka_unit_test(who_waits_until_one_has_read_that_has_freed_the_communicator_is_told),
        cmocka_unit_test(a_late_rank_is_no_mismatch_and_the_deadline_names_it),
        cmocka_unit_test(however_far_others_are_ahead_a_late_rank_is_no_mismatch),
        cmocka_unit_test(a_silent_rank_is_named_as_silent),
        cmocka_unit_test(what_a_failure_was_about_is_said_in_words),
        cmocka_unit_test(nobody_asks_in_an_operation_that_goes_well),
        cmocka_unit_test(a_rank_that_does_not_answer_is_asked_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
