/* SPDX-License-Identifier: BSD-3-Clause
 * Overlap: a sum over all ranks is started, travels while the rank computes, and is waited for when it is needed. Four
 * ways to let it travel: the computation calls nothing; it looks in now and then (nbcoll_test); a timer interrupts it,
 * and the signal's handler progresses the sum (nbcoll_tick); a driver, a thread, does that beside it. Rank 0 says what
 * each way hid of the time that the sum takes. Start it by
 *
 *     nbcoll run -n 2 overlap
 *
 * A driver hides most where it has a core to itself (nbcoll run --bind scatter leaves some free); the timer needs none.
 */
#include <signal.h>
#include <stdio.h>
#include <time.h>

#include <nbcoll/driver.h>
#include <nbcoll/launch.h>
#include <nbcoll/nbcoll.h>

enum { NUMBERS = 1000000, PIECES = 50, ROUNDS = 5, PERIOD_NS = 100000 };

typedef enum way { NOTHING, TESTS, TICKS, DRIVER, WAYS } way;
static const char *const ways[WAYS] = {"no calls", "tests", "a timer", "a driver"};

static double mine[NUMBERS], sum[NUMBERS];

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* One piece of work that has nothing to do with the sum: terms of a series for pi. */
static double compute(int piece)
{
    double part = 0;
    for (int i = piece * 100000; i < (piece + 1) * 100000; i++)
        part += (i % 2 ? -4.0 : 4.0) / (2.0 * i + 1);
    return part;
}

/* With `pieces` of the computation between start and wait. Until the end `sum` may not be read, nor either be
 * written. */
static nbcoll_status sum_up(nbcoll_comm *comm, way how, int pieces, double *pi, double *seconds)
{
    nbcoll_request request;

    nbcoll_status status = nbcoll_barrier(comm, NBCOLL_FOREVER);
    double from = now();
    if (status == NBCOLL_OK)
        status = nbcoll_iallreduce(mine, sum, NUMBERS, NBCOLL_DOUBLE, NBCOLL_SUM, comm, &request);
    if (status != NBCOLL_OK)
        return status;
    *pi = 0;
    for (int piece = 0; piece < pieces; piece++) {
        *pi += compute(piece);
        if (how == TESTS)
            nbcoll_test(&request); /* the wait tells how it ended */
    }
    status = nbcoll_wait(&request, NBCOLL_FOREVER);
    *seconds = now() - from;
    return status;
}

static nbcoll_status go_one_way(nbcoll_comm *comm, way how)
{
    int rank = nbcoll_comm_rank(comm), ranks = nbcoll_comm_size(comm), right = 0;
    double pi = 0, sums = 1, computing = 1, both = 1, seconds;
    nbcoll_status status = NBCOLL_OK;

    for (int i = 0; i < ROUNDS && status == NBCOLL_OK; i++) { /* the least of some */
        status = sum_up(comm, how, 0, &pi, &seconds);
        sums = seconds < sums ? seconds : sums;
        double from = now();
        for (int piece = 0; piece < PIECES; piece++)
            pi += compute(piece);
        computing = now() - from < computing ? now() - from : computing;
        if (status == NBCOLL_OK)
            status = sum_up(comm, how, PIECES, &pi, &seconds);
        both = seconds < both ? seconds : both;
    }
    if (status != NBCOLL_OK)
        return status;
    for (int i = 0; i < NUMBERS; i++)
        right += sum[i] == (double)ranks * i + ranks * (ranks - 1) / 2;
    printf("rank %d, with %s: pi is about %.5f; meanwhile %d of %d sums over %d ranks have become right\n", rank,
           ways[how], pi, right, NUMBERS, ranks);
    if (rank == 0)
        printf("with %s: the sum %.2f ms, the computation %.2f ms, both %.2f ms: %.0f%% of the sum hidden\n", ways[how],
               1e3 * sums, 1e3 * computing, 1e3 * both, 100 * (1 - (both - computing) / sums));
    return NBCOLL_OK;
}

/* ---- without calls of the computation ---------------------------------------------------------------------------- */

static void on_tick(int number, siginfo_t *info, void *machine)
{
    (void)number;
    (void)machine;
    nbcoll_tick(info->si_value.sival_ptr); /* the context */
}

static nbcoll_status with_ticks(nbcoll_context *context, nbcoll_comm *comm)
{
    struct sigaction action = {.sa_sigaction = on_tick, .sa_flags = SA_SIGINFO | SA_RESTART};

    sigaction(SIGRTMIN, &action, NULL);
    nbcoll_status status = nbcoll_tick_start(context, SIGRTMIN, PERIOD_NS);
    if (status != NBCOLL_OK)
        return status;
    status = go_one_way(comm, TICKS);
    nbcoll_tick_stop(context);
    return status;
}

static nbcoll_status with_driver(nbcoll_context *context, nbcoll_comm *comm)
{
    nbcoll_driver *driver = NULL;

    nbcoll_status status = nbcoll_driver_create(NULL, &driver);
    if (status == NBCOLL_OK)
        status = nbcoll_driver_add(driver, context);
    if (status == NBCOLL_OK)
        status = nbcoll_driver_start(driver);
    if (status == NBCOLL_OK)
        status = go_one_way(comm, DRIVER);
    nbcoll_driver_free(driver); /* before the context */
    return status;
}

/* ---- contexts ---------------------------------------------------------------------------------------------------- */

/* A context is made for one thread, as ticks need it, or for any, as a driver needs it: the ranks meet twice. *next
 * names the second meeting. */
static nbcoll_status meet(const nbcoll_shm_config *shm, uint32_t flags, nbcoll_shm_id *next)
{
    nbcoll_context_config config = {.size = sizeof config,
                                    .observer = nbcoll_launch_observer(),
                                    .flags = flags,
                                    .watcher = nbcoll_launch_watcher()};
    nbcoll_endpoint *endpoint = NULL;
    nbcoll_context *context = NULL;
    nbcoll_comm *comm;

    nbcoll_status status = nbcoll_shm_open(shm, &endpoint);
    if (status == NBCOLL_OK)
        status = nbcoll_context_create(NBCOLL_ABI, &config, &context);
    if (status == NBCOLL_OK)
        status = nbcoll_comm_create(context, endpoint, NULL, &comm, NBCOLL_FOREVER);
    if (status == NBCOLL_OK && flags & NBCOLL_ANY_THREAD)
        status = with_driver(context, comm);
    else if (status == NBCOLL_OK) {
        status = go_one_way(comm, NOTHING);
        if (status == NBCOLL_OK)
            status = go_one_way(comm, TESTS);
        if (status == NBCOLL_OK)
            status = with_ticks(context, comm);
        if (status == NBCOLL_OK)
            status = nbcoll_bcast(next, sizeof *next, NBCOLL_BYTE, 0, comm, NBCOLL_FOREVER);
    }
    while (nbcoll_context_free(context) == NBCOLL_ERR_BUSY && status == NBCOLL_OK)
        nbcoll_progress(context); /* the last messages are on their way */
    return status;
}

int main(void)
{
    nbcoll_shm_config shm = {.size = sizeof shm};
    nbcoll_shm_id next;

    nbcoll_status status = nbcoll_launch_read(&shm);
    if (status == NBCOLL_OK)
        status = nbcoll_shm_id_make(&next); /* rank 0's is taken */
    for (int i = 0; i < NUMBERS; i++)
        mine[i] = shm.rank + i;
    if (status == NBCOLL_OK)
        status = meet(&shm, 0, &next);
    shm.id = next;
    if (status == NBCOLL_OK)
        status = meet(&shm, NBCOLL_ANY_THREAD, NULL);
    if (status != NBCOLL_OK)
        fprintf(stderr, "overlap: %s\n", nbcoll_status_text(status));
    return status != NBCOLL_OK;
}
