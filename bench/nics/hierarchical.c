/* SPDX-License-Identifier: BSD-3-Clause
 * Hierarchical allgathers: figures 4.7 and 4.9. */
#include <stdio.h>

#include "nics.h"

void print_hierarchical(void)
{
    nbcoll_sim_model a = machine_of("cluster_a");
    puts("| bytes | engine, blocking | NIC: exchange | Bruck | ring | exchange, less | free: exchange | ring | "
         "exchange, driver copies |\n"
         "|---:|---:|---:|---:|---:|---:|---:|---:|---:|");
    for (int i = 0; i < SIZES; i++) {
        play p = {.machine = &a, .ranks = 128, .node = 8, .bytes = sizes[i]};
        outcome nic[3], host = baseline(p);
        for (int k = 0; k < 3; k++)
            nic[k] = hierarchical(&a, 16, flat_ones[k], 0, p.bytes, 0);
        outcome driven = hierarchical(&a, 16, flat_ones[0], 0, p.bytes, 1);
        printf("| %zu | %.1f | %.1f | %.1f | %.1f | %.0f%% | %.0f%% | %.0f%% | %.0f%% |\n", p.bytes, host.alone / 1e3,
               nic[0].alone / 1e3, nic[1].alone / 1e3, nic[2].alone / 1e3, 100 * (1 - nic[0].alone / host.alone),
               nic[0].free, nic[2].free, driven.free);
    }
}
