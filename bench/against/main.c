/* SPDX-License-Identifier: BSD-3-Clause
 * The cells one after the other: see against.h. */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <nbcoll/shm.h>

#include "against.h"

enum { RETAKES = 20, TRIAL = 3, REPEATS = 3, LATENCIES = 5, PATIENCE = 200, ITERATIONS_MOST = 2000 };

#define SHARED_FROM 65536 /* bytes: smaller buffers gain nothing from nbcoll_mem_alloc */
#define COPIES_FROM 16384 /* bytes: below, copies are not what takes the time */
#define APART_MOST (64u << 20) /* bytes of a buffer between machines: larger ones are left out */

typedef struct plan {
    int operations, counts, first_turns, last_turns; /* 1: reused; TURNS: so many in turn */
    nbcoll_operation operation[NBCOLL_OPERATION_COUNT];
    size_t count[64];
    int rounds;
    int is_relaxed;
    int has_parts;      /* parts of a time are measured, too */
    long iterations;   /* of a batch; 0: as many as fit into the budget */
    double budget;     /* us */
    double low, high;  /* the latency class that is wanted: us of a line from core to core */
    const char *spoil; /* a library whose results are made wrong: for tests of the check */
    const char *interface; /* the ranks are on several machines, which it joins; null: on one */
    const char *directory; /* where gloo's ranks meet; null: it is left out */
    const char *provider;  /* nbcoll's, of libfabric; null: what it takes by itself */
} plan;

typedef struct bench {
    const plan *plan;
    world world;
    ours *ours;
    copies *copies;
    const cell *cell;
    buffers buffers[3]; /* private, of nbcoll_mem_alloc, and of the arena */
    entry *entry;
    int entries;
    long retaken, preempted;
    double calls[2]; /* of the operation at hand, persistent and not; 0: not measured */
    int patience; /* times to wait for a latency class */
    double *sample;
} bench;

/* ---- buffers ----------------------------------------------------------------------------------------------------- */

static size_t rounded(size_t bytes)
{
    return (bytes + 4095) / 4096 * 4096 + 4096;
}

static size_t bytes_of(const plan *p, int ranks)
{
    size_t most = 0;
    for (int i = 0; i < p->operations; i++)
        for (int j = 0; j < p->counts; j++) {
            cell c = {.operation = p->operation[i], .count = p->count[j]};
            size_t bytes = rounded(buffer_floats(&c, ranks) * sizeof(float)) * 2 * (size_t)p->last_turns;
            most = c.count * sizeof(float) >= SHARED_FROM && bytes > most ? bytes : most;
        }
    return most;
}

/* What the ranks may take for nbcoll_mem_alloc: all of them together an eighth of the machine's memory. */
static size_t memory_of(const plan *p, int ranks)
{
    size_t all = (size_t)sysconf(_SC_PHYS_PAGES) * (size_t)sysconf(_SC_PAGESIZE);
    size_t limit = all / 8 / (size_t)ranks, most = bytes_of(p, ranks);
    limit = limit < (size_t)1000 << 20 ? limit : (size_t)1000 << 20;
    return most < limit ? most : limit;
}

/* 0, or -1 where there is no such memory; on every rank the same. */
static int allocate(bench *b, int is_shared)
{
    buffers *to = &b->buffers[is_shared];
    size_t bytes = rounded(buffer_floats(b->cell, b->world.ranks) * sizeof(float));
    int failed = 0;
    for (int i = 0; i < b->cell->turns; i++) {
        to->send[i] = is_shared ? ours_alloc(b->ours, bytes) : aligned_alloc(4096, bytes);
        to->recv[i] = is_shared ? ours_alloc(b->ours, bytes) : aligned_alloc(4096, bytes);
        failed |= !to->send[i] || !to->recv[i];
    }
    return world_most(&b->world, failed) > 0 ? -1 : 0;
}

static void release(bench *b, int is_shared)
{
    buffers *of = &b->buffers[is_shared];
    for (int i = 0; i < TURNS; i++)
        for (int j = 0; j < 2; j++) {
            float *memory = j ? of->recv[i] : of->send[i];
            if (is_shared && memory)
                ours_free(b->ours, memory);
            else
                free(memory);
        }
    *of = (buffers){.send = {NULL}};
}

/* ---- an entry ---------------------------------------------------------------------------------------------------- */

static void meet_for(bench *b, entry *e)
{
    meet(&b->world, e->progress, e->user);
}

static void check_status(const bench *b, const entry *e, int status)
{
    if (status != 0)
        give_up("rank %d: %s %s of %s, %zu bytes: status %d", b->world.rank, e->library, e->form_name,
                nbcoll_operation_name(e->cell->operation), e->cell->bytes, status);
}

static double part(bench *b, entry *e, int (*function)(entry *, int), int turn)
{
    double at = now();
    int status = function(e, turn);
    double us = now() - at - b->world.clock;
    check_status(b, e, status);
    return us > 0 ? us : 0;
}

static double iterate(bench *b, entry *e, int turn)
{
    meet_for(b, e);
    double us = part(b, e, e->call, turn);
    if (e->second) {
        meet(&b->world, NULL, NULL); /* and nothing of the second part is done meanwhile */
        us += part(b, e, e->second, turn);
    }
    return us;
}

/* Are the results right, in each turn and on each rank? Each time with other data: there are persistent requests that
 * do their work once. */
static int check(bench *b, entry *e)
{
    const world *w = &b->world;
    int is_wrong = 0;
    for (int i = 0; i < REPEATS * e->cell->turns; i++) {
        int turn = i % e->cell->turns;
        float *recv = e->buffers->recv[turn];
        data_fill(e->cell, w->rank, w->ranks, i, e->buffers->send[turn], recv);
        iterate(b, e, turn);
        meet_for(b, e);
        if (b->plan->spoil && strcmp(b->plan->spoil, e->library) == 0)
            recv[0] += 1;
        is_wrong |= data_wrong(e->cell, w->rank, w->ranks, i, recv) >= 0;
    }
    return world_most(&b->world, is_wrong) == 0;
}

static long preemptions(void)
{
    struct rusage usage;
    getrusage(RUSAGE_THREAD, &usage);
    return usage.ru_nivcsw;
}

/* Says how many iterations a batch has: the same on all ranks. */
static void size_batch(bench *b, entry *e)
{
    double us = 0;
    for (int i = 0; i < 2 * TRIAL; i++) {
        double once = iterate(b, e, i % e->cell->turns);
        us += i < TRIAL ? 0 : once / TRIAL;
    }
    us = world_most(&b->world, us) + 0.3; /* the meeting */
    double fit = b->plan->budget / us;
    e->iterations = fit > ITERATIONS_MOST ? ITERATIONS_MOST : fit < 2 ? 2 : (long)fit;
    if (b->plan->iterations)
        e->iterations = b->plan->iterations;
}

/* A batch in which a rank was preempted is taken again: but yielding to another rank counts as preemption, too, so that
 * ranks that share cores cannot tell; and of the longest ones none would be left. */
static void batch(bench *b, entry *e, int round)
{
    world *w = &b->world;
    double sum = 0;
    for (int tries = 0; tries <= RETAKES; tries++) {
        for (int i = 0; i < 2; i++)
            iterate(b, e, i % e->cell->turns);
        long before = preemptions();
        sum = 0;
        for (long i = 0; i < e->iterations; i++) {
            double us = iterate(b, e, (int)(i % e->cell->turns));
            b->sample[(e - b->entry) * (long)b->plan->rounds * ITERATIONS_MOST + round * e->iterations + i] = us;
            sum += us;
        }
        if (w->is_crowded || e->iterations == 2 || world_most(w, (double)(preemptions() - before)) == 0)
            break;
        b->retaken += tries < RETAKES;
        b->preempted += tries == RETAKES;
    }
    e->us[round] = world_sum(w, sum / (double)e->iterations) / w->ranks;
}

static void take_p99(bench *b, entry *e)
{
    double *sample = b->sample + (e - b->entry) * (long)b->plan->rounds * ITERATIONS_MOST;
    size_t n = (size_t)(e->iterations * b->plan->rounds);
    qsort(sample, n, sizeof *sample, ascending);
    e->p99 = world_most(&b->world, sample[(n - 1) * 99 / 100]);
}

/* ---- a cell ------------------------------------------------------------------------------------------------------ */

typedef enum kind { OURS, THEIRS, GLOO, BARE } kind;

/* Adds an entry; one that cannot be opened is left out. */
static void add(bench *b, kind library, const buffers *of, int which)
{
    entry *e = &b->entry[b->entries];
    int failed = 1;
    *e = (entry){.cell = b->cell, .buffers = of, .memory = of == b->buffers ? "private" : "shared"};
    if (library == OURS)
        failed = ours_entry(b->ours, e, (form)which);
    if (library == THEIRS)
        failed = theirs_entry(e, (form)which);
    if (library == GLOO)
        failed = gloo_entry(e);
    if (library == BARE)
        failed = copies_entry(b->copies, e, which);
    if (!failed && e->open)
        failed = e->open(e);
    if (world_most(&b->world, failed != 0) == 0)
        b->entries++;
    else if (e->user)
        e->close(e);
}

static void add_all(bench *b)
{
    const cell *c = b->cell;
    int is_apart = b->plan->interface != NULL;
    int has_shared = !is_apart && c->bytes >= SHARED_FROM && allocate(b, 1) == 0;
    if (allocate(b, 0) != 0)
        give_up("rank %d: no memory for %zu bytes", b->world.rank, c->bytes);
    for (int i = 0; i < c->turns && !is_apart; i++) {
        b->buffers[2].send[i] = copies_buffer(&b->world, b->world.rank, c, i, 0);
        b->buffers[2].recv[i] = copies_buffer(&b->world, b->world.rank, c, i, 1);
    }
    int forms = b->plan->has_parts ? ALL_FORMS : FORMS;
    for (int which = 0; which < forms; which++)
        add(b, OURS, &b->buffers[0], which);
    for (int which = 0; which < forms && has_shared; which++)
        add(b, OURS, &b->buffers[1], which);
    for (int which = 0; which < FORMS; which++)
        add(b, THEIRS, &b->buffers[0], which);
    if (b->plan->directory)
        add(b, GLOO, &b->buffers[0], 0);
    for (int which = 0; which < COPIES && !is_apart && c->bytes >= COPIES_FROM && b->world.ranks > 1; which++)
        add(b, BARE, &b->buffers[which < COPIES_PRIVATE ? 0 : 2], which);
}

static void print_entry(const bench *b, const entry *e)
{
    printf("{\"library\":\"%s\",\"memory\":\"%s\",\"form\":\"%s\",\"right\":%s", e->library, e->memory, e->form_name,
           e->is_right ? "true" : "false");
    if (e->is_right)
        printf(",\"iterations\":%ld,\"p99\":%.4f,\"us\":[", e->iterations, e->p99);
    for (int i = 0; e->is_right && i < b->plan->rounds; i++)
        printf("%s%.4f", i ? "," : "", e->us[i]);
    printf(e->is_right ? "]}" : "}");
}

static void print_cell(const bench *b, const double latency[2])
{
    printf("{\"operation\":\"%s\",\"bytes\":%zu,\"turns\":%d,\"latency\":[%.4f,%.4f],\"retaken\":%ld,\"preempted\":%ld,"
           "\"calls\":%.4f,\"started_calls\":%.4f,\"entries\":[",
           nbcoll_operation_name(b->cell->operation), b->cell->bytes, b->cell->turns, latency[0], latency[1],
           b->retaken, b->preempted, b->calls[0], b->calls[1]);
    for (int i = 0; i < b->entries; i++) {
        if (i)
            printf(",");
        print_entry(b, &b->entry[i]);
    }
    puts("]}");
    fflush(stdout);
}

static int is_wanted(const bench *b, double latency)
{
    return latency <= 0 ||
           (latency >= b->plan->low && latency < b->plan->high); /* where the ranks have one core there is none */
}

/* All batches; again where the machine was in another latency class than is wanted: a few times, and while there is
 * patience left, which all cells share. */
static void take(bench *b, double latency[2])
{
    struct timespec breath = {.tv_nsec = 300000000};
    for (int tries = 0; tries < LATENCIES; tries++) {
        b->retaken = b->preempted = 0;
        while (!is_wanted(b, latency[0] = world_latency(&b->world)) && b->patience-- > 0)
            nanosleep(&breath, NULL);
        for (int round = 0; round < b->plan->rounds; round++)
            for (int i = 0; i < b->entries; i++) { /* each comes first in its turn */
                entry *e = &b->entry[(i + round) % b->entries];
                if (e->is_right)
                    batch(b, e, round);
            }
        latency[1] = world_latency(&b->world);
        if ((is_wanted(b, latency[0]) && is_wanted(b, latency[1])) || b->patience <= 0)
            return;
    }
}

static void measure(bench *b, const cell *c)
{
    double latency[2];
    b->cell = c;
    b->entries = 0;
    add_all(b);
    for (int i = 0; i < b->entries; i++)
        if ((b->entry[i].is_right = check(b, &b->entry[i])))
            size_batch(b, &b->entry[i]);
    take(b, latency);
    for (int i = 0; i < b->entries; i++)
        if (b->entry[i].is_right && (b->entry[i].is_right = check(b, &b->entry[i])))
            take_p99(b, &b->entry[i]);
    if (b->world.rank == 0)
        print_cell(b, latency);
    for (int i = 0; i < b->entries; i++)
        b->entry[i].close(&b->entry[i]);
    meet(&b->world, NULL, NULL);
    release(b, 0);
    release(b, 1);
}

static void measure_all(bench *b)
{
    const plan *p = b->plan;
    for (int i = 0; i < p->operations; i++) {
        for (int k = 0; k < 2; k++)
            b->calls[k] = p->has_parts && b->world.rank == 0
                              ? solo_measure(b->world.ranks, p->operation[i], k ? STARTED_APART : APART)
                              : 0;
        meet(&b->world, NULL, NULL);
        for (int j = 0; j < (p->operation[i] == NBCOLL_OPERATION_BARRIER ? 1 : p->counts); j++)
            for (int turns = p->first_turns; turns <= p->last_turns; turns += TURNS - 1) {
                cell c = {.operation = p->operation[i], .count = p->count[j], .turns = turns};
                c.count = c.operation == NBCOLL_OPERATION_BARRIER ? 0 : c.count;
                c.bytes = c.count * sizeof(float);
                int is_long = p->interface && buffer_floats(&c, b->world.ranks) * sizeof(float) > APART_MOST;
                if ((turns == p->first_turns || c.bytes) && !is_long)
                    measure(b, &c);
            }
    }
}

/* ---- the program ------------------------------------------------------------------------------------------------- */

static nbcoll_operation operation_named(const char *name)
{
    int o = 0;
    while (o < NBCOLL_OPERATION_COUNT && strcmp(nbcoll_operation_name((nbcoll_operation)o), name) != 0)
        o++;
    if (o == NBCOLL_OPERATION_COUNT)
        give_up("unknown operation '%s'", name);
    return (nbcoll_operation)o;
}

static void take_arguments(plan *p, int argc, char *argv[])
{
    int option;
    while ((option = getopt(argc, argv, "o:c:b:r:i:u:s:l:h:n:g:p:xk")) != -1) {
        if (option == 'o')
            p->operation[p->operations++ % NBCOLL_OPERATION_COUNT] = operation_named(optarg);
        else if (option == 'c')
            p->count[p->counts++ % 64] = strtoul(optarg, NULL, 10);
        else if (option == 'b') {
            p->first_turns = strcmp(optarg, "changing") == 0 ? TURNS : 1;
            p->last_turns = strcmp(optarg, "reused") == 0 ? 1 : TURNS;
        } else if (option == 'r')
            p->rounds = atoi(optarg);
        else if (option == 'i')
            p->iterations = atol(optarg);
        else if (option == 'u')
            p->budget = atof(optarg);
        else if (option == 'l')
            p->low = atof(optarg);
        else if (option == 'h')
            p->high = atof(optarg);
        else if (option == 'n')
            p->interface = optarg;
        else if (option == 'p')
            p->provider = optarg;
        else if (option == 'g')
            p->directory = optarg;
        else if (option == 'x')
            p->has_parts = 1;
        else if (option == 'k')
            p->is_relaxed = 1;
        else if (option == 's')
            p->spoil = optarg;
        else
            give_up("usage: nbcoll bench --against MPI");
    }
    if (p->rounds < 1 || p->rounds > ROUNDS_MOST || p->iterations < 0 || p->iterations > ITERATIONS_MOST)
        give_up("too many rounds or iterations");
}

/* Before the MPI is there, its launcher says who we are. */
static int early_rank(void)
{
    const char *const names[] = {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (getenv(names[i]))
            return atoi(getenv(names[i]));
    return 0;
}

/* The memory in which the ranks meet, and nbcoll: told over the MPI. */
static void open_all(bench *b)
{
    struct {
        int pid, fd;
        nbcoll_shm_id id;
    } first = {.pid = (int)getpid()};
    world *w = &b->world;
    const plan *p = b->plan;
    size_t memory = p->interface ? 0 : memory_of(p, w->ranks), arena = copies_arena(w->ranks, memory);
    int failed = w->rank == 0 && (world_make(w, arena, &first.fd) < 0 || nbcoll_shm_id_make(&first.id) != NBCOLL_OK);
    if (failed)
        give_up("no shared memory");
    theirs_share(&first, sizeof first);
    if (w->rank != 0 && world_join(w, first.pid, first.fd, arena) < 0)
        give_up("rank %d: rank 0's shared memory cannot be opened", w->rank);
    meet(w, NULL, NULL);
    b->copies = copies_open(w);
    b->ours = p->interface ? ours_open_apart(w, p->provider) : ours_open(w, first.id.text, memory);
    if (p->directory && gloo_open(w->rank, w->ranks, p->interface, p->directory) != 0)
        fprintf(stderr, "gloo is left out\n");
}

int main(int argc, char *argv[])
{
    plan p = {.first_turns = 1, .last_turns = 1, .rounds = 30, .budget = 500, .high = 1e9};
    bench b = {.plan = &p, .patience = PATIENCE};
    char name[256];
    world_bind(&b.world, early_rank());
    theirs_init(&argc, &argv, &b.world.rank, &b.world.ranks, name);
    if (b.world.ranks > RANKS_MOST)
        give_up("there are at most %d ranks", RANKS_MOST);
    take_arguments(&p, argc, argv);
    b.world.is_relaxed = p.is_relaxed;
    b.entry = calloc(ENTRIES, sizeof *b.entry);
    b.sample = malloc((size_t)ENTRIES * (size_t)p.rounds * ITERATIONS_MOST * sizeof *b.sample);
    if (!b.entry || !b.sample)
        give_up("no memory");
    open_all(&b);
    if (b.world.rank == 0)
        printf("{\"mpi\":\"%s\",\"ranks\":%d,\"cores\":%d,\"fifo\":%s,\"clock\":%.4f}\n", name, b.world.ranks,
               b.world.cores, b.world.is_fifo ? "true" : "false", b.world.clock);
    measure_all(&b);
    world_relax();
    ours_close(b.ours, &b.world);
    theirs_finish();
    free(b.copies);
    free(b.entry);
    free(b.sample);
    return 0;
}
