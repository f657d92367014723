/* SPDX-License-Identifier: BSD-3-Clause
 * Where figures by nodes, and those of several ports, are not the thesis': who puts blocks in order, what copies cost
 * of what lies apart, and the memory that copies share, one thing changed at a time. */
#include <stdio.h>

#include "cards.h"

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

/* ---- memory ---------------------------------------------------------------------------------------------------- */

/* MB/s of the memory of a node of cluster A: two processors with three channels of DDR3-1333, and 12 MB of cache, each.
 * A byte that is copied passes it three times: it is read, and its line is fetched and written. */
enum { PEAK = 64000, PASSES = 3 };

static unsigned percent_of_peak, tenths_of_byte; /* 0: each copies as if alone */

static void share(nbcoll_card_model *c)
{
    if (percent_of_peak) {
        c->memory = PASSES * UINT64_C(100000000) / PEAK / percent_of_peak;
        c->cache = 24 << 20;
    }
    c->byte = c->byte * tenths_of_byte / 10;
}

static void print_memory_shared(void)
{
    static const struct {
        const char *name;
        unsigned percent, tenths;
    } of[] = {{"each copies as if alone", 0, 10},
              {"memory shared, 64 GB/s", 100, 10},
              {"memory shared, two thirds of that", 67, 10},
              {"memory shared, 37% of that", 37, 10},
              {"leaders' bytes twice as dear", 0, 20},
              {"two thirds, and twice", 67, 20},
              {"58%, and 2.2 times", 58, 22}};
    nbcoll_sim_model a = machine_of("cluster_a");
    puts("\n| | 1024 bytes: less | free | 4096: less | free | 16384: less | free | 65536: less | free |\n"
         "|---|---:|---:|---:|---:|---:|---:|---:|---:|");
    for (size_t k = 0; k < sizeof of / sizeof *of; k++) {
        printf("| %s |", of[k].name);
        percent_of_peak = of[k].percent;
        tenths_of_byte = of[k].tenths;
        for (int i = 3; i < SMALL; i++) {
            double with;
            play p = {.machine = &a, .ranks = 128, .node = 8, .bytes = sizes[i]};
            levels l = levels_of(&a, 16, 1, "recursive_doubling", 0, sizes[i]);
            change_card = share;
            outcome o = by_levels(l, 0, &with);
            change_card = NULL;
            printf(" %.0f%% | %.0f%% |", 100 * (1 - o.alone / baseline(p).alone), o.free);
        }
        puts("");
    }
}

/* ---- three ports ----------------------------------------------------------------------------------------------- */

/* us of a flat allgather of 64 KB on cluster B; of Bruck's order, by the host, a byte costs `order` ps. */
static double flat_ports(const char *algorithm, unsigned ports, unsigned used, uint64_t order)
{
    nbcoll_sim_model b = machine_of("cluster_b");
    play p = {.machine = &b, .ranks = 16, .node = 4, .bytes = 65536, .eager = 1, .ports = ports, .used = used};
    b.copy = order;
    take(&p, algorithm);
    return offloaded(p).alone / 1e3;
}

/* Both send the same bytes in each round; what Bruck has more is that the host puts blocks in order. 1875 ps: four
 * cores that share two channels of DDR2-400. */
static void print_three_ports(void)
{
    static const struct {
        const char *name;
        uint64_t one, three; /* ps of the order's bytes */
        unsigned used;       /* of the card's ports by three; 0: both */
    } of[] = {{"as it is", 800, 800, 0},
              {"cores share the memory, 6.4 GB/s", 1875, 1875, 0},
              {"cores share the memory, two thirds of that", 2812, 2812, 0},
              {"three ports put in order at twice the price", 800, 1600, 0},
              {"at 2.3 times the price", 800, 1840, 0},
              {"one port for all three", 800, 800, 1}};
    puts("\n| 65536 bytes, us | exchange, 1 port | 3 ports | less | Bruck, 1 port | 3 ports | less |\n"
         "|---|---:|---:|---:|---:|---:|---:|");
    for (size_t k = 0; k < sizeof of / sizeof *of; k++) {
        double exchange = flat_ports("exchange", 1, 1, 800), exchange3 = flat_ports("exchange", 3, of[k].used, 800);
        double bruck = flat_ports("bruck_ports", 1, 1, of[k].one);
        double bruck3 = flat_ports("bruck_ports", 3, of[k].used, of[k].three);
        printf("| %s | %.0f | %.0f | %.0f%% | %.0f | %.0f | %.0f%% |\n", of[k].name, exchange, exchange3,
               100 * (1 - exchange3 / exchange), bruck, bruck3, 100 * (1 - bruck3 / bruck));
    }
}

void print_causes(void)
{
    print_order();
    print_apart();
    print_memory_shared();
    print_three_ports();
}
