/* SPDX-License-Identifier: BSD-3-Clause
 * The figures of Inozemtsev's thesis (chapters 3 to 5) in virtual time: collectives as programs on the NICs of its
 * two clusters, beside the host's engine. Prints the tables behind docs/figures.md; with a word, only that one:
 * rendezvous, flat, hierarchical, ports, leaders, memory, radix, pipelined, parallel, reasons, causes, baseline, noise
 * (which takes minutes).
 *
 *     us        mean over ranks of when the operation has ended (rendezvous: the last of both)
 *     free      1 - (with - computed) / alone: how much of a computation as long as the operation alone is free beside
 *               it. The host's engine is tested once for each 2048 (rendezvous) or 1024 bytes of a block
 *
 * Hierarchical ones are put together here: each rank copies its block into the node's shared memory and says so by a
 * flag; a leader's program on the NIC exchanges what nodes have, from and into that memory; each rank copies the
 * result. A driver's core may take those copies. */
#include <stdio.h>
#include <string.h>

#include "nics.h"

int main(int argc, char *argv[])
{
    static const struct {
        const char *name;
        void (*print)(void);
    } tables[] = {{"rendezvous", print_rendezvous},
                  {"flat", print_flat},
                  {"hierarchical", print_hierarchical},
                  {"ports", print_ports},
                  {"leaders", print_leaders},
                  {"memory", print_memory},
                  {"radix", print_radix},
                  {"pipelined", print_pipelined},
                  {"parallel", print_parallel},
                  {"noise", print_noise},
                  {"reasons", print_reasons},
                  {"causes", print_causes},
                  {"baseline", print_baseline}};
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
        if (argc < 2 || !strcmp(argv[1], tables[i].name)) {
            printf("\n%s:\n\n", tables[i].name);
            tables[i].print();
            fflush(stdout);
        }
    return 0;
}
