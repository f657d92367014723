/* SPDX-License-Identifier: BSD-3-Clause
 * What verbs costs between two processes: a message to and fro, bytes got and put, registering memory that is kept or
 * not, a broadcast from such memory, the memory of a peer. Medians, of rank 0. bench/verbs.sh runs it in an emulated
 * machine, beside the device's own tools. */
#include <nbcoll/transport.h>
#include <nbcoll/verbs.h>

#include "ranks.h"

enum { RANKS = 2, TURNS = 101, BYTES = 1 << 20, KEPT = 16 };

typedef struct board {
    nbcoll_verbs_address all[RANKS];
    atomic_int come;
    nbcoll_registration of_other;
} board;

static void together(board *b, int times)
{
    for (atomic_fetch_add(&b->come, 1); atomic_load(&b->come) < times * RANKS;)
        sched_yield();
}

static nbcoll_endpoint *open_end(board *b, int rank, uint32_t registrations, int times)
{
    const nbcoll_verbs_config config = {
        .size = sizeof config, .rank = rank, .ranks = RANKS, .registrations = registrations};
    nbcoll_endpoint *end;

    must(nbcoll_verbs_open(&config, &b->all[rank], &end));
    together(b, times);
    must(nbcoll_verbs_meet(end, b->all));
    return end;
}

/* ---- the transport ----------------------------------------------------------------------------------------------- */

/* What has come back, and come, so far in this process. */
static int backs, arrivals;

static void look(nbcoll_endpoint *end)
{
    nbcoll_completions found = NBCOLL_COMPLETIONS_EMPTY;

    end->transport->progress(end, &found);
    for (nbcoll_work *w = found.completed; w; w = w->next)
        backs++;
    for (nbcoll_arrival *a = found.arrived; a; a = a->next)
        arrivals++;
}

static void finish(nbcoll_endpoint *end, int back, int arrived)
{
    while (backs < back || arrivals < arrived)
        look(end);
    backs -= back;
    arrivals -= arrived;
}

static void say(nbcoll_endpoint *end, int to, nbcoll_work *work, const void *payload, size_t bytes)
{
    const nbcoll_header header = {{1}};

    while (end->transport->post(end, to, &header, payload, bytes, work) == NBCOLL_POST_NOT_NOW)
        look(end);
}

/* Half of a message to and fro. */
static double message(nbcoll_endpoint *end, int rank, size_t bytes)
{
    static char payload[4096];
    double sample[TURNS];
    nbcoll_work work = {0};

    for (int i = 0; i < TURNS; i++) {
        double since = now();
        if (rank == 1)
            finish(end, 0, 1);
        say(end, !rank, &work, payload, bytes);
        finish(end, 1, rank == 0);
        sample[i] = (now() - since) / 2;
    }
    return median(sample, TURNS);
}

/* A get, or a put, of rank 0. */
static double move(nbcoll_endpoint *end, const board *b, char *memory, int puts)
{
    enum { MOVES = 41 };
    const nbcoll_bulk *bulk = end->transport->bulk;
    const nbcoll_header notice = {{2}};
    nbcoll_registration mine;
    double sample[MOVES];
    nbcoll_work work = {0};

    must(bulk->register_memory(end, 1, memory, BYTES, NBCOLL_LOCAL_END, &mine));
    for (int i = 0; i < MOVES; i++) {
        double since = now();
        while ((puts ? bulk->put(end, 1, &b->of_other.key, 0, &mine, memory, BYTES, &notice, &work)
                     : bulk->get(end, 1, &b->of_other.key, 0, &mine, memory, BYTES, &work)) != NBCOLL_POST_IN_FLIGHT)
            look(end);
        finish(end, 1, 0);
        sample[i] = now() - since;
    }
    bulk->deregister_memory(end, &mine);
    return median(sample, MOVES);
}

static double registration(nbcoll_endpoint *end, char *memory)
{
    const nbcoll_bulk *bulk = end->transport->bulk;
    nbcoll_registration mine;
    double sample[TURNS];

    for (int i = 0; i < TURNS; i++) {
        double since = now();
        must(bulk->register_memory(end, 1, memory, BYTES, NBCOLL_PEER_READS, &mine));
        bulk->deregister_memory(end, &mine);
        sample[i] = now() - since;
    }
    return median(sample, TURNS);
}

/* ---- the library ------------------------------------------------------------------------------------------------- */

static double broadcast(nbcoll_comm *comm, char *memory, size_t bytes)
{
    double sample[TURNS];

    for (int i = 0; i < TURNS; i++) { /* the roots take turns */
        double since = now();
        must(nbcoll_bcast(memory, bytes, NBCOLL_UINT8, i % RANKS, comm, NBCOLL_FOREVER));
        sample[i] = now() - since;
    }
    return median(sample, TURNS);
}

static void run(void *memory_of_all, int rank)
{
    board *b = memory_of_all;
    char *memory = aligned_alloc(4096, BYTES);
    nbcoll_verbs_count count = {.size = sizeof count};

    memset(memory, 1, BYTES);
    nbcoll_endpoint *end = open_end(b, rank, 0, 1);
    double small = message(end, rank, 8), large = message(end, rank, 4000);
    must(nbcoll_verbs_counts(end, &count));
    if (rank == 0)
        printf("a message of 8 bytes %.0f ns, of 4000 %.0f ns; %llu went inline; a peer takes %llu bytes\n", small,
               large, (unsigned long long)count.inlined, (unsigned long long)count.peer_bytes);
    if (rank == 1)
        must(end->transport->bulk->register_memory(end, 0, memory, BYTES, NBCOLL_PEER_READS | NBCOLL_PEER_WRITES,
                                                   &b->of_other));
    together(b, 2);
    if (rank == 0) {
        double got = move(end, b, memory, 0), put = move(end, b, memory, 1);
        printf("1 MiB: a get %.1f MiB/s, a put %.1f MiB/s\n", 1e9 / got, 1e9 / put);
    }
    while (rank == 1 && atomic_load(&b->come) < 3 * RANKS - 1) { /* takes notices, and gives credits back */
        look(end);
        usleep(1000);
    }
    together(b, 3);
    if (rank == 1)
        end->transport->bulk->deregister_memory(end, &b->of_other);
    double miss = registration(end, memory);
    nbcoll_endpoint_close(end);
    end = open_end(b, rank, KEPT, 4);
    double hit = registration(end, memory);
    nbcoll_endpoint_close(end);
    if (rank == 0)
        printf("registering 1 MiB and ending that: %.0f ns, kept %.0f ns\n", miss, hit);
    for (uint32_t kept = 0; kept <= KEPT; kept += KEPT) {
        nbcoll_context *context;
        nbcoll_comm *comm;
        end = open_end(b, rank, kept, kept ? 6 : 5);
        must(nbcoll_context_create(NBCOLL_ABI, NULL, &context));
        must(nbcoll_comm_create(context, end, NULL, &comm, NBCOLL_FOREVER));
        double brief = broadcast(comm, memory, 8), long_one = broadcast(comm, memory, 64 << 10);
        if (rank == 0)
            printf("broadcast%s: 8 bytes %.0f ns, 64 KiB %.0f ns\n", kept ? ", memory kept registered" : "", brief,
                   long_one);
        must(nbcoll_barrier(comm, NBCOLL_FOREVER));
        must(nbcoll_context_free(context));
    }
    free(memory);
}

int main(void)
{
    setbuf(stdout, NULL);
    return run_ranks(RANKS, run, share(sizeof(board)));
}
