/* SPDX-License-Identifier: BSD-3-Clause
 * Hierarchical ones: the leaders' part by the engine or the NIC, copies before and after it. */
#include "nics.h"

static double later(double a, double b)
{
    return a > b ? a : b;
}

/* When the last of each node's leaders has what it needs; `posted`: when its core is free. */
static void exchange(const levels *l, double arrived, double ended[MOST], double *posted)
{
    play p = l->leaders;
    nbcoll_program *program[MOST];
    nbcoll_nic_rank rank[MOST];
    *posted = arrived;
    if (l->is_hosts)
        engine_ends(&p, 0, ended);
    for (int i = 0; i < p.ranks && l->is_hosts; i++)
        ended[i] += arrived;
    if (!l->is_hosts) {
        compile_all(&p, program);
        play_all(&p, program, (uint64_t)arrived, 0, rank);
        free_all(&p, program);
        for (int i = 0; i < p.ranks; i++) {
            ended[i] = (double)rank[i].ended;
            *posted = later(*posted, (double)rank[i].posted);
        }
    }
    for (int i = 0; i < p.ranks; i++) {
        int first = i / p.node * p.node;
        ended[first] = later(ended[first], ended[i]);
    }
}

/* ns in which each rank of a node copies n bytes: as after a program (nic.h). */
static double copies(const nbcoll_sim_model *m, size_t n)
{
    nbcoll_nic_model nic = nic_of(m);
    uint64_t shared = n > nic.cache / nic.node ? nic.memory * nic.node : 0;
    return (double)n * later((double)shared, (double)nic.copy) / 1e3;
}

/* The mean of a node's ranks over all nodes, where each computes for `compute`. */
static double levels_end(const levels *l, double compute)
{
    const nbcoll_sim_model *m = l->leaders.machine;
    double ended[MOST], sum = 0, posted, flag = (double)m->inside.latency;
    double in = copies(m, l->own), out = copies(m, l->all);
    exchange(l, in + flag, ended, &posted);
    int nodes = l->leaders.ranks / l->leaders.node;
    for (int i = 0; i < nodes; i++) {
        double there = ended[i * l->leaders.node] + flag;
        double computed = in + compute + (posted - in - flag) / (double)m->node; /* a leader's posts, of all ranks */
        double order = l->is_rotated ? (double)l->all * (double)m->copy / 1e3 : 0;
        double leader = later(there, computed) + order; /* in a test, if it still computes */
        double other = later(there + order, computed);
        sum += l->has_driver ? later(there + order + out, computed)
                             : (leader + ((double)m->node - 1) * other) / (double)m->node + out;
    }
    return sum / nodes;
}

outcome by_levels(levels l, double compute, double *with)
{
    outcome o = {.alone = levels_end(&l, 0)};
    compute = compute > 0 ? compute : o.alone;
    *with = levels_end(&l, compute);
    o.free = free_of(o.alone, compute, *with);
    return o;
}

/* `leaders` of each node, each with its share of the node's blocks. */
levels levels_of(const nbcoll_sim_model *m, int nodes, int leaders, const char *algorithm, unsigned ports, size_t bytes)
{
    return (levels){.leaders = {.machine = m,
                                .algorithm = allgather(algorithm),
                                .ranks = nodes * leaders,
                                .node = leaders,
                                .ports = ports,
                                .in_place = 1, /* blocks are sent from the memory that the node shares */
                                .bytes = bytes * m->node / (size_t)leaders},
                    .own = bytes,
                    .all = bytes * m->node * (size_t)nodes};
}

outcome hierarchical(const nbcoll_sim_model *m, int nodes, const char *algorithm, unsigned ports, size_t bytes,
                     int has_driver)
{
    double with;
    levels l = levels_of(m, nodes, 1, algorithm, ports, bytes);
    take(&l.leaders, algorithm);
    l.leaders.in_place = 1;
    l.is_rotated = l.leaders.algorithm == &unrotated;
    l.has_driver = has_driver;
    l.leaders.used = ports == 1 ? 1 : 0; /* what has one port uses one of a NIC's */
    return by_levels(l, 0, &with);
}
