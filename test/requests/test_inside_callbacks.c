/* SPDX-License-Identifier: BSD-3-Clause
 * What a host function that the library calls may free and close, and that all else is refused: in `done` and `pause`
 * everything but the context; elsewhere (CALL, observer, operations, types, memory) nothing. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "nbcoll/driver.h"

#include "ended.h"
#include "world.h"

enum { RANKS = 2, SECOND = 1000000000 };

/* What a callback sees: one world at a time. */
static struct scene {
    world w;
    nbcoll_request request; /* of rank 0, active */
    nbcoll_schedule *schedule;
    int times;
    nbcoll_status said;
} scene;

static void open_scene(uint32_t flags, const nbcoll_observer *observer, const nbcoll_host *host)
{
    nbcoll_context_config context = {.size = sizeof context, .observer = observer, .flags = flags};
    if (host)
        context.host = *host;
    scene.times = 0;
    scene.said = NBCOLL_PENDING;
    world_open(&scene.w, RANKS, NULL, &context, NULL);
}

/* A barrier, which rank 1 ends first; `done` is told of rank 0's. */
static void barrier_done(nbcoll_request *q, nbcoll_done *done, void *user)
{
    nbcoll_request other;
    EXPECT(OK, nbcoll_on_done(*q, done, user));
    EXPECT(OK, nbcoll_ibarrier(scene.w.comm[1], &other));
    for (int i = 0; i < 20; i++)
        world_step(&scene.w);
    EXPECT(OK, nbcoll_test(&other));
}

/* ---- done ------------------------------------------------------------------------------------------------------ */

static void free_context(nbcoll_request request, nbcoll_status status, void *user)
{
    (void)request;
    (void)user;
    EXPECT(OK, status);
    scene.times++;
    scene.said = nbcoll_context_free(scene.w.context[0]);
}

static void done_cannot_free_its_context(void **state)
{
    nbcoll_request q;
    (void)state;
    open_scene(0, NULL, NULL);
    EXPECT(OK, nbcoll_ibarrier(scene.w.comm[0], &q));
    barrier_done(&q, free_context, NULL);
    assert_int_equal(scene.times, 1);
    EXPECT(ERR_BUSY, scene.said);
    world_close(&scene.w); /* afterwards it can be freed */
}

static void free_comm(nbcoll_request request, nbcoll_status status, void *user)
{
    (void)request;
    EXPECT(OK, status);
    scene.times++;
    scene.said = nbcoll_comm_free(user);
}

static void done_can_free_the_communicator_of_its_request(void **state)
{
    (void)state;
    for (int persistent = 0; persistent < 2; persistent++) {
        nbcoll_request q;
        open_scene(0, NULL, NULL);
        if (persistent)
            EXPECT(OK, nbcoll_barrier_init(scene.w.comm[0], &q));
        else
            EXPECT(OK, nbcoll_ibarrier(scene.w.comm[0], &q));
        if (persistent)
            EXPECT(OK, nbcoll_start(&q));
        barrier_done(&q, free_comm, scene.w.comm[0]);
        assert_int_equal(scene.times, 1);
        EXPECT(OK, scene.said);
        assert_int_equal(nbcoll_test(&q), persistent ? NBCOLL_ERR_REQUEST : NBCOLL_OK);
        world_close(&scene.w);
    }
}

static void end_all(nbcoll_request request, nbcoll_status status, void *user)
{
    nbcoll_request other;
    (void)request;
    (void)user;
    EXPECT(OK, status);
    EXPECT(OK, nbcoll_ibarrier(scene.w.comm[1], &other));
    while (nbcoll_comm_active(scene.w.comm[0]) || nbcoll_comm_active(scene.w.comm[1]))
        world_step(&scene.w);
    EXPECT(OK, nbcoll_test(&other));
    scene.times++;
}

static void a_test_says_what_a_callback_has_ended(void **state)
{
    const uint32_t flags[] = {0, NBCOLL_ANY_THREAD};
    (void)state;
    for (int i = 0; i < 2; i++) {
        nbcoll_request first, second, other;
        open_scene(flags[i], NULL, NULL);
        EXPECT(OK, nbcoll_ibarrier(scene.w.comm[0], &first));
        EXPECT(OK, nbcoll_ibarrier(scene.w.comm[0], &second));
        EXPECT(OK, nbcoll_on_done(first, end_all, NULL));
        EXPECT(OK, nbcoll_ibarrier(scene.w.comm[1], &other));
        EXPECT(OK, nbcoll_test(&other)); /* rank 0 has not looked yet */
        EXPECT(OK, nbcoll_test(&second));
        assert_int_equal(scene.times, 1);
        world_close(&scene.w);
    }
}

static void free_request(nbcoll_request request, nbcoll_status status, void *user)
{
    nbcoll_request *other = user;
    EXPECT(OK, status);
    scene.times++;
    scene.said = nbcoll_request_free(&request);
    EXPECT(ERR_BUSY, nbcoll_request_free(other)); /* active */
}

static void done_can_free_its_persistent_request_but_no_active_one(void **state)
{
    (void)state;
    for (int persistent = 0; persistent < 2; persistent++) {
        nbcoll_request q, other, there;
        open_scene(0, NULL, NULL);
        if (persistent)
            EXPECT(OK, nbcoll_barrier_init(scene.w.comm[0], &q));
        else
            EXPECT(OK, nbcoll_ibarrier(scene.w.comm[0], &q));
        if (persistent)
            EXPECT(OK, nbcoll_start(&q));
        EXPECT(OK, nbcoll_barrier_init(scene.w.comm[0], &other));
        EXPECT(OK, nbcoll_start(&other));
        barrier_done(&q, free_request, &other);
        assert_int_equal(scene.times, 1);
        world_expect(persistent ? NBCOLL_OK : NBCOLL_ERR_REQUEST, scene.said, "free", __FILE__, __LINE__);
        EXPECT(OK, nbcoll_ibarrier(scene.w.comm[1], &there));
        world_finish(&scene.w, 2, (nbcoll_request[]){there, other});
        world_close(&scene.w);
    }
}

/* A schedule of two ranks in which each sends the other nothing. */
static nbcoll_schedule *exchange(int rank)
{
    const nbcoll_builder_config config = {.size = sizeof config, .rank = rank, .ranks = RANKS};
    const nbcoll_addr at = {NBCOLL_BUFFER_SEND, 0};
    nbcoll_builder *b;
    nbcoll_schedule *s;

    EXPECT(OK, nbcoll_builder_open(&config, &b));
    nbcoll_add_send(b, !rank, at, 0);
    nbcoll_add_recv(b, !rank, (nbcoll_addr){NBCOLL_BUFFER_RECV, 0}, 0);
    EXPECT(OK, nbcoll_builder_finish(b, &s));
    return s;
}

static void free_schedule(nbcoll_request request, nbcoll_status status, void *user)
{
    EXPECT(OK, status);
    scene.times++;
    if (user) { /* persistent */
        EXPECT(ERR_BUSY, nbcoll_schedule_free(scene.schedule));
        EXPECT(OK, nbcoll_request_free(&request));
    }
    scene.said = nbcoll_schedule_free(scene.schedule);
}

static void done_can_free_a_schedule_when_no_request_holds_it(void **state)
{
    (void)state;
    for (int persistent = 0; persistent < 2; persistent++) {
        nbcoll_schedule *there = exchange(1);
        nbcoll_request q, other;
        open_scene(0, NULL, NULL);
        scene.schedule = exchange(0);
        if (persistent)
            EXPECT(OK, nbcoll_schedule_init(scene.schedule, NULL, NULL, scene.w.comm[0], &q));
        else
            EXPECT(OK, nbcoll_schedule_start(scene.schedule, NULL, NULL, scene.w.comm[0], &q));
        EXPECT(OK, nbcoll_on_done(q, free_schedule, persistent ? &scene : NULL));
        if (persistent)
            EXPECT(OK, nbcoll_start(&q));
        EXPECT(OK, nbcoll_schedule_start(there, NULL, NULL, scene.w.comm[1], &other));
        world_finish(&scene.w, 1, &other);
        for (int i = 0; i < 20; i++)
            world_step(&scene.w);
        assert_int_equal(scene.times, 1);
        world_expect(persistent ? NBCOLL_OK : NBCOLL_ERR_BUSY, scene.said, "free", __FILE__, __LINE__);
        if (!persistent)
            EXPECT(OK, nbcoll_schedule_free(scene.schedule));
        EXPECT(OK, nbcoll_schedule_free(there));
        world_close(&scene.w);
    }
}

static void close_endpoint(nbcoll_request request, nbcoll_status status, void *user)
{
    (void)request;
    (void)user;
    EXPECT(OK, status);
    scene.times++;
    nbcoll_endpoint_close(scene.w.endpoint[0]);
    EXPECT(ERR_BUSY, nbcoll_loopback_free(scene.w.loopback));
}

static void an_endpoint_that_a_context_owns_stays_open(void **state)
{
    nbcoll_request q[RANKS];
    (void)state;
    open_scene(0, NULL, NULL);
    EXPECT(OK, nbcoll_ibarrier(scene.w.comm[0], &q[0]));
    barrier_done(&q[0], close_endpoint, NULL);
    assert_int_equal(scene.times, 1);
    for (int r = 0; r < RANKS; r++)
        EXPECT(OK, nbcoll_ibarrier(scene.w.comm[r], &q[r]));
    world_finish(&scene.w, RANKS, q);
    world_close(&scene.w);
}

/* ---- all other functions --------------------------------------------------------------------------------------- */

/* Every call that frees or closes, and those that would wait or progress. */
static void everything_is_refused(void)
{
    nbcoll_context *c = scene.w.context[0];
    nbcoll_comm *comm = scene.w.comm[0];
    nbcoll_request q = scene.request, copy = q;
    size_t index;
    char memory;

    scene.times++;
    EXPECT(ERR_BUSY, nbcoll_context_free(c));
    EXPECT(ERR_BUSY, nbcoll_comm_free(comm));
    EXPECT(ERR_BUSY, nbcoll_mem_free(comm, &memory));
    if (scene.schedule)
        EXPECT(ERR_BUSY, nbcoll_schedule_free(scene.schedule));
    nbcoll_endpoint_close(scene.w.endpoint[0]);
    EXPECT(ERR_BUSY, nbcoll_progress(c));
    EXPECT(ERR_BUSY, nbcoll_ibarrier(comm, &q));
    if (!copy.at)
        return;
    EXPECT(ERR_BUSY, nbcoll_request_free(&copy));
    EXPECT(ERR_BUSY, nbcoll_cancel(copy));
    EXPECT(ERR_BUSY, nbcoll_test(&copy));
    EXPECT(ERR_BUSY, nbcoll_wait(&copy, NBCOLL_FOREVER));
    EXPECT(PENDING, nbcoll_test_all(1, &copy, NULL));
    EXPECT(ERR_TIMEOUT, nbcoll_wait_all(1, &copy, NULL, NBCOLL_FOREVER));
    EXPECT(ERR_TIMEOUT, nbcoll_wait_any(1, &copy, &index, NBCOLL_FOREVER));
}

static const uint32_t threading[] = {0, NBCOLL_ANY_THREAD};

static nbcoll_status call(void *user, const nbcoll_memory memory[])
{
    (void)user;
    (void)memory;
    everything_is_refused();
    return NBCOLL_OK;
}

/* The call waits for rank 1's message, so that the request is known when it runs. */
static nbcoll_schedule *receive_then_call(int rank)
{
    const nbcoll_builder_config config = {.size = sizeof config, .rank = rank, .ranks = RANKS};
    nbcoll_builder *b;
    nbcoll_schedule *s;

    EXPECT(OK, nbcoll_builder_open(&config, &b));
    if (rank)
        nbcoll_add_send(b, 0, (nbcoll_addr){NBCOLL_BUFFER_SEND, 0}, 0);
    else
        nbcoll_after(b, nbcoll_add_call(b, call, NULL, 0, NULL, 0, NULL),
                     nbcoll_add_recv(b, 1, (nbcoll_addr){NBCOLL_BUFFER_RECV, 0}, 0));
    EXPECT(OK, nbcoll_builder_finish(b, &s));
    return s;
}

static void inside_a_call_step_everything_is_refused(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        nbcoll_schedule *s[RANKS];
        nbcoll_request q[RANKS];
        open_scene(threading[i], NULL, NULL);
        for (int r = 0; r < RANKS; r++) {
            s[r] = receive_then_call(r);
            scene.schedule = s[0];
            EXPECT(OK, nbcoll_schedule_start(s[r], NULL, NULL, scene.w.comm[r], &q[r]));
            scene.request = q[0];
        }
        world_finish(&scene.w, RANKS, q);
        assert_int_equal(scene.times, 1);
        for (int r = 0; r < RANKS; r++)
            EXPECT(OK, nbcoll_schedule_free(s[r]));
        scene.schedule = NULL;
        world_close(&scene.w);
    }
}

static void run_allreduce(nbcoll_type type, nbcoll_op op)
{
    int64_t in[RANKS][4] = {{1}, {2}}, out[RANKS][4] = {{0}};
    nbcoll_request q[RANKS];

    scene.request = NBCOLL_REQUEST_NULL;
    for (int r = 0; r < RANKS; r++) {
        EXPECT(OK, nbcoll_iallreduce(in[r], out[r], 1, type, op, scene.w.comm[r], &q[r]));
        scene.request = q[0];
    }
    world_finish(&scene.w, RANKS, q);
    assert_true(scene.times > 0);
}

static nbcoll_status combine(void *user, void *result, const void *left, const void *right, size_t count,
                             nbcoll_type type)
{
    (void)user;
    (void)type;
    if (nbcoll_progress(scene.w.context[0]) == NBCOLL_ERR_BUSY) /* rank 0's, not rank 1's */
        everything_is_refused();
    for (size_t i = 0; i < count; i++)
        ((int64_t *)result)[i] = ((const int64_t *)left)[i] + ((const int64_t *)right)[i];
    return NBCOLL_OK;
}

static void inside_a_host_operation_everything_is_refused(void **state)
{
    const nbcoll_host_op op = {.size = sizeof op, .combine = combine};
    (void)state;
    for (int i = 0; i < 2; i++) {
        open_scene(threading[i], NULL, NULL);
        run_allreduce(NBCOLL_INT64, nbcoll_op_of(&op));
        world_close(&scene.w);
    }
}

static nbcoll_status copy(const void *from, void *to, size_t count)
{
    if (nbcoll_progress(scene.w.context[0]) == NBCOLL_ERR_BUSY)
        everything_is_refused();
    for (size_t i = 0; i < count; i++)
        ((int64_t *)to)[i] = ((const int64_t *)from)[i];
    return NBCOLL_OK;
}

static nbcoll_status pack(void *user, const void *elements, void *to, size_t count)
{
    (void)user;
    return copy(elements, to, count);
}

static nbcoll_status unpack(void *user, const void *from, void *elements, size_t count)
{
    (void)user;
    return copy(from, elements, count);
}

static nbcoll_status add(void *user, void *result, const void *left, const void *right, size_t count, nbcoll_type type)
{
    (void)user;
    (void)type;
    for (size_t i = 0; i < count; i++)
        ((int64_t *)result)[i] = ((const int64_t *)left)[i] + ((const int64_t *)right)[i];
    return NBCOLL_OK;
}

static void inside_a_host_type_everything_is_refused(void **state)
{
    const nbcoll_host_type type = {.size = sizeof type, .extent = 16, .packed = 8, .pack = pack, .unpack = unpack};
    const nbcoll_host_op op = {.size = sizeof op, .combine = add};
    (void)state;
    for (int i = 0; i < 2; i++) {
        open_scene(threading[i], NULL, NULL);
        run_allreduce(nbcoll_type_of(&type), nbcoll_op_of(&op));
        world_close(&scene.w);
    }
}

static _Thread_local int watching;

static void see(void *user, const nbcoll_event *event)
{
    (void)user;
    if (watching && event->comm == scene.w.comm[0])
        everything_is_refused();
}

static void inside_an_observer_everything_is_refused(void **state)
{
    const nbcoll_observer observer = {.size = sizeof observer, .event = see};
    (void)state;
    for (int i = 0; i < 2; i++) {
        open_scene(threading[i], &observer, NULL);
        watching = 1;
        run_allreduce(NBCOLL_INT64, NBCOLL_SUM);
        watching = 0;
        world_close(&scene.w);
    }
}

static void *alloc(void *user, size_t bytes, size_t align)
{
    (void)user;
    if (watching)
        everything_is_refused();
    return aligned_alloc(align, (bytes + align - 1) / align * align);
}

static void release(void *user, void *memory, size_t bytes)
{
    (void)user;
    (void)bytes;
    if (watching)
        everything_is_refused();
    free(memory);
}

static void inside_the_memory_hooks_everything_is_refused(void **state)
{
    const nbcoll_host host = {.size = sizeof host, .alloc = alloc, .free = release};
    (void)state;
    for (int i = 0; i < 2; i++) {
        nbcoll_comm *dup[RANKS];
        nbcoll_request q[RANKS];
        open_scene(threading[i], NULL, &host);
        for (int r = 0; r < RANKS; r++) {
            scene.request = NBCOLL_REQUEST_NULL;
            watching = r == 0;
            EXPECT(OK, nbcoll_comm_idup(scene.w.comm[r], &dup[r], &q[r]));
            watching = 0;
        }
        int taken = scene.times;
        assert_true(taken > 0);
        world_finish(&scene.w, RANKS, q);
        watching = 1;
        EXPECT(OK, nbcoll_comm_free(dup[0]));
        watching = 0;
        assert_true(scene.times > taken);
        world_close(&scene.w);
    }
}

/* A driver makes the passes for a request that waits for rank 1. */
static void beside_a_driver_everything_is_refused(void **state)
{
    const nbcoll_host host = {.size = sizeof host, .alloc = alloc, .free = release};
    nbcoll_driver *driver;
    nbcoll_comm *dup[RANKS];
    nbcoll_request q[RANKS], made[RANKS];
    (void)state;
    open_scene(NBCOLL_ANY_THREAD, NULL, &host);
    EXPECT(OK, nbcoll_driver_create(NULL, &driver));
    EXPECT(OK, nbcoll_driver_add(driver, scene.w.context[0]));
    EXPECT(OK, nbcoll_driver_start(driver));
    for (int r = 0; r < RANKS; r++)
        EXPECT(OK, nbcoll_ibarrier(scene.w.comm[r], &q[r]));
    while (!has_ended(q[0])) /* the driver is there */
        EXPECT(OK, nbcoll_progress(scene.w.context[1]));
    world_finish(&scene.w, RANKS, q);
    EXPECT(OK, nbcoll_ibarrier(scene.w.comm[0], &q[0]));
    scene.request = q[0];
    watching = 1;
    EXPECT(OK, nbcoll_comm_idup(scene.w.comm[0], &dup[0], &made[0]));
    watching = 0;
    assert_true(scene.times > 0);
    EXPECT(OK, nbcoll_ibarrier(scene.w.comm[1], &q[1]));
    EXPECT(OK, nbcoll_comm_idup(scene.w.comm[1], &dup[1], &made[1]));
    world_finish(&scene.w, RANKS, q);
    world_finish(&scene.w, RANKS, made);
    EXPECT(OK, nbcoll_driver_free(driver));
    world_close(&scene.w);
}

/* ---- pause ----------------------------------------------------------------------------------------------------- */

/* Ends rank 0's barrier, for which it waits, and tries to free what it waits with. */
static void pause_and_free(void *user, uint64_t looks)
{
    (void)user;
    (void)looks;
    if (scene.times++ == 0) {
        nbcoll_request q;
        EXPECT(OK, nbcoll_ibarrier(scene.w.comm[1], &q));
    }
    world_step(&scene.w);
    if (nbcoll_comm_active(scene.w.comm[0]))
        return;
    scene.said = nbcoll_context_free(scene.w.context[0]);
    EXPECT(OK, nbcoll_comm_free(scene.w.comm[0]));
}

static void pause_cannot_free_the_context_that_waits(void **state)
{
    const nbcoll_host host = {.size = sizeof host, .pause = pause_and_free};
    nbcoll_context_config context = {.size = sizeof context, .host = host};
    nbcoll_request q;
    (void)state;
    scene.times = 0;
    world_open(&scene.w, RANKS, NULL, &context, NULL);
    EXPECT(OK, nbcoll_ibarrier(scene.w.comm[0], &q));
    EXPECT(OK, nbcoll_wait(&q, SECOND));
    EXPECT(ERR_BUSY, scene.said);
    world_close(&scene.w);
}

/* Time passes; the context that waits is tried. */
static uint64_t now_and_free(void *user)
{
    (void)user;
    if (watching) {
        scene.times++;
        EXPECT(ERR_BUSY, nbcoll_context_free(scene.w.context[0]));
        EXPECT(ERR_BUSY, nbcoll_context_abandon(scene.w.context[0], NULL, NULL));
    }
    return (uint64_t)scene.times * (SECOND / 10);
}

static void clock_cannot_free_the_context_that_waits(void **state)
{
    const nbcoll_host host = {.size = sizeof host, .now = now_and_free};
    (void)state;
    for (int i = 0; i < 2; i++) {
        nbcoll_request q, other;
        open_scene(threading[i], NULL, &host);
        EXPECT(OK, nbcoll_ibarrier(scene.w.comm[0], &q));
        watching = 1;
        EXPECT(ERR_TIMEOUT, nbcoll_wait(&q, SECOND));
        watching = 0;
        assert_true(scene.times > 2);
        EXPECT(OK, nbcoll_ibarrier(scene.w.comm[1], &other));
        world_finish(&scene.w, 2, (nbcoll_request[]){q, other});
        world_close(&scene.w);
    }
}

/* ---- another thread -------------------------------------------------------------------------------------------- */

static atomic_int entered, tried;

static void stay(nbcoll_request request, nbcoll_status status, void *user)
{
    (void)request;
    (void)user;
    EXPECT(OK, status);
    atomic_store(&entered, 1);
    while (!atomic_load(&tried))
        ;
}

static void *free_meanwhile(void *argument)
{
    (void)argument;
    while (!atomic_load(&entered))
        ;
    scene.said = nbcoll_context_free(scene.w.context[0]);
    atomic_store(&tried, 1);
    return NULL;
}

static void while_done_runs_no_other_thread_can_free_the_context(void **state)
{
    pthread_t thread;
    nbcoll_request q;
    (void)state;
    open_scene(NBCOLL_ANY_THREAD, NULL, NULL);
    EXPECT(OK, nbcoll_ibarrier(scene.w.comm[0], &q));
    assert_int_equal(pthread_create(&thread, NULL, free_meanwhile, NULL), 0);
    barrier_done(&q, stay, NULL);
    pthread_join(thread, NULL);
    EXPECT(ERR_BUSY, scene.said);
    world_close(&scene.w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(done_cannot_free_its_context),
        cmocka_unit_test(done_can_free_the_communicator_of_its_request),
        cmocka_unit_test(a_test_says_what_a_callback_has_ended),
        cmocka_unit_test(done_can_free_its_persistent_request_but_no_active_one),
        cmocka_unit_test(done_can_free_a_schedule_when_no_request_holds_it),
        cmocka_unit_test(an_endpoint_that_a_context_owns_stays_open),
        cmocka_unit_test(inside_a_call_step_everything_is_refused),
        cmocka_unit_test(inside_a_host_operation_everything_is_refused),
        cmocka_unit_test(inside_a_host_type_everything_is_refused),
        cmocka_unit_test(inside_an_observer_everything_is_refused),
        cmocka_unit_test(inside_the_memory_hooks_everything_is_refused),
        cmocka_unit_test(beside_a_driver_everything_is_refused),
        cmocka_unit_test(pause_cannot_free_the_context_that_waits),
        cmocka_unit_test(clock_cannot_free_the_context_that_waits),
        cmocka_unit_test(while_done_runs_no_other_thread_can_free_the_context),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
