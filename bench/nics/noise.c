/* SPDX-License-Identifier: BSD-3-Clause
 * Noise: the thesis' 5.5.3. Pulses of 100 ms, a fifth of the time, come to each core at random; each allgather follows
 * a barrier. Here ranks, cores and NICs are played together (nbcoll_simulate), the leaders' part by NICs: a leaf
 * copies its block into the node's shared memory and sets a flag; its leader posts what is there; NICs exchange; the
 * leader, in whose completion queue it appears, says so; ranks copy it.
 *
 * Plain: Bruck's allgather among leaders, posted when all of a node have come; its blocks are put in order by the
 * leader's core before ranks copy them. Pipelined: fragments that are relayed by a topology (relay.h), each posted when
 * its owner has come. Pre-posted: NICs relay them whether or not their leader
 * has started. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nics.h"
#include "nbcoll/relay.h"

enum {
    NODES = 4,
    NODE = 4,
    ALL = NODES * NODE,
    SAMPLES = 200,
    SEEDS = 16,
    FEW = 4,    /* seeds, where one thing is switched off */
    POST = 175, /* ns a task */
    PREPOSTED = 4
};

typedef struct design {
    const char *name;
    int is_hosts, is_pipelined, is_preposted, waits_for_node;
    nbcoll_topology_kind topology;
    unsigned ports;
    size_t fragment;                    /* 0: FRAGMENT */
    int says_once;                      /* that a node's blocks are there, not each fragment */
    int rotates;                        /* plain: the leader puts blocks in order before ranks copy them */
    int has_free_flags;                 /* cores do nothing for them */
    int has_free_bytes, has_free_tasks; /* between nodes; of NICs, and their posting */
} design;

#define BY(kind, number) .is_pipelined = 1, .is_preposted = 1, .topology = NBCOLL_TOPOLOGY_##kind, .ports = number

static const design designs[] = {{"engine", .is_hosts = 1},
                                 {"Bruck", .waits_for_node = 1, .rotates = 1},
                                 {"Bruck, placed", .waits_for_node = 1},
                                 {"pipelined Bruck, 1 port", BY(BRUCK, 1)},
                                 {"3 ports", BY(BRUCK, 3)},
                                 {"Cayley, 1 port", BY(CAYLEY, 1)},
                                 {"3 ports", BY(CAYLEY, 3)},
                                 {"Bruck, one flag", BY(BRUCK, 1), .says_once = 1}};

/* One thing after the other is switched off. */
static const design switched[] = {
    {"Bruck", .waits_for_node = 1, .rotates = 1},
    {"Bruck, each rank puts blocks in order", .waits_for_node = 1},
    {"pipelined, 1 port", BY(BRUCK, 1)},
    {"not pre-posted", .is_pipelined = 1, .topology = NBCOLL_TOPOLOGY_BRUCK, .ports = 1},
    {"posted when the node has come", BY(BRUCK, 1), .waits_for_node = 1},
    {"flags cost nothing", BY(BRUCK, 1), .has_free_flags = 1},
    {"one flag for a node's blocks", BY(BRUCK, 1), .says_once = 1},
    {"not cut", BY(BRUCK, 1), .fragment = (size_t)1 << 30},
    {"one flag, 3 ports", BY(BRUCK, 3), .says_once = 1},
    {"one flag, Cayley, 1 port", BY(CAYLEY, 1), .says_once = 1},
    {"one flag, Cayley, 3 ports", BY(CAYLEY, 3), .says_once = 1},
};
#define COUNT(array) (sizeof(array) / sizeof *(array))

/* An allgather while it is built on one rank; leader i is that of node i. */
typedef struct making {
    nbcoll_builder *b;
    const nbcoll_args *a;
    const design *d;
    nbcoll_addr shared; /* the node's: the blocks of all */
    size_t block;       /* bytes of a node's */
    int node, is_leader;
    nbcoll_step come[NODE], all; /* a leader: has posted for that rank, and for all */
} making;

/* For the build function: the design, who gives leader i the blocks of leader `origin` (-1: nobody does), and bytes
 * that are copied while a task is posted. */
static const design *made;
static int parent[NODES][NODES];
static size_t a_task;

static nbcoll_step by_rank(making *m, nbcoll_step step, nbcoll_step have)
{
    nbcoll_set_lane(m->b, step, NBCOLL_LANE_CALLER);
    nbcoll_after(m->b, step, have);
    return step;
}

/* A leader says that what is at `at` of shared memory is there; leaves see it. All copy it. */
static void release(making *m, size_t at, size_t bytes, nbcoll_step have)
{
    nbcoll_part part[NODE - 1];
    int leader = m->node * NODE;
    nbcoll_addr to = nbcoll_at(m->a->recv, at), from = nbcoll_at(m->shared, at);
    if (!m->is_leader)
        have = by_rank(m, nbcoll_add_fetch(m->b, leader, to, 0), NBCOLL_START);
    for (int i = 1; i < NODE && m->is_leader; i++)
        part[i - 1] = (nbcoll_part){.peer = leader + i, .region = {from, 0}};
    if (m->is_leader)
        by_rank(m, nbcoll_add_expose(m->b, NODE - 1, part), have);
    by_rank(m, nbcoll_add_copy(m->b, to, from, bytes), have);
}

/* Each rank's block to shared memory; its leader posts `tasks` when it has come. */
static void arrive(making *m, size_t tasks)
{
    nbcoll_addr own = nbcoll_at(m->shared, (size_t)m->b->rank * m->a->bytes);
    nbcoll_step in = by_rank(m, nbcoll_add_copy(m->b, own, m->a->send, m->a->bytes), NBCOLL_START);
    if (!m->is_leader) {
        by_rank(m, nbcoll_add_send(m->b, m->node * NODE, m->a->send, 0), in);
        return;
    }
    nbcoll_addr room = nbcoll_add_scratch(m->b, 2 * tasks * a_task);
    m->all = nbcoll_add_join(m->b);
    nbcoll_set_lane(m->b, m->all, NBCOLL_LANE_CALLER);
    for (int i = 0; i < NODE; i++) {
        if (i)
            in = by_rank(m, nbcoll_add_recv(m->b, m->b->rank + i, m->a->recv, 0), NBCOLL_START);
        nbcoll_step post = nbcoll_add_copy(m->b, room, nbcoll_at(room, tasks * a_task), tasks * a_task);
        nbcoll_after(m->b, m->all, by_rank(m, post, in));
        m->come[i] = m->d->waits_for_node ? m->all : post;
    }
}

/* A leader's part in what travels from `origin`, from `at` of its node's blocks on; says when it is there. */
static nbcoll_step relay(making *m, int origin, size_t at, size_t bytes)
{
    size_t first = at / m->a->bytes, last = (at + bytes - 1) / m->a->bytes;
    nbcoll_addr where = nbcoll_at(m->shared, (size_t)origin * m->block + at);
    nbcoll_step have = NBCOLL_START;
    if (m->node != origin)
        have = nbcoll_add_recv(m->b, parent[origin][m->node] * NODE, where, bytes);
    for (int to = 0; to < NODES; to++) {
        if (parent[origin][to] != m->node)
            continue;
        nbcoll_step give = nbcoll_add_send(m->b, to * NODE, where, bytes);
        nbcoll_after(m->b, give, have);
        for (size_t i = first; m->node == origin && i <= last; i++)
            nbcoll_after(m->b, give, m->come[i]);
    }
    return have;
}

static void relayed(making *m)
{
    size_t most = m->d->fragment ? m->d->fragment : FRAGMENT, tasks = 0;
    for (int to = 0; to < NODES; to++)
        tasks += parent[m->node][to] == m->node;
    arrive(m, tasks * ((m->a->bytes + most - 1) / most));
    for (int origin = 0; origin < NODES; origin++) {
        size_t first = (size_t)origin * m->block;
        nbcoll_step whole = m->is_leader ? nbcoll_add_join(m->b) : NBCOLL_START;
        for (size_t at = 0; at < m->block; at += most) {
            size_t n = m->block - at < most ? m->block - at : most;
            nbcoll_step have = m->is_leader ? relay(m, origin, at, n) : NBCOLL_START;
            if (m->is_leader)
                nbcoll_after(m->b, whole, have);
            if (origin != m->node && !m->d->says_once)
                release(m, first + at, n, have);
        }
        if (origin != m->node && m->d->says_once)
            release(m, first, m->block, whole);
    }
    release(m, (size_t)m->node * m->block, m->block, m->is_leader ? m->all : NBCOLL_START);
}

/* Round after round, all that is there to the leader d before. Blocks lie as if each node's were the first; when ranks
 * copy they put them where they belong. */
static void plain(making *m)
{
    nbcoll_step there = NBCOLL_START;
    arrive(m, 1);
    for (int d = 1; d < NODES && m->is_leader; d *= 2) {
        size_t run = (size_t)d * m->block;
        nbcoll_step give = nbcoll_add_send(m->b, (m->node + NODES - d) % NODES * NODE, m->shared, run);
        nbcoll_step take = nbcoll_add_recv(m->b, (m->node + d) % NODES * NODE, nbcoll_at(m->shared, run), run);
        nbcoll_after(m->b, give, m->all);
        nbcoll_after(m->b, give, there);
        nbcoll_step both = nbcoll_add_join(m->b);
        nbcoll_after(m->b, both, take);
        nbcoll_after(m->b, both, there);
        there = both;
    }
    if (m->d->rotates) {
        if (m->is_leader)
            there = by_rank(m, nbcoll_add_copy(m->b, m->a->recv, m->shared, NODES * m->block), there);
        release(m, 0, NODES * m->block, there);
        return;
    }
    release(m, m->block, (NODES - 1) * m->block, there);
    release(m, 0, m->block, m->is_leader ? m->all : NBCOLL_START);
}

static void by_leaders(nbcoll_builder *b, const nbcoll_args *a)
{
    making m = {.b = b, .a = a, .d = made, .block = NODE * a->bytes, .node = b->rank / NODE};
    m.shared = nbcoll_add_scratch(b, ALL * a->bytes);
    m.is_leader = b->rank % NODE == 0;
    if (made->is_pipelined)
        relayed(&m);
    else
        plain(&m);
}

static const nbcoll_algorithm of_leaders = {
    .size = sizeof of_leaders, .name = "leaders", .operation = NBCOLL_OPERATION_ALLGATHER, .build = by_leaders};

/* Blocks of an origin go by the connections of relays, from its own relay 0 on. */
static void follow(nbcoll_topology *const topology[NODES], int origin, int rank, uint32_t relay_of)
{
    const nbcoll_relay *r = &topology[rank]->relay[relay_of];
    for (uint32_t i = 0; i < r->destinations; i++) {
        parent[origin][r->destination[i].rank] = rank;
        follow(topology, origin, r->destination[i].rank, r->destination[i].relay);
    }
}

static void wire(const design *d)
{
    nbcoll_topology *topology[NODES];
    memset(parent, -1, sizeof parent);
    made = d;
    for (int i = 0; i < NODES; i++)
        expect(nbcoll_topology_make(d->topology, d->ports, NODES, i, NULL, &topology[i]), "topology");
    for (int i = 0; i < NODES; i++)
        follow(topology, i, i, 0);
    for (int i = 0; i < NODES; i++)
        nbcoll_topology_free(topology[i]);
}

/* ---- plays ------------------------------------------------------------------------------------------------------- */

static const nbcoll_sim_noise pulses = {500000000, 100000000, 1000, NBCOLL_SIM_RANDOM};

static nbcoll_sim_config config_of(const design *d, nbcoll_sim_model *m, play *p)
{
    a_task = POST * 1000 / m->copy;
    if (d->has_free_flags)
        m->step = m->inside.o_send = m->inside.o_recv = 0;
    p->algorithm = &of_leaders;
    if (d->is_hosts) {
        p->algorithm = &in_rounds;
        *m = baseline_machine(m);
    } else {
        m->progress = m->lanes = 1;
        m->task = d->has_free_tasks ? 1 : 250;
        a_task = d->has_free_tasks ? 0 : a_task;
        m->between.byte = d->has_free_bytes ? 0 : m->between.byte;
        m->eager = d->is_pipelined ? 0 : m->eager;
        wire(d);
    }
    return (nbcoll_sim_config){.size = sizeof(nbcoll_sim_config),
                               .ranks = ALL,
                               .model = m,
                               .user = p,
                               .preposted = d->is_preposted ? PREPOSTED : 0};
}

/* ns to the mean rank's end of an allgather that all start at once. */
static double takes(const design *d, size_t bytes, const nbcoll_sim_noise *noise, uint64_t seed)
{
    nbcoll_sim_model m = machine_of("cluster_b");
    play p = {.machine = &m, .ranks = ALL, .bytes = bytes};
    nbcoll_sim_rank rank[ALL];
    nbcoll_sim_config config = config_of(d, &m, &p);
    nbcoll_sim_result result = {.size = sizeof result, .rank = rank};
    double sum = 0;
    config.seed = seed;
    config.noise = noise ? *noise : config.noise;
    expect(nbcoll_simulate(&config, build, &p, &result), d->name);
    for (int i = 0; i < ALL; i++)
        sum += (double)rank[i].waited;
    return sum / ALL;
}

/* Each second operation is one, after a barrier by the ranks themselves. */
static nbcoll_status build_pair(void *user, uint32_t operation, int rank, nbcoll_schedule **out)
{
    nbcoll_builder_config config = {.size = sizeof config, .rank = rank, .ranks = ALL};
    nbcoll_builder *b;
    if (operation % 2)
        return build(user, operation, rank, out);
    nbcoll_status status = nbcoll_builder_open(&config, &b);
    if (status != NBCOLL_OK)
        return status;
    nbcoll_step have = NBCOLL_START;
    for (int d = 1; d < ALL; d *= 2) {
        nbcoll_step give = nbcoll_add_send(b, (rank + d) % ALL, (nbcoll_addr){NBCOLL_BUFFER_SCRATCH, 0}, 0);
        nbcoll_step take = nbcoll_add_recv(b, (rank + ALL - d) % ALL, (nbcoll_addr){NBCOLL_BUFFER_SCRATCH, 0}, 0);
        nbcoll_set_lane(b, give, NBCOLL_LANE_CALLER);
        nbcoll_set_lane(b, take, NBCOLL_LANE_CALLER);
        nbcoll_after(b, give, have);
        have = take;
    }
    return nbcoll_builder_finish(b, out);
}

/* ns from the start of each of `many` to its end, on average; ranks start it when they have left the barrier. */
static double takes_after_barrier(const design *d, size_t bytes, uint32_t many, uint64_t seed)
{
    nbcoll_sim_model m = machine_of("cluster_b");
    play p = {.machine = &m, .ranks = ALL, .bytes = bytes};
    nbcoll_sim_config config = config_of(d, &m, &p);
    nbcoll_sim_rank *rank = calloc(2 * many * ALL, sizeof *rank);
    nbcoll_sim_action *action = calloc(4 * many, sizeof *action);
    nbcoll_sim_result result = {.size = sizeof result, .rank = rank};
    double sum = 0;
    for (uint32_t i = 0; i < 2 * many; i++) {
        action[2 * i] = (nbcoll_sim_action){.act = NBCOLL_SIM_START};
        action[2 * i + 1] = (nbcoll_sim_action){.act = NBCOLL_SIM_WAIT, .operation = i};
    }
    config.seed = seed;
    config.noise = pulses;
    config.operations = 2 * many;
    config.repeat = 2;
    config.program = (nbcoll_sim_program){action, 4 * many};
    expect(nbcoll_simulate(&config, build_pair, &p, &result), d->name);
    for (uint32_t i = 0; i < many; i++)
        for (int k = 0; k < ALL; k++) {
            const nbcoll_sim_rank *r = &rank[(2 * i + 1) * ALL + (uint32_t)k];
            sum += (double)(r->waited - r->started);
        }
    free(action);
    free(rank);
    return sum / many / ALL;
}

/* ms under pulses. Shorter ones are hit by fewer, and so are many. */
static double disturbed(const design *d, int size, uint64_t seed)
{
    static const uint32_t many[SMALL] = {8000, 8000, 8000, 3000, 1000, 500, 150};
    return takes_after_barrier(d, sizes[size], many[size], seed) / 1e6;
}

static double of_few(const design *d, int size)
{
    double sum = 0;
    for (uint64_t seed = 1; seed <= FEW; seed++)
        sum += disturbed(d, size, seed);
    return sum / FEW;
}

static void print_switched(void)
{
    puts("\n| | 4096 bytes: ms | us without noise | 65536 bytes: ms | us without noise |\n|---|---:|---:|---:|---:|");
    for (size_t k = 0; k < COUNT(switched); k++) {
        printf("| %s |", switched[k].name);
        for (int i = 4; i < SMALL; i += 2)
            printf(" %.2f | %.1f |", of_few(&switched[k], i), takes(&switched[k], sizes[i], NULL, 1) / 1e3);
        puts("");
        fflush(stdout);
    }
}

/* Without noise: three ports and trees, with a flag a fragment and with one for a node, where the wire or the NICs'
 * tasks cost nothing. */
static void print_quiet(void)
{
    static const design of[] = {{"Bruck, 1 port", BY(BRUCK, 1)},
                                {"Bruck, 3 ports", BY(BRUCK, 3)},
                                {"Cayley, 1 port", BY(CAYLEY, 1)},
                                {"Cayley, 3 ports", BY(CAYLEY, 3)}};
    puts("\n| 65536 bytes, us | a flag a fragment | one for a node | and no bytes | and no tasks | neither |\n"
         "|---|---:|---:|---:|---:|---:|");
    for (size_t k = 0; k < COUNT(of); k++) {
        design d = of[k];
        printf("| %s | %.0f |", d.name, takes(&d, 65536, NULL, 1) / 1e3);
        d.says_once = 1;
        for (int without = 0; without < 4; without++) {
            d.has_free_bytes = without & 1;
            d.has_free_tasks = without >> 1;
            printf(" %.0f |", takes(&d, 65536, NULL, 1) / 1e3);
        }
        puts("");
    }
}

/* All start at once, in the midst of pulses of this length. */
static void print_at_once(void)
{
    puts("\n| pulses | bytes | engine | Bruck | pipelined, 1 port | not pre-posted |\n|---|---:|---:|---:|---:|---:|");
    for (uint64_t length = 100000000; length >= 100000; length /= 10)
        for (int i = 4; i < SMALL; i += 2) {
            const nbcoll_sim_noise noise = {5 * length, length, 1000, NBCOLL_SIM_RANDOM};
            const design *const of[] = {&designs[0], &designs[1], &designs[3], &switched[3]};
            printf("| %" PRIu64 " us | %zu |", length / 1000, sizes[i]);
            for (int k = 0; k < 4; k++) {
                double sum = 0;
                for (uint64_t seed = 1; seed <= SAMPLES; seed++)
                    sum += takes(of[k], sizes[i], &noise, seed);
                printf(" %.3f |", sum / SAMPLES / 1e6);
            }
            puts("");
            fflush(stdout);
        }
}

/* ---- all sizes --------------------------------------------------------------------------------------------------- */

/* ms of each design, size and seed. */
static double all[COUNT(designs)][SMALL][SEEDS];

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Median and quartiles over the seeds. */
static void print_spread(const double given[SEEDS], const char *format)
{
    double of[SEEDS];
    memcpy(of, given, sizeof of);
    qsort(of, SEEDS, sizeof *of, compare);
    printf(format, (of[SEEDS / 2 - 1] + of[SEEDS / 2]) / 2, of[SEEDS / 4], of[SEEDS - 1 - SEEDS / 4]);
    fflush(stdout);
}

/* By how many percent a design takes less than another one under the same seed, on average over sizes. */
static void print_less(size_t which, size_t than)
{
    double less[SEEDS] = {0};
    for (int seed = 0; seed < SEEDS; seed++)
        for (int i = 0; i < SMALL; i++)
            less[seed] += 100 * (1 - all[which][i][seed] / all[than][i][seed]) / SMALL;
    print_spread(less, " %.0f (%.0f to %.0f) |");
}

void print_noise(void)
{
    puts("| bytes | engine | Bruck | placed by each | pipelined Bruck, 1 port | 3 ports | Cayley, 1 port | 3 ports | "
         "Bruck, one flag |\n|---:|---:|---:|---:|---:|---:|---:|---:|---:|");
    for (int i = 0; i < SMALL; i++) {
        printf("| %zu |", sizes[i]);
        for (size_t k = 0; k < COUNT(designs); k++) {
            for (int seed = 0; seed < SEEDS; seed++)
                all[k][i][seed] = disturbed(&designs[k], i, (uint64_t)seed + 1);
            print_spread(all[k][i], " %.2f (%.2f to %.2f) |");
        }
        puts("");
    }
    for (size_t than = 0; than < 3; than++) {
        printf("| %% less than %s, of all sizes |", designs[than].name);
        for (size_t k = 0; k < COUNT(designs); k++)
            print_less(k, than);
        puts("");
    }
    print_switched();
    print_quiet();
    print_at_once();
}
