/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A process is stopped by a signal, and nobody declares it lost: the others can neither end what they have cancelled
 * nor free their contexts, but abandon them. No descriptor is left. */
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "layout.h"
#include "ranks.h"

enum { RANKS = 3, STOPPED = 1 };

struct plan {
    nbcoll_shm_config config;
    operation o;
    _Atomic int pid;    /* of the process that stops */
    atomic_int through; /* the others */
    atomic_int busy;    /* contexts that could not be freed */
};

static void note_loan(void *user, void *buffer, size_t bytes)
{
    const share *s = user;
    CHECK(buffer && bytes && (s->send || s->recv));
}

static void abandon_one(int rank, void *user)
{
    struct plan *p = user;
    nbcoll_shm_config config = p->config;
    share s = share_make(&p->o, rank, RANKS);
    nbcoll_request q;
    member m;

    config.rank = rank;
    member_join(&m, &config, NULL);
    CHECK_STATUS(NBCOLL_OK, nbcoll_barrier(m.comm, 10 * SECOND));
    if (rank == STOPPED) {
        atomic_store(&p->pid, getpid());
        raise(SIGSTOP);
    }
    CHECK_STATUS(NBCOLL_OK, operation_start(&p->o, &s, m.comm, &q));
    nbcoll_status end = nbcoll_wait(&q, SECOND / 100);
    if (end != NBCOLL_OK) {
        CHECK(end == NBCOLL_ERR_TIMEOUT || end == NBCOLL_ERR_CANCELLED || end == NBCOLL_ERR_PEER_LOST);
        if (end == NBCOLL_ERR_TIMEOUT)
            CHECK_STATUS(NBCOLL_OK, nbcoll_cancel(q));
        if (nbcoll_context_free(m.context) == NBCOLL_OK)
            m.context = NULL;
        else
            atomic_fetch_add(&p->busy, 1);
    }
    CHECK_STATUS(NBCOLL_OK, nbcoll_context_abandon(m.context, note_loan, &s));
    share_free(&s);
    if (atomic_fetch_add(&p->through, 1) == RANKS - 2) {
        while (!atomic_load(&p->pid))
            sched_yield();
        CHECK(kill(atomic_load(&p->pid), SIGKILL) == 0);
    }
}

static void a_peer_that_is_stopped_keeps_nobody(void **state)
{
    static const size_t counts[] = {8, 300, 50000};
    const crew processes = PROCESSES_3;
    struct plan *p = shared_memory(sizeof *p);
    int status[RANKS];

    (void)state;
    atomic_store(&p->busy, 0);
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        for (int what = 0; what < NBCOLL_OPERATION_COUNT; what++) {
            p->config = (nbcoll_shm_config){.size = sizeof p->config, .id = fresh_id(), .ranks = RANKS};
            p->o = (operation){.what = (nbcoll_operation)what, .count = counts[i], .how = {NBCOLL_INT64, NBCOLL_SUM}};
            atomic_store(&p->pid, 0);
            atomic_store(&p->through, 0);
            assert_true(crew_run(&processes, abandon_one, p, status));
            for (int r = 0; r < RANKS; r++)
                assert_int_equal(status[r], r == STOPPED ? SIGKILL : 0);
        }
    assert_true(atomic_load(&p->busy) > 0);
    munmap(p, sizeof *p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_peer_that_is_stopped_keeps_nobody),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
