/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Sorts hashes of the lines of text by radix, as several ranks that wait for the allgather of their histograms, then as
 * ranks that move their keys meanwhile, and, with --agent, as ranks whose allgather and alltoallv an agent's process
 * carries out:
 *
 *     nbcoll run --agent -n 4 radixsort [--radix BUCKETS | --bits BITS] [--keys N | --keys-per-rank N] PATH...
 *
 * BUCKETS are 2 to 65536 [256]; BITS stands for 2 to the power of BITS. With N only the first keys are sorted, of each
 * rank or in all; Inozemtsev's tables of radix sort are of BITS, and of N in all (docs/figures.md). Files are dealt to
 * the ranks. All ways take turns, nine times. Rank 0 compares each result with what one sort makes of all keys, and
 * says how long ranks that wait take, and which part of that time the others. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <nbcoll/launch.h>
#include <nbcoll/launch_agent.h>
#include <nbcoll/offload.h>

#include "keys.h"
#include "sort.h"

enum { ROUNDS = 9 };

/* The ways to carry the collectives out. */
typedef enum way { WAITS, OVERLAPS, OFFLOADS, WAYS } way;

static const char *const way_names[WAYS] = {
    [OVERLAPS] = "keys are moved meanwhile:", [OFFLOADS] = "an agent carries it all out:"};

#define SHARED ((size_t)64 << 20) /* bytes of a rank's memory that others, and the agent, can name */

typedef struct team {
    nbcoll_endpoint *endpoint;
    nbcoll_context *context;
    nbcoll_agent *agent; /* null: there is none */
    nbcoll_comm *comm[WAYS];
} team;

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

/* Is what the ranks have what one sort makes of what they had? Rank 0 learns it. By ranks, not by an agent, which can
 * name only the sorter's memory. */
static nbcoll_status check(nbcoll_comm *comm, const sorter *s, const uint64_t *keys, size_t count, int *is_right)
{
    uint64_t *had = NULL, *have = NULL;
    nbcoll_status status = gather(comm, keys, count, s->total, &had);

    if (status == NBCOLL_OK)
        status = gather(comm, s->keys, s->count, s->total, &have);
    if (status == NBCOLL_OK && s->rank == 0) {
        qsort(had, s->total, sizeof *had, compare);
        *is_right = memcmp(had, have, s->total * sizeof *had) == 0;
    }
    free(had);
    free(have);
    return status;
}

/* ---- the program ----------------------------------------------------------------------------------------------- */

/* Would the agent carry out both collectives of a round? If not, rank 0 says why. */
static int is_offloaded(nbcoll_comm *comm, size_t buckets)
{
    nbcoll_args histograms = {.size = sizeof histograms,
                              .operation = NBCOLL_OPERATION_ALLGATHER,
                              .count = buckets,
                              .reduction = {NBCOLL_UINT64, NBCOLL_SUM}},
                keys = {.size = sizeof keys, .operation = NBCOLL_OPERATION_ALLTOALLV, .reduction = {NBCOLL_UINT64, 0}};
    nbcoll_refusal why = {.size = sizeof why};

    if (nbcoll_comm_offloads(comm, &histograms, &why) == NBCOLL_OK &&
        nbcoll_comm_offloads(comm, &keys, &why) == NBCOLL_OK)
        return 1;
    if (nbcoll_comm_rank(comm) == 0)
        printf("not offloaded: %s\n", why.text);
    return 0;
}

/* What rank 0 knows of one way: how long each round took, and whether the last one sorted. */
typedef struct result {
    int is_taken, is_right;
    double took[ROUNDS];
} result;

static nbcoll_status sort_once(const team *all, const options *o, const key_list *k, way how, int round, result *r)
{
    nbcoll_comm *comm = all->comm[how];
    size_t count = taken(o, k->count, nbcoll_comm_rank(comm), nbcoll_comm_size(comm));
    sorter s;

    nbcoll_status status = sorter_open(&s, comm, k->key, count, o->buckets);
    s.overlaps = how != WAITS;
    if (status == NBCOLL_OK && how == OFFLOADS && !s.is_shared) {
        if (s.rank == 0)
            puts("not offloaded: the keys of some rank are more than it can share");
        r->is_taken = 0;
    }
    if (status == NBCOLL_OK && r->is_taken) {
        status = nbcoll_barrier(comm, NBCOLL_FOREVER);
        double began = now();
        if (status == NBCOLL_OK)
            status = sorter_run(&s);
        r->took[round] = now() - began;
        if (status == NBCOLL_OK && round == ROUNDS - 1)
            status = check(all->comm[WAITS], &s, k->key, count, &r->is_right);
    }
    sorter_close(&s);
    return status;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* A line for the way that waits, and one for each that is to be faster, whose rounds are compared with those that took
 * turns with them. Of nine values at least two are on each side of the true median in 96 of 100 cases, so that it is
 * between the second and the last but one. */
static void print(result all[WAYS], const options *o, size_t keys, int ranks)
{
    for (way how = WAYS - 1; how > WAITS; how--)
        for (int i = 0; i < ROUNDS; i++)
            all[how].took[i] /= all[WAITS].took[i];
    for (way how = WAITS; how < WAYS; how++) {
        double *value = all[how].took;
        const char *right = all[how].is_right ? "as by one sort" : "WRONG";
        qsort(value, ROUNDS, sizeof *value, ascending);
        double low = value[1], middle = value[ROUNDS / 2], high = value[ROUNDS - 2];
        if (how == WAITS)
            printf("%d ranks sort %zu keys in %zu buckets, and wait for the histograms: %.1f ms, %s\n", ranks, keys,
                   o->buckets, middle, right);
        else if (all[how].is_taken)
            printf("  %-30s %.2f of that time (95%% interval %.2f to %.2f%s), %s\n", way_names[how], middle, low, high,
                   low <= 1 && high >= 1 ? ": no difference to be seen" : "", right);
    }
}

/* All ways, by turns; who begins changes from round to round. */
static nbcoll_status run(const team *all, const options *o)
{
    nbcoll_comm *comm = all->comm[WAITS];
    result results[WAYS] = {[WAITS] = {.is_taken = 1},
                            [OVERLAPS] = {.is_taken = 1},
                            [OFFLOADS] = {.is_taken = all->agent && is_offloaded(all->comm[OFFLOADS], o->buckets)}};
    nbcoll_status status = NBCOLL_OK;
    key_list k;

    if (keys_read(&k, o->paths, o->count, nbcoll_comm_rank(comm), nbcoll_comm_size(comm)) < 0)
        status = NBCOLL_ERR_MEMORY;
    for (int i = 0; i < ROUNDS * WAYS && status == NBCOLL_OK; i++) {
        way how = (i + i / WAYS) % WAYS;
        if (results[how].is_taken)
            status = sort_once(all, o, &k, how, i / WAYS, &results[how]);
    }
    uint64_t own = taken(o, k.count, nbcoll_comm_rank(comm), nbcoll_comm_size(comm)), keys = 0;
    if (status == NBCOLL_OK)
        status = nbcoll_allreduce(&own, &keys, 1, NBCOLL_UINT64, NBCOLL_SUM, comm, NBCOLL_FOREVER);
    if (status == NBCOLL_OK && nbcoll_comm_rank(comm) == 0)
        print(results, o, keys, nbcoll_comm_size(comm));
    free(k.key);
    return status;
}

/* ---- ranks and agent ------------------------------------------------------------------------------------------- */

/* This rank's end, with memory for its keys if there is an agent. */
static nbcoll_status open_end(nbcoll_endpoint **out)
{
    nbcoll_shm_config config = {.size = sizeof config};
    nbcoll_status status = nbcoll_launch_read(&config);

    if (status == NBCOLL_ERR_LAUNCH) { /* alone */
        config.ranks = 1;
        status = nbcoll_shm_id_make(&config.id);
    }
    if (getenv("NBCOLL_AGENT"))
        config.quota = nbcoll_shm_quota(config.ranks) + SHARED;
    return status == NBCOLL_OK ? nbcoll_shm_open(&config, out) : status;
}

/* A communicator whose collectives the agent carries out, and one for the ranks themselves. */
static nbcoll_status open_all(team *all)
{
    nbcoll_context_config context = {
        .size = sizeof context, .observer = nbcoll_launch_observer(), .watcher = nbcoll_launch_watcher()};
    nbcoll_comm_config config = NBCOLL_COMM_DEFAULTS;
    nbcoll_status status = open_end(&all->endpoint);

    if (status == NBCOLL_OK)
        status = nbcoll_launch_agent(all->endpoint, &all->agent);
    if (status == NBCOLL_OK)
        status = nbcoll_context_create(NBCOLL_ABI, &context, &all->context);
    config.agent = all->agent;
    if (status == NBCOLL_OK)
        status = nbcoll_comm_create(all->context, all->endpoint, &config, &all->comm[OFFLOADS], NBCOLL_FOREVER);
    if (status == NBCOLL_OK)
        status = nbcoll_comm_dup(all->comm[OFFLOADS], &all->comm[WAITS], NBCOLL_FOREVER);
    all->comm[OVERLAPS] = all->comm[WAITS];
    return status;
}

int main(int argc, char **argv)
{
    team all = {0};
    options o;

    if (!read_options(&o, argc, argv)) {
        fprintf(stderr, "radixsort [--radix BUCKETS | --bits BITS] [--keys N | --keys-per-rank N] PATH...\n");
        return 2;
    }
    nbcoll_status status = open_all(&all);
    if (status == NBCOLL_OK)
        status = run(&all, &o);
    if (status != NBCOLL_OK) /* each rank, since the first one that fails ends all */
        fprintf(stderr, "radixsort: %s\n", nbcoll_status_text(status));
    nbcoll_launch_leave(all.context, status);
    nbcoll_agent_close(all.agent);
    return status != NBCOLL_OK;
}
