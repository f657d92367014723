/* SPDX-License-Identifier: BSD-3-Clause
 * How soon a driver on the rank's own core comes when a message does: rank 0 computes on core 0 and calls nothing; its
 * driver sleeps there, too, until rank 1, on core 1, starts a broadcast of 8 bytes. Measured is from that start to the
 * callback of rank 0's request, on the driver's thread:
 *
 *     other core   the driver is on core 1, beside rank 1, which waits
 *     normal       both threads as they are (SCHED_OTHER)
 *     batch        the computation under SCHED_BATCH
 *     nice 19      the computation has given way: no right is needed for that
 *     nice -20     the driver is raised, for which a right is needed (CAP_SYS_NICE, or RLIMIT_NICE)
 *     fifo         the driver under SCHED_FIFO (CAP_SYS_NICE, or RLIMIT_RTPRIO)
 *
 * What the system refuses is said. The ways take turns. */
#include <sys/resource.h>

#include "nbcoll/driver.h"

#include "ranks.h"

enum { RANKS = 2, ROUNDS = 20, EACH = 25, GAP_US = 1500 };

typedef enum way { OTHER_CORE, NORMAL, BATCHED, NICE, RAISED, FIFO, WAYS } way;
static const char *const ways[WAYS] = {"other core", "normal", "batch", "nice 19", "nice -20", "fifo"};

/* What the ranks share. */
typedef struct shared {
    nbcoll_shm_id id;
    atomic_uint computes; /* rank 0 has started so many, and computes */
    _Atomic double begun; /* rank 1 starts */
} shared;

static _Atomic int driver_tid;
static _Atomic double called; /* the callback; 0: not yet */

static void *drive(void *driver)
{
    atomic_store(&driver_tid, gettid());
    must(nbcoll_driver_run(driver, NBCOLL_FOREVER));
    return NULL;
}

static int schedule(int thread, int policy, int priority)
{
    struct sched_param p = {.sched_priority = priority};
    return sched_setscheduler(thread, policy, &p);
}

/* 0: refused. */
static int go(way how)
{
    int driver = atomic_load(&driver_tid);

    schedule(driver, SCHED_OTHER, 0);
    schedule(0, SCHED_OTHER, 0);
    setpriority(PRIO_PROCESS, (id_t)driver, 0);
    setpriority(PRIO_PROCESS, (id_t)gettid(), 0);
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(how == OTHER_CORE, &set);
    sched_setaffinity(driver, sizeof set, &set);
    switch (how) {
    case BATCHED: return schedule(0, SCHED_BATCH, 0) == 0;
    case NICE: return setpriority(PRIO_PROCESS, (id_t)gettid(), 19) == 0;
    case RAISED: return setpriority(PRIO_PROCESS, (id_t)driver, -20) == 0;
    case FIFO: return schedule(driver, SCHED_FIFO, 1) == 0;
    default: return 1;
    }
}

static void on_done(nbcoll_request request, nbcoll_status status, void *user)
{
    (void)request, (void)user;
    must(status);
    atomic_store(&called, now());
}

static double receive_once(shared *s, nbcoll_comm *comm)
{
    nbcoll_request q;
    uint64_t value;

    atomic_store(&called, 0);
    must(nbcoll_ibcast(&value, 1, NBCOLL_UINT64, 1, comm, &q));
    must(nbcoll_on_done(q, on_done, NULL));
    atomic_fetch_add(&s->computes, 1);
    while (atomic_load_explicit(&called, memory_order_relaxed) == 0)
        work(1000);
    must(nbcoll_wait(&q, NBCOLL_FOREVER));
    return atomic_load(&called) - atomic_load(&s->begun);
}

static void send_once(shared *s, nbcoll_comm *comm, unsigned n, uint64_t *random)
{
    uint64_t value = n;

    while (atomic_load(&s->computes) < n)
        sched_yield();
    *random = *random * 6364136223846793005u + 1442695040888963407u;
    double until = now() + 200000 + (double)(*random >> 33) / 0x80000000u * GAP_US * 1000;
    while (now() < until)
        ;
    atomic_store(&s->begun, now());
    must(nbcoll_bcast(&value, 1, NBCOLL_UINT64, 1, comm, NBCOLL_FOREVER));
}

static void receive_all(shared *s, nbcoll_context *context, nbcoll_comm *comm)
{
    static double ns[WAYS][ROUNDS * EACH];
    nbcoll_driver_config config = {.size = sizeof config, .spin_ns = 1};
    int can[WAYS];
    nbcoll_driver *driver;
    pthread_t thread;

    must(nbcoll_driver_create(&config, &driver));
    must(nbcoll_driver_add(driver, context));
    if (pthread_create(&thread, NULL, drive, driver) != 0)
        _exit(1);
    while (!atomic_load(&driver_tid))
        sched_yield();
    for (int i = 0; i < ROUNDS; i++)
        for (int how = 0; how < WAYS; how++) {
            can[how] = go((way)how);
            for (int k = 0; k < EACH; k++)
                ns[how][i * EACH + k] = receive_once(s, comm);
        }
    go(NORMAL);
    printf("%-10s %9s %9s %9s   us from the start to the callback\n", "driver", "p50", "p99", "most");
    for (int how = 0; how < WAYS; how++) {
        size_t n = ROUNDS * EACH;
        qsort(ns[how], n, sizeof(double), by_value);
        if (can[how])
            printf("%-10s %9.1f %9.1f %9.1f\n", ways[how], ns[how][n / 2] / 1e3, ns[how][n * 99 / 100] / 1e3,
                   ns[how][n - 1] / 1e3);
        else
            printf("%-10s refused by the system\n", ways[how]);
    }
    must(nbcoll_driver_stop(driver));
    pthread_join(thread, NULL);
    must(nbcoll_driver_free(driver));
}

static void run_rank(void *memory, int rank)
{
    shared *s = memory;
    nbcoll_context *context;
    uint64_t random = 1;

    bind_to(rank);
    nbcoll_comm *comm = open_shm(&s->id, rank, RANKS, NBCOLL_ANY_THREAD, NULL, &context);
    if (rank == 0)
        receive_all(s, context, comm);
    for (unsigned n = 1; rank == 1 && n <= WAYS * ROUNDS * EACH; n++)
        send_once(s, comm, n, &random);
    close_context(context);
}

int main(void)
{
    shared *s = share(sizeof *s);

    must(nbcoll_shm_id_make(&s->id));
    return run_ranks(RANKS, run_rank, s);
}
