/* SPDX-License-Identifier: BSD-3-Clause
 * Starts hand their operations over. In a context of any threads they do not wait for a thread that is inside it: here
 * one is held in a CALL step for as long as the others start. Who is inside is known, also to a signal handler. */
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <time.h>

#include <cmocka.h>

#include "../../src/engine/run/fail.h"
#include "../../src/engine/progress/lock.h"
#include "world.h"

enum { STARTERS = 3, STARTS = 100 }; /* more than there are slots */

static const uint64_t deadline = 60000000000u;

typedef struct scene {
    world w;
    nbcoll_comm *comm[STARTERS];
    nbcoll_request request[STARTERS][STARTS];
    nbcoll_schedule *call;
    nbcoll_comm *to_break; /* while the holder is inside, after all have started */
    nbcoll_status inside;  /* what the holder's own start came to */
    atomic_int held, started, ended;
    int ended_with_start; /* when the holder's start returned */
} scene;

/* ---- a thread that is inside ------------------------------------------------------------------------------------ */

static int comes(atomic_int *n, int wanted)
{
    time_t late = time(NULL) + 30;
    while (atomic_load(n) < wanted && time(NULL) < late)
        sched_yield();
    return atomic_load(n) >= wanted;
}

/* Until all others have started theirs. */
static nbcoll_status hold(void *user, const nbcoll_memory regions[])
{
    scene *s = user;
    nbcoll_request q;
    (void)regions;
    s->inside = nbcoll_ibarrier(s->comm[0], &q);
    atomic_store(&s->held, 1);
    int all = comes(&s->started, STARTERS);
    if (s->to_break)
        nbcolli_comm_break(s->to_break, 0, NBCOLL_ERR_PEER_LOST, 0);
    return all ? NBCOLL_OK : NBCOLL_ERR_CALL;
}

static void *holder(void *user)
{
    scene *s = user;
    nbcoll_request q;
    EXPECT(OK, nbcoll_schedule_start(s->call, NULL, NULL, s->w.comm[0], &q));
    s->ended_with_start = atomic_load(&s->ended);
    EXPECT(OK, nbcoll_test(&q));
    return NULL;
}

typedef struct starter {
    scene *s;
    int number;
} starter;

static void *start(void *argument)
{
    const starter *me = argument;
    if (!comes(&me->s->held, 1))
        return NULL;
    for (int i = 0; i < STARTS; i++)
        EXPECT(OK, nbcoll_ibarrier(me->s->comm[me->number], &me->s->request[me->number][i]));
    atomic_fetch_add(&me->s->started, 1);
    return NULL;
}

static void count_ends(void *user, const nbcoll_event *e)
{
    scene *s = user;
    if (e->step == NBCOLL_END && e->moment == NBCOLL_STEP_ENDED)
        atomic_fetch_add(&s->ended, 1);
}

static void open_scene(scene *s, const nbcoll_observer *observer)
{
    nbcoll_context_config config = {.size = sizeof config, .flags = NBCOLL_ANY_THREAD, .observer = observer};
    nbcoll_builder_config builder = {.size = sizeof builder, .rank = 0, .ranks = 1};
    nbcoll_loopback_config loopback = {.size = sizeof loopback};
    nbcoll_builder *b;

    world_open(&s->w, 1, &loopback, &config, NULL);
    for (int i = 0; i < STARTERS; i++)
        EXPECT(OK, nbcoll_comm_dup(s->w.comm[0], &s->comm[i], deadline));
    EXPECT(OK, nbcoll_builder_open(&builder, &b));
    nbcoll_add_call(b, hold, s, 0, NULL, 0, NULL);
    EXPECT(OK, nbcoll_builder_finish(b, &s->call));
    atomic_store(&s->ended, 0);
}

static void play(scene *s)
{
    pthread_t thread[STARTERS + 1];
    starter starters[STARTERS];

    assert_int_equal(pthread_create(&thread[STARTERS], NULL, holder, s), 0);
    for (int i = 0; i < STARTERS; i++) {
        starters[i] = (starter){s, i};
        assert_int_equal(pthread_create(&thread[i], NULL, start, &starters[i]), 0);
    }
    for (int i = 0; i <= STARTERS; i++)
        pthread_join(thread[i], NULL);
    assert_int_equal(atomic_load(&s->started), STARTERS);
}

static void close_scene(scene *s)
{
    EXPECT(OK, nbcoll_schedule_free(s->call));
    world_close(&s->w);
    free(s);
}

/* Nobody but the holder is inside afterwards: it takes on its way out what the others have started. */
static void starts_do_not_wait_for_a_thread_that_is_inside(void **state)
{
    (void)state;
    scene *s = calloc(1, sizeof *s);
    nbcoll_observer observer = {.size = sizeof observer, .event = count_ends, .user = s};
    assert_non_null(s);
    open_scene(s, &observer);
    play(s);
    EXPECT(ERR_BUSY, s->inside);
    assert_int_equal(s->ended_with_start, STARTERS * STARTS + 1);
    for (int i = 0; i < STARTERS; i++)
        EXPECT(OK, nbcoll_wait_all(STARTS, s->request[i], NULL, deadline));
    close_scene(s);
}

static void what_is_handed_to_a_communicator_that_breaks_ends(void **state)
{
    (void)state;
    scene *s = calloc(1, sizeof *s);
    nbcoll_status statuses[STARTS];
    nbcoll_request q;
    assert_non_null(s);
    open_scene(s, NULL);
    s->to_break = s->comm[1];
    play(s);
    EXPECT(OK, nbcoll_wait_all(STARTS, s->request[0], NULL, deadline));
    EXPECT(OK, nbcoll_wait_all(STARTS, s->request[2], NULL, deadline));
    EXPECT(ERR_PEER_LOST, nbcoll_wait_all(STARTS, s->request[1], statuses, deadline));
    for (int i = 0; i < STARTS; i++)
        assert_int_equal(statuses[i], NBCOLL_ERR_PEER_LOST);
    EXPECT(ERR_PEER_LOST, nbcoll_ibarrier(s->comm[1], &q));
    assert_int_equal(nbcoll_comm_active(s->comm[1]), 0);
    close_scene(s);
}

/* ---- the word that says so --------------------------------------------------------------------------------------- */

static nbcoll_context *_Atomic asked;
static volatile sig_atomic_t was_inside;

static void on_signal(int number)
{
    (void)number;
    was_inside = nbcolli_is_inside(asked);
}

static int is_inside(void)
{
    was_inside = -1;
    raise(SIGUSR1);
    return was_inside;
}

typedef struct seen {
    int in_call, in_done, in_alloc, is_starting;
    nbcoll_context *context;
    nbcoll_status progressed; /* from the allocator */
} seen;

static nbcoll_status look_in_call(void *user, const nbcoll_memory regions[])
{
    (void)regions;
    ((seen *)user)->in_call = is_inside();
    return NBCOLL_OK;
}

static void look_in_done(nbcoll_request request, nbcoll_status status, void *user)
{
    (void)request, (void)status;
    ((seen *)user)->in_done = is_inside();
}

static void *look_in_alloc(void *user, size_t bytes, size_t align)
{
    seen *s = user;
    if (s->is_starting) {
        s->in_alloc = is_inside();
        s->progressed = nbcoll_progress(s->context);
    }
    return aligned_alloc(align, (bytes + align - 1) / align * align);
}

static void plain_free(void *user, void *memory, size_t bytes)
{
    (void)user, (void)bytes;
    free(memory);
}

static void a_signal_handler_knows_whether_it_interrupts_the_library(void **state)
{
    (void)state;
    struct sigaction action = {.sa_handler = on_signal}, before;
    assert_int_equal(sigaction(SIGUSR1, &action, &before), 0);
    for (uint32_t flags = 0; flags <= NBCOLL_ANY_THREAD; flags += NBCOLL_ANY_THREAD) {
        seen s = {.in_call = -1, .in_done = -1, .in_alloc = -1};
        nbcoll_context_config config = {.size = sizeof config, .flags = flags, .host.size = sizeof config.host};
        nbcoll_builder_config builder = {.size = sizeof builder, .rank = 0, .ranks = 1};
        nbcoll_loopback_config loopback = {.size = sizeof loopback};
        nbcoll_schedule *call;
        nbcoll_builder *b;
        nbcoll_request q;
        world w;

        config.host.user = &s;
        config.host.alloc = look_in_alloc;
        config.host.free = plain_free;
        world_open(&w, 1, &loopback, &config, NULL);
        asked = s.context = w.context[0];
        EXPECT(OK, nbcoll_builder_open(&builder, &b));
        nbcoll_add_call(b, look_in_call, &s, 0, NULL, 0, NULL);
        EXPECT(OK, nbcoll_builder_finish(b, &call));
        EXPECT(OK, nbcoll_schedule_init(call, NULL, NULL, w.comm[0], &q));
        EXPECT(OK, nbcoll_on_done(q, look_in_done, &s));
        assert_int_equal(is_inside(), 0);
        EXPECT(OK, nbcoll_start(&q));
        EXPECT(OK, nbcoll_wait(&q, deadline));
        EXPECT(OK, nbcoll_request_free(&q));
        assert_int_equal(s.in_call, 1);
        assert_int_equal(s.in_done, 0);
        s.is_starting = 1; /* a schedule is built for it, on the caller's side */
        EXPECT(OK, nbcoll_barrier(w.comm[0], deadline));
        s.is_starting = 0;
        assert_int_equal(s.in_alloc, 1);
        EXPECT(ERR_BUSY, s.progressed);
        assert_int_equal(is_inside(), 0);
        EXPECT(OK, nbcoll_schedule_free(call));
        world_close(&w);
    }
    sigaction(SIGUSR1, &before, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(starts_do_not_wait_for_a_thread_that_is_inside),
        cmocka_unit_test(what_is_handed_to_a_communicator_that_breaks_ends),
        cmocka_unit_test(a_signal_handler_knows_whether_it_interrupts_the_library),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
