/* SPDX-License-Identifier: BSD-3-Clause
 * Nodes whose ranks share memory: a shm segment each, joined by a loopback where all ranks are threads, or by one more
 * segment, as a slower wire would, where they are processes. Ranks really wait, and really die. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "crew.h"
#include "joined.h"
#include "nbcoll/shm.h"
#include "operation.h"

enum { OPERATIONS = 25 };

typedef struct plan {
    const nbcoll_nodes *nodes;
    nbcoll_loopback *loopback; /* null: the last endpoint is of shm */
    nbcoll_shm_id between, inside[JOINED_NODES];
    uint64_t seed;
    int victim; /* dies; -1: nobody */
    _Atomic uint64_t death;
} plan;

static void open_shm(nbcoll_shm_id id, int rank, int ranks, uint32_t flags, nbcoll_endpoint **out)
{
    nbcoll_shm_config config = {.size = sizeof config, .id = id, .rank = rank, .ranks = ranks, .flags = flags};
    CHECK_STATUS(NBCOLL_OK, nbcoll_shm_open(&config, out));
}

static nbcoll_comm *join(const plan *p, int rank, nbcoll_context **context)
{
    const nbcoll_comm_config limits = {.size = sizeof limits, .slots = 4, .cells = 8, .schedules = 16, .eager = 1024};
    int node = nbcoll_node_of(p->nodes, rank);
    nbcoll_endpoint *both[2];
    nbcoll_comm *comm;

    open_shm(p->inside[node], nbcoll_node_place(p->nodes, rank), nbcoll_node_size(p->nodes, node), 0, &both[0]);
    if (p->loopback)
        CHECK_STATUS(NBCOLL_OK, nbcoll_loopback_open(p->loopback, rank, &both[1]));
    else
        open_shm(p->between, rank, p->nodes->ranks, NBCOLL_SHM_NO_BULK, &both[1]);
    CHECK_STATUS(NBCOLL_OK, nbcoll_context_create(NBCOLL_ABI, NULL, context));
    CHECK_STATUS(NBCOLL_OK, nbcoll_comm_create_over(*context, 2, both, &limits, &comm, 20 * SECOND));
    return comm;
}

static void leave(nbcoll_context *context)
{
    nbcoll_status s;
    while ((s = nbcoll_context_free(context)) == NBCOLL_ERR_BUSY)
        nbcoll_progress(context);
    CHECK_STATUS(NBCOLL_OK, s);
}

static void work(int rank, void *user)
{
    const plan *p = user;
    nbcoll_context *context;
    nbcoll_comm *comm = join(p, rank, &context), *dup;
    uint64_t random = p->seed;

    CHECK_STATUS(NBCOLL_OK, nbcoll_comm_dup(comm, &dup, 20 * SECOND));
    for (int i = 0; i < OPERATIONS; i++) {
        operation o = operation_random(&random, p->nodes->ranks, i % 8 ? 600 : 30000);
        share mine = share_make(&o, rank, p->nodes->ranks);
        CHECK_STATUS(NBCOLL_OK, operation_call(&o, &mine, i % 2 ? comm : dup, 20 * SECOND));
        operation_check(&o, &mine, rank, p->nodes->ranks);
        share_free(&mine);
    }
    CHECK_STATUS(NBCOLL_OK, nbcoll_barrier(comm, 20 * SECOND));
    leave(context);
}

static void make_ids(plan *p)
{
    assert_int_equal(nbcoll_shm_id_make(&p->between), NBCOLL_OK);
    for (int i = 0; i < JOINED_NODES; i++)
        assert_int_equal(nbcoll_shm_id_make(&p->inside[i]), NBCOLL_OK);
}

static void thread_of(world *w, int rank, void *user)
{
    (void)w;
    work(rank, user);
}

static crew processes(int ranks)
{
    crew c = {{0}};
    for (int i = 0; i < ranks; i++)
        c.threads[i] = 1;
    return c;
}

static void segments_joined_by_a_loopback_have_the_values_of_serial_c(void **state)
{
    static const int ranks[] = {2, 4, 7};
    uint64_t seed = seed_of_test();

    (void)state;
    for (int i = 0; i < 3; i++)
        for (int at = i; at < JOINED_PLACEMENTS; at += 4) {
            nbcoll_loopback_config config = world_variant(at % WORLD_SHARED, seed);
            nbcoll_nodes *nodes = joined_placement(at, ranks[i], seed);
            plan p = {.nodes = nodes, .seed = random_of(&seed), .victim = -1};
            world w = {.ranks = ranks[i]};
            make_ids(&p);
            config.ranks = ranks[i];
            assert_int_equal(nbcoll_loopback_create(&config, &p.loopback), NBCOLL_OK);
            world_threads(&w, thread_of, &p);
            assert_int_equal(nbcoll_loopback_free(p.loopback), NBCOLL_OK);
            nbcoll_nodes_free(nodes);
        }
}

static void segments_joined_by_a_segment_have_the_values_of_serial_c(void **state)
{
    static const int ranks[] = {3, 6};
    uint64_t seed = seed_of_test();

    (void)state;
    for (int i = 0; i < 2; i++)
        for (int at = 2 * i; at < JOINED_PLACEMENTS; at += 4) {
            nbcoll_nodes *nodes = joined_placement(at, ranks[i], seed);
            plan p = {.nodes = nodes, .seed = random_of(&seed), .victim = -1};
            crew c = processes(ranks[i]);
            make_ids(&p);
            crew_succeeds(&c, work, &p);
            nbcoll_nodes_free(nodes);
        }
}

/* ---- deaths ------------------------------------------------------------------------------------------------------ */

/* The victim dies in one of many operations; the others learn who it was, and go on without it. */
static void work_until_one_dies(int rank, void *user)
{
    plan *p = user;
    nbcoll_context *context;
    nbcoll_comm *comm = join(p, rank, &context), *rest;
    nbcoll_status s = nbcoll_barrier(comm, 20 * SECOND);
    uint64_t random = p->seed;
    int32_t mine = 1, sum = 0;
    nbcoll_failure failure;

    for (int left = 5 + (int)(p->seed % 20); s == NBCOLL_OK; left--) {
        operation o = operation_random(&random, p->nodes->ranks, 5000);
        share data = share_make(&o, rank, p->nodes->ranks);
        if (rank == p->victim && !left) {
            atomic_store(&p->death, clock_ns());
            kill(getpid(), SIGKILL);
        }
        s = operation_call(&o, &data, comm, 20 * SECOND);
        share_free(&data);
    }
    CHECK_STATUS(NBCOLL_ERR_PEER_LOST, s);
    CHECK(clock_ns() - atomic_load(&p->death) < 2 * SECOND);
    CHECK_STATUS(NBCOLL_OK, nbcoll_last_failure(context, &failure));
    CHECK(failure.rank == p->victim);
    CHECK_STATUS(NBCOLL_OK, nbcoll_comm_shrink(comm, &rest, 20 * SECOND));
    CHECK_STATUS(NBCOLL_OK, nbcoll_allreduce(&mine, &sum, 1, NBCOLL_INT32, NBCOLL_SUM, rest, 20 * SECOND));
    CHECK(sum == p->nodes->ranks - 1);
    leave(context);
}

static void a_killed_rank_is_named_on_all_nodes_which_go_on(void **state)
{
    enum { RANKS = 6 };
    plan *p = shared_memory(sizeof *p);
    crew c = processes(RANKS);
    uint64_t seed = seed_of_test();

    (void)state;
    for (int at = 1; at < JOINED_PLACEMENTS; at++) {
        nbcoll_nodes *nodes = joined_placement(at, RANKS, seed);
        int status[RANKS_MOST];
        *p = (plan){.nodes = nodes, .seed = random_of(&seed), .victim = at % RANKS};
        make_ids(p);
        assert_true(crew_run(&c, work_until_one_dies, p, status));
        for (int r = 0; r < RANKS; r++)
            if (r == p->victim)
                assert_true(WIFSIGNALED(status[r]) && WTERMSIG(status[r]) == SIGKILL);
            else
                assert_int_equal(status[r], 0);
        nbcoll_nodes_free(nodes);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(segments_joined_by_a_loopback_have_the_values_of_serial_c),
        cmocka_unit_test(segments_joined_by_a_segment_have_the_values_of_serial_c),
        cmocka_unit_test(a_killed_rank_is_named_on_all_nodes_which_go_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
