/* SPDX-License-Identifier: BSD-3-Clause
 * What each rank of a benchmark does. All ranks go through the same iterations; before each they meet, and while they
 * wait there they progress, because others may still need that. What is compared takes turns: a batch of iterations of
 * each form of each entry, and so on for so many rounds. */
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench.h"

enum { WARM = 100, WARM_BATCH = 2, CALIBRATION = 100000, CHECKS = 3 };

#define PATIENCE 1000           /* looks at the others until one may have lost its core to other programs */
#define POOL ((size_t)16 << 20) /* bytes of the changing buffers: more than a private cache holds */

typedef struct rank {
    const bench_plan *plan;
    bench_shared *shared;
    nbcoll_context *context;
    int number;
    unsigned long meetings;
    uint64_t random;
    bench_call call;
    uint64_t loops;          /* of the computation */
    nbcoll_request *request; /* [instances] */
    unsigned char *send, *recv;
    size_t stride, buffers, next; /* bytes from one buffer to the next; how many; where the next iteration begins */
} rank;

/* ---- what the ranks share -------------------------------------------------------------------------------------- */

static size_t samples_of(const bench_plan *plan)
{
    return (size_t)plan->rounds * (size_t)plan->iterations;
}

/* Where a rank leaves its times: [rounds * iterations]. */
static double *samples_at(const bench_plan *plan, bench_shared *s, int number, size_t entry, bench_form form)
{
    return s->sample + (((size_t)number * plan->entries + entry) * BENCH_FORMS + form) * samples_of(plan);
}

size_t bench_shared_bytes(const bench_plan *plan)
{
    size_t samples = (size_t)plan->at.ranks * plan->entries * BENCH_FORMS * samples_of(plan);
    return sizeof(bench_shared) + samples * sizeof(double);
}

/* Makes rank 0's samples those of the slowest rank in each iteration. */
static double *slowest(const bench_plan *plan, bench_shared *s, size_t entry, bench_form form, size_t n)
{
    double *most = samples_at(plan, s, 0, entry, form);
    for (int r = 1; r < plan->at.ranks; r++) {
        const double *other = samples_at(plan, s, r, entry, form);
        for (size_t i = 0; i < n; i++)
            most[i] = other[i] > most[i] ? other[i] : most[i];
    }
    return most;
}

void bench_collect(const bench_plan *plan, bench_shared *s, bench_result results[])
{
    size_t n = samples_of(plan);
    if (plan->terms)
        *plan->terms = s->terms;
    for (size_t e = 0; e < plan->entries; e++) {
        results[e].chosen = s->chosen[e];
        for (int form = 0; form < BENCH_FORMS; form++)
            results[e].form[form] = bench_spread_of(slowest(plan, s, e, (bench_form)form, n), n);
    }
}

void bench_must(bench_shared *s, nbcoll_status status)
{
    if (status == NBCOLL_OK)
        return;
    atomic_compare_exchange_strong(&s->failed, &(int){NBCOLL_OK}, (int)status);
    _exit(0);
}

static void meet(rank *me)
{
    unsigned long all = ++me->meetings * (unsigned long)me->plan->at.ranks;
    int looks = 0;
    atomic_fetch_add(&me->shared->met, 1);
    while (atomic_load_explicit(&me->shared->met, memory_order_acquire) < all) {
        bench_must(me->shared, nbcoll_progress(me->context));
        bench_must(me->shared, (nbcoll_status)atomic_load(&me->shared->failed));
        if (me->shared->is_crowded || ++looks > PATIENCE)
            sched_yield();
    }
}

/* ---- one iteration --------------------------------------------------------------------------------------------- */

static void work(uint64_t loops)
{
    uint64_t x = loops;
    while (loops--) {
        x = x * 6364136223846793005u + 1;
        __asm__ volatile("" : "+r"(x));
    }
}

static void spin(double us)
{
    double until = command_now() + us;
    while (command_now() < until)
        ;
}

/* Comes late, where that is asked for. */
static void dawdle(rank *me)
{
    const bench_plan *plan = me->plan;
    if (plan->late > 0 && me->meetings % (unsigned long)plan->at.ranks == (unsigned long)me->number)
        spin(plan->late);
    if (plan->noise > 0) {
        me->random = me->random * 6364136223846793005u + 1442695040888963407u;
        spin(plan->noise * (double)(me->random >> 40) / (double)(1 << 24));
    }
}

/* The first buffer of an iteration. */
static size_t take_buffers(rank *me, size_t entry)
{
    size_t instances = (size_t)me->plan->instances;
    if (!me->plan->entry[entry].is_changing)
        return 0;
    size_t first = me->next + instances <= me->buffers ? me->next : 0;
    me->next = first + instances;
    return first;
}

static void call_all(rank *me, size_t entry, bench_form form, size_t buffer)
{
    for (int i = 0; i < me->plan->instances; i++, buffer++)
        bench_must(me->shared,
                   bench_perform(&me->call, entry, me->send + buffer * me->stride, me->recv + buffer * me->stride,
                                 form == BENCH_BLOCKING ? NULL : &me->request[i]));
}

static void wait_all(rank *me)
{
    bench_must(me->shared, me->plan->instances == 1 ? nbcoll_wait(me->request, BENCH_DEADLINE)
                                                    : nbcoll_wait_all((size_t)me->plan->instances, me->request, NULL,
                                                                      BENCH_DEADLINE));
}

/* Computes, and tests in between if asked to. */
static void compute(rank *me, int is_testing)
{
    uint64_t parts = (uint64_t)me->plan->tests + 1;
    nbcoll_status status = NBCOLL_PENDING;
    for (uint64_t i = 0; i < parts; i++) {
        work(me->loops / parts);
        if (is_testing && i + 1 < parts && status == NBCOLL_PENDING)
            status = me->plan->instances == 1
                         ? nbcoll_test(me->request)
                         : nbcoll_test_all((size_t)me->plan->instances, me->request, NULL);
    }
    bench_must(me->shared, status == NBCOLL_PENDING ? NBCOLL_OK : status);
}

static void perform(rank *me, size_t entry, bench_form form, size_t buffer)
{
    if (form != BENCH_COMPUTING)
        call_all(me, entry, form, buffer);
    if (form == BENCH_OVERLAPPED || form == BENCH_COMPUTING)
        compute(me, form == BENCH_OVERLAPPED);
    if (form == BENCH_NONBLOCKING || form == BENCH_OVERLAPPED)
        wait_all(me);
}

/* How many microseconds it took. */
static double iterate(rank *me, size_t entry, bench_form form)
{
    size_t buffer = take_buffers(me, entry);
    meet(me);
    dawdle(me);
    double at = command_now();
    perform(me, entry, form, buffer);
    return command_now() - at;
}

/* ---- are the results right? ------------------------------------------------------------------------------------ */

/* The first rank that finds something wrong says what. */
static void tell_wrong(rank *me, size_t entry, bench_form form, size_t at)
{
    static const char *const names[] = {"blocking", "start + wait", "start + compute + wait"};
    const nbcoll_algorithm *algorithm = me->plan->entry[entry].choice.algorithm;
    int nobody = 0;
    if (atomic_compare_exchange_strong(&me->shared->is_told, &nobody, 1))
        snprintf(me->shared->wrong, sizeof me->shared->wrong, "%s, %s: rank %d has a wrong byte %zu",
                 algorithm ? algorithm->name : "default", names[form], me->number, at);
    bench_must(me->shared, NBCOLL_ERR_VERIFY);
}

static void check_once(rank *me, size_t entry, bench_form form, unsigned round)
{
    size_t first = take_buffers(me, entry), end = first + (size_t)me->plan->instances;
    for (size_t b = first; b < end; b++)
        bench_fill(me->plan, me->number, round + (unsigned)b, me->send + b * me->stride, me->recv + b * me->stride);
    meet(me);
    perform(me, entry, form, first);
    for (size_t b = first; b < end; b++) {
        size_t at = bench_wrong_at(me->plan, me->number, round + (unsigned)b, me->recv + b * me->stride);
        if (at != SIZE_MAX)
            tell_wrong(me, entry, form, at);
    }
}

/* Each form of each entry, a few times on other data. */
static void check(rank *me)
{
    for (size_t e = 0; e < me->plan->entries && me->plan->is_checked; e++)
        for (int form = 0; form < BENCH_COMPUTING; form++)
            for (unsigned round = 0; round < CHECKS; round++)
                check_once(me, e, (bench_form)form, round);
}

/* ---- all of them ----------------------------------------------------------------------------------------------- */

/* How fast work() is, while all ranks do it; rank 0's is taken. */
static void time_work(rank *me)
{
    double sample[5];
    for (int i = 0; i < 5; i++) {
        double at = command_now();
        work(CALIBRATION);
        sample[i] = command_now() - at;
    }
    if (me->number == 0)
        me->shared->loops = CALIBRATION / bench_spread_of(sample, 5).least;
    meet(me);
}

/* Warms an entry up, and then measures it. */
static void batch(rank *me, size_t entry, bench_form form, int warm, int iterations, double *to)
{
    for (int i = -warm; i < iterations; i++) {
        double us = iterate(me, entry, form);
        if (i >= 0)
            to[i] = us;
    }
}

/* Warms all up, and gives the computation its length, the same on all ranks, after the slowest entry. */
static void calibrate(rank *me)
{
    const bench_plan *plan = me->plan;
    int n = samples_of(plan) < WARM ? (int)samples_of(plan) : WARM;
    double us = 0;
    for (size_t e = 0; e < plan->entries; e++)
        batch(me, e, BENCH_NONBLOCKING, n, n, samples_at(plan, me->shared, me->number, e, BENCH_NONBLOCKING));
    meet(me);
    if (me->number == 0) {
        for (size_t e = 0; e < plan->entries; e++) {
            double *most = slowest(plan, me->shared, e, BENCH_NONBLOCKING, (size_t)n);
            double median = bench_spread_of(most, (size_t)n).median;
            us = median > us ? median : us;
        }
        me->shared->loops *= us * plan->compute;
    }
    meet(me);
    me->loops = (uint64_t)me->shared->loops;
}

static void measure(rank *me)
{
    const bench_plan *plan = me->plan;
    if (plan->entries) {
        time_work(me);
        calibrate(me);
    }
    check(me);
    for (int round = 0; round < plan->rounds; round++)
        for (size_t e = 0; e < plan->entries; e++)
            for (int i = 0; i < BENCH_FORMS; i++) { /* each comes first in its turn */
                bench_form form = (bench_form)((i + round) % BENCH_FORMS);
                double *to = samples_at(plan, me->shared, me->number, e, form) + round * plan->iterations;
                if (!plan->only || plan->only & 1u << form)
                    batch(me, e, form, WARM_BATCH, plan->iterations, to);
            }
    check(me);
    meet(me);
}

static void prepare(rank *me, nbcoll_comm *comm)
{
    const bench_plan *plan = me->plan;
    size_t instances = (size_t)plan->instances, bytes = bench_buffer_bytes(plan);
    me->stride = bytes ? (bytes + 127) / 128 * 128 : 128;
    me->buffers = instances;
    for (size_t e = 0; e < plan->entries; e++)
        if (plan->entry[e].is_changing)
            me->buffers = POOL / me->stride > 2 * instances ? POOL / me->stride : 2 * instances;
    if (me->buffers > SIZE_MAX / 2 / me->stride)
        bench_must(me->shared, NBCOLL_ERR_MEMORY);
    me->request = calloc(instances, sizeof *me->request);
    me->send = aligned_alloc(128, me->buffers * me->stride);
    me->recv = aligned_alloc(128, me->buffers * me->stride);
    if (!me->request || !me->send || !me->recv)
        bench_must(me->shared, NBCOLL_ERR_MEMORY);
    memset(me->send, 0x3c, me->buffers * me->stride); /* a page that was never written is no memory yet */
    memset(me->recv, 0x3c, me->buffers * me->stride);
    bench_call_open(&me->call, plan, me->shared, comm, me->number == 0 ? me->shared->chosen : NULL);
}

void bench_rank(const bench_plan *plan, bench_shared *s, nbcoll_context *context, nbcoll_comm *comm)
{
    rank me = {.plan = plan, .shared = s, .context = context, .number = nbcoll_comm_rank(comm)};
    me.random = (uint64_t)me.number + 1;
    if (me.number == 0 && nbcoll_comm_terms(comm, &s->terms) == NBCOLL_OK) {
        s->terms.rules = NULL; /* these two: the communicator's, and of another process */
        s->terms.rule_count = 0;
        s->terms.nodes = plan->at.nodes; /* as does its table */
    }
    prepare(&me, comm);
    measure(&me);
    bench_call_close(&me.call);
    free(me.request);
    free(me.send);
    free(me.recv);
}
