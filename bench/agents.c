/* SPDX-License-Identifier: BSD-3-Clause
 * What programs that an agent carries out pass on of a pause, and hide of a communication, over verbs, beside the
 * host's engine, which gets on only in the calls of its rank. By three ways in turn, in every round: the engine; an
 * agent that is a thread of each rank; an agent that is a process for all ranks. bench/agents.sh runs it in an emulated
 * machine, of which only ratios mean something. `agents [brief] [JOB]`: shorter pauses, and few rounds; one of the
 * jobs below, from 1.
 *
 *     passed   one rank pauses, by computing, which calls nothing: after its start, or before. How much longer the
 *              others take, from their own start, in percent of the pause: until they have all, or, where the rank
 *              comes late, until they have what they need nothing of it for. Medians, of the rank that waits longest
 *     hidden   two ranks, of which one computes, for twice as long as the communication takes, and for 20 ms at least,
 *              between start and wait: 1 - (what start and wait then take) / (what they take without). What the agent
 *              takes of the processors is not in it. Medians, of 15 */
#include <stdbool.h>
#include <sys/socket.h>

#include <nbcoll/offload.h>
#include <nbcoll/select.h>
#include <nbcoll/transport.h>
#include <nbcoll/verbs.h>

#include "ranks.h"

enum { RANKS = 4, MOST = 256 << 10, ROUNDS = 9, OVERLAPS = 15, LEAST_NS = 20000000, LOOK_US = 100 };

typedef enum way { ENGINE, THREAD, PROCESS, WAYS } way;
static const char *const ways[WAYS] = {"engine", "thread", "process"};

typedef struct job {
    const char *name;
    nbcoll_operation operation;
    const char *algorithm;
    int ranks, pauses;
    bool is_late;   /* it pauses before its start */
    unsigned asked; /* the ranks whose waiting counts, as bits */
} job;

/* Rank 1 of a binomial broadcast of four ranks is a leaf, rank 2 is between ranks 0 and 3. */
static const job jobs[] = {
    {"two ranks, the receiver pauses", NBCOLL_OPERATION_BCAST, "binomial", 2, 1, false, 1u << 0},
    {"two ranks, the sender pauses", NBCOLL_OPERATION_BCAST, "binomial", 2, 0, false, 1u << 1},
    {"broadcast, an inner rank pauses", NBCOLL_OPERATION_BCAST, "binomial", 4, 2, false, 1u << 0 | 1u << 1 | 1u << 3},
    {"broadcast, a leaf comes late", NBCOLL_OPERATION_BCAST, "binomial", 4, 1, true, 1u << 2 | 1u << 3},
    {"allgather, ring, one pauses", NBCOLL_OPERATION_ALLGATHER, "ring", 4, 1, false, 1u << 0 | 1u << 2 | 1u << 3},
    {"allgather, ring, one comes late", NBCOLL_OPERATION_ALLGATHER, "ring", 4, 1, true, 1u << 0 | 1u << 2 | 1u << 3},
    {"allgather, flat, one comes late", NBCOLL_OPERATION_ALLGATHER, "flat", 4, 1, true, 1u << 0 | 1u << 2 | 1u << 3},
};
enum { JOBS = sizeof jobs / sizeof *jobs };
static const size_t pause_bytes[] = {1 << 10, 64 << 10}, overlap_bytes[] = {1 << 10, 16 << 10, 64 << 10, MOST};

/* What the processes of a job share. */
typedef struct shared {
    const job *job;
    nbcoll_verbs_address all[WAYS][RANKS];
    nbcoll_shm_id id;
    int socket[RANKS][2]; /* the rank's, and the agent's */
    atomic_uint here;
    double took[RANKS];
    double pause_ns;
    int rounds, overlaps;
} shared;

typedef struct rank {
    shared *s;
    int number;
    meeting meets;
    nbcoll_context *context[WAYS];
    nbcoll_comm *comm[WAYS];
    nbcoll_agent *agent[WAYS];
    char *send[WAYS], *recv[WAYS];
    atomic_int way; /* the thread sleeps in others than its own; -1: it ends */
} rank;

/* ---- the three ways ---------------------------------------------------------------------------------------------- */

static void *be_agent(void *user)
{
    rank *me = user;
    int at;

    while ((at = atomic_load(&me->way)) >= 0)
        if (at != THREAD || !nbcoll_agent_progress(me->agent[THREAD]))
            usleep(at == THREAD ? 20 : 1000); /* as the process does */
    return NULL;
}

/* The agent's process has the queue pairs of all ranks. */
static void serve(shared *s)
{
    int ranks = s->job->ranks, sockets[RANKS];
    nbcoll_verbs_config config = {.size = sizeof config, .ranks = ranks};
    nbcoll_endpoint *end[RANKS] = {NULL};

    for (config.rank = 0; config.rank < ranks; config.rank++, config.beside = end[0])
        must(nbcoll_verbs_open(&config, &s->all[PROCESS][config.rank], &end[config.rank]));
    for (int i = 0; i < ranks; i++) {
        must(nbcoll_verbs_meet(end[i], s->all[PROCESS]));
        sockets[i] = dup(s->socket[i][1]);
    }
    const nbcoll_serve_config served = {
        .size = sizeof served, .endpoints = end, .sockets = sockets, .count = ranks, .flags = NBCOLL_SERVE_OUTSIDE};
    must(nbcoll_agent_serve(&served));
}

static nbcoll_endpoint *open_end(rank *me, way w)
{
    shared *s = me->s;
    nbcoll_endpoint *end;

    if (w == PROCESS) {
        const nbcoll_shm_config config = {
            .size = sizeof config, .id = s->id, .rank = me->number, .ranks = s->job->ranks, .quota = 8 << 20};
        must(nbcoll_shm_open(&config, &end));
        return end;
    }
    const nbcoll_verbs_config config = {.size = sizeof config, .rank = me->number, .ranks = s->job->ranks};
    must(nbcoll_verbs_open(&config, &s->all[w][me->number], &end));
    meet(&me->meets);
    must(nbcoll_verbs_meet(end, s->all[w]));
    const nbcoll_limits l = end->limits;
    if (w == ENGINE && me->number == 0 && s->job == jobs) /* which of both ends the engine needs last */
        printf("the engine %s large data, and announces more than %zu bytes\n",
               l.price.put_ns < l.price.get_ns ? "puts" : "gets", l.payload);
    return end;
}

static void open_way(rank *me, way w)
{
    const job *j = me->s->job;
    const nbcoll_rule rule = {.algorithm = nbcoll_algorithm_find(j->operation, j->algorithm)};
    const nbcoll_agent_config thread = {.size = sizeof thread};
    const nbcoll_attach_config process = {.size = sizeof process, .socket = dup(me->s->socket[me->number][0])};
    nbcoll_comm_config config = NBCOLL_COMM_DEFAULTS;
    nbcoll_endpoint *end = open_end(me, w);
    void *memory;

    if (w == THREAD)
        must(nbcoll_agent_open(end, &thread, &me->agent[w]));
    else if (w == PROCESS)
        must(nbcoll_agent_attach(end, &process, &me->agent[w]));
    config.agent = me->agent[w];
    config.rules = &rule;
    config.rule_count = 1;
    must(nbcoll_context_create(NBCOLL_ABI, NULL, &me->context[w]));
    must(nbcoll_comm_create(me->context[w], end, &config, &me->comm[w], NBCOLL_FOREVER));
    must(nbcoll_mem_alloc(me->comm[w], 2 * MOST, &memory));
    me->recv[w] = memory;
    me->send[w] = me->recv[w] + MOST;
}

/* Closing ends queue pairs, which others need until all are here. */
static void close_ways(rank *me, pthread_t thread)
{
    atomic_store(&me->way, THREAD); /* for the barrier's program */
    for (way w = 0; w < WAYS; w++)
        must(nbcoll_barrier(me->comm[w], NBCOLL_FOREVER));
    meet(&me->meets);
    atomic_store(&me->way, -1);
    pthread_join(thread, NULL);
    for (way w = 0; w < WAYS; w++) {
        must(nbcoll_agent_close(me->agent[w]));
        close_context(me->context[w]);
    }
}

static void start(rank *me, way w, int root, size_t bytes, nbcoll_request *q)
{
    if (me->s->job->operation == NBCOLL_OPERATION_BCAST)
        must(nbcoll_ibcast(me->recv[w], bytes, NBCOLL_BYTE, root, me->comm[w], q));
    else
        must(nbcoll_iallgather(me->send[w], me->recv[w], bytes, NBCOLL_BYTE, me->comm[w], q));
}

/* That programs are carried out, and not refused and left to the engine. */
static void must_offload(rank *me, way w, size_t bytes)
{
    const nbcoll_args args = {
        .size = sizeof args, .operation = me->s->job->operation, .count = bytes, .reduction = {NBCOLL_BYTE, 0}};
    if (w != ENGINE)
        must(nbcoll_comm_offloads(me->comm[w], &args, NULL));
}

static void pause_for(double ns)
{
    for (double since = now(); now() - since < ns;)
        work(1000);
}

/* ---- what is passed on ------------------------------------------------------------------------------------------- */

/* Has this rank what it needs nothing of the late one for? */
static bool has_come(const rank *me, nbcoll_request q, size_t bytes)
{
    const job *j = me->s->job;

    if (!j->is_late || j->operation != NBCOLL_OPERATION_ALLGATHER)
        return false;
    for (int r = 0; r < j->ranks; r++)
        if (r != j->pauses && nbcoll_arrived(q, (size_t)r * bytes, bytes) != NBCOLL_OK)
            return false;
    return true;
}

/* How long the rank waits that waits longest. */
static double once(rank *me, way w, size_t bytes, double pause_ns)
{
    const job *j = me->s->job;
    bool pauses = me->number == j->pauses, has = false;
    nbcoll_request q = NBCOLL_REQUEST_NULL;
    double longest = 0;

    atomic_store(&me->way, (int)w);
    meet(&me->meets);
    if (pauses && j->is_late)
        pause_for(pause_ns);
    double since = now();
    start(me, w, 0, bytes, &q);
    if (pauses && !j->is_late)
        pause_for(pause_ns);
    for (nbcoll_status status = NBCOLL_PENDING; status == NBCOLL_PENDING; usleep(LOOK_US)) {
        has = has || has_come(me, q, bytes);
        status = nbcoll_test(&q);
        if (status != NBCOLL_PENDING)
            must(status);
        if (!has)
            me->s->took[me->number] = now() - since;
    }
    meet(&me->meets);
    for (int r = 0; r < j->ranks; r++)
        if (j->asked >> r & 1 && me->s->took[r] > longest)
            longest = me->s->took[r];
    meet(&me->meets);
    return longest;
}

static void measure_pauses(rank *me, size_t bytes)
{
    double quiet[WAYS][ROUNDS], paused[WAYS][ROUNDS], passed[WAYS];
    int rounds = me->s->rounds;

    for (way w = 0; w < WAYS; w++)
        must_offload(me, w, bytes);
    for (int i = -1; i < rounds; i++) /* the first is not counted */
        for (way w = 0; w < WAYS; w++) {
            quiet[w][i < 0 ? 0 : i] = once(me, w, bytes, 0);
            paused[w][i < 0 ? 0 : i] = once(me, w, bytes, me->s->pause_ns);
        }
    for (way w = 0; w < WAYS; w++)
        passed[w] = 100 * (median(paused[w], rounds) - median(quiet[w], rounds)) / me->s->pause_ns;
    if (me->number == 0)
        printf("%-32s %8zu  %6.0f%% %6.0f%% %6.0f%%\n", me->s->job->name, bytes, passed[ENGINE],
               passed[THREAD], passed[PROCESS]);
}

/* ---- what is hidden ---------------------------------------------------------------------------------------------- */

/* How long rank 0, which computes for so long, if at all, is in start and wait; rank 1 waits. */
static double communicate(rank *me, way w, int root, size_t bytes, double compute_ns)
{
    nbcoll_request q;

    atomic_store(&me->way, (int)w);
    meet(&me->meets);
    double since = now(), computed = 0;
    start(me, w, root, bytes, &q);
    if (me->number == 0 && compute_ns > 0) {
        double began = now();
        pause_for(compute_ns);
        computed = now() - began;
    }
    must(nbcoll_wait(&q, NBCOLL_FOREVER));
    return now() - since - computed;
}

static void measure_overlap(rank *me, int root, size_t bytes)
{
    double pure[WAYS][OVERLAPS], left[WAYS][OVERLAPS], longest[WAYS], hidden[WAYS];
    int rounds = me->s->overlaps;

    for (way w = 0; w < WAYS; w++) {
        must_offload(me, w, bytes);
        for (int i = 0; i < rounds; i++)
            pure[w][i] = communicate(me, w, root, bytes, 0);
        longest[w] = 2 * median(pure[w], rounds);
        longest[w] = longest[w] > LEAST_NS ? longest[w] : LEAST_NS;
    }
    for (int i = 0; i < rounds; i++)
        for (way w = 0; w < WAYS; w++) {
            left[w][i] = communicate(me, w, root, bytes, longest[w]);
            pure[w][i] = communicate(me, w, root, bytes, 0);
        }
    for (way w = 0; w < WAYS; w++)
        hidden[w] = 100 * (1 - median(left[w], rounds) / median(pure[w], rounds));
    if (me->number == 0)
        printf("hidden, the %-8s computes %*s %7zu  %6.0f%% %6.0f%% %6.0f%%\n", root ? "receiver" : "sender", 3, "",
               bytes, hidden[ENGINE], hidden[THREAD], hidden[PROCESS]);
}

/* ---- jobs -------------------------------------------------------------------------------------------------------- */

static void run_rank(void *memory, int number)
{
    rank me = {.s = memory, .number = number};
    me.meets = (meeting){&me.s->here, (unsigned)me.s->job->ranks, 0, LOOK_US};
    pthread_t thread;

    if (number == me.s->job->ranks) {
        serve(me.s);
        return;
    }
    for (way w = 0; w < WAYS; w++)
        open_way(&me, w);
    if (pthread_create(&thread, NULL, be_agent, &me))
        exit(1);
    for (int i = 0; i < 2; i++)
        measure_pauses(&me, pause_bytes[i]);
    for (int root = 1; root >= 0 && me.s->job == jobs; root--)
        for (size_t i = 0; i < sizeof overlap_bytes / sizeof *overlap_bytes; i++)
            measure_overlap(&me, root, overlap_bytes[i]);
    close_ways(&me, thread);
}

static int run_job(shared *s, const job *j)
{
    s->job = j;
    atomic_store(&s->here, 0);
    must(nbcoll_shm_id_make(&s->id));
    for (int i = 0; i < j->ranks; i++)
        if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, s->socket[i]))
            return 1;
    fflush(stdout);
    int is_wrong = run_ranks(j->ranks + 1, run_rank, s);
    for (int i = 0; i < j->ranks; i++) {
        close(s->socket[i][0]);
        close(s->socket[i][1]);
    }
    return is_wrong;
}

int main(int argc, char *argv[])
{
    shared *s = share(sizeof *s);
    bool is_brief = argc > 1 && strcmp(argv[1], "brief") == 0;
    int is_wrong = 0, only = argc > 1 + is_brief ? atoi(argv[1 + is_brief]) : 0;

    if (only < 0 || only > JOBS || argc > 2 + is_brief) {
        fprintf(stderr, "usage: agents [brief] [JOB]: 1 to %d\n", JOBS);
        return 2;
    }
    s->pause_ns = is_brief ? 5e7 : 3e8;
    s->rounds = is_brief ? 1 : ROUNDS;
    s->overlaps = is_brief ? 3 : OVERLAPS;
    printf("%-32s %8s  %7s %7s %7s\n", "passed on of the pause; hidden", "bytes", ways[ENGINE],
           ways[THREAD], ways[PROCESS]);
    for (int i = 0; i < JOBS && !is_wrong; i++)
        if (!only || only == i + 1)
            is_wrong = run_job(s, &jobs[i]);
    return is_wrong;
}
