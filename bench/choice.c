/* SPDX-License-Identifier: BSD-3-Clause
 * The penalty of the choice between two machines: network namespaces SPACE0 and SPACE1, half of the ranks in each
 * (bench/hosts.py makes them and runs this).
 *
 *     choice SPACE [RANKS [PROVIDER [ROUNDS]]]
 *
 * For each operation and size: what the cost model chooses, and every algorithm that may serve the call there, with its
 * own parameters, by a rule in a communicator of its own. Batches take turns. A line has the chosen one's and the best
 * one's median of a call, from the first rank's beginning to the last one's end, and the ratio of both. The best one is
 * found by every other round, and the ratio is the median of the rounds between, so that chance does not choose. The
 * last line: the median and the worst of all ratios. */
#include "nbcoll/cluster.h"
#include "nbcoll/select.h"

#include "calls.h"
#include "spaces.h"

enum { RANKS_MOST = 16, ENTRIES = 32, ROUNDS_MOST = 99, BYTES_MOST = 4 << 20, CELLS = 64 };
static const size_t sizes[] = {8, 16384, 262144, BYTES_MOST};
static const double batch_ns = 1e6;

typedef struct shared {
    const char *space, *provider;
    int ranks, rounds;
    nbcoll_tcp_id id;
    atomic_uint here; /* ranks that have come to a meeting, of all meetings */
    double from[RANKS_MOST], to[RANKS_MOST];
} shared;

typedef struct rank {
    shared *s;
    int number;
    meeting meets;
    nbcoll_context *context;
    nbcoll_comm *world;
    float *send, *recv;
} rank;

typedef struct entry {
    const char *name;
    nbcoll_comm *comm;
    double us[ROUNDS_MOST];
} entry;

static nbcoll_args args_of(const call *c)
{
    nbcoll_args a = {.size = sizeof a, .operation = c->operation, .count = c->count};

    a.reduction = (nbcoll_reduction){NBCOLL_FLOAT, NBCOLL_SUM};
    return a;
}

/* What a communicator chooses for the call; null: nothing may serve it. */
static const nbcoll_algorithm *chosen_by(const rank *me, const nbcoll_comm *comm, const call *c)
{
    nbcoll_args a = args_of(c);
    nbcoll_terms terms = {.size = sizeof terms};
    nbcoll_choice choice = {.size = sizeof choice};

    must(nbcoll_args_complete(&a, me->number, me->s->ranks));
    must(nbcoll_comm_terms(comm, &terms));
    return nbcoll_select(&terms, &a, &choice) == NBCOLL_OK ? choice.algorithm : NULL;
}

static nbcoll_comm *communicator(rank *me, const nbcoll_algorithm *algorithm)
{
    const nbcoll_rule rule = {.algorithm = algorithm};
    nbcoll_comm_config config = NBCOLL_COMM_DEFAULTS;
    nbcoll_comm *comm;

    config.rules = &rule;
    config.rule_count = algorithm ? 1 : 0;
    must(nbcoll_comm_dup_with(me->world, &config, &comm, NBCOLL_FOREVER));
    return comm;
}

/* One batch: ns a call. */
static double batch(rank *me, call c, const entry *e, int calls)
{
    shared *s = me->s;

    c.comm = e->comm;
    must(call_blocking(&c, NBCOLL_FOREVER));
    meet(&me->meets);
    s->from[me->number] = now();
    for (int i = 0; i < calls; i++)
        must(call_blocking(&c, NBCOLL_FOREVER));
    s->to[me->number] = now();
    meet(&me->meets);
    double took = span_of(s->from, s->to, s->ranks) / calls;
    meet(&me->meets);
    return took;
}

/* The median of the rounds first, first + 2, ... */
static double median_of(const entry *e, int first, int rounds)
{
    double some[ROUNDS_MOST];
    int n = 0;

    for (int i = first; i < rounds; i += 2)
        some[n++] = e->us[i];
    return median(some, n);
}

/* all[0] is what is chosen. Its time over that of the fastest one. */
static double judge(const rank *me, const call *c, const char *chosen, entry all[], int n)
{
    int rounds = me->s->rounds, best = 1, pairs = 0;
    double ratio[ROUNDS_MOST];

    for (int i = 2; i < n; i++)
        best = median_of(&all[i], 0, rounds) < median_of(&all[best], 0, rounds) ? i : best;
    for (int i = 1; i < rounds; i += 2)
        ratio[pairs++] = all[0].us[i] / all[best].us[i];
    double penalty = strcmp(chosen, all[best].name) == 0 ? 1 : median(ratio, pairs);
    printf("| %d | %s | %zu | %s | %.1f | %s | %.1f | %.2f |\n", me->s->ranks, nbcoll_operation_name(c->operation),
           c->count * sizeof(float), chosen, median_of(&all[0], 1, rounds), all[best].name,
           median_of(&all[best], 1, rounds), penalty);
    fflush(stdout);
    return penalty;
}

static double measure(rank *me, call c, entry all[], int n)
{
    const char *chosen = chosen_by(me, all[0].comm, &c)->name;
    double ns = batch(me, c, &all[0], 1);
    int calls = ns < batch_ns ? (int)(batch_ns / ns) : 1, served = 1;

    for (int i = 1; i < n; i++) /* those that may not serve the call are left out */
        if (strcmp(chosen_by(me, all[i].comm, &c)->name, all[i].name) == 0)
            all[served++] = all[i];
    for (int round = 0; round < me->s->rounds; round++)
        for (int i = 0; i < served; i++)
            all[i].us[round] = batch(me, c, &all[i], calls) / 1e3;
    return me->number == 0 ? judge(me, &c, chosen, all, served) : 1;
}

/* All sizes of an operation. */
static int measure_all(rank *me, nbcoll_operation operation, double penalty[])
{
    static entry all[ENTRIES], some[ENTRIES];
    const nbcoll_algorithm *algorithm;
    int n = 0, cells = 0;

    all[n++] = (entry){.name = "", .comm = communicator(me, NULL)};
    for (unsigned i = 0; n < ENTRIES && (algorithm = nbcoll_algorithm_at(operation, i)); i++)
        all[n++] = (entry){.name = algorithm->name, .comm = communicator(me, algorithm)};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        call c = {operation, me->send, me->recv, sizes[i] / sizeof(float), NBCOLL_FLOAT, NULL};
        if (operation == NBCOLL_OPERATION_BARRIER)
            c.count = 0;
        memcpy((void *)some, all, sizeof all);
        penalty[cells++] = measure(me, c, some, n);
        if (operation == NBCOLL_OPERATION_BARRIER)
            break;
    }
    for (int i = 0; i < n; i++)
        while (nbcoll_comm_free(all[i].comm) == NBCOLL_ERR_BUSY)
            nbcoll_progress(me->context);
    return cells;
}

static void run_rank(void *memory, int number)
{
    static const nbcoll_operation operations[] = {NBCOLL_OPERATION_BARRIER,   NBCOLL_OPERATION_BCAST,
                                                  NBCOLL_OPERATION_REDUCE,    NBCOLL_OPERATION_ALLREDUCE,
                                                  NBCOLL_OPERATION_ALLGATHER, NBCOLL_OPERATION_ALLTOALL};
    shared *s = memory;
    rank me = {.s = s, .number = number, .meets = {&s->here, (unsigned)s->ranks, 0, 0}};
    const nbcoll_ofi_config ofi = {.size = sizeof ofi, .provider = s->provider};
    nbcoll_endpoint *end[2];
    double penalty[CELLS];
    int cells = 0;

    enter(s->space, number >= s->ranks / 2);
    bind_to((int)(number % sysconf(_SC_NPROCESSORS_ONLN)));
    int ends = open_cluster(&me.meets, &s->id, number, &ofi, end);
    me.send = calloc((size_t)s->ranks, BYTES_MOST);
    me.recv = calloc((size_t)s->ranks, BYTES_MOST);
    must(me.send && me.recv ? nbcoll_context_create(NBCOLL_ABI, NULL, &me.context) : NBCOLL_ERR_MEMORY);
    must(nbcoll_comm_create_over(me.context, ends, end, NULL, &me.world, NBCOLL_FOREVER));
    if (number == 0) {
        const nbcoll_level *price = &end[ends - 1]->limits.price;
        printf("between machines: %u ns a message, %u ps a byte\n"
               "| ranks | | bytes | chosen | us | best | us | ratio |\n|---|---|---:|---|---:|---|---:|---:|\n",
               price->alpha_ns, price->beta_ps);
    }
    for (size_t i = 0; i < sizeof operations / sizeof *operations; i++)
        cells += measure_all(&me, operations[i], penalty + cells);
    if (number == 0) {
        double middle = median(penalty, cells); /* which sorts them */
        printf("penalty: median %.2f, worst %.2f, of %d cells\n", middle, penalty[cells - 1], cells);
    }
    close_context(me.context);
}

int main(int argc, char *argv[])
{
    shared *s = share(sizeof *s);

    s->space = argc > 1 ? argv[1] : "";
    s->ranks = argc > 2 ? atoi(argv[2]) : 2;
    s->provider = argc > 3 ? argv[3] : "net";
    s->rounds = argc > 4 ? atoi(argv[4]) : 10;
    if (argc < 2 || s->ranks < 2 || s->ranks > RANKS_MOST || s->ranks % 2 || s->rounds < 2 || s->rounds > ROUNDS_MOST) {
        fputs("usage: choice SPACE [RANKS [PROVIDER [ROUNDS]]]\n", stderr);
        return 2;
    }
    return run_ranks(s->ranks, run_rank, s);
}
