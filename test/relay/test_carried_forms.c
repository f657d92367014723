/* SPDX-License-Identifier: BSD-3-Clause
 * Calls that relays carry out have all forms, and go in one order with those of schedules; there may be more of them
 * than relays have at once. */
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "carried.h"

/* Started before the relays are there, and more of them than may be under way. */
static void calls_beyond_those_at_once_wait(void **state)
{
    static carried p;
    (void)state;
    for (int kind = 0; kind < NBCOLL_TOPOLOGY_COUNT; kind++) {
        carried_open(&p, RANKS, carried_config((nbcoll_topology_kind)kind), NULL);
        for (int r = 0; r < RANKS; r++)
            for (int o = 0; o < MANY; o++)
                carried_gather(&p, r, o);
        for (int o = MANY; o-- > 0;)
            carried_finish(&p, o);
        for (int r = 0; r < RANKS; r++)
            for (int o = 0; o < MANY; o++)
                carried_has_gathered(&p, r, o);
        carried_close(&p);
    }
}

static const uint64_t deadline = 60000000000u;

static atomic_int agents_rest;

static void *move_agents(void *user)
{
    const carried *p = user;
    while (!atomic_load(&agents_rest)) {
        int moved = 0;
        for (int r = 0; r < p->w.ranks; r++)
            moved |= nbcoll_agent_progress(p->agent[r]);
        if (!moved)
            sched_yield();
    }
    return NULL;
}

/* One for each rank, and one for all agents. The ranks close relays. */
static void with_threads(carried *p, void (*rank)(world *w, int rank, void *user))
{
    pthread_t agents;
    atomic_store(&agents_rest, 0);
    assert_int_equal(pthread_create(&agents, NULL, move_agents, p), 0);
    world_threads(&p->w, rank, p);
    atomic_store(&agents_rest, 1);
    pthread_join(agents, NULL);
    carried_close_ranks(p);
}

/* Short and long, nonblocking, persistent and blocking, and other collectives between them. */
static void one_rank(world *w, int rank, void *user)
{
    carried *p = user;
    nbcoll_comm *comm = w->comm[rank];
    nbcoll_request all, some;
    unsigned char mine[LONG] = {0}, theirs[RANKS * LONG] = {0}, told[LONG] = {0};
    int own = rank, sum = 0;
    EXPECT(OK, nbcoll_allgather_init(mine, theirs, BYTES, NBCOLL_BYTE, comm, &all));
    for (int turn = 0; turn < 12; turn++) {
        size_t bytes = turn % 2 ? LONG : BYTES;
        memset(mine, 100 + turn + rank, sizeof mine);
        EXPECT(OK, nbcoll_start(&all));
        EXPECT(OK, nbcoll_wait(&all, deadline));
        for (int of = 0; of < w->ranks; of++)
            assert_int_equal(theirs[of * BYTES + BYTES - 1], 100 + turn + of);
        memset(told, rank ? 0 : turn + 1, sizeof told);
        EXPECT(OK, nbcoll_ibcast(told, turn % 3 ? LONG : BYTES, NBCOLL_BYTE, 0, comm, &some));
        EXPECT(OK, nbcoll_allgather(mine, theirs, bytes, NBCOLL_BYTE, comm, deadline));
        EXPECT(OK, nbcoll_allreduce(&own, &sum, 1, NBCOLL_INT32, NBCOLL_SUM, comm, deadline));
        EXPECT(OK, nbcoll_wait(&some, deadline));
        assert_int_equal(told[BYTES - 1], turn + 1);
        assert_int_equal(sum, w->ranks * (w->ranks - 1) / 2);
        for (int of = 0; of < w->ranks; of++)
            assert_int_equal(theirs[(size_t)of * bytes + bytes - 1], 100 + turn + of);
    }
    EXPECT(OK, nbcoll_relays_close(p->relays[rank], deadline));
    EXPECT(ERR_REQUEST, nbcoll_start(&all));
    EXPECT(OK, nbcoll_request_free(&all));
    EXPECT(OK, nbcoll_allgather(mine, theirs, BYTES, NBCOLL_BYTE, comm, deadline));
}

static void short_and_long_calls_of_all_forms_go_in_one_order(void **state)
{
    static carried p;
    (void)state;
    carried_open(&p, 4, carried_config(NBCOLL_TOPOLOGY_BRUCK), NULL);
    with_threads(&p, one_rank);
}

/* Of carried calls and one by a schedule among them, each is given out once, when its data are there: first one at a
 * time, then some. */
static void one_rank_takes_them_as_they_end(world *w, int rank, void *user)
{
    carried *p = user;
    nbcoll_comm *comm = w->comm[rank];
    unsigned char mine[LONG], theirs[RANKS * LONG] = {0};
    memset(mine, rank + 1, sizeof mine);
    for (int turn = 0; turn < 8; turn++) {
        size_t indices[MANY], ended, taken = 0;
        nbcoll_request *q = p->request[rank];
        memset(p->recv[rank], 0, sizeof p->recv[rank]);
        for (int o = 0; o + 1 < MANY; o++)
            carried_gather(p, rank, o);
        EXPECT(OK, nbcoll_iallgather(mine, theirs, LONG, NBCOLL_BYTE, comm, &q[MANY - 1]));
        for (; taken < MANY; taken += ended) {
            ended = 1;
            if (turn % 2)
                EXPECT(OK, nbcoll_wait_some(MANY, q, &ended, indices, NULL, deadline));
            else
                EXPECT(OK, nbcoll_wait_any(MANY, q, indices, deadline));
            for (size_t i = 0; i < ended; i++)
                if (indices[i] + 1 < MANY)
                    carried_has_gathered(p, rank, (int)indices[i]);
        }
        assert_int_equal(taken, MANY);
        assert_int_equal(theirs[RANKS * LONG - 1], RANKS);
        EXPECT(OK, nbcoll_wait_any(MANY, q, indices, deadline));
        assert_int_equal(indices[0], MANY); /* none is left */
    }
    EXPECT(OK, nbcoll_relays_close(p->relays[rank], deadline));
}

static void calls_are_taken_as_they_end(void **state)
{
    static carried p;
    (void)state;
    carried_open(&p, RANKS, carried_config(NBCOLL_TOPOLOGY_CAYLEY), NULL);
    with_threads(&p, one_rank_takes_them_as_they_end);
}

static void a_callback_reports_the_end(nbcoll_request request, nbcoll_status s, void *user)
{
    (void)request;
    *(nbcoll_status *)user = s;
}

static void calls_have_callbacks_and_in_place(void **state)
{
    static carried p;
    nbcoll_status told[RANKS];
    (void)state;
    carried_open(&p, RANKS, carried_config(NBCOLL_TOPOLOGY_CAYLEY), NULL);
    for (int r = 0; r < RANKS; r++) {
        told[r] = NBCOLL_PENDING;
        memcpy(&p.recv[r][0][r * BYTES], p.send[r][0], BYTES);
        EXPECT(OK, nbcoll_iallgather(NBCOLL_IN_PLACE, p.recv[r][0], BYTES, NBCOLL_BYTE, p.w.comm[r], &p.request[r][0]));
        EXPECT(OK, nbcoll_on_done(p.request[r][0], a_callback_reports_the_end, &told[r]));
    }
    carried_steps(&p, LOOKS);
    for (int r = 0; r < RANKS; r++) {
        EXPECT(OK, told[r]);
        carried_has_gathered(&p, r, 0);
    }
    carried_close(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_beyond_those_at_once_wait),
        cmocka_unit_test(short_and_long_calls_of_all_forms_go_in_one_order),
        cmocka_unit_test(calls_are_taken_as_they_end),
        cmocka_unit_test(calls_have_callbacks_and_in_place),
    };
    int failed = cmocka_run_group_tests_name("by engines", tests, NULL, NULL);
    carried_by_agents = 1;
    return failed + cmocka_run_group_tests_name("by agents", tests, NULL, NULL);
}
