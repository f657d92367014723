/* SPDX-License-Identifier: BSD-3-Clause
 * What others wait for when a rank is late: eight ranks start an allgather together, but one computes first, and calls
 * nothing. By collectives of the communicator, whose steps begin when their rank has started, and by relays, which
 * stand ready (relay.h): by all ranks, or by two nodes of four ranks, whose first ones lead them. Ranks are processes
 * over shm, each with a driver; where agents move the relays, they are threads over loopback, and a driver has the
 * nodes' two agents. `late [bytes [us [rank]]]`: of a block (1024); how long that rank (1) is late (200000).
 *
 *     others   until the blocks of all who are in time have come to all of them, from the last one's start; of the
 *              ranks the longest, of rounds the median
 *     passed   that in percent of the lateness: how much of it is passed on to ranks that need nothing of the late one
 *     late     until the late rank has all, from its start */
#include "nbcoll/driver.h"
#include "nbcoll/loopback.h"
#include "nbcoll/offload.h"
#include "nbcoll/relay.h"
#include "nbcoll/schedule.h"
#include "nbcoll/select.h"

#include "ranks.h"

enum { RANKS = 8, NODE = 4, NODES = RANKS / NODE, ROUNDS = 9, MOST = 1 << 20 };

/* By its name; NULL: relays, by their topology. */
typedef struct way {
    const char *algorithm;
    nbcoll_topology_kind topology;
    enum { BY_RANKS, BY_NODES, BY_AGENTS } by;
} way;

static const way ways[] = {{"slots", 0, 0},
                           {"flat", 0, 0},
                           {"ring", 0, 0},
                           {"bruck", 0, 0},
                           {"recursive_doubling", 0, 0},
                           {"cayley", 0, 0},
                           {NULL, NBCOLL_TOPOLOGY_DIRECT, BY_RANKS},
                           {NULL, NBCOLL_TOPOLOGY_RING, BY_RANKS},
                           {NULL, NBCOLL_TOPOLOGY_BRUCK, BY_RANKS},
                           {NULL, NBCOLL_TOPOLOGY_EXCHANGE, BY_RANKS},
                           {NULL, NBCOLL_TOPOLOGY_CAYLEY, BY_RANKS},
                           {NULL, NBCOLL_TOPOLOGY_BRUCK, BY_NODES},
                           {NULL, NBCOLL_TOPOLOGY_CAYLEY, BY_NODES},
                           {NULL, NBCOLL_TOPOLOGY_BRUCK, BY_AGENTS},
                           {NULL, NBCOLL_TOPOLOGY_CAYLEY, BY_AGENTS}};
enum { WAYS = sizeof ways / sizeof *ways };
static const char *const movers[] = {"relays", "by nodes", "by agents"};

typedef struct shared {
    nbcoll_shm_id id;
    atomic_uint here;
    double started[RANKS], others[RANKS], ended[RANKS];
    size_t bytes;
    double late_ns;
    int late;
    /* Of threads: */
    nbcoll_loopback *world;
    nbcoll_endpoint *endpoint[RANKS];
    nbcoll_agent *agent[NODES];
    nbcoll_driver *driver;
} shared;

typedef struct rank {
    shared *s;
    int number;
    meeting meets;
    nbcoll_comm *comm;
    nbcoll_relays *relays;
    char *send, *recv;
} rank;

/* Have the blocks of all who are in time come? */
static int others_have_come(const rank *me, nbcoll_request q, uint64_t operation)
{
    for (int r = 0; r < RANKS; r++) {
        nbcoll_status s = r == me->s->late ? NBCOLL_OK
                          : me->relays     ? nbcoll_relays_arrived(me->relays, operation, r)
                                           : nbcoll_arrived(q, (size_t)r * me->s->bytes, me->s->bytes);
        if (s == NBCOLL_PENDING)
            return 0;
        must(s);
    }
    return 1;
}

static void once(rank *me)
{
    nbcoll_request q = NBCOLL_REQUEST_NULL;
    uint64_t operation = 0;
    nbcoll_status s;
    meet(&me->meets);
    for (double from = now(); me->number == me->s->late && now() - from < me->s->late_ns;)
        work(1000);
    me->s->started[me->number] = now();
    if (me->relays)
        must(nbcoll_relays_allgather(me->relays, me->send, me->recv, me->s->bytes, &operation));
    else
        must(nbcoll_iallgather(me->send, me->recv, me->s->bytes, NBCOLL_BYTE, me->comm, &q));
    me->s->others[me->number] = 0;
    do {
        if (me->s->others[me->number] == 0 && others_have_come(me, q, operation))
            me->s->others[me->number] = now();
        s = me->relays ? nbcoll_relays_test(me->relays, operation) : nbcoll_test(&q);
        sched_yield();
    } while (s == NBCOLL_PENDING);
    must(s);
    me->s->ended[me->number] = now();
    if (me->s->others[me->number] == 0)
        me->s->others[me->number] = me->s->ended[me->number];
    meet(&me->meets);
}

/* Of rank 0: what the last round took. */
static void read_round(const shared *s, double *others, double *late)
{
    double from = 0, to = 0;
    for (int r = 0; r < RANKS; r++)
        if (r != s->late) {
            from = s->started[r] > from ? s->started[r] : from;
            to = s->others[r] > to ? s->others[r] : to;
        }
    *others = to - from;
    *late = s->ended[s->late] - s->started[s->late];
}

static void make_way(rank *me, nbcoll_comm *all, const way *how)
{
    nbcoll_comm_config config = NBCOLL_COMM_DEFAULTS;
    nbcoll_rule rule = {
        .algorithm = nbcoll_algorithm_find(NBCOLL_OPERATION_ALLGATHER, how->algorithm ? how->algorithm : "flat")};
    nbcoll_relays_config wired = NBCOLL_RELAYS_DEFAULTS;
    config.rules = &rule;
    config.rule_count = 1;
    config.node = 1 + (uint64_t)me->number / NODE;
    must(nbcoll_comm_dup_with(all, &config, &me->comm, NBCOLL_FOREVER));
    me->relays = NULL;
    if (how->algorithm)
        return;
    wired.topology = how->topology;
    wired.fragments = 1;
    wired.fragment = (uint32_t)me->s->bytes;
    wired.hierarchical = how->by == BY_NODES;
    wired.by_agents = how->by == BY_AGENTS;
    wired.agent = me->number % NODE ? NULL : me->s->agent[me->number / NODE];
    must(nbcoll_relays_open(me->comm, &wired, &me->relays));
    must(nbcoll_relays_wait(me->relays, 0, NBCOLL_FOREVER));
}

static void run_way(rank *me, nbcoll_comm *all, const way *how)
{
    double others[ROUNDS], late[ROUNDS];
    make_way(me, all, how);
    for (int i = -1; i < ROUNDS; i++) { /* the first is not counted */
        once(me);
        read_round(me->s, &others[i < 0 ? 0 : i], &late[i < 0 ? 0 : i]);
    }
    double waited = median(others, ROUNDS);
    if (me->number == 0)
        printf("%-10s %-20s %10.1f %6.0f%% %10.1f\n", how->algorithm ? "allgather" : movers[how->by],
               how->algorithm ? how->algorithm : nbcoll_topology_name(how->topology), waited / 1e3,
               100 * waited / me->s->late_ns, median(late, ROUNDS) / 1e3);
    if (me->relays)
        must(nbcoll_relays_close(me->relays, NBCOLL_FOREVER));
    must(nbcoll_comm_free(me->comm));
}

/* Before the endpoints go over which they are. */
static void close_agents(rank *me)
{
    meet(&me->meets);
    if (me->number == 0) {
        must(nbcoll_driver_free(me->s->driver));
        for (int n = 0; n < NODES; n++)
            must(nbcoll_agent_close(me->s->agent[n]));
    }
    meet(&me->meets);
}

/* By agents, or in all other ways. */
static void run_ways(rank *me, nbcoll_endpoint *ep, int by_agents)
{
    nbcoll_context_config context_config = {.size = sizeof context_config, .flags = by_agents ? 0 : NBCOLL_ANY_THREAD};
    nbcoll_context *context;
    nbcoll_comm *all;
    nbcoll_driver *driver = NULL;
    me->send = malloc(MOST);
    me->recv = malloc((size_t)RANKS * MOST);
    must(nbcoll_context_create(NBCOLL_ABI, &context_config, &context));
    must(nbcoll_comm_create(context, ep, NULL, &all, NBCOLL_FOREVER));
    if (!by_agents) {
        must(nbcoll_driver_create(NULL, &driver));
        must(nbcoll_driver_add(driver, context));
        must(nbcoll_driver_start(driver));
    }
    memset(me->send, me->number, MOST);
    for (int w = 0; w < WAYS; w++)
        if (by_agents == (ways[w].by == BY_AGENTS))
            run_way(me, all, &ways[w]);
    if (by_agents)
        close_agents(me);
    else
        must(nbcoll_driver_free(driver));
    close_context(context);
    free(me->recv);
    free(me->send);
}

static void run_process(void *memory, int number)
{
    shared *s = memory;
    rank me = {.s = s, .number = number, .meets = {&s->here, RANKS, 0, 0}};
    nbcoll_shm_config shm = {.size = sizeof shm, .id = s->id, .rank = number, .ranks = RANKS};
    nbcoll_endpoint *ep;
    must(nbcoll_shm_open(&shm, &ep));
    run_ways(&me, ep, 0);
}

static void *run_thread(void *of)
{
    rank *me = of;
    run_ways(me, me->s->endpoint[me->number], 1);
    return NULL;
}

static void run_by_agents(shared *s)
{
    nbcoll_loopback_config loopback = {
        .size = sizeof loopback, .ranks = RANKS, .flags = NBCOLL_LOOPBACK_SHARED, .pairs = nbcoll_loopback_pairs()};
    nbcoll_agent_config config = {.size = sizeof config};
    rank me[RANKS];
    atomic_store(&s->here, 0);
    must(nbcoll_loopback_create(&loopback, &s->world));
    must(nbcoll_driver_create(NULL, &s->driver));
    for (int r = 0; r < RANKS; r++)
        must(nbcoll_loopback_open(s->world, r, &s->endpoint[r]));
    for (int n = 0; n < NODES; n++) {
        must(nbcoll_agent_open(s->endpoint[n * NODE], &config, &s->agent[n]));
        must(nbcoll_driver_add_agent(s->driver, s->agent[n]));
    }
    must(nbcoll_driver_start(s->driver));
    for (int r = 0; r < RANKS; r++)
        me[r] = (rank){.s = s, .number = r, .meets = {&s->here, RANKS, 0, 0}};
    run_threads(RANKS, run_thread, me, sizeof *me);
    must(nbcoll_loopback_free(s->world));
}

int main(int argc, char *argv[])
{
    shared *s = share(sizeof *s);

    s->bytes = argc > 1 ? strtoul(argv[1], NULL, 10) : 1024;
    s->late_ns = argc > 2 ? strtod(argv[2], NULL) * 1e3 : 2e8;
    s->late = argc > 3 ? atoi(argv[3]) : 1;
    if (s->bytes < 1 || s->bytes > MOST || !(s->late_ns > 0) || s->late < 0 || s->late >= RANKS) {
        fprintf(stderr, "usage: late [BYTES [US [RANK]]]: 1..%d bytes of a block, us that a rank is late\n", MOST);
        return 2;
    }
    must(nbcoll_shm_id_make(&s->id));
    printf("%-10s %-20s %10s %7s %10s\n", "", "", "others, us", "passed", "late, us");
    fflush(stdout);
    if (run_ranks(RANKS, run_process, s))
        return EXIT_FAILURE;
    run_by_agents(s);
    return 0;
}
