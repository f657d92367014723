/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A rank that scribbles over the segment while others work in it: they get wrong data or errors, and never crash.
 * Under the address sanitizer that also says that they never read or write beside it.
 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "ranks.h"

enum { MOST = 40000 };

struct plan {
    nbcoll_shm_config config;
    uint64_t seed;
    int vandal;
    int together; /* ranks of a process */
};

/* The segment as the process has it mapped. */
static unsigned char *find_segment(size_t *bytes)
{
    FILE *maps = fopen("/proc/self/maps", "r");
    unsigned long from = 0, to = 0;
    char line[500];

    while (fgets(line, sizeof line, maps))
        if (strstr(line, "memfd:nbcoll")) {
            CHECK(sscanf(line, "%lx-%lx", &from, &to) == 2);
            break;
        }
    fclose(maps);
    CHECK(from);
    *bytes = to - from;
    return (unsigned char *)from;
}

/* Words that look like counters, lengths or addresses, or like nothing. */
static uint64_t nonsense(uint64_t *random)
{
    uint64_t r = random_of(random);
    switch (r & 7) {
    case 0: return 0;
    case 1: return UINT64_MAX;
    case 2: return r >> 60;
    case 3: return r >> 44;
    case 4: return UINT64_C(1) << (r >> 58);
    case 5: return (r >> 56) + (UINT64_C(1) << 32);
    default: return r;
    }
}

/* Single words; half of them in the first pages and where the rings begin. */
__attribute__((no_sanitize("thread"))) static void scribble(unsigned char *segment, size_t bytes, uint64_t *random)
{
    uint64_t r = random_of(random);
    size_t within = r & 1 ? bytes : r & 2 ? 16384 : bytes / 8;
    size_t at = (size_t)(random_of(random) % (within / 8)) * 8;
    uint64_t word = nonsense(random);

    if (at < 4096)
        return; /* constants that nobody reads again */
    *(volatile uint64_t *)(void *)(segment + at) = word;
}

static nbcoll_status operate(nbcoll_comm *comm, uint64_t r, int64_t *a, int64_t *b)
{
    size_t n = r % 3 ? r % 500 : MOST;
    int root = (int)((r >> 20) % (uint64_t)nbcoll_comm_size(comm));
    uint64_t patience = SECOND / 20;
    switch (r >> 40 & 3) {
    case 0: return nbcoll_barrier(comm, patience);
    case 1: return nbcoll_bcast(a, n, NBCOLL_INT64, root, comm, patience);
    case 2: return nbcoll_reduce(a, b, n, NBCOLL_INT64, NBCOLL_SUM, root, comm, patience);
    default: return nbcoll_allreduce(a, b, n, NBCOLL_INT64, NBCOLL_SUM, comm, patience);
    }
}

/* After nonsense nothing need end well, but for the process: the last of its ranks ends it as it is. */
static _Noreturn void leave_it(struct plan *p)
{
    static atomic_int ended;
    if (atomic_fetch_add(&ended, 1) + 1 == p->together)
        _exit(0); /* unseen by the leak checker */
    for (;;)
        pause();
}

static void vandalise(const member *m, uint64_t seed)
{
    size_t bytes;
    unsigned char *segment = find_segment(&bytes);
    uint64_t start = clock_ns(), pause = random_of(&seed) % 2000;

    while (clock_ns() - start < SECOND / 20) {
        for (uint64_t i = 0; i < pause; i++)
            nbcoll_progress(m->context);
        scribble(segment, bytes, &seed);
    }
}

static void work_beside_a_vandal(int rank, void *user)
{
    struct plan *p = user;
    nbcoll_shm_config config = p->config;
    uint64_t operations = p->seed;
    int64_t *a = calloc(MOST, sizeof *a), *b = calloc(MOST, sizeof *b);
    nbcoll_status s = NBCOLL_OK;
    member m;

    config.rank = rank;
    member_join(&m, &config, NULL);
    CHECK_STATUS(NBCOLL_OK, nbcoll_barrier(m.comm, 10 * SECOND)); /* none is to fail before */
    if (rank == p->vandal) {
        nbcoll_barrier(m.comm, SECOND); /* nor in that one: the others have ended it, or this ends */
        vandalise(&m, p->seed + 1);
        leave_it(p);
    }
    uint64_t start = clock_ns();
    for (int i = 0; (s == NBCOLL_OK || s == NBCOLL_ERR_MISMATCH) && clock_ns() - start < SECOND / 10; i++)
        s = i ? operate(m.comm, random_of(&operations), a, b) : nbcoll_barrier(m.comm, SECOND);
    for (int i = 0; i < 1000; i++)
        nbcoll_progress(m.context);
    nbcoll_context_free(m.context);
    leave_it(p);
}

static void fuzz(const crew *c, int together, int rounds)
{
    uint64_t seed = seed_of_test();

    for (int round = 0; round < rounds; round++) {
        struct plan p = {{.size = sizeof p.config, .id = fresh_id(), .ranks = 4}, 0, round % 4, together};
        p.seed = random_of(&seed);
        p.config.flags = round % 3 == 2 ? NBCOLL_SHM_NO_CMA : 0;
        crew_succeeds(c, work_beside_a_vandal, &p);
    }
}

static void nonsense_in_the_segment_crashes_no_process(void **state)
{
    crew four = CREW(1, 1, 1, 1);
    (void)state;
    fuzz(&four, 1, 60);
}

static void nonsense_in_the_segment_crashes_no_thread(void **state)
{
    crew four = CREW(4);
    (void)state;
    fuzz(&four, 4, 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nonsense_in_the_segment_crashes_no_process),
        cmocka_unit_test(nonsense_in_the_segment_crashes_no_thread),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
