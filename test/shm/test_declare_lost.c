/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A process that is stopped by a signal, and declared lost: the others' operations end, they go on without it and can
 * leave. When it is continued it disturbs nobody, and learns that it is lost.
 */
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
#include <unistd.h>

#include <cmocka.h>

#include "layout.h"
#include "ranks.h"

enum { RANKS = 4, STOPPED = 1, DECLARES = 2, KINDS = NBCOLL_OPERATION_COUNT, LAST = KINDS - 4 };

struct plan {
    nbcoll_shm_config config;
    size_t count;
    _Atomic int pid;    /* of the process to stop */
    atomic_int started; /* of the others */
};

/* Its calls say that it is lost itself. */
static void is_lost(const member *m, nbcoll_status s, int rank)
{
    nbcoll_failure failure;
    CHECK_STATUS(NBCOLL_ERR_PEER_LOST, s);
    CHECK_STATUS(NBCOLL_OK, nbcoll_last_failure(m->context, &failure));
    CHECK(failure.status == NBCOLL_ERR_PEER_LOST);
    CHECK(failure.rank == rank);
}

static operation kind(const struct plan *p, int what)
{
    operation o = {.what = (nbcoll_operation)what, .count = p->count, .how = {NBCOLL_INT64, NBCOLL_SUM}, .seed = 1};
    return o;
}

/* It has started all operations but the last ones, and never looks at them before it is continued. */
static void be_stopped(struct plan *p, member *m)
{
    nbcoll_request q[KINDS] = {NBCOLL_REQUEST_NULL};
    share s[KINDS];

    for (int i = 0; i < KINDS; i++) {
        operation o = kind(p, i);
        s[i] = share_make(&o, STOPPED, RANKS);
        if (i == LAST) {
            atomic_store(&p->pid, getpid());
            raise(SIGSTOP);
        }
        nbcoll_status begun = operation_start(&o, &s[i], m->comm, &q[i]);
        if (i < LAST || begun != NBCOLL_ERR_PEER_LOST)
            CHECK_STATUS(NBCOLL_OK, begun);
    }
    is_lost(m, nbcoll_barrier(m->comm, 10 * SECOND), STOPPED);
    for (int i = 0; i < KINDS; i++) {
        nbcoll_status end = nbcoll_wait(&q[i], 10 * SECOND);
        CHECK(end == NBCOLL_OK || end == NBCOLL_ERR_PEER_LOST);
        share_free(&s[i]);
    }
}

static void go_on(struct plan *p, int rank, member *m, nbcoll_comm *others)
{
    nbcoll_request q[KINDS];
    share s[KINDS];

    for (int i = 0; i < KINDS; i++) {
        operation o = kind(p, i);
        s[i] = share_make(&o, rank, RANKS);
        CHECK_STATUS(NBCOLL_OK, operation_start(&o, &s[i], m->comm, &q[i]));
    }
    atomic_fetch_add(&p->started, 1);
    while (atomic_load(&p->started) < RANKS - 1 || !atomic_load(&p->pid) || !process_is_stopped(atomic_load(&p->pid)))
        CHECK_STATUS(NBCOLL_OK, nbcoll_progress(m->context));
    if (rank == DECLARES)
        CHECK_STATUS(NBCOLL_OK, nbcoll_comm_declare_lost(m->comm, STOPPED));
    for (int i = 0; i < KINDS; i++) {
        nbcoll_status end = nbcoll_wait(&q[i], 10 * SECOND);
        if (end != NBCOLL_OK)
            is_lost(m, end, STOPPED);
        share_free(&s[i]);
    }
    CHECK_STATUS(NBCOLL_OK, nbcoll_comm_free(m->comm));
    for (int round = 0; round < 50; round++) {
        int64_t sum = 1;
        nbcoll_comm *made;
        if (round == 10 && rank == DECLARES)
            CHECK(kill(atomic_load(&p->pid), SIGCONT) == 0);
        CHECK_STATUS(NBCOLL_OK, nbcoll_comm_dup(others, &made, 10 * SECOND));
        CHECK_STATUS(NBCOLL_OK,
                     nbcoll_allreduce(NBCOLL_IN_PLACE, &sum, 1, NBCOLL_INT64, NBCOLL_SUM, made, 10 * SECOND));
        CHECK(sum == RANKS - 1);
        CHECK_STATUS(NBCOLL_OK, nbcoll_comm_free(made));
    }
}

static void stop_one(int rank, void *user)
{
    struct plan *p = user;
    nbcoll_shm_config config = p->config;
    nbcoll_comm *others;
    member m;

    config.rank = rank;
    member_join(&m, &config, NULL);
    CHECK_STATUS(NBCOLL_OK, nbcoll_comm_split(m.comm, rank == STOPPED, 0, &others, 10 * SECOND));
    if (rank == STOPPED)
        be_stopped(p, &m);
    else
        go_on(p, rank, &m, others);
    member_leave(&m);
}

static void the_others_go_on_and_it_learns_that_it_is_lost(void **state)
{
    static const size_t counts[] = {1, 300, 50000};
    const crew processes = CREW(1, 1, 1, 1);
    struct plan *p = shared_memory(sizeof *p);
    (void)state;
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        p->config = (nbcoll_shm_config){.size = sizeof p->config, .id = fresh_id(), .ranks = RANKS};
        p->count = counts[i];
        atomic_store(&p->pid, 0);
        atomic_store(&p->started, 0);
        crew_succeeds(&processes, stop_one, p);
    }
    munmap(p, sizeof *p);
}

/* ---- its reads -------------------------------------------------------------------------------------------------- */

enum { ANNOUNCED = 100000 };

struct stale {
    nbcoll_shm_config config;
    atomic_int has_joined, is_overwritten, is_over; /* the reader, the data, the reader again */
};

/* Rank 0 announces its data, declares its reader lost, and does something else with the memory; then the reader comes
 * to read. */
static void read_too_late(int rank, void *user)
{
    struct stale *p = user;
    nbcoll_shm_config config = p->config;
    unsigned char *data = malloc(ANNOUNCED);
    nbcoll_request q;
    member m;

    config.rank = rank;
    member_join(&m, &config, NULL);
    memset(data, 1, ANNOUNCED);
    if (rank == 1)
        atomic_store(&p->has_joined, 1);
    while (!atomic_load(rank == 1 ? &p->is_overwritten : &p->has_joined))
        sched_yield();
    CHECK_STATUS(NBCOLL_OK, nbcoll_ibcast(data, ANNOUNCED, NBCOLL_BYTE, 0, m.comm, &q));
    if (rank == 0) {
        CHECK_STATUS(NBCOLL_OK, nbcoll_comm_declare_lost(m.comm, 1));
        CHECK_STATUS(NBCOLL_ERR_PEER_LOST, nbcoll_wait(&q, 10 * SECOND));
        memset(data, 2, ANNOUNCED);
        atomic_store(&p->is_overwritten, 1);
        while (!atomic_load(&p->is_over)) /* else the reader may find it dead */
            sched_yield();
    } else {
        is_lost(&m, nbcoll_wait(&q, 10 * SECOND), 1);
        atomic_store(&p->is_over, 1);
    }
    member_leave(&m);
    free(data);
}

static void what_it_reads_then_is_no_result(void **state)
{
    const crew processes = PROCESSES_2;
    struct stale *p = shared_memory(sizeof *p);
    (void)state;
    p->config = (nbcoll_shm_config){.size = sizeof p->config, .id = fresh_id(), .ranks = 2,
                                    .flags = NBCOLL_SHM_NO_STAGING};
    atomic_store(&p->is_overwritten, 0);
    atomic_store(&p->is_over, 0);
    atomic_store(&p->has_joined, 0);
    crew_succeeds(&processes, read_too_late, p);
    munmap(p, sizeof *p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_others_go_on_and_it_learns_that_it_is_lost),
        cmocka_unit_test(what_it_reads_then_is_no_result),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
