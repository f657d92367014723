/* SPDX-License-Identifier: BSD-3-Clause
 * nbcoll/launch.h: what a program learns from its environment, and what it makes of a bad one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include <nbcoll/launch.h>

#include "world.h" /* EXPECT */

/* Reads an environment with these values; null: not set. */
static nbcoll_status read_with(const char *rank, const char *ranks, const char *id, nbcoll_shm_config *config)
{
    const char *names[] = {"NBCOLL_RANK", "NBCOLL_RANKS", "NBCOLL_ID"}, *values[] = {rank, ranks, id};
    for (int i = 0; i < 3; i++)
        if (values[i])
            setenv(names[i], values[i], 1);
        else
            unsetenv(names[i]);
    return nbcoll_launch_read(config);
}

static void rank_ranks_and_id_are_read(void **state)
{
    (void)state;
    nbcoll_shm_config config = {.size = sizeof config, .timeout = 5, .depth = 6};
    EXPECT(OK, read_with("3", "17", "0123456789abcdef", &config));
    assert_int_equal(config.rank, 3);
    assert_int_equal(config.ranks, 17);
    assert_string_equal(config.id.text, "0123456789abcdef");
    assert_int_equal(config.timeout, 5);
    assert_int_equal(config.depth, 6);
    EXPECT(OK, read_with("255", "256", "x", &config));
    EXPECT(OK, read_with("0", "1", "x", &config));
}

static void no_variable_means_not_started_by_nbcoll_run(void **state)
{
    (void)state;
    nbcoll_shm_config config = {.size = sizeof config};
    nbcoll_endpoint *endpoint;
    EXPECT(ERR_LAUNCH, read_with(NULL, NULL, NULL, &config));
    EXPECT(ERR_LAUNCH, nbcoll_launch_open(&endpoint));
    assert_non_null(strstr(nbcoll_status_text(NBCOLL_ERR_LAUNCH), "nbcoll run -n N PROGRAM"));
}

static void a_program_may_be_the_only_rank_without_the_launcher(void **state)
{
    (void)state;
    nbcoll_shm_config config = {.size = sizeof config};
    for (int twice = 0; twice < 2; twice++) { /* two of them know nothing of each other */
        nbcoll_endpoint *endpoint;
        nbcoll_context *context;
        nbcoll_comm *comm;
        int value = 5, sum = 0;
        EXPECT(ERR_LAUNCH, read_with(NULL, NULL, NULL, &config));
        EXPECT(OK, nbcoll_launch_open_or_alone(&endpoint));
        EXPECT(OK, nbcoll_context_create(NBCOLL_ABI, NULL, &context));
        EXPECT(OK, nbcoll_comm_create(context, endpoint, NULL, &comm, NBCOLL_FOREVER));
        assert_int_equal(nbcoll_comm_rank(comm), 0);
        assert_int_equal(nbcoll_comm_size(comm), 1);
        EXPECT(OK, nbcoll_allreduce(&value, &sum, 1, NBCOLL_INT, NBCOLL_SUM, comm, NBCOLL_FOREVER));
        assert_int_equal(sum, 5);
        EXPECT(OK, nbcoll_context_free(context));
    }
}

static void one_call_joins_all_ranks_or_leaves_nothing(void **state)
{
    (void)state;
    nbcoll_shm_config config = {.size = sizeof config};
    nbcoll_context *context = (nbcoll_context *)1;
    nbcoll_comm *comm = (nbcoll_comm *)1;
    EXPECT(ERR_LAUNCH, read_with(NULL, NULL, NULL, &config));
    EXPECT(ERR_LAUNCH, nbcoll_launch_join(&context, &comm));
    assert_null(context);
    assert_null(comm);
    EXPECT(OK, nbcoll_launch_join_or_alone(&context, &comm));
    assert_int_equal(nbcoll_comm_size(comm), 1);
    EXPECT(OK, nbcoll_barrier(comm, NBCOLL_FOREVER));
    EXPECT(OK, nbcoll_context_free(context));
}

static void a_malformed_environment_is_not_taken_for_none(void **state)
{
    (void)state;
    nbcoll_shm_config config = {.size = sizeof config};
    nbcoll_endpoint *endpoint;
    EXPECT(ERR_CONFIG, read_with(NULL, "4", NULL, &config));
    EXPECT(ERR_CONFIG, nbcoll_launch_open_or_alone(&endpoint));
}

static void the_path_of_a_tuning_file_is_read(void **state)
{
    (void)state;
    unsetenv("NBCOLL_TUNING");
    assert_null(nbcoll_launch_tuning());
    setenv("NBCOLL_TUNING", "a.tuning", 1);
    assert_string_equal(nbcoll_launch_tuning(), "a.tuning");
}

static void malformed_environment_is_refused_and_changes_nothing(void **state)
{
    (void)state;
    static const char *const bad[][3] = {
        {NULL, "4", "x"},  {"0", NULL, "x"},   {"0", "4", NULL},        {"", "4", "x"},    {"0", "", "x"},
        {"0", "4", ""},    {"4", "4", "x"},    {"-1", "4", "x"},        {"+1", "4", "x"},  {" 1", "4", "x"},
        {"1 ", "4", "x"},  {"0x1", "4", "x"},  {"0", "0", "x"},         {"0", "257", "x"}, {"0", "-4", "x"},
        {"0", "4.0", "x"}, {"0", "4294967297", "x"}, {"18446744073709551616", "4", "x"},
        {"0", "4", "more than the forty characters that an id has"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        nbcoll_shm_config config = {.size = sizeof config, .rank = 7, .ranks = 9}, before = config;
        EXPECT(ERR_CONFIG, read_with(bad[i][0], bad[i][1], bad[i][2], &config));
        assert_memory_equal(&config, &before, sizeof config);
    }
}

static void null_configuration_is_refused(void **state)
{
    (void)state;
    EXPECT(ERR_NULL, read_with("0", "4", "x", NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rank_ranks_and_id_are_read),
        cmocka_unit_test(no_variable_means_not_started_by_nbcoll_run),
        cmocka_unit_test(a_program_may_be_the_only_rank_without_the_launcher),
        cmocka_unit_test(one_call_joins_all_ranks_or_leaves_nothing),
        cmocka_unit_test(a_malformed_environment_is_not_taken_for_none),
        cmocka_unit_test(the_path_of_a_tuning_file_is_read),
        cmocka_unit_test(malformed_environment_is_refused_and_changes_nothing),
        cmocka_unit_test(null_configuration_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
