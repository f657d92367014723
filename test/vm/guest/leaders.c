/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Hierarchical operations, of two nodes of two ranks, which talk over shm within a node and whose agents are threads
 * over verbs: a leader is killed, before it starts or after that, and all others are told in time, nothing is written
 * afterwards, and no queue pairs are left. Runs in a guest.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <unistd.h>

#include <cmocka.h>

#include <nbcoll/offload.h>
#include <nbcoll/select.h>
#include <nbcoll/shm.h>

#include "crew.h"

#include "agents.h"
#include "board.h"

enum { RANKS = 4, NEAR = 2, NODES = RANKS / NEAR, VICTIM = 2, LATE = 1, TIMES = 5, TOLD_MS = 5000, COUNT = 8192 };

typedef struct scene {
    board board;
    nbcoll_shm_id id[NODES];
    bool starts;        /* the victim does, before it is killed */
    pid_t pid;          /* the victim's */
    atomic_int waiting; /* ranks that have started what does not end */
} scene;

typedef struct member {
    helper helper;
    nbcoll_context *context;
    nbcoll_comm *comm;
} member;

static void join(member *m, int rank, scene *s)
{
    const nbcoll_verbs_config far = {.size = sizeof far, .rank = rank, .ranks = RANKS, .timeout = 15, .probe_ms = 200};
    const nbcoll_shm_config near = {
        .size = sizeof near, .id = s->id[rank / NEAR], .rank = rank % NEAR, .ranks = NEAR, .quota = 1 << 20};
    const nbcoll_rule rule = {.algorithm = nbcoll_algorithm_find(NBCOLL_OPERATION_ALLREDUCE, "hierarchical")};
    nbcoll_comm_config config = NBCOLL_COMM_DEFAULTS;
    nbcoll_endpoint *end[2];

    CHECK_STATUS(NBCOLL_OK, nbcoll_shm_open(&near, &end[0]));
    end[1] = board_open(&s->board, &far);
    CHECK(end[1]);
    CHECK_STATUS(NBCOLL_OK, nbcoll_context_create(NBCOLL_ABI, NULL, &m->context));
    helper_start(&m->helper, end[1]);
    config.node = 1 + (uint64_t)(rank / NEAR);
    config.agent = m->helper.agent;
    config.rules = &rule;
    config.rule_count = 1;
    CHECK_STATUS(NBCOLL_OK, nbcoll_comm_create_over(m->context, 2, end, &config, &m->comm, 60 * SECOND));
}

static void leave(member *m)
{
    CHECK_STATUS(NBCOLL_OK, nbcoll_comm_free(m->comm));
    helper_end(&m->helper);
    leave_context(m->context);
}

static void add_up(const member *m, int rank)
{
    for (int i = 0; i < TIMES; i++) {
        int32_t mine = rank + i, sum = 0;
        CHECK_STATUS(NBCOLL_OK, nbcoll_allreduce(&mine, &sum, 1, NBCOLL_INT32, NBCOLL_SUM, m->comm, 60 * SECOND));
        CHECK(sum == RANKS * (RANKS - 1) / 2 + RANKS * i);
    }
}

static void await(const member *m, const atomic_int *count, int number)
{
    for (uint64_t since = clock_ns(); atomic_load(count) < number; nbcoll_progress(m->context))
        CHECK(clock_ns() - since < 60 * SECOND);
}

/* The late one, of the other node, starts only when the victim is dead: so nobody has its part before. */
static void one_is_killed(int rank, void *user)
{
    scene *s = user;
    static int32_t mine[COUNT], sum[COUNT], then[COUNT]; /* announced: so nothing is under way without a receiver */
    nbcoll_request request;
    member m;

    if (rank == VICTIM)
        s->pid = getpid();
    join(&m, rank, s);
    add_up(&m, rank);
    if (rank == LATE) {
        await(&m, &s->waiting, RANKS - 2 + s->starts);
        kill(s->pid, SIGKILL);
    }
    if (rank != VICTIM || s->starts)
        CHECK_STATUS(NBCOLL_OK, nbcoll_iallreduce(mine, sum, COUNT, NBCOLL_INT32, NBCOLL_SUM, m.comm, &request));
    atomic_fetch_add(&s->waiting, rank != VICTIM || s->starts);
    while (rank == VICTIM)
        nbcoll_progress(m.context);
    await(&m, &s->waiting, RANKS - 1 + s->starts);
    uint64_t since = clock_ns();
    CHECK_STATUS(NBCOLL_ERR_PEER_LOST, nbcoll_wait(&request, 60 * SECOND));
    printf("rank %d: told after %u ms\n", rank, (unsigned)((clock_ns() - since) / 1000000));
    CHECK((clock_ns() - since) / 1000000 < TOLD_MS);
    memcpy(then, sum, sizeof sum);
    leave(&m);
    CHECK(memcmp(then, sum, sizeof sum) == 0);
}

static void kill_one(bool starts)
{
    const crew c = CREW(1, 1, 1, 1);
    scene *s = shared_memory(sizeof *s);
    int status[RANKS];

    s->starts = starts;
    for (int n = 0; n < NODES; n++)
        assert_int_equal(nbcoll_shm_id_make(&s->id[n]), NBCOLL_OK);
    assert_true(crew_run(&c, one_is_killed, s, status));
    for (int i = 0; i < RANKS; i++)
        assert_int_equal(status[i], i == VICTIM ? SIGKILL : 0);
    assert_false(a_queue_pair_is_left());
}

static void all_are_told_of_a_leader_that_is_killed_before_it_starts(void **state)
{
    (void)state;
    kill_one(false);
}

static void all_are_told_of_a_leader_that_is_killed_after_it_has_started(void **state)
{
    (void)state;
    kill_one(true);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_are_told_of_a_leader_that_is_killed_before_it_starts),
        cmocka_unit_test(all_are_told_of_a_leader_that_is_killed_after_it_has_started),
    };
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
