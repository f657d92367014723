/* SPDX-License-Identifier: BSD-3-Clause
 * What others cost: with 1, 100 and 10000 outstanding operations of one communicator, by messages and by cells, and
 * with as many communicators of one operation each: a pass that finds nothing, and then each operation's wait, in turn
 * and in one wait for all during which one operation ends a pass; a look of a wait for any that finds nothing; and the
 * release of a persistent request, in the order in which they were made. One thread steps both ranks. With "any" or
 * "some" and a number: only as many operations, and as many waits for any or some of them, each behind the start of the
 * root; with "ended": as many waits for any when all have ended; for callgrind, which is to collect in measured_turn
 * (requests/test_in_turn.sh). */
#include "nbcoll/loopback.h"
#include "nbcoll/select.h"
#include "timing.h"

enum { MOST = 10000, PASSES = 1000 };

typedef struct ranks {
    nbcoll_loopback *world;
    nbcoll_context *context[2];
    nbcoll_comm *first[2], *comm[2][MOST];
    nbcoll_request request[MOST];
    double sent, got[MOST];
    int n, comms;
    int sends; /* in turn: how many the root has started */
    int idle;  /* looks before it goes on */
    uint64_t asked; /* the clock, in turn */
} ranks;

/* The root starts its next operation. */
static void send_next(ranks *r)
{
    nbcoll_request request;
    if (r->sends == r->n)
        return;
    must(nbcoll_ibcast(&r->sent, 1, NBCOLL_DOUBLE, 0, r->comm[0][r->sends % r->comms], &request));
    r->sends++;
    while (nbcoll_test(&request) == NBCOLL_PENDING)
        nbcoll_progress(r->context[1]);
}

/* Between two looks of a wait. */
static void pause_of(void *user, uint64_t looks)
{
    ranks *r = user;
    (void)looks;
    if (r->idle)
        r->idle--;
    else
        send_next(r);
}

/* In turn a clock that goes 1 us from look to look: how many instructions a wait takes, and when it looks for ranks
 * that are late, does not depend on what else the machine does. */
static uint64_t clock_of(void *user)
{
    return 1000 * ++((ranks *)user)->asked;
}

static void open_ranks(ranks *r, int n, int comms, uint32_t flags, uint64_t (*clock)(void *user))
{
    nbcoll_loopback_config loopback = {.size = sizeof loopback, .ranks = 2, .flags = flags};
    nbcoll_comm_config comm = {.size = sizeof comm, .slots = comms > 1 ? 1 : MOST, .cells = 1, .schedules = 4,
                               .eager = 256, .large = NBCOLL_BY_COST};
    nbcoll_rule exposes = {.sharing = NBCOLL_SHARED}; /* a broadcast by cells */
    nbcoll_request request[2];

    for (unsigned i = 0; !exposes.algorithm || !(exposes.algorithm->flags >> 16); i++)
        exposes.algorithm = nbcoll_algorithm_at(NBCOLL_OPERATION_BCAST, i);
    comm.rules = &exposes;
    comm.rule_count = flags & NBCOLL_LOOPBACK_SHARED ? 1 : 0;
    *r = (ranks){.n = n, .comms = comms, .sent = 7};
    must(nbcoll_loopback_create(&loopback, &r->world));
    for (int i = 0; i < 2; i++) {
        nbcoll_context_config context = {.size = sizeof context, .host = {.user = r, .pause = pause_of, .now = clock}};
        nbcoll_endpoint *ep;
        must(nbcoll_loopback_open(r->world, i, &ep));
        must(nbcoll_context_create(NBCOLL_ABI, &context, &r->context[i]));
        must(nbcoll_comm_icreate(r->context[i], ep, &comm, &r->first[i], &request[i]));
    }
    while (nbcoll_test_all(2, request, NULL) == NBCOLL_PENDING)
        ;
    for (int c = 0; c < comms; c++) {
        for (int i = 0; i < 2; i++)
            must(nbcoll_comm_idup(r->first[i], &r->comm[i][c], &request[i]));
        while (nbcoll_test_all(2, request, NULL) == NBCOLL_PENDING)
            ;
    }
}

static void close_ranks(ranks *r)
{
    for (int i = 0; i < 2; i++) {
        for (int c = 0; c < r->comms; c++)
            must(nbcoll_comm_free(r->comm[i][c]));
        must(nbcoll_comm_free(r->first[i]));
        must(nbcoll_context_free(r->context[i]));
    }
    must(nbcoll_loopback_free(r->world));
}

static void start_all(ranks *r)
{
    r->sends = 0;
    for (int i = 0; i < r->n; i++)
        must(nbcoll_ibcast(&r->got[i], 1, NBCOLL_DOUBLE, 0, r->comm[1][i % r->comms], &r->request[i]));
}

static __attribute__((noinline)) double measured_passes(ranks *r)
{
    double at = now();
    for (int i = 0; i < PASSES; i++)
        must(nbcoll_progress(r->context[1]));
    return (now() - at) / PASSES;
}

static double measured_any(ranks *r)
{
    size_t index;

    r->idle = PASSES;
    double at = now();
    must(nbcoll_wait_any((size_t)r->n, r->request, &index, NBCOLL_FOREVER));
    return (now() - at) / PASSES;
}

static double measured_frees(ranks *r)
{
    for (int i = 0; i < r->n; i++)
        must(nbcoll_barrier_init(r->comm[1][i % r->comms], &r->request[i]));
    double at = now();
    for (int i = 0; i < r->n; i++)
        must(nbcoll_request_free(&r->request[i]));
    return (now() - at) / r->n;
}

/* what: null: nothing is printed. */
static void measure(const char *what, int n, int comms, uint32_t flags)
{
    static ranks r;

    open_ranks(&r, n, comms, flags, NULL);
    start_all(&r);
    double pass = measured_passes(&r);
    while (r.sends < n)
        send_next(&r);
    double at = now();
    for (int i = 0; i < n; i++)
        must(nbcoll_wait(&r.request[i], NBCOLL_FOREVER));
    double in_turn = (now() - at) / n;
    start_all(&r);
    double any = measured_any(&r);
    at = now();
    must(nbcoll_wait_all((size_t)n, r.request, NULL, NBCOLL_FOREVER));
    double all = (now() - at) / n;
    double freed = measured_frees(&r);
    if (what)
        printf("%-36s %5d: a pass %6.0f ns, a look for any %6.0f; of each a wait %5.0f, of a wait for all %5.0f; a "
               "release %5.0f\n",
               what, n, pass, any, in_turn, all, freed);
    close_ranks(&r);
}

static __attribute__((noinline)) void measured_turn(ranks *r, int is_some, size_t indices[])
{
    size_t ended;

    if (is_some)
        must(nbcoll_wait_some((size_t)r->n, r->request, &ended, indices, NULL, NBCOLL_FOREVER));
    else
        must(nbcoll_wait_any((size_t)r->n, r->request, indices, NBCOLL_FOREVER));
}

static void wait_in_turn(int n, const char *how)
{
    static ranks r;
    static size_t indices[MOST];

    open_ranks(&r, n, 1, 0, clock_of);
    start_all(&r);
    while (r.sends < n && !strcmp(how, "ended"))
        send_next(&r);
    must(nbcoll_progress(r.context[1]));
    for (int i = 0; i < n; i++) {
        send_next(&r);
        measured_turn(&r, !strcmp(how, "some"), indices);
    }
    close_ranks(&r);
}

int main(int argc, char **argv)
{
    static const int outstanding[] = {1, 100, MOST};
    int n = argc == 3 ? atoi(argv[2]) : 0;

    if (n > 0 && n <= MOST) {
        wait_in_turn(n, argv[1]);
        return 0;
    }
    for (int i = 0; i < 20; i++) /* a process's first calls load their pages, and its memory */
        measure(NULL, 1, 1, 0);
    for (int i = 0; i < 3; i++)
        measure("operations of a communicator", outstanding[i], 1, 0);
    for (int i = 0; i < 3; i++)
        measure("operations that read cells", outstanding[i], 1, NBCOLL_LOOPBACK_SHARED);
    for (int i = 0; i < 3; i++)
        measure("communicators with an operation each", outstanding[i], outstanding[i], 0);
    return 0;
}
