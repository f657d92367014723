/* SPDX-License-Identifier: BSD-3-Clause
 * Stress: more ranks than cores, as threads; many operations in flight on several communicators; each rank starts them
 * in an order of its own (the same within a communicator) and waits for them in another. Ten fixed seeds and a fresh
 * one, printed; STRESS_SEED runs that one only. A wait that finds nothing for a while dumps the unfinished steps. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "watch.h"
#include "world.h"

enum { RANKS = 8, COMMS = 3, OPERATIONS = 1000, WINDOW = 24, MOST = 6000 };

typedef struct operation {
    nbcoll_operation what;
    int comm, root;
    size_t count; /* of int64 */
} operation;

typedef struct program {
    uint64_t seed;
    nbcoll_loopback *loopback;
    operation operation[OPERATIONS];
} program;

typedef struct rank {
    const program *program;
    int rank;
    uint64_t random;
    watch watch;
    nbcoll_context *context;
    nbcoll_comm *comm[COMMS];
    nbcoll_request request[OPERATIONS];
    int64_t *send[OPERATIONS], *recv[OPERATIONS];
    int started[OPERATIONS], ended[OPERATIONS];
} rank;

static void give_up(const rank *me, const char *why)
{
    fprintf(stderr, "seed %llu: %s\n", (unsigned long long)me->program->seed, why);
    watch_dump(&me->watch, stderr);
    abort();
}

static void want(const rank *me, nbcoll_status s, const char *what)
{
    if (s != NBCOLL_OK) {
        fprintf(stderr, "%s: %s\n", what, nbcoll_status_name(s));
        give_up(me, "unexpected status");
    }
}

/* What rank r contributes to element i of operation k. */
static int64_t value(int k, int r, size_t i)
{
    return (int64_t)k * 1000003 + r * 7919 + (int64_t)i;
}

static size_t send_blocks(const operation *o, int r)
{
    return o->what == NBCOLL_OPERATION_SCATTER ? (r == o->root ? RANKS : 0) : 1;
}

static void start(rank *me, int k)
{
    const operation *o = &me->program->operation[k];
    size_t n = o->count, sends = n * send_blocks(o, me->rank);
    nbcoll_comm *comm = me->comm[o->comm];
    nbcoll_request *q = &me->request[k];
    int64_t *send = me->send[k] = malloc((sends + 1) * sizeof *send);
    int64_t *recv = me->recv[k] = malloc((n * RANKS + 1) * sizeof *recv);
    nbcoll_status s;

    for (size_t i = 0; i < sends; i++)
        send[i] = value(k, me->rank, i);
    if (me->rank == o->root)
        for (size_t i = 0; i < n; i++)
            recv[i] = value(k, o->root, i);
    switch (o->what) {
    case NBCOLL_OPERATION_BARRIER: s = nbcoll_ibarrier(comm, q); break;
    case NBCOLL_OPERATION_BCAST: s = nbcoll_ibcast(recv, n, NBCOLL_INT64, o->root, comm, q); break;
    case NBCOLL_OPERATION_SCATTER: s = nbcoll_iscatter(send, recv, n, NBCOLL_INT64, o->root, comm, q); break;
    case NBCOLL_OPERATION_GATHER: s = nbcoll_igather(send, recv, n, NBCOLL_INT64, o->root, comm, q); break;
    case NBCOLL_OPERATION_ALLGATHER: s = nbcoll_iallgather(send, recv, n, NBCOLL_INT64, comm, q); break;
    case NBCOLL_OPERATION_REDUCE:
        s = nbcoll_ireduce(send, recv, n, NBCOLL_INT64, NBCOLL_SUM, o->root, comm, q);
        break;
    default: s = nbcoll_iallreduce(send, recv, n, NBCOLL_INT64, NBCOLL_SUM, comm, q); break;
    }
    want(me, s, "start");
    me->started[k] = 1;
}

/* Element i of the result at this rank. */
static int64_t expected(const operation *o, int k, int r, size_t i)
{
    int64_t sum = 0;
    switch (o->what) {
    case NBCOLL_OPERATION_BCAST: return value(k, o->root, i);
    case NBCOLL_OPERATION_SCATTER: return value(k, o->root, (size_t)r * o->count + i);
    case NBCOLL_OPERATION_GATHER:
    case NBCOLL_OPERATION_ALLGATHER: return value(k, (int)(i / o->count), i % o->count);
    default:
        for (int from = 0; from < RANKS; from++)
            sum += value(k, from, i);
        return sum;
    }
}

static void check(rank *me, int k)
{
    const operation *o = &me->program->operation[k];
    int rooted = o->what == NBCOLL_OPERATION_GATHER || o->what == NBCOLL_OPERATION_REDUCE;
    size_t n = o->what == NBCOLL_OPERATION_BARRIER || (rooted && me->rank != o->root) ? 0 : o->count;

    if (o->what == NBCOLL_OPERATION_GATHER || o->what == NBCOLL_OPERATION_ALLGATHER)
        n *= RANKS;
    for (size_t i = 0; i < n; i++)
        if (me->recv[k][i] != expected(o, k, me->rank, i))
            give_up(me, "wrong value");
    free(me->send[k]);
    free(me->recv[k]);
    me->ended[k] = 1;
}

/* The next operation to start on a random communicator, inside the window; -1 when there is none on it. */
static int pick(rank *me, int first)
{
    int comm = (int)(world_random(&me->random) % COMMS);
    for (int k = first; k < first + WINDOW && k < OPERATIONS; k++)
        if (!me->started[k] && me->program->operation[k].comm == comm)
            return k;
    return -1;
}

/* Waits for some of the started ones; every now and then only tests one at random. */
static void collect(rank *me, int first)
{
    nbcoll_request active[WINDOW];
    int which[WINDOW];
    size_t n = 0, at;

    for (int k = first; k < first + WINDOW && k < OPERATIONS; k++)
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
        if (s == NBCOLL_ERR_TIMEOUT)
            return;
        want(me, s, "wait_any");
    }
    check(me, which[at]);
}

static void *rank_main(void *argument)
{
    rank *me = argument;
    nbcoll_context_config config = {.size = sizeof config};
    nbcoll_endpoint *ep;
    time_t progress = time(NULL);

    watch_init(&me->watch, me->rank);
    config.observer = &me->watch.observer;
    want(me, nbcoll_loopback_open(me->program->loopback, me->rank, &ep), "open");
    want(me, nbcoll_context_create(NBCOLL_ABI, &config, &me->context), "context");
    want(me, nbcoll_comm_create(me->context, ep, NULL, &me->comm[0], 60000000000u), "create");
    for (int i = 1; i < COMMS; i++)
        want(me, nbcoll_comm_dup(me->comm[0], &me->comm[i], 60000000000u), "dup");
    for (int first = 0; first < OPERATIONS;) {
        int before = first, k = pick(me, first);
        if (k >= 0)
            start(me, k);
        else
            collect(me, first);
        while (first < OPERATIONS && me->ended[first])
            first++;
        if (first > before)
            progress = time(NULL);
        if (time(NULL) - progress > 60)
            give_up(me, "nothing ended for 60 seconds");
    }
    want(me, nbcoll_barrier(me->comm[1], 60000000000u), "barrier");
    while (nbcoll_context_free(me->context) == NBCOLL_ERR_BUSY)
        ;
    watch_free(&me->watch);
    return NULL;
}

static void stress(uint64_t seed, uint32_t flags)
{
    static rank ranks[RANKS];
    static program p;
    pthread_t thread[RANKS];
    uint64_t random = seed;
    nbcoll_loopback_config config = {.size = sizeof config, .ranks = RANKS, .seed = seed, .flags = flags};

    printf("seed %llu flags %u\n", (unsigned long long)seed, flags);
    memset(ranks, 0, sizeof ranks);
    p = (program){.seed = seed};
    for (int k = 0; k < OPERATIONS; k++) {
        size_t most = world_random(&random) % 8 ? 40 : MOST;
        p.operation[k] = (operation){(nbcoll_operation)(world_random(&random) % NBCOLL_OPERATION_COUNT),
                                     (int)(world_random(&random) % COMMS), (int)(world_random(&random) % RANKS),
                                     (size_t)(world_random(&random) % most)};
    }
    config.depth = (uint32_t)(1 + world_random(&random) % 16);
    assert_int_equal(nbcoll_loopback_create(&config, &p.loopback), NBCOLL_OK);
    for (int r = 0; r < RANKS; r++) {
        ranks[r] = (rank){.program = &p, .rank = r, .random = seed * 31 + (uint64_t)r};
        assert_int_equal(pthread_create(&thread[r], NULL, rank_main, &ranks[r]), 0);
    }
    for (int r = 0; r < RANKS; r++)
        pthread_join(thread[r], NULL);
    assert_int_equal(nbcoll_loopback_free(p.loopback), NBCOLL_OK);
}

static void many_operations_in_flight_end_with_the_right_values(void **state)
{
    const char *one = getenv("STRESS_SEED");
    (void)state;
    if (one) {
        stress(strtoull(one, NULL, 10), 0);
        return;
    }
    for (uint64_t seed = 1; seed <= 10; seed++)
        stress(seed, seed % 3 == 1 ? 0 : seed % 3 == 2 ? NBCOLL_LOOPBACK_NO_BULK : NBCOLL_LOOPBACK_LEND);
    stress((uint64_t)time(NULL), NBCOLL_LOOPBACK_LEND);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(many_operations_in_flight_end_with_the_right_values)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
