/* SPDX-License-Identifier: BSD-3-Clause
 * Tasks: a small task runtime drives its collectives itself. Its tasks are functions in a queue. One that waits for a
 * collective leaves the queue, and comes back when the callback of the request says that it has ended; when no task is
 * ready, which is when a runtime is idle anyway, its hook calls nbcoll_progress. No thread is needed, no task ever
 * blocks, and others run meanwhile. Here each rank has a task that sums over all ranks again and again, and one that
 * computes pi in pieces. Start it by
 *
 *     nbcoll run -n 4 tasks
 */
#include <stdio.h>

#include <nbcoll/launch.h>
#include <nbcoll/nbcoll.h>

/* ---- the runtime ------------------------------------------------------------------------------------------------- */

typedef struct runtime runtime;
typedef struct task task;

/* A task's next piece. It goes on being ready, unless it waits or is over. */
struct task {
    void (*run)(runtime *r, task *t);
    void *data;
    task *next;
};

struct runtime {
    nbcoll_context *context;
    task *first, **last; /* that are ready */
    int tasks;           /* that are not over */
    long idle;           /* times that none was ready */
    nbcoll_status status;
};

static void make_ready(runtime *r, task *t)
{
    t->next = NULL;
    *r->last = t;
    r->last = &t->next;
}

/* The idle hook. */
static void idle(runtime *r)
{
    r->idle++;
    r->status = nbcoll_progress(r->context); /* calls the callbacks, which make tasks ready */
}

static void run_all(runtime *r)
{
    while (r->tasks && r->status == NBCOLL_OK) {
        task *t = r->first;
        if (!t) {
            idle(r);
            continue;
        }
        r->first = t->next;
        if (!r->first)
            r->last = &r->first;
        t->run(r, t);
    }
}

/* ---- the tasks --------------------------------------------------------------------------------------------------- */

enum { SUMS = 100, PIECES = 200 };

typedef struct summing {
    runtime *runtime;
    task *task;
    nbcoll_comm *comm;
    int done;
    long mine, sum;
} summing;

static void on_sum(nbcoll_request request, nbcoll_status status, void *user)
{
    summing *s = user;
    (void)request; /* released after this */
    s->runtime->status = status;
    make_ready(s->runtime, s->task);
}

/* Starts the next sum and leaves the queue until that has ended. */
static void sum_on(runtime *r, task *t)
{
    summing *s = t->data;
    nbcoll_request request;

    s->mine = s->done ? s->sum % 1000 + nbcoll_comm_rank(s->comm) : nbcoll_comm_rank(s->comm);
    if (s->done++ == SUMS) {
        r->tasks--;
        return;
    }
    r->status = nbcoll_iallreduce(&s->mine, &s->sum, 1, NBCOLL_INT64, NBCOLL_SUM, s->comm, &request);
    if (r->status == NBCOLL_OK)
        r->status = nbcoll_on_done(request, on_sum, s);
}

typedef struct computing {
    double pi;
    int piece;
} computing;

static void compute_on(runtime *r, task *t)
{
    computing *c = t->data;

    for (int i = c->piece * 1000; i < (c->piece + 1) * 1000; i++)
        c->pi += (i % 2 ? -4.0 : 4.0) / (2.0 * i + 1);
    if (++c->piece == PIECES)
        r->tasks--;
    else
        make_ready(r, t);
}

int main(void)
{
    runtime r = {.tasks = 2};
    computing pi = {0, 0};
    task compute = {compute_on, &pi, NULL}, sum = {sum_on, NULL, NULL};
    summing sums = {.runtime = &r, .task = &sum};

    r.last = &r.first;
    sum.data = &sums;
    nbcoll_status status = nbcoll_launch_join(&r.context, &sums.comm);
    if (status == NBCOLL_OK) {
        make_ready(&r, &sum);
        make_ready(&r, &compute);
        run_all(&r);
        status = r.status;
    }
    if (status == NBCOLL_OK)
        printf("rank %d: the last of %d sums is %ld, pi is about %.4f, and the runtime was %s\n",
               nbcoll_comm_rank(sums.comm), SUMS, sums.sum, pi.pi, r.idle ? "idle at times" : "never idle");
    else
        fprintf(stderr, "tasks: %s\n", nbcoll_status_text(status));
    while (nbcoll_context_free(r.context) == NBCOLL_ERR_BUSY && status == NBCOLL_OK)
        nbcoll_progress(r.context); /* the last messages are on their way */
    return status != NBCOLL_OK;
}
