/* SPDX-License-Identifier: BSD-3-Clause
 * What a pause of the receiver passes on to the sender of a message, and how much of a message hides behind computing:
 * over loopback, two ranks that are threads, by four ways in turn:
 *
 *     host      a message (nbcoll/message.h) that only calls of its ranks move
 *     carried   a message that the ranks' agents carry (nbcoll_messages_config.routes)
 *     driver    a message, and a driver that makes the receiver's passes (nbcoll/driver.h)
 *     program   a schedule of one step at each rank, compiled, which an agent executes (nbcoll/offload.h)
 *
 *     passed    the receiver starts, pauses for so long without a call, then waits; the sender starts and waits. How
 *               much longer that takes the sender than without a pause, in percent of the pause: medians
 *     hidden    the receiver computes between start and wait, for twice as long as the message takes, or for 20 ms:
 *               1 - (total - away) / alone: from start to the end of wait; what it computed; a total without computing.
 *               Medians. Its parts are printed, too, start and wait, and how much they are of what they must add up to
 *
 * `delay [PAUSE_MS]`: 1000 without. The receiver has core 1; the sender core 0; the driver, and the thread of both
 * agents, core 2, or 0 where there are two. bench/delay.sh runs it over verbs in an emulated machine, whose stack has
 * core 3.
 *
 * With 1 s, on two virtual cores of a Xeon, at real-time priority (29 November 2026; the thesis, table 3.1 and figure
 * 3.8: host 99 %, offloaded 2 %; 98 % hidden of 512 KB):
 *
 *               passed to 4 KB   from 12 KB on   hidden of 512 KB   behind 20 ms
 *     host           0.0 %          100.0 %           none             none
 *     carried        0.0 %            0.0 %          98.1 %           86.8 %
 *     driver         0.0 %            0.0 %          98.8 %           86.0 %
 *     program        0.0 %            0.0 %          98.7 %           89.0 %
 *
 * Over rxe (passed to 4 KB; from 12 KB on; hidden), while others computed: host 0.0 %, 99 to 103 %, 20 %; carried 0.0,
 * at most 1.2, 99.7 %; driver 0.0, at most 1.9, 99.4 %; program 0.0, 0.0, 99.9 %.
 *
 * The parts are medians of their own: start and wait are 99 to 103 % of what is left, and 99.9 to 100.3 % of the total
 * with what was computed, also while others had the cores.
 *
 * The 20 ms are no time of the message: it has come when the receiver looks (one pass ends it). They cost its
 * core the code of the library: if it runs the same code for other messages right before, 8 us become 3.
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <nbcoll/driver.h>
#include <nbcoll/loopback.h>
#include <nbcoll/message.h>
#include <nbcoll/offload.h>

#include "timing.h"

enum { MOST = 512 << 10, ROUNDS = 5, SHORT_ROUNDS = 51, LONG_NS = 20000000 };

typedef enum way { HOST, CARRIED, DRIVER, PROGRAM, WAYS } way;
static const char *const ways[WAYS] = {"host", "carried", "driver", "program"};

typedef struct party {
    pthread_barrier_t *meet;
    nbcoll_endpoint *endpoint;
    nbcoll_agent *agent;
    nbcoll_program *program;
    nbcoll_messages *m, *carried;
    nbcoll_request request;
    nbcoll_program_run *run;
    unsigned char *data;
    int rank;
    size_t bytes;
    way way;
} party;

static double pause_ns = 1e9;
static int helpers_core; /* of agents and driver */
static atomic_int is_over;
static nbcoll_agent *agents[2];
/* Of the last round, by rank: from its start to its end, and without the pause; and its parts. */
typedef struct span {
    double total, away, start, wait, left; /* left: total - away */
} span;
static span took[2];

static void rest(double ns)
{
    struct timespec t = {(time_t)(ns / 1e9), (long)(ns - (double)(time_t)(ns / 1e9) * 1e9)};
    nanosleep(&t, NULL);
}

/* This thread, and those that it makes. */
static void live_on(int core)
{
    cpu_set_t cores;
    CPU_ZERO(&cores);
    CPU_SET(core, &cores);
    pthread_setaffinity_np(pthread_self(), sizeof cores, &cores); /* where there is no such core it lives anywhere */
}

/* ---- a message ----------------------------------------------------------------------------------------------- */

static void start(party *p)
{
    nbcoll_messages *m = p->way == CARRIED ? p->carried : p->m;
    int tag = (int)p->bytes; /* the first message of a tag is its longest */

    if (p->way == PROGRAM)
        must(nbcoll_agent_start(p->agent, p->program, p->data, p->data, &p->run));
    else if (p->rank)
        must(nbcoll_irecv(p->data, p->bytes, NBCOLL_BYTE, 0, tag, m, NULL, &p->request));
    else
        must(nbcoll_isend(p->data, p->bytes, NBCOLL_BYTE, 1, tag, m, &p->request));
}

static void end(party *p)
{
    nbcoll_status s;
    if (p->way != PROGRAM) {
        must(nbcoll_wait(&p->request, NBCOLL_FOREVER));
        return;
    }
    while ((s = nbcoll_agent_test(p->run)) == NBCOLL_PENDING)
        sched_yield();
    must(s);
}

/* Both ranks; the receiver is away between start and end. */
static void round_of(party *p, double away, int computes)
{
    memset(p->data, p->rank ? 0 : 5, p->bytes);
    pthread_barrier_wait(p->meet);
    double begin = now();
    start(p);
    double left = now(), back = left;
    if (p->rank && away > 0) {
        if (computes)
            while (now() < left + away)
                ;
        else
            rest(away);
        back = now();
    }
    end(p);
    double over = now();
    took[p->rank] = (span){over - begin, back - left, left - begin, over - back, left - begin + over - back};
    if (p->rank && p->bytes && p->data[p->bytes - 1] != 5) {
        fprintf(stderr, "wrong data\n");
        exit(1);
    }
    pthread_barrier_wait(p->meet);
}

static double middle(span of[], int rounds, size_t part)
{
    double values[SHORT_ROUNDS];
    for (int i = 0; i < rounds; i++)
        values[i] = *(const double *)(const void *)((const char *)&of[i] + part);
    qsort(values, (size_t)rounds, sizeof *values, by_value);
    return values[rounds / 2];
}

/* Each member's own median. */
static span medians_of(party *p, double away, int computes, int rank)
{
    span of[SHORT_ROUNDS];
    int rounds = away >= 1e9 && !computes ? 3 : away < LONG_NS ? SHORT_ROUNDS : ROUNDS;
    for (int i = 0; i < rounds; i++) {
        round_of(p, away, computes);
        of[i] = took[rank];
    }
    return (span){middle(of, rounds, offsetof(span, total)), middle(of, rounds, offsetof(span, away)),
                  middle(of, rounds, offsetof(span, start)), middle(of, rounds, offsetof(span, wait)),
                  middle(of, rounds, offsetof(span, left))};
}

/* ---- setting up ---------------------------------------------------------------------------------------------- */

static nbcoll_program *compile(int rank, size_t bytes)
{
    nbcoll_program_config config = {.size = sizeof config};
    nbcoll_schedule *schedule[2];
    nbcoll_program *program;

    for (int r = 0; r < 2; r++) {
        nbcoll_builder_config made = {.size = sizeof made, .rank = r, .ranks = 2};
        nbcoll_builder *b;
        must(nbcoll_builder_open(&made, &b));
        if (r)
            nbcoll_add_recv(b, 0, (nbcoll_addr){NBCOLL_BUFFER_RECV, 0}, bytes);
        else
            nbcoll_add_send(b, 1, (nbcoll_addr){NBCOLL_BUFFER_SEND, 0}, bytes);
        must(nbcoll_builder_finish(b, &schedule[r]));
    }
    must(nbcoll_compile((const nbcoll_schedule *const *)schedule, 2, &config, rank, 1, &program, NULL));
    nbcoll_schedule_free(schedule[0]);
    nbcoll_schedule_free(schedule[1]);
    return program;
}

/* Both agents'. */
static void *execute(void *unused)
{
    (void)unused;
    live_on(helpers_core);
    while (!atomic_load(&is_over)) {
        int moved = nbcoll_agent_progress(agents[0]);
        moved |= nbcoll_agent_progress(agents[1]);
        if (!moved)
            sched_yield();
    }
    return NULL;
}

/* At the receiver. The parts are medians of their own: what they lack of the median of all is what no part has. */
static void hide(party *p)
{
    double alone = medians_of(p, 0, 0, 1).left;
    const double behind[2] = {2 * alone, LONG_NS}; /* the longer one only if it is that */
    for (int i = 0; i < 2 && behind[i] >= 2 * alone; i++) {
        span is = medians_of(p, behind[i], 1, 1);
        if (!p->rank)
            continue;
        printf("         hidden behind %.1f us: 1 - (total %.1f - away %.1f) / alone %.1f = %.1f %%\n", behind[i] / 1e3,
               is.total / 1e3, is.away / 1e3, alone / 1e3, (1 - (is.total - is.away) / alone) * 100);
        printf("         left: start %.2f + wait %.2f = %.1f %% of %.2f us; with away %.2f %% of the total\n",
               is.start / 1e3, is.wait / 1e3, (is.start + is.wait) / is.left * 100, is.left / 1e3,
               (is.start + is.wait + is.away) / is.total * 100);
    }
}

static void measure(party *p, way w, size_t bytes)
{
    p->way = w;
    p->bytes = bytes;
    p->program = w == PROGRAM ? compile(p->rank, bytes) : NULL;
    round_of(p, 0, 0); /* opens queue pairs */
    double without = medians_of(p, 0, 0, 0).left, with = medians_of(p, pause_ns, 0, 0).left;
    if (!p->rank)
        printf("%-8s %7zu %9.1f us %8.1f %% passed\n", ways[w], bytes, without / 1e3,
               (with - without) / pause_ns * 100);
    if (bytes == MOST)
        hide(p);
    nbcoll_program_free(p->program);
}

static void *rank_runs(void *of)
{
    static const size_t sizes[] = {8, 1 << 10, 4 << 10, 12 << 10, 16 << 10, 64 << 10, MOST};
    party *p = of;
    nbcoll_context_config config = {.size = sizeof config, .flags = NBCOLL_ANY_THREAD};
    nbcoll_comm_config terms = NBCOLL_COMM_DEFAULTS;
    const nbcoll_messages_config carries = {.size = sizeof carries, .routes = 16};
    nbcoll_context *context;
    nbcoll_comm *comm;
    nbcoll_driver *driver = NULL;
    nbcoll_driver_config drives = {.size = sizeof drives};

    live_on(p->rank);
    must(nbcoll_context_create(NBCOLL_ABI, &config, &context));
    terms.agent = p->agent;
    must(nbcoll_comm_create(context, p->endpoint, &terms, &comm, NBCOLL_FOREVER));
    must(nbcoll_messages_open(comm, NULL, &p->m, NBCOLL_FOREVER));
    must(nbcoll_messages_open(comm, &carries, &p->carried, NBCOLL_FOREVER));
    for (way w = HOST; w < WAYS; w++) {
        if (w == DRIVER && p->rank) {
            must(nbcoll_driver_create(&drives, &driver));
            must(nbcoll_driver_add(driver, context));
            live_on(helpers_core);
            must(nbcoll_driver_start(driver));
            live_on(p->rank);
        }
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
            measure(p, w, sizes[i]);
        pthread_barrier_wait(p->meet);
        if (w == DRIVER && p->rank)
            must(nbcoll_driver_free(driver));
    }
    pthread_barrier_wait(p->meet);
    must(nbcoll_messages_close(p->m));
    must(nbcoll_messages_close(p->carried));
    if (!p->rank)
        atomic_store(&is_over, 1);
    return context;
}

int main(int argc, char **argv)
{
    nbcoll_loopback_config config = {.size = sizeof config, .ranks = 2, .pairs = nbcoll_loopback_pairs()};
    nbcoll_agent_config serves = {.size = sizeof serves};
    nbcoll_loopback *world;
    pthread_barrier_t meet;
    pthread_t thread[2], executes;
    party p[2];
    void *context[2];

    pause_ns = (argc > 1 ? atof(argv[1]) : 1000) * 1e6;
    helpers_core = sysconf(_SC_NPROCESSORS_ONLN) > 2 ? 2 : 0;
    printf("receiver: core 1, sender: core 0, agents and driver: core %d; %s\n", helpers_core,
           sched_getscheduler(0) == SCHED_FIFO ? "real-time priority" : "other processes may take the cores");
    must(nbcoll_loopback_create(&config, &world));
    pthread_barrier_init(&meet, NULL, 2);
    for (int r = 0; r < 2; r++) {
        p[r] = (party){.meet = &meet, .rank = r, .data = aligned_alloc(4096, MOST)};
        must(nbcoll_loopback_open(world, r, &p[r].endpoint));
        must(nbcoll_agent_open(p[r].endpoint, &serves, &p[r].agent));
        agents[r] = p[r].agent;
    }
    pthread_create(&executes, NULL, execute, NULL);
    for (int r = 0; r < 2; r++)
        pthread_create(&thread[r], NULL, rank_runs, &p[r]);
    for (int r = 0; r < 2; r++)
        pthread_join(thread[r], &context[r]);
    pthread_join(executes, NULL);
    for (int r = 0; r < 2; r++) {
        must(nbcoll_agent_close(p[r].agent));
        must(nbcoll_context_free(context[r]));
        free(p[r].data);
    }
    must(nbcoll_loopback_free(world));
    return 0;
}
