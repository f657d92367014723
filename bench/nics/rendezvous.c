/* SPDX-License-Identifier: BSD-3-Clause
 * Between two ranks: table 3.1, figures 3.7 and 3.8. */
#include <stdio.h>

#include "nics.h"

/* A sender's time, where the receiver pauses between start and wait. */
static double paused_sender(play p, uint64_t pause, int is_nic)
{
    if (is_nic) {
        nbcoll_program *program[MOST];
        nbcoll_nic_rank rank[MOST];
        nbcoll_nic_model nic = {.size = sizeof nic};
        const uint64_t computes[] = {0, pause};
        nbcoll_nic_config config = {.size = sizeof config, .ranks = 2, .model = &nic, .compute = computes};
        nbcoll_nic_result result = {.size = sizeof result, .rank = rank};
        compile_all(&p, program);
        expect(nbcoll_nic_of(p.machine, &nic), "nic");
        nic.node = 1;
        expect(nbcoll_nic_play(&config, (const nbcoll_program *const *)program, &result), "pause");
        free_all(&p, program);
        return (double)rank[0].finished;
    }
    const nbcoll_sim_action pausing[] = {{.act = NBCOLL_SIM_START}, {.act = NBCOLL_SIM_COMPUTE, .compute = pause}};
    const nbcoll_sim_program programs[] = {{pausing, 1}, {pausing, 2}};
    nbcoll_sim_model m = *p.machine;
    nbcoll_sim_rank rank[2];
    nbcoll_sim_config config = {.size = sizeof config, .ranks = 2, .model = &m, .programs = programs, .user = &p};
    nbcoll_sim_result result = {.size = sizeof result, .rank = rank};
    m.node = 1;
    expect(nbcoll_simulate(&config, build, &p, &result), "pause");
    return (double)rank[0].waited;
}

void print_rendezvous(void)
{
    nbcoll_sim_model b = machine_of("cluster_b");
    play p = {.machine = &b,
              .algorithm = nbcoll_algorithm_find(NBCOLL_OPERATION_BCAST, "binomial"),
              .ranks = 2,
              .node = 1,
              .eager = 1,
              .test_bytes = 2048};
    const uint64_t second = 1000000000;
    wants_last = 1;
    b.eager = 12288;
    b.interfaces = 1;
    puts("| bytes | sees of 1 s: engine | NIC | us: engine | NIC | free: engine | NIC |\n"
         "|---:|---:|---:|---:|---:|---:|---:|");
    for (p.bytes = 64; p.bytes <= 524288; p.bytes *= p.bytes < 16384 ? 16 : 2) {
        double sees[2];
        for (int i = 0; i < 2; i++)
            sees[i] = 100 * (paused_sender(p, second, i) - paused_sender(p, 0, i)) / 1e9;
        outcome host = engine(p), nic = offloaded(p);
        printf("| %zu | %.0f%% | %.0f%% | %.1f | %.1f | %.0f%% | %.0f%% |\n", p.bytes, sees[0], sees[1],
               host.alone / 1e3, nic.alone / 1e3, host.free, nic.free);
    }
    wants_last = 0;
}
