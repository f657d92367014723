/* SPDX-License-Identifier: BSD-3-Clause
 * Does the time of an operation grow smoothly with its bytes? Pairs of sizes 2 % apart are timed in turn, in one run:
 * around each length at which the library goes another way (constants, what the staging buffer and its parts allow,
 * what the opening has measured, and where the choice among the algorithms changes, which it is asked for), and around
 * 40 seeded ones from 1 KiB on. What takes more than 1.2 times as long as its neighbour is timed again, and named if
 * the least of all three ratios is above that. Buffers of all ranks together take 4 GiB at most.
 *
 *     nbcoll run -n 4 bench/steps [most bytes of a rank's vector or block [operation ...]]
 *
 * The most is 256 MiB unless it is said. Where other programs need the cores, too, runs of SCHED_FIFO tell more. */
#include <nbcoll/launch.h>
#include <nbcoll/select.h>

#include "calls.h"
#include "timing.h"

enum { KINDS = 7, PLACES = 400, SEEDED = 40, BATCHES = 3, LEAST = 7, MOST = 61, BUDGET = 12000000 /* ns */ };

static const struct {
    nbcoll_operation operation;
    int has_blocks;
} kinds[KINDS] = {{NBCOLL_OPERATION_BCAST, 0},     {NBCOLL_OPERATION_REDUCE, 0},  {NBCOLL_OPERATION_ALLREDUCE, 0},
                  {NBCOLL_OPERATION_ALLGATHER, 1}, {NBCOLL_OPERATION_SCATTER, 1}, {NBCOLL_OPERATION_GATHER, 1},
                  {NBCOLL_OPERATION_ALLTOALL, 1}};

typedef struct bench {
    nbcoll_context *context;
    nbcoll_comm *comm;
    nbcoll_terms terms;
    int ranks;
    unsigned char *send, *recv;
    size_t place[PLACES], places;
    uint64_t random;
    int steps;
} bench;

static uint64_t next_random(bench *b)
{
    uint64_t x = b->random += 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

/* Of the slowest rank. */
static double timed(bench *b, nbcoll_operation o, size_t bytes)
{
    const call c = {o, b->send, b->recv, bytes / sizeof(float), NBCOLL_FLOAT, b->comm};
    double most;
    must(nbcoll_barrier(b->comm, NBCOLL_FOREVER));
    double mine = now();
    must(call_blocking(&c, NBCOLL_FOREVER));
    mine = now() - mine;
    must(nbcoll_allreduce(&mine, &most, 1, NBCOLL_DOUBLE, NBCOLL_MAX, b->comm, NBCOLL_FOREVER));
    return most;
}

/* How many times as long the longer one takes, of the medians; each comes first in its turn. */
static double ratio(bench *b, nbcoll_operation o, size_t a, size_t z, double us[2])
{
    double took[2][MOST], once;
    int times;

    timed(b, o, z);
    once = timed(b, o, a) + timed(b, o, z);
    times = once * MOST < BUDGET ? MOST : once * LEAST > BUDGET ? LEAST : (int)(BUDGET / once);
    for (int i = 0; i < times; i++)
        for (int j = 0; j < 2; j++) {
            int which = (i + j) % 2;
            took[which][i] = timed(b, o, which ? z : a);
        }
    for (int i = 0; i < 2; i++)
        us[i] = median(took[i], times) / 1000;
    return us[1] / us[0];
}

/* ---- where ------------------------------------------------------------------------------------------------------- */

static void add(bench *b, size_t bytes)
{
    for (size_t i = 0; i < b->places; i++)
        if (bytes / 64 == b->place[i] / 64)
            return;
    if (b->places < PLACES && bytes >= 256)
        b->place[b->places++] = bytes;
}

/* What is this length in, a rank's vector or block? Of blocks a threshold may be one of all. */
static void add_all(bench *b, size_t bytes, int has_blocks)
{
    size_t ranks = (size_t)b->ranks;
    add(b, bytes);
    add(b, bytes / ranks);
    add(b, bytes / (ranks > 1 ? ranks - 1 : 1));
    if (!has_blocks) {
        add(b, bytes * ranks);
        add(b, bytes * ranks / (ranks > 1 ? ranks - 1 : 1));
    }
}

static int chosen(const bench *b, nbcoll_operation o, size_t bytes, nbcoll_choice *c)
{
    int reduces = o == NBCOLL_OPERATION_REDUCE || o == NBCOLL_OPERATION_ALLREDUCE;
    nbcoll_args a = {.size = sizeof a, .operation = o, .count = bytes / sizeof(float), .element = sizeof(float),
                     .bytes = bytes / sizeof(float) * sizeof(float)};
    if (reduces)
        a.reduction = (nbcoll_reduction){NBCOLL_FLOAT, NBCOLL_SUM};
    *c = (nbcoll_choice){.size = sizeof *c};
    return nbcoll_select(&b->terms, &a, c) == NBCOLL_OK;
}

static int alike(const nbcoll_choice *a, const nbcoll_choice *b)
{
    return a->algorithm == b->algorithm && a->segment == b->segment && a->arity == b->arity && a->ports == b->ports;
}

/* Where the choice changes, to 64 bytes. */
static void add_choices(bench *b, nbcoll_operation o, size_t most)
{
    nbcoll_choice before, now_is, middle;

    if (!chosen(b, o, 1024, &before))
        return;
    for (size_t at = 1024, next; at < most; at = next, before = now_is) {
        next = at + at / 16;
        size_t low = at, high = next;
        if (!chosen(b, o, next, &now_is))
            return;
        while (!alike(&before, &now_is) && high - low > 64) {
            size_t half = low + (high - low) / 2;
            chosen(b, o, half, &middle);
            *(alike(&before, &middle) ? &low : &high) = half;
        }
        if (!alike(&before, &now_is))
            add(b, high);
    }
}

static void add_places(bench *b, int k, size_t most, const nbcoll_shm_peer *peer)
{
    static const size_t constants[] = {80,    4096,   8192,              16384,   32768,
                                       65536, 131072, NBCOLL_PASS_BYTES, 1 << 20, 2 << 20};
    size_t staging = b->terms.staging;

    b->places = 0;
    for (size_t i = 0; i < sizeof constants / sizeof *constants; i++)
        add_all(b, constants[i], kinds[k].has_blocks);
    add_all(b, staging, kinds[k].has_blocks);
    add_all(b, staging / 2, kinds[k].has_blocks);
    if (b->terms.staging_part < UINT32_MAX)
        add_all(b, b->terms.staging_part, kinds[k].has_blocks);
    if (peer->by_pieces < most)
        add_all(b, peer->by_pieces, kinds[k].has_blocks);
    if (peer->by_cma < most)
        add_all(b, peer->by_cma, kinds[k].has_blocks);
    add_choices(b, kinds[k].operation, most);
    for (int i = 0; i < SEEDED; i++) { /* evenly in the logarithm */
        uint64_t x = next_random(b) % 18000;
        size_t bytes = (size_t)1024 << x / 1000;
        add(b, bytes + bytes * (x % 1000) / 1000);
    }
}

/* ---- all --------------------------------------------------------------------------------------------------------- */

/* Each rank passes over its staging buffer, and the others', once: what is read there first costs faults, on virtual
 * machines up to 20 us a page, which are no step between two sizes. */
static void warm(bench *b)
{
    enum { PART = 8192, TIMES = 600 };
    unsigned char *all = calloc((size_t)b->ranks, PART), *mine = calloc(1, PART);

    if (!all || !mine)
        exit(1);
    for (int i = 0; i < TIMES; i++)
        must(nbcoll_allgather(mine, all, PART, NBCOLL_BYTE, b->comm, NBCOLL_FOREVER));
    free(all);
    free(mine);
}

static void pair(bench *b, int k, size_t place)
{
    size_t a = place / 101 * 100 / 4 * 4, z = (place / 101 * 102 + 4) / 4 * 4;
    double us[2], least = ratio(b, kinds[k].operation, a, z, us);

    for (int i = 1; i < BATCHES && least > 1.2; i++) {
        double again = ratio(b, kinds[k].operation, a, z, us);
        least = again < least ? again : least;
    }
    if (least > 1.2)
        b->steps++;
    if (nbcoll_comm_rank(b->comm) == 0 && least > 1.2)
        printf("%-10s %2d ranks: %zu bytes %.1f us, %zu bytes %.1f us: %.2f\n",
               nbcoll_operation_name(kinds[k].operation), b->ranks, a, us[0], z, us[1], least);
}

static void measure(bench *b, int k, size_t most, const nbcoll_shm_peer *peer)
{
    size_t ranks = (size_t)b->ranks, all = (size_t)4 << 30;
    size_t limit = all / 2 / ranks / (kinds[k].has_blocks ? ranks : 1), bytes;
    int pairs = 0;

    most = most < limit ? most : limit;
    bytes = (most + most / 50 + 64) * (kinds[k].has_blocks ? ranks : 1);
    b->send = aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
    b->recv = aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
    if (!b->send || !b->recv)
        exit(1);
    memset(b->send, 0, bytes);
    memset(b->recv, 0, bytes);
    add_places(b, k, most, peer);
    for (size_t i = 0; i < b->places; i++)
        if (b->place[i] <= most) {
            pair(b, k, b->place[i]);
            pairs++;
        }
    if (nbcoll_comm_rank(b->comm) == 0)
        printf("%-10s %2d ranks: %d pairs up to %zu bytes, %d steps\n", nbcoll_operation_name(kinds[k].operation),
               b->ranks, pairs, most, b->steps);
    fflush(stdout);
    b->steps = 0;
    free(b->send);
    free(b->recv);
}

int main(int argc, char **argv)
{
    static bench b = {.terms = {.size = sizeof(nbcoll_terms)}, .random = 20261126};
    size_t most = argc > 1 ? strtoull(argv[1], NULL, 0) : (size_t)256 << 20;
    nbcoll_shm_peer peer = {.size = sizeof peer, .by_pieces = SIZE_MAX, .by_cma = SIZE_MAX};
    nbcoll_endpoint *ep;

    must(nbcoll_launch_open(&ep));
    must(nbcoll_context_create(NBCOLL_ABI, NULL, &b.context));
    must(nbcoll_comm_create(b.context, ep, NULL, &b.comm, NBCOLL_FOREVER));
    b.ranks = nbcoll_comm_size(b.comm);
    must(nbcoll_comm_terms(b.comm, &b.terms));
    nbcoll_shm_describe(ep, b.ranks - 1 - nbcoll_comm_rank(b.comm), &peer);
    uint64_t by[2] = {peer.by_pieces, peer.by_cma};
    must(nbcoll_bcast(by, 2, NBCOLL_UINT64, 0, b.comm, NBCOLL_FOREVER)); /* the same places on all ranks */
    peer.by_pieces = by[0];
    peer.by_cma = by[1];
    warm(&b);
    for (int k = 0; k < KINDS; k++) {
        int is_asked = argc < 3;
        for (int i = 2; i < argc; i++)
            is_asked |= strcmp(argv[i], nbcoll_operation_name(kinds[k].operation)) == 0;
        if (is_asked)
            measure(&b, k, most, &peer);
    }
    nbcoll_launch_leave(b.context, NBCOLL_OK);
    return 0;
}
