/* SPDX-License-Identifier: BSD-3-Clause
 * Ranks out of step: one of them passes another root, size, operation or op than the others. Those that can notice get
 * ERR_MISMATCH, and who gets OK has the data that it asked for. Where ranks wait for each other and none sends, so that
 * there is nothing to notice, their deadlines pass here before the ranks ask each other (test_who_waits), and
 * cancelling ends it. Whatever came of it, the next operation tells all of them ERR_MISMATCH. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "alone.h"
#include "layout.h"
#include "operation.h"
#include "world.h"

static const nbcoll_context_config contexts = {.size = sizeof contexts, .credits = 3};
static const nbcoll_comm_config limits = {.size = sizeof limits, .slots = 4, .cells = 8, .schedules = 16,
                                          .eager = 256, .large = 2048};
enum { MOST = 4 };

/* How many ranks ended how. */
typedef struct outcome {
    int mismatched, timed_out;
} outcome;

/* A rank's end: with what it asked for, with the mismatch, or because somebody gave up waiting. */
static void check_own(const operation *o, const share *s, int rank, int ranks, nbcoll_status status, int gave_up)
{
    if (status == NBCOLL_OK)
        operation_check(o, s, rank, ranks);
    else if (!gave_up || status != NBCOLL_ERR_CANCELLED)
        EXPECT(ERR_MISMATCH, status);
}

/* ---- stepped --------------------------------------------------------------------------------------------------- */

/* After a difference the next operation is refused on all ranks, or ends with the mismatch on all. */
static void is_found_at_the_latest_by_the_next(world *w)
{
    nbcoll_request q[MOST];
    nbcoll_status s[MOST], first = NBCOLL_OK;

    for (int i = 0; i < 30; i++)
        world_step(w);
    for (int r = 0; r < w->ranks; r++) {
        s[r] = nbcoll_ibarrier(w->comm[r], &q[r]);
        if (r == 0)
            first = s[r];
        assert_int_equal(s[r], first);
    }
    if (first == NBCOLL_OK)
        world_settle(w, (size_t)w->ranks, q, s);
    for (int r = 0; r < w->ranks; r++) {
        nbcoll_failure failure;
        EXPECT(ERR_MISMATCH, s[r]);
        EXPECT(OK, nbcoll_comm_failure(w->comm[r], &failure));
        EXPECT(ERR_MISMATCH, failure.status);
        assert_in_range(failure.rank, 0, w->ranks - 1);
        EXPECT(OK, nbcoll_comm_free(w->comm[r]));
    }
}

/* Looks until all have ended, or for so long that nothing more can happen. */
static void look(world *w, nbcoll_request q[], nbcoll_status s[])
{
    int left = 1;
    for (int rounds = 0; left && rounds < 500; rounds++) {
        left = 0;
        world_step(w);
        for (int r = 0; r < w->ranks; r++) {
            if (s[r] == NBCOLL_PENDING)
                s[r] = nbcoll_test(&q[r]);
            left += s[r] == NBCOLL_PENDING;
        }
    }
}

/* Ranks that then still wait are out of time: they cancel. */
static outcome settle(world *w, nbcoll_request q[], nbcoll_status s[])
{
    outcome o = {0, 0};

    for (int r = 0; r < w->ranks; r++)
        s[r] = NBCOLL_PENDING;
    look(w, q, s);
    for (int r = 0; r < w->ranks; r++) {
        o.mismatched += s[r] == NBCOLL_ERR_MISMATCH;
        if (s[r] != NBCOLL_PENDING)
            continue;
        s[r] = nbcoll_wait(&q[r], 0);
        if (s[r] != NBCOLL_ERR_TIMEOUT) /* another one has cancelled it meanwhile */
            continue;
        o.timed_out++;
        s[r] = NBCOLL_PENDING;
        EXPECT(OK, nbcoll_cancel(q[r]));
    }
    look(w, q, s);
    return o;
}

/* One rank passes `other`, the others `common`. */
static outcome run_stepped(int ranks, int odd, const operation *common, const operation *other, int variant,
                           uint64_t seed)
{
    nbcoll_loopback_config loopback = world_variant(variant, seed);
    nbcoll_request q[MOST];
    nbcoll_status s[MOST];
    share shares[MOST];
    outcome out;
    world w;

    world_open(&w, ranks, &loopback, &contexts, &limits);
    w.random = seed;
    for (int k = 0, r = (int)(seed % (uint64_t)ranks); k < ranks; k++, r = (r + 1) % ranks) {
        const operation *o = r == odd ? other : common;
        shares[r] = share_make(o, r, ranks);
        EXPECT(OK, operation_start(o, &shares[r], w.comm[r], &q[r]));
        if (seed % 2)
            nbcoll_progress(w.context[r]);
    }
    out = settle(&w, q, s);
    for (int r = 0; r < ranks; r++) {
        check_own(r == odd ? other : common, &shares[r], r, ranks, s[r], out.timed_out);
        share_free(&shares[r]);
    }
    is_found_at_the_latest_by_the_next(&w);
    world_close(&w);
    return out;
}

/* ---- threads --------------------------------------------------------------------------------------------------- */

typedef struct threaded {
    int odd;
    const operation *common, *other;
    uint64_t deadline;
    int gives_up;
    atomic_int left; /* ranks that still wait */
} threaded;

static void run_rank(world *w, int rank, void *user)
{
    threaded *t = user;
    const operation *o = rank == t->odd ? t->other : t->common;
    share s = share_make(o, rank, w->ranks);
    nbcoll_status status = operation_call(o, &s, w->comm[rank], t->deadline);

    if (t->gives_up && status == NBCOLL_ERR_TIMEOUT)
        while (nbcoll_comm_active(w->comm[rank])) /* the buffers stay lent until then */
            nbcoll_progress(w->context[rank]);
    else
        check_own(o, &s, rank, w->ranks, status, t->gives_up);
    share_free(&s);
    EXPECT(ERR_MISMATCH, nbcoll_barrier(w->comm[rank], 60000000000u));
    atomic_fetch_sub(&t->left, 1);
    while (atomic_load(&t->left)) /* others may wait for this one's answers */
        nbcoll_progress(w->context[rank]);
}

/* `gives_up`: some ranks cannot notice. */
static void run_threads(int ranks, int odd, const operation *common, const operation *other, int gives_up)
{
    threaded t = {odd, common, other, gives_up ? 5000000 : 60000000000u, gives_up, ranks};
    world w;
    world_open(&w, ranks, NULL, &contexts, &limits);
    world_threads(&w, run_rank, &t);
    world_close(&w);
}

/* ---- cases ----------------------------------------------------------------------------------------------------- */

/* One rank differs: any of them, over two of the loopbacks by turns. */
static void differ(const operation *common, const operation *other)
{
    static uint64_t seed = 0;
    for (int ranks = 2; ranks <= MOST; ranks++)
        for (int odd = 0; odd < ranks; odd++) {
            outcome all = {0, 0};
            if (common->root >= ranks || other->root >= ranks)
                continue;
            if (IS_FOR_THREADS && (seed + 2) % 32) { /* nothing will run as threads */
                seed += 2;
                continue;
            }
            for (int i = 0; i < 2; i++, seed++) {
                outcome out = run_stepped(ranks, odd, common, other, (int)(seed % WORLD_VARIANTS), seed);
                all.mismatched += out.mismatched;
                all.timed_out += out.timed_out;
            }
            if (seed % 32 == 0)
                run_threads(ranks, odd, common, other, all.timed_out > 0);
        }
}

static const size_t counts[] = {1, 100, 1000}; /* eager; announced; by the algorithms for large data */

static operation make(nbcoll_operation what, int root, size_t count, nbcoll_op op)
{
    return (operation){.what = what, .root = root, .count = count, .how = {NBCOLL_INT64, op}, .seed = 1};
}

static void root_differs(void **state)
{
    static const nbcoll_operation rooted[] = {NBCOLL_OPERATION_BCAST, NBCOLL_OPERATION_SCATTER,
                                              NBCOLL_OPERATION_GATHER, NBCOLL_OPERATION_REDUCE};
    (void)state;
    for (int k = 0; k < 4; k++)
        for (int i = 0; i < 3; i++) {
            operation common = make(rooted[k], 0, counts[i], NBCOLL_SUM);
            operation other = make(rooted[k], 1, counts[i], NBCOLL_SUM);
            differ(&common, &other);
            differ(&other, &common);
        }
}

static void size_differs(void **state)
{
    (void)state;
    for (int what = NBCOLL_OPERATION_BCAST; what < NBCOLL_OPERATION_COUNT; what++)
        for (int i = 0; i < 3 && !is_v((nbcoll_operation)what); i++) { /* see collectives/test_blocks for those */
            operation common = make((nbcoll_operation)what, 0, counts[i], NBCOLL_SUM);
            operation longer = make((nbcoll_operation)what, 0, counts[i] + 1, NBCOLL_SUM);
            operation much_longer = make((nbcoll_operation)what, 0, counts[i] * 100, NBCOLL_SUM);
            differ(&common, &longer);
            differ(&longer, &common);
            differ(&common, &much_longer);
            differ(&much_longer, &common);
        }
}

static void size_of_the_type_differs(void **state)
{
    (void)state;
    for (int what = NBCOLL_OPERATION_BCAST; what < NBCOLL_OPERATION_COUNT; what++) {
        operation common = make((nbcoll_operation)what, 0, 100, NBCOLL_SUM), other = common;
        other.how.type = NBCOLL_INT32;
        if (!is_v(common.what)) /* where all blocks of a rank may be empty */
            differ(&common, &other);
    }
}

static void operation_differs(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++)
        for (int a = 0; a < NBCOLL_OPERATION_COUNT; a++)
            for (int b = 0; b < NBCOLL_OPERATION_COUNT; b++) {
                operation common = make((nbcoll_operation)a, 0, counts[i], NBCOLL_SUM);
                operation other = make((nbcoll_operation)b, 0, counts[i], NBCOLL_SUM);
                if (a != b)
                    differ(&common, &other);
            }
}

static void op_differs(void **state)
{
    (void)state;
    for (int what = NBCOLL_OPERATION_REDUCE; what <= NBCOLL_OPERATION_ALLREDUCE; what++)
        for (int i = 0; i < 3; i++) {
            operation common = make((nbcoll_operation)what, 0, counts[i], NBCOLL_SUM);
            operation other = make((nbcoll_operation)what, 0, counts[i], NBCOLL_MAX);
            differ(&common, &other);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(root_differs),
        cmocka_unit_test(size_differs),
        cmocka_unit_test(size_of_the_type_differs),
        cmocka_unit_test(operation_differs),
        cmocka_unit_test(op_differs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
