/* SPDX-License-Identifier: BSD-3-Clause
 * Three ports over two interfaces: figures 4.10 to 4.13. */
#include <stdio.h>

#include "nics.h"

void print_ports(void)
{
    nbcoll_sim_model b = machine_of("cluster_b");
    static const char *const names[] = {"exchange", "bruck_ports"};
    puts("| bytes | engine, blocking | exchange, 1 port | 3 ports | less | Bruck, 1 port | 3 ports | less | "
         "free: 1 port | 3 ports | "
         "hierarchical, 1 port | 3 ports | less |\n|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|");
    for (int i = 0; i < SIZES; i++) {
        play p = {.machine = &b, .ranks = 16, .node = 4, .bytes = sizes[i], .eager = eager_of(16, sizes[i])};
        outcome flat[2][2], hier[2];
        for (int k = 0; k < 4; k++) {
            take(&p, names[k / 2]);
            p.ports = k % 2 ? 3 : 1;
            p.used = k % 2 ? 0 : 1;
            flat[k / 2][k % 2] = offloaded(p);
        }
        for (int k = 0; k < 2; k++)
            hier[k] = hierarchical(&b, 4, "exchange", k ? 3 : 1, p.bytes, 0);
        printf("| %zu | %.0f |", p.bytes, baseline(p).alone / 1e3);
        for (int k = 0; k < 2; k++)
            printf(" %.0f | %.0f | %.0f%% |", flat[k][0].alone / 1e3, flat[k][1].alone / 1e3,
                   100 * (1 - flat[k][1].alone / flat[k][0].alone));
        printf(" %.0f%% | %.0f%% | %.1f | %.1f | %.0f%% |\n", flat[0][0].free, flat[0][1].free, hier[0].alone / 1e3,
               hier[1].alone / 1e3, 100 * (1 - hier[1].alone / hier[0].alone));
    }
}
