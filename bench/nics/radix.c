/* SPDX-License-Identifier: BSD-3-Clause
 * The parallel radix sort: tables 4.4 to 4.7. */
#include <stdio.h>

#include "nics.h"

enum { KEY = 4 }; /* bytes */

typedef struct sorting {
    const nbcoll_sim_model *machine;
    int ranks, node, is_slow; /* a core of cluster B */
    int is_bits, is_in_all;   /* readings of "radix r", and of N */
    int is_walked;            /* what is read of the histogram is not in a cache */
    unsigned ports;
    int is_hierarchical;
    int has_keys; /* the NIC moves the keys, too, with lengths that are bound at the start */
} sorting;

/* Of bound blocks all messages go by rendezvous. */
static double moved_by_nic(play move, unsigned ports, const nbcoll_sim_model *machine)
{
    move.machine = machine;
    move.used = ports == 1;
    move.eager = 1;
    return offloaded(move).alone;
}

/* By how much a round is shorter where the histogram's allgather is overlapped, in percent. Rounds are alike. */
static double improvement(const sorting *s, int radix, size_t keys)
{
    size_t buckets = s->is_bits ? (size_t)1 << radix : (size_t)radix, n = s->is_in_all ? keys / (size_t)s->ranks : keys;
    double core = s->is_slow ? 2.5 : 1, count = core * 2 * (double)n, offsets = core * (double)buckets;
    double here = core * 5 * (double)n, all = core * (s->is_walked ? 50 : 1) * (double)buckets * s->ranks, with;
    nbcoll_sim_model one = *s->machine;
    play p = {.machine = s->machine, .ranks = s->ranks, .node = s->node, .bytes = buckets * KEY, .ports = s->ports};
    play move = {.machine = s->machine,
                 .algorithm = nbcoll_algorithm_find(NBCOLL_OPERATION_ALLTOALL, "flat"),
                 .ranks = s->ranks,
                 .node = s->node,
                 .bytes = n * KEY / (size_t)s->ranks};
    move.bytes = move.bytes ? move.bytes : 1;
    one.interfaces = 1; /* of the baseline, which has one port */
    move.machine = &one;
    double blocking = baseline(p).alone, rest = count + all, moved = engine(move).alone;
    if (s->is_hierarchical) {
        levels l = levels_of(s->machine, s->ranks / s->node, 1, "exchange", s->ports, p.bytes);
        l.leaders.used = s->ports == 1;
        by_levels(l, offsets + here, &with);
    } else {
        p.used = s->ports == 1;
        p.eager = eager_of(p.ranks, p.bytes);
        take(&p, "exchange");
        offloaded_beside(p, offsets + here, &with);
    }
    double before = rest + moved + blocking + offsets + here;
    double after = rest + (s->has_keys ? moved_by_nic(move, s->ports, s->machine) : moved) + with;
    return 100 * (before - after) / before;
}

static void print_readings(const nbcoll_sim_model *a)
{
    static const int radix[] = {2, 4, 8, 10, 12, 14, 16};
    puts("| radix | bits, in all: 2^12 keys | 2^16 | bits, a rank: 2^12 | 2^16 | buckets, in all: 2^12 | 2^16 | "
         "walked: 2^12 | 2^16 | hierarchical: 2^12 | 2^16 | walked: 2^12 | 2^16 |\n"
         "|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|");
    for (int i = 0; i < 7; i++) {
        static const sorting readings[] = {{.is_bits = 1, .is_in_all = 1},
                                           {.is_bits = 1},
                                           {.is_in_all = 1},
                                           {.is_bits = 1, .is_in_all = 1, .is_walked = 1},
                                           {.is_bits = 1, .is_in_all = 1, .is_hierarchical = 1},
                                           {.is_bits = 1, .is_in_all = 1, .is_hierarchical = 1, .is_walked = 1}};
        printf("| %d |", radix[i]);
        for (int k = 0; k < 12; k++) {
            sorting s = readings[k / 2];
            s.machine = a;
            s.ranks = 128;
            s.node = 8;
            s.ports = 1;
            printf(" %.1f |", improvement(&s, radix[i], k % 2 ? 65536 : 4096));
        }
        puts("");
    }
}

/* On cluster B, whose readings are the nearest. */
static const sorting on_b = {
    .ranks = 16, .node = 4, .is_slow = 1, .is_bits = 1, .is_in_all = 1, .is_walked = 1, .ports = 3};

static void print_keys_too(const nbcoll_sim_model *b)
{
    static const int radix[] = {2, 4, 6, 8, 10};
    puts("\n| radix | 2^12: histograms | and keys | 2^16: histograms | and keys | 2^20: histograms | and keys |\n"
         "|---:|---:|---:|---:|---:|---:|---:|");
    for (int i = 0; i < 5; i++) {
        printf("| %d |", radix[i]);
        for (int k = 0; k < 6; k++) {
            sorting s = on_b;
            s.machine = b;
            s.has_keys = k % 2;
            printf(" %.1f |", improvement(&s, radix[i], (size_t)4096 << 4 * (k / 2)));
        }
        puts("");
    }
}

void print_radix(void)
{
    static const int radix[] = {2, 4, 6, 8, 10};
    nbcoll_sim_model a = machine_of("cluster_a"), b = machine_of("cluster_b");
    print_readings(&a);
    puts("\n| radix | flat, 2^12: 1 port | 3 ports | 2^16: 1 port | 3 ports | hierarchical, 2^12: 1 port | 3 ports | "
         "2^16: 1 port | 3 ports |\n|---:|---:|---:|---:|---:|---:|---:|---:|---:|");
    for (int i = 0; i < 5; i++) {
        printf("| %d |", radix[i]);
        for (int k = 0; k < 8; k++) {
            sorting s = on_b;
            s.machine = &b;
            s.ports = k % 2 ? 3 : 1;
            s.is_hierarchical = k / 4;
            printf(" %.1f |", improvement(&s, radix[i], k / 2 % 2 ? 65536 : 4096));
        }
        puts("");
    }
    print_keys_too(&b);
}
