/* SPDX-License-Identifier: BSD-3-Clause
 * The simulator's speed, on one core: message events a second, where an event is a message that arrived, processor time
 * of building and of playing apart, and bytes a rank. With arguments OPERATION ALGORITHM RANKS that case only. */
#include <inttypes.h>

#include "nbcoll/simulate.h"
#include "nbcoll/verify.h"

#include "timing.h"

enum { REPEATS = 9 };

typedef struct timed {
    const nbcoll_algorithm *algorithm;
    nbcoll_case c;
    double built; /* when the last rank was */
} timed;

/* Seconds. */
static double worked(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static nbcoll_status build(void *user, uint32_t operation, int rank, nbcoll_schedule **out)
{
    (void)operation;
    timed *t = user;
    nbcoll_status status = nbcoll_build_case(t->algorithm, &t->c, rank, NULL, out);
    if (rank == t->c.ranks - 1)
        t->built = worked();
    return status;
}

static int measure(const char *operation, const char *algorithm, int ranks, int repeats)
{
    timed t = {.c = {.size = sizeof t.c, .ranks = ranks, .count = 2, .reduction = {NBCOLL_INT32, NBCOLL_SUM}}};
    nbcoll_sim_model model = {.size = sizeof model};
    nbcoll_sim_config config = {.size = sizeof config, .ranks = ranks, .model = &model};
    nbcoll_sim_result result = {.size = sizeof result};
    double building[REPEATS], playing[REPEATS];
    for (int i = 0; i < NBCOLL_OPERATION_COUNT; i++)
        if (!strcmp(operation, nbcoll_operation_name((nbcoll_operation)i)))
            t.algorithm = nbcoll_algorithm_find(t.c.operation = (nbcoll_operation)i, algorithm);
    nbcoll_status status = t.algorithm ? nbcoll_sim_model_find("cluster", &model) : NBCOLL_ERR_ARGUMENT;
    for (int i = 0; i < repeats && status == NBCOLL_OK; i++) {
        double begin = worked();
        status = nbcoll_simulate(&config, build, &t, &result);
        building[i] = t.built - begin;
        playing[i] = worked() - t.built;
    }
    if (status != NBCOLL_OK) {
        fprintf(stderr, "%s %s: %s\n", operation, algorithm, nbcoll_status_text(status));
        return 1;
    }
    double play = median(playing, repeats);
    printf("%-10s %-19s %8d %10" PRIu64 " %9.3f %9.3f %7.2f (%5.2f to %5.2f) %8" PRIu64 "\n", operation, algorithm,
           ranks, result.arrivals, median(building, repeats), play,
           (double)result.arrivals / play * 1e-6, (double)result.arrivals / playing[repeats - 1] * 1e-6,
           (double)result.arrivals / playing[0] * 1e-6, result.memory / (uint64_t)ranks);
    return 0;
}

int main(int argc, char *argv[])
{
    printf("%-10s %-19s %8s %10s %9s %9s %26s %8s\n", "operation", "algorithm", "ranks", "events", "build s", "play s",
           "million events/s", "B/rank");
    if (argc > 1)
        return argc == 4 ? measure(argv[1], argv[2], atoi(argv[3]), 1) : 2;
    return measure("allgather", "ring", 1024, REPEATS) | measure("allreduce", "recursive_doubling", 1024, REPEATS) |
           measure("barrier", "dissemination", 1024, REPEATS) | measure("barrier", "dissemination", 65536, REPEATS);
}
