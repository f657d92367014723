/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Processes over shm of which one has no memory for a while, from some allocation on: what it is refused it calls
 * again; what fails inside ends on all ranks, before any deadline; contexts can be freed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "operation.h"
#include "ranks.h"
#include "tally.h"

enum { RANKS = 3, LIVES = 40, CALLS = 8 };

struct life {
    nbcoll_shm_config config;
    int victim;
    uint64_t random;
};

/* Of a process. */
static struct memory {
    size_t taken, first, most, failed;
    uint64_t until; /* 0, or when there is memory again */
} memory;

static tally counted;

static int lacks(void)
{
    struct memory *m = &memory;
    if (!m->first || ++m->taken < m->first || !(m->until ? clock_ns() < m->until : m->failed < m->most))
        return 0;
    m->failed++;
    return 1;
}

static nbcoll_host scarce_host(void)
{
    memset(&memory, 0, sizeof memory);
    counted = (tally){0, lacks};
    return tally_host(&counted);
}

/* Calls again what is refused, and progresses between. */
#define AGAIN(context, status, call)                                                                                   \
    do {                                                                                                               \
        while ((status = (call)) == NBCOLL_ERR_MEMORY)                                                                 \
            nbcoll_progress(context);                                                                                  \
    } while (0)

static void fall_short(struct life *l)
{
    uint64_t x = random_of(&l->random);
    memory.first = memory.taken + 1 + x % 20;
    if (x >> 8 & 1)
        memory.most = 1 + (x >> 16) % 20;
    else
        memory.until = clock_ns() + (x >> 16) % 20000000;
}

/* Rank `rank`'s part of one operation, which others may have begun long before. PEER_LOST, or how it ended. */
static nbcoll_status work(nbcoll_context *context, nbcoll_comm *comm, int rank, int i)
{
    static const nbcoll_operation kinds[] = {NBCOLL_OPERATION_ALLREDUCE, NBCOLL_OPERATION_BCAST,
                                             NBCOLL_OPERATION_ALLTOALL, NBCOLL_OPERATION_BARRIER};
    static const size_t counts[] = {1, 600, 20000};
    const operation o = {.what = kinds[i % 4], .count = counts[i % 3], .how = {NBCOLL_INT64, NBCOLL_SUM}, .seed = 1};
    share s = share_make(&o, rank, RANKS);
    nbcoll_request q = NBCOLL_REQUEST_NULL;
    nbcoll_status status;

    AGAIN(context, status, operation_start(&o, &s, comm, &q));
    if (status == NBCOLL_OK)
        status = nbcoll_wait(&q, 30 * SECOND);
    if (status == NBCOLL_OK)
        operation_check(&o, &s, rank, RANKS);
    share_free(&s);
    return status;
}

static void live(int rank, void *user)
{
    struct life l = *(struct life *)user;
    nbcoll_host host = scarce_host();
    nbcoll_context_config context = {.size = sizeof context, .host = host};
    nbcoll_comm *dup = NULL;
    nbcoll_status s = NBCOLL_OK;
    uint64_t begin = clock_ns();
    member m;

    l.config.rank = rank;
    l.config.host = &host;
    member_join(&m, &l.config, &context);
    int when = (int)(random_of(&l.random) % CALLS), what = (int)(random_of(&l.random) % 12);
    for (int i = 0; i < CALLS && s == NBCOLL_OK; i++) {
        nbcoll_request q;
        if (rank == l.victim && i == when)
            fall_short(&l);
        if (i == 4) {
            AGAIN(m.context, s, nbcoll_comm_idup(m.comm, &dup, &q));
            if (s == NBCOLL_OK)
                s = nbcoll_wait(&q, 30 * SECOND);
        } else
            s = work(m.context, dup ? dup : m.comm, rank, what + i);
    }
    if (s != NBCOLL_OK && s != NBCOLL_ERR_MEMORY && s != NBCOLL_ERR_CANCELLED)
        CHECK_STATUS(NBCOLL_ERR_PEER_LOST, s);
    CHECK(clock_ns() - begin < 20 * SECOND);
    memory.first = 0;
    member_leave(&m);
    CHECK(counted.used == 0);
}

static void when_one_process_has_no_memory_all_end_in_time(void **state)
{
    static const crew processes = {{1, 1, 1}};
    uint64_t random = seed_of_test();
    (void)state;
    for (int i = 0; i < LIVES; i++) {
        struct life l = {.victim = i % RANKS, .random = random_of(&random)};
        l.config = (nbcoll_shm_config){.size = sizeof l.config, .id = fresh_id(), .ranks = RANKS};
        crew_succeeds(&processes, live, &l);
    }
}

enum { BURST = 100, LARGE = 4000 };

/* Rank 0 has as many announced messages from each other rank as there are credits, room for one answer at a time, and
 * no memory for further ones when it frees their communicator. It gives itself up; else the others would wait for the
 * answers. */
static void owe_a_burst(int rank, void *user)
{
    nbcoll_shm_config config = *(nbcoll_shm_config *)user;
    nbcoll_host host = scarce_host();
    nbcoll_context_config context = {.size = sizeof context, .host = host, .credits = BURST};
    nbcoll_comm_config limits = NBCOLL_COMM_DEFAULTS;
    static int64_t data[LARGE];
    nbcoll_request q[BURST];
    nbcoll_comm *dup;
    member m;

    limits.slots = BURST;
    config.rank = rank;
    config.host = &host;
    member_join_limited(&m, &config, &context, &limits);
    CHECK_STATUS(NBCOLL_OK, nbcoll_comm_dup(m.comm, &dup, 30 * SECOND));
    for (int i = 0; rank && i < BURST; i++)
        CHECK_STATUS(NBCOLL_OK, nbcoll_igather(data, NULL, LARGE, NBCOLL_INT64, 0, dup, &q[i]));
    CHECK_STATUS(NBCOLL_OK, nbcoll_barrier(m.comm, 30 * SECOND)); /* behind all that was announced */
    if (rank) {
        nbcoll_status s = nbcoll_wait_all(BURST, q, NULL, 10 * SECOND);
        CHECK(s == NBCOLL_ERR_PEER_LOST || s == NBCOLL_ERR_MISMATCH || s == NBCOLL_ERR_CANCELLED);
        CHECK_STATUS(NBCOLL_ERR_PEER_LOST, nbcoll_barrier(m.comm, 10 * SECOND));
    } else {
        memory.first = 1; /* from now on */
        memory.most = SIZE_MAX;
        CHECK_STATUS(NBCOLL_OK, nbcoll_comm_free(dup));
        CHECK(memory.failed);
        memory.first = 0;
        nbcoll_status s = nbcoll_barrier(m.comm, 10 * SECOND);
        CHECK(s == NBCOLL_ERR_MEMORY || s == NBCOLL_ERR_PEER_LOST);
    }
    member_leave(&m);
    CHECK(counted.used == 0);
}

static void who_cannot_answer_a_burst_gives_itself_up(void **state)
{
    static const crew processes = {{1, 1, 1}};
    nbcoll_shm_config config = {.size = sizeof config, .id = fresh_id(), .ranks = 3, .depth = 1,
                                .flags = NBCOLL_SHM_NO_BULK};
    (void)state;
    crew_succeeds(&processes, owe_a_burst, &config);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(when_one_process_has_no_memory_all_end_in_time),
        cmocka_unit_test(who_cannot_answer_a_burst_gives_itself_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
