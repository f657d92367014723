/* SPDX-License-Identifier: BSD-3-Clause
 * See stress.h. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "native.h"
#include "stress.h"
#include "watch.h"
#include "world.h"

enum { WINDOW = 24, FEW = 40, MANY = 3000, PATIENCE = 60 };
#define MINUTE UINT64_C(60000000000)

typedef struct rank {
    const stress *stress;
    int rank;
    uint64_t random;
    watch watch;
    nbcoll_context *context;
    nbcoll_comm *comm[STRESS_COMMS];
    nbcoll_request request[STRESS_OPERATIONS];
    share share[STRESS_OPERATIONS];
    int started[STRESS_OPERATIONS], ended[STRESS_OPERATIONS];
} rank;

void stress_make(stress *s, int ranks, uint64_t seed)
{
    uint64_t random = seed;

    printf("seed %llu\n", (unsigned long long)seed);
    fflush(stdout);
    s->seed = seed;
    s->ranks = ranks;
    s->driver[0] = s->driver[1] = NULL;
    s->operations = STRESS_OPERATIONS;
    s->limits = (nbcoll_comm_config)NBCOLL_COMM_DEFAULTS;
    s->credits = NBCOLL_CREDITS;
    if (world_random(&random) % 2) { /* small ones, so that small data crosses them */
        s->limits.slots = 1 + (uint32_t)(world_random(&random) % 8);
        s->credits = 1 + (uint32_t)(world_random(&random) % 4);
        s->limits.schedules = 4;
        s->limits.eager = 128;
        s->limits.large = 2048;
    }
    for (int k = 0; k < STRESS_OPERATIONS; k++) {
        s->operation[k] = operation_random(&random, ranks, world_random(&random) % 8 ? FEW : MANY);
        s->comm[k] = (int)(world_random(&random) % STRESS_COMMS);
    }
}

static void want(const rank *me, nbcoll_status s, const char *what)
{
    nbcoll_failure failure = {0};
    char text[300] = "";

    if (s == NBCOLL_OK)
        return;
    if (nbcoll_last_failure(me->context, &failure) == NBCOLL_OK)
        nbcoll_failure_text(&failure, text, sizeof text);
    fprintf(stderr, "seed %llu, rank %d: %s: %s; %s\n", (unsigned long long)me->stress->seed, me->rank, what,
            nbcoll_status_name(s), text);
    watch_dump(&me->watch, stderr);
    abort();
}

static void start(rank *me, int k)
{
    const operation *o = &me->stress->operation[k];

    me->share[k] = share_make(o, me->rank, me->stress->ranks);
    want(me, operation_start(o, &me->share[k], me->comm[me->stress->comm[k]], &me->request[k]), "start");
    me->started[k] = 1;
}

static void check(rank *me, int k)
{
    operation_check(&me->stress->operation[k], &me->share[k], me->rank, me->stress->ranks);
    share_free(&me->share[k]);
    me->ended[k] = 1;
}

/* The next operation to start on a random communicator, inside the window; -1 when there is none on it. */
static int pick(rank *me, int first)
{
    int comm = (int)(world_random(&me->random) % STRESS_COMMS);
    for (int k = first; k < first + WINDOW && k < me->stress->operations; k++)
        if (!me->started[k] && me->stress->comm[k] == comm)
            return k;
    return -1;
}

/* Waits for some of the started ones; every now and then only tests one at random. */
static void collect(rank *me, int first)
{
    nbcoll_request active[WINDOW];
    int which[WINDOW];
    size_t n = 0, at;

    for (int k = first; k < first + WINDOW && k < me->stress->operations; k++)
        if (me->started[k] && !me->ended[k]) {
            which[n] = k;
            active[n++] = me->request[k];
        }
    if (n == 0)
        return;
    if (world_random(&me->random) % 2) {
        at = (size_t)(world_random(&me->random) % n);
        nbcoll_status s = nbcoll_test(&active[at]);
        if (s == NBCOLL_PENDING)
            return;
        want(me, s, "test");
    } else {
        nbcoll_status s = nbcoll_wait_any(n, active, &at, 1000000);
        if (s == NBCOLL_ERR_TIMEOUT || s == NBCOLL_ERR_NO_SLOT)
            return;
        want(me, s, "wait_any");
    }
    check(me, which[at]);
}

static nbcoll_driver *driver_of(const rank *me)
{
    return me->stress->driver[me->rank % 2];
}

static void open_comms(rank *me, nbcoll_endpoint *ep)
{
    nbcoll_context_config config = {.size = sizeof config, .credits = me->stress->credits,
                                    .flags = driver_of(me) ? NBCOLL_ANY_THREAD : 0};
    native n;

    native_init(&n, &me->stress->limits);
    watch_init(&me->watch, me->rank);
    config.observer = &me->watch.observer;
    want(me, nbcoll_context_create(NBCOLL_ABI, &config, &me->context), "context");
    want(me, nbcoll_comm_create(me->context, ep, &n.config, &me->comm[0], MINUTE), "create");
    for (int i = 1; i < STRESS_COMMS; i++)
        want(me, nbcoll_comm_dup(me->comm[0], &me->comm[i], MINUTE), "dup");
    if (driver_of(me))
        want(me, nbcoll_driver_add(driver_of(me), me->context), "into the driver");
}

void stress_run(const stress *s, int number, nbcoll_endpoint *ep)
{
    rank *me = calloc(1, sizeof *me);
    time_t progress = time(NULL);

    *me = (rank){.stress = s, .rank = number, .random = s->seed * 31 + (uint64_t)number};
    open_comms(me, ep);
    for (int first = 0; first < s->operations;) {
        int before = first, k = pick(me, first);
        if (k >= 0)
            start(me, k);
        else
            collect(me, first);
        while (first < s->operations && me->ended[first])
            first++;
        if (first > before)
            progress = time(NULL);
        want(me, time(NULL) - progress > PATIENCE ? NBCOLL_ERR_TIMEOUT : NBCOLL_OK, "the next operation to end");
    }
    want(me, nbcoll_barrier(me->comm[1], MINUTE), "barrier");
    if (driver_of(me))
        want(me, nbcoll_driver_remove(driver_of(me), me->context), "out of the driver");
    while (nbcoll_context_free(me->context) == NBCOLL_ERR_BUSY)
        ;
    watch_free(&me->watch);
    free(me);
}
