/* SPDX-License-Identifier: BSD-3-Clause
 * Communicators with an agent in contexts that any thread may enter: several threads start, test, wait for and cancel
 * their programs, with and without a driver of the contexts. */
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>

#include <cmocka.h>

#include "../../src/offload/agent.h"
#include "operation.h"
#include "scene.h"

enum { RANKS = 3, THREADS = 3, EACH = 20, OPERATIONS = THREADS * EACH, ROUNDS = 20, MOST = 300 };

/* Who executes the programs: the test, a thread of the host's, a driver, or what could be another process. */
typedef enum executor { BY_HAND, THREAD, DRIVER, PROCESS, EXECUTORS } executor;

typedef struct troupe {
    world w;
    nbcoll_agent *agent[RANKS];
    nbcoll_driver *driver, *of_agents; /* of the contexts; null: they have none */
    executor by;
    pthread_t thread;
    atomic_int stops;
    nbcoll_loopback *loopback; /* of the process */
    nbcoll_endpoint *served[RANKS];
    int sockets[RANKS];
} troupe;

static void *work(void *user)
{
    troupe *t = user;
    while (!atomic_load(&t->stops)) {
        int moved = 0;
        for (int r = 0; r < RANKS; r++)
            moved |= nbcoll_agent_progress(t->agent[r]);
        if (!moved)
            sched_yield();
    }
    return NULL;
}

static void *serve(void *user)
{
    troupe *t = user;
    nbcoll_agent_config agent = {.size = sizeof agent, .in_flight = 2};
    nbcoll_serve_config config = {.size = sizeof config,
                                  .agent = &agent,
                                  .endpoints = t->served,
                                  .sockets = t->sockets,
                                  .count = RANKS,
                                  .copied = (size_t)1 << 16};
    EXPECT(OK, nbcoll_agent_serve(&config));
    return NULL;
}

static void agents_open(troupe *t)
{
    nbcoll_agent_config config = {.size = sizeof config, .in_flight = 2};
    nbcoll_loopback_config loopback = {.size = sizeof loopback, .ranks = RANKS, .pairs = nbcoll_loopback_pairs()};
    int pair[RANKS][2];
    if (t->by == PROCESS)
        EXPECT(OK, nbcoll_loopback_create(&loopback, &t->loopback));
    for (int r = 0; r < RANKS && t->by == PROCESS; r++) {
        EXPECT(OK, nbcoll_loopback_open(t->loopback, r, &t->served[r]));
        assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair[r]), 0);
        t->sockets[r] = pair[r][1];
    }
    if (t->by == PROCESS)
        assert_int_equal(pthread_create(&t->thread, NULL, serve, t), 0);
    for (int r = 0; r < RANKS; r++) {
        nbcoll_attach_config attach = {.size = sizeof attach, .socket = pair[r][0]};
        EXPECT(OK, t->by == PROCESS ? nbcoll_agent_attach(t->w.endpoint[r], &attach, &t->agent[r])
                                    : nbcoll_agent_open(t->w.endpoint[r], &config, &t->agent[r]));
    }
}

/* Agents work on without their ranks, or are left to the test. */
static void agents_go(troupe *t)
{
    atomic_store(&t->stops, 0);
    if (t->by == THREAD)
        assert_int_equal(pthread_create(&t->thread, NULL, work, t), 0);
    for (int r = 0; r < RANKS && t->by == DRIVER; r++)
        if (t->agent[r])
            EXPECT(OK, nbcoll_driver_add_agent(t->of_agents, t->agent[r]));
}

static void agents_halt(troupe *t)
{
    atomic_store(&t->stops, 1);
    if (t->by == THREAD)
        pthread_join(t->thread, NULL);
    for (int r = 0; r < RANKS && t->by == DRIVER; r++)
        if (t->agent[r])
            EXPECT(OK, nbcoll_driver_remove_agent(t->of_agents, t->agent[r]));
}

static void troupe_open(troupe *t, int is_driven, executor by)
{
    nbcoll_context_config context = {.size = sizeof context, .flags = NBCOLL_ANY_THREAD};
    nbcoll_request q[RANKS];
    memset(t, 0, sizeof *t);
    t->by = by;
    world_open_contexts(&t->w, RANKS, NULL, &context);
    agents_open(t);
    for (int r = 0; r < RANKS; r++) {
        nbcoll_comm_config comm = NBCOLL_COMM_DEFAULTS;
        comm.agent = t->agent[r];
        EXPECT(OK, nbcoll_comm_icreate(t->w.context[r], t->w.endpoint[r], &comm, &t->w.comm[r], &q[r]));
    }
    world_finish(&t->w, RANKS, q);
    t->driver = is_driven ? scene_drive(&t->w, 0, RANKS) : NULL;
    if (by == DRIVER && !is_driven) {
        EXPECT(OK, nbcoll_driver_create(NULL, &t->of_agents));
        EXPECT(OK, nbcoll_driver_start(t->of_agents));
    } else
        t->of_agents = t->driver;
    agents_go(t);
}

static void troupe_close(troupe *t)
{
    agents_halt(t);
    if (t->of_agents != t->driver)
        EXPECT(OK, nbcoll_driver_free(t->of_agents));
    EXPECT(OK, nbcoll_driver_free(t->driver));
    for (int r = 0; r < RANKS; r++)
        EXPECT(OK, nbcoll_agent_close(t->agent[r]));
    if (t->by == PROCESS)
        pthread_join(t->thread, NULL);
    world_close(&t->w);
    EXPECT(OK, nbcoll_loopback_free(t->loopback));
}

/* Runs the test for each of the ways to have programs executed, without a driver of the contexts and with one. */
static void everywhere(void (*play)(int is_driven, executor by))
{
    for (executor by = THREAD; by < EXECUTORS; by++)
        for (int is_driven = 0; is_driven < 2; is_driven++)
            play(is_driven, by);
}

typedef struct player {
    troupe *t;
    int rank, number;
    nbcoll_request request;
    nbcoll_status status;
} player;

/* Threads of ranks 0 to `end` - 1, to be joined. */
static void players_go(troupe *t, int end, void *(*main)(void *), player players[], pthread_t threads[])
{
    for (int i = 0; i < end * THREADS; i++) {
        players[i] = (player){.t = t, .rank = i / THREADS, .number = i % THREADS};
        assert_int_equal(pthread_create(&threads[i], NULL, main, &players[i]), 0);
    }
}

static void players_join(int end, pthread_t threads[])
{
    for (int i = 0; i < end * THREADS; i++)
        pthread_join(threads[i], NULL);
}

/* ---- starting -------------------------------------------------------------------------------------------------- */

static nbcoll_status wait_somehow(nbcoll_request *q, int how)
{
    nbcoll_status s;
    size_t index;
    switch (how % 4) {
    case 0: return nbcoll_wait(q, deadline);
    case 1: return nbcoll_wait_all(1, q, NULL, deadline);
    case 2: return nbcoll_wait_any(1, q, &index, deadline);
    default:
        while ((s = nbcoll_test(q)) == NBCOLL_PENDING)
            sched_yield();
        return s;
    }
}

static operation operations[OPERATIONS];
static atomic_int turn[RANKS]; /* what to start next: threads that share a communicator see to the order */

static void *start_in_turn(void *user)
{
    const player *me = user;
    nbcoll_comm *comm = me->t->w.comm[me->rank];
    nbcoll_request q[2];
    share s[2];
    for (int i = 0; i <= EACH; i++) {
        int o = i * THREADS + me->number, k = i % 2, is_persistent = i % 3 == 0;
        if (i < EACH) {
            s[k] = share_make(&operations[o], me->rank, RANKS);
            while (atomic_load(&turn[me->rank]) != o)
                sched_yield();
            if (is_persistent) {
                EXPECT(OK, operation_init(&operations[o], &s[k], comm, &q[k]));
                EXPECT(OK, nbcoll_start(&q[k]));
            } else
                EXPECT(OK, operation_start(&operations[o], &s[k], comm, &q[k]));
            atomic_store(&turn[me->rank], o + 1);
        }
        if (i) { /* with the next one under way */
            EXPECT(OK, wait_somehow(&q[!k], o));
            operation_check(&operations[o - THREADS], &s[!k], me->rank, RANKS);
            share_free(&s[!k]);
            if ((i - 1) % 3 == 0)
                EXPECT(OK, nbcoll_request_free(&q[!k]));
        }
    }
    return NULL;
}

static void play_in_turn(int is_driven, executor by)
{
    player players[RANKS * THREADS];
    pthread_t threads[RANKS * THREADS];
    uint64_t random = 31 + (uint64_t)by;
    troupe t;
    for (int o = 0; o < OPERATIONS; o++)
        operations[o] = operation_random(&random, RANKS, MOST);
    for (int r = 0; r < RANKS; r++)
        atomic_store(&turn[r], 0);
    troupe_open(&t, is_driven, by);
    players_go(&t, RANKS, start_in_turn, players, threads);
    players_join(RANKS, threads);
    troupe_close(&t);
}

static void threads_share_a_communicator_whose_operations_are_programs(void **state)
{
    (void)state;
    everywhere(play_in_turn);
}

static void *start_at_once(void *user)
{
    const player *me = user;
    for (int i = 0; i < EACH; i++) {
        int32_t mine[40], sum[40];
        for (int k = 0; k < 40; k++)
            mine[k] = me->rank + k;
        EXPECT(OK, nbcoll_allreduce(mine, sum, 40, NBCOLL_INT32, NBCOLL_SUM, me->t->w.comm[me->rank], deadline));
        for (int k = 0; k < 40; k++)
            assert_int_equal(sum[k], 3 + 3 * k);
    }
    return NULL;
}

static void play_at_once(int is_driven, executor by)
{
    player players[RANKS * THREADS];
    pthread_t threads[RANKS * THREADS];
    troupe t;
    troupe_open(&t, is_driven, by);
    players_go(&t, RANKS, start_at_once, players, threads);
    players_join(RANKS, threads);
    troupe_close(&t);
}

/* Whichever comes first on each rank: they are alike. */
static void threads_start_programs_at_the_same_time(void **state)
{
    (void)state;
    everywhere(play_at_once);
}

static void count(nbcoll_request request, nbcoll_status status, void *user)
{
    (void)request;
    EXPECT(OK, status);
    atomic_fetch_add((atomic_int *)user, 1);
}

static void *start_with_callbacks(void *user)
{
    const player *me = user;
    atomic_int told = 0;
    nbcoll_request q;
    EXPECT(OK, nbcoll_barrier_init(me->t->w.comm[me->rank], &q));
    EXPECT(OK, nbcoll_on_done(q, count, &told));
    for (int i = 1; i <= EACH; i++) {
        EXPECT(OK, nbcoll_start(&q));
        while (atomic_load(&told) < i) { /* any thread's progress may tell */
            if (!me->t->driver)
                nbcoll_progress(me->t->w.context[me->rank]);
            sched_yield();
        }
    }
    EXPECT(OK, nbcoll_request_free(&q));
    assert_int_equal(told, EACH);
    return NULL;
}

static void play_with_callbacks(int is_driven, executor by)
{
    player players[RANKS * THREADS];
    pthread_t threads[RANKS * THREADS];
    troupe t;
    troupe_open(&t, is_driven, by);
    players_go(&t, RANKS, start_with_callbacks, players, threads);
    players_join(RANKS, threads);
    troupe_close(&t);
}

static void callbacks_of_programs_run_once_whichever_thread_progresses(void **state)
{
    (void)state;
    everywhere(play_with_callbacks);
}

/* ---- a driver that sleeps -------------------------------------------------------------------------------------- */

static void start_barriers(troupe *t, nbcoll_request q[])
{
    for (int r = 0; r < RANKS; r++)
        EXPECT(OK, nbcoll_ibarrier(t->w.comm[r], &q[r]));
}

/* The driver sleeps, and all agents wake it. */
static void await_watched(const troupe *t)
{
    uint64_t late = clock_ns() + 30 * SECOND;
    for (int r = 0; r < RANKS; r++)
        while (!atomic_load(&t->agent[r]->alarm.sleeps)) {
            assert_true(clock_ns() < late);
            sched_yield();
        }
    scene_rest(&t->w, 0, RANKS);
}

/* Nobody calls anything of the contexts: the driver must be woken. */
static void end_programs(troupe *t, nbcoll_request q[], int n)
{
    for (int i = 0; i < 200; i++)
        nbcoll_agent_progress(t->agent[i % RANKS]);
    for (int i = 0; i < n; i++)
        scene_watch(q[i]);
    EXPECT(OK, nbcoll_wait_all((size_t)n, q, NULL, deadline));
}

static void a_program_wakes_a_driver_that_slept_when_it_was_started(void **state)
{
    nbcoll_request q[RANKS];
    troupe t;
    (void)state;
    troupe_open(&t, 1, BY_HAND);
    for (int i = 0; i < ROUNDS; i++) {
        scene_rest(&t.w, 0, RANKS); /* with nothing outstanding: until it is rung */
        start_barriers(&t, q);
        scene_rest(&t.w, 0, RANKS);
        end_programs(&t, q, RANKS);
    }
    troupe_close(&t);
}

/* The start looks at the first one's program, and so takes from the driver that its end would wake it. A driver that
 * is not rung then would only look after a tenth of a second. */
static void a_start_rings_a_driver_that_waits_for_another_program(void **state)
{
    nbcoll_request q[2 * RANKS];
    int rings = 0;
    troupe t;
    (void)state;
    troupe_open(&t, 1, BY_HAND);
    for (int i = 0; i < ROUNDS; i++) {
        start_barriers(&t, q);
        await_watched(&t);
        uint64_t before = scene_counts(t.driver).rings;
        start_barriers(&t, q + RANKS);
        await_watched(&t);
        rings += scene_counts(t.driver).rings > before; /* unless it was just looking */
        end_programs(&t, q, 2 * RANKS);
    }
    assert_true(rings > ROUNDS / 2);
    troupe_close(&t);
}

/* ---- ends ------------------------------------------------------------------------------------------------------ */

static void *contend(void *user)
{
    player *me = user;
    me->status = nbcoll_wait(&me->request, deadline);
    return NULL;
}

/* Its peers never start. One of those that wait gets the end, the others learn that it is gone. */
static void play_cancelled(int is_driven, executor by)
{
    player players[THREADS];
    pthread_t threads[THREADS];
    nbcoll_request q;
    int cancelled = 0;
    troupe t;
    troupe_open(&t, is_driven, by);
    EXPECT(OK, nbcoll_ibarrier(t.w.comm[0], &q));
    for (int i = 0; i < THREADS; i++) {
        players[i] = (player){.request = q};
        assert_int_equal(pthread_create(&threads[i], NULL, contend, &players[i]), 0);
    }
    EXPECT(OK, nbcoll_cancel(q));
    players_join(1, threads);
    for (int i = 0; i < THREADS; i++) {
        assert_true(players[i].status == NBCOLL_ERR_CANCELLED || players[i].status == NBCOLL_ERR_REQUEST);
        cancelled += players[i].status == NBCOLL_ERR_CANCELLED;
    }
    assert_int_equal(cancelled, 1);
    assert_int_equal(nbcoll_comm_active(t.w.comm[0]), 0);
    EXPECT(ERR_CANCELLED, nbcoll_ibarrier(t.w.comm[0], &q));
    troupe_close(&t);
}

static void one_thread_cancels_the_program_for_which_others_wait(void **state)
{
    (void)state;
    everywhere(play_cancelled);
}

static void *start_and_wait(void *user)
{
    player *me = user;
    me->status = nbcoll_ibarrier(me->t->w.comm[me->rank], &me->request);
    if (me->status == NBCOLL_OK)
        me->status = nbcoll_wait(&me->request, deadline);
    for (int i = 0; i < EACH && me->status != NBCOLL_OK; i++) /* each may note why in the context, as do the others */
        EXPECT(ERR_PEER_LOST, nbcoll_ibarrier(me->t->w.comm[me->rank], &me->request));
    return NULL;
}

/* The last rank goes and has started nothing: in the middle of an operation of the engine's, so that it counts as lost
 * and not as one that leaves. */
static void play_lost(int is_driven, executor by)
{
    player players[RANKS * THREADS];
    pthread_t threads[RANKS * THREADS];
    size_t none[RANKS] = {0};
    nbcoll_request q;
    troupe t;
    troupe_open(&t, is_driven, by);
    EXPECT(OK, nbcoll_ialltoallv(NBCOLL_IN_PLACE, NULL, NULL, NULL, none, none, NBCOLL_BYTE, t.w.comm[RANKS - 1], &q));
    players_go(&t, RANKS - 1, start_and_wait, players, threads);
    if (is_driven)
        EXPECT(OK, nbcoll_driver_remove(t.driver, t.w.context[RANKS - 1]));
    agents_halt(&t);
    EXPECT(OK, nbcoll_agent_close(t.agent[RANKS - 1]));
    t.agent[RANKS - 1] = NULL;
    EXPECT(OK, nbcoll_context_abandon(t.w.context[RANKS - 1], NULL, NULL));
    t.w.context[RANKS - 1] = NULL;
    agents_go(&t);
    players_join(RANKS - 1, threads);
    for (int i = 0; i < (RANKS - 1) * THREADS; i++)
        EXPECT(ERR_PEER_LOST, players[i].status);
    troupe_close(&t);
}

static void threads_that_wait_for_programs_learn_that_a_rank_is_lost(void **state)
{
    (void)state;
    everywhere(play_lost);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_share_a_communicator_whose_operations_are_programs),
        cmocka_unit_test(threads_start_programs_at_the_same_time),
        cmocka_unit_test(callbacks_of_programs_run_once_whichever_thread_progresses),
        cmocka_unit_test(a_program_wakes_a_driver_that_slept_when_it_was_started),
        cmocka_unit_test(a_start_rings_a_driver_that_waits_for_another_program),
        cmocka_unit_test(one_thread_cancels_the_program_for_which_others_wait),
        cmocka_unit_test(threads_that_wait_for_programs_learn_that_a_rank_is_lost),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
