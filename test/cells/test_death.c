/* SPDX-License-Identifier: BSD-3-Clause
 * The death of an owner and of a reader, with large exposures pending or half read: the others learn of it within a
 * second, get their memory back, and can free everything. */
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "../shm/ranks.h"

enum { RANKS = 3, BYTES = 4 << 20, ROUNDS = 12 };

struct plan {
    nbcoll_shm_config config;
    int victim, looks; /* the victim dies after so many looks */
    atomic_int begun;  /* ranks that have started the operation */
    _Atomic uint64_t death;
};

static void die(struct plan *p)
{
    atomic_store(&p->death, clock_ns());
    kill(getpid(), SIGKILL);
}

/* Rank 0 broadcasts to the others: two large ones in a row. */
static void broadcast(int rank, void *user)
{
    struct plan *p = user;
    nbcoll_shm_config config = p->config;
    unsigned char *data[2] = {calloc(1, BYTES), calloc(1, BYTES)};
    nbcoll_failure failure;
    nbcoll_request q[2];
    nbcoll_status s = NBCOLL_OK;
    member m;

    config.rank = rank;
    member_join(&m, &config, NULL);
    CHECK_STATUS(NBCOLL_OK, nbcoll_barrier(m.comm, 30 * SECOND));
    for (int i = 0; i < 2; i++)
        CHECK_STATUS(NBCOLL_OK, nbcoll_ibcast(data[i], BYTES, NBCOLL_BYTE, 0, m.comm, &q[i]));
    atomic_fetch_add(&p->begun, 1);
    if (rank == p->victim) {
        while (atomic_load(&p->begun) < RANKS) /* so that nobody's start can fail */
            sched_yield();
        for (int i = 0; i < p->looks; i++)
            nbcoll_progress(m.context);
        die(p);
    }
    for (int i = 0; i < 2; i++) { /* it may have had all, or be done with the first */
        nbcoll_status is = nbcoll_wait(&q[i], 10 * SECOND);
        CHECK(is == NBCOLL_OK || is == NBCOLL_ERR_PEER_LOST);
        memset(data[i], 0x5a, BYTES);
        free(data[i]);
    }
    while (s == NBCOLL_OK) /* what comes next cannot end well for ever */
        s = nbcoll_barrier(m.comm, 10 * SECOND);
    CHECK_STATUS(NBCOLL_ERR_PEER_LOST, s);
    CHECK(clock_ns() - atomic_load(&p->death) < SECOND);
    CHECK_STATUS(NBCOLL_OK, nbcoll_last_failure(m.context, &failure));
    CHECK(failure.rank == p->victim);
    CHECK_STATUS(NBCOLL_OK, nbcoll_comm_free(m.comm));
    member_leave(&m);
}

static void kill_one(int victim, int looks)
{
    struct plan *p = shared_memory(sizeof *p);
    int status[RANKS_MOST];

    p->config = (nbcoll_shm_config){.size = sizeof p->config, .id = fresh_id(), .ranks = RANKS};
    p->victim = victim;
    p->looks = looks;
    assert_true(crew_run(&PROCESSES_3, broadcast, p, status));
    for (int r = 0; r < RANKS; r++)
        if (r == victim)
            assert_true(WIFSIGNALED(status[r]) && WTERMSIG(status[r]) == SIGKILL);
        else
            assert_int_equal(status[r], 0);
}

static void readers_survive_the_death_of_the_owner(void **state)
{
    (void)state;
    for (int i = 0; i < ROUNDS; i++)
        kill_one(0, i * i);
}

static void an_owner_survives_the_death_of_a_reader(void **state)
{
    (void)state;
    for (int i = 0; i < ROUNDS; i++)
        kill_one(1 + i % 2, i);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(readers_survive_the_death_of_the_owner),
        cmocka_unit_test(an_owner_survives_the_death_of_a_reader),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
