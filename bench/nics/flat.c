/* SPDX-License-Identifier: BSD-3-Clause
 * Flat allgathers: figures 4.6 and 4.8, and the memory of tables 4.2 and 4.3. */
#include <inttypes.h>
#include <stdio.h>

#include "nics.h"

void print_flat(void)
{
    nbcoll_sim_model a = machine_of("cluster_a");
    puts("| bytes | engine, blocking | NIC: exchange | Bruck | ring | free, engine | exchange | Bruck | ring |\n"
         "|---:|---:|---:|---:|---:|---:|---:|---:|---:|");
    for (int i = 0; i < SIZES; i++) {
        play p = {.machine = &a, .ranks = 128, .node = 8, .bytes = sizes[i], .test_bytes = 1024};
        outcome nic[3];
        p.eager = eager_of(p.ranks, p.bytes);
        for (int k = 0; k < 3; k++) {
            take(&p, flat_ones[k]);
            nic[k] = offloaded(p);
        }
        outcome host = baseline(p);
        printf("| %zu | %.0f | %.0f | %.0f | %.0f | %.0f%% | %.0f%% | %.0f%% | %.0f%% |\n", p.bytes, host.alone / 1e3,
               nic[0].alone / 1e3, nic[1].alone / 1e3, nic[2].alone / 1e3, host.free, nic[0].free, nic[1].free,
               nic[2].free);
    }
}

/* Each connection has a fixed number of buffers, posted before anything is known: as many as the last round fills. */
void print_memory(void)
{
    nbcoll_sim_model a = machine_of("cluster_a");
    puts("| | connections | queue pairs for 1 in flight | for 8 | KiB a rank for 1 | for 8 |\n"
         "|---|---:|---:|---:|---:|---:|");
    for (int k = 0; k < 6; k++) {
        int ranks = k < 3 ? 128 : 16;
        play p = {.machine = &a,
                  .algorithm = allgather(flat_ones[k % 3]),
                  .ranks = ranks,
                  .node = 1,
                  .bytes = 1024,
                  .eager = 1 << 20};
        nbcoll_program *program[MOST];
        nbcoll_program_info info = {.size = sizeof info};
        compile_all(&p, program);
        expect(nbcoll_program_query(program[0], &info), "query");
        size_t buffers = (size_t)info.connections * (size_t)(ranks / 2) * info.eager;
        printf("| %d ranks, %s | %u | %" PRIu64 " | %" PRIu64 " | %zu | %zu |\n", ranks, flat_ones[k % 3],
               info.connections, info.queue_pairs, 8 * info.queue_pairs, buffers / 1024, 8 * buffers / 1024);
        free_all(&p, program);
    }
}
