/* SPDX-License-Identifier: BSD-3-Clause
 * Chain broadcast as graph and as rounds, the builders of examples/chain, on loopback with ranks as threads. The two
 * are interleaved, sample by sample; a sample is the time from a barrier to the end on the last rank. Prints medians
 * and their ratio. Arguments: [ranks [samples]]. */
#include "../examples/chain/chain.h"
#include "nbcoll/loopback.h"

#include "ranks.h"

enum { MOST_RANKS = 16, MOST_SAMPLES = 10000 };

static const size_t sizes[] = {12500, 125000, 1250000}; /* bytes; those of uKACC's figures */
enum { SIZES = 3, PIECES = 16 };

typedef struct bench {
    int ranks, samples;
    nbcoll_loopback *world;
    double took[SIZES][2][MOST_SAMPLES]; /* by rank 0 */
} bench;

typedef struct rank {
    bench *bench;
    int rank;
} rank;

static double once(nbcoll_schedule *s, void *data, nbcoll_comm *comm)
{
    nbcoll_request request;
    must(nbcoll_barrier(comm, NBCOLL_FOREVER));
    double start = now();
    must(nbcoll_schedule_start(s, NULL, data, comm, &request));
    must(nbcoll_wait(&request, NBCOLL_FOREVER));
    must(nbcoll_barrier(comm, NBCOLL_FOREVER));
    return now() - start;
}

static void measure(const rank *me, nbcoll_comm *comm, int size)
{
    nbcoll_args args = {.size = sizeof args, .operation = NBCOLL_OPERATION_BCAST, .count = sizes[size],
                        .reduction = {NBCOLL_BYTE, NBCOLL_SUM}, .segment = sizes[size] / PIECES};
    nbcoll_builder_config config = {.size = sizeof config, .rank = me->rank, .ranks = me->bench->ranks};
    nbcoll_schedule *s[2];
    void *data = calloc(1, sizes[size]);

    for (int i = 0; i < 2; i++)
        must(nbcoll_build_schedule(&chain_algorithms[i], &args, &config, &s[i]));
    for (int sample = -10; sample < me->bench->samples; sample++)
        for (int i = 0; i < 2; i++) {
            double t = once(s[i], data, comm);
            if (me->rank == 0 && sample >= 0)
                me->bench->took[size][i][sample] = t;
        }
    for (int i = 0; i < 2; i++)
        must(nbcoll_schedule_free(s[i]));
    free(data);
}

static void *rank_main(void *argument)
{
    const rank *me = argument;
    nbcoll_endpoint *ep;
    nbcoll_context *context;
    nbcoll_comm *comm;

    must(nbcoll_loopback_open(me->bench->world, me->rank, &ep));
    must(nbcoll_context_create(NBCOLL_ABI, NULL, &context));
    must(nbcoll_comm_create(context, ep, NULL, &comm, NBCOLL_FOREVER));
    for (int size = 0; size < SIZES; size++)
        measure(me, comm, size);
    close_context(context);
    return NULL;
}

int main(int argc, char **argv)
{
    static bench b;
    rank ranks[MOST_RANKS];

    b.ranks = argc > 1 ? atoi(argv[1]) : 2;
    b.samples = argc > 2 ? atoi(argv[2]) : 300;
    if (b.ranks < 1 || b.ranks > MOST_RANKS || b.samples < 1 || b.samples > MOST_SAMPLES) {
        fprintf(stderr, "usage: chain [ranks 1..%d [samples 1..%d]]\n", MOST_RANKS, MOST_SAMPLES);
        return 2;
    }
    nbcoll_loopback_config config = {.size = sizeof config, .ranks = b.ranks};
    must(nbcoll_loopback_create(&config, &b.world));
    for (int r = 0; r < b.ranks; r++)
        ranks[r] = (rank){&b, r};
    run_threads(b.ranks, rank_main, ranks, sizeof *ranks);
    must(nbcoll_loopback_free(b.world));
    printf("%d ranks, %d pieces, median of %d, microseconds\n%10s %10s %10s %14s\n", b.ranks, PIECES, b.samples,
           "bytes", "graph", "rounds", "rounds/graph");
    for (int size = 0; size < SIZES; size++) {
        double graph = median(b.took[size][0], b.samples) / 1e3, rounds = median(b.took[size][1], b.samples) / 1e3;
        printf("%10zu %10.1f %10.1f %14.2f\n", sizes[size], graph, rounds, rounds / graph);
    }
    return 0;
}
