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

#include "call.h"
#include "elements.h"
#include "nbcoll/shm.h"
#include "run.h"
#include "world.h"

enum { CALLS = 48, LENT = 24 << 20 }; /* of one world, more or less */

struct runner {
    tally tally;
    int calls;
    size_t bytes;
    call *call[CALLS];
};

static const uint64_t deadline = 120000000000u;

/* ---- failures -------------------------------------------------------------------------------------------------- */

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

/* ---- one call -------------------------------------------------------------------------------------------------- */

static void start(const call *c, int rank, nbcoll_comm *comm, nbcoll_request *request, nbcoll_schedule **schedule)
{
    if (c->p.algorithm >= 0) {
        WANTS(OK, call_by_schedule(c, rank, comm, request, schedule));
    } else if (c->p.v[FORM] == PERSISTENT) {
        WANTS(OK, call_init(c, rank, comm, request));
        WANTS(OK, nbcoll_start(request));
    } else {
        WANTS(OK, call_start(c, rank, comm, request));
    }
}

static void release(const call *c, int rank, nbcoll_request *request, nbcoll_schedule *schedule)
{
    if (c->p.algorithm < 0 && c->p.v[FORM] == PERSISTENT)
        WANTS(OK, nbcoll_request_free(request));
    WANTS(OK, nbcoll_schedule_free(schedule));
}

/* Where each rank has a thread. A persistent request runs twice. Returns whether something is wrong. */
static int run_rank(const call *c, int rank, nbcoll_comm *comm)
{
    nbcoll_request request;
    nbcoll_schedule *schedule = NULL;
    int wrong = 0;

    running = c->text;
    if (c->p.v[FORM] == BLOCKING && c->p.algorithm < 0) {
        WANTS(OK, call_blocking(c, rank, comm, deadline));
        return call_check(c, rank);
    }
    start(c, rank, comm, &request, &schedule);
    WANTS(OK, nbcoll_wait(&request, deadline));
    if (c->p.v[FORM] == PERSISTENT && c->p.algorithm < 0) {
        wrong = call_check(c, rank);
        call_restore(c, rank);
        WANTS(OK, nbcoll_start(&request));
        WANTS(OK, nbcoll_wait(&request, deadline));
    }
    release(c, rank, &request, schedule);
    return wrong | call_check(c, rank);
}

/* The same where the ranks are stepped. What the first ones send comes too early for the last ones. */
static void step_to_end(world *w, nbcoll_request request[])
{
    nbcoll_request active[WORLD_MOST];
    nbcoll_status status[WORLD_MOST];

    memcpy(active, request, (size_t)w->ranks * sizeof *active);
    world_settle(w, (size_t)w->ranks, active, status);
    for (int rank = 0; rank < w->ranks; rank++)
        WANTS(OK, status[rank]);
}

static int check_all(const call *c)
{
    int wrong = 0;
    for (int rank = 0; rank < c->c.ranks; rank++)
        wrong |= call_check(c, rank);
    return wrong;
}

static int run_stepped(const call *c, world *w)
{
    nbcoll_request request[WORLD_MOST];
    nbcoll_schedule *schedule[WORLD_MOST] = {NULL};
    int wrong = 0;

    running = c->text;
    for (int rank = 0; rank < w->ranks; rank++) {
        start(c, rank, w->comm[rank], &request[rank], &schedule[rank]);
        if (world_random(&w->random) % 2)
            world_step(w);
    }
    step_to_end(w, request);
    if (c->p.v[FORM] == PERSISTENT && c->p.algorithm < 0) {
        wrong = check_all(c);
        for (int rank = w->ranks - 1; rank >= 0; rank--) {
            call_restore(c, rank);
            WANTS(OK, nbcoll_start(&request[rank]));
        }
        step_to_end(w, request);
    }
    for (int rank = 0; rank < w->ranks; rank++)
        release(c, rank, &request[rank], schedule[rank]);
    return wrong | check_all(c);
}

/* ---- worlds ---------------------------------------------------------------------------------------------------- */

/* One rank asks for the same bits; all promise the counts. */
static nbcoll_comm_config comm_config(const point *p, int rank)
{
    nbcoll_comm_config config = point_limits;
    config.flags = point_flags(p);
    if (rank != (int)(p->seed % (uint64_t)point_ranks(p)))
        config.flags &= ~NBCOLL_REPRODUCIBLE;
    return config;
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

static void run_loopback(runner *r, const point *p)
{
    nbcoll_loopback_config config = world_variant((int)(p->seed % WORLD_VARIANTS), p->seed);
    nbcoll_request request[WORLD_MOST];
    world w;

    running = r->call[0]->text;
    world_open_contexts(&w, point_ranks(p), &config, NULL);
    w.random = p->seed;
    for (int rank = 0; rank < w.ranks; rank++) {
        nbcoll_comm_config comm = comm_config(p, rank);
        WANTS(OK, nbcoll_comm_icreate(w.context[rank], w.endpoint[rank], &comm, &w.comm[rank], &request[rank]));
    }
    step_to_end(&w, request);
    if (p->v[TRANSPORT] == LOOPBACK_THREADS)
        world_threads(&w, thread_of_world, r);
    for (int i = 0; p->v[TRANSPORT] == STEPPED && i < r->calls; i++)
        if (run_stepped(r->call[i], &w)) {
            r->tally.wrong++;
            fprintf(stderr, "alone: test_grid %s\n", r->call[i]->text);
        }
    world_close(&w);
}

typedef struct member {
    runner *r;
    nbcoll_shm_id id;
} member;

/* Some worlds copy out of the others' memory, some send pieces, some have room for one small message only. */
static void run_shm_rank(const member *m, int rank)
{
    const point *p = &m->r->call[0]->p;
    nbcoll_shm_config config = {.size = sizeof config, .id = m->id, .rank = rank, .ranks = point_ranks(p)};
    nbcoll_comm_config wanted = comm_config(p, rank);
    nbcoll_endpoint *endpoint;
    nbcoll_context *context;
    nbcoll_comm *comm;
    nbcoll_status s;

    running = m->r->call[0]->text;
    config.flags = p->seed % 3 == 1 ? NBCOLL_SHM_NO_CMA | NBCOLL_SHM_NO_BULK : 0;
    config.depth = p->seed % 5 == 1 ? 1 : 0;
    config.payload = p->seed % 5 == 1 ? 256 : 0;
    WANTS(OK, nbcoll_shm_open(&config, &endpoint));
    WANTS(OK, nbcoll_context_create(NBCOLL_ABI, NULL, &context));
    WANTS(OK, nbcoll_comm_create(context, endpoint, &wanted, &comm, deadline));
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
    member m = {.r = r};
    world w = {.ranks = point_ranks(p)};

    running = r->call[0]->text;
    wants(0, "nbcoll_shm_id_make()", NBCOLL_OK, nbcoll_shm_id_make(&m.id));
    if (p->v[TRANSPORT] == SHM_THREADS)
        world_threads(&w, thread_of_shm, &m);
    else
        run_processes(&m, w.ranks);
}

/* ---- many points ----------------------------------------------------------------------------------------------- */

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

    if (p && (p->v[TRANSPORT] == STEPPED || p->v[TRANSPORT] == LOOPBACK_THREADS))
        run_loopback(r, p);
    else if (p)
        run_shm(r, p);
    running = "a point in the making";
    r->tally.runs += (size_t)r->calls;
    for (int i = 0; i < r->calls; i++)
        call_free(r->call[i]);
    r->calls = 0;
    r->bytes = 0;
}

void runner_add(runner *r, const point *p)
{
    const point *first = r->calls ? &r->call[0]->p : p;

    if (r->calls == CALLS || r->bytes > LENT || p->v[RANKS] != first->v[RANKS] ||
        p->v[TRANSPORT] != first->v[TRANSPORT] || p->v[FLAGS] != first->v[FLAGS])
        run_all(r);
    r->call[r->calls] = call_make(p);
    r->bytes += r->call[r->calls++]->bytes;
}

tally runner_close(runner *r)
{
    run_all(r);
    tally t = r->tally;
    free(r);
    return t;
}
