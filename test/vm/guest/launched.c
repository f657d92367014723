/* SPDX-License-Identifier: BSD-3-Clause
 *
 * `nbcoll run --agent=verbs`: the agent's process has queue pairs of the device for all ranks, which have none, and
 * carries out what a stopped rank has started. This file is test and program of its ranks. Runs in a guest, with the
 * path of nbcoll.
 */
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include <cmocka.h>

#include <nbcoll/launch.h>
#include <nbcoll/launch_agent.h>

#include "board.h"
#include "crew.h"

enum { RANKS = 4, SMALL = 10, LARGE = 30000 };

static const char scene_file[] = "/dev/shm/scene";
static const char *command;

typedef struct scene {
    pid_t stopped;
    atomic_int started, ended;
} scene;

static scene *scene_open(void)
{
    int fd = open(scene_file, O_RDWR | O_CREAT, 0600);
    CHECK(fd >= 0 && ftruncate(fd, sizeof(scene)) == 0);
    void *memory = mmap(NULL, sizeof(scene), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    CHECK(memory != MAP_FAILED);
    close(fd);
    return memory;
}

/* ---- a rank ------------------------------------------------------------------------------------------------------ */

/* Whose the guest's queue pairs are, as `rdma` says; the kernel's own ones have no process. */
static void count_queue_pairs(int *agents, int *others)
{
    char line[256];
    FILE *said = popen("rdma resource show qp", "r");

    *agents = *others = 0;
    CHECK(said);
    while (fgets(line, sizeof line, said)) {
        int is_agents = strstr(line, " comm nbcoll") != NULL;
        *agents += is_agents;
        *others += !is_agents && strstr(line, " pid ");
    }
    CHECK(pclose(said) == 0);
}

/* Rank 0 starts, and is stopped before anybody else starts; rank 1 continues it when all others have their values. */
static void gather_while_0_is_stopped(scene *s, nbcoll_comm *comm, const int32_t *mine, int32_t *all, int count)
{
    int rank = nbcoll_comm_rank(comm), agents, others;
    nbcoll_request request;

    if (rank)
        rank_await(&s->started, 1);
    for (uint64_t since = clock_ns(); rank && !process_is_stopped(s->stopped);)
        CHECK(clock_ns() - since < 60 * SECOND);
    CHECK_STATUS(NBCOLL_OK, nbcoll_iallgather(mine, all, (size_t)count, NBCOLL_INT32, comm, &request));
    if (!rank) {
        s->stopped = getpid();
        atomic_store(&s->started, 1);
        kill(getpid(), SIGSTOP);
        CHECK(atomic_load(&s->ended) == RANKS - 1);
    }
    CHECK_STATUS(NBCOLL_OK, nbcoll_wait(&request, 60 * SECOND));
    for (int i = 0; i < RANKS * count; i++)
        CHECK(all[i] == i % count + 1000 * (i / count));
    atomic_fetch_add(&s->ended, 1);
    if (rank != 1)
        return;
    rank_await(&s->ended, RANKS - 1);
    count_queue_pairs(&agents, &others);
    CHECK(agents > 0 && others == 0);
    kill(s->stopped, SIGCONT);
}

static int be_rank(int count)
{
    nbcoll_comm_config config = NBCOLL_COMM_DEFAULTS;
    nbcoll_args args = {.size = sizeof args,
                        .operation = NBCOLL_OPERATION_ALLGATHER,
                        .count = (size_t)count,
                        .reduction = {NBCOLL_INT32, NBCOLL_SUM}};
    nbcoll_context *context;
    nbcoll_endpoint *endpoint;
    nbcoll_comm *comm;
    scene *s = scene_open();
    void *memory;

    CHECK_STATUS(NBCOLL_OK, nbcoll_launch_open(&endpoint));
    CHECK_STATUS(NBCOLL_OK, nbcoll_launch_agent(endpoint, &config.agent));
    CHECK_STATUS(NBCOLL_OK, nbcoll_context_create(NBCOLL_ABI, NULL, &context));
    CHECK_STATUS(NBCOLL_OK, nbcoll_comm_create(context, endpoint, &config, &comm, 60 * SECOND));
    CHECK_STATUS(NBCOLL_OK, nbcoll_comm_offloads(comm, &args, NULL));
    CHECK_STATUS(NBCOLL_OK, nbcoll_mem_alloc(comm, (size_t)count * (RANKS + 1) * sizeof(int32_t), &memory));
    int32_t *mine = memory;
    for (int i = 0; i < count; i++)
        mine[i] = i + 1000 * nbcoll_comm_rank(comm);
    gather_while_0_is_stopped(s, comm, mine, mine + count, count);
    nbcoll_launch_leave(context, NBCOLL_OK);
    CHECK_STATUS(NBCOLL_OK, nbcoll_agent_close(config.agent));
    return 0;
}

/* ---- the tests --------------------------------------------------------------------------------------------------- */

static void run_ranks(int count)
{
    char self[500] = "", line[1200];

    assert_true(readlink("/proc/self/exe", self, sizeof self - 1) > 0);
    snprintf(line, sizeof line, "'%s' run -n %d --timeout 100 --agent=verbs:rxe0 '%s' rank %d", command, RANKS, self,
             count);
    unlink(scene_file);
    assert_int_equal(system(line), 0);
    assert_false(a_queue_pair_is_left());
}

static void an_agent_that_was_launched_has_the_queue_pairs_of_all_ranks(void **state)
{
    (void)state;
    run_ranks(SMALL);
    run_ranks(LARGE);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_agent_that_was_launched_has_the_queue_pairs_of_all_ranks),
    };
    if (argc == 3)
        return be_rank(atoi(argv[2]));
    command = argc == 2 ? argv[1] : "nbcoll";
    return cmocka_run_group_tests(tests, NULL, NULL);
}
