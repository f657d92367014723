/* SPDX-License-Identifier: BSD-3-Clause
 * An agent that is a process: it executes the programs of the ranks of a node, also of one that is stopped; names
 * memory that it shares, copies short buffers and refuses others; and who ends ends what needed it. */
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "nbcoll/driver.h"
#include "ended.h"
#include "operation.h"
#include "served.h"

enum { RANKS = 4, AGENT = RANKS, LARGE = 30000 };
static const crew node = {{1, 1, 1, 1, 1, 0}}; /* the ranks, and the agent */

typedef struct scene {
    nbcoll_shm_config config;
    rank_main *main;
    served sockets;
    pid_t pid[RANKS + 1];
    atomic_int started, ended, seen;
    char said[2][300]; /* to rank 0's agent; to the context of rank 1, whose agent has no log */
} scene;

/* One rank. */
typedef struct actor {
    member m;
    nbcoll_agent *agent;
    scene *s;
} actor;

/* ---- beginnings and ends ----------------------------------------------------------------------------------------- */

static void note(void *user, nbcoll_status why, const char *text)
{
    char *said = user;
    if (why == NBCOLL_ERR_BUFFER)
        snprintf(said, 300, "%s", text);
}

static void play(int rank, void *user)
{
    scene *s = user;
    int mine[RANKS];
    served_take(&s->sockets, rank, mine);
    s->pid[rank] = getpid();
    if (rank == AGENT) {
        served_serve(&s->sockets, mine, &(nbcoll_serve_config){.programs = 4});
        return;
    }
    actor a = {.s = s};
    nbcoll_shm_config config = s->config;
    nbcoll_host host = {.size = sizeof host, .user = s->said[rank == 1], .log = rank < 2 ? note : NULL};
    nbcoll_context_config context = {.size = sizeof context};
    config.rank = rank;
    if (rank == 1)
        context.host = host;
    a.agent = served_join(&a.m, &config, mine[rank], rank == 0 ? &host : NULL, &context,
                          (nbcoll_comm_config)NBCOLL_COMM_DEFAULTS, true);
    s->main(rank, &a);
    member_leave(&a.m);
    CHECK_STATUS(NBCOLL_OK, nbcoll_agent_close(a.agent));
}

static void run(rank_main *main, int status[RANKS + 1], char said[2][300])
{
    scene *s = shared_memory(sizeof *s);
    s->config = (nbcoll_shm_config){
        .size = sizeof s->config, .id = fresh_id(), .ranks = RANKS, .quota = 4 << 20, .timeout = 30 * SECOND};
    s->main = main;
    served_open(&s->sockets, RANKS);
    bool all = crew_run(&node, play, s, status);
    served_close(&s->sockets);
    if (said)
        memcpy(said, s->said, sizeof s->said);
    munmap(s, sizeof *s);
    assert_true(all);
}

static void succeeds(rank_main *main)
{
    int status[RANKS + 1];
    run(main, status, NULL);
    for (int i = 0; i <= RANKS; i++)
        assert_int_equal(status[i], 0);
}

/* ---- results ----------------------------------------------------------------------------------------------------- */

static void call_all_kinds(int rank, void *user)
{
    actor *a = user;
    uint64_t seed = 7;
    for (int i = 0; i < 120; i++) {
        operation o = operation_random(&seed, RANKS, 100);
        share mine = share_make(&o, rank, RANKS);
        nbcoll_request request;
        CHECK_STATUS(NBCOLL_OK, operation_start(&o, &mine, a->m.comm, &request));
        nbcoll_status status = NBCOLL_PENDING;
        while (i % 2 && rank % 2 && (status = nbcoll_test(&request)) == NBCOLL_PENDING)
            sched_yield();
        CHECK_STATUS(NBCOLL_OK, status == NBCOLL_PENDING ? nbcoll_wait(&request, 30 * SECOND) : status);
        operation_check(&o, &mine, rank, RANKS);
        share_free(&mine);
    }
}

static void collectives_of_an_agents_process_have_the_values_of_serial_c(void **state)
{
    (void)state;
    succeeds(call_all_kinds);
}

static nbcoll_args args_of(size_t count)
{
    return (nbcoll_args){.size = sizeof(nbcoll_args),
                         .operation = NBCOLL_OPERATION_ALLREDUCE,
                         .count = count,
                         .reduction = {NBCOLL_INT32, NBCOLL_SUM}};
}

static int32_t *shared_numbers(const actor *a, int rank)
{
    void *memory;
    CHECK_STATUS(NBCOLL_OK, nbcoll_mem_alloc(a->m.comm, LARGE * sizeof(int32_t), &memory));
    int32_t *numbers = memory;
    for (int i = 0; i < LARGE; i++)
        numbers[i] = rank + i;
    return numbers;
}

static void check_sums(const int32_t *sums)
{
    for (int i = 0; i < LARGE; i++)
        CHECK(sums[i] == RANKS * i + RANKS * (RANKS - 1) / 2);
}

static void refuse_then_name(int rank, void *user)
{
    actor *a = user;
    nbcoll_args large = args_of(LARGE);
    nbcoll_refusal why = {.size = sizeof why};
    nbcoll_request request;
    int32_t *own = calloc(LARGE, sizeof *own), *mine = shared_numbers(a, rank), *sums = shared_numbers(a, rank);
    CHECK_STATUS(NBCOLL_OK, nbcoll_comm_offloads(a->m.comm, &large, &why));
    CHECK_STATUS(NBCOLL_ERR_BUFFER, nbcoll_iallreduce(mine, own, LARGE, NBCOLL_INT32, NBCOLL_SUM, a->m.comm, &request));
    CHECK_STATUS(NBCOLL_ERR_BUFFER, nbcoll_iallreduce(own, sums, LARGE, NBCOLL_INT32, NBCOLL_SUM, a->m.comm, &request));
    CHECK_STATUS(NBCOLL_OK, nbcoll_iallreduce(mine, sums, LARGE, NBCOLL_INT32, NBCOLL_SUM, a->m.comm, &request));
    CHECK_STATUS(NBCOLL_OK, nbcoll_wait(&request, 30 * SECOND));
    check_sums(sums);
    CHECK(own[0] == 0 && own[LARGE - 1] == 0);
    free(own);
}

static void buffer_that_is_not_shared_is_refused_with_the_reason_and_shared_memory_is_named(void **state)
{
    int status[RANKS + 1];
    char said[2][300];
    (void)state;
    run(refuse_then_name, status, said);
    for (int i = 0; i <= RANKS; i++)
        assert_int_equal(status[i], 0);
    for (int i = 0; i < 2; i++) {
        assert_non_null(strstr(said[i], nbcoll_refusal_text(NBCOLL_REFUSAL_MEMORY)));
        assert_non_null(strstr(said[i], i ? "rank 1" : "rank 0"));
        assert_non_null(strstr(said[i], "120000 bytes, and 16384 are allowed"));
    }
}

/* ---- ticks ------------------------------------------------------------------------------------------------------- */

/* The last rank starts nothing before the others have. */
static void tick_beside_a_program(int rank, void *user)
{
    actor *a = user;
    const int is_last = rank == RANKS - 1;
    size_t counts[RANKS], displs[RANKS];
    nbcoll_request program, runs;
    int32_t got[RANKS];
    for (int i = 0; i < RANKS; i++) {
        got[i] = rank;
        counts[i] = 1;
        displs[i] = (size_t)i;
    }
    CHECK_STATUS(NBCOLL_OK, nbcoll_tick_start(a->m.context, 0, 0));
    if (is_last)
        rank_await(&a->s->started, RANKS - 1);
    else
        CHECK_STATUS(NBCOLL_OK, nbcoll_ibarrier(a->m.comm, &program));
    CHECK_STATUS(NBCOLL_OK, nbcoll_ialltoallv(NBCOLL_IN_PLACE, NULL, NULL, got, counts, displs, NBCOLL_INT32, a->m.comm,
                                              &runs)); /* the engine's */
    atomic_fetch_add(&a->s->started, 1);
    for (uint64_t begin = clock_ns(); !has_ended(runs); sched_yield()) {
        nbcoll_status s = nbcoll_tick(a->m.context);
        CHECK(s == NBCOLL_OK || s == NBCOLL_PENDING);
        CHECK(clock_ns() - begin < 30 * SECOND);
    }
    for (int i = 0; i < RANKS; i++)
        CHECK(got[i] == i);
    CHECK(is_last || !has_ended(program));
    if (is_last)
        CHECK_STATUS(NBCOLL_OK, nbcoll_ibarrier(a->m.comm, &program));
    CHECK_STATUS(NBCOLL_OK, nbcoll_wait(&runs, 30 * SECOND));
    CHECK_STATUS(NBCOLL_OK, nbcoll_wait(&program, 30 * SECOND));
    CHECK_STATUS(NBCOLL_OK, nbcoll_tick_stop(a->m.context));
}

static void ticks_end_operations_of_the_engine_while_a_program_is_under_way(void **state)
{
    (void)state;
    succeeds(tick_beside_a_program);
}

/* ---- a rank that is stopped -------------------------------------------------------------------------------------- */

/* Rank 0 starts, and is stopped, before anybody else starts; it is continued when all others have their results. */
static void stop_rank_0(int rank, void *user)
{
    actor *a = user;
    scene *s = a->s;
    int32_t *mine = shared_numbers(a, rank), *sums = shared_numbers(a, rank);
    nbcoll_request request;
    if (rank == 1) {
        uint64_t begin = clock_ns();
        rank_await(&s->started, 1);
        while (!process_is_stopped(s->pid[0])) {
            CHECK(clock_ns() - begin < 30 * SECOND);
            sched_yield();
        }
        atomic_store(&s->seen, 1);
    }
    if (rank)
        rank_await(&s->seen, 1);
    CHECK_STATUS(NBCOLL_OK, nbcoll_iallreduce(mine, sums, LARGE, NBCOLL_INT32, NBCOLL_SUM, a->m.comm, &request));
    if (!rank) {
        atomic_store(&s->started, 1);
        kill(getpid(), SIGSTOP);
        CHECK(atomic_load(&s->ended) == RANKS - 1);
    }
    CHECK_STATUS(NBCOLL_OK, nbcoll_wait(&request, 30 * SECOND));
    check_sums(sums);
    atomic_fetch_add(&s->ended, 1);
    if (rank != 1)
        return;
    rank_await(&s->ended, RANKS - 1);
    CHECK(process_is_stopped(s->pid[0]));
    kill(s->pid[0], SIGCONT);
}

static void others_finish_while_a_rank_is_stopped_after_its_start(void **state)
{
    (void)state;
    succeeds(stop_rank_0);
}

/* ---- who ends ---------------------------------------------------------------------------------------------------- */

/* What the rank started ends so, and what it would start is refused so. */
static void ends_with(actor *a, nbcoll_request *request, nbcoll_status status)
{
    int32_t in = 1, out = 0;
    CHECK_STATUS(status, nbcoll_wait(request, 10 * SECOND));
    CHECK_STATUS(status, nbcoll_iallreduce(&in, &out, 1, NBCOLL_INT32, NBCOLL_SUM, a->m.comm, request));
    atomic_fetch_add(&a->s->ended, 1);
}

/* The last rank never starts: it ends itself, or the agent, when all others have started. */
static void start_but_for_the_last(int rank, actor *a, int32_t buffers[2], nbcoll_request *request)
{
    if (rank == RANKS - 1) {
        rank_await(&a->s->started, RANKS - 1);
        return;
    }
    CHECK_STATUS(NBCOLL_OK,
                 nbcoll_iallreduce(&buffers[0], &buffers[1], 1, NBCOLL_INT32, NBCOLL_SUM, a->m.comm, request));
    atomic_fetch_add(&a->s->started, 1);
}

/* All but the last rank abandon, in vain; then that one starts, too. */
static void abandon_under_way(int rank, void *user)
{
    actor *a = user;
    int32_t buffers[2] = {1, 0};
    nbcoll_request request;
    start_but_for_the_last(rank, a, buffers, &request);
    if (rank == RANKS - 1) {
        rank_await(&a->s->seen, RANKS - 1);
        CHECK_STATUS(NBCOLL_OK,
                     nbcoll_iallreduce(&buffers[0], &buffers[1], 1, NBCOLL_INT32, NBCOLL_SUM, a->m.comm, &request));
    } else {
        CHECK_STATUS(NBCOLL_ERR_BUSY, nbcoll_context_abandon(a->m.context, NULL, NULL));
        atomic_fetch_add(&a->s->seen, 1);
    }
    CHECK_STATUS(NBCOLL_OK, nbcoll_wait(&request, 30 * SECOND));
    CHECK(buffers[1] == RANKS);
}

static void context_is_not_abandoned_while_its_program_is_under_way(void **state)
{
    (void)state;
    succeeds(abandon_under_way);
}

static void lose_the_last_rank(int rank, void *user)
{
    actor *a = user;
    int32_t buffers[2] = {1, 0};
    nbcoll_request request;
    start_but_for_the_last(rank, a, buffers, &request);
    if (rank == RANKS - 1)
        kill(getpid(), SIGKILL);
    ends_with(a, &request, NBCOLL_ERR_PEER_LOST);
    CHECK(buffers[1] == 0);
}

static void rank_that_dies_ends_what_needs_it(void **state)
{
    int status[RANKS + 1];
    (void)state;
    run(lose_the_last_rank, status, NULL);
    for (int i = 0; i <= RANKS; i++)
        assert_int_equal(status[i], i == RANKS - 1 ? SIGKILL : 0);
}

static void lose_the_agent(int rank, void *user)
{
    actor *a = user;
    int32_t buffers[2] = {1, 0};
    nbcoll_request request;
    start_but_for_the_last(rank, a, buffers, &request);
    if (rank == RANKS - 1)
        kill(a->s->pid[AGENT], SIGKILL);
    else
        ends_with(a, &request, NBCOLL_ERR_PEER_LOST);
    rank_await(&a->s->ended, RANKS - 1); /* nobody left before */
    CHECK(buffers[1] == 0);
}

static void agent_that_dies_ends_what_it_has(void **state)
{
    int status[RANKS + 1];
    (void)state;
    run(lose_the_agent, status, NULL);
    for (int i = 0; i <= RANKS; i++)
        assert_int_equal(status[i], i == AGENT ? SIGKILL : 0);
}

static void cancel_on_rank_0(int rank, void *user)
{
    actor *a = user;
    int32_t buffers[2] = {1, 0};
    nbcoll_request request;
    start_but_for_the_last(rank, a, buffers, &request);
    if (rank == 0) {
        rank_await(&a->s->started, RANKS - 1);
        CHECK_STATUS(NBCOLL_OK, nbcoll_cancel(request));
    }
    if (rank < RANKS - 1)
        ends_with(a, &request, rank ? NBCOLL_ERR_PEER_LOST : NBCOLL_ERR_CANCELLED);
    else
        rank_await(&a->s->ended, 1); /* who needs only this one's programs ends as it leaves */
    CHECK(buffers[1] == 0);
}

static void cancelling_ends_what_the_process_has_of_all_that_need_it(void **state)
{
    (void)state;
    succeeds(cancel_on_rank_0);
}

/* ---- bounds ------------------------------------------------------------------------------------------------------ */

static void start_five_of_four(int rank, void *user)
{
    actor *a = user;
    int32_t in[5] = {1, 1, 1, 1, 1}, out[5];
    nbcoll_request request[5];
    for (int i = 0; i < 4; i++)
        CHECK_STATUS(NBCOLL_OK,
                     nbcoll_iallreduce(&in[i], &out[i], 1, NBCOLL_INT32, NBCOLL_SUM, a->m.comm, &request[i]));
    CHECK_STATUS(NBCOLL_ERR_LIMIT,
                 nbcoll_iallreduce(&in[4], &out[4], 1, NBCOLL_INT32, NBCOLL_SUM, a->m.comm, &request[4]));
    for (int i = 0; i < 4; i++) {
        CHECK_STATUS(NBCOLL_OK, nbcoll_wait(&request[i], 30 * SECOND));
        CHECK(out[i] == RANKS);
    }
    CHECK_STATUS(NBCOLL_OK,
                 nbcoll_iallreduce(&in[4], &out[4], 1, NBCOLL_INT32, NBCOLL_SUM, a->m.comm, &request[4]));
    CHECK_STATUS(NBCOLL_OK, nbcoll_wait(&request[4], 30 * SECOND));
    CHECK(out[4] == RANKS && rank < RANKS);
}

static void more_programs_than_the_command_area_has_room_for_are_refused_until_one_is_reported(void **state)
{
    (void)state;
    succeeds(start_five_of_four);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(collectives_of_an_agents_process_have_the_values_of_serial_c),
        cmocka_unit_test(buffer_that_is_not_shared_is_refused_with_the_reason_and_shared_memory_is_named),
        cmocka_unit_test(ticks_end_operations_of_the_engine_while_a_program_is_under_way),
        cmocka_unit_test(others_finish_while_a_rank_is_stopped_after_its_start),
        cmocka_unit_test(context_is_not_abandoned_while_its_program_is_under_way),
        cmocka_unit_test(rank_that_dies_ends_what_needs_it),
        cmocka_unit_test(agent_that_dies_ends_what_it_has),
        cmocka_unit_test(cancelling_ends_what_the_process_has_of_all_that_need_it),
        cmocka_unit_test(more_programs_than_the_command_area_has_room_for_are_refused_until_one_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
