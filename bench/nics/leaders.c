/* SPDX-License-Identifier: BSD-3-Clause
 * Several leaders and groups of a node, on one NIC and two. */
#include <stdio.h>

#include "nics.h"

/* Leaders of the same place in their nodes exchange among themselves: by recursive doubling over the nodes. */
static int leaders_of_a_node;

static void build_grouped(nbcoll_builder *b, const nbcoll_args *a)
{
    int g = leaders_of_a_node, nodes = b->ranks / g, node = b->rank / g, place = b->rank % g;
    size_t n = a->bytes;
    nbcoll_step have = NBCOLL_START; /* in place */
    for (int d = 1; d < nodes; d *= 2) {
        int other = node ^ d;
        size_t mine = (size_t)(node / d * d) * n, theirs = (size_t)(other / d * d) * n, run = (size_t)d * n;
        nbcoll_step send = nbcoll_add_send(b, other * g + place, nbcoll_at(a->recv, mine), run);
        nbcoll_step recv = nbcoll_add_recv(b, other * g + place, nbcoll_at(a->recv, theirs), run);
        nbcoll_after(b, send, have);
        nbcoll_step both = nbcoll_add_join(b);
        nbcoll_after(b, both, recv);
        nbcoll_after(b, both, have);
        have = both;
    }
}

static const nbcoll_algorithm grouped = {
    .size = sizeof grouped, .name = "groups", .operation = NBCOLL_OPERATION_ALLGATHER, .build = build_grouped};

levels levels_of_groups(const nbcoll_sim_model *m, int nodes, int groups, size_t bytes)
{
    levels l = levels_of(m, nodes, groups, "recursive_doubling", 0, bytes);
    l.leaders.algorithm = &grouped;
    leaders_of_a_node = groups;
    return l;
}

static double leaders_take(const nbcoll_sim_model *m, int leaders, int is_grouped, int is_hosts, uint32_t nics,
                           size_t bytes)
{
    double with;
    levels l = is_grouped ? levels_of_groups(m, 16, leaders, bytes)
                          : levels_of(m, 16, leaders, "recursive_doubling", 0, bytes);
    l.is_hosts = is_hosts;
    l.leaders.nics = nics;
    return by_levels(l, 0, &with).alone / 1e3;
}

void print_leaders(void)
{
    nbcoll_sim_model a = machine_of("cluster_a");
    puts("| bytes | by | 1 leader | 2 leaders | 4 leaders | 2 groups | 4 groups |\n"
         "|---:|---|---:|---:|---:|---:|---:|");
    static const char *const by[] = {"one NIC", "two NICs", "the host's engine"};
    for (int i = 0; i < 7; i++)
        for (int k = 0; k < 3; k++) {
            printf("| %zu | %s |", sizes[i], by[k]);
            for (int how = 0; how < 5; how++) {
                static const int leaders[] = {1, 2, 4, 2, 4};
                printf(" %.1f |", leaders_take(&a, leaders[how], how > 2, k == 2, k == 1 ? 2 : 1, sizes[i]));
            }
            puts("");
        }
}
