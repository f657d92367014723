/* SPDX-License-Identifier: BSD-3-Clause
 * What a driver on the rank's own core takes of its computation, and how soon the operation ends: the benchmark of
 * uKACC (Nomura et al., section V). Each rank has a core. A broadcast down a chain, in 16 pieces as a graph
 * (examples/chain), is started on rank 1, and matrices are multiplied, one product after the other, until it has ended;
 * rank 0 starts it later, so that most of the time there is nothing to do but to wait. Who progresses on rank 1, on its
 * core:
 *
 *     driver    a driver as it is made by default
 *     given way the same, and the computation has nice 19
 *     sleeps    a driver that sleeps at once when it has nothing to do
 *     yields    one that never sleeps, but yields
 *     polls     one that does not yield either, as LibNBC's thread
 *     ticks     a timer, each 100 us
 *     manual    nobody: the computation tests after each product. All receives are posted first
 *
 *     lost      1 - t(the same products alone) / t(these products)
 *     ended     from rank 0's start to rank 1's end, over that of manual
 *
 * Medians of rounds in which all take turns. openblas, one thread. */
#include <cblas.h>
#include <signal.h>
#include <sys/resource.h>

#include "../examples/chain/chain.h"
#include "nbcoll/driver.h"

#include "ranks.h"

enum { RANKS = 2, ROUNDS = 11, PIECES = 16, SIZES = 3, MATRIX = 96, WAIT_US = 5000, PERIOD_US = 100 };
static const size_t sizes[SIZES] = {12500, 125000, 1250000}; /* bytes; the paper's */

typedef enum way { DRIVER, GIVEN_WAY, SLEEPS, YIELDS, POLLS, TICKS, MANUAL, WAYS } way;
static const char *const ways[WAYS] = {"driver", "given way", "sleeps", "yields", "polls", "ticks", "manual"};

/* What the ranks share. */
typedef struct shared {
    nbcoll_shm_id id[2];
    atomic_uint here; /* ranks that have come to a meeting, of all meetings */
    _Atomic double begun, ended;
} shared;

typedef struct rank {
    shared *s;
    int number;
    meeting meets;
    nbcoll_context *context[2]; /* for any thread, and for one */
    nbcoll_comm *comm[2];
    nbcoll_driver *driver[POLLS + 1]; /* those that never sleep: while it is their turn */
} rank;

static double a[MATRIX * MATRIX], b[MATRIX * MATRIX], c[MATRIX * MATRIX];

static void multiply(void)
{
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, MATRIX, MATRIX, MATRIX, 1e-3, a, MATRIX, b, MATRIX, 1, c,
                MATRIX);
}

static void on_tick(int number, siginfo_t *info, void *machine)
{
    (void)number, (void)machine;
    nbcoll_tick(info->si_value.sival_ptr);
}

static void on_done(nbcoll_request request, nbcoll_status status, void *user)
{
    (void)request;
    must(status);
    atomic_store(&((rank *)user)->s->ended, now());
}

static void pause_not(void *user, uint64_t looks)
{
    (void)user, (void)looks;
}

static void pause_yields(void *user, uint64_t looks)
{
    (void)user, (void)looks;
    sched_yield();
}

static void start_driver(rank *me, way how)
{
    int core = 1;
    nbcoll_driver_config config = {.size = sizeof config, .cores = &core, .core_count = 1, .spin_ns = how == SLEEPS};

    config.host = (nbcoll_host){.size = sizeof config.host,
                                .pause = how == POLLS ? pause_not : how == YIELDS ? pause_yields : NULL};
    must(nbcoll_driver_create(&config, &me->driver[how]));
    must(nbcoll_driver_start(me->driver[how]));
}

static void begin(rank *me, way how)
{
    if (how == YIELDS || how == POLLS)
        start_driver(me, how);
    if (how <= POLLS)
        must(nbcoll_driver_add(me->driver[how], me->context[0]));
    else if (how == TICKS)
        must(nbcoll_tick_start(me->context[1], SIGRTMIN, PERIOD_US * 1000));
    setpriority(PRIO_PROCESS, (id_t)gettid(), how == GIVEN_WAY ? 19 : 0);
}

static void end(rank *me, way how)
{
    setpriority(PRIO_PROCESS, (id_t)gettid(), 0);
    if (how == YIELDS || how == POLLS)
        must(nbcoll_driver_free(me->driver[how]));
    else if (how <= POLLS)
        must(nbcoll_driver_remove(me->driver[how], me->context[0]));
    else if (how == TICKS)
        must(nbcoll_tick_stop(me->context[1]));
}

/* Has it ended? Where others progress it, without a call. */
static int is_over(nbcoll_request *q, way how)
{
    if (how == MANUAL)
        return nbcoll_test(q) != NBCOLL_PENDING;
    uint32_t state = __atomic_load_n(&q->at->state, __ATOMIC_ACQUIRE);
    return state != NBCOLLI_REQUEST_HANDED && state != NBCOLLI_REQUEST_ACTIVE;
}

/* Rank 1: the share lost, and how long it took from rank 0's start on. */
static void receive_once(rank *me, nbcoll_schedule *s, void *data, way how, double *lost, double *took)
{
    nbcoll_request q;
    int products = 0;

    atomic_store(&me->s->ended, 0);
    begin(me, how);
    meet(&me->meets);
    double from = now();
    must(nbcoll_schedule_start(s, NULL, data, me->comm[how > POLLS], &q));
    if (how <= POLLS)
        must(nbcoll_on_done(q, on_done, me));
    do {
        multiply();
        products++;
    } while (!is_over(&q, how));
    double to = now(), ended = atomic_load(&me->s->ended);
    must(nbcoll_wait(&q, NBCOLL_FOREVER));
    end(me, how);
    double alone = now();
    for (int i = 0; i < products; i++)
        multiply();
    alone = now() - alone;
    meet(&me->meets);
    *lost = 1 - alone / (to - from);
    *took = (ended > 0 ? ended : to) - atomic_load(&me->s->begun);
}

static void send_once(rank *me, nbcoll_schedule *s, void *data, way how)
{
    meet(&me->meets);
    for (double until = now() + WAIT_US * 1e3; now() < until;)
        ;
    nbcoll_request q;
    atomic_store(&me->s->begun, now());
    must(nbcoll_schedule_start(s, NULL, data, me->comm[how > POLLS], &q));
    must(nbcoll_wait(&q, NBCOLL_FOREVER));
    meet(&me->meets);
}

static void measure(rank *me, size_t bytes)
{
    static double lost[WAYS][ROUNDS], took[WAYS][ROUNDS];
    nbcoll_args args = {.size = sizeof args, .operation = NBCOLL_OPERATION_BCAST, .count = bytes,
                        .reduction = {NBCOLL_BYTE, NBCOLL_SUM}, .segment = bytes / PIECES};
    nbcoll_builder_config config = {.size = sizeof config, .rank = me->number, .ranks = RANKS};
    nbcoll_schedule *s[2]; /* each belongs to a context */
    void *data = calloc(1, bytes);

    for (int i = 0; i < 2; i++)
        must(nbcoll_build_schedule(&chain_algorithms[0], &args, &config, &s[i]));
    for (int i = -1; i < ROUNDS; i++)
        for (int how = 0; how < WAYS; how++) {
            int at = i < 0 ? 0 : i;
            if (me->number == 0)
                send_once(me, s[how > POLLS], data, (way)how);
            else
                receive_once(me, s[how > POLLS], data, (way)how, &lost[how][at], &took[how][at]);
        }
    for (int i = 0; i < 2; i++)
        must(nbcoll_schedule_free(s[i]));
    free(data);
    for (int how = 0; how < WAYS && me->number == 1; how++)
        printf("%8zu  %-10s %7.1f%% %9.1f %9.2f\n", bytes, ways[how], 100 * median(lost[how], ROUNDS),
               median(took[how], ROUNDS) / 1e3, median(took[how], ROUNDS) / median(took[MANUAL], ROUNDS));
    fflush(stdout);
}

static void open_rank(rank *me)
{
    for (int i = 0; i < 2; i++)
        me->comm[i] = open_shm(&me->s->id[i], me->number, RANKS, i ? 0 : NBCOLL_ANY_THREAD, NULL, &me->context[i]);
    for (int how = 0; how < YIELDS && me->number == 1; how++)
        start_driver(me, (way)how);
}

static void run_rank(void *memory, int number)
{
    shared *s = memory;
    struct sigaction action = {.sa_sigaction = on_tick, .sa_flags = SA_SIGINFO | SA_RESTART};
    rank me = {.s = s, .number = number, .meets = {&s->here, RANKS, 0, 0}};

    sigaction(SIGRTMIN, &action, NULL);
    bind_to(number);
    for (int i = 0; i < MATRIX * MATRIX; i++)
        a[i] = b[i] = 1e-3 * i;
    open_rank(&me);
    if (number == 1)
        printf("%8s  %-10s %8s %9s %9s\n", "bytes", "way", "lost", "ended, us", "to manual");
    for (int i = 0; i < SIZES; i++)
        measure(&me, sizes[i]);
    for (int how = 0; how < YIELDS && number == 1; how++)
        must(nbcoll_driver_free(me.driver[how]));
    for (int i = 0; i < 2; i++)
        close_context(me.context[i]);
}

int main(void)
{
    shared *s = share(sizeof *s);

    for (int i = 0; i < 2; i++)
        must(nbcoll_shm_id_make(&s->id[i]));
    return run_ranks(RANKS, run_rank, s);
}
