/* SPDX-License-Identifier: BSD-3-Clause
 * A rank that leaves, between processes and threads: the others learn of it within a second, also from their sleep, get
 * their memory back, and can leave too. What it took part in still ends well for them. */
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#include <nbcoll/select.h>

#include "ranks.h"

enum { RANKS = 3, BYTES = 1 << 20, LAST = 2 }; /* LAST: so many operations of the leaver's after the others joined */

static const crew crews[] = {{{1, 1, 1}}, {{1, 2}}, {{2, 1}}, {{3}}};
enum { CREWS = sizeof crews / sizeof crews[0] };

struct plan {
    nbcoll_shm_config config;
    int leaver;
    _Atomic uint64_t departure; /* when it had left */
};

/* Roots show, or announce, their data to all ranks. */
static void join(const struct plan *p, int rank, member *m)
{
    nbcoll_rule rule = {.algorithm = nbcoll_algorithm_find(NBCOLL_OPERATION_BCAST, "slots")};
    nbcoll_comm_config comm = NBCOLL_COMM_DEFAULTS;
    nbcoll_shm_config config = p->config;
    config.rank = rank;
    comm.rules = &rule;
    comm.rule_count = 1;
    member_join_limited(m, &config, NULL, &comm);
    CHECK_STATUS(NBCOLL_OK, nbcoll_barrier(m->comm, 30 * SECOND));
}

static void go(struct plan *p, member *m)
{
    member_leave(m);
    atomic_store(&p->departure, clock_ns());
}

static void lost_in_time(const struct plan *p, const member *m, nbcoll_status s, uint64_t from)
{
    nbcoll_failure failure;
    uint64_t departure = atomic_load(&p->departure);
    CHECK_STATUS(NBCOLL_ERR_PEER_LOST, s);
    rank_in_time(clock_ns() - (departure > from ? departure : from), SECOND);
    CHECK_STATUS(NBCOLL_OK, nbcoll_last_failure(m->context, &failure));
    CHECK(failure.rank == p->leaver);
}

/* Each rank sends much to all; the barrier behind it fails for whoever could do without the leaver. */
static void wait_for_the_leaver(int rank, void *user)
{
    struct plan *p = user;
    unsigned char *data[RANKS];
    nbcoll_request q[RANKS], barrier;
    uint64_t from = clock_ns();
    member m;

    join(p, rank, &m);
    if (rank == p->leaver) {
        go(p, &m);
        return;
    }
    for (int root = 0; root < RANKS; root++) {
        data[root] = calloc(1, BYTES);
        CHECK_STATUS(NBCOLL_OK, nbcoll_ibcast(data[root], BYTES, NBCOLL_BYTE, root, m.comm, &q[root]));
    }
    CHECK_STATUS(NBCOLL_OK, nbcoll_ibarrier(m.comm, &barrier));
    for (int root = 0; root < RANKS; root++) {
        nbcoll_status s = nbcoll_wait(&q[root], 10 * SECOND);
        CHECK(s == NBCOLL_ERR_PEER_LOST || (s == NBCOLL_OK && root != p->leaver && rank != root));
        memset(data[root], 0x5a, BYTES);
        free(data[root]);
    }
    lost_in_time(p, &m, nbcoll_wait(&barrier, 10 * SECOND), from);
    member_leave(&m);
}

/* Small ones of the leaver's, which the others ask for when it is gone. */
static void ask_for_what_the_leaver_left(int rank, void *user)
{
    struct plan *p = user;
    int value;
    member m;

    join(p, rank, &m);
    for (int i = 0; i < LAST; i++) {
        while (rank != p->leaver && !atomic_load(&p->departure)) {
            nbcoll_progress(m.context);
            sched_yield();
        }
        value = rank == p->leaver ? 100 + i : 0;
        CHECK_STATUS(NBCOLL_OK, nbcoll_bcast(&value, 1, NBCOLL_INT32, p->leaver, m.comm, 10 * SECOND));
        CHECK(value == 100 + i);
    }
    if (rank == p->leaver) {
        go(p, &m);
        return;
    }
    uint64_t from = clock_ns();
    lost_in_time(p, &m, nbcoll_barrier(m.comm, 10 * SECOND), from);
    member_leave(&m);
}

/* Nobody but the leaver has answered, or could, when it is cancelled. */
static void cancel_what_the_leaver_reads(int rank, void *user)
{
    struct plan *p = user;
    unsigned char *data = calloc(1, BYTES);
    nbcoll_request q;
    member m;

    join(p, rank, &m);
    if (rank == p->leaver)
        go(p, &m);
    else {
        CHECK_STATUS(NBCOLL_OK, nbcoll_ibcast(data, BYTES, NBCOLL_BYTE, (p->leaver + 1) % RANKS, m.comm, &q));
        CHECK_STATUS(NBCOLL_OK, nbcoll_cancel(q));
        nbcoll_status s = nbcoll_wait(&q, 10 * SECOND);
        CHECK(s == NBCOLL_ERR_CANCELLED || s == NBCOLL_ERR_PEER_LOST);
        memset(data, 0x5a, BYTES);
        member_leave(&m);
    }
    free(data);
}

static void run_all(rank_main *main)
{
    for (int i = 0; i < CREWS; i++)
        for (int leaver = 0; leaver < RANKS; leaver++)
            for (int bulk = 0, tries = 0; bulk < 2; bulk += !crew_was_late(&tries)) {
                struct plan *p = shared_memory(sizeof *p);
                p->config = (nbcoll_shm_config){.size = sizeof p->config, .id = fresh_id(), .ranks = RANKS,
                                                .flags = bulk ? NBCOLL_SHM_NO_STAGING : NBCOLL_SHM_NO_BULK};
                p->leaver = leaver;
                crew_succeeds(&crews[i], main, p);
                munmap(p, sizeof *p);
            }
}

static void whoever_waits_for_one_who_leaves_learns_of_it(void **state)
{
    (void)state;
    run_all(wait_for_the_leaver);
}

static void what_it_took_part_in_ends_well_when_it_is_gone(void **state)
{
    (void)state;
    run_all(ask_for_what_the_leaver_left);
}

static void a_cancel_ends_though_a_reader_has_left(void **state)
{
    (void)state;
    run_all(cancel_what_the_leaver_reads);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whoever_waits_for_one_who_leaves_learns_of_it),
        cmocka_unit_test(what_it_took_part_in_ends_well_when_it_is_gone),
        cmocka_unit_test(a_cancel_ends_though_a_reader_has_left),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
