/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A rank: opens, executes plans one after the other, each call in a form and with a wait of its own choice, and checks
 * what comes out. After its first failure it waits for what is outstanding and leaves, or goes on with those that are
 * left. And an agent, which serves all ranks. */
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <malloc.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>

#include "nbcoll/driver.h"
#include "nbcoll/loopback.h"
#include "nbcoll/offload.h"
#include "soak.h"

enum { OPEN_MOST = 64, MAPPED = 2048, LARGE = 40000 };

typedef struct call {
    nbcoll_request request;
    buffers b;
    int item;
} call;

/* This process. */
static struct {
    board *board;
    report *out;
    int seat;                  /* in the job */
    storm world;               /* its plan */
    actor actor;               /* whose rank is that in the communicator of all that are left */
    int seats[SOAK_RANKS];     /* of these */
    nbcoll_endpoint *endpoint;
    nbcoll_agent *agent;
    bool has_attached;
    nbcoll_context *context;
    nbcoll_driver *driver;
    nbcoll_comm *comm[COMMS_MOST];
    call *open[OPEN_MOST]; /* which stay where they are: descriptors of the host's point there */
    int opened;
    uint64_t random;
    nbcoll_status status;
} w;

static uint64_t choose(uint64_t below)
{
    return next_random(&w.random) % below;
}

/* ---- what values.c asks of storm --------------------------------------------------------------------------------- */

void storm_find(storm *s, const char *format, ...)
{
    va_list list;
    (void)s;
    va_start(list, format);
    if (!w.out->found[0])
        vsnprintf(w.out->found, sizeof w.out->found, format, list);
    va_end(list);
}

bool host_function_fails(actor *a)
{
    (void)a;
    return false;
}

/* ---- failures ---------------------------------------------------------------------------------------------------- */

static void failed(int comm, nbcoll_status status, const char *where)
{
    nbcoll_failure failure = {.rank = -1};
    char why[200] = "";
    report *out = w.out;
    if (w.status == NBCOLL_OK)
        w.status = status;
    if (out->status != NBCOLL_OK)
        return;
    out->named = out->number = -1;
    if (comm >= 0) {
        if (!w.comm[comm] || nbcoll_comm_failure(w.comm[comm], &failure) != NBCOLL_OK || failure.status != status)
            nbcoll_last_failure(w.context, &failure);
        nbcoll_failure_text(&failure, why, sizeof why);
        if (failure.status == status && failure.rank >= 0 && failure.comm == w.comm[comm]) {
            int rank = plan_member(&w.world.plan, comm, w.actor.rank, failure.rank);
            out->number = failure.rank;
            out->named = rank < 0 ? -1 : w.seats[rank];
        }
    }
    out->at_opening = comm < 0;
    snprintf(out->text, sizeof out->text, "%s: %s (%s)", where, nbcoll_status_name(status), why);
    atomic_store(&out->failed_at, soak_now());
    out->status = (int)status;
}

static void ends_by_itself(void)
{
    static char *const nothing[] = {"true", NULL};
    switch (w.board->job.suicide) {
    case EXECS:
        execv("/bin/true", nothing);
        _exit(1);
    case CRASHES:
        signal(SIGSEGV, SIG_DFL);
        raise(SIGSEGV);
        _exit(1);
    default:
        _exit(0);
    }
}

/* One more call: at that of the victim something may happen from inside. */
static void counts(void)
{
    const job *j = &w.board->job;
    if (atomic_fetch_add(&w.out->calls, 1) != j->at || w.seat != j->victim)
        return;
    if (j->suicide)
        ends_by_itself();
    if (j->filter && ground_filter(j->filter, j->error))
        storm_find(&w.world, "no filter");
}

/* ---- waiting ----------------------------------------------------------------------------------------------------- */

static bool is_over(nbcoll_status status)
{
    return status != NBCOLL_PENDING && status != NBCOLL_ERR_TIMEOUT && status != NBCOLL_ERR_NO_SLOT;
}

/* Who becomes another program wakes nobody who sleeps for ever (shm.h). */
static void sleep_armed(void)
{
    struct pollfd fd = {.events = POLLIN};
    if (nbcoll_fd(w.context, &fd.fd) == NBCOLL_OK && nbcoll_arm(w.context) == NBCOLL_OK)
        poll(&fd, 1, w.board->job.suicide == EXECS ? 100 : -1);
}

static nbcoll_status wait_for(nbcoll_request *request)
{
    nbcoll_status status;
    switch (choose(w.driver || w.agent ? 3 : 4)) {
    case 0:
        return nbcoll_wait(request, NBCOLL_FOREVER);
    case 1:
        while (!is_over(status = nbcoll_test(request)))
            sched_yield();
        return status;
    case 2:
        while (!is_over(status = nbcoll_wait(request, choose(2 * MILLISECOND))))
            ;
        return status;
    default:
        while (!is_over(status = nbcoll_test(request)))
            sleep_armed();
        return status;
    }
}

static void check(const item *i, buffers *b, nbcoll_status status)
{
    char text[200];
    const char *wrong = buffers_wrong(b, status == NBCOLL_OK, text);
    if (wrong)
        storm_find(&w.world, "%s, count %zu, root %d, number %d of %d: %s: %s", nbcoll_operation_name(b->o.what),
                   b->o.count, b->o.root, b->rank, b->ranks, nbcoll_status_name(status), wrong);
    if (status == NBCOLL_OK)
        atomic_fetch_add(&w.out->done, 1);
    else
        failed(i->comm, status, nbcoll_operation_name(b->o.what));
}

static void close_call(call *c)
{
    buffers_free(&c->b);
    free(c);
}

static void end_one(int k)
{
    call *c = w.open[k];
    nbcoll_status status = wait_for(&c->request);
    check(&w.world.plan.item[c->item], &c->b, status);
    w.open[k] = w.open[--w.opened];
    close_call(c);
}

/* ---- calls ------------------------------------------------------------------------------------------------------- */

/* What storm's plans say, in sizes for real memory. An agent takes what it can name or copy, alike on all ranks. Here
 * it copies buffers of at most 16 KiB (nbcoll_serve_config); an alltoall of 6 ranks may have elements of 32 bytes. */
static item adapted(const item *from)
{
    item i = *from;
    i.o.count *= i.salt % 9 == 0 ? 50 : 1;
    if (i.o.count > LARGE)
        i.o.count = LARGE;
    if (w.board->job.has_agent) {
        i.o.count = i.o.count > 64 ? 64 : i.o.count;
        i.o.in_place = i.own_op = 0;
        i.element = ELEMENT_PREDEFINED;
        if (combines(i.o.what))
            i.o.how = operation_reduction((size_t)(i.salt % operation_reductions()));
    }
    return i;
}

static nbcoll_status persistent(const operation *o, const share *s, nbcoll_comm *comm)
{
    nbcoll_request request;
    nbcoll_status status = operation_init(o, s, comm, &request);
    if (status != NBCOLL_OK)
        return status;
    status = nbcoll_start(&request);
    if (status == NBCOLL_OK)
        status = wait_for(&request);
    nbcoll_request_free(&request);
    return status;
}

static void call_once(int n, uint64_t salt)
{
    item i = adapted(&w.world.plan.item[n]);
    place_in at = w.world.plan.place[i.comm][w.actor.rank];
    nbcoll_comm *comm = w.comm[i.comm];
    uint64_t form = choose(8);
    call *c = malloc(sizeof *c);

    buffers_make(&c->b, &w.actor, &i, at.rank, at.size, salt);
    c->item = n;
    if (form < 2) {
        check(&i, &c->b, form ? persistent(&c->b.o, &c->b.share, comm)
                              : operation_call(&c->b.o, &c->b.share, comm, NBCOLL_FOREVER));
        close_call(c);
        return;
    }
    nbcoll_status status = operation_start(&c->b.o, &c->b.share, comm, &c->request);
    if (status == NBCOLL_OK) {
        w.open[w.opened++] = c;
        return;
    }
    check(&i, &c->b, status);
    close_call(c);
}

static void call_item(int n)
{
    const plan *p = &w.world.plan;
    for (int t = 0; t < p->item[n].times && w.status == NBCOLL_OK; t++) {
        counts();
        while (w.opened >= p->window)
            end_one((int)choose((uint64_t)w.opened));
        if (w.status == NBCOLL_OK)
            call_once(n, mix(p->item[n].salt, (uint64_t)t));
    }
}

static void make_comm(const item *i)
{
    const plan *p = &w.world.plan;
    place_in at = p->place[i->made][w.actor.rank], old = p->place[i->comm][w.actor.rank];
    nbcoll_request request;
    counts();
    nbcoll_status status = i->kind == ITEM_DUP
                               ? nbcoll_comm_idup(w.comm[i->comm], &w.comm[i->made], &request)
                               : nbcoll_comm_isplit(w.comm[i->comm], at.group, i->salt / 3 % 2 ? -old.rank : old.rank,
                                                    &w.comm[i->made], &request);
    if (status == NBCOLL_OK)
        status = wait_for(&request);
    if (status != NBCOLL_OK) {
        failed(i->comm, status, i->kind == ITEM_DUP ? "dup" : "split");
        return;
    }
    nbcoll_comm *made = w.comm[i->made];
    if (at.group >= 0 ? !made || nbcoll_comm_rank(made) != at.rank || nbcoll_comm_size(made) != at.size : made != NULL)
        storm_find(&w.world, "a communicator that was made has other ranks");
}

static void free_comm(int comm)
{
    while (w.comm[comm] && nbcoll_comm_free(w.comm[comm]) == NBCOLL_ERR_BUSY)
        nbcoll_progress(w.context);
    w.comm[comm] = NULL;
}

static void end_all(void)
{
    while (w.opened)
        end_one((int)choose((uint64_t)w.opened));
}

/* All of a plan; then its communicators go, but for that of all. */
static void execute(uint64_t seed, int ranks)
{
    const cut calm = {.items = -1, .is_calm = true, .ranks = ranks};
    plan *p = &w.world.plan;
    uint32_t flags = p->flags;
    plan_make(p, seed, &calm);
    p->flags = flags;
    for (int n = 0; n < p->items && w.status == NBCOLL_OK; n++) {
        const item *i = &p->item[n];
        if (i->kind == ITEM_CHAIN || i->kind == ITEM_OWN || i->kind == ITEM_SHRINK || i->kind >= ITEM_MESSAGES ||
            !w.comm[i->comm])
            continue;
        if (i->kind == ITEM_CALL)
            call_item(n);
        else if (i->kind != ITEM_FREE)
            make_comm(i);
        else {
            end_all();
            free_comm(i->comm);
        }
    }
    end_all();
    for (int c = 1; c < COMMS_MOST; c++)
        free_comm(c);
}

/* ---- beginning and end ------------------------------------------------------------------------------------------- */

/* Memory that goes to the system each time it is given back, so that a limit is felt. */
static void *map(void *user, size_t bytes, size_t align)
{
    (void)user;
    if (bytes < MAPPED)
        return align > 16 ? aligned_alloc(align, (bytes + align - 1) / align * align) : malloc(bytes ? bytes : 1);
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return memory == MAP_FAILED || align > 4096 ? NULL : memory;
}

static void unmap(void *user, void *memory, size_t bytes)
{
    (void)user;
    if (bytes < MAPPED)
        free(memory);
    else
        munmap(memory, bytes);
}

static int descriptors(void)
{
    DIR *dir = opendir("/proc/self/fd");
    int n = 0;
    while (dir && readdir(dir))
        n++;
    if (dir)
        closedir(dir);
    return dir ? n : -1;
}

static nbcoll_status open_all(const job *j)
{
    nbcoll_host host = {.size = sizeof host, .alloc = j->has_mapped ? map : NULL, .free = j->has_mapped ? unmap : NULL};
    nbcoll_shm_config config = {.size = sizeof config, .host = &host, .id = j->id, .rank = w.seat, .ranks = j->ranks,
                                .timeout = j->timeout, .quota = 4 << 20};
    nbcoll_context_config context = {.size = sizeof context, .host = host, .credits = w.world.plan.credits};
    nbcoll_comm_config terms = NBCOLL_COMM_DEFAULTS;
    nbcoll_attach_config attach = {.size = sizeof attach, .socket = SOCKETS + w.seat, .timeout = j->timeout};
    bool drives = choose(4) == 0 && !j->has_agent && !j->has_mapped;

    context.flags = drives ? NBCOLL_ANY_THREAD : 0;
    terms.slots = w.world.plan.slots;
    terms.cells = w.world.plan.cells;
    terms.schedules = w.world.plan.schedules;
    terms.eager = w.world.plan.eager;
    terms.flags = j->has_agent ? 0 : w.world.plan.flags;
    w.world.plan.flags = terms.flags;
    nbcoll_request request;
    nbcoll_status s = nbcoll_shm_open(&config, &w.endpoint);
    atomic_store(&w.out->is_open, 1);
    w.has_attached = s == NBCOLL_OK && j->has_agent;
    if (w.has_attached)
        s = nbcoll_agent_attach(w.endpoint, &attach, &w.agent);
    terms.agent = w.agent;
    if (s == NBCOLL_OK)
        s = nbcoll_context_create(NBCOLL_ABI, &context, &w.context);
    if (s == NBCOLL_OK)
        s = nbcoll_comm_icreate(w.context, w.endpoint, &terms, &w.comm[0], &request);
    if (s == NBCOLL_OK) { /* the context has the endpoint, whatever comes of it */
        w.endpoint = NULL;
        s = nbcoll_wait(&request, NBCOLL_FOREVER);
    }
    if (s == NBCOLL_OK && drives) {
        nbcoll_driver_config driver = {.size = sizeof driver};
        if (nbcoll_driver_create(&driver, &w.driver) != NBCOLL_OK ||
            nbcoll_driver_add(w.driver, w.context) != NBCOLL_OK || nbcoll_driver_start(w.driver) != NBCOLL_OK)
            storm_find(&w.world, "no driver");
    }
    return s;
}

static void close_all(void)
{
    nbcoll_status s = NBCOLL_OK;
    if (w.driver)
        nbcoll_driver_free(w.driver);
    for (int c = 0; c < COMMS_MOST; c++)
        free_comm(c);
    while (w.context && (s = nbcoll_context_free(w.context)) == NBCOLL_ERR_BUSY)
        nbcoll_progress(w.context);
    if (s != NBCOLL_OK)
        storm_find(&w.world, "the context is not freed: %s", nbcoll_status_name(s));
    if (w.endpoint) /* the context has not got it */
        nbcoll_endpoint_close(w.endpoint);
    if (w.agent)
        nbcoll_agent_close(w.agent);
}

/* Those that are left make a communicator and learn who is in it. False: it ends here. */
static bool go_on(void)
{
    int32_t mine = w.seat, seats[SOAK_RANKS];
    nbcoll_comm *old = w.comm[0];
    w.comm[0] = NULL;
    nbcoll_status s = nbcoll_comm_shrink(old, &w.comm[0], NBCOLL_FOREVER);
    while (nbcoll_comm_free(old) == NBCOLL_ERR_BUSY)
        nbcoll_progress(w.context);
    bool may_fail = w.board->job.has_mapped && (s == NBCOLL_ERR_MEMORY || s == NBCOLL_ERR_CANCELLED);
    if (s != NBCOLL_OK && !may_fail) /* where addresses run out, here or at another one */
        storm_find(&w.world, "shrink: %s", nbcoll_status_name(s));
    if (s != NBCOLL_OK || nbcoll_comm_size(w.comm[0]) < 2)
        return false;
    w.status = nbcoll_allgather(&mine, seats, 1, NBCOLL_INT32, w.comm[0], NBCOLL_FOREVER);
    for (int i = 0; w.status == NBCOLL_OK && i < nbcoll_comm_size(w.comm[0]); i++)
        w.seats[i] = seats[i];
    w.actor.rank = nbcoll_comm_rank(w.comm[0]);
    return true;
}

/* What the test itself needs is there, so that a limit of addresses is felt by the library alone. */
static void provide(void)
{
    unsigned char stack[512 << 10];
    mallopt(M_MMAP_MAX, 0);
    mallopt(M_TRIM_THRESHOLD, 1 << 30);
    void *volatile heap = malloc(256 << 20); /* volatile: else it is left out */
    free(heap);
    memset(stack, 0, sizeof stack);
    __asm__ volatile("" : : "r"(stack) : "memory");
}

static void on_signal(int number)
{
    (void)number;
}

/* The leak checker looks, and opens files for that. */
static _Noreturn void leave(void)
{
    struct rlimit files = {1024, 1024};

    setrlimit(RLIMIT_NOFILE, &files);
    exit(0);
}

_Noreturn void soak_work(board *b, int seat)
{
    const job *j = &b->job;
    const cut calm = {.items = -1, .is_calm = true, .ranks = j->ranks};
    struct sigaction action = {.sa_handler = on_signal};
    int before = descriptors();

    w.board = b;
    w.out = &b->of[w.seat = w.actor.rank = seat];
    w.actor.storm = &w.world;
    w.random = mix(j->seed, 100 + (uint64_t)seat);
    plan_make(&w.world.plan, j->seed, &calm); /* its limits are those of the communicator */
    for (int i = 0; i < SOAK_RANKS; i++)
        w.seats[i] = i;
    if (j->has_mapped)
        provide();
    if (j->has_signals) {
        struct itimerval often = {{0, 700}, {0, 700}};
        action.sa_flags = seat % 2 ? SA_RESTART : 0;
        sigaction(SIGALRM, &action, NULL);
        setitimer(ITIMER_REAL, &often, NULL);
    }
    nbcoll_status s = open_all(j);
    if (s != NBCOLL_OK)
        failed(-1, s, "opening");
    for (int made = 0, round = 0; w.status == NBCOLL_OK && round < j->rounds; round++) {
        execute(mix(j->seed, (uint64_t)(made * 1000 + round)), nbcoll_comm_size(w.comm[0]));
        while (w.status == NBCOLL_ERR_PEER_LOST && j->shrinks && go_on()) {
            made++;
            round = j->rounds - 2; /* once more */
        }
    }
    atomic_store(&w.out->left_at, soak_now());
    close_all();
    int after = descriptors();
    before -= w.has_attached; /* the agent has taken its socket */
    if (before >= 0 && after >= 0 && after != before)
        storm_find(&w.world, "it has had %d descriptors, and has %d", before, after);
    atomic_store(&w.out->is_over, 1);
    leave();
}

_Noreturn void soak_serve(board *b)
{
    nbcoll_loopback_config config = {.size = sizeof config, .ranks = b->job.ranks, .pairs = nbcoll_loopback_pairs()};
    nbcoll_endpoint *endpoint[SOAK_RANKS];
    nbcoll_loopback *world;
    int sockets[SOAK_RANKS];
    nbcoll_status s = nbcoll_loopback_create(&config, &world);
    for (int i = 0; s == NBCOLL_OK && i < b->job.ranks; i++) {
        sockets[i] = SOCKETS + i;
        s = nbcoll_loopback_open(world, i, &endpoint[i]);
    }
    nbcoll_serve_config serve = {
        .size = sizeof serve, .endpoints = endpoint, .sockets = sockets, .count = b->job.ranks};
    if (s == NBCOLL_OK)
        s = nbcoll_agent_serve(&serve);
    if (s == NBCOLL_OK)
        s = nbcoll_loopback_free(world);
    if (s != NBCOLL_OK)
        snprintf(b->of[AGENT].found, sizeof b->of[AGENT].found, "the agent: %s", nbcoll_status_name(s));
    atomic_store(&b->of[AGENT].is_over, 1);
    exit(0);
}
