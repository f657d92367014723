/* SPDX-License-Identifier: BSD-3-Clause
 * Groups and lists by processes: members alone make a communicator, and add lists of buffers there; one that does not
 * call is named, one that dies ends it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "nbcoll/group.h"
#include "nbcoll/lists.h"
#include "ranks.h"

enum { RANKS = 4, MEMBERS = 3, SHORT = 5, LONG = 30000 };

static const int members[MEMBERS] = {3, 0, 2};

/* What two buffers have, added: they arrive one after the other. */
static void add_lists(nbcoll_comm *comm, nbcoll_context *context)
{
    double brief[SHORT], *large = malloc(LONG * sizeof *large);
    const nbcoll_list_piece pieces[3] = {{brief, SHORT}, {NULL, 0}, {large, LONG}};
    nbcoll_request request;
    nbcoll_lists *l;

    for (int i = 0; i < LONG; i++)
        large[i] = i % 100 + nbcoll_comm_rank(comm);
    for (int i = 0; i < SHORT; i++)
        brief[i] = i;
    CHECK_STATUS(NBCOLL_OK, nbcoll_lists_make(context, NBCOLL_DOUBLE, NBCOLL_SUM, 0, NULL, 3, pieces, &l));
    CHECK_STATUS(NBCOLL_OK, nbcoll_iallreduce(l->send, l->recv, l->received, l->type, l->op, comm, &request));
    CHECK_STATUS(NBCOLL_OK, nbcoll_wait(&request, 10 * SECOND));
    for (int i = 0; i < LONG; i++)
        CHECK(large[i] == MEMBERS * (i % 100) + MEMBERS * (MEMBERS - 1) / 2);
    for (int i = 0; i < SHORT; i++)
        CHECK(brief[i] == MEMBERS * i);
    nbcoll_lists_free(l);
    free(large);
}

static int is_member(int rank)
{
    return rank != 1;
}

static void make_and_add(int rank, void *user)
{
    nbcoll_shm_config config = *(nbcoll_shm_config *)user;
    nbcoll_comm *made;
    member m;

    config.rank = rank;
    member_join(&m, &config, NULL);
    for (int i = 0; i < 20 && is_member(rank); i++) {
        CHECK_STATUS(NBCOLL_OK, nbcoll_comm_create_group(m.comm, MEMBERS, members, i % 3, &made, 10 * SECOND));
        CHECK(members[nbcoll_comm_rank(made)] == rank);
        add_lists(made, m.context);
        CHECK_STATUS(NBCOLL_OK, nbcoll_comm_free(made));
    }
    CHECK_STATUS(NBCOLL_OK, nbcoll_barrier(m.comm, NBCOLL_FOREVER));
    member_leave(&m);
}

static void members_alone_make_and_use_it(void **state)
{
    const crew processes = CREW(1, 1, 1, 1), threads = CREW(1, 3);
    nbcoll_shm_config *config = shared_memory(sizeof *config);
    (void)state;

    *config = (nbcoll_shm_config){.size = sizeof *config, .id = fresh_id(), .ranks = RANKS};
    crew_succeeds(&processes, make_and_add, config);
    config->id = fresh_id();
    crew_succeeds(&threads, make_and_add, config);
    munmap(config, sizeof *config);
}

typedef struct plan {
    nbcoll_shm_config config;
    atomic_int waited, through; /* members that have waited in vain, and that have found it lost */
} plan;

/* Rank 2 does not call; then it dies. */
static void wait_for_the_other(int rank, void *user)
{
    plan *p = user;
    nbcoll_shm_config config = p->config;
    nbcoll_failure failure;
    nbcoll_comm *made;
    member m;

    config.rank = rank;
    member_join(&m, &config, NULL);
    if (rank == 1 || rank == 2) /* it answers, and all have made the first one */
        while (atomic_load(&p->waited) < MEMBERS - 1)
            CHECK_STATUS(NBCOLL_OK, nbcoll_progress(m.context));
    else {
        nbcoll_status s = nbcoll_comm_create_group(m.comm, MEMBERS, members, 0, &made, SECOND / 2);
        CHECK(s == NBCOLL_ERR_TIMEOUT || s == NBCOLL_ERR_CANCELLED); /* as the other one was first */
        CHECK_STATUS(NBCOLL_OK, nbcoll_last_failure(m.context, &failure));
        CHECK(failure.rank == (s == NBCOLL_ERR_TIMEOUT ? 2 : failure.rank));
        atomic_fetch_add(&p->waited, 1);
        CHECK_STATUS(NBCOLL_ERR_PEER_LOST, nbcoll_comm_create_group(m.comm, MEMBERS, members, 0, &made, 10 * SECOND));
        CHECK_STATUS(NBCOLL_OK, nbcoll_last_failure(m.context, &failure));
        CHECK(failure.rank == 2);
        for (atomic_fetch_add(&p->through, 1); atomic_load(&p->through) < MEMBERS - 1;) /* alive for the other one */
            CHECK_STATUS(NBCOLL_OK, nbcoll_progress(m.context));
    }
    _exit(0);
}

static void who_does_not_call_is_named_and_who_dies_ends_it(void **state)
{
    const crew processes = CREW(1, 1, 1, 1);
    plan *p = shared_memory(sizeof *p);
    (void)state;

    p->config = (nbcoll_shm_config){.size = sizeof p->config, .id = fresh_id(), .ranks = RANKS};
    crew_succeeds(&processes, wait_for_the_other, p);
    munmap(p, sizeof *p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(members_alone_make_and_use_it),
        cmocka_unit_test(who_does_not_call_is_named_and_who_dies_ends_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
