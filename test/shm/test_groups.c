/* SPDX-License-Identifier: BSD-3-Clause
 * Groups and lists by processes: members alone make a communicator, and add lists of buffers there; it grows by ranks
 * that join, over its endpoints or over new ones; one that does not call is named, one that dies ends it. */
#include <sched.h>
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

/* Ranks 0 and 1 work; then 2 and 3 join: over endpoints that were opened for all, or over a new set of them, which
 * those that work open beside theirs. Then a timeout names the last one, which has not come yet; it meets the others
 * later. */
typedef struct growth {
    nbcoll_shm_config first, second;
    atomic_int in_vain;
} growth;

static void work(nbcoll_comm *comm)
{
    int mine = nbcoll_comm_rank(comm), sum, ranks = nbcoll_comm_size(comm);
    CHECK_STATUS(NBCOLL_OK, nbcoll_allreduce(&mine, &sum, 1, NBCOLL_INT32, NBCOLL_SUM, comm, 10 * SECOND));
    CHECK(sum == ranks * (ranks - 1) / 2);
}

static void grow(int rank, void *user)
{
    static const int list[RANKS] = {0, 1, 2, 3};
    growth *g = user;
    int over_new = g->second.ranks != 0;
    nbcoll_shm_config first = g->first, second = over_new ? g->second : g->first;
    nbcoll_endpoint *endpoint;
    nbcoll_context *context;
    nbcoll_comm *small = NULL, *large;

    first.rank = second.rank = rank;
    CHECK_STATUS(NBCOLL_OK, nbcoll_context_create(NBCOLL_ABI, NULL, &context));
    if (rank < 2) {
        CHECK_STATUS(NBCOLL_OK, nbcoll_shm_open(&first, &endpoint));
        CHECK_STATUS(NBCOLL_OK, nbcoll_comm_create_among(context, endpoint, 2, list, 0, NULL, &small, 10 * SECOND));
        work(small);
    }
    if (rank >= 2 || over_new)
        CHECK_STATUS(NBCOLL_OK, nbcoll_shm_open(&second, &endpoint));
    if (rank == 3)
        while (atomic_load(&g->in_vain) < 3)
            CHECK_STATUS(NBCOLL_OK, nbcoll_progress(context));
    else {
        nbcoll_status s = nbcoll_comm_create_among(context, endpoint, RANKS, list, 1, NULL, &large, SECOND / 20);
        CHECK(s == NBCOLL_ERR_TIMEOUT || s == NBCOLL_ERR_CANCELLED); /* as another one was first */
        if (small)
            work(small); /* as good as before */
        atomic_fetch_add(&g->in_vain, 1);
    }
    CHECK_STATUS(NBCOLL_OK, nbcoll_comm_create_among(context, endpoint, RANKS, list, 2, NULL, &large, 10 * SECOND));
    if (small)
        CHECK_STATUS(NBCOLL_OK, nbcoll_comm_free(small));
    work(large);
    CHECK_STATUS(NBCOLL_OK, nbcoll_barrier(large, NBCOLL_FOREVER));
    nbcoll_status s;
    while ((s = nbcoll_context_free(context)) == NBCOLL_ERR_BUSY)
        sched_yield();
    CHECK_STATUS(NBCOLL_OK, s);
}

static void ranks_join_over_these_endpoints_or_new_ones(void **state)
{
    const crew processes = CREW(1, 1, 1, 1), threads = CREW(2, 2);
    growth *g = shared_memory(sizeof *g);
    (void)state;
    for (int i = 0; i < 4; i++) {
        *g = (growth){.first = {.size = sizeof g->first, .id = fresh_id(), .ranks = i % 2 ? 2 : RANKS}};
        if (i % 2)
            g->second = (nbcoll_shm_config){.size = sizeof g->second, .id = fresh_id(), .ranks = RANKS};
        crew_succeeds(i / 2 ? &threads : &processes, grow, g);
    }
    munmap(g, sizeof *g);
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
        cmocka_unit_test(ranks_join_over_these_endpoints_or_new_ones),
        cmocka_unit_test(who_does_not_call_is_named_and_who_dies_ends_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
