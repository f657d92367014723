/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A rank that forks: the child may not use what it has inherited, and is told so by name; its parent goes on while the
 * child lives, and behind it. libfabric's FI_FORK_UNSAFE changes none of that over TCP.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>
#include <nbcoll/ofi.h>

#include "board.h"
#include "crew.h"

typedef struct plan {
    board *board;
    const char *provider;
    bool is_unsafe; /* FI_FORK_UNSAFE is set */
} plan;

static void adds(nbcoll_comm *comm)
{
    int64_t own = nbcoll_comm_rank(comm) + 1, sum = 0;

    CHECK_STATUS(NBCOLL_OK, nbcoll_allreduce(&own, &sum, 1, NBCOLL_INT64, NBCOLL_SUM, comm, 30 * SECOND));
    CHECK(sum == 3);
}

static bool is_refused_all(nbcoll_context *context, nbcoll_endpoint *endpoint, nbcoll_comm *comm, nbcoll_request begun)
{
    nbcoll_request more;
    nbcoll_comm *another;

    return nbcoll_test(&begun) == NBCOLL_ERR_FORKED && nbcoll_ibarrier(comm, &more) == NBCOLL_ERR_FORKED &&
           nbcoll_barrier(comm, SECOND) == NBCOLL_ERR_FORKED &&
           nbcoll_comm_create(context, endpoint, NULL, &another, SECOND) == NBCOLL_ERR_FORKED &&
           nbcoll_comm_free(comm) == NBCOLL_ERR_FORKED && nbcoll_context_free(context) == NBCOLL_ERR_FORKED;
}

/* Ends with its parent's end of the pipe. */
static pid_t forks(int its_end[2], nbcoll_context *context, nbcoll_endpoint *endpoint, nbcoll_comm *comm,
                   nbcoll_request begun)
{
    char none;

    CHECK(pipe(its_end) == 0);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        close(its_end[1]);
        bool is_right = is_refused_all(context, endpoint, comm, begun);
        _exit(read(its_end[0], &none, 1) == 0 && is_right ? 0 : 1);
    }
    close(its_end[0]);
    return child;
}

static void adds_beside_a_child(int rank, void *user)
{
    const plan *p = user;
    nbcoll_ofi_config config = {
        .size = sizeof config, .rank = rank, .ranks = 2, .provider = p->provider, .address = "127.0.0.1"};
    nbcoll_context *context;
    nbcoll_comm *comm;
    nbcoll_request begun;
    int its_end[2], how = 0;
    pid_t child = 0;

    if (p->is_unsafe)
        setenv("FI_FORK_UNSAFE", "1", 1);
    nbcoll_endpoint *endpoint = board_open(p->board, &config);
    CHECK(endpoint);
    CHECK_STATUS(NBCOLL_OK, nbcoll_context_create(NBCOLL_ABI, NULL, &context));
    CHECK_STATUS(NBCOLL_OK, nbcoll_comm_create(context, endpoint, NULL, &comm, 30 * SECOND));
    adds(comm);
    CHECK_STATUS(NBCOLL_OK, nbcoll_ibarrier(comm, &begun));
    if (rank == 0)
        child = forks(its_end, context, endpoint, comm, begun);
    CHECK_STATUS(NBCOLL_OK, nbcoll_wait(&begun, 30 * SECOND));
    adds(comm);
    if (rank == 0) {
        close(its_end[1]);
        CHECK(waitpid(child, &how, 0) == child && how == 0);
    }
    adds(comm);
    CHECK_STATUS(NBCOLL_OK, nbcoll_context_free(context));
    exit(0); /* net leaves descriptors open */
}

static void forks_over(const char *provider, bool is_unsafe)
{
    plan p = {board_make(), provider, is_unsafe};
    nbcoll_ofi_config alone = {.size = sizeof alone, .ranks = 1, .provider = provider, .address = "127.0.0.1"};
    nbcoll_ofi_address mine;
    nbcoll_endpoint *end = NULL;

    if (nbcoll_ofi_open(&alone, &mine, &end) != NBCOLL_OK)
        skip();
    nbcoll_endpoint_close(end);
    assert_non_null(p.board);
    crew_succeeds(&PROCESSES_2, adds_beside_a_child, &p);
    board_free(p.board);
}

static void a_child_is_refused_and_its_parent_goes_on_over_tcp(void **state)
{
    (void)state;
    forks_over("tcp;ofi_rxm", false);
}

static void a_child_is_refused_and_its_parent_goes_on_over_net(void **state)
{
    (void)state;
    forks_over("net", false);
}

static void unsafe_forks_are_no_different_over_tcp(void **state)
{
    (void)state;
    forks_over("tcp;ofi_rxm", true);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_child_is_refused_and_its_parent_goes_on_over_tcp),
        cmocka_unit_test(a_child_is_refused_and_its_parent_goes_on_over_net),
        cmocka_unit_test(unsafe_forks_are_no_different_over_tcp),
    };
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
