/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Deadlines, with ranks that are processes, threads and both: a wait for somebody who does not come returns at its
 * deadline, and what it waited for goes on. Rank 1 stays away until it is let in, so that no timing decides.
 */
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "ranks.h"

enum { MILLISECOND = 1000000, MOST = 200000 };

struct plan {
    nbcoll_shm_config config;
    atomic_int let_in; /* rounds of rank 1 that may begin */
    int gate[2];       /* a pipe */
};

static void join(struct plan *p, int rank, const nbcoll_comm_config *limits, member *m)
{
    nbcoll_shm_config config = p->config;
    config.rank = rank;
    member_join_limited(m, &config, NULL, limits);
    CHECK_STATUS(NBCOLL_OK, nbcoll_barrier(m->comm, 10 * SECOND));
}

static void leave(member *m)
{
    CHECK_STATUS(NBCOLL_OK, nbcoll_barrier(m->comm, 30 * SECOND));
    member_leave(m);
}

static void stay_away(struct plan *p, int round)
{
    while (atomic_load(&p->let_in) <= round)
        poll(NULL, 0, 1);
}

/* As 2 ranks or more, of which only rank 1 comes late. */
static void on_each_crew(rank_main *main)
{
    static const crew crews[] = {{{1, 1}}, {{2}}, {{1, 1, 1, 1}}, {{1, 2, 1}}};
    struct plan *p = shared_memory(sizeof *p);
    for (int i = 0; i < 8; i++) {
        const crew *c = &crews[i / 2];
        p->config = (nbcoll_shm_config){.size = sizeof p->config, .id = fresh_id(), .ranks = crew_ranks(c),
                                        .flags = i % 2 ? NBCOLL_SHM_NO_BULK : 0};
        atomic_store(&p->let_in, 0);
        assert_int_equal(pipe(p->gate), 0);
        crew_succeeds(c, main, p);
        close(p->gate[0]);
        close(p->gate[1]);
    }
    munmap(p, sizeof *p);
}

/* The wait takes as long as it was told, and not much longer. */
static void wait_in_vain(nbcoll_request *q, uint64_t timeout)
{
    uint64_t start = clock_ns();
    CHECK_STATUS(NBCOLL_ERR_TIMEOUT, nbcoll_wait(q, timeout));
    CHECK(clock_ns() - start >= timeout);
    CHECK(clock_ns() - start < timeout + 5 * SECOND); /* another program may have the processor */
    CHECK(q->at);
}

/* Small data, and data that is asked for when its receiver comes. */
static void a_late_peer(int rank, void *user)
{
    static const size_t counts[] = {1, MOST};
    int64_t *send = malloc(MOST * sizeof *send), *recv = malloc(MOST * sizeof *recv);
    struct plan *p = user;
    int ranks = p->config.ranks;
    member m;

    join(p, rank, NULL, &m);
    for (int round = 0; round < 2; round++) {
        size_t n = counts[round];
        nbcoll_request q;
        for (size_t i = 0; i < n; i++)
            send[i] = (int64_t)i * (rank + 1);
        if (rank == 1)
            stay_away(p, round);
        CHECK_STATUS(NBCOLL_OK, nbcoll_iallreduce(send, recv, n, NBCOLL_INT64, NBCOLL_SUM, m.comm, &q));
        if (rank == 0) {
            wait_in_vain(&q, 0);
            wait_in_vain(&q, 30 * MILLISECOND);
            CHECK(nbcoll_comm_active(m.comm) == 1);
            wait_in_vain(&q, 1);
            atomic_store(&p->let_in, round + 1);
        }
        CHECK_STATUS(NBCOLL_OK, nbcoll_wait(&q, 30 * SECOND));
        CHECK(!q.at && nbcoll_comm_active(m.comm) == 0);
        for (size_t i = 0; i < n; i++)
            CHECK(recv[i] == (int64_t)i * ranks * (ranks + 1) / 2);
    }
    leave(&m);
    free(send);
    free(recv);
}

static void a_wait_ends_at_its_deadline_and_the_operation_when_the_peer_comes(void **state)
{
    (void)state;
    on_each_crew(a_late_peer);
}

/* A blocking call gives the operation up, for the late one too; the communicator goes on. */
static void a_call_in_vain(int rank, void *user)
{
    int64_t *send = calloc(MOST, sizeof *send), *recv = calloc(MOST, sizeof *recv);
    struct plan *p = user;
    int64_t value = rank == 0;
    member m;

    join(p, rank, NULL, &m);
    if (rank == 1)
        stay_away(p, 0);
    uint64_t timeout = rank ? 30 * SECOND : 30 * MILLISECOND, start = clock_ns();
    nbcoll_status s = nbcoll_allreduce(send, recv, MOST, NBCOLL_INT64, NBCOLL_SUM, m.comm, timeout);
    CHECK_STATUS(rank ? NBCOLL_ERR_CANCELLED : NBCOLL_ERR_TIMEOUT, s);
    CHECK(rank || clock_ns() - start >= timeout);
    if (rank == 0)
        atomic_store(&p->let_in, 1);
    while (nbcoll_comm_active(m.comm))
        CHECK_STATUS(NBCOLL_OK, nbcoll_progress(m.context));
    free(send); /* nobody reads or writes there any more */
    free(recv);
    CHECK_STATUS(NBCOLL_OK, nbcoll_bcast(&value, 1, NBCOLL_INT64, 0, m.comm, 30 * SECOND));
    CHECK(value == 1);
    leave(&m);
}

static void a_blocking_call_gives_up_at_its_deadline(void **state)
{
    (void)state;
    on_each_crew(a_call_in_vain);
}

/* One slot: the first of two broadcasts of rank 0 holds it until rank 1 comes back from its read. */
static void wait_for_a_slot(int rank, void *user)
{
    nbcoll_comm_config limits = NBCOLL_COMM_DEFAULTS;
    struct plan *p = user;
    nbcoll_failure failure;
    nbcoll_request q[2];
    int64_t *data[2];
    char byte = 0;
    member m;

    limits.slots = 1;
    for (int i = 0; i < 2; i++) {
        data[i] = malloc(MOST * sizeof **data); /* so large that it needs its receiver */
        for (size_t k = 0; k < MOST; k++)
            data[i][k] = rank ? -1 : (int64_t)k + i;
    }
    join(p, rank, &limits, &m);
    if (rank == 1)
        CHECK(read(p->gate[0], &byte, 1) == 1);
    for (int i = 0; i < 2; i++)
        CHECK_STATUS(NBCOLL_OK, nbcoll_ibcast(data[i], MOST, NBCOLL_INT64, 0, m.comm, &q[i]));
    if (rank == 0) {
        CHECK_STATUS(NBCOLL_ERR_NO_SLOT, nbcoll_wait(&q[1], 100 * MILLISECOND));
        CHECK_STATUS(NBCOLL_OK, nbcoll_last_failure(m.context, &failure));
        CHECK(failure.status == NBCOLL_ERR_NO_SLOT && failure.rank == 1 && failure.comm == m.comm);
        CHECK(write(p->gate[1], &byte, 1) == 1);
    }
    CHECK_STATUS(NBCOLL_OK, nbcoll_wait_all(2, q, NULL, 30 * SECOND));
    for (int i = 0; i < 2; i++) {
        for (size_t k = 0; k < MOST; k++)
            CHECK(data[i][k] == (int64_t)k + i);
        free(data[i]);
    }
    leave(&m);
}

static void a_wait_for_a_slot_names_who_holds_it(void **state)
{
    (void)state;
    on_each_crew(wait_for_a_slot);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_wait_ends_at_its_deadline_and_the_operation_when_the_peer_comes),
        cmocka_unit_test(a_blocking_call_gives_up_at_its_deadline),
        cmocka_unit_test(a_wait_for_a_slot_names_who_holds_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
