/* SPDX-License-Identifier: BSD-3-Clause
 * The figures of Inozemtsev's thesis (chapters 3 to 5) in virtual time: collectives as programs on the cards of its
 * two clusters, beside the host's engine. Prints the tables of docs/figures.md; with a word, only that one: rendezvous,
 * flat, hierarchical, ports, leaders, memory, radix, pipelined, parallel.
 *
 *     us        mean over ranks of when the operation has ended (rendezvous: the last of both)
 *     free      1 - (with - computed) / alone: how much of a computation as long as the operation alone is free beside
 *               it. The host's engine is tested once for each 2048 (rendezvous) or 1024 bytes of a block
 *
 * Hierarchical ones are put together here: each rank copies its block into the node's shared memory and says so by a
 * flag; a leader's program on the card exchanges what nodes have; each rank copies the result. A driver's core may take
 * those copies. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nbcoll/card.h"
#include "nbcoll/pattern.h"
#include "nbcoll/verify.h"

enum { MOST = 128, KEY = 4 };

typedef struct play {
    const nbcoll_sim_model *machine;
    const nbcoll_algorithm *algorithm;
    int ranks, node; /* of a node */
    size_t bytes;    /* of a block */
    unsigned ports;
    uint32_t cards, used; /* cards of a node; of a card's ports, 0: all */
    size_t eager;         /* longest eager message; 0: 16384 */
    uint64_t test_bytes;
} play;

/* ns; `free`: in percent. */
typedef struct outcome {
    double alone, free;
} outcome;

static void expect(nbcoll_status status, const char *what)
{
    if (status == NBCOLL_OK)
        return;
    fprintf(stderr, "card: %s: %s\n", what, nbcoll_status_text(status));
    exit(EXIT_FAILURE);
}

static nbcoll_sim_model machine_of(const char *name)
{
    nbcoll_sim_model m = {.size = sizeof m};
    expect(nbcoll_sim_model_find(name, &m), name);
    return m;
}

static const nbcoll_algorithm *allgather(const char *name)
{
    return nbcoll_algorithm_find(NBCOLL_OPERATION_ALLGATHER, name);
}

static nbcoll_schedule *schedule_of(const play *p, int rank)
{
    nbcoll_case c = {.size = sizeof c,
                     .operation = p->algorithm->operation,
                     .ranks = p->ranks,
                     .count = p->bytes,
                     .reduction = {NBCOLL_BYTE, NBCOLL_MAX},
                     .ports = p->ports};
    nbcoll_schedule *s = NULL;
    expect(nbcoll_build_case(p->algorithm, &c, rank, NULL, &s), p->algorithm->name);
    return s;
}

static int wants_last; /* the last rank's, not the mean of all */

static double mean(const double *of, int n)
{
    double sum = 0, last = 0;
    for (int i = 0; i < n; i++) {
        sum += of[i];
        last = of[i] > last ? of[i] : last;
    }
    return wants_last ? last : sum / n;
}

static double free_of(double alone, double computed, double with)
{
    return 100 * (1 - (with - computed) / alone);
}

/* ---- the host's engine ----------------------------------------------------------------------------------------- */

static nbcoll_status build(void *user, uint32_t operation, int rank, nbcoll_schedule **out)
{
    (void)operation;
    *out = schedule_of(user, rank);
    return NBCOLL_OK;
}

/* When each rank's wait returns. */
static void engine_ends(play *p, uint64_t compute, double end[MOST])
{
    const uint64_t tests = p->test_bytes ? p->bytes / p->test_bytes : 0;
    const nbcoll_sim_action action[] = {
        {.act = NBCOLL_SIM_START},
        {.act = NBCOLL_SIM_COMPUTE, .compute = compute, .test_every = tests ? compute / tests : 0}};
    nbcoll_sim_model m = *p->machine;
    nbcoll_sim_rank rank[MOST];
    nbcoll_sim_config config = {
        .size = sizeof config, .ranks = p->ranks, .model = &m, .program = {action, 2}, .user = p};
    nbcoll_sim_result result = {.size = sizeof result, .rank = rank};
    m.node = (uint32_t)p->node;
    expect(nbcoll_simulate(&config, build, p, &result), p->algorithm->name);
    for (int i = 0; i < p->ranks; i++)
        end[i] = (double)rank[i].waited;
}

static outcome engine(play p)
{
    double end[MOST];
    outcome o;
    engine_ends(&p, 0, end);
    o.alone = mean(end, p.ranks);
    engine_ends(&p, (uint64_t)o.alone, end);
    o.free = free_of(o.alone, o.alone, mean(end, p.ranks));
    return o;
}

/* ---- the card -------------------------------------------------------------------------------------------------- */

static void compile_all(const play *p, nbcoll_program *program[MOST])
{
    nbcoll_program_config config = {.size = sizeof config, .threshold = p->eager};
    nbcoll_schedule *schedule[MOST];
    for (int i = 0; i < p->ranks; i++)
        schedule[i] = schedule_of(p, i);
    expect(nbcoll_compile((const nbcoll_schedule *const *)schedule, p->ranks, &config, 0, p->ranks, program, NULL),
           p->algorithm->name);
    for (int i = 0; i < p->ranks; i++)
        nbcoll_schedule_free(schedule[i]);
}

static void free_all(const play *p, nbcoll_program *program[MOST])
{
    for (int i = 0; i < p->ranks; i++)
        nbcoll_program_free(program[i]);
}

static void play_all(const play *p, nbcoll_program *program[MOST], uint64_t start, uint64_t compute,
                     nbcoll_card_rank rank[MOST])
{
    nbcoll_card_model card = {.size = sizeof card};
    uint64_t starts[MOST], computes[MOST];
    nbcoll_card_config config = {
        .size = sizeof config, .ranks = p->ranks, .model = &card, .start = starts, .compute = computes};
    nbcoll_card_result result = {.size = sizeof result, .rank = rank};
    expect(nbcoll_card_of(p->machine, &card), "card");
    card.node = (uint32_t)p->node;
    card.cards = p->cards;
    card.ports = p->used ? p->used : card.ports;
    for (int i = 0; i < p->ranks; i++) {
        starts[i] = start;
        computes[i] = compute;
    }
    expect(nbcoll_card_play(&config, (const nbcoll_program *const *)program, &result), p->algorithm->name);
}

static double mean_finished(const nbcoll_card_rank *rank, int ranks)
{
    double end[MOST];
    for (int i = 0; i < ranks; i++)
        end[i] = (double)rank[i].finished;
    return mean(end, ranks);
}

/* With a computation of `compute`, or, if that is 0, one as long as the operation: *with is when that has ended. */
static outcome offloaded_beside(play p, double compute, double *with)
{
    nbcoll_program *program[MOST];
    nbcoll_card_rank rank[MOST];
    outcome o;
    compile_all(&p, program);
    play_all(&p, program, 0, 0, rank);
    o.alone = mean_finished(rank, p.ranks);
    compute = compute > 0 ? compute : o.alone;
    play_all(&p, program, 0, (uint64_t)compute, rank);
    *with = mean_finished(rank, p.ranks);
    o.free = free_of(o.alone, compute, *with);
    free_all(&p, program);
    return o;
}

static outcome offloaded(play p)
{
    double with;
    return offloaded_beside(p, 0, &with);
}

/* ---- hierarchical ---------------------------------------------------------------------------------------------- */

/* The leaders' part, p, has blocks of a node's ranks (or of a leader's share); then `all` bytes are copied. */
typedef struct levels {
    play leaders;
    size_t own, all; /* bytes of a rank's block, and of the result */
    int is_hosts;    /* the host's engine works for the leaders */
    int has_driver;  /* a core takes the copies */
    int is_one_a_node;
} levels;

static double later(double a, double b)
{
    return a > b ? a : b;
}

/* When the last of each node's leaders has what it needs; `posted`: when its core is free. */
static void exchange(const levels *l, double arrived, double ended[MOST], double *posted)
{
    play p = l->leaders;
    nbcoll_program *program[MOST];
    nbcoll_card_rank rank[MOST];
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

/* The mean of a node's ranks over all nodes, where each computes for `compute`. */
static double levels_end(const levels *l, double compute)
{
    const nbcoll_sim_model *m = l->leaders.machine;
    double ended[MOST], sum = 0, posted, flag = (double)m->inside.latency;
    double in = (double)l->own * (double)m->copy / 1e3, out = (double)l->all * (double)m->copy / 1e3;
    exchange(l, in + flag, ended, &posted);
    int nodes = l->leaders.ranks / l->leaders.node;
    for (int i = 0; i < nodes; i++) {
        double there = ended[i * l->leaders.node] + flag;
        double computed = in + compute + (posted - in - flag) / (double)m->node; /* a leader's posts, of all ranks */
        sum += l->has_driver ? later(there + out, computed) : later(there, computed) + out;
    }
    return sum / nodes;
}

static outcome by_levels(levels l, double compute, double *with)
{
    outcome o = {.alone = levels_end(&l, 0)};
    compute = compute > 0 ? compute : o.alone;
    *with = levels_end(&l, compute);
    o.free = free_of(o.alone, compute, *with);
    return o;
}

/* `leaders` of each node, each with its share of the node's blocks. */
static levels levels_of(const nbcoll_sim_model *m, int nodes, int leaders, const char *algorithm, unsigned ports,
                        size_t bytes)
{
    return (levels){.leaders = {.machine = m,
                                .algorithm = allgather(algorithm),
                                .ranks = nodes * leaders,
                                .node = leaders,
                                .ports = ports,
                                .bytes = bytes * m->node / (size_t)leaders},
                    .own = bytes,
                    .all = bytes * m->node * (size_t)nodes};
}

static outcome hierarchical(const nbcoll_sim_model *m, int nodes, const char *algorithm, unsigned ports, size_t bytes,
                            int has_driver)
{
    double with;
    levels l = levels_of(m, nodes, 1, algorithm, ports, bytes);
    l.has_driver = has_driver;
    l.leaders.used = ports == 1 ? 1 : 0; /* what has one port uses one of a card's */
    return by_levels(l, 0, &with);
}

/* Leaders of the same place in their nodes exchange among themselves: by recursive doubling over the nodes. */
static int leaders_of_a_node;

static void groups(nbcoll_builder *b, const nbcoll_args *a)
{
    int g = leaders_of_a_node, nodes = b->ranks / g, node = b->rank / g, place = b->rank % g;
    size_t n = a->bytes;
    nbcoll_step have = nbcoll_add_copy(b, nbcoll_at(a->recv, (size_t)node * n), a->send, n);
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
    .size = sizeof grouped, .name = "groups", .operation = NBCOLL_OPERATION_ALLGATHER, .build = groups};

/* ---- pieces ---------------------------------------------------------------------------------------------------- */

/* A block as pieces, each an allgather of its own: fragments of a pipelined one, or several at a time. */
static const nbcoll_algorithm *pieces_go_by;
static size_t piece;

static void pieces(nbcoll_builder *b, const nbcoll_args *a)
{
    for (size_t at = 0; at < a->bytes; at += piece) {
        nbcoll_args one = *a;
        one.count = one.bytes = a->bytes - at < piece ? a->bytes - at : piece;
        one.send = nbcoll_at(a->send, at);
        one.recv = nbcoll_at(a->recv, at * (size_t)b->ranks);
        nbcoll_within(b, NULL, b->ranks, &one, pieces_go_by->build, NBCOLL_START);
    }
}

static const nbcoll_algorithm in_pieces = {.size = sizeof in_pieces,
                                           .name = "pieces",
                                           .operation = NBCOLL_OPERATION_ALLGATHER,
                                           .build = pieces,
                                           .flags = NBCOLL_ALGORITHM_PORTS};

/* ---- tables ---------------------------------------------------------------------------------------------------- */

/* A sender's time, where the receiver pauses between start and wait. */
static double paused_sender(play p, uint64_t pause, int is_card)
{
    if (is_card) {
        nbcoll_program *program[MOST];
        nbcoll_card_rank rank[MOST];
        nbcoll_card_model card = {.size = sizeof card};
        const uint64_t computes[] = {0, pause};
        nbcoll_card_config config = {.size = sizeof config, .ranks = 2, .model = &card, .compute = computes};
        nbcoll_card_result result = {.size = sizeof result, .rank = rank};
        compile_all(&p, program);
        expect(nbcoll_card_of(p.machine, &card), "card");
        card.node = 1;
        expect(nbcoll_card_play(&config, (const nbcoll_program *const *)program, &result), "pause");
        free_all(&p, program);
        return (double)rank[0].finished;
    }
    const nbcoll_sim_action pausing[] = {{.act = NBCOLL_SIM_START}, {.act = NBCOLL_SIM_COMPUTE, .compute = pause}};
    const nbcoll_sim_program programs[] = {{pausing, 1}, {pausing, 2}};
    nbcoll_sim_model m = *p.machine;
    nbcoll_sim_rank rank[2];
    nbcoll_sim_config config = {.size = sizeof config, .ranks = 2, .model = &m, .programs = programs, .user = &p};
    nbcoll_sim_result result = {.size = sizeof result, .rank = rank};
    m.node = 1;
    expect(nbcoll_simulate(&config, build, &p, &result), "pause");
    return (double)rank[0].waited;
}

static void print_rendezvous(void)
{
    nbcoll_sim_model b = machine_of("cluster_b");
    play p = {.machine = &b,
              .algorithm = nbcoll_algorithm_find(NBCOLL_OPERATION_BCAST, "binomial"),
              .ranks = 2,
              .node = 1,
              .eager = 1,
              .test_bytes = 2048};
    const uint64_t second = 1000000000;
    wants_last = 1;
    b.eager = 12288;
    b.interfaces = 1;
    puts("| bytes | sees of 1 s: engine | card | us: engine | card | free: engine | card |\n"
         "|---:|---:|---:|---:|---:|---:|---:|");
    for (p.bytes = 64; p.bytes <= 524288; p.bytes *= p.bytes < 16384 ? 16 : 2) {
        double sees[2];
        for (int i = 0; i < 2; i++)
            sees[i] = 100 * (paused_sender(p, second, i) - paused_sender(p, 0, i)) / 1e9;
        outcome host = engine(p), card = offloaded(p);
        printf("| %zu | %.0f%% | %.0f%% | %.1f | %.1f | %.0f%% | %.0f%% |\n", p.bytes, sees[0], sees[1],
               host.alone / 1e3, card.alone / 1e3, host.free, card.free);
    }
    wants_last = 0;
}

static const size_t sizes[] = {1, 16, 256, 1024, 4096, 16384, 65536, 262144};
enum { SIZES = sizeof sizes / sizeof *sizes };

static const char *const flat_ones[] = {"recursive_doubling", "bruck", "ring"};

/* The thesis' threshold is of a block, the compiler's of a message. */
static size_t eager_of(int ranks, size_t bytes)
{
    return bytes < 16384 ? (size_t)ranks * bytes : 1;
}

static void print_flat(void)
{
    nbcoll_sim_model a = machine_of("cluster_a");
    puts("| bytes | engine, blocking | card: exchange | Bruck | ring | free, engine | exchange | Bruck | ring |\n"
         "|---:|---:|---:|---:|---:|---:|---:|---:|---:|");
    for (int i = 0; i < SIZES; i++) {
        play p = {.machine = &a, .ranks = 128, .node = 8, .bytes = sizes[i], .test_bytes = 1024};
        outcome card[3];
        p.eager = eager_of(p.ranks, p.bytes);
        for (int k = 0; k < 3; k++) {
            p.algorithm = allgather(flat_ones[k]);
            card[k] = offloaded(p);
        }
        p.algorithm = allgather("recursive_doubling");
        outcome host = engine(p);
        printf("| %zu | %.0f | %.0f | %.0f | %.0f | %.0f%% | %.0f%% | %.0f%% | %.0f%% |\n", p.bytes, host.alone / 1e3,
               card[0].alone / 1e3, card[1].alone / 1e3, card[2].alone / 1e3, host.free, card[0].free, card[1].free,
               card[2].free);
    }
}

static void print_hierarchical(void)
{
    nbcoll_sim_model a = machine_of("cluster_a"), dear = a;
    dear.copy *= 2; /* as 8 cores at once have it */
    puts("| bytes | engine, blocking | card: exchange | Bruck | ring | exchange, less | free: exchange | ring | "
         "exchange, "
         "driver copies | exchange, copies twice as dear: less | free |\n"
         "|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|");
    for (int i = 0; i < SIZES; i++) {
        play p = {
            .machine = &a, .algorithm = allgather("recursive_doubling"), .ranks = 128, .node = 8, .bytes = sizes[i]};
        outcome card[3], host = engine(p);
        for (int k = 0; k < 3; k++)
            card[k] = hierarchical(&a, 16, flat_ones[k], 0, p.bytes, 0);
        outcome driven = hierarchical(&a, 16, flat_ones[0], 0, p.bytes, 1);
        outcome late = hierarchical(&dear, 16, flat_ones[0], 0, p.bytes, 0);
        printf("| %zu | %.1f | %.1f | %.1f | %.1f | %.0f%% | %.0f%% | %.0f%% | %.0f%% | %.0f%% | "
               "%.0f%% |\n",
               p.bytes, host.alone / 1e3, card[0].alone / 1e3, card[1].alone / 1e3, card[2].alone / 1e3,
               100 * (1 - card[0].alone / host.alone), card[0].free, card[2].free, driven.free,
               100 * (1 - late.alone / host.alone), late.free);
    }
}

static void print_ports(void)
{
    nbcoll_sim_model b = machine_of("cluster_b"), one = b;
    static const char *const names[] = {"exchange", "bruck_ports"};
    one.interfaces = 1;
    puts("| bytes | engine, 1 port | exchange, 1 port | 3 ports | less | Bruck, 1 port | 3 ports | less | "
         "free: 1 port | 3 ports | "
         "hierarchical, 1 port | 3 ports | less |\n|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|");
    for (int i = 0; i < SIZES; i++) {
        play p = {.machine = &b, .ranks = 16, .node = 4, .bytes = sizes[i], .eager = eager_of(16, sizes[i])};
        outcome flat[2][2], hier[2];
        for (int k = 0; k < 4; k++) {
            p.algorithm = allgather(names[k / 2]);
            p.ports = k % 2 ? 3 : 1;
            p.used = k % 2 ? 0 : 1;
            flat[k / 2][k % 2] = offloaded(p);
        }
        for (int k = 0; k < 2; k++)
            hier[k] = hierarchical(&b, 4, "exchange", k ? 3 : 1, p.bytes, 0);
        p.machine = &one;
        p.algorithm = allgather("recursive_doubling");
        printf("| %zu | %.0f |", p.bytes, engine(p).alone / 1e3);
        for (int k = 0; k < 2; k++)
            printf(" %.0f | %.0f | %.0f%% |", flat[k][0].alone / 1e3, flat[k][1].alone / 1e3,
                   100 * (1 - flat[k][1].alone / flat[k][0].alone));
        printf(" %.0f%% | %.0f%% | %.1f | %.1f | %.0f%% |\n", flat[0][0].free, flat[0][1].free, hier[0].alone / 1e3,
               hier[1].alone / 1e3, 100 * (1 - hier[1].alone / hier[0].alone));
    }
}

static double leaders_take(const nbcoll_sim_model *m, int leaders, int is_grouped, int is_hosts, uint32_t cards,
                           size_t bytes)
{
    double with;
    levels l = levels_of(m, 16, leaders, "recursive_doubling", 0, bytes);
    if (is_grouped)
        l.leaders.algorithm = &grouped;
    leaders_of_a_node = leaders;
    l.is_hosts = is_hosts;
    l.leaders.cards = cards;
    return by_levels(l, 0, &with).alone / 1e3;
}

static void print_leaders(void)
{
    nbcoll_sim_model a = machine_of("cluster_a");
    puts("| bytes | by | 1 leader | 2 leaders | 4 leaders | 2 groups | 4 groups |\n"
         "|---:|---|---:|---:|---:|---:|---:|");
    static const char *const by[] = {"one card", "two cards", "the host's engine"};
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

/* Each connection has a fixed number of buffers, posted before anything is known: as many as the last round fills. */
static void print_memory(void)
{
    nbcoll_sim_model a = machine_of("cluster_a");
    puts("| | connections | queue pairs for 1 in flight | for 8 | KiB a rank for 1 | for 8 |\n"
         "|---|---:|---:|---:|---:|---:|");
    for (int k = 0; k < 6; k++) {
        int ranks = k < 3 ? 128 : 16;
        play p = {.machine = &a,
                  .algorithm = allgather(flat_ones[k % 3]),
                  .ranks = ranks,
                  .node = 1,
                  .bytes = 1024,
                  .eager = 1 << 20};
        nbcoll_program *program[MOST];
        nbcoll_program_info info = {.size = sizeof info};
        compile_all(&p, program);
        expect(nbcoll_program_query(program[0], &info), "query");
        size_t buffers = (size_t)info.connections * (size_t)(ranks / 2) * info.eager;
        printf("| %d ranks, %s | %u | %" PRIu64 " | %" PRIu64 " | %zu | %zu |\n", ranks, flat_ones[k % 3],
               info.connections, info.queue_pairs, 8 * info.queue_pairs, buffers / 1024, 8 * buffers / 1024);
        free_all(&p, program);
    }
}

/* ---- radix sort ------------------------------------------------------------------------------------------------ */

typedef struct sorting {
    const nbcoll_sim_model *machine;
    int ranks, node, is_slow; /* a core of cluster B */
    int is_bits, is_in_all;   /* readings of "radix r", and of N */
    int is_walked;            /* what is read of the histogram is not in a cache */
    unsigned ports;
    int is_hierarchical;
} sorting;

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
    p.machine = move.machine = &one;
    p.algorithm = allgather("recursive_doubling");
    double blocking = engine(p).alone, rest = count + all + engine(move).alone;
    if (s->is_hierarchical) {
        levels l = levels_of(s->machine, s->ranks / s->node, 1, "exchange", s->ports, p.bytes);
        l.leaders.used = s->ports == 1;
        by_levels(l, offsets + here, &with);
    } else {
        p.machine = s->machine;
        p.algorithm = allgather("exchange");
        p.used = s->ports == 1;
        p.eager = eager_of(p.ranks, p.bytes);
        offloaded_beside(p, offsets + here, &with);
    }
    double before = rest + blocking + offsets + here;
    return 100 * (before - rest - with) / before;
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

static void print_radix(void)
{
    static const int radix[] = {2, 4, 6, 8, 10};
    nbcoll_sim_model a = machine_of("cluster_a"), b = machine_of("cluster_b");
    print_readings(&a);
    puts("\n| radix | flat, 2^12: 1 port | 3 ports | 2^16: 1 port | 3 ports | hierarchical, 2^12: 1 port | 3 ports | "
         "2^16: 1 port | 3 ports |\n|---:|---:|---:|---:|---:|---:|---:|---:|---:|");
    for (int i = 0; i < 5; i++) {
        printf("| %d |", radix[i]);
        for (int k = 0; k < 8; k++) {
            sorting s = {.machine = &b,
                         .ranks = 16,
                         .node = 4,
                         .is_slow = 1,
                         .is_bits = 1,
                         .is_in_all = 1,
                         .is_walked = 1,
                         .ports = k % 2 ? 3 : 1,
                         .is_hierarchical = k / 4};
            printf(" %.1f |", improvement(&s, radix[i], k / 2 % 2 ? 65536 : 4096));
        }
        puts("");
    }
}

enum { FRAGMENT = 1024, SMALL = 7 }; /* bytes: the network's largest packet on cluster B; sizes of chapter 5 */

/* Of one leader a node; `at_once` of them at a time. */
static outcome pipelined(const nbcoll_sim_model *m, const char *algorithm, unsigned ports, size_t bytes, int at_once)
{
    double with;
    levels l = levels_of(m, 4, 1, algorithm, ports, bytes * (size_t)at_once);
    pieces_go_by = l.leaders.algorithm;
    piece = bytes * m->node < FRAGMENT ? bytes * m->node : FRAGMENT;
    l.leaders.algorithm = &in_pieces;
    l.leaders.used = ports == 1 ? 1 : 0;
    return by_levels(l, 0, &with);
}

/* The host's, not pipelined. */
static outcome hosts(const nbcoll_sim_model *m, size_t bytes, int at_once)
{
    play p = {.machine = m,
              .algorithm = &in_pieces,
              .ranks = 16,
              .node = 4,
              .bytes = bytes * (size_t)at_once,
              .test_bytes = 1024 * (uint64_t)at_once};
    pieces_go_by = allgather("recursive_doubling");
    piece = bytes;
    return engine(p);
}

static void print_pipelined(void)
{
    nbcoll_sim_model b = machine_of("cluster_b");
    static const char *const names[] = {"bruck_pipelined", "cayley"};
    puts("| bytes | engine | card: Bruck | pipelined, 1 port | 3 ports | Cayley, 1 port | 3 ports | free: engine | "
         "Bruck "
         "| pipelined, 1 port | Cayley, 1 port |\n|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|");
    for (int i = 0; i < SMALL; i++) {
        outcome host = hosts(&b, sizes[i], 1), plain = hierarchical(&b, 4, "bruck_ports", 1, sizes[i], 0), of[4];
        for (int k = 0; k < 4; k++)
            of[k] = pipelined(&b, names[k / 2], k % 2 ? 3 : 1, sizes[i], 1);
        printf("| %zu | %.1f | %.1f |", sizes[i], host.alone / 1e3, plain.alone / 1e3);
        for (int k = 0; k < 4; k++)
            printf(" %.1f |", of[k].alone / 1e3);
        printf(" %.0f%% | %.0f%% | %.0f%% | %.0f%% |\n", host.free, plain.free, of[0].free, of[2].free);
    }
}

/* As many at a time, beside as many one after the other. */
static void print_parallel(void)
{
    nbcoll_sim_model b = machine_of("cluster_b");
    puts("| bytes | at a time | engine: faster by | free | Cayley, 3 ports: faster by | free |\n"
         "|---:|---:|---:|---:|---:|---:|");
    for (int i = 1; i < SMALL; i += 2) {
        outcome host = hosts(&b, sizes[i], 1), card = pipelined(&b, "cayley", 3, sizes[i], 1);
        for (int n = 1; n <= 8; n *= 2) {
            outcome hosts_n = hosts(&b, sizes[i], n), card_n = pipelined(&b, "cayley", 3, sizes[i], n);
            printf("| %zu | %d | %.0f%% | %.0f%% | %.0f%% | %.0f%% |\n", sizes[i], n,
                   100 * (1 - hosts_n.alone / (n * host.alone)), hosts_n.free,
                   100 * (1 - card_n.alone / (n * card.alone)), card_n.free);
        }
    }
}

int main(int argc, char *argv[])
{
    static const struct {
        const char *name;
        void (*print)(void);
    } tables[] = {
        {"rendezvous", print_rendezvous}, {"flat", print_flat},           {"hierarchical", print_hierarchical},
        {"ports", print_ports},           {"leaders", print_leaders},     {"memory", print_memory},
        {"radix", print_radix},           {"pipelined", print_pipelined}, {"parallel", print_parallel}};
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
        if (argc < 2 || !strcmp(argv[1], tables[i].name)) {
            printf("\n%s:\n\n", tables[i].name);
            tables[i].print();
            fflush(stdout);
        }
    return 0;
}
