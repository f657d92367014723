/* SPDX-License-Identifier: BSD-3-Clause
 * The baseline: what the thesis' tables ask of it, and what it takes, one thing changed at a time. */
#include <stdio.h>

#include "cards.h"

enum { RANKS = 128, NODE = 8, NODES = 16, SIXTEEN = 4 * 4, SIXTY_FOUR = 16 * 4, RADIX_8 = 256 * 4 };

/* ---- the machine ----------------------------------------------------------------------------------------------- */

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

/* One-sided transfers to all ranks of other nodes, between two histograms, use more queue pairs than the card has at
 * hand: 8 ranks with 120 each. A message then fetches its own, as the card's tasks do, at 700 ns, unless it is one of
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

/* ---- the baseline ---------------------------------------------------------------------------------------------- */

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
    nbcoll_sim_model a = machine_of("cluster_a");
    play p = {.machine = &a, .ranks = RANKS, .node = NODE, .bytes = bytes, .eager = eager_of(RANKS, bytes)};
    take(&p, "recursive_doubling");
    return offloaded(p).alone / 1e3;
}

static double nodes_us(size_t bytes)
{
    nbcoll_sim_model a = machine_of("cluster_a");
    return hierarchical(&a, NODES, "recursive_doubling", 0, bytes, 0).alone / 1e3;
}

static double exchange_us(size_t bytes, unsigned ports)
{
    nbcoll_sim_model b = machine_of("cluster_b");
    play p = {.machine = &b, .ranks = 16, .node = 4, .bytes = bytes, .eager = eager_of(16, bytes), .ports = ports};
    p.used = ports == 1;
    take(&p, "exchange");
    return offloaded(p).alone / 1e3;
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
    static const size_t at[] = {SIXTEEN, SIXTY_FOUR, RADIX_8, 65536};
    double flat = flat_us(65536), one = exchange_us(262144, 1), three = exchange_us(262144, 3);
    puts("\n| | A: 16 bytes | 64 | 1024 | 65536 | flat, less | B: 262144 | 1 port, less | 3 ports, less |\n"
         "|---|---:|---:|---:|---:|---:|---:|---:|---:|");
    for (size_t k = 0; k < sizeof of / sizeof *of; k++) {
        double takes = 1;
        printf("| %s |", of[k].name);
        for (size_t i = 0; i < sizeof at / sizeof *at; i++)
            printf(" %.0f |", takes = baseline_us(&of[k], "cluster_a", RANKS, at[i]));
        printf(" %.0f%% |", 100 * (1 - flat / takes));
        takes = baseline_us(&of[k], "cluster_b", 16, 262144);
        printf(" %.0f | %.0f%% | %.0f%% |\n", takes, 100 * (1 - one / takes), 100 * (1 - three / takes));
    }
}

/* ---- what is asked for ------------------------------------------------------------------------------------------- */

static void pairs_at_hand(nbcoll_card_model *c)
{
    c->miss = 0;
}

static void quick_tasks(nbcoll_card_model *c)
{
    c->miss = 0;
    c->task = 100;
}

static void fetching_tasks(nbcoll_card_model *c)
{
    c->miss = 620; /* of 1128 queue pairs 128 are at hand */
    c->cached = 1;
}

/* The radix sort of tables 4.4 and 4.6 waits so much longer for the flat allgather than for the baseline, and so much
 * shorter for the hierarchical one, in percent of the same time: that says what the baseline takes. */
static void print_asked(void)
{
    static const struct {
        const char *name;
        void (*card)(nbcoll_card_model *card);
    } cards[] = {{"as it is", NULL},
                 {"all queue pairs at hand", pairs_at_hand},
                 {"at hand, 100 ns a task", quick_tasks},
                 {"each task fetches its queue pair", fetching_tasks}};
    static const struct {
        size_t bytes;
        double flat[2], by_nodes[2]; /* 2^12 and 2^16 keys */
    } tables[] = {{SIXTEEN, {49.76, 42.25}, {40.19, 11.09}},
                  {SIXTY_FOUR, {41.16, 33.42}, {19.83, 13.47}},
                  {RADIX_8, {-0.92, -0.053}, {20.09, 9.51}}};
    puts("\n| card | bytes | flat | by nodes | asked for by 2^12 keys | by 2^16 |\n|---|---:|---:|---:|---:|---:|");
    for (size_t c = 0; c < sizeof cards / sizeof *cards; c++)
        for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
            change_card = cards[c].card;
            double flat = flat_us(tables[i].bytes), nodes = nodes_us(tables[i].bytes);
            change_card = NULL;
            printf("| %s | %zu | %.1f | %.1f |", cards[c].name, tables[i].bytes, flat, nodes);
            for (int k = 0; k < 2; k++) {
                double ratio = tables[i].flat[k] / tables[i].by_nodes[k];
                printf(" %.1f |", (flat + ratio * nodes) / (1 + ratio));
            }
            puts("");
        }
}

void print_baseline(void)
{
    print_takes();
    print_asked();
}
