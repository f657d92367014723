/* SPDX-License-Identifier: BSD-3-Clause
 * What the library itself costs, on one thread: an empty start and test, of a new and of a persistent request, a test
 * that finds nothing, a broadcast of 8 bytes between two stepped ranks, and where nobody waits in start and wait, or in
 * one blocking call; allocations after warm-up; bytes of a communicator and of a request. Medians of batches of 1000.
 * With an argument only that part runs, once, for an instruction count:
 *
 *     valgrind --tool=callgrind --collect-atstart=no "--toggle-collect=measured_test*" bench/overhead test */
#include "nbcoll/loopback.h"
#include "nbcoll/schedule.h"
#include "timing.h"

enum { BATCH = 1000, BATCHES = 201 };

typedef struct tally {
    size_t bytes, allocations;
} tally;

typedef struct ranks {
    tally tally;
    nbcoll_loopback *world;
    nbcoll_context *context[2];
    nbcoll_comm *comm[2];
} ranks;

static void *tally_alloc(void *user, size_t bytes, size_t align)
{
    tally *t = user;
    t->bytes += bytes;
    t->allocations++;
    return aligned_alloc(align, (bytes + align - 1) / align * align);
}

static void tally_free(void *user, void *memory, size_t bytes)
{
    ((tally *)user)->bytes -= bytes;
    free(memory);
}

static void open_ranks(ranks *r)
{
    nbcoll_loopback_config config = {.size = sizeof config, .ranks = 2};
    nbcoll_context_config context = {.size = sizeof context};
    nbcoll_request request[2];

    context.host.user = &r->tally;
    context.host.alloc = tally_alloc;
    context.host.free = tally_free;
    must(nbcoll_loopback_create(&config, &r->world));
    for (int i = 0; i < 2; i++) {
        nbcoll_endpoint *ep;
        must(nbcoll_loopback_open(r->world, i, &ep));
        must(nbcoll_context_create(NBCOLL_ABI, &context, &r->context[i]));
        must(nbcoll_comm_icreate(r->context[i], ep, NULL, &r->comm[i], &request[i]));
    }
    while (nbcoll_test_all(2, request, NULL) == NBCOLL_PENDING)
        ;
}

/* ---- the parts: one batch each --------------------------------------------------------------------------------- */

static nbcoll_schedule *empty_schedule(void)
{
    nbcoll_builder_config config = {.size = sizeof config, .rank = 0, .ranks = 2};
    nbcoll_builder *b;
    nbcoll_schedule *s;
    must(nbcoll_builder_open(&config, &b));
    must(nbcoll_builder_finish(b, &s));
    return s;
}

static __attribute__((noinline)) void measured_start(ranks *r, nbcoll_schedule *s)
{
    nbcoll_request request;
    for (int i = 0; i < BATCH; i++) {
        must(nbcoll_schedule_start(s, NULL, NULL, r->comm[0], &request));
        must(nbcoll_test(&request));
    }
}

static __attribute__((noinline)) void measured_persistent(nbcoll_request *request)
{
    for (int i = 0; i < BATCH; i++) {
        must(nbcoll_start(request));
        must(nbcoll_test(request));
    }
}

static __attribute__((noinline)) void measured_test(ranks *r, nbcoll_request *request)
{
    (void)r;
    for (int i = 0; i < BATCH; i++)
        if (nbcoll_test(request) != NBCOLL_PENDING)
            exit(1);
}

/* Steps both ranks until both have ended. */
static void finish(nbcoll_request *a, nbcoll_request *b)
{
    nbcoll_status first, second;
    do {
        first = nbcoll_test(a);
        second = nbcoll_test(b);
    } while (first == NBCOLL_PENDING || second == NBCOLL_PENDING);
}

static void bcast(ranks *r)
{
    double data[2] = {1, 0};
    nbcoll_request request[2];
    for (int k = 0; k < 2; k++)
        must(nbcoll_ibcast(&data[k], 1, NBCOLL_DOUBLE, 0, r->comm[k], &request[k]));
    finish(&request[0], &request[1]);
}

static __attribute__((noinline)) void measured_bcast(ranks *r)
{
    for (int i = 0; i < BATCH; i++)
        bcast(r);
}

/* The root is through at once, and its message has come when the other one starts. */
static __attribute__((noinline)) void measured_wait(ranks *r)
{
    double data[2] = {1, 0};
    nbcoll_request request;
    for (int i = 0; i < BATCH; i++)
        for (int k = 0; k < 2; k++) {
            must(nbcoll_ibcast(&data[k], 1, NBCOLL_DOUBLE, 0, r->comm[k], &request));
            must(nbcoll_wait(&request, NBCOLL_FOREVER));
        }
}

static __attribute__((noinline)) void measured_blocking(ranks *r)
{
    double data[2] = {1, 0};
    for (int i = 0; i < BATCH; i++)
        for (int k = 0; k < 2; k++)
            must(nbcoll_bcast(&data[k], 1, NBCOLL_DOUBLE, 0, r->comm[k], NBCOLL_FOREVER));
}

static void report(const char *what, double *took, int n)
{
    double usual = median(took, n);
    printf("%-44s %8.1f ns (min %.1f, max %.1f)\n", what, usual, took[0], took[n - 1]);
}

/* ---- memory ---------------------------------------------------------------------------------------------------- */

static void report_memory(ranks *r)
{
    nbcoll_comm *dup[2];
    nbcoll_request request[2], many[64];
    size_t before = r->tally.bytes, allocations;
    double data[2] = {0};

    for (int i = 0; i < 2; i++)
        must(nbcoll_comm_idup(r->comm[i], &dup[i], &request[i]));
    while (nbcoll_test_all(2, request, NULL) == NBCOLL_PENDING)
        ;
    printf("%-44s %8zu bytes (2 ranks, defaults)\n", "a communicator", (r->tally.bytes - before) / 2);
    for (int i = 0; i < 2; i++)
        must(nbcoll_comm_free(dup[i]));

    before = r->tally.bytes;
    for (int i = 0; i < 64; i++)
        must(nbcoll_ibcast(&data[1], 1, NBCOLL_DOUBLE, 0, r->comm[1], &many[i]));
    printf("%-44s %8zu bytes (receiving 8 bytes, average of 64)\n", "a request with its run",
           (r->tally.bytes - before) / 64);
    for (int i = 0; i < 64; i++) {
        must(nbcoll_ibcast(&data[0], 1, NBCOLL_DOUBLE, 0, r->comm[0], &request[0]));
        finish(&request[0], &many[i]);
    }
    allocations = r->tally.allocations;
    measured_bcast(r);
    printf("%-44s %8zu\n", "allocations in 1000 broadcasts after warm-up", r->tally.allocations - allocations);
}

int main(int argc, char **argv)
{
    static ranks r;
    double took[6][BATCHES], data = 0;
    nbcoll_schedule *empty = empty_schedule();
    nbcoll_request waiting, persistent;
    int only = argc > 1, batches = only ? 1 : BATCHES;

    open_ranks(&r);
    bcast(&r); /* the algorithm is chosen, the schedule built and kept */
    if (!only)
        measured_bcast(&r);
    for (int b = 0; b < batches; b++) {
        double at = now();
        if (!only || strcmp(argv[1], "bcast") == 0)
            measured_bcast(&r);
        took[2][b] = (now() - at) / BATCH;
        at = now();
        if (!only || strcmp(argv[1], "wait") == 0)
            measured_wait(&r);
        took[4][b] = (now() - at) / BATCH;
        at = now();
        if (!only || strcmp(argv[1], "blocking") == 0)
            measured_blocking(&r);
        took[5][b] = (now() - at) / BATCH;
    }
    if (!only) {
        report_memory(&r);
        measured_start(&r, empty);
    }
    /* From here on tags are taken on rank 0 only: nothing collective may follow. */
    for (int b = 0; b < batches; b++) {
        double at = now();
        if (!only || strcmp(argv[1], "start") == 0)
            measured_start(&r, empty);
        took[0][b] = (now() - at) / BATCH;
    }
    must(nbcoll_schedule_init(empty, NULL, NULL, r.comm[0], &persistent));
    for (int b = 0; b < batches; b++) {
        double at = now();
        if (!only || strcmp(argv[1], "persistent") == 0)
            measured_persistent(&persistent);
        took[3][b] = (now() - at) / BATCH;
    }
    must(nbcoll_ibcast(&data, 1, NBCOLL_DOUBLE, 1, r.comm[0], &waiting));
    for (int b = 0; b < batches; b++) {
        double at = now();
        if (!only || strcmp(argv[1], "test") == 0)
            measured_test(&r, &waiting);
        took[1][b] = (now() - at) / BATCH;
    }
    if (!only) {
        report("an empty start and test", took[0], BATCHES);
        report("the same of a persistent request", took[3], BATCHES);
        report("a test that finds nothing", took[1], BATCHES);
        report("a broadcast of 8 bytes, both ranks' work", took[2], BATCHES);
        report("the same by start and wait", took[4], BATCHES);
        report("the same by the blocking call", took[5], BATCHES);
    }
    return 0; /* the last broadcast never ends: the process does */
}
