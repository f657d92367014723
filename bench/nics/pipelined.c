/* SPDX-License-Identifier: BSD-3-Clause
 * Pipelined allgathers: figures 5.8 and 5.9; several at a time: 5.10 and 5.11. */
#include <stdio.h>

#include "nics.h"

outcome pipelined(const nbcoll_sim_model *m, const char *algorithm, unsigned ports, size_t bytes, int at_once)
{
    double with;
    levels l = levels_of(m, 4, 1, algorithm, ports, bytes * (size_t)at_once);
    pieces_go_by = l.leaders.algorithm;
    piece = bytes * m->node < FRAGMENT ? bytes * m->node : FRAGMENT;
    l.leaders.algorithm = &in_pieces;
    l.leaders.used = ports == 1 ? 1 : 0;
    return by_levels(l, 0, &with);
}

/* The host's, not pipelined. */
static outcome hosts(const nbcoll_sim_model *m, size_t bytes, int at_once)
{
    nbcoll_sim_model one = baseline_machine(m);
    play p = {.machine = &one,
              .algorithm = &in_pieces,
              .ranks = 16,
              .node = 4,
              .bytes = bytes * (size_t)at_once,
              .test_bytes = 1024 * (uint64_t)at_once};
    pieces_go_by = &in_rounds;
    piece = bytes;
    return engine(p);
}

void print_pipelined(void)
{
    nbcoll_sim_model b = machine_of("cluster_b");
    static const char *const names[] = {"bruck_pipelined", "cayley"};
    puts("| bytes | engine | NIC: Bruck | pipelined, 1 port | 3 ports | Cayley, 1 port | 3 ports | free: engine | "
         "Bruck "
         "| pipelined, 1 port | Cayley, 1 port |\n|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|");
    for (int i = 0; i < SMALL; i++) {
        outcome host = hosts(&b, sizes[i], 1), plain = hierarchical(&b, 4, "bruck_ports", 1, sizes[i], 0), of[4];
        for (int k = 0; k < 4; k++)
            of[k] = pipelined(&b, names[k / 2], k % 2 ? 3 : 1, sizes[i], 1);
        printf("| %zu | %.1f | %.1f |", sizes[i], host.alone / 1e3, plain.alone / 1e3);
        for (int k = 0; k < 4; k++)
            printf(" %.1f |", of[k].alone / 1e3);
        printf(" %.0f%% | %.0f%% | %.0f%% | %.0f%% |\n", host.free, plain.free, of[0].free, of[2].free);
    }
}

/* As many at a time, beside as many one after the other. */
void print_parallel(void)
{
    nbcoll_sim_model b = machine_of("cluster_b");
    puts("| bytes | at a time | engine: faster by | free | Cayley, 3 ports: faster by | free |\n"
         "|---:|---:|---:|---:|---:|---:|");
    for (int i = 1; i < SMALL; i += 2) {
        outcome host = hosts(&b, sizes[i], 1), nic = pipelined(&b, "cayley", 3, sizes[i], 1);
        for (int n = 1; n <= 8; n *= 2) {
            outcome hosts_n = hosts(&b, sizes[i], n), nic_n = pipelined(&b, "cayley", 3, sizes[i], n);
            printf("| %zu | %d | %.0f%% | %.0f%% | %.0f%% | %.0f%% |\n", sizes[i], n,
                   100 * (1 - hosts_n.alone / (n * host.alone)), hosts_n.free,
                   100 * (1 - nic_n.alone / (n * nic.alone)), nic_n.free);
        }
    }
}
