/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Sorts hashes of the lines of text by radix, as several ranks that wait for the allgather of their histograms, and
 * then as ranks that move their keys meanwhile:
 *
 *     nbcoll run -n 4 radixsort [--radix BUCKETS | --bits BITS] [--keys N | --keys-per-rank N] PATH...
 *
 * BUCKETS are 2 to 65536 [256]; BITS stands for 2 to the power of BITS. With N only the first keys are sorted, of each
 * rank or in all; Inozemtsev's tables of radix sort are of BITS, and of N in all (docs/figures.md). Files are dealt to
 * the ranks. Rank 0 compares the result with what one sort makes of all keys, and
 * says how long both ways take. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <nbcoll/launch.h>

#include "keys.h"
#include "sort.h"

enum { ROUNDS = 3 };

typedef struct options {
    size_t buckets, most_in_all, most_of_rank;
    char *const *paths;
    int count;
} options;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

/* ---- options --------------------------------------------------------------------------------------------------- */

static int read_number(const char *text, size_t least, size_t most, size_t *out)
{
    char *end;
    unsigned long long n = text ? strtoull(text, &end, 10) : 0;
    if (!text || *text < '0' || *text > '9' || *end || n < least || n > most)
        return 0;
    *out = (size_t)n;
    return 1;
}

static int read_options(options *o, int argc, char **argv)
{
    size_t bits = 0;
    int i = 1, is_good = 1;

    *o = (options){256, SIZE_MAX, SIZE_MAX, NULL, 0};
    for (; is_good && i < argc && !strncmp(argv[i], "--", 2); i += 2)
        is_good = !strcmp(argv[i], "--radix")           ? read_number(argv[i + 1], 2, 65536, &o->buckets)
                  : !strcmp(argv[i], "--bits")          ? read_number(argv[i + 1], 1, 16, &bits)
                  : !strcmp(argv[i], "--keys")          ? read_number(argv[i + 1], 0, SIZE_MAX, &o->most_in_all)
                  : !strcmp(argv[i], "--keys-per-rank") ? read_number(argv[i + 1], 0, SIZE_MAX, &o->most_of_rank)
                                                        : 0;
    if (bits)
        o->buckets = (size_t)1 << bits;
    o->paths = argv + i;
    o->count = argc - i;
    return is_good && o->count > 0;
}

/* Of `all` keys that this rank has, as many as the options let it take. */
static size_t taken(const options *o, size_t all, int rank, int ranks)
{
    size_t most = o->most_of_rank;
    if (o->most_in_all != SIZE_MAX)
        most = o->most_in_all / (size_t)ranks + ((size_t)rank < o->most_in_all % (size_t)ranks);
    return all < most ? all : most;
}

/* ---- checking -------------------------------------------------------------------------------------------------- */

/* All keys of all ranks, on rank 0, which frees them. */
static nbcoll_status gather(nbcoll_comm *comm, const uint64_t *keys, size_t count, size_t total, uint64_t **all)
{
    int ranks = nbcoll_comm_size(comm), is_root = nbcoll_comm_rank(comm) == 0;
    size_t *part = malloc(2 * (size_t)ranks * sizeof *part);
    uint64_t own = count, *counts = malloc((size_t)ranks * sizeof *counts);

    *all = is_root ? malloc((total + 1) * sizeof **all) : NULL;
    nbcoll_status status = part && counts && (*all || !is_root) ? NBCOLL_OK : NBCOLL_ERR_MEMORY;
    if (status == NBCOLL_OK)
        status = nbcoll_allgather(&own, counts, 1, NBCOLL_UINT64, comm, NBCOLL_FOREVER);
    for (int r = 0; r < ranks && status == NBCOLL_OK; r++) {
        part[r] = (size_t)counts[r];
        part[ranks + r] = r ? part[ranks + r - 1] + part[r - 1] : 0;
    }
    if (status == NBCOLL_OK)
        status = nbcoll_gatherv(keys, count, *all, part, part + ranks, NBCOLL_UINT64, 0, comm, NBCOLL_FOREVER);
    free(part);
    free(counts);
    return status;
}

static int compare(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* Is what the ranks have what one sort makes of what they had? Rank 0 learns it. */
static nbcoll_status check(const sorter *s, const uint64_t *keys, size_t count, int *is_right)
{
    uint64_t *had = NULL, *have = NULL;
    nbcoll_status status = gather(s->comm, keys, count, s->total, &had);

    if (status == NBCOLL_OK)
        status = gather(s->comm, s->keys, s->count, s->total, &have);
    if (status == NBCOLL_OK && s->rank == 0) {
        qsort(had, s->total, sizeof *had, compare);
        *is_right = memcmp(had, have, s->total * sizeof *had) == 0;
    }
    free(had);
    free(have);
    return status;
}

/* ---- the program ----------------------------------------------------------------------------------------------- */

/* The shortest of some runs; the result of the last is checked. */
static nbcoll_status sort(nbcoll_comm *comm, const options *o, const uint64_t *keys, size_t count, int overlaps)
{
    nbcoll_status status = NBCOLL_OK;
    double least = 0;
    int is_right = 0;

    for (int i = 0; i < ROUNDS && status == NBCOLL_OK; i++) {
        sorter s;
        status = sorter_open(&s, comm, keys, count, o->buckets);
        s.overlaps = overlaps;
        if (status == NBCOLL_OK)
            status = nbcoll_barrier(comm, NBCOLL_FOREVER);
        double began = now();
        if (status == NBCOLL_OK)
            status = sorter_run(&s);
        double took = now() - began;
        least = i == 0 || took < least ? took : least;
        if (status == NBCOLL_OK && i == ROUNDS - 1)
            status = check(&s, keys, count, &is_right);
        if (status == NBCOLL_OK && i == ROUNDS - 1 && s.rank == 0)
            printf("%zu keys, %d ranks, %zu buckets, histograms %s: %8.3f ms, %s\n", s.total, s.ranks, s.buckets,
                   overlaps ? "overlapped" : "waited for", least, is_right ? "as by one sort" : "WRONG");
        sorter_close(&s);
    }
    return status;
}

static nbcoll_status run(nbcoll_comm *comm, const options *o)
{
    int rank = nbcoll_comm_rank(comm), ranks = nbcoll_comm_size(comm);
    nbcoll_status status = NBCOLL_OK;
    key_list k;

    if (keys_read(&k, o->paths, o->count, rank, ranks) < 0)
        status = NBCOLL_ERR_MEMORY;
    for (int overlaps = 0; overlaps < 2 && status == NBCOLL_OK; overlaps++)
        status = sort(comm, o, k.key, taken(o, k.count, rank, ranks), overlaps);
    free(k.key);
    return status;
}

int main(int argc, char **argv)
{
    nbcoll_context *context;
    nbcoll_comm *comm;
    options o;

    if (!read_options(&o, argc, argv)) {
        fprintf(stderr, "radixsort [--radix BUCKETS | --bits BITS] [--keys N | --keys-per-rank N] PATH...\n");
        return 2;
    }
    nbcoll_status status = nbcoll_launch_join_or_alone(&context, &comm);
    if (status == NBCOLL_OK)
        status = run(comm, &o);
    if (status != NBCOLL_OK) /* each rank, since the first one that fails ends all */
        fprintf(stderr, "radixsort: %s\n", nbcoll_status_text(status));
    while (nbcoll_context_free(context) == NBCOLL_ERR_BUSY && status == NBCOLL_OK)
        nbcoll_progress(context); /* the last message is not yet on its way */
    return status != NBCOLL_OK;
}
