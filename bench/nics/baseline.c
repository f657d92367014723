/* SPDX-License-Identifier: BSD-3-Clause
 * The baseline: what the thesis' tables ask of it, and what it takes, one thing changed at a time. */
#include <stdio.h>

#include "nics.h"

enum { RANKS = 128, NODE = 8, NODES = 16, SIXTEEN = 4 * 4, SIXTY_FOUR = 16 * 4, RADIX_8 = 256 * 4 };

/* ---- the machine ------------------------------------------------------------------------------------------------- */

static void dear_calls(nbcoll_sim_model *m)
{
    m->between.o_send *= 4;
    m->between.o_recv *= 4;
    m->inside.o_send *= 4;
    m->inside.o_recv *= 4;
}

static void slow_messages(nbcoll_sim_model *m)
{
    m->between.latency *= 4;
    m->inside.latency *= 4;
}

static void rare_messages(nbcoll_sim_model *m)
{
    m->between.gap *= 4;
}

/* One-sided transfers to all ranks of other nodes, between two histograms, use more queue pairs than the NIC has at
 * hand: 8 ranks with 120 each. A message then fetches its own, as the NIC's tasks do, at 700 ns, unless it is one of
 * the 128 at hand. */
static void fetched_pairs(nbcoll_sim_model *m)
{
    m->between.gap += 700 * (960 - 128) / 960;
}

static void all_asked_for(nbcoll_sim_model *m)
{
    m->eager = 1;
}

static void asked_from_12_k(nbcoll_sim_model *m)
{
    m->eager = 12288;
}

static void dear_bytes_inside(nbcoll_sim_model *m)
{
    m->inside.byte *= 4;
}

/* ---- the baseline ------------------------------------------------------------------------------------------------ */

typedef struct cause {
    const char *name;
    void (*change)(nbcoll_sim_model *m);
    int by_receives, is_last, is_dealt; /* until the last rank's end; ranks over nodes, one after the other */
} cause;

static double baseline_us(const cause *c, const char *machine, int ranks, size_t bytes)
{
    nbcoll_sim_model m = machine_of(machine);
    nbcoll_nodes *dealt;
    int node[RANKS], nodes = ranks / (int)m.node;
    for (int r = 0; r < ranks; r++)
        node[r] = r % nodes;
    expect(nbcoll_nodes_make(node, ranks, NULL, &dealt), "nodes");
    if (c->change)
        c->change(&m);
    play p = {.machine = &m, .ranks = ranks, .node = (int)m.node, .bytes = bytes, .nodes = c->is_dealt ? dealt : NULL};
    wants_last = c->is_last;
    ends_by_receives = c->by_receives;
    double takes = baseline(p).alone;
    wants_last = ends_by_receives = 0;
    nbcoll_nodes_free(dealt);
    return takes / 1e3;
}

static double flat_us(size_t bytes)
{
    return offloaded_us("cluster_a", RANKS, NODE, "recursive_doubling", 0, NULL, bytes);
}

static double exchange_us(size_t bytes, unsigned ports)
{
    return offloaded_us("cluster_b", 16, 4, "exchange", ports, NULL, bytes);
}

static double nodes_us(size_t bytes)
{
    nbcoll_sim_model a = machine_of("cluster_a");
    return hierarchical(&a, NODES, "recursive_doubling", 0, bytes, 0).alone / 1e3;
}

static double nodes_ports_us(size_t bytes, unsigned ports)
{
    nbcoll_sim_model b = machine_of("cluster_b");
    return hierarchical(&b, 4, "exchange", ports, bytes, 0).alone / 1e3;
}

static void print_takes(void)
{
    static const cause of[] = {{.name = "as it is"},
                               {.name = "a round ends when its message has come", .by_receives = 1},
                               {.name = "so, until the last rank's end", .by_receives = 1, .is_last = 1},
                               {"asked for from 12 KB on", asked_from_12_k, 0, 0, 0},
                               {.name = "ranks dealt over the nodes", .is_dealt = 1},
                               {"dealt, bytes inside nodes four times as dear", dear_bytes_inside, 0, 0, 1},
                               {.name = "bytes inside nodes four times as dear", dear_bytes_inside},
                               {.name = "calls four times as dear", dear_calls},
                               {.name = "four times the latency", slow_messages},
                               {.name = "four times the gap", rare_messages},
                               {.name = "each message fetches its queue pair", fetched_pairs},
                               {.name = "all messages asked for", all_asked_for}};
    static const size_t at[] = {SIXTEEN, SIXTY_FOUR, 256, RADIX_8, 65536};
    double flat = flat_us(65536), one = exchange_us(262144, 1), three = exchange_us(262144, 3);
    double nodes = nodes_us(256);
    puts("\n| | A: 16 bytes | 64 | 256 | by nodes, less | 1024 | 65536 | flat, less | B: 262144 | 1 port, less | "
         "3 ports, less |\n|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|");
    for (size_t k = 0; k < sizeof of / sizeof *of; k++) {
        double takes = 1;
        printf("| %s |", of[k].name);
        for (size_t i = 0; i < sizeof at / sizeof *at; i++) {
            printf(" %.0f |", takes = baseline_us(&of[k], "cluster_a", RANKS, at[i]));
            if (at[i] == 256)
                printf(" %.0f%% |", 100 * (1 - nodes / takes));
        }
        printf(" %.0f%% |", 100 * (1 - flat / takes));
        takes = baseline_us(&of[k], "cluster_b", 16, 262144);
        printf(" %.0f | %.0f%% | %.0f%% |\n", takes, 100 * (1 - one / takes), 100 * (1 - three / takes));
    }
}

/* ---- what is asked for ------------------------------------------------------------------------------------------- */

static void quick_tasks(nbcoll_nic_model *c)
{
    c->miss = 0;
    c->task = 100;
}

static void fetching_tasks(nbcoll_nic_model *c)
{
    c->miss = 620; /* of 1128 queue pairs 128 are at hand */
    c->cached = 1;
}

static void slow_nic(nbcoll_nic_model *c)
{
    c->latency *= 4;
}

enum { KEYS = 2 }; /* 2^12 and 2^16 */

/* Tables 4.4 and 4.6: by how many percent a round is longer where the allgather is flat, and shorter by nodes. */
static const struct {
    int radix;
    size_t bytes;
    double flat[KEYS], hierarchical[KEYS];
} tables[] = {{2, SIXTEEN, {49.76, 42.25}, {40.19, 11.09}},
              {4, SIXTY_FOUR, {41.16, 33.42}, {19.83, 13.47}},
              {8, RADIX_8, {-0.92, -0.053}, {20.09, 9.51}}};
enum { TABLES = sizeof tables / sizeof *tables };

/* A round is no shorter than its allgather, and next to nothing is overlapped. So table 4.6 says what the baseline
 * takes at least, 4.4 what it takes at most, and both together what it takes if the round is the same in both. */
static void print_asked(void)
{
    static const struct {
        const char *name;
        void (*nic)(nbcoll_nic_model *nic);
    } nics[] = {{"as it is", NULL},
                 {"queue pairs at hand, 100 ns a task", quick_tasks},
                 {"each task fetches its queue pair", fetching_tasks},
                 {"four times the latency", slow_nic}};
    puts("\n| NIC | bytes | flat | by nodes | 2^12 keys: at least | at most | both | 2^16: at least | at most | "
         "both | B, 3 ports, less: flat | by nodes |\n"
         "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|");
    for (size_t c = 0; c < sizeof nics / sizeof *nics; c++)
        for (size_t i = 0; i < TABLES; i++) {
            change_nic = nics[c].nic;
            double flat = flat_us(tables[i].bytes), nodes = nodes_us(tables[i].bytes);
            double ports = exchange_us(tables[i].bytes, 3) / exchange_us(tables[i].bytes, 1);
            double hierarchical = nodes_ports_us(tables[i].bytes, 3) / nodes_ports_us(tables[i].bytes, 1);
            change_nic = NULL;
            printf("| %s | %zu | %.1f | %.1f |", nics[c].name, tables[i].bytes, flat, nodes);
            for (int k = 0; k < KEYS; k++) {
                double longer = tables[i].flat[k], shorter = tables[i].hierarchical[k], ratio = longer / shorter;
                printf(" %.1f | %.1f | %.1f |", nodes / (1 - shorter / 100), flat / (1 + longer / 100),
                       (flat + ratio * nodes) / (1 + ratio));
            }
            printf(" %.0f%% | %.0f%% |\n", 100 * (1 - ports), 100 * (1 - hierarchical));
        }
}

/* Both tables' percents are of a round with the baseline. Of an allgather that takes the same whatever the keys, they
 * fall as the round with more keys is longer, and by as much in both tables. */
static void print_rounds(void)
{
    puts("\n| radix | 2^16 keys, times as long as 2^12: by flat | by nodes |\n|---:|---:|---:|");
    for (size_t i = 0; i < TABLES - 1; i++)
        printf("| %d | %.2f | %.2f |\n", tables[i].radix, tables[i].flat[0] / tables[i].flat[1],
               tables[i].hierarchical[0] / tables[i].hierarchical[1]);
}

void print_baseline(void)
{
    print_takes();
    print_asked();
    print_rounds();
}
