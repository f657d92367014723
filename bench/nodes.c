/* SPDX-License-Identifier: BSD-3-Clause
 * What agents and a driver hide of a hierarchical allgather: four ranks, two nodes of two, whose first ones exchange
 * what their nodes have, as threads over loopback. All ranks are bound to core 0, where they compute one after the
 * other and call nothing between start and wait; who works for them is a driver's thread on core 1. By four ways in
 * turn, in every round: the ranks' engines alone; a driver that has their contexts; one that has their agents, which
 * carry out the exchange, while ranks copy when they wait; one that has both, and so copies, too. `nodes [BYTES
 * [ROUNDS]]`: of a block (1 KiB, 16 KiB, 64 KiB and 256 KiB), and how many rounds.
 *
 *     pure      start, a test once all have started, by which leaders see that their nodes have come, and wait
 *     left      what the same takes with all ranks' computation before the wait, less that computation, which is as
 *               long as twice pure, and 200 us at least
 *     hidden    1 - left / pure
 *     ratio     of what is left to that of the engines alone
 *
 * From the first rank's beginning to the last one's end: of nine in a row the least, since what else runs on the
 * machine only adds, of 21 rounds the median. Before and after, how long a line takes from one core to the other: the
 * latency class. */
#include <stdbool.h>

#include "nbcoll/driver.h"
#include "nbcoll/loopback.h"
#include "nbcoll/offload.h"
#include "nbcoll/select.h"

#include "ranks.h"

enum { RANKS = 4, NODE = 2, ROUNDS = 21, BATCH = 9, MOST = 256 << 10, LEAST_NS = 200000, PASSES = 20000, CHUNK = 100 };

static const struct {
    const char *name;
    bool has_agents, has_contexts; /* the driver */
} ways[] = {{"engines", false, false},
            {"engines, driver", false, true},
            {"agents", true, false},
            {"agents, driver", true, true}};
enum { WAYS = sizeof ways / sizeof *ways };
typedef enum form { PURE, COMPUTE, TOTAL, FORMS } form;

typedef struct world {
    nbcoll_loopback *loopback;
    nbcoll_endpoint *endpoint[RANKS];
    nbcoll_agent *agent[RANKS];
    nbcoll_context *context[RANKS];
    nbcoll_driver *driver;
} world;

static world worlds[WAYS];
static atomic_uint here; /* ranks that have come to a meeting, of all meetings */
static double from[RANKS], to[RANKS], speed; /* speed: loops a ns */
static size_t only; /* bytes of a block; 0: several */
static int rounds = ROUNDS;

typedef struct rank {
    int number;
    meeting meets;
    nbcoll_comm *comm[WAYS];
    char *send, *recv;
} rank;

static void print_latency(void)
{
    printf("a line takes %.0f ns from core to core\n", line_ns(0, 1));
    fflush(stdout);
}

/* ---- rounds ------------------------------------------------------------------------------------------------------ */

static double once(rank *me, int way, size_t bytes, form f, uint64_t loops)
{
    nbcoll_request q = NBCOLL_REQUEST_NULL;
    meet(&me->meets);
    from[me->number] = now();
    if (f != COMPUTE)
        must(nbcoll_iallgather(me->send, me->recv, bytes, NBCOLL_BYTE, me->comm[way], &q));
    meet(&me->meets);
    nbcoll_status s = nbcoll_test(&q);
    if (s != NBCOLL_PENDING)
        must(s);
    if (f != PURE)
        work(loops);
    must(nbcoll_wait(&q, NBCOLL_FOREVER));
    to[me->number] = now();
    meet(&me->meets);
    double took = span_of(from, to, RANKS);
    meet(&me->meets);
    return took;
}

static double batch(rank *me, int way, size_t bytes, form f, uint64_t loops)
{
    double least = once(me, way, bytes, f, loops);
    for (int i = 1; i < BATCH; i++) {
        double took = once(me, way, bytes, f, loops);
        least = took < least ? took : least;
    }
    return least;
}

static void measure(rank *me, size_t bytes)
{
    static double took[RANKS][WAYS][FORMS][ROUNDS];
    uint64_t loops[WAYS];
    double engines = 0;
    for (int w = 0; w < WAYS; w++) {
        double warm[ROUNDS];
        for (int i = 0; i < rounds; i++)
            warm[i] = batch(me, w, bytes, PURE, 0);
        double all = 2 * median(warm, rounds);
        loops[w] = (uint64_t)((all > LEAST_NS ? all : LEAST_NS) * speed / RANKS);
    }
    for (int i = 0; i < rounds; i++)
        for (int w = 0; w < WAYS; w++)
            for (int f = 0; f < FORMS; f++)
                took[me->number][w][f][i] = batch(me, w, bytes, (form)f, loops[w]);
    for (int w = 0; w < WAYS && me->number == 0; w++) {
        double pure = median(took[0][w][PURE], rounds), compute = median(took[0][w][COMPUTE], rounds);
        double left = median(took[0][w][TOTAL], rounds) - compute;
        engines = w ? engines : left;
        printf("%8zu  %-16s %9.1f %9.1f %9.1f %8.0f%% %8.2f\n", bytes, ways[w].name, pure / 1e3, compute / 1e3,
               left / 1e3, 100 * (1 - left / pure), left / engines);
    }
    fflush(stdout);
}

/* ---- opening ----------------------------------------------------------------------------------------------------- */

static void open_world(world *w, int way)
{
    const nbcoll_loopback_config loopback = {
        .size = sizeof loopback, .ranks = RANKS, .flags = NBCOLL_LOOPBACK_SHARED, .pairs = nbcoll_loopback_pairs()};
    const nbcoll_agent_config agents = {.size = sizeof agents};
    must(nbcoll_loopback_create(&loopback, &w->loopback));
    for (int r = 0; r < RANKS; r++) {
        must(nbcoll_loopback_open(w->loopback, r, &w->endpoint[r]));
        if (ways[way].has_agents)
            must(nbcoll_agent_open(w->endpoint[r], &agents, &w->agent[r]));
    }
}

static void start_driver(world *w, int way)
{
    const int core = 1;
    const nbcoll_driver_config config = {.size = sizeof config, .cores = &core, .core_count = 1};
    must(nbcoll_driver_create(&config, &w->driver));
    for (int r = 0; r < RANKS; r++) {
        if (ways[way].has_agents)
            must(nbcoll_driver_add_agent(w->driver, w->agent[r]));
        if (ways[way].has_contexts)
            must(nbcoll_driver_add(w->driver, w->context[r]));
    }
    must(nbcoll_driver_start(w->driver));
}

static void open_comm(rank *me, int way)
{
    world *w = &worlds[way];
    const nbcoll_context_config contexts = {.size = sizeof contexts,
                                            .flags = ways[way].has_contexts ? NBCOLL_ANY_THREAD : 0};
    const nbcoll_rule rule = {.algorithm = nbcoll_algorithm_find(NBCOLL_OPERATION_ALLGATHER, "hierarchical")};
    nbcoll_comm_config config = NBCOLL_COMM_DEFAULTS;
    config.rules = &rule;
    config.rule_count = 1;
    config.node = 1 + (uint64_t)me->number / NODE;
    config.agent = w->agent[me->number];
    must(nbcoll_context_create(NBCOLL_ABI, &contexts, &w->context[me->number]));
    meet(&me->meets);
    if (me->number == 0 && (ways[way].has_agents || ways[way].has_contexts))
        start_driver(w, way);
    meet(&me->meets);
    must(nbcoll_comm_create(w->context[me->number], w->endpoint[me->number], &config, &me->comm[way], NBCOLL_FOREVER));
}

static void close_comm(rank *me, int way)
{
    world *w = &worlds[way];
    must(nbcoll_comm_free(me->comm[way]));
    meet(&me->meets);
    if (me->number == 0 && w->driver)
        must(nbcoll_driver_free(w->driver));
    meet(&me->meets);
    if (w->agent[me->number]) {
        nbcoll_agent_progress(w->agent[me->number]); /* frees what has been reported */
        must(nbcoll_agent_close(w->agent[me->number]));
    }
    close_context(w->context[me->number]);
    meet(&me->meets);
}

static void *run_rank(void *of)
{
    static const size_t sizes[] = {1 << 10, 16 << 10, 64 << 10, MOST};
    rank *me = of;
    bind_to(0);
    me->send = malloc(MOST);
    me->recv = malloc((size_t)RANKS * MOST);
    memset(me->send, me->number, MOST);
    for (int w = 0; w < WAYS; w++)
        open_comm(me, w);
    if (only)
        measure(me, only);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes && !only; i++)
        measure(me, sizes[i]);
    for (int w = 0; w < WAYS; w++)
        close_comm(me, w);
    free(me->recv);
    free(me->send);
    return NULL;
}

int main(int argc, char *argv[])
{
    rank me[RANKS];
    only = argc > 1 ? strtoul(argv[1], NULL, 10) : 0;
    rounds = argc > 2 ? atoi(argv[2]) : ROUNDS;
    if ((argc > 1 && (only < 1 || only > MOST)) || rounds < 1 || rounds > ROUNDS) {
        fprintf(stderr, "usage: nodes [BYTES [ROUNDS]]: 1..%d bytes of a block, 1..%d\n", MOST, ROUNDS);
        return 2;
    }
    speed = loops_a_ns();
    print_latency();
    printf("%8s  %-16s %9s %9s %9s %9s %8s\n", "bytes", "", "pure, us", "compute", "left", "hidden", "ratio");
    for (int w = 0; w < WAYS; w++)
        open_world(&worlds[w], w);
    for (int r = 0; r < RANKS; r++)
        me[r] = (rank){.number = r, .meets = {&here, RANKS, 0, 0}};
    run_threads(RANKS, run_rank, me, sizeof *me);
    for (int w = 0; w < WAYS; w++)
        must(nbcoll_loopback_free(worlds[w].loopback));
    print_latency();
    return 0;
}
