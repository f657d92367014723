/* SPDX-License-Identifier: BSD-3-Clause
 * Split trees with real threads: 2 to 16 ranks are threads that share the machine's cores with one driver, which has
 * the last core. Broadcast and reduce down and up a binomial tree of 64 KiB, of which the last S levels are the ranks'
 * own (nbcoll/split.h). Each rank starts, computes 200 us, and waits; also where rank `ranks - 1`, a leaf, comes 300 us
 * late: once as the start returns at once, and the driver has what it has left, and once as the start waits for it
 * (nbcoll_wait_started), as the blocking calls of Denis et al. do.
 *
 *     total     from the first start to the last end
 *     started   how long rank ranks - 2, to which the late one sends, is in its start
 *     left      steps that starts have left to the driver, each time
 *
 * Medians of rounds in which all take turns. Warning: with fewer cores than ranks and a driver, ranks take turns on
 * them, and S shows what switching costs, not what a tree on as many cores would take. What that is the simulator says:
 * nbcoll sim. */
#include "nbcoll/driver.h"

#include "splits.h"

enum { MOST = 16, ROUNDS = 15, COUNT = 8192, COMPUTE_US = 200, LATE_US = 300 };
typedef enum way { TOGETHER, LATE, LATE_AWAITED, WAYS } way;

typedef struct bench {
    int ranks;
    nbcoll_shm_id id;
    nbcoll_driver *driver;
    pthread_barrier_t meeting;
    double from[MOST], to[MOST], started;
    double total[2][SPLITS][WAYS][ROUNDS], in_start[2][SPLITS][WAYS][ROUNDS];
    uint64_t left[2][SPLITS];
} bench;

typedef struct rank {
    bench *b;
    int number;
    nbcoll_context *context;
    nbcoll_comm *comm[SPLITS];
    double send[COUNT], recv[COUNT];
} rank;

static void pass_time(double us)
{
    for (double until = now() + us * 1e3; now() < until;)
        ;
}

static void once(rank *me, int up, int split, way how)
{
    bench *b = me->b;
    nbcoll_request q;

    pthread_barrier_wait(&b->meeting);
    if (how != TOGETHER && me->number == b->ranks - 1)
        pass_time(LATE_US);
    b->from[me->number] = now();
    must(up ? nbcoll_ireduce(me->send, me->recv, COUNT, NBCOLL_DOUBLE, NBCOLL_SUM, 0, me->comm[split], &q)
            : nbcoll_ibcast(me->recv, COUNT, NBCOLL_DOUBLE, 0, me->comm[split], &q));
    if (how == LATE_AWAITED)
        must(nbcoll_wait_started(&q, NBCOLL_FOREVER));
    if (me->number == b->ranks - 2)
        b->started = now() - b->from[me->number];
    pass_time(COMPUTE_US);
    must(nbcoll_wait(&q, NBCOLL_FOREVER));
    b->to[me->number] = now();
    pthread_barrier_wait(&b->meeting);
}

static void note(bench *b, int up, int split, way how, int round)
{
    b->total[up][split][how][round] = span_of(b->from, b->to, b->ranks);
    b->in_start[up][split][how][round] = b->started;
}

static uint64_t steps_left(const bench *b)
{
    nbcoll_driver_counts counts = {.size = sizeof counts};
    must(nbcoll_driver_count(b->driver, &counts));
    return counts.left;
}

static void measure(rank *me)
{
    bench *b = me->b;
    for (int i = -1; i < ROUNDS; i++)
        for (int up = 0; up < 2; up++)
            for (int split = 0; split < SPLITS; split++)
                for (int how = 0; how < WAYS; how++) {
                    uint64_t before = me->number == 0 ? steps_left(b) : 0;
                    once(me, up, split, (way)how);
                    if (me->number == 0 && i >= 0) {
                        note(b, up, split, (way)how, i);
                        b->left[up][split] += how == LATE ? steps_left(b) - before : 0;
                    }
                }
}

static void *run_rank(void *argument)
{
    rank *me = argument;

    me->context = open_splits(&me->b->id, me->number, me->b->ranks, me->comm);
    must(nbcoll_driver_add(me->b->driver, me->context));
    pthread_barrier_wait(&me->b->meeting);
    measure(me);
    must(nbcoll_driver_remove(me->b->driver, me->context));
    close_context(me->context);
    return NULL;
}

static double us(double *v)
{
    return median(v, ROUNDS) / 1e3;
}

static void tell(bench *b)
{
    for (int up = 0; up < 2; up++)
        for (int s = 0; s < SPLITS; s++)
            printf("%-7s %5d %2d %9.0f %9.0f %9.0f %9.0f %9.0f %6.1f\n", up ? "reduce" : "bcast", b->ranks, s,
                   us(b->total[up][s][TOGETHER]), us(b->total[up][s][LATE]),
                   us(b->total[up][s][LATE_AWAITED]), us(b->in_start[up][s][LATE]),
                   us(b->in_start[up][s][LATE_AWAITED]), (double)b->left[up][s] / ROUNDS);
    fflush(stdout);
}

int main(void)
{
    int cores = (int)sysconf(_SC_NPROCESSORS_ONLN), last = cores - 1;
    nbcoll_driver_config config = {.size = sizeof config, .cores = &last, .core_count = 1};
    static rank ranks[MOST];
    static bench b;

    printf("%d cores: where ranks and driver share them, figures are of switching, not of trees\n", cores);
    printf("%-7s %5s %2s %9s %9s %9s %9s %9s %6s\n", "", "ranks", "S", "total, us", "late", "awaited", "started",
           "awaited", "left");
    for (b.ranks = 2; b.ranks <= MOST; b.ranks *= 2) {
        must(nbcoll_shm_id_make(&b.id));
        must(nbcoll_driver_create(&config, &b.driver));
        must(nbcoll_driver_start(b.driver));
        memset(b.left, 0, sizeof b.left);
        pthread_barrier_init(&b.meeting, NULL, (unsigned)b.ranks);
        for (int r = 0; r < b.ranks; r++) {
            ranks[r].b = &b;
            ranks[r].number = r;
        }
        run_threads(b.ranks, run_rank, ranks, sizeof *ranks);
        pthread_barrier_destroy(&b.meeting);
        must(nbcoll_driver_free(b.driver));
        tell(&b);
    }
    return 0;
}
