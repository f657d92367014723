/* SPDX-License-Identifier: BSD-3-Clause
 * `nbcoll run --agent` starts a process that executes the ranks' programs; a program finds it by nbcoll/launch.h, and
 * may do without. This file is test and program. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <nbcoll/launch.h>
#include <nbcoll/launch_agent.h>
#include <nbcoll/select.h>

#include "started.h"

/* ---- the program ----------------------------------------------------------------------------------------------- */

/* The launcher's first child. */
static void kill_agent(void)
{
    char path[80];
    int pid = 0;
    snprintf(path, sizeof path, "/proc/%d/task/%d/children", (int)getppid(), (int)getppid());
    FILE *file = fopen(path, "r");
    if (!file || fscanf(file, "%d", &pid) != 1 || kill(pid, SIGKILL) != 0)
        puts("no agent to kill");
    if (file)
        fclose(file);
}

static nbcoll_status add(nbcoll_context *context, nbcoll_endpoint *endpoint, nbcoll_agent *agent, int kills)
{
    nbcoll_comm_config config = NBCOLL_COMM_DEFAULTS;
    nbcoll_args args = {.size = sizeof args,
                        .operation = NBCOLL_OPERATION_ALLREDUCE,
                        .count = 1,
                        .reduction = {NBCOLL_INT32, NBCOLL_SUM}};
    nbcoll_comm *comm;
    int32_t one = 1, sum = 0;
    config.agent = agent;
    nbcoll_status status = nbcoll_comm_create(context, endpoint, &config, &comm, NBCOLL_FOREVER);
    if (status != NBCOLL_OK)
        return status;
    const char *by = nbcoll_comm_offloads(comm, &args, NULL) == NBCOLL_OK ? "the agent" : "the rank";
    if (kills && nbcoll_comm_rank(comm) == 0)
        kill_agent();
    else
        status = nbcoll_allreduce(&one, &sum, 1, NBCOLL_INT32, NBCOLL_SUM, comm, 30000000000u);
    if (status == NBCOLL_OK && !kills)
        printf("sum %d by %s\n", (int)sum, by);
    return status;
}

/* On nodes of two ranks: in how many parts is an allgather carried out? */
static nbcoll_status ask(nbcoll_context *context, nbcoll_endpoint *endpoint, nbcoll_agent *agent)
{
    const nbcoll_rule rule = {.algorithm = nbcoll_algorithm_find(NBCOLL_OPERATION_ALLGATHER, "hierarchical")};
    nbcoll_comm_config config = NBCOLL_COMM_DEFAULTS;
    nbcoll_args args = {.size = sizeof args,
                        .operation = NBCOLL_OPERATION_ALLGATHER,
                        .count = 1000,
                        .reduction = {NBCOLL_INT32, NBCOLL_SUM}};
    nbcoll_refusal why = {.size = sizeof why};
    nbcoll_comm *comm;
    config.agent = agent;
    config.node = 1 + (uint64_t)endpoint->rank / 2;
    config.rules = &rule;
    config.rule_count = 1;
    nbcoll_status status = nbcoll_comm_create(context, endpoint, &config, &comm, NBCOLL_FOREVER);
    if (status == NBCOLL_OK)
        status = nbcoll_comm_offloads(comm, &args, &why);
    if (status == NBCOLL_OK)
        printf("in %d parts: %s, %d\n", why.parts, nbcoll_refusal_name(why.reason), (int)why.allowed);
    return status;
}

static int program(const char *what)
{
    nbcoll_context *context = NULL;
    nbcoll_endpoint *endpoint = NULL;
    nbcoll_agent *agent = NULL;
    int kills = strcmp(what, "kill") == 0;
    nbcoll_status status = nbcoll_launch_open(&endpoint);
    if (status == NBCOLL_OK)
        status = nbcoll_launch_agent(endpoint, &agent);
    if (status == NBCOLL_OK)
        status = nbcoll_context_create(NBCOLL_ABI, NULL, &context);
    if (status == NBCOLL_OK)
        status = strcmp(what, "ask") == 0 ? ask(context, endpoint, agent) : add(context, endpoint, agent, kills);
    nbcoll_launch_leave(context, status);
    if (nbcoll_agent_close(agent) != NBCOLL_OK)
        puts("the agent is busy");
    if (status != NBCOLL_OK)
        puts(nbcoll_status_name(status));
    return 0;
}

/* ---- the tests ------------------------------------------------------------------------------------------------- */

static started s;

static void start_program(const char *arguments, const char *what)
{
    char self[1000] = "", script[1100];
    assert_true(readlink("/proc/self/exe", self, sizeof self - 1) > 0);
    snprintf(script, sizeof script, "exec '%s' %s", self, what);
    start(&s, arguments, script, 0);
}

static void programs_of_ranks_are_executed_by_an_agents_process(void **state)
{
    (void)state;
    start_program("-n 3 --timeout 60 --agent", "add");
    assert_int_equal(finish(&s), 0);
    assert_string_equal(s.text, "sum 3 by the agent\nsum 3 by the agent\nsum 3 by the agent\n");
}

static void without_the_option_there_is_no_agent(void **state)
{
    (void)state;
    start_program("-n 2 --timeout 60", "add");
    assert_int_equal(finish(&s), 0);
    assert_string_equal(s.text, "sum 2 by the rank\nsum 2 by the rank\n");
}

static void scratch_memory_is_as_much_as_is_asked_for(void **state)
{
    (void)state;
    start_program("-n 4 --timeout 60 --agent --agent-scratch 16000", "ask");
    assert_int_equal(finish(&s), 0);
    assert_int_equal(times(&s, "in 3 parts: NONE, 0\n"), 4);
    start_program("-n 4 --timeout 60 --agent --agent-scratch 15999", "ask");
    assert_int_equal(finish(&s), 0);
    assert_int_equal(times(&s, "in 1 parts: SCRATCH, 15999\n"), 4);
}

static void agent_that_is_killed_is_named_and_ends_what_it_had(void **state)
{
    (void)state;
    start_program("-n 3 --timeout 60 --agent", "kill");
    assert_int_equal(finish(&s), 0);
    assert_int_equal(times(&s, "ERR_PEER_LOST\n"), 2);
    assert_int_equal(times(&s, "nbcoll run: the agent (process "), 1);
    assert_true(has(&s, ") was killed by signal 9 (SIGKILL: Killed)\n"));
}

static void agent_that_nobody_asks_for_ends_with_the_ranks(void **state)
{
    (void)state;
    start(&s, "-n 4 --agent", "exit 0", 0);
    assert_int_equal(finish(&s), 0);
    assert_string_equal(s.text, "");
}

static void agent_ends_where_no_rank_can_start(void **state)
{
    (void)state;
    start(&s, "-n 3 --agent ./no-such-program", "", 0);
    assert_int_equal(finish(&s), 127);
    assert_string_equal(s.text, "nbcoll run: ./no-such-program: No such file or directory\n");
}

static void agent_ends_with_a_rank_that_fails(void **state)
{
    (void)state;
    start(&s, "-n 2 --agent", "[ $NBCOLL_RANK != 1 ] || exit 3; sleep 1000", 0);
    assert_int_equal(finish(&s), 3);
    assert_int_equal(times(&s, "nbcoll run:"), 1);
}

static void agent_that_lacks_its_device_is_refused_before_ranks_start(void **state)
{
    (void)state;
    start(&s, "-n 2 --agent=verbs:no_such", "echo here", 0);
    int status = finish(&s);
    if (status == 2) /* built without verbs */
        assert_string_equal(s.text, "nbcoll run: --agent=verbs needs a build with nbcoll_verbs\n");
    else {
        assert_int_equal(status, 3);
        assert_true(has(&s, "nbcoll run: --agent: no RDMA device no_such can be opened"));
        assert_int_equal(times(&s, "\n"), 1);
    }
}

int main(int argc, char *argv[])
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(programs_of_ranks_are_executed_by_an_agents_process),
        cmocka_unit_test(without_the_option_there_is_no_agent),
        cmocka_unit_test(scratch_memory_is_as_much_as_is_asked_for),
        cmocka_unit_test(agent_that_is_killed_is_named_and_ends_what_it_had),
        cmocka_unit_test(agent_that_nobody_asks_for_ends_with_the_ranks),
        cmocka_unit_test(agent_ends_where_no_rank_can_start),
        cmocka_unit_test(agent_ends_with_a_rank_that_fails),
        cmocka_unit_test(agent_that_lacks_its_device_is_refused_before_ranks_start),
    };
    if (argc > 1)
        return program(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
