/* SPDX-License-Identifier: BSD-3-Clause
 * What shm costs: starting and waiting for a broadcast and an allreduce of 8 bytes, with 2 ranks and with 8, as
 * processes and as threads; the bytes of a rank and of a communicator. The roots of the broadcasts take turns. Batches
 * of the four crews are interleaved; medians, of rank 0. Before each round two bare threads hand a line to and fro,
 * which says how far apart the cores are today. */
#include "ranks.h"

enum { ROUNDS = 15, BATCH = 2000, BATCHES = 5, WARM = 200, MOST = 8, CREWS = 4, COMMS = 64 };

typedef struct crew {
    const char *name;
    int ranks, threads;
} crew;

static const crew crews[CREWS] = {
    {"2 processes", 2, 0}, {"2 threads", 2, 1}, {"8 processes", 8, 0}, {"8 threads", 8, 1}};

/* What rank 0 found, in memory that the processes share. */
typedef struct findings {
    double bcast[BATCHES], allreduce[BATCHES]; /* ns */
    size_t segment, cells; /* bytes of the segment, and those of a communicator in it */
    size_t rank, comm;     /* bytes of the host's memory */
} findings;

typedef struct plan {
    const crew *c;
    nbcoll_shm_id id;
    findings *found;
} plan;

typedef struct rank {
    const plan *plan;
    int rank;
    size_t bytes;
} rank;

static void *take(void *user, size_t bytes, size_t align)
{
    *(size_t *)user += bytes;
    return aligned_alloc(align, (bytes + align - 1) / align * align);
}

static void give(void *user, void *memory, size_t bytes)
{
    *(size_t *)user -= bytes;
    free(memory);
}

/* ---- the parts ------------------------------------------------------------------------------------------------- */

static double bcasts(nbcoll_comm *comm, int n)
{
    double data = 1, at = now();
    nbcoll_request q;
    for (int i = 0; i < n; i++) {
        must(nbcoll_ibcast(&data, 1, NBCOLL_DOUBLE, i % nbcoll_comm_size(comm), comm, &q));
        must(nbcoll_wait(&q, NBCOLL_FOREVER));
    }
    return (now() - at) / n;
}

static double allreduces(nbcoll_comm *comm, int n)
{
    double data = 1, sum, at = now();
    nbcoll_request q;
    for (int i = 0; i < n; i++) {
        must(nbcoll_iallreduce(&data, &sum, 1, NBCOLL_DOUBLE, NBCOLL_SUM, comm, &q));
        must(nbcoll_wait(&q, NBCOLL_FOREVER));
    }
    return (now() - at) / n;
}

/* Bytes of the segment, as this process has it mapped. */
static size_t segment_bytes(void)
{
    char line[600];
    unsigned long from, to;
    size_t bytes = 0;
    FILE *maps = fopen("/proc/self/maps", "r");
    while (maps && fgets(line, sizeof line, maps))
        if (strstr(line, "memfd:nbcoll") && sscanf(line, "%lx-%lx", &from, &to) == 2)
            bytes += to - from;
    if (maps)
        fclose(maps);
    return bytes;
}

/* The most that this rank could still take of its quota. */
static size_t room(nbcoll_comm *comm)
{
    size_t has = 0, no = (size_t)1 << 30;
    while (no - has > 128) {
        size_t bytes = (has + no) / 2;
        void *memory;
        if (nbcoll_mem_alloc(comm, bytes, &memory) == NBCOLL_OK) {
            must(nbcoll_mem_free(comm, memory));
            has = bytes;
        } else
            no = bytes;
    }
    return has;
}

static void measure(rank *me, nbcoll_comm *comm)
{
    findings *f = me->plan->found;
    size_t before = me->bytes;
    nbcoll_comm *dup[COMMS];

    if (me->rank == 0) {
        f->segment = segment_bytes();
        f->rank = before;
    }
    bcasts(comm, WARM);
    allreduces(comm, WARM);
    for (int b = 0; b < BATCHES; b++) {
        must(nbcoll_barrier(comm, NBCOLL_FOREVER));
        double bcast = bcasts(comm, BATCH);
        must(nbcoll_barrier(comm, NBCOLL_FOREVER));
        double allreduce = allreduces(comm, BATCH);
        if (me->rank == 0) {
            f->bcast[b] = bcast;
            f->allreduce[b] = allreduce;
        }
    }
    size_t free_bytes = room(comm);
    must(nbcoll_comm_dup(comm, &dup[0], NBCOLL_FOREVER));
    if (me->rank == 0)
        f->cells = free_bytes - room(comm);
    before = me->bytes;
    for (int i = 1; i < COMMS; i++)
        must(nbcoll_comm_dup(comm, &dup[i], NBCOLL_FOREVER));
    if (me->rank == 0)
        f->comm = (me->bytes - before) / (COMMS - 1);
}

static void *rank_main(void *argument)
{
    rank *me = argument;
    nbcoll_host host = {.size = sizeof host, .user = &me->bytes, .alloc = take, .free = give};
    nbcoll_context_config with = {.size = sizeof with, .host = host};
    nbcoll_shm_config config = {.size = sizeof config, .host = &host, .id = me->plan->id, .rank = me->rank,
                                .ranks = me->plan->c->ranks};
    nbcoll_endpoint *endpoint;
    nbcoll_context *context;
    nbcoll_comm *comm;

    must(nbcoll_shm_open(&config, &endpoint));
    must(nbcoll_context_create(NBCOLL_ABI, &with, &context));
    must(nbcoll_comm_create(context, endpoint, NULL, &comm, NBCOLL_FOREVER));
    measure(me, comm);
    must(nbcoll_barrier(comm, NBCOLL_FOREVER));
    close_context(context);
    return NULL;
}

static void run_process(void *ranks, int r)
{
    rank_main((rank *)ranks + r);
}

/* ---- crews ----------------------------------------------------------------------------------------------------- */

static void run(const crew *c, findings *found)
{
    plan p = {c, {{0}}, found};
    rank ranks[MOST];

    must(nbcoll_shm_id_make(&p.id));
    for (int r = 0; r < c->ranks; r++)
        ranks[r] = (rank){&p, r, 0};
    if (c->threads)
        run_threads(c->ranks, rank_main, ranks, sizeof *ranks);
    else if (run_ranks(c->ranks, run_process, ranks))
        exit(1);
}

static void report(const char *what, double *took, int n, double unit)
{
    double usual = median(took, n);
    printf("  %-24s %8.2f (min %.2f, max %.2f)\n", what, usual / unit, took[0] / unit, took[n - 1] / unit);
}

int main(void)
{
    static double bcast[CREWS][ROUNDS * BATCHES], allreduce[CREWS][ROUNDS * BATCHES], lines[ROUNDS];
    findings *f = share(CREWS * sizeof *f);

    for (int round = 0; round < ROUNDS; round++) {
        lines[round] = line_ns(-1, -1);
        for (int i = 0; i < CREWS; i++) {
            run(&crews[i], &f[i]);
            memcpy(&bcast[i][round * BATCHES], f[i].bcast, sizeof f[i].bcast);
            memcpy(&allreduce[i][round * BATCHES], f[i].allreduce, sizeof f[i].allreduce);
        }
    }
    report("a line to and fro, ns", lines, ROUNDS, 1);
    for (int i = 0; i < CREWS; i++) {
        printf("%s\n", crews[i].name);
        report("bcast, us", bcast[i], ROUNDS * BATCHES, 1000);
        report("allreduce, us", allreduce[i], ROUNDS * BATCHES, 1000);
        printf("  bytes of the segment: %zu a rank; a communicator's cells %zu\n",
               f[i].segment / (size_t)crews[i].ranks, f[i].cells);
        printf("  bytes of the host's memory, on each rank: %zu a rank, %zu a communicator\n", f[i].rank, f[i].comm);
    }
    return 0;
}
