/* SPDX-License-Identifier: BSD-3-Clause
 * Programs whose blocks get places and lengths when they are started: the same program brings other lengths each time,
 * none and unequal ones too, by agents in turn and by one thread for each. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <pthread.h>
#include <sched.h>

#include "compiled.h"
#include "nbcoll/loopback.h"
#include "world.h"

enum { MOST = 9, STARTS = 4, LONGEST = 6000, TURNS = 10000000 };

typedef struct scene scene;

/* One rank: its program, and how long the blocks of this start are. */
typedef struct actor {
    scene *scene;
    int rank;
    nbcoll_endpoint *endpoint;
    nbcoll_agent *agent;
    unsigned char *send, *recv;
    nbcoll_program_run *run;
    pthread_t thread;
} actor;

struct scene {
    int ranks, is_threaded;
    uint64_t seed;
    nbcoll_loopback *loopback;
    compiled p;
    actor actor[MOST];
    atomic_int is_over;
};

/* Bytes from one rank to another in this start: a third of them none. */
static size_t length(const scene *s, int from, int to)
{
    uint64_t random = s->seed * 1000003 + (uint64_t)(from * MOST + to);
    uint64_t drawn = world_random(&random) ^ world_random(&random);
    return drawn % 3 ? (size_t)(drawn / 3 % LONGEST) : 0;
}

static unsigned char content(const scene *s, int from, int to, size_t i)
{
    return (unsigned char)(s->seed * 31 + (uint64_t)from * 7 + (uint64_t)to * 13 + i);
}

/* Blocks lie one behind the other: received ones from the last on. */
static nbcoll_region place(void *user, int is_recv, int index)
{
    const actor *a = user;
    const scene *s = a->scene;
    nbcoll_addr at = {is_recv ? NBCOLL_BUFFER_RECV : NBCOLL_BUFFER_SEND, 0};
    for (int i = 0; i < index && !is_recv; i++)
        at.offset += length(s, a->rank, i);
    for (int i = s->ranks - 1; i > index && is_recv; i--)
        at.offset += length(s, i, a->rank);
    return nbcoll_span(at, is_recv ? length(s, index, a->rank) : length(s, a->rank, index));
}

static void *progress(void *user)
{
    actor *a = user;
    while (!atomic_load(&a->scene->is_over))
        if (!nbcoll_agent_progress(a->agent))
            sched_yield();
    return NULL;
}

static void scene_open(scene *s, const nbcoll_algorithm *algorithm, int ranks, int is_threaded)
{
    nbcoll_loopback_config config = {.size = sizeof config, .ranks = ranks, .pairs = nbcoll_loopback_pairs()};
    nbcoll_agent_config agent = {.size = sizeof agent};
    nbcoll_case c = compiled_case(NBCOLL_OPERATION_ALLTOALLV, ranks, 1);
    memset(s, 0, sizeof *s);
    s->ranks = ranks;
    s->is_threaded = is_threaded;
    EXPECT(OK, compiled_open(&s->p, algorithm, &c, NULL));
    EXPECT(OK, nbcoll_loopback_create(&config, &s->loopback));
    for (int rank = 0; rank < ranks; rank++) {
        actor *a = &s->actor[rank];
        *a = (actor){.scene = s, .rank = rank};
        a->send = malloc((size_t)MOST * LONGEST);
        a->recv = malloc((size_t)MOST * LONGEST);
        EXPECT(OK, nbcoll_loopback_open(s->loopback, rank, &a->endpoint));
        EXPECT(OK, nbcoll_agent_open(a->endpoint, &agent, &a->agent));
        if (is_threaded)
            assert_int_equal(pthread_create(&a->thread, NULL, progress, a), 0);
    }
}

static void scene_close(scene *s)
{
    atomic_store(&s->is_over, 1);
    for (int rank = 0; rank < s->ranks; rank++)
        if (s->is_threaded)
            pthread_join(s->actor[rank].thread, NULL);
    for (int rank = 0; rank < s->ranks; rank++) {
        actor *a = &s->actor[rank];
        EXPECT(OK, nbcoll_agent_close(a->agent));
        nbcoll_endpoint_close(a->endpoint);
        free(a->send);
        free(a->recv);
    }
    EXPECT(OK, nbcoll_loopback_free(s->loopback));
    compiled_close(&s->p);
}

static void start(actor *a)
{
    const scene *s = a->scene;
    for (int to = 0; to < s->ranks; to++) {
        nbcoll_region r = place(a, 0, to);
        for (size_t i = 0; i < r.bytes; i++)
            a->send[r.at.offset + i] = content(s, a->rank, to, i);
    }
    memset(a->recv, 0xee, (size_t)MOST * LONGEST);
    EXPECT(OK, nbcoll_agent_start_bound(a->agent, s->p.program[a->rank], a->send, a->recv, place, a, &a->run));
}

static void check(const actor *a)
{
    size_t end = 0;
    for (int from = 0; from < a->scene->ranks; from++) {
        nbcoll_region r = place((void *)(uintptr_t)a, 1, from);
        for (size_t i = 0; i < r.bytes; i++)
            assert_int_equal(a->recv[r.at.offset + i], content(a->scene, from, a->rank, i));
        end += r.bytes;
    }
    assert_int_equal(a->recv[end], 0xee); /* nothing behind the blocks */
}

static void settle(scene *s)
{
    int left = s->ranks;
    for (long turn = 0; left; turn++) {
        actor *a = &s->actor[turn % s->ranks];
        if (s->is_threaded)
            sched_yield();
        else {
            assert_true(turn < TURNS);
            nbcoll_agent_progress(a->agent);
        }
        nbcoll_status status = a->run ? nbcoll_agent_test(a->run) : NBCOLL_PENDING;
        if (status == NBCOLL_PENDING)
            continue;
        EXPECT(OK, status);
        a->run = NULL;
        left--;
    }
}

static void run_all(int is_threaded)
{
    const nbcoll_algorithm *algorithm;
    for (unsigned i = 0; (algorithm = nbcoll_algorithm_at(NBCOLL_OPERATION_ALLTOALLV, i)); i++)
        for (int ranks = 1; ranks <= MOST; ranks += 1 + is_threaded) {
            scene s;
            scene_open(&s, algorithm, ranks, is_threaded);
            for (int n = 0; n < STARTS; n++) {
                s.seed = (uint64_t)(n * 100 + ranks);
                for (int rank = 0; rank < ranks; rank++)
                    start(&s.actor[rank]);
                settle(&s);
                for (int rank = 0; rank < ranks; rank++)
                    check(&s.actor[rank]);
            }
            scene_close(&s);
        }
}

static void a_program_is_started_with_other_lengths_each_time(void **state)
{
    (void)state;
    run_all(0);
}

static void threads_of_agents_bring_blocks_of_any_length(void **state)
{
    (void)state;
    run_all(1);
}

/* Block 0 wherever, as long as it is sent or received. */
static nbcoll_region elsewhere(void *user, int is_recv, int index)
{
    (void)index;
    nbcoll_region r = *(nbcoll_region *)user;
    r.bytes += (size_t)is_recv;
    return r;
}

static void blocks_that_make_no_sense_are_refused_before_anything_is_posted(void **state)
{
    nbcoll_region scratch = {{NBCOLL_BUFFER_SCRATCH, 0}, 1}, far = {{NBCOLL_BUFFER_RECV, SIZE_MAX}, 1},
                  unequal = {{NBCOLL_BUFFER_RECV, 0}, 1};
    unsigned char bytes[8] = {0};
    nbcoll_program_run *run;
    scene s;
    (void)state;
    scene_open(&s, nbcoll_algorithm_find(NBCOLL_OPERATION_ALLTOALLV, "flat"), 1, 0);
    nbcoll_agent *a = s.actor[0].agent;
    const nbcoll_program *p = s.p.program[0];
    EXPECT(ERR_NULL, nbcoll_agent_start(a, p, bytes, bytes, &run));
    EXPECT(ERR_ARGUMENT, nbcoll_agent_start_bound(a, p, bytes, bytes, elsewhere, &scratch, &run));
    EXPECT(ERR_COUNT, nbcoll_agent_start_bound(a, p, bytes, bytes, elsewhere, &far, &run));
    EXPECT(ERR_ARGUMENT, nbcoll_agent_start_bound(a, p, bytes, bytes, elsewhere, &unequal, &run));
    scene_close(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_program_is_started_with_other_lengths_each_time),
        cmocka_unit_test(threads_of_agents_bring_blocks_of_any_length),
        cmocka_unit_test(blocks_that_make_no_sense_are_refused_before_anything_is_posted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
