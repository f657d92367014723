/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Three programs that shm.h is written for: one that forks its ranks, a runtime that has its own allgather, memory,
 * clock and scheduler, and one that shows how the ranks can reach each other.
 */
#define _GNU_SOURCE
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "ranks.h"

/* ---- an application -------------------------------------------------------------------------------------------- */

static int sum_of_ranks(nbcoll_shm_id id, int rank, int ranks)
{
    nbcoll_shm_config config = {.size = sizeof config, .id = id, .rank = rank, .ranks = ranks};
    nbcoll_endpoint *endpoint;
    nbcoll_context *context;
    nbcoll_comm *comm;
    int sum = 0;

    if (nbcoll_shm_open(&config, &endpoint) != NBCOLL_OK)
        return -1;
    nbcoll_context_create(NBCOLL_ABI, NULL, &context);
    nbcoll_comm_create(context, endpoint, NULL, &comm, NBCOLL_FOREVER);
    nbcoll_allreduce(&rank, &sum, 1, NBCOLL_INT32, NBCOLL_SUM, comm, NBCOLL_FOREVER);
    nbcoll_context_free(context);
    return sum;
}

static void an_application_forks_its_ranks(void **state)
{
    nbcoll_shm_id id;
    int status;
    (void)state;
    assert_int_equal(nbcoll_shm_id_make(&id), NBCOLL_OK);
    for (int rank = 1; rank < 4; rank++)
        if (fork() == 0)
            _exit(sum_of_ranks(id, rank, 4) != 6);
    assert_int_equal(sum_of_ranks(id, 0, 4), 6);
    while (wait(&status) > 0)
        assert_int_equal(status, 0);
}

/* ---- a runtime ------------------------------------------------------------------------------------------------- */

static struct runtime {
    atomic_int arrived;
    unsigned char row[2][512];
} *runtime;

struct rank {
    int rank;
    void *all;
    size_t bytes, allocated;
    uint64_t pauses, clocks;
};

static nbcoll_status allgather_start(void *user, const void *mine, void *all, size_t bytes, void **operation)
{
    struct rank *r = user;
    memcpy(runtime->row[r->rank], mine, bytes);
    atomic_fetch_add(&runtime->arrived, 1);
    r->all = all;
    r->bytes = bytes;
    *operation = r;
    return NBCOLL_OK;
}

static nbcoll_status allgather_test(void *user, void *operation)
{
    struct rank *r = operation;
    (void)user;
    if (atomic_load(&runtime->arrived) < 2)
        return NBCOLL_PENDING;
    for (size_t i = 0; i < 2; i++)
        memcpy((char *)r->all + i * r->bytes, runtime->row[i], r->bytes);
    return NBCOLL_OK;
}

static void allgather_free(void *user, void *operation)
{
    CHECK(user == operation);
}

static void *take(void *user, size_t bytes, size_t align)
{
    ((struct rank *)user)->allocated += bytes;
    return aligned_alloc(align, (bytes + align - 1) / align * align);
}

static void give(void *user, void *memory, size_t bytes)
{
    ((struct rank *)user)->allocated -= bytes;
    free(memory);
}

static uint64_t read_clock(void *user)
{
    ((struct rank *)user)->clocks++;
    return clock_ns();
}

static void switch_task(void *user, uint64_t looks)
{
    CHECK(looks > 0);
    ((struct rank *)user)->pauses++;
    sched_yield();
}

static void open_in_a_runtime(int rank, void *user)
{
    struct rank me = {.rank = rank};
    nbcoll_host host = {.size = sizeof host, .user = &me, .alloc = take, .free = give, .now = read_clock,
                        .pause = switch_task};
    nbcoll_shm_allgather allgather = {sizeof allgather, &me, allgather_start, allgather_test, allgather_free};
    nbcoll_shm_config config = {.size = sizeof config, .host = &host, .allgather = &allgather, .rank = rank,
                                .ranks = 2};
    nbcoll_context_config in_runtime = {.size = sizeof in_runtime, .host = host};
    member m;

    (void)user;
    member_join(&m, &config, &in_runtime);
    CHECK(me.pauses && me.clocks && me.allocated);
    CHECK_STATUS(NBCOLL_OK, nbcoll_barrier(m.comm, SECOND));
    member_leave(&m);
    CHECK(me.allocated == 0);
}

static void a_runtime_brings_its_allgather_memory_clock_and_scheduler(void **state)
{
    crew two = PROCESSES_2;
    (void)state;
    runtime = shared_memory(sizeof *runtime);
    crew_succeeds(&two, open_in_a_runtime, NULL);
}

/* ---- a report -------------------------------------------------------------------------------------------------- */

static void show_paths(int rank, void *user)
{
    static const char *const name[] = {"by reference", "process_vm_readv", "in fragments", "in pieces"};
    nbcoll_shm_config config = *(const nbcoll_shm_config *)user;
    nbcoll_endpoint *endpoint;
    char line[200];

    config.rank = rank;
    CHECK_STATUS(NBCOLL_OK, nbcoll_shm_open(&config, &endpoint));
    for (int peer = 0; peer < 2; peer++) {
        nbcoll_shm_peer is = {.size = sizeof is};
        CHECK_STATUS(NBCOLL_OK, nbcoll_shm_describe(endpoint, peer, &is));
        snprintf(line, sizeof line, "rank %d: %s%s%s", peer, name[is.path], is.why[0] ? ": " : "", is.why);
        CHECK(strcmp(line, peer == rank ? rank ? "rank 1: by reference" : "rank 0: by reference"
                           : rank       ? "rank 0: in pieces: switched off by a flag"
                                        : "rank 1: in pieces: switched off by a flag") == 0);
    }
    nbcoll_endpoint_close(endpoint);
}

static void a_report_says_what_was_found(void **state)
{
    crew two = PROCESSES_2;
    nbcoll_shm_config config = {.size = sizeof config, .id = fresh_id(), .ranks = 2, .flags = NBCOLL_SHM_NO_CMA};
    (void)state;
    crew_succeeds(&two, show_paths, &config);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_application_forks_its_ranks),
        cmocka_unit_test(a_runtime_brings_its_allgather_memory_clock_and_scheduler),
        cmocka_unit_test(a_report_says_what_was_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
