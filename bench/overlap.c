/* SPDX-License-Identifier: BSD-3-Clause
 * What a driver hides: two ranks, as processes, compute on core 0 and call nothing between start and wait. Their
 * drivers run on core 1, asleep when nothing was to do for 20 us, or never (spins); or on core 0, too; or a timer
 * interrupts them (ticks, by their period); or there are none.
 *
 *     overlap [--ticks US,...] [BYTES]
 *
 * measures ticks of these periods, 10 us to 1 s, at most four (100,1000), and this number of bytes only (all). Periods
 * below 100 us leave the program little of the core: with them large sizes take minutes.
 *
 *     pure      start and wait, with that driver
 *     compute   both ranks compute, and nothing is started
 *     total     start, compute, wait
 *     overlap   1 - (total - compute) / pure
 *     starts    how long both ranks are in their starts, of the least total
 *     wait      from the end of the later computation, of the same
 *
 * Each is from the first rank's beginning to the last one's end, the least of many rounds in which all take turns: what
 * else runs on the machine only adds. A rank computes for twice the pure time, in which both cores may take part, and
 * for 200 us at least. At first what a tick costs the computation: one that finds nothing outstanding, and one that
 * makes a pass in vain. */
#include <getopt.h>
#include <signal.h>

#include "nbcoll/driver.h"

#include "calls.h"
#include "ranks.h"

enum { RANKS = 2, ROUNDS = 7, BATCH = 3, SIZES = 4 };
static const size_t sizes[SIZES] = {64 << 10, 256 << 10, 1 << 20, 4 << 20};
#define MOST ((size_t)4 << 20)
#define LEAST_NS 200000

#define IDLE_PERIOD 50000 /* ns: of the ticks of which the cost is measured */

/* Then come ticks, by their periods, and nothing. */
enum { ELSEWHERE, SPINNING, HERE, DRIVERS, MOST_PERIODS = 4, MOST_PLACES = DRIVERS + MOST_PERIODS + 1 };
typedef enum form { PURE, COMPUTE, TOTAL, FORMS } form;

/* How long something took; of that both starts, and the wait that ended last. */
typedef struct span {
    double ns, starts, wait;
} span;

enum { KINDS = 5 };
static const nbcoll_operation kinds[KINDS] = {NBCOLL_OPERATION_BCAST, NBCOLL_OPERATION_REDUCE,
                                              NBCOLL_OPERATION_ALLREDUCE, NBCOLL_OPERATION_ALLGATHER,
                                              NBCOLL_OPERATION_ALLTOALL};

/* What the ranks share. */
typedef struct shared {
    nbcoll_shm_id id[2];
    atomic_uint here; /* ranks that have come to a meeting, of all meetings */
    double from[RANKS], to[RANKS];
    double started[RANKS], computed[RANKS];
    double loops; /* a ns */
    size_t bytes; /* of the only size to be measured; 0: all are */
    int places;
    uint64_t period[MOST_PLACES]; /* ns; 0: no ticks */
} shared;

typedef struct rank {
    shared *s;
    int number;
    meeting meets;
    nbcoll_context *contexts[2]; /* for any thread, which drivers are given; for one, which ticks interrupt */
    nbcoll_comm *comms[2], *comm; /* in them; that of the place */
    nbcoll_driver *driver; /* that of the place: another one that spins would have its core */
    int at;                /* a place */
    char *send, *recv;
} rank;

static volatile unsigned came; /* ticks */

static void on_tick(int number, siginfo_t *info, void *machine)
{
    (void)number, (void)machine;
    nbcoll_tick(info->si_value.sival_ptr);
    came++;
}

static void start(rank *me, nbcoll_operation k, size_t bytes, nbcoll_request *q)
{
    int has_blocks = k == NBCOLL_OPERATION_ALLGATHER || k == NBCOLL_OPERATION_ALLTOALL;
    const call c = {k, me->send, me->recv, bytes / sizeof(double) / (has_blocks ? RANKS : 1), NBCOLL_DOUBLE, me->comm};
    must(call_start(&c, q));
}

/* From the first beginning to the last end. */
static span once(rank *me, nbcoll_operation k, size_t bytes, form f, uint64_t loops)
{
    nbcoll_request q = NBCOLL_REQUEST_NULL;

    meet(&me->meets);
    me->s->from[me->number] = now();
    if (f != COMPUTE)
        start(me, k, bytes, &q);
    me->s->started[me->number] = now();
    if (f != PURE)
        work(loops);
    me->s->computed[me->number] = now();
    must(nbcoll_wait(&q, NBCOLL_FOREVER));
    me->s->to[me->number] = now();
    meet(&me->meets);
    double from = me->s->from[0], to = me->s->to[0], computed = 0;
    span took = {0};
    for (int r = 0; r < RANKS; r++) {
        from = me->s->from[r] < from ? me->s->from[r] : from;
        to = me->s->to[r] > to ? me->s->to[r] : to;
        computed = me->s->computed[r] > computed ? me->s->computed[r] : computed;
        took.starts += me->s->started[r] - me->s->from[r];
    }
    meet(&me->meets);
    took.ns = to - from;
    took.wait = to - computed;
    return took;
}

static void start_driver(rank *me, int place)
{
    int core = place != HERE;
    nbcoll_driver_config config = {.size = sizeof config, .cores = &core, .core_count = 1,
                                   .spin_ns = place == SPINNING ? UINT64_MAX : 0};

    must(nbcoll_driver_create(&config, &me->driver));
    must(nbcoll_driver_add(me->driver, me->contexts[0]));
    must(nbcoll_driver_start(me->driver));
}

static void go_to(rank *me, int at)
{
    const uint64_t *period = me->s->period;
    if (me->at < DRIVERS)
        must(nbcoll_driver_free(me->driver));
    else if (period[me->at])
        must(nbcoll_tick_stop(me->contexts[1]));
    if (at < DRIVERS)
        start_driver(me, at);
    else if (period[at])
        must(nbcoll_tick_start(me->contexts[1], SIGRTMIN, period[at]));
    me->comm = me->comms[at >= DRIVERS];
    me->at = at;
    struct timespec t = {0, 1000000}; /* it takes it over, and sleeps */
    nanosleep(&t, NULL);
}

static span least(const span v[ROUNDS])
{
    span best = v[0];
    for (int i = 1; i < ROUNDS; i++)
        best = v[i].ns < best.ns ? v[i] : best;
    return best;
}

/* Several in a row: what came before leaves its traces in caches and in the shares of the core. */
static span batch(rank *me, nbcoll_operation k, size_t bytes, form f, uint64_t loops)
{
    span best = once(me, k, bytes, f, loops);
    for (int i = 1; i < BATCH; i++) {
        span took = once(me, k, bytes, f, loops);
        best = took.ns < best.ns ? took : best;
    }
    return best;
}

static void name_place(const shared *s, int at, char name[32])
{
    static const char *const drivers[DRIVERS] = {"core 1", "spins", "core 0"};
    if (at < DRIVERS || !s->period[at])
        snprintf(name, 32, "%s", at < DRIVERS ? drivers[at] : "none");
    else if (s->period[at] % 1000000)
        snprintf(name, 32, "%llu us", (unsigned long long)s->period[at] / 1000);
    else
        snprintf(name, 32, "%llu ms", (unsigned long long)s->period[at] / 1000000);
}

static void measure(rank *me, nbcoll_operation k, size_t bytes)
{
    static span took[MOST_PLACES][FORMS][ROUNDS];
    uint64_t loops[MOST_PLACES];
    int places = me->s->places;

    for (int p = 0; p < places; p++) {
        span warm[ROUNDS];
        go_to(me, p);
        for (int i = 0; i < ROUNDS; i++)
            warm[i] = batch(me, k, bytes, PURE, 0);
        double longest = 2 * least(warm).ns > LEAST_NS ? 2 * least(warm).ns : LEAST_NS;
        loops[p] = (uint64_t)(longest * me->s->loops);
    }
    for (int i = 0; i < ROUNDS; i++)
        for (int p = 0; p < places; p++) {
            go_to(me, p);
            for (int f = 0; f < FORMS; f++)
                took[p][f][i] = batch(me, k, bytes, (form)f, loops[p]);
        }
    for (int p = 0; p < places && me->number == 0; p++) {
        char name[32];
        double pure = least(took[p][PURE]).ns, compute = least(took[p][COMPUTE]).ns;
        span total = least(took[p][TOTAL]);
        name_place(me->s, p, name);
        printf("%-10s %7zu  %-7s %9.1f %9.1f %9.1f %8.0f%% %7.1f %7.1f\n", nbcoll_operation_name(k), bytes, name,
               pure / 1e3, compute / 1e3, total.ns / 1e3, 100 * (1 - (total.ns - compute) / pure), total.starts / 1e3,
               total.wait / 1e3);
    }
    if (me->number == 0)
        fflush(stdout);
}

/* Rank 0 computes for 20 ms, the least of many times, while rank 1 sleeps: without ticks, with nothing outstanding, and
 * while an operation waits for rank 1. */
static void measure_ticks(rank *me)
{
    uint64_t loops = (uint64_t)(2e7 * me->s->loops), value;
    double best[3] = {1e12, 1e12, 1e12};
    unsigned count[3] = {0};
    nbcoll_request q;

    for (int i = 0; i < ROUNDS * 3; i++) {
        int how = i % 3;
        meet(&me->meets);
        if (me->number == 0) {
            if (how)
                must(nbcoll_tick_start(me->contexts[1], SIGRTMIN, IDLE_PERIOD));
            if (how == 2)
                must(nbcoll_ibcast(&value, 1, NBCOLL_UINT64, 1, me->comms[1], &q));
            came = 0;
            double ns = now();
            work(loops);
            ns = now() - ns;
            if (ns < best[how]) {
                best[how] = ns;
                count[how] = came;
            }
            if (how)
                must(nbcoll_tick_stop(me->contexts[1]));
        } else {
            struct timespec t = {0, 40000000};
            nanosleep(&t, NULL);
            if (how == 2)
                must(nbcoll_ibcast(&value, 1, NBCOLL_UINT64, 1, me->comms[1], &q));
        }
        if (how == 2)
            must(nbcoll_wait(&q, NBCOLL_FOREVER));
        meet(&me->meets);
    }
    for (int how = 1; how < 3 && me->number == 0; how++)
        printf("a tick that %s takes %.2f us of the computation\n",
               how == 1 ? "finds nothing outstanding" : "makes a pass in vain",
               (best[how] - best[0]) / 1e3 / (count[how] ? count[how] : 1));
    fflush(stdout);
}

static void open_rank(rank *me)
{
    for (int i = 0; i < 2; i++)
        me->comms[i] = open_shm(&me->s->id[i], me->number, RANKS, i ? 0 : NBCOLL_ANY_THREAD, NULL, &me->contexts[i]);
    me->at = me->s->places - 1;
    me->send = aligned_alloc(128, MOST);
    me->recv = aligned_alloc(128, MOST);
    memset(me->send, 0, MOST);
    memset(me->recv, 0, MOST);
}

static void run_rank(void *memory, int number)
{
    shared *s = memory;
    struct sigaction action = {.sa_sigaction = on_tick, .sa_flags = SA_SIGINFO | SA_RESTART};
    rank me = {.s = s, .number = number, .meets = {&s->here, RANKS, 0, 0}};

    sigaction(SIGRTMIN, &action, NULL);
    open_rank(&me);
    measure_ticks(&me);
    if (number == 0)
        printf("%-10s %7s  %-7s %9s %9s %9s %9s %7s %7s\n", "operation", "bytes", "driver", "pure, us", "compute",
               "total", "overlap", "starts", "wait");
    for (int k = 0; k < KINDS; k++)
        for (int i = 0; i < SIZES; i++)
            if (!s->bytes || s->bytes == sizes[i])
                measure(&me, kinds[k], sizes[i]);
    go_to(&me, s->places - 1);
    for (int i = 0; i < 2; i++)
        close_context(me.contexts[i]);
}

/* "100,1000": of ticks, in microseconds. Then there is nothing. Is it right? */
static int take_periods(shared *s, const char *list)
{
    s->places = DRIVERS;
    for (const char *at = list; s->places < DRIVERS + MOST_PERIODS;) {
        char *end;
        unsigned long us = strtoul(at, &end, 10);
        if (end == at || us * 1000 < NBCOLL_TICK_LEAST || us > 1000000)
            return 0;
        s->period[s->places++] = us * 1000;
        if (!*end) {
            s->period[s->places++] = 0;
            return 1;
        }
        at = end + (*end == ',');
    }
    return 0;
}

static int take_arguments(shared *s, int argc, char *argv[])
{
    static const struct option options[] = {{"ticks", required_argument, NULL, 't'}, {NULL, 0, NULL, 0}};
    int option, is_right = take_periods(s, "100,1000");

    while ((option = getopt_long(argc, argv, "", options, NULL)) >= 0)
        is_right &= option == 't' && take_periods(s, optarg);
    s->bytes = optind < argc ? strtoul(argv[optind], NULL, 10) : 0;
    for (int i = 0; i < SIZES && optind < argc; i++)
        optind += s->bytes == sizes[i];
    if (!is_right || optind < argc)
        fputs("usage: overlap [--ticks US,...] [BYTES]: at most four, each of 10 to 1000000 us\n",
              stderr);
    return is_right && optind == argc;
}

int main(int argc, char *argv[])
{
    shared *s = share(sizeof *s);

    bind_to(0);
    if (!take_arguments(s, argc, argv))
        return 2;
    for (int i = 0; i < 2; i++)
        must(nbcoll_shm_id_make(&s->id[i]));
    s->loops = loops_a_ns();
    return run_ranks(RANKS, run_rank, s);
}
