/* SPDX-License-Identifier: BSD-3-Clause
 * Neighbourhood collectives beside those of an MPI, in one process, by turns: an alltoall over a periodic grid with its
 * nearest neighbours (5-point) and with all around (27-point), and an allgather over the latter; 8 B to 1 MB a block.
 *
 *     mpirun.openmpi -n 2 neighbor_openmpi [ROUNDS]       mpirun.mpich -n 4 neighbor_mpich
 *
 * For each form it prints the median of a call in us, ours and theirs (which has no persistent one), and the median,
 * with its 95% interval, of the ratios of our fastest form to their fastest one in the same round.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <nbcoll/neighbor.h>
#include <nbcoll/shm.h>

#include "against.h"

enum { ENTRIES_HERE = 5, EDGES = 26, SIZES = 7, WARM = 3 };
#define DEADLINE UINT64_C(60000000000)

const char *const form_names[ALL_FORMS] = {"blocking", "nonblocking", "persistent", "apart", "started apart"};
static const size_t sizes[SIZES] = {8, 128, 1024, 16384, 65536, 262144, 1048576};

typedef struct grid {
    const char *name;
    int edges, gathers;
    nbcoll_neighbors *ours;
    MPI_Comm theirs;
    size_t bytes;
    unsigned char *send, *recv;
    nbcoll_request request;
} grid;

static world w;
static nbcoll_context *context;
static nbcoll_comm *comm;
static int rounds = 41;

static void want(int status, const char *what)
{
    if (status != 0)
        give_up("rank %d: %s: status %d", w.rank, what, status);
}

static void open_grid(grid *g, int dims)
{
    int extent[3] = {0}, periodic[3] = {1, 1, 1}, offset[EDGES * 3], weight[EDGES] = {0};
    nbcoll_neighborhood about = {.size = sizeof about};
    nbcoll_neighbor_grid of = {.size = sizeof of, .dims = dims, .extent = extent, .periodic = periodic};

    for (int i = 0, n = 0; i < 27; i++)
        for (int k = 0, left = i; i != 13 && k < 3; k++, left /= 3, n++)
            offset[n] = left % 3 - 1;
    MPI_Dims_create(w.ranks, dims, extent);
    of.offset = dims == 3 ? offset : NULL;
    of.neighbors = EDGES;
    g->edges = dims == 3 ? EDGES : 2 * dims;
    want((int)nbcoll_neighbors_of_grid(comm, &of, &g->ours, DEADLINE), "neighbours");
    want((int)nbcoll_neighbors_query(g->ours, &about), "neighbours");
    if (dims == 2)
        want(MPI_Cart_create(MPI_COMM_WORLD, dims, extent, periodic, 0, &g->theirs), "MPI_Cart_create");
    else
        want(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, about.sources, about.source, weight, about.destinations,
                                            about.destination, weight, MPI_INFO_NULL, 0, &g->theirs),
             "MPI_Dist_graph_create_adjacent");
}

static void call_ours(grid *g, form f)
{
    nbcoll_status s = NBCOLL_OK;
    if (f == BLOCKING)
        s = (g->gathers ? nbcoll_neighbor_allgather : nbcoll_neighbor_alltoall)(g->send, g->recv, g->bytes, NBCOLL_BYTE,
                                                                                g->ours, DEADLINE);
    else if (f == NONBLOCKING)
        s = (g->gathers ? nbcoll_ineighbor_allgather : nbcoll_ineighbor_alltoall)(g->send, g->recv, g->bytes,
                                                                                  NBCOLL_BYTE, g->ours, &g->request);
    else
        s = nbcoll_start(&g->request);
    if (s == NBCOLL_OK && f != BLOCKING)
        s = nbcoll_wait(&g->request, DEADLINE);
    want((int)s, "nbcoll");
}

static void call_theirs(grid *g, form f)
{
    MPI_Request q = MPI_REQUEST_NULL;
    int n = (int)g->bytes, s;
    if (f == BLOCKING)
        s = (g->gathers ? MPI_Neighbor_allgather : MPI_Neighbor_alltoall)(g->send, n, MPI_BYTE, g->recv, n, MPI_BYTE,
                                                                          g->theirs);
    else
        s = (g->gathers ? MPI_Ineighbor_allgather : MPI_Ineighbor_alltoall)(g->send, n, MPI_BYTE, g->recv, n, MPI_BYTE,
                                                                            g->theirs, &q);
    want(s, "MPI");
    if (f != BLOCKING)
        want(MPI_Wait(&q, MPI_STATUS_IGNORE), "MPI_Wait");
}

static void progress(void *user)
{
    int flag;
    nbcoll_progress(user);
    MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
}

/* Has our call brought each block from its neighbour's opposite edge? */
static void check_ours(grid *g, form f)
{
    nbcoll_neighborhood about = {.size = sizeof about};
    want((int)nbcoll_neighbors_query(g->ours, &about), "neighbours");
    for (int i = 0; i < g->edges; i++)
        memset(g->send + (size_t)i * g->bytes, 1 + (g->gathers ? w.rank : w.rank * g->edges + i), g->bytes);
    memset(g->recv, 0, (size_t)g->edges * g->bytes);
    meet(&w, progress, context);
    call_ours(g, f);
    for (int i = 0; i < g->edges; i++) {
        int opposite = g->edges == EDGES ? EDGES - 1 - i : i ^ 1;
        int is = 1 + (g->gathers ? about.source[i] : about.source[i] * g->edges + opposite);
        const unsigned char *at = g->recv + (size_t)i * g->bytes;
        if (at[0] != (unsigned char)is || at[g->bytes / 2] != (unsigned char)is ||
            at[g->bytes - 1] != (unsigned char)is)
            give_up("rank %d: %s of %zu B: block %d is wrong", w.rank, g->name, g->bytes, i);
    }
    meet(&w, progress, context);
}

/* us of a call, on average over the ranks. */
static double batch(grid *g, int which, long iterations)
{
    double sum = 0;
    form f = (form)(which < FORMS ? which : which - FORMS);
    if (which == PERSISTENT)
        want((int)(g->gathers ? nbcoll_neighbor_allgather_init : nbcoll_neighbor_alltoall_init)(
                 g->send, g->recv, g->bytes, NBCOLL_BYTE, g->ours, &g->request),
             "init");
    for (long i = -WARM; i < iterations; i++) {
        meet(&w, progress, context);
        double at = now();
        if (which < FORMS)
            call_ours(g, f);
        else
            call_theirs(g, f);
        sum += i < 0 ? 0 : now() - at - w.clock;
    }
    meet(&w, progress, context);
    if (which == PERSISTENT)
        want((int)nbcoll_request_free(&g->request), "free");
    return world_sum(&w, sum / (double)iterations) / w.ranks;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static double *sorted(double *of)
{
    qsort(of, (size_t)rounds, sizeof *of, by_value);
    return of;
}

static void measure(grid *g)
{
    static double us[ENTRIES_HERE][ROUNDS_MOST], ratio[ROUNDS_MOST];
    long iterations[ENTRIES_HERE];

    check_ours(g, NONBLOCKING);
    for (int e = 0; e < ENTRIES_HERE; e++) {
        double once = batch(g, e, 4);
        iterations[e] = once > 250 ? 2 : once < 1 ? 500 : (long)(500 / once);
    }
    for (int r = 0; r < rounds; r++) {
        for (int i = 0; i < ENTRIES_HERE; i++) {
            int e = (i + r) % ENTRIES_HERE;
            us[e][r] = batch(g, e, iterations[e]);
        }
        double mine = us[0][r], theirs = us[FORMS][r] < us[FORMS + 1][r] ? us[FORMS][r] : us[FORMS + 1][r];
        for (int e = 1; e < FORMS; e++)
            mine = us[e][r] < mine ? us[e][r] : mine;
        ratio[r] = mine / theirs;
    }
    if (w.rank == 0) {
        printf("%-18s %8zu B", g->name, g->bytes);
        for (int e = 0; e < ENTRIES_HERE; e++)
            printf("%s %9.2f", e == FORMS ? " |" : "", sorted(us[e])[rounds / 2]);
        sorted(ratio);
        int low = 0; /* as many rounds lie below the interval, and above it, as (n - 1.96 sqrt n) / 2 */
        while (rounds - 2 * (low + 1) > 0 && (rounds - 2 * (low + 1)) * (rounds - 2 * (low + 1)) > 4 * rounds)
            low++;
        printf(" | %.2f [%.2f, %.2f]\n", ratio[rounds / 2], ratio[low], ratio[rounds - 1 - low]);
        fflush(stdout);
    }
}

static void open_all(int *argc, char ***argv)
{
    struct {
        int pid, fd;
        nbcoll_shm_id id;
    } first = {.pid = (int)getpid()};
    const char *early = getenv("OMPI_COMM_WORLD_RANK") ? getenv("OMPI_COMM_WORLD_RANK") : getenv("PMI_RANK");
    char name[256];
    nbcoll_endpoint *end;

    world_bind(&w, early ? atoi(early) : 0);
    theirs_init(argc, argv, &w.rank, &w.ranks, name);
    if (w.rank == 0 && (world_make(&w, 64, &first.fd) < 0 || nbcoll_shm_id_make(&first.id) != NBCOLL_OK))
        give_up("no shared memory");
    theirs_share(&first, sizeof first);
    if (w.rank != 0 && world_join(&w, first.pid, first.fd, 64) < 0)
        give_up("rank 0's memory cannot be opened");
    nbcoll_shm_config config = {.size = sizeof config, .rank = w.rank, .ranks = w.ranks, .id = first.id};
    want((int)nbcoll_shm_open(&config, &end), "nbcoll_shm_open");
    want((int)nbcoll_context_create(NBCOLL_ABI, NULL, &context), "nbcoll_context_create");
    want((int)nbcoll_comm_create(context, end, NULL, &comm, DEADLINE), "nbcoll_comm_create");
    if (w.rank == 0)
        printf(
            "%s, %d ranks, a line takes %.3f us\n%-30s  blocking  nonblock.  persist. |  blocking nonblock. | ours / "
            "theirs\n",
            name, w.ranks, world_latency(&w), "");
    else
        world_latency(&w);
}

int main(int argc, char *argv[])
{
    grid grids[3] = {
        {.name = "5-point alltoall"}, {.name = "27-point alltoall"}, {.name = "27-point allgather", .gathers = 1}};

    open_all(&argc, &argv);
    rounds = argc > 1 && atoi(argv[1]) > 0 && atoi(argv[1]) < ROUNDS_MOST ? atoi(argv[1]) : rounds;
    for (int i = 0; i < 3; i++) {
        grid *g = &grids[i];
        open_grid(g, i ? 3 : 2);
        g->send = aligned_alloc(4096, EDGES * sizes[SIZES - 1]);
        g->recv = aligned_alloc(4096, EDGES * sizes[SIZES - 1]);
        if (!g->send || !g->recv)
            give_up("no memory");
        memset(g->send, w.rank + 1, EDGES * sizes[SIZES - 1]);
        memset(g->recv, 0, EDGES * sizes[SIZES - 1]);
        for (int s = 0; s < SIZES; s++) {
            g->bytes = sizes[s];
            measure(g);
        }
        want((int)nbcoll_barrier(comm, DEADLINE), "barrier");
        want((int)nbcoll_neighbors_free(g->ours), "free");
        free(g->send);
        free(g->recv);
    }
    world_relax();
    while (nbcoll_context_free(context) == NBCOLL_ERR_BUSY)
        nbcoll_progress(context);
    theirs_finish();
    return 0;
}
