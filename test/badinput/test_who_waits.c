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
#include <string.h>

#include <cmocka.h>

#include "nbcoll/schedule.h"
#include "nbcoll/trace.h"
#include "layout.h"
#include "operation.h"
#include "scene.h"

enum { MS = SCENE_MS, MOST = 4, LIMIT = 200, LARGE = 20000 };

static void nothing_starts(scene *s)
{
    nbcoll_failure failure;
    nbcoll_request q;

    scene_passes(s, 20);
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
    scene_settle(&s, made, q, status, LIMIT);
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
        scene_settle(&s, fourth == NBCOLL_OK ? 10 : 9, q, status, LIMIT);
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
        scene_pass(&s);
    if (status == NBCOLL_PENDING) {
        EXPECT(OK, nbcoll_cancel(q));
        scene_settle(&s, 1, &q, &status, LIMIT);
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

/* Duplicates of the communicators, of which the last rank has freed its own. */
static void twins_but_one(scene *s, nbcoll_comm *twin[])
{
    nbcoll_request q[MOST];

    for (int r = 0; r < s->w.ranks; r++)
        EXPECT(OK, nbcoll_comm_idup(s->w.comm[r], &twin[r], &q[r]));
    world_finish(&s->w, (size_t)s->w.ranks, q);
    EXPECT(OK, nbcoll_comm_free(twin[s->w.ranks - 1]));
}

/* Who calls on the duplicate hears that the last rank has freed it. */
static void it_is_said_who_has_freed(scene *s, nbcoll_comm *twin, int tag)
{
    nbcoll_failure failure;
    char wanted[100];

    EXPECT(OK, nbcoll_comm_failure(twin, &failure));
    EXPECT(ERR_MISMATCH, failure.status);
    assert_int_equal(failure.rank, s->w.ranks - 1);
    assert_int_equal(failure.position, NBCOLL_POSITION_FREED);
    snprintf(wanted, sizeof wanted, "operation %d waits for rank %d, which has freed the communicator", tag,
             s->w.ranks - 1);
    failure_says(&failure, wanted);
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
        twins_but_one(&s, twin);
        EXPECT(OK, nbcoll_ibarrier(twin[0], &q[0]));
        scene_settle(&s, 1, q, &status, LIMIT);
        EXPECT(ERR_MISMATCH, status);
        it_is_said_who_has_freed(&s, twin[0], 0);
        world_close(&s.w);
    }
}

/* It has got a message before. */
static void who_has_sent_to_a_rank_that_then_frees_the_communicator_is_told(void **state)
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
        EXPECT(OK, nbcoll_ibarrier(twin[0], &q[0]));
        scene_passes(&s, 5);
        EXPECT(OK, nbcoll_comm_free(twin[1]));
        scene_settle(&s, 1, q, &status, LIMIT);
        EXPECT(ERR_MISMATCH, status);
        it_is_said_who_has_freed(&s, twin[0], 0);
        world_close(&s.w);
    }
}

/* It votes for another one, in which rank 0 does not join before it is told: that vote is kept, and holds a credit. */
static void who_waits_for_a_rank_that_is_making_another_communicator_is_told(void **state)
{
    nbcoll_comm_config config = NBCOLL_COMM_DEFAULTS;
    nbcoll_comm *twin[2], *next[2];
    nbcoll_request q[2];
    nbcoll_status status;
    scene s;

    (void)state;
    config.eager = 256;
    for (int i = 0; i < 3 * WORLD_VARIANTS; i++) {
        int sends = i % 3 && i / 3 < WORLD_SHARED; /* else a broadcast ends when it is shown */
        int cancels = sends && i % 3 == 2;         /* then it still waits for an answer */
        scene_open(&s, 2, i / 3, &config);
        twins_but_one(&s, twin);
        EXPECT(OK, nbcoll_comm_idup(s.w.comm[1], &next[1], &q[1]));
        scene_passes(&s, 5);
        if (sends)
            EXPECT(OK, nbcoll_ibcast(large[0], LARGE, NBCOLL_INT32, 0, twin[0], &q[0]));
        else
            EXPECT(OK, nbcoll_ibarrier(twin[0], &q[0]));
        scene_passes(&s, 5);
        if (cancels)
            EXPECT(OK, nbcoll_cancel(q[0]));
        scene_settle(&s, 1, q, &status, LIMIT);
        assert_int_equal(status, cancels ? NBCOLL_ERR_CANCELLED : NBCOLL_ERR_MISMATCH);
        EXPECT(OK, nbcoll_comm_idup(s.w.comm[0], &next[0], &q[0]));
        world_finish(&s.w, 2, q);
        world_close(&s.w);
    }
}

/* Its sends had no credit once, and went when they were asked for. */
static void who_waits_for_a_rank_that_has_stalled_before_is_told(void **state)
{
    enum { AHEAD = 3 };
    nbcoll_comm *twin[2];
    nbcoll_request q[2 * AHEAD];
    nbcoll_status status;
    scene s;

    (void)state;
    for (int variant = 0; variant < WORLD_VARIANTS; variant++) {
        nbcoll_loopback_config loopback = world_variant(variant, 5);
        scene_set(&s);
        s.config.credits = 1;
        world_open(&s.w, 2, &loopback, &s.config, NULL);
        for (int r = 1; r >= 0; r--) {
            for (int i = 0; i < AHEAD; i++)
                EXPECT(OK, nbcoll_ibcast(small[r], 1, NBCOLL_INT32, 1, s.w.comm[r], &q[r * AHEAD + i]));
            scene_passes(&s, 5);
        }
        world_finish(&s.w, 2 * AHEAD, q);
        twins_but_one(&s, twin);
        EXPECT(OK, nbcoll_ibcast(small[0], 1, NBCOLL_INT32, 1, twin[0], q)); /* it only receives */
        scene_settle(&s, 1, q, &status, LIMIT);
        EXPECT(ERR_MISMATCH, status);
        it_is_said_who_has_freed(&s, twin[0], 0);
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
    twins_but_one(&s, twin);
    for (config.rank = 0; config.rank < 2; config.rank++) {
        EXPECT(OK, nbcoll_builder_open(&config, &b));
        nbcoll_add_recv(b, config.rank + 1, (nbcoll_addr){NBCOLL_BUFFER_RECV, 0}, 4);
        if (config.rank)
            nbcoll_add_send(b, 2, (nbcoll_addr){NBCOLL_BUFFER_SEND, 0}, 4);
        EXPECT(OK, nbcoll_builder_finish(b, &schedule[config.rank]));
        EXPECT(OK, nbcoll_schedule_start(schedule[config.rank], small[0], large[config.rank], twin[config.rank],
                                         &q[config.rank]));
    }
    scene_settle(&s, 2, q, status, LIMIT);
    for (int r = 0; r < 2; r++) {
        EXPECT(ERR_MISMATCH, status[r]);
        it_is_said_who_has_freed(&s, twin[r], 0);
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
    twins_but_one(&s, twin);
    for (int i = 1; i <= 2; i++) {
        small[0][0] = i;
        for (int r = 0; r < 2; r++)
            EXPECT(OK, nbcoll_ibcast(small[r], 1, NBCOLL_INT32, 0, twin[r], &q[r]));
        scene_settle(&s, 2, q, status, LIMIT);
        for (int r = 0; r < 2; r++)
            assert_int_equal(status[r], i == 1 ? NBCOLL_OK : NBCOLL_ERR_MISMATCH);
        assert_int_equal(small[1][0], 1);
    }
    for (int r = 0; r < 2; r++)
        it_is_said_who_has_freed(&s, twin[r], 1);
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
        scene_settle(&s, 1, &q[0], &status[0], LIMIT);
        EXPECT(OK, status[0]);
        EXPECT(OK, nbcoll_context_free(s.w.context[2]));
        s.w.context[2] = NULL;
        scene_settle(&s, 1, &q[1], &status[1], LIMIT);
        EXPECT(ERR_PEER_LOST, status[1]);
        EXPECT(OK, nbcoll_comm_free(s.w.comm[1]));
        EXPECT(OK, nbcoll_ibcast(small[0], 1, NBCOLL_INT32, 1, s.w.comm[0], &q[0]));
        scene_settle(&s, 1, &q[0], &status[0], LIMIT);
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

    scene_set(s);
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
                scene_pass(&s);
                EXPECT(PENDING, nbcoll_test(&q));
            }
            is_held = 0;
            scene_settle(&s, 1, &q, &status, LIMIT);
            EXPECT(OK, status);
            for (int i = 0; i < 3; i++)
                nbcoll_schedule_free(schedule[i]);
            world_close(&s.w);
        }
}

/* ---- late ranks ------------------------------------------------------------------------------------------------ */

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
        failure_says(&failure, wanted);
        EXPECT(OK, nbcoll_ibarrier(s.w.comm[3], &q[3]));
        scene_settle(&s, 8, q, status, LIMIT);
        for (int r = 0; r < 8; r++)
            EXPECT(OK, status[r]);
        world_close(&s.w);
    }
}

/* Ranks that wait for each other have told each other of it. Another one is missing, and says nothing. */
static void who_was_late_and_has_started_is_not_named_a_second_later(void **state)
{
    enum { RANKS = 49, LATE = 22, SILENT = 47 };
    nbcoll_request q[RANKS];
    nbcoll_comm *made[RANKS];
    nbcoll_failure failure;
    scene s;

    (void)state;
    scene_open(&s, RANKS, 0, NULL);
    s.silent = SILENT;
    for (int r = 0; r < RANKS; r++)
        if (r != LATE && r != SILENT)
            EXPECT(OK, nbcoll_comm_idup(s.w.comm[r], &made[r], &q[r]));
    EXPECT(ERR_TIMEOUT, nbcoll_wait(&q[0], (uint64_t)500 * MS));
    EXPECT(OK, nbcoll_last_failure(s.w.context[0], &failure));
    assert_int_equal(failure.rank, LATE);
    EXPECT(OK, nbcoll_comm_idup(s.w.comm[LATE], &made[LATE], &q[LATE]));
    EXPECT(ERR_TIMEOUT, nbcoll_wait(&q[0], (uint64_t)1000 * MS));
    for (int r = 0; r < RANKS; r++)
        if (r != SILENT) {
            EXPECT(ERR_TIMEOUT, nbcoll_wait(&q[r], 0));
            EXPECT(OK, nbcoll_last_failure(s.w.context[r], &failure));
            assert_false(failure.rank == LATE && failure.position == NBCOLL_POSITION_NOT_STARTED);
        }
    s.silent = -1;
    EXPECT(OK, nbcoll_comm_idup(s.w.comm[SILENT], &made[SILENT], &q[SILENT]));
    world_finish(&s.w, RANKS, q);
    world_close(&s.w);
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
        scene_pass(s);
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
        failure_says(&failure, wanted);
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
    failure_says(&f, "rank 2 was lost, or has left, before the end of operation 9");
    f.status = NBCOLL_ERR_CANCELLED;
    failure_says(&f, "rank 2 cancelled operation 9");
    f.status = NBCOLL_ERR_MISMATCH;
    failure_says(&f, "the ranks are out of step, in operation 9 or before it, as rank 2 has shown; what they have "
                    "called is not known here yet");
    f.status = NBCOLL_ERR_CALL;
    failure_says(&f, "rank 2 had a host function that failed in operation 9");
    f.status = NBCOLL_ERR_NO_SLOT;
    f.position = NBCOLL_POSITION_NOT_STARTED;
    failure_says(&f, "no slot is free: rank 2 has not started operation 9");
    f.position = NBCOLL_POSITION_ACTIVE;
    failure_says(&f, "no slot is free: operation 9 waits for rank 2, which has started it and not ended it");
    f = (nbcoll_failure){.status = NBCOLL_OK, .rank = -1};
    failure_says(&f, "success");
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

    *t = (traced){0};
    scene_set(s);
    world_open_contexts(&s->w, 2, NULL, &s->config);
    for (int r = 0; r < 2; r++) {
        EXPECT(OK, nbcoll_trace_open(&trace, s->w.endpoint[r], &s->w.endpoint[r]));
        EXPECT(OK, nbcoll_comm_icreate(s->w.context[r], s->w.endpoint[r], NULL, &s->w.comm[r], &q[r]));
    }
    scene_settle(s, 2, q, status, LIMIT);
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
        scene_passes(&t.s, 30); /* the other one comes a little later */
        EXPECT(OK, nbcoll_ibarrier(t.s.w.comm[1], &q[1]));
        scene_settle(&t.s, 2, q, status, LIMIT);
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
    scene_passes(&t.s, 10000);
    assert_int_equal(t.posts[0], 2);
    t.s.silent = -1;
    EXPECT(OK, nbcoll_ibarrier(t.s.w.comm[1], &q[1]));
    scene_settle(&t.s, 2, q, status, LIMIT);
    EXPECT(OK, status[0]);
    world_close(&t.s.w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_that_have_not_ended_learn_of_a_difference_within_200_ms),
        cmocka_unit_test(what_was_started_before_the_difference_ends_well),
        cmocka_unit_test(a_rank_that_ended_without_sending_is_out_of_step_unless_its_fingerprint_says_that_it_has),
        cmocka_unit_test(what_an_ended_rank_has_sent_may_be_under_way),
        cmocka_unit_test(who_waits_for_a_rank_that_has_freed_the_communicator_is_told),
        cmocka_unit_test(who_has_sent_to_a_rank_that_then_frees_the_communicator_is_told),
        cmocka_unit_test(who_waits_for_a_rank_that_is_making_another_communicator_is_told),
        cmocka_unit_test(who_waits_for_a_rank_that_has_stalled_before_is_told),
        cmocka_unit_test(who_waits_for_one_that_a_rank_without_the_communicator_has_answered_is_told),
        cmocka_unit_test(who_waits_for_a_rank_that_has_freed_the_communicator_after_a_loss_is_told_of_the_loss),
        cmocka_unit_test(who_waits_until_one_has_read_that_has_freed_the_communicator_is_told),
        cmocka_unit_test(a_late_rank_is_no_mismatch_and_the_deadline_names_it),
        cmocka_unit_test(who_was_late_and_has_started_is_not_named_a_second_later),
        cmocka_unit_test(however_far_others_are_ahead_a_late_rank_is_no_mismatch),
        cmocka_unit_test(a_silent_rank_is_named_as_silent),
        cmocka_unit_test(what_a_failure_was_about_is_said_in_words),
        cmocka_unit_test(nobody_asks_in_an_operation_that_goes_well),
        cmocka_unit_test(a_rank_that_does_not_answer_is_asked_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
