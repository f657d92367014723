/* SPDX-License-Identifier: BSD-3-Clause
 * Where figures by nodes are not the thesis': who puts blocks in order, the memory that copies share, and the baseline,
 * one thing changed at a time. */
#include <stdio.h>

#include "cards.h"

/* Picoseconds a byte of the memory of a node of cluster A, which has two processors with three channels of DDR3-1333
 * and 12 MB of cache each: 64 GB/s. A byte that is copied passes it three times: it is read, and its line is fetched
 * and written. */
enum { AT_PEAK = 3000 / 64, AT_TWO_THIRDS = 3 * AT_PEAK / 2 };

/* ---- the order of blocks --------------------------------------------------------------------------------------- */

enum { BY_LEADER, BY_EACH, BY_CARD, ORDERS };

static double plain_us(const nbcoll_sim_model *m, size_t bytes, int order)
{
    double with;
    levels l = levels_of(m, 4, 1, "bruck_ports", 1, bytes);
    l.leaders.algorithm = order == BY_CARD ? l.leaders.algorithm : &unrotated;
    l.leaders.used = 1;
    l.is_rotated = order == BY_LEADER;
    return by_levels(l, 0, &with).alone / 1e3;
}

static void print_order(void)
{
    nbcoll_sim_model b = machine_of("cluster_b"), apart = b;
    apart.copy = apart.copy * 3 / 2;
    puts("\n| bytes | pipelined | fragments copied at 3/2 of the price | plain, ordered by the leader | less | less | "
         "by each rank that copies | less | less | by the card | less | less |\n"
         "|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|");
    for (int i = 0; i < SMALL; i++) {
        double without = pipelined(&b, "bruck_pipelined", 1, sizes[i], 1).alone / 1e3;
        double dear = pipelined(&apart, "bruck_pipelined", 1, sizes[i], 1).alone / 1e3;
        printf("| %zu | %.1f | %.1f |", sizes[i], without, dear);
        for (int order = 0; order < ORDERS; order++) {
            double plain = plain_us(&b, sizes[i], order);
            printf(" %.1f | %.0f%% | %.0f%% |", plain, 100 * (1 - without / plain), 100 * (1 - dear / plain));
        }
        puts("");
    }
}

/* ---- memory ---------------------------------------------------------------------------------------------------- */

static void shared_memory(nbcoll_card_model *c)
{
    c->memory = AT_PEAK;
    c->cache = 24 << 20;
}

static void slow_memory(nbcoll_card_model *c)
{
    shared_memory(c);
    c->memory = AT_TWO_THIRDS;
}

static void slow_ports(nbcoll_card_model *c)
{
    c->byte = c->byte * 5 / 3;
}

static void slow_both(nbcoll_card_model *c)
{
    slow_memory(c);
    slow_ports(c);
}

static void print_memory_shared(void)
{
    static const struct {
        const char *name;
        void (*card)(nbcoll_card_model *card);
    } of[] = {{"each copies as if alone", NULL},
              {"memory shared, 64 GB/s", shared_memory},
              {"memory shared, two thirds of that", slow_memory},
              {"leaders' bytes 5/3 as dear", slow_ports},
              {"both", slow_both}};
    nbcoll_sim_model a = machine_of("cluster_a");
    puts("\n| | 4096 bytes: less | free | 16384: less | free | 65536: less | free | 262144: less | free |\n"
         "|---|---:|---:|---:|---:|---:|---:|---:|---:|");
    for (size_t k = 0; k < sizeof of / sizeof *of; k++) {
        printf("| %s |", of[k].name);
        for (int i = 4; i < SIZES; i++) {
            double with;
            play p = {.machine = &a, .ranks = 128, .node = 8, .bytes = sizes[i]};
            levels l = levels_of(&a, 16, 1, "recursive_doubling", 0, sizes[i]);
            take(&p, "recursive_doubling");
            change_card = of[k].card;
            outcome o = by_levels(l, 0, &with);
            change_card = NULL;
            printf(" %.0f%% | %.0f%% |", 100 * (1 - o.alone / engine(p).alone), o.free);
        }
        puts("");
    }
}

/* ---- the baseline ---------------------------------------------------------------------------------------------- */

enum { RANKS = 128, NODES = 16, SIXTEEN = 4 * 4, SIXTY_FOUR = 16 * 4, RADIX_8 = 256 * 4 };

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

static void all_asked_for(nbcoll_sim_model *m)
{
    m->eager = 1;
}

static void dear_bytes_inside(nbcoll_sim_model *m)
{
    m->inside.byte *= 4;
}

typedef struct cause {
    const char *name;
    void (*change)(nbcoll_sim_model *m);
    int is_last, is_dealt; /* until the last rank's end; ranks over nodes, one after the other */
} cause;

static double baseline(const cause *c, size_t bytes)
{
    nbcoll_sim_model m = machine_of("cluster_a");
    nbcoll_nodes *dealt;
    int node[RANKS];
    for (int r = 0; r < RANKS; r++)
        node[r] = r % NODES;
    expect(nbcoll_nodes_make(node, RANKS, NULL, &dealt), "nodes");
    if (c->change)
        c->change(&m);
    play p = {.machine = &m, .ranks = RANKS, .node = 8, .bytes = bytes, .nodes = c->is_dealt ? dealt : NULL};
    take(&p, "recursive_doubling");
    wants_last = c->is_last;
    double takes = engine(p).alone;
    wants_last = 0;
    nbcoll_nodes_free(dealt);
    return takes / 1e3;
}

static double flat_us(const nbcoll_sim_model *m, size_t bytes)
{
    play p = {.machine = m, .ranks = RANKS, .node = 8, .bytes = bytes, .eager = eager_of(RANKS, bytes)};
    take(&p, "recursive_doubling");
    return offloaded(p).alone / 1e3;
}

/* The radix sort of tables 4.4 and 4.6 waits so much longer for the flat allgather than for the baseline, and so much
 * shorter for the hierarchical one, in percent of the same time: that says what the baseline takes. */
static void print_asked(void)
{
    static const struct {
        size_t bytes;
        double flat[2], by_nodes[2]; /* 2^12 and 2^16 keys */
    } tables[] = {{SIXTEEN, {49.76, 42.25}, {40.19, 11.09}},
                  {SIXTY_FOUR, {41.16, 33.42}, {19.83, 13.47}},
                  {RADIX_8, {-0.92, -0.053}, {20.09, 9.51}}};
    nbcoll_sim_model a = machine_of("cluster_a");
    puts(
        "\n| bytes | flat | by nodes | baseline | asked for by 2^12 keys | by 2^16 |\n|---:|---:|---:|---:|---:|---:|");
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        size_t bytes = tables[i].bytes;
        double flat = flat_us(&a, bytes),
               nodes = hierarchical(&a, NODES, "recursive_doubling", 0, bytes, 0).alone / 1e3;
        printf("| %zu | %.1f | %.1f | %.1f |", bytes, flat, nodes, baseline(&(cause){.name = "as it is"}, bytes));
        for (int k = 0; k < 2; k++) {
            double ratio = tables[i].flat[k] / tables[i].by_nodes[k];
            printf(" %.1f |", (flat + ratio * nodes) / (1 + ratio));
        }
        puts("");
    }
}

static void print_baseline(void)
{
    static const cause of[] = {
        {.name = "as it is"},
        {.name = "until the last rank's end", .is_last = 1},
        {.name = "ranks dealt over the nodes", .is_dealt = 1},
        {.name = "dealt, bytes inside nodes four times as dear", dear_bytes_inside, .is_dealt = 1},
        {.name = "bytes inside nodes four times as dear", dear_bytes_inside},
        {.name = "calls four times as dear", dear_calls},
        {.name = "four times the latency", slow_messages},
        {.name = "four times the gap", rare_messages},
        {.name = "all messages asked for", all_asked_for}};
    static const size_t at[] = {SIXTEEN, SIXTY_FOUR, RADIX_8, 65536};
    nbcoll_sim_model a = machine_of("cluster_a");
    levels l = levels_of(&a, NODES, 1, "recursive_doubling", 0, 65536);
    double flat = flat_us(&a, 65536), with;
    change_card = slow_memory;
    double nodes = by_levels(l, 0, &with).alone / 1e3;
    change_card = NULL;
    puts("\n| | 16 bytes | 64 | 1024 | 65536 | flat, less | by nodes, memory shared, less |\n"
         "|---|---:|---:|---:|---:|---:|---:|");
    for (size_t k = 0; k < sizeof of / sizeof *of; k++) {
        double takes = 1;
        printf("| %s |", of[k].name);
        for (size_t i = 0; i < sizeof at / sizeof *at; i++)
            printf(" %.0f |", takes = baseline(&of[k], at[i]));
        printf(" %.0f%% | %.0f%% |\n", 100 * (1 - flat / takes), 100 * (1 - nodes / takes));
    }
}

void print_causes(void)
{
    print_order();
    print_memory_shared();
    print_asked();
    print_baseline();
}
