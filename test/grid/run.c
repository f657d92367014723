/* SPDX-License-Identifier: BSD-3-Clause
 * See run.h. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "bootstrap.h"
#include "call.h"
#include "elements.h"
#include "joined.h"
#include "nbcoll/shm.h"
#include "run.h"
#include "socket.h"
#include "world.h"

enum { CALLS = 48, IN_FLIGHT = 24 << 20 }; /* of one world, more or less */

struct runner {
    tally tally;
    int calls;
    size_t bytes;
    call *call[CALLS];
    size_t rules; /* of the world: at most one for each operation */
    nbcoll_rule rule[NBCOLL_OPERATION_COUNT];
};

static const uint64_t deadline = 120000000000u;

/* ---- failures ---------------------------------------------------------------------------------------------------- */

static _Thread_local const char *running = "nothing";

const char *runner_point(void)
{
    return running;
}

static void wants(int rank, const char *what, nbcoll_status wanted, nbcoll_status is)
{
    if (is == wanted)
        return;
    fprintf(stderr, "%s: on rank %d, %s is %s, not %s\nalone: test_grid %s\n", running, rank, what,
            nbcoll_status_name(is), nbcoll_status_name(wanted), running);
    _exit(1);
}
#define WANTS(status, call) wants(rank, #call, NBCOLL_##status, call)

static void crashed(int number)
{
    static const char text[] = "crash in test_grid ";
    ssize_t unused = write(2, text, sizeof text - 1);
    unused += write(2, running, strlen(running));
    unused += write(2, "\n", 1);
    (void)unused;
    signal(number, SIG_DFL);
    raise(number);
}

/* ---- which algorithm --------------------------------------------------------------------------------------------- */

/* The schedule that was started last on this thread. */
static _Thread_local char started[64];

static void note_start(void *user, const nbcoll_event *e)
{
    nbcoll_schedule_info info = {.size = sizeof info};

    (void)user;
    if (e->step != NBCOLL_START || e->moment != NBCOLL_STEP_STARTED)
        return;
    wants(info.rank, "nbcoll_schedule_query()", NBCOLL_OK, nbcoll_schedule_query(e->schedule, &info));
    snprintf(started, sizeof started, "%s", info.name);
}

static const nbcoll_observer observer = {.size = sizeof observer, .event = note_start};
static const nbcoll_context_config observed = {.size = sizeof observed, .observer = &observer, .credits = 1};
static const nbcoll_context_config plain = {.size = sizeof plain, .credits = 1};

/* Contexts are only observed where points name their algorithms. */
static const nbcoll_context_config *context_config(const runner *r)
{
    return r->rules ? &observed : &plain;
}

/* After this thread has started it. */
static void ran_as_ruled(const call *c, int rank)
{
    const nbcoll_algorithm *algorithm = c->p.rule.algorithm;
    char wanted[64];

    if (!algorithm)
        return;
    snprintf(wanted, sizeof wanted, "%s/%s", nbcoll_operation_name(algorithm->operation), algorithm->name);
    if (!strcmp(started, wanted))
        return;
    fprintf(stderr, "%s: rank %d ran %s\n", running, rank, started);
    _exit(1);
}

/* ---- one call ---------------------------------------------------------------------------------------------------- */

/* Each form runs as often as the others of its point. A persistent request is made once. */
static int rounds_of(const call *c)
{
    return c->p.v[FORM] == PERSISTENT || c->p.v[FORM] == MIXED ? 2 : 1;
}

static void start(const call *c, int rank, int round, nbcoll_comm *comm, nbcoll_request *request)
{
    if (point_form(&c->p, rank) == PERSISTENT) {
        if (round == 0)
            WANTS(OK, call_init(c, rank, comm, request));
        WANTS(OK, nbcoll_start(request));
    } else {
        WANTS(OK, call_start(c, rank, comm, request));
    }
    ran_as_ruled(c, rank);
}

static void release(const call *c, int rank, nbcoll_request *request)
{
    if (point_form(&c->p, rank) == PERSISTENT)
        WANTS(OK, nbcoll_request_free(request));
}

/* Where each rank has a thread. Returns whether something is wrong. */
static int run_rank(const call *c, int rank, nbcoll_comm *comm)
{
    nbcoll_request request;
    int wrong = 0;

    running = c->text;
    for (int round = 0; round < rounds_of(c); round++) {
        call_restore(c, rank);
        if (point_form(&c->p, rank) == BLOCKING) {
            WANTS(OK, call_blocking(c, rank, comm, deadline));
            ran_as_ruled(c, rank);
        } else {
            start(c, rank, round, comm, &request);
            WANTS(OK, nbcoll_wait(&request, deadline));
        }
        wrong |= call_check(c, rank);
    }
    release(c, rank, &request);
    return wrong;
}

/* Where this thread steps all ranks. What the first ones send comes too early for the last ones. */
static void step_to_end(world *w, nbcoll_request request[])
{
    nbcoll_request active[WORLD_MOST];
    nbcoll_status status[WORLD_MOST];

    memcpy(active, request, (size_t)w->ranks * sizeof *active);
    world_settle(w, (size_t)w->ranks, active, status);
    for (int rank = 0; rank < w->ranks; rank++)
        WANTS(OK, status[rank]);
}

static int run_stepped(const call *c, world *w)
{
    nbcoll_request request[WORLD_MOST];
    int wrong = 0;

    running = c->text;
    for (int round = 0; round < rounds_of(c); round++) {
        for (int i = 0; i < w->ranks; i++) {
            int rank = round ? w->ranks - 1 - i : i;
            call_restore(c, rank);
            start(c, rank, round, w->comm[rank], &request[rank]);
            if (world_random(&w->random) % 2)
                world_step(w);
        }
        step_to_end(w, request);
        for (int rank = 0; rank < w->ranks; rank++)
            wrong |= call_check(c, rank);
    }
    for (int rank = 0; rank < w->ranks; rank++)
        release(c, rank, &request[rank]);
    return wrong;
}

/* ---- worlds ------------------------------------------------------------------------------------------------------ */

/* One rank asks for the same bits; all promise the counts. */
static nbcoll_comm_config comm_config(const runner *r, int rank)
{
    const point *p = &r->call[0]->p;
    nbcoll_comm_config config = point_limits;

    config.rules = r->rule;
    config.rule_count = r->rules;
    config.flags = point_flags(p);
    if (rank != (int)(p->seed % (uint64_t)point_ranks(p)))
        config.flags &= ~NBCOLL_REPRODUCIBLE;
    return config;
}

/* One rank alone shares with nobody; processes share where the machine lets them, and all ranks where they are on one
 * node. */
static void shares_as_wanted(const runner *r, int rank, const nbcoll_comm *comm)
{
    const point *p = &r->call[0]->p;
    nbcoll_terms terms = {.size = sizeof terms};

    WANTS(OK, nbcoll_comm_terms(comm, &terms));
    if (point_has_nodes(p) && nbcoll_comm_nodes(comm)->count == 1)
        return;
    if (terms.ranks > 1 && p->v[TRANSPORT] != SHM_PROCESSES && terms.shared != point_is_shared(p)) {
        fprintf(stderr, "%s: memory is %sshared\n", running, terms.shared ? "" : "not ");
        _exit(1);
    }
}

static void run_calls(runner *r, int rank, nbcoll_comm *comm)
{
    for (int i = 0; i < r->calls; i++)
        if (run_rank(r->call[i], rank, comm)) {
            __atomic_fetch_add(&r->tally.wrong, 1, __ATOMIC_RELAXED);
            fprintf(stderr, "alone: test_grid %s\n", r->call[i]->text);
        }
}

static void thread_of_world(world *w, int rank, void *user)
{
    run_calls(user, rank, w->comm[rank]);
}

/* Where they lie on nodes. */
static nbcoll_nodes *nodes_of(const point *p)
{
    return joined_on(point_ranks(p), point_nodes(p), point_numbering(p), p->seed);
}

static void note_nodes(runner *r, const point *p)
{
    nodes_seen *s = &r->tally.on[p->v[TRANSPORT]][point_nodes(p)][point_numbering(p)];

    s->ranks |= UINT32_C(1) << p->v[RANKS];
    for (int i = 0; i < r->calls; i++)
        s->operations |= UINT32_C(1) << r->call[i]->p.v[OPERATION];
}

static void open_nodes(joined *j, const runner *r, const point *p, const nbcoll_loopback_config *between)
{
    nbcoll_loopback_config inside = world_variant((int)(p->seed / 8 % WORLD_VARIANTS), p->seed);
    nbcoll_nodes *nodes = nodes_of(p);

    joined_open_contexts(j, nodes, &inside, between, context_config(r));
    nbcoll_nodes_free(nodes);
}

static void run_loopback(runner *r, const point *p)
{
    int first = point_is_shared(p) ? WORLD_SHARED : 0;
    int variants = point_is_shared(p) ? WORLD_VARIANTS - WORLD_SHARED : WORLD_SHARED;
    nbcoll_loopback_config config = world_variant(first + (int)(p->seed % (uint64_t)variants), p->seed);
    nbcoll_request request[WORLD_MOST];
    joined j;
    world *w = &j.w;

    running = r->call[0]->text;
    if (point_has_nodes(p))
        open_nodes(&j, r, p, &config);
    else
        world_open_contexts(w, point_ranks(p), &config, context_config(r));
    w->random = p->seed;
    for (int rank = 0; rank < w->ranks; rank++) {
        nbcoll_comm_config comm = comm_config(r, rank);
        nbcoll_endpoint *both[] = {point_has_nodes(p) ? j.near[rank] : w->endpoint[rank], w->endpoint[rank]};
        WANTS(OK, nbcoll_comm_icreate_over(w->context[rank], 1 + point_has_nodes(p), both, &comm, &w->comm[rank],
                                           &request[rank]));
    }
    step_to_end(w, request);
    shares_as_wanted(r, 0, w->comm[0]);
    if (!point_is_stepped(p))
        world_threads(w, thread_of_world, r);
    for (int i = 0; point_is_stepped(p) && i < r->calls; i++)
        if (run_stepped(r->call[i], w)) {
            r->tally.wrong++;
            fprintf(stderr, "alone: test_grid %s\n", r->call[i]->text);
        }
    if (point_has_nodes(p))
        joined_close(&j);
    else
        world_close(w);
}

typedef struct member {
    runner *r;
    nbcoll_shm_id id[JOINED_NODES];
    const nbcoll_nodes *nodes;
    nbcoll_loopback *between; /* null, and */
    const char *sockets;      /* without a name: there is one segment */
} member;

/* Its end of what joins the nodes, if anything does. Returns how many those are. */
static int open_between(const member *m, int rank, nbcoll_endpoint **out)
{
    int fd[POINT_RANKS_MOST];

    if (m->between)
        WANTS(OK, nbcoll_loopback_open(m->between, rank, out));
    if (!m->sockets)
        return m->between != NULL;
    WANTS(OK, socket_connect(m->sockets, rank, m->nodes->ranks, fd));
    WANTS(OK, socket_open(rank, m->nodes->ranks, fd, out));
    return 1;
}

/* Some worlds have room for one small message only. Where nothing is to be shared, some copy out of the others' memory,
 * some send pieces of large data, some have only messages. */
static void run_shm_rank(const member *m, int rank)
{
    static const uint32_t flags[] = {0, NBCOLL_SHM_NO_CMA, NBCOLL_SHM_NO_CMA | NBCOLL_SHM_NO_BULK};
    const point *p = &m->r->call[0]->p;
    int node = nbcoll_node_of(m->nodes, rank);
    nbcoll_shm_config config = {.size = sizeof config, .id = m->id[node], .rank = nbcoll_node_place(m->nodes, rank),
                                .ranks = nbcoll_node_size(m->nodes, node)};
    nbcoll_comm_config wanted = comm_config(m->r, rank);
    nbcoll_endpoint *endpoint[2];
    nbcoll_context *context;
    nbcoll_comm *comm;
    nbcoll_status s;

    running = m->r->call[0]->text;
    config.flags = point_is_shared(p) ? 0 : flags[p->seed % 3];
    config.depth = p->seed % 5 == 1 ? 1 : 0;
    config.payload = p->seed % 5 == 1 ? 256 : 0;
    config.quota = point_is_shared(p) ? 0 : 1;
    WANTS(OK, nbcoll_shm_open(&config, &endpoint[0]));
    int endpoints = 1 + open_between(m, rank, &endpoint[1]);
    WANTS(OK, nbcoll_context_create(NBCOLL_ABI, context_config(m->r), &context));
    WANTS(OK, nbcoll_comm_create_over(context, endpoints, endpoint, &wanted, &comm, deadline));
    shares_as_wanted(m->r, rank, comm);
    run_calls(m->r, rank, comm);
    WANTS(OK, nbcoll_barrier(comm, deadline));
    for (int i = 0; (s = nbcoll_context_free(context)) == NBCOLL_ERR_BUSY && i < 1000000; i++)
        nbcoll_progress(context);
    WANTS(OK, s);
}

static void thread_of_shm(world *w, int rank, void *user)
{
    (void)w;
    run_shm_rank(user, rank);
}

static void run_processes(const member *m, int ranks)
{
    pid_t pid[POINT_RANKS_MOST];
    int status, failed = 0;

    fflush(NULL);
    for (int rank = 0; rank < ranks; rank++) {
        pid[rank] = fork();
        if (pid[rank] == 0) {
            run_shm_rank(m, rank);
            _exit(m->r->tally.wrong ? 3 : 0);
        }
        wants(rank, "fork()", NBCOLL_OK, pid[rank] > 0 ? NBCOLL_OK : NBCOLL_ERR_MEMORY);
    }
    for (int rank = 0; rank < ranks; rank++) {
        waitpid(pid[rank], &status, 0);
        failed |= status;
    }
    m->r->tally.wrong += failed != 0;
    if (failed && WEXITSTATUS(failed) != 3) /* said by the rank */
        _exit(1);
}

static void run_shm(runner *r, const point *p)
{
    nbcoll_nodes *nodes = point_has_nodes(p) ? nodes_of(p) : joined_placement(0, point_ranks(p), 0);
    member m = {.r = r, .nodes = nodes};
    world w = {.ranks = point_ranks(p)};
    nbcoll_shm_id name;

    running = r->call[0]->text;
    for (int i = 0; i < nodes->count; i++)
        wants(0, "nbcoll_shm_id_make()", NBCOLL_OK, nbcoll_shm_id_make(&m.id[i]));
    wants(0, "nbcoll_shm_id_make()", NBCOLL_OK, nbcoll_shm_id_make(&name));
    if (p->v[TRANSPORT] == SHM_SOCKETS)
        m.sockets = name.text;
    if (p->v[TRANSPORT] == SHM_NODES) {
        nbcoll_loopback_config config = world_variant((int)(p->seed % WORLD_SHARED), p->seed);
        config.ranks = w.ranks;
        wants(0, "nbcoll_loopback_create()", NBCOLL_OK, nbcoll_loopback_create(&config, &m.between));
    }
    if (p->v[TRANSPORT] == SHM_PROCESSES ||
        ((p->v[TRANSPORT] == SHM_MESSAGES || p->v[TRANSPORT] == SHM_SOCKETS) && p->seed % 4 == 0))
        run_processes(&m, w.ranks);
    else
        world_threads(&w, thread_of_shm, &m);
    wants(0, "nbcoll_loopback_free()", NBCOLL_OK, nbcoll_loopback_free(m.between));
    nbcoll_nodes_free(nodes);
}

/* ---- many points ------------------------------------------------------------------------------------------------- */

runner *runner_open(void)
{
    elements_open();
    signal(SIGSEGV, crashed);
    signal(SIGBUS, crashed);
    signal(SIGABRT, crashed);
    return calloc(1, sizeof(runner));
}

static void run_all(runner *r)
{
    const point *p = r->calls ? &r->call[0]->p : NULL;

    if (p && point_has_nodes(p))
        note_nodes(r, p);
    if (p && p->v[TRANSPORT] >= SHM_MESSAGES)
        run_shm(r, p);
    else if (p)
        run_loopback(r, p);
    running = "a point in the making";
    r->tally.runs += (size_t)r->calls;
    for (int i = 0; i < r->calls; i++)
        call_free(r->call[i]);
    r->calls = 0;
    r->rules = 0;
    r->bytes = 0;
}

static int is_same_rule(const nbcoll_rule *a, const nbcoll_rule *b)
{
    return a->algorithm == b->algorithm && a->segment == b->segment && a->arity == b->arity && a->ports == b->ports;
}

/* The world's rule for the operation of the point; null if it has none. */
static const nbcoll_rule *rule_for(const runner *r, const point *p)
{
    for (size_t i = 0; i < r->rules; i++)
        if (r->rule[i].algorithm->operation == (nbcoll_operation)p->v[OPERATION])
            return &r->rule[i];
    return NULL;
}

/* May the point be run in the world of those before it? */
static int fits(const runner *r, const point *p)
{
    const point *first = &r->call[0]->p;
    const nbcoll_rule *rule = rule_for(r, p);

    return r->calls < CALLS && r->bytes <= IN_FLIGHT && p->v[RANKS] == first->v[RANKS] &&
           p->v[TRANSPORT] == first->v[TRANSPORT] && p->v[FLAGS] == first->v[FLAGS] &&
           !p->rule.algorithm == !first->rule.algorithm && (!rule || is_same_rule(rule, &p->rule));
}

void runner_add(runner *r, const point *p)
{
    if (r->calls && !fits(r, p))
        run_all(r);
    if (p->rule.algorithm && !rule_for(r, p))
        r->rule[r->rules++] = p->rule;
    r->call[r->calls] = call_make(p);
    r->bytes += r->call[r->calls++]->bytes;
}

const tally *runner_run(runner *r)
{
    run_all(r);
    return &r->tally;
}

tally runner_close(runner *r)
{
    run_all(r);
    tally t = r->tally;
    free(r);
    return t;
}
