/* SPDX-License-Identifier: BSD-3-Clause
 * Where figures by nodes, and those of several ports, are not the thesis': who puts blocks in order, what copies cost
 * of what lies apart, and the memory that copies share, one thing changed at a time. */
#include <stdio.h>

#include "nics.h"

/* ---- the order of blocks ----------------------------------------------------------------------------------------- */

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
         "by each rank that copies | less | less | by the NIC | less | less |\n"
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

/* What scattered copies cost decides: how much less pipelined Bruck takes than plain, ordered by the leader. */
static void print_apart(void)
{
    nbcoll_sim_model b = machine_of("cluster_b");
    puts("\n| fragments copied at | 256 bytes: less | 1024 | 4096 | 16384 | 65536 |\n|---|---:|---:|---:|---:|---:|");
    for (unsigned quarters = 4; quarters <= 8; quarters++) {
        nbcoll_sim_model apart = b;
        apart.copy = apart.copy * quarters / 4;
        printf("| %u/4 |", quarters);
        for (int i = 2; i < SMALL; i++)
            printf(" %.0f%% |", 100 * (1 - pipelined(&apart, "bruck_pipelined", 1, sizes[i], 1).alone / 1e3 /
                                               plain_us(&b, sizes[i], BY_LEADER)));
        puts("");
    }
}

/* ---- large blocks by nodes --------------------------------------------------------------------------------------- */

/* MB/s of a node's memory, and its caches: of cluster A two processors with three channels of DDR3-1333, and 12 MB of
 * cache, each; of B two channels of DDR2-400 for all. A byte that is copied passes it three times: it is read, and its
 * line is fetched and written. */
enum { PEAK_A = 64000, PEAK_B = 6400, CACHE_A = 24 << 20, CACHE_B = 8 << 20, PASSES = 3 };

typedef struct cause {
    const char *name;
    unsigned tenths;   /* of what a leader's byte takes */
    unsigned percent;  /* that copies reach of the memory's peak; 0: each copies as if alone */
    int is_slow_alone; /* a message alone has half of a port's rate */
    int is_rotated;    /* as in levels */
} cause;

static const cause *changed;
static unsigned peak, cache;

static void change(nbcoll_nic_model *c)
{
    if (changed->percent) {
        c->memory = PASSES * UINT64_C(100000000) / peak / changed->percent;
        c->cache = cache;
    }
    c->byte = c->byte * changed->tenths / 10 * (changed->is_slow_alone ? 2 : 1);
    c->ports *= changed->is_slow_alone ? 2 : 1;
}

static outcome by_cause(const cause *c, levels l)
{
    static const dealing by_message = {.by_message = 1};
    double with;
    int is_a = l.leaders.machine->node == 8;
    peak = is_a ? PEAK_A : PEAK_B;
    cache = is_a ? CACHE_A : CACHE_B;
    l.is_rotated = c->is_rotated;
    if (c->is_slow_alone) {
        l.leaders.used *= 2;
        l.leaders.deals = &by_message;
    }
    changed = c;
    change_nic = change;
    outcome o = by_levels(l, 0, &with);
    change_nic = NULL;
    return o;
}

static levels of_ports(const nbcoll_sim_model *b, unsigned ports)
{
    levels l = levels_of(b, 4, 1, "exchange", ports, 65536);
    l.leaders.used = ports == 1;
    return l;
}

static void print_large(void)
{
    static const cause of[] = {
        {"each copies as if alone", .tenths = 10},
        {"copies share the memory, two thirds of its peak", .tenths = 10, .percent = 67},
        {"37% of its peak", .tenths = 10, .percent = 37},
        {"two thirds; a message alone has half the rate", .tenths = 10, .percent = 67, .is_slow_alone = 1},
        {"two thirds; the leader passes over all first", .tenths = 10, .percent = 67, .is_rotated = 1},
        {"two thirds; leaders' bytes twice as dear", .tenths = 20, .percent = 67},
        {"58%; 2.2 times", .tenths = 22, .percent = 58}};
    nbcoll_sim_model a = machine_of("cluster_a"), b = machine_of("cluster_b");
    puts("\n| | 1024 bytes: less | free | 4096: less | free | 65536: less | free | 2 groups | 4 groups | B, 3 ports |\n"
         "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|");
    for (size_t k = 0; k < sizeof of / sizeof *of; k++) {
        outcome one = {0};
        printf("| %s |", of[k].name);
        for (size_t bytes = 1024; bytes <= 65536; bytes *= bytes == 1024 ? 4 : 16) {
            play p = {.machine = &a, .ranks = 128, .node = 8, .bytes = bytes};
            one = by_cause(&of[k], levels_of(&a, 16, 1, "recursive_doubling", 0, bytes));
            printf(" %.0f%% | %.0f%% |", 100 * (1 - one.alone / baseline(p).alone), one.free);
        }
        for (int groups = 2; groups <= 4; groups += 2)
            printf(" %.0f%% |",
                   100 * (1 - by_cause(&of[k], levels_of_groups(&a, 16, groups, 65536)).alone / one.alone));
        printf(" %.0f%% |\n",
               100 * (1 - by_cause(&of[k], of_ports(&b, 3)).alone / by_cause(&of[k], of_ports(&b, 1)).alone));
    }
}

/* ---- three ports ------------------------------------------------------------------------------------------------- */

/* How much less three ports take than one. */
static void print_three_ports(void)
{
    static const dealing of[] = {
        {.name = "connections by turns"},
        {.name = "those that send, and those that receive", .is_apart = 1},
        {.name = "so, and in each round from the first port on", .is_apart = 1, .is_of_round = 1},
        {.name = "connections by turns, each rank from another port on", .begins_by_rank = 1},
        {.name = "messages by turns", .by_message = 1}};
    static const size_t at[] = {16, 256, 1024, 4096, 65536};
    puts("\n| | 16 bytes: exchange | Bruck | 256: exchange | Bruck | 1024: exchange | Bruck | 4096: exchange | Bruck | "
         "65536: exchange | Bruck |\n|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|");
    for (size_t k = 0; k < sizeof of / sizeof *of; k++) {
        printf("| %s |", of[k].name);
        for (size_t i = 0; i < sizeof at / sizeof *at; i++)
            for (int is_bruck = 0; is_bruck < 2; is_bruck++) {
                const char *name = is_bruck ? "bruck_ports" : "exchange";
                double one = offloaded_us("cluster_b", 16, 4, name, 1, NULL, at[i]);
                double three = offloaded_us("cluster_b", 16, 4, name, 3, &of[k], at[i]);
                printf(" %.0f%% |", 100 * (1 - three / one));
            }
        puts("");
    }
}

void print_causes(void)
{
    print_order();
    print_apart();
    print_large();
    print_three_ports();
}
