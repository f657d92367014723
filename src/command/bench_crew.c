/* SPDX-License-Identifier: BSD-3-Clause
 * A crew of ranks over shared memory: a process for each rank, or one process with a thread for each, in any case apart
 * from the command itself. They share a piece of memory with it, where their samples go. */
#define _GNU_SOURCE

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench.h"
#include "run.h"

#ifdef NBCOLL_WITH_SHM

#include <nbcoll/shm.h>

#define TIMEOUT UINT64_C(20000000000) /* ns to find each other: for a machine under load */

typedef struct crew {
    const bench_plan *plan;
    bench_shared *shared;
    nbcoll_shm_id id;
    const run_binding *binding;
} crew;

typedef struct member {
    const crew *crew;
    int rank;
    pthread_t thread;
} member;

/* ---- a rank ---------------------------------------------------------------------------------------------------- */

static nbcoll_status open_rank(const member *m, nbcoll_context **context, nbcoll_comm **comm)
{
    nbcoll_shm_config config = {.size = sizeof config, .id = m->crew->id, .rank = m->rank,
                                .ranks = m->crew->plan->ranks, .timeout = TIMEOUT};
    nbcoll_endpoint *end = NULL;
    nbcoll_status status = nbcoll_shm_open(&config, &end);
    if (status == NBCOLL_OK)
        status = nbcoll_context_create(NBCOLL_ABI, NULL, context);
    return status == NBCOLL_OK ? nbcoll_comm_create(*context, end, NULL, comm, TIMEOUT) : status;
}

static nbcoll_status close_rank(nbcoll_context *context, nbcoll_comm *comm)
{
    nbcoll_status status = nbcoll_barrier(comm, TIMEOUT);
    while (status == NBCOLL_OK && (status = nbcoll_context_free(context)) == NBCOLL_ERR_BUSY)
        status = nbcoll_progress(context);
    return status;
}

static void *live(void *user)
{
    const member *m = user;
    nbcoll_context *context;
    nbcoll_comm *comm;
    run_bind_here(m->crew->binding, m->rank); /* where it cannot be, the rank runs anywhere */
    nbcoll_status status = open_rank(m, &context, &comm);
    if (status == NBCOLL_OK)
        status = bench_rank(m->crew->plan, m->crew->shared, context, comm);
    if (status == NBCOLL_OK)
        status = close_rank(context, comm);
    if (status != NBCOLL_OK)
        bench_fail(m->crew->shared, status);
    return NULL;
}

/* All ranks, as threads of this process. */
static void live_as_threads(const crew *c)
{
    member *all = calloc((size_t)c->plan->ranks, sizeof *all);
    int made = 0;
    for (int error = !all; !error && made < c->plan->ranks; made += !error) {
        all[made] = (member){.crew = c, .rank = made};
        error = pthread_create(&all[made].thread, NULL, live, &all[made]);
    }
    if (made < c->plan->ranks)
        bench_fail(c->shared, NBCOLL_ERR_MEMORY);
    for (int r = 0; r < made; r++)
        pthread_join(all[r].thread, NULL);
    free(all);
}

/* ---- the crew -------------------------------------------------------------------------------------------------- */

static pid_t spawn(const crew *c, int rank)
{
    pid_t parent = getpid(), pid = fork();
    if (pid != 0)
        return pid;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(COMMAND_FAILED);
    member m = {.crew = c, .rank = rank};
    if (c->plan->are_threads)
        live_as_threads(c);
    else
        live(&m);
    _exit(bench_failure(c->shared) != NBCOLL_OK);
}

static void run_crew(const crew *c)
{
    int processes = c->plan->are_threads ? 1 : c->plan->ranks, started = 0, how;
    while (started < processes && spawn(c, started) > 0)
        started++;
    if (started < processes)
        bench_fail(c->shared, NBCOLL_ERR_MEMORY);
    for (; started > 0 && wait(&how) > 0; started--)
        if (how != 0)
            bench_fail(c->shared, NBCOLL_ERR_PEER_LOST);
}

int bench_run(const command *self, const bench_plan *plan, bench_result results[])
{
    size_t bytes = bench_shared_bytes(plan);
    run_binding *binding = NULL;
    crew c = {.plan = plan};
    nbcoll_status status = nbcoll_shm_id_make(&c.id);
    int failed = run_bind_find(self, plan->bind, plan->ranks, &binding);
    if (failed)
        return failed;
    c.binding = binding;
    c.shared = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (c.shared == MAP_FAILED) {
        c.shared = NULL;
        status = NBCOLL_ERR_MEMORY;
    } else if (status == NBCOLL_OK) {
        bench_shared_init(plan, c.shared);
        run_crew(&c);
        status = bench_failure(c.shared);
    }
    if (status == NBCOLL_OK)
        bench_collect(plan, c.shared, results);
    else
        command_refuse(self, "%s of %d ranks, %zu elements: %s", nbcoll_operation_name(plan->operation), plan->ranks,
                       plan->count, nbcoll_status_text(status));
    if (c.shared)
        munmap(c.shared, bytes);
    run_bind_free(binding);
    return status == NBCOLL_OK ? COMMAND_OK : COMMAND_FAILED;
}

#else

int bench_run(const command *self, const bench_plan *plan, bench_result results[])
{
    (void)plan;
    (void)results;
    command_refuse(self, "this build is without the transport shm, over which the ranks would run");
    return COMMAND_FAILED;
}

#endif
