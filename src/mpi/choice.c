/* SPDX-License-Identifier: BSD-3-Clause
 * Which calls are left to the MPI because it is faster here. That is measured when the door opens, on MPI_COMM_WORLD,
 * unless ranks share processors, where times say nothing. The slowest rank counts, so all ranks decide alike. */
#include <sys/mman.h>

#include "door.h"

#define BEARABLE 1.5
enum { SIZES = 6, ROUNDS = 4, RANKS = 64, FEW = 8, LARGE = 1 << 18, LARGEST = 1 << 20, ANY_BIT = 1 << SIZES };

/* Bytes of a block or a vector: what is measured, for all up to `most`, so many times. */
static const int sizes[SIZES] = {8, 512, 4096, 32768, LARGE, LARGEST};
static const size_t most[SIZES - 1] = {64, 1024, 8192, 1 << 16, 1 << 19};
static const int repeats[SIZES] = {100, 50, 15, 6, 2, 1};
unsigned char door_slower[DOOR_FORM_COUNT][DOOR_CALL_COUNT]; /* a bit for each size */

bool door_slower_at(door_form form, door_call call, size_t bytes)
{
    unsigned bits = door_slower[form][call];
    if (bytes == DOOR_ANY)
        return bits & ANY_BIT;
    int size = 0;
    while (size < SIZES - 1 && bytes > most[size])
        size++;
    return bits >> size & 1;
}

static int n, counts[RANKS], displs[RANKS], numbers[RANKS];
static MPI_Aint places[RANKS];
static MPI_Datatype types[RANKS];
static MPI_Comm line;
static char *f, *t;

#define W MPI_COMM_WORLD
#define B MPI_BYTE
#define REDUCTION n / 4, MPI_FLOAT, MPI_SUM
#define MEASURED(X)                                                                                                    \
    X(Barrier, barrier, W)                                                                                             \
    X(Bcast, bcast, t, n, B, 0, W)                                                                                     \
    X(Reduce, reduce, f, t, REDUCTION, 0, W)                                                                           \
    X(Allreduce, allreduce, f, t, REDUCTION, W)                                                                        \
    X(Reduce_scatter, reduce_scatter, f, t, numbers, MPI_FLOAT, MPI_SUM, W)                                            \
    X(Reduce_scatter_block, reduce_scatter_block, f, t, REDUCTION, W)                                                  \
    X(Scan, scan, f, t, REDUCTION, W)                                                                                  \
    X(Exscan, exscan, f, t, REDUCTION, W)                                                                              \
    X(Gather, gather, f, n, B, t, n, B, 0, W)                                                                          \
    X(Gatherv, gatherv, f, n, B, t, counts, displs, B, 0, W)                                                           \
    X(Scatter, scatter, f, n, B, t, n, B, 0, W)                                                                        \
    X(Scatterv, scatterv, f, counts, displs, B, t, n, B, 0, W)                                                         \
    X(Allgather, allgather, f, n, B, t, n, B, W)                                                                       \
    X(Allgatherv, allgatherv, f, n, B, t, counts, displs, B, W)                                                        \
    X(Alltoall, alltoall, f, n, B, t, n, B, W)                                                                         \
    X(Alltoallv, alltoallv, f, counts, displs, B, t, counts, displs, B, W)                                             \
    X(Alltoallw, alltoallw, f, counts, displs, types, t, counts, displs, types, W)                                     \
    X(Neighbor_allgather, neighbor_allgather, f, n, B, t, n, B, line)                                                  \
    X(Neighbor_allgatherv, neighbor_allgatherv, f, n, B, t, counts, displs, B, line)                                   \
    X(Neighbor_alltoall, neighbor_alltoall, f, n, B, t, n, B, line)                                                    \
    X(Neighbor_alltoallv, neighbor_alltoallv, f, counts, displs, B, t, counts, displs, B, line)                        \
    X(Neighbor_alltoallw, neighbor_alltoallw, f, counts, places, types, t, counts, places, types, line)

#ifdef DOOR_INIT
#define INIT(Name, ...)                                                                                                \
    (ours ? DOOR_INIT(Name)(__VA_ARGS__, MPI_INFO_NULL, request)                                                       \
          : DOOR_PINIT(Name)(__VA_ARGS__, MPI_INFO_NULL, request))
#else
#define INIT(Name, ...) MPI_ERR_OTHER
#endif

/* Calls it, or starts it, or makes a persistent one. */
#define RUN(Name, name, ...)                                                                                           \
    static int run_##Name(door_form form, bool ours, MPI_Request *request)                                             \
    {                                                                                                                  \
        if (form == DOOR_BLOCKING)                                                                                     \
            return ours ? MPI_##Name(__VA_ARGS__) : PMPI_##Name(__VA_ARGS__);                                          \
        if (form == DOOR_NONBLOCKING)                                                                                  \
            return ours ? MPI_I##name(__VA_ARGS__, request) : PMPI_I##name(__VA_ARGS__, request);                      \
        return INIT(Name, __VA_ARGS__);                                                                                \
    }
MEASURED(RUN)

static int (*const run[])(door_form, bool, MPI_Request *) = {
#define ROW(Name, name, ...) [DOOR_##Name] = run_##Name,
    MEASURED(ROW)};

static double seconds(door_form form, door_call call, bool ours, int times, MPI_Request *request)
{
    PMPI_Barrier(W);
    double start = PMPI_Wtime();
    for (int i = 0; i < times; i++) {
        if (form == DOOR_PERSISTENT)
            ours ? MPI_Start(request) : PMPI_Start(request);
        else
            run[call](form, ours, request);
        if (form != DOOR_BLOCKING)
            PMPI_Wait(request, MPI_STATUS_IGNORE);
    }
    return PMPI_Wtime() - start;
}

/* How long this rank takes, the MPI in us[...][0], and the door. */
static void measure(door_form form, door_call call, int size, double us[ROUNDS][2])
{
    MPI_Request request[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    n = sizes[size];
    for (int i = 0; i < RANKS; i++) {
        counts[i] = n;
        displs[i] = i * n;
        places[i] = displs[i];
        numbers[i] = n / 4;
        types[i] = B;
    }
    for (int ours = 0; ours < 2 && form == DOOR_PERSISTENT; ours++)
        run[call](form, ours, &request[ours]);
    for (int round = -1; round < ROUNDS; round++)
        for (int ours = 0; ours < 2; ours++)
            us[round < 0 ? 0 : round][ours] = seconds(form, call, ours, repeats[size], &request[ours]);
    for (int ours = 0; ours < 2 && form == DOOR_PERSISTENT; ours++)
        ours ? MPI_Request_free(&request[ours]) : PMPI_Request_free(&request[ours]);
}

/* What the door takes of the MPI's time, each at its best. */
static double ratio_of(double us[ROUNDS][2])
{
    double least[2] = {us[0][0], us[0][1]};
    for (int round = 1; round < ROUNDS; round++)
        for (int ours = 0; ours < 2; ours++)
            least[ours] = us[round][ours] < least[ours] ? us[round][ours] : least[ours];
    return least[0] > 0 ? least[1] / least[0] : 1;
}

/* Where not all know how much it is there is one decision for all sizes: it is served unless one is much slower. */
static void decide(door_form form, door_call call, int measured)
{
    double mine[SIZES][ROUNDS][2], slowest[SIZES][ROUNDS][2], product = 1, most_of = 0;
    unsigned char bits = 0;
    for (int size = 0; size < measured; size++)
        measure(form, call, size, mine[size]);
    PMPI_Allreduce(mine, slowest, measured * ROUNDS * 2, MPI_DOUBLE, MPI_MAX, W);
    for (int size = 0; size < SIZES; size++) { /* what is larger than what was measured is like that */
        double ratio = ratio_of(slowest[size < measured ? size : measured - 1]);
        product *= ratio;
        most_of = ratio > most_of ? ratio : most_of;
        if (ratio > 1)
            bits |= (unsigned char)(1 << size);
    }
    door_slower[form][call] = (unsigned char)(bits | (product > 1 || most_of > BEARABLE ? ANY_BIT : 0));
}

void door_choose(int ranks)
{
    int open = 0, forms = door_only_blocks ? DOOR_BLOCKING : DOOR_NONBLOCKING;
#ifdef DOOR_INIT
    forms = door_only_blocks ? DOOR_BLOCKING : DOOR_PERSISTENT;
#endif
    if (!door_all(W, ranks <= RANKS && !door_crowded()))
        return;
    size_t room = ((size_t)ranks + 2) * (ranks <= FEW ? LARGEST : LARGE);
    /* malloc would learn from memory that large is freed, and give the program its own otherwise */
    f = mmap(NULL, 2 * room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    t = f + room;
    if (door_all(W, f != MAP_FAILED) && PMPI_Cart_create(W, 1, &ranks, &open, 0, &line) == MPI_SUCCESS) {
        door_comm_made(line, false);
        for (int form = 0; form <= forms; form++)
            for (int call = 0; call < DOOR_CALL_COUNT; call++)
                decide((door_form)form, (door_call)call, ranks <= FEW ? SIZES : SIZES - 1);
        PMPI_Comm_free(&line);
        door_forget();
    }
    if (f != MAP_FAILED)
        munmap(f, 2 * room);
}
