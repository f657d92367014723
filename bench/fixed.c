/* SPDX-License-Identifier: BSD-3-Clause
 * The benchmark of Denis et al. (nbcoll/split.h) with real threads: `fixed [bcast|reduce [CORES [BYTES [ROUNDS]]]]`, by
 * default 2 MB on the cores that are there. The work is fixed: all ranks together compute what CORES ranks do while the
 * operation blocks them, so that it hides the operation just if nothing is lost. Fewer and fewer ranks, on a core each,
 * share it, and leave the other cores to drivers, one on each.
 *
 *     blocking    the operation down or up a binomial tree, and then the computation
 *     S = 0 to 3  start, nbcoll_wait_started, the computation, wait; the last S levels of the tree are the ranks' own
 *
 * Microseconds, medians of rounds in which all take turns; the model is nbcoll_split_levels. Warning: with more CORES
 * than there are, threads take turns on them, and figures show what switching costs, not what a tree would take. What
 * that is the simulator says: nbcoll sim bcast binomial --fixed-work 64. */
#include "nbcoll/driver.h"
#include "nbcoll/split.h"

#include "splits.h"

enum { MOST = 64, BLOCKING = SPLITS, COMPUTING, FORMS, ROUNDS = 9, MOST_ROUNDS = 99 };

typedef struct bench {
    int up, cores, ranks, rounds;
    size_t count; /* doubles */
    uint64_t loops; /* that a rank computes */
    nbcoll_shm_id id;
    nbcoll_driver *driver[MOST];
    pthread_barrier_t meeting;
    double from[MOST], to[MOST], took[FORMS][MOST_ROUNDS];
} bench;

typedef struct rank {
    bench *b;
    int number;
    nbcoll_context *context;
    nbcoll_comm *comm[SPLITS];
    double *send, *recv;
} rank;

/* The operation, and the computation with its start or behind it; which of them, the form says. */
static void once(rank *me, int form)
{
    bench *b = me->b;
    nbcoll_comm *comm = me->comm[form < SPLITS ? form : 0];
    nbcoll_request q = NBCOLL_REQUEST_NULL;

    pthread_barrier_wait(&b->meeting);
    b->from[me->number] = now();
    if (form != COMPUTING)
        must(b->up ? nbcoll_ireduce(me->send, me->recv, b->count, NBCOLL_DOUBLE, NBCOLL_SUM, 0, comm, &q)
                   : nbcoll_ibcast(me->recv, b->count, NBCOLL_DOUBLE, 0, comm, &q));
    if (form < SPLITS) {
        must(nbcoll_wait_started(&q, NBCOLL_FOREVER));
        work(b->loops);
    }
    must(nbcoll_wait(&q, NBCOLL_FOREVER));
    if (form == COMPUTING)
        work(b->loops);
    b->to[me->number] = now();
    pthread_barrier_wait(&b->meeting);
}

static void measure(rank *me, int first, int last)
{
    for (int i = -1; i < me->b->rounds; i++)
        for (int form = first; form <= last; form++) {
            once(me, form);
            if (me->number == 0 && i >= 0)
                me->b->took[form][i] = span_of(me->b->from, me->b->to, me->b->ranks);
        }
}

static void open_rank(rank *me)
{
    me->context = open_splits(&me->b->id, me->number, me->b->ranks, me->comm);
    me->send = calloc(me->b->count, sizeof *me->send);
    me->recv = calloc(me->b->count, sizeof *me->recv);
    if (!me->send || !me->recv)
        must(NBCOLL_ERR_MEMORY);
}

static void *run_rank(void *argument)
{
    rank *me = argument;
    int drivers = me->b->cores - me->b->ranks;

    bind_to((int)(me->number % sysconf(_SC_NPROCESSORS_ONLN)));
    open_rank(me);
    measure(me, BLOCKING, COMPUTING);
    if (drivers) {
        nbcoll_driver *driver = me->b->driver[me->number % drivers];
        must(nbcoll_driver_add(driver, me->context));
        measure(me, 0, SPLITS - 1);
        must(nbcoll_driver_remove(driver, me->context));
    }
    close_context(me->context);
    free(me->send);
    free(me->recv);
    return NULL;
}

/* All forms, with so many ranks. */
static void run(bench *b, int ranks)
{
    static rank all[MOST];
    int there = (int)sysconf(_SC_NPROCESSORS_ONLN);

    b->ranks = ranks;
    must(nbcoll_shm_id_make(&b->id));
    pthread_barrier_init(&b->meeting, NULL, (unsigned)ranks);
    for (int d = 0; d < b->cores - ranks; d++) {
        int core = (ranks + d) % there;
        nbcoll_driver_config config = {.size = sizeof config, .cores = &core, .core_count = 1};
        must(nbcoll_driver_create(&config, &b->driver[d]));
        must(nbcoll_driver_start(b->driver[d]));
    }
    for (int r = 0; r < ranks; r++)
        all[r] = (rank){.b = b, .number = r};
    run_threads(ranks, run_rank, all, sizeof *all);
    for (int d = 0; d < b->cores - ranks; d++)
        must(nbcoll_driver_free(b->driver[d]));
    pthread_barrier_destroy(&b->meeting);
}

static void tell(bench *b)
{
    double us[FORMS];
    int best = 0;
    for (int form = 0; form < FORMS; form++)
        us[form] = median(b->took[form], b->rounds) / 1e3;
    for (int s = 1; s < SPLITS; s++)
        best = us[s] < us[best] ? s : best;
    printf("%5d %8d %9.0f %9.0f %9.0f %9.0f %9.0f %9.0f %4d %5u\n", b->ranks, b->cores - b->ranks, us[COMPUTING],
           us[BLOCKING] + us[COMPUTING], us[0], us[1], us[2], us[3], best,
           nbcoll_split_levels(b->up ? NBCOLL_OPERATION_REDUCE : NBCOLL_OPERATION_BCAST, b->ranks, b->cores));
    fflush(stdout);
}

int main(int argc, char *argv[])
{
    static bench b;
    int there = (int)sysconf(_SC_NPROCESSORS_ONLN);

    b.up = argc > 1 && strcmp(argv[1], "reduce") == 0;
    b.cores = argc > 2 ? atoi(argv[2]) : there;
    b.count = (argc > 3 ? strtoul(argv[3], NULL, 10) : 2000000) / sizeof(double);
    b.rounds = argc > 4 ? atoi(argv[4]) : ROUNDS;
    if (b.cores < 2 || b.cores > MOST || b.rounds < 1 || b.rounds > MOST_ROUNDS) {
        fprintf(stderr, "2 to %d cores, 1 to %d rounds\n", MOST, MOST_ROUNDS);
        return 2;
    }
    if (b.cores > there)
        printf("%d of %d cores are there: figures are of switching, not of trees\n", there, b.cores);
    run(&b, b.cores);
    double all = median(b.took[BLOCKING], b.rounds) * b.cores * loops_a_ns();
    printf("%5s %8s %9s %9s %9s %9s %9s %9s %4s %5s\n", "ranks", "drivers'", "us comp.", "blocking", "S = 0", "S = 1",
           "S = 2", "S = 3", "best", "model");
    for (int ranks = b.cores - 1; ranks >= (b.cores + 1) / 2; ranks--) {
        b.loops = (uint64_t)(all / ranks);
        run(&b, ranks);
        tell(&b);
    }
    return 0;
}
