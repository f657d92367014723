/* SPDX-License-Identifier: BSD-3-Clause
 * Ranks that leave, are declared lost, or die: what ends, with whose name, and what goes on. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "joined_shm.h"
#include "party.h"

enum { LONG = 20000 };
static unsigned char long_in[LONG], long_out[LONG];

/* Rank 2 of three leaves. */
static void leave(party *p)
{
    EXPECT(OK, nbcoll_messages_close(p->m[2]));
    for (int i = 0; i < 1000 && nbcoll_context_free(p->w.context[2]) == NBCOLL_ERR_BUSY; i++)
        world_step(&p->w);
    p->w.context[2] = NULL;
    p->m[2] = NULL;
    for (int i = 0; i < 50; i++)
        for (int r = 0; r < 2; r++)
            nbcoll_progress(p->w.context[r]);
}

static nbcoll_status end_among_two(party *p, nbcoll_request *q)
{
    nbcoll_status s = NBCOLL_PENDING;
    for (int i = 0; i < 10000 && (s = nbcoll_test(q)) == NBCOLL_PENDING; i++)
        for (int r = 0; r < 2; r++)
            nbcoll_progress(p->w.context[r]);
    return s;
}

static void close_two(party *p)
{
    for (int r = 0; r < 2; r++)
        EXPECT(OK, nbcoll_messages_close(p->m[r]));
    world_close(&p->w);
}

static void what_waits_for_a_rank_that_has_left_ends(void **state)
{
    (void)state;
    for (int variant = 0; variant < WORLD_VARIANTS; variant++) {
        nbcoll_failure failure;
        nbcoll_request q[4];
        int value;
        party p;
        party_open(&p, 3, variant, NULL, NULL);
        EXPECT(OK, nbcoll_irecv(&value, 1, NBCOLL_INT, 2, 6, p.m[0], NULL, &q[0]));
        EXPECT(OK, nbcoll_irecv(&value, 1, NBCOLL_INT, 1, 6, p.m[0], NULL, &q[2]));
        leave(&p);
        assert_int_equal(end_among_two(&p, &q[0]), NBCOLL_ERR_PEER_LOST);
        EXPECT(OK, nbcoll_last_failure(p.w.context[0], &failure));
        assert_int_equal(failure.rank, 2);
        assert_int_equal(failure.tag, NBCOLL_FAILURE_MESSAGE + 6);
        EXPECT(OK, nbcoll_isend(long_in, LONG, NBCOLL_BYTE, 2, 6, p.m[0], &q[1]));
        assert_int_equal(end_among_two(&p, &q[1]), NBCOLL_ERR_PEER_LOST);
        EXPECT(PENDING, nbcoll_test(&q[2]));
        EXPECT(OK, nbcoll_isend(&value, 1, NBCOLL_INT, 0, 6, p.m[1], &q[3]));
        assert_int_equal(end_among_two(&p, &q[3]), NBCOLL_OK);
        assert_int_equal(end_among_two(&p, &q[2]), NBCOLL_OK);
        close_two(&p);
    }
}

static void what_it_has_sent_before_can_be_received(void **state)
{
    (void)state;
    for (int variant = 0; variant < WORLD_VARIANTS; variant++) {
        nbcoll_request q;
        int in = 77, out = 0;
        party p;
        party_open(&p, 3, variant, NULL, NULL);
        EXPECT(OK, nbcoll_isend(&in, 1, NBCOLL_INT, 0, 6, p.m[2], &q));
        assert_int_equal(party_end(&p, &q), NBCOLL_OK);
        leave(&p);
        EXPECT(OK, nbcoll_irecv(&out, 1, NBCOLL_INT, 2, 6, p.m[0], NULL, &q));
        assert_int_equal(end_among_two(&p, &q), NBCOLL_OK);
        assert_int_equal(out, 77);
        EXPECT(OK, nbcoll_irecv(&out, 1, NBCOLL_INT, 2, 6, p.m[0], NULL, &q));
        assert_int_equal(end_among_two(&p, &q), NBCOLL_ERR_PEER_LOST);
        close_two(&p);
    }
}

static void a_receive_from_any_source_waits_while_somebody_is_there(void **state)
{
    nbcoll_request q[2];
    int in = 5, out = 0;
    party p;
    (void)state;
    party_open(&p, 3, 0, NULL, NULL);
    EXPECT(OK, nbcoll_irecv(&out, 1, NBCOLL_INT, NBCOLL_ANY_SOURCE, 6, p.m[0], NULL, &q[0]));
    leave(&p);
    EXPECT(PENDING, nbcoll_test(&q[0]));
    EXPECT(OK, nbcoll_isend(&in, 1, NBCOLL_INT, 0, 6, p.m[1], &q[1]));
    assert_int_equal(end_among_two(&p, &q[0]), NBCOLL_OK);
    assert_int_equal(end_among_two(&p, &q[1]), NBCOLL_OK);
    EXPECT(OK, nbcoll_messages_close(p.m[1]));
    EXPECT(OK, nbcoll_irecv(&out, 1, NBCOLL_INT, NBCOLL_ANY_SOURCE, 6, p.m[0], NULL, &q[0]));
    EXPECT(OK, nbcoll_context_free(p.w.context[1]));
    p.w.context[1] = NULL;
    nbcoll_status s = NBCOLL_PENDING;
    for (int i = 0; i < 1000 && s == NBCOLL_PENDING; i++)
        s = nbcoll_test(&q[0]);
    assert_int_equal(s, NBCOLL_ERR_PEER_LOST);
    EXPECT(OK, nbcoll_messages_close(p.m[0]));
    world_close(&p.w);
}

/* Also a transfer whose data is being sent; and messages between the others go on, though the communicator is
 * broken. */
static void who_is_declared_lost_ends_its_messages_only(void **state)
{
    (void)state;
    for (int variant = 0; variant < WORLD_VARIANTS; variant++)
        for (int steps = 0; steps < 8; steps++) {
            nbcoll_request q[6];
            nbcoll_status s[6];
            int value = 3, is = 0;
            party p;
            party_open(&p, 3, variant, NULL, NULL);
            EXPECT(OK, nbcoll_isend(long_in, LONG, NBCOLL_BYTE, 2, 1, p.m[0], &q[0]));
            EXPECT(OK, nbcoll_irecv(long_out, LONG, NBCOLL_BYTE, 0, 1, p.m[2], NULL, &q[1]));
            EXPECT(OK, nbcoll_irecv(&is, 1, NBCOLL_INT, 2, 1, p.m[0], NULL, &q[2]));
            EXPECT(OK, nbcoll_irecv(&is, 1, NBCOLL_INT, NBCOLL_ANY_SOURCE, 1, p.m[0], NULL, &q[3]));
            for (int i = 0; i < steps; i++)
                world_step(&p.w);
            EXPECT(OK, nbcoll_comm_declare_lost(p.w.comm[0], 2));
            world_settle(&p.w, 4, q, s);
            assert_true(s[0] == NBCOLL_ERR_PEER_LOST || s[0] == NBCOLL_OK);
            assert_true(s[1] == NBCOLL_ERR_PEER_LOST || s[1] == NBCOLL_OK);
            assert_int_equal(s[2], NBCOLL_ERR_PEER_LOST);
            assert_int_equal(s[3], NBCOLL_ERR_PEER_LOST);
            EXPECT(OK, nbcoll_isend(&value, 1, NBCOLL_INT, 0, 2, p.m[1], &q[4]));
            EXPECT(OK, nbcoll_irecv(&is, 1, NBCOLL_INT, 1, 2, p.m[0], NULL, &q[5]));
            world_finish(&p.w, 2, &q[4]);
            assert_int_equal(is, 3);
            party_close(&p);
        }
}

/* The receives need never end. */
static void who_is_declared_lost_learns_it_though_others_wait_for_each_other(void **state)
{
    (void)state;
    for (int variant = 0; variant < WORLD_VARIANTS; variant++) {
        nbcoll_request waits, q[4];
        int in[2] = {3, 4}, is[2] = {0, 0};
        party p;
        party_open(&p, 3, variant, NULL, NULL);
        for (int r = 0; r < 2; r++)
            EXPECT(OK, nbcoll_irecv(&is[r], 1, NBCOLL_INT, 1 - r, 2, p.m[r], NULL, &q[r]));
        EXPECT(OK, nbcoll_ibarrier(p.w.comm[2], &waits));
        EXPECT(OK, nbcoll_comm_declare_lost(p.w.comm[0], 2));
        assert_int_equal(party_end(&p, &waits), NBCOLL_ERR_PEER_LOST);
        for (int r = 0; r < 2; r++)
            EXPECT(PENDING, nbcoll_test(&q[r]));
        for (int r = 0; r < 2; r++)
            EXPECT(OK, nbcoll_isend(&in[r], 1, NBCOLL_INT, 1 - r, 2, p.m[r], &q[2 + r]));
        world_finish(&p.w, 4, q);
        assert_true(is[0] == 4 && is[1] == 3);
        party_close(&p);
    }
}

/* ---- death --------------------------------------------------------------------------------------------------- */

/* Rank 1 dies while messages of all kinds are under way. */
static void survive(int rank, void *user)
{
    static unsigned char in[1 << 20], out[1 << 20];
    nbcoll_request q[5];
    nbcoll_failure failure;
    nbcoll_status s[5];
    int value = rank, is = -1;
    mate me;

    mate_join(&me, user, rank);
    if (rank != 1) { /* before anybody can notice the death */
        CHECK_STATUS(NBCOLL_OK, nbcoll_irecv(out, sizeof out, NBCOLL_BYTE, 1, 9, me.m, NULL, &q[0]));
        CHECK_STATUS(NBCOLL_OK, nbcoll_isend(in, sizeof in, NBCOLL_BYTE, 1, 9, me.m, &q[1]));
        CHECK_STATUS(NBCOLL_OK, nbcoll_irecv(out, sizeof out, NBCOLL_BYTE, NBCOLL_ANY_SOURCE, 9, me.m, NULL, &q[2]));
    }
    if (rank != 1)
        CHECK_STATUS(NBCOLL_OK, nbcoll_send(&value, 1, NBCOLL_INT, 1, 5, me.m, 10 * SECOND));
    else {
        for (int from = 0; from < 3; from += 2)
            CHECK_STATUS(NBCOLL_OK, nbcoll_recv(&is, 1, NBCOLL_INT, from, 5, me.m, NULL, 10 * SECOND));
        nbcoll_isend(in, sizeof in, NBCOLL_BYTE, 0, 0, me.m, &q[0]);
        kill(getpid(), SIGKILL);
    }
    int other = 2 - rank;
    for (int i = 0; i < 3; i++) {
        s[i] = nbcoll_wait(&q[i], 10 * SECOND);
        CHECK(s[i] == NBCOLL_ERR_PEER_LOST);
        CHECK_STATUS(NBCOLL_OK, nbcoll_last_failure(me.context, &failure));
        CHECK(failure.rank == 1);
    }
    CHECK_STATUS(NBCOLL_OK, nbcoll_sendrecv(&value, 1, NBCOLL_INT, other, 3, &is, 1, NBCOLL_INT, other, 3, me.m, NULL,
                                            10 * SECOND));
    CHECK(is == other);
    mate_leave(&me);
}

static void survivors_go_on_with_messages(void **state)
{
    const crew c = PROCESSES_3;
    int status[RANKS_MOST];
    (void)state;
    for (int i = 0; i < 10; i++) {
        meeting at = meeting_of(&c, i % 2 ? NBCOLL_SHM_NO_BULK : 0);
        assert_true(crew_run(&c, survive, &at, status));
        assert_int_equal(status[0], 0);
        assert_int_equal(status[2], 0);
        assert_true(WIFSIGNALED(status[1]));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_waits_for_a_rank_that_has_left_ends),
        cmocka_unit_test(what_it_has_sent_before_can_be_received),
        cmocka_unit_test(a_receive_from_any_source_waits_while_somebody_is_there),
        cmocka_unit_test(who_is_declared_lost_ends_its_messages_only),
        cmocka_unit_test(who_is_declared_lost_learns_it_though_others_wait_for_each_other),
        cmocka_unit_test(survivors_go_on_with_messages),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
