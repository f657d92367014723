/* SPDX-License-Identifier: BSD-3-Clause
 * The machine's mood: where a hypervisor places the cores is not ours to see, and changes; but how long a line takes
 * from one of them to the other tells, and what is compared must have been measured in one mood. */
#define _GNU_SOURCE

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

#include "bench.h"
#include "run.h"

enum { WINDOWS = 21, TRIPS = 400 };

typedef struct ping_pong {
    const run_binding *binding;
    _Alignas(128) atomic_int ping;
    _Alignas(128) atomic_int pong;
    double window[WINDOWS];
} ping_pong;

double bench_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

/* Waits for a value; -1 stands for: give up. */
static int await(atomic_int *line, int value)
{
    int now;
    while ((now = atomic_load_explicit(line, memory_order_acquire)) != value && now >= 0)
        ;
    return now;
}

static void *answer(void *user)
{
    ping_pong *p = user;
    run_bind_here(p->binding, 1);
    for (int i = 1; i <= WINDOWS * TRIPS && await(&p->ping, i) == i; i++)
        atomic_store_explicit(&p->pong, i, memory_order_release);
    return NULL;
}

static void *ask(void *user)
{
    ping_pong *p = user;
    run_bind_here(p->binding, 0);
    for (int w = 0, i = 0; w < WINDOWS; w++) {
        double at = bench_now();
        for (int trip = 0; trip < TRIPS; trip++) {
            atomic_store_explicit(&p->ping, ++i, memory_order_release);
            await(&p->pong, i);
        }
        p->window[w] = (bench_now() - at) / (2 * TRIPS);
    }
    return NULL;
}

int bench_cores(void)
{
    cpu_set_t allowed;
    return sched_getaffinity(0, sizeof allowed, &allowed) == 0 ? CPU_COUNT(&allowed) : 1;
}

bench_mood bench_probe(const command *self, const char *bind)
{
    ping_pong p = {.ping = 0, .pong = 0};
    run_binding *binding = NULL;
    pthread_t asking, answering;
    if (bench_cores() < 2 || run_bind_find(self, bind, 2, &binding) != 0)
        return (bench_mood){'-', 0};
    p.binding = binding;
    int failed = pthread_create(&answering, NULL, answer, &p) != 0;
    if (!failed && (failed = pthread_create(&asking, NULL, ask, &p) != 0)) {
        atomic_store(&p.ping, -1);
        pthread_join(answering, NULL);
    } else if (!failed) {
        pthread_join(asking, NULL);
        pthread_join(answering, NULL);
    }
    run_bind_free(binding);
    if (failed)
        return (bench_mood){'-', 0};
    double us = bench_spread_of(p.window, WINDOWS).median;
    return (bench_mood){us < 0.038 ? 'S' : us < 0.13 ? 'C' : 'X', us};
}
