/* SPDX-License-Identifier: BSD-3-Clause
 * The machine's latency class: where a hypervisor places the cores is not ours to see, and changes; but how long a line
 * takes from one of them to the other tells, and what is compared must have been measured in one latency class. */
#include <sched.h>
#include <stdatomic.h>

#include "bench.h"
#include "crew.h"
#include "run.h"

enum { WINDOWS = 21, TRIPS = 400 };

typedef struct ping_pong {
    const run_binding *binding;
    _Alignas(128) atomic_int ping;
    _Alignas(128) atomic_int pong;
    double window[WINDOWS];
} ping_pong;

static void await(atomic_int *line, int value)
{
    while (atomic_load_explicit(line, memory_order_acquire) != value)
        ;
}

/* One asks, and the other one answers. */
static void live(void *user, int rank)
{
    ping_pong *p = user;
    run_bind_here(p->binding, rank);
    for (int w = 0, i = 0; w < WINDOWS; w++) {
        double at = command_now();
        for (int trip = 0; trip < TRIPS; trip++) {
            if (rank == 1)
                await(&p->ping, i + 1);
            atomic_store_explicit(rank == 0 ? &p->ping : &p->pong, ++i, memory_order_release);
            if (rank == 0)
                await(&p->pong, i);
        }
        if (rank == 0)
            p->window[w] = (command_now() - at) / (2 * TRIPS);
    }
}

int bench_cores(void)
{
    cpu_set_t allowed;
    return sched_getaffinity(0, sizeof allowed, &allowed) == 0 ? CPU_COUNT(&allowed) : 1;
}

bench_latency bench_probe(const command *self, const char *bind)
{
    run_binding *binding = bench_cores() < 2 ? NULL : run_bind_find(self, bind, 2);
    ping_pong *p = bench_cores() < 2 ? NULL : crew_share(sizeof *p);
    bench_latency latency = {'-', 0};
    if (p) {
        p->binding = binding;
        if (crew_run(&(crew){.ranks = 2, .together = 2, .live = live, .user = p}) == NBCOLL_OK) {
            latency.us = bench_spread_of(p->window, WINDOWS).median;
            latency.letter = latency.us < 0.038 ? 'S' : latency.us < 0.13 ? 'C' : 'X';
        }
    }
    run_bind_free(binding);
    crew_unshare(p, sizeof *p);
    return latency;
}
