/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Persistent collectives, which each rank starts in another order, among persistent messages; and neighbourhood
 * collectives in all forms, over grids and graphs. What a program may free after MPI_..._init is freed. Each case
 * prints a checksum of every rank's buffers. The output of two libraries is the same, or one is wrong. */
#include "shared.h"

enum { ROOM = 1 << 12, CALLS = 17, FORMS = 2 * CALLS, ALL = FORMS + 2, ROUNDS = 6, EDGES = 16 };

static int rank, size, failed;
static MPI_Comm comm;
static int from[FORMS][ROOM], to[FORMS][ROOM];
static int counts[FORMS][RANKS], displs[FORMS][RANKS], byte_displs[FORMS][RANKS];
static MPI_Datatype types[FORMS][RANKS];

static void fill(int c, int round)
{
    for (int i = 0; i < ROOM; i++) {
        from[c][i] = (rank + 1) * 3 + (i + c + round) % 7;
        to[c][i] = c >= CALLS ? from[c][i] : -1;
    }
}

static void move(int c, int n, int root, int in_place, MPI_Datatype mine, MPI_Datatype theirs, MPI_Request *request)
{
    int *f = from[c], *t = to[c], *k = counts[c], *d = displs[c], *e = byte_displs[c];
    const void *send = in_place ? MPI_IN_PLACE : (void *)f, *at_root = rank == root ? send : f;
    for (int i = 0; i < size; i++) {
        types[c][i] = theirs;
        k[i] = (i * 5 + c) % (n + 1);
        d[i] = i * (n + 1);
        e[i] = d[i] * 4 * (int)sizeof(int);
    }
    switch (c % CALLS) {
    case 0: INIT(Barrier)(comm, MPI_INFO_NULL, request); break;
    case 1: INIT(Bcast)(rank == root ? f : t, n, mine, root, comm, MPI_INFO_NULL, request); break;
    case 2: INIT(Gather)(at_root, n, mine, t, n, theirs, root, comm, MPI_INFO_NULL, request); break;
    case 3: INIT(Scatter)(f, n, mine, t, n, theirs, root, comm, MPI_INFO_NULL, request); break;
    case 4: INIT(Gatherv)(at_root, k[rank], mine, t, k, d, theirs, root, comm, MPI_INFO_NULL, request); break;
    case 5: INIT(Scatterv)(f, k, d, mine, t, k[rank], theirs, root, comm, MPI_INFO_NULL, request); break;
    case 6: INIT(Allgather)(send, n, mine, t, n, theirs, comm, MPI_INFO_NULL, request); break;
    case 7: INIT(Allgatherv)(send, k[rank], mine, t, k, d, theirs, comm, MPI_INFO_NULL, request); break;
    case 8: INIT(Alltoall)(f, n, mine, t, n, theirs, comm, MPI_INFO_NULL, request); break;
    case 9:
        for (int i = 0; i < size; i++)
            k[i] = (i + rank + c) % (n + 1);
        INIT(Alltoallv)(f, k, d, mine, t, k, d, theirs, comm, MPI_INFO_NULL, request);
        break;
    default:
        for (int i = 0; i < size; i++)
            k[i] = (i + rank + c) % (n + 1);
        INIT(Alltoallw)(f, k, e, types[c], t, k, e, types[c], comm, MPI_INFO_NULL, request);
    }
}

static void combine(int c, int n, int root, int in_place, MPI_Datatype type, MPI_Op op, MPI_Request *request)
{
    int *f = from[c], *t = to[c], *k = counts[c];
    const void *send = in_place ? MPI_IN_PLACE : (void *)f, *at_root = rank == root ? send : f;
    for (int i = 0; i < size; i++)
        k[i] = (i * 5 + c) % (n + 1);
    switch (c % CALLS) {
    case 11: INIT(Reduce)(at_root, t, n, type, op, root, comm, MPI_INFO_NULL, request); break;
    case 12: INIT(Allreduce)(send, t, n, type, op, comm, MPI_INFO_NULL, request); break;
    case 13: INIT(Reduce_scatter)(f, t, k, type, op, comm, MPI_INFO_NULL, request); break;
    case 14: INIT(Reduce_scatter_block)(f, t, n, type, op, comm, MPI_INFO_NULL, request); break;
    case 15: INIT(Scan)(send, t, n, type, op, comm, MPI_INFO_NULL, request); break;
    default: INIT(Exscan)(send, t, n, type, op, comm, MPI_INFO_NULL, request);
    }
}

/* Starts them all, this rank in its own order, and ends them. */
static void run(int round, MPI_Request requests[])
{
    int done = 0, indices[ALL];
    if (round % 3 == 0)
        MPI_Startall(ALL, requests);
    else
        for (int i = 0; i < ALL; i++)
            MPI_Start(&requests[(i * (round % 3 == 1 ? 1 : 5) + rank * 7) % ALL]);
    if (round % 2)
        MPI_Waitall(ALL, requests, MPI_STATUSES_IGNORE);
    else
        for (; done != MPI_UNDEFINED;)
            MPI_Testsome(ALL, requests, &done, indices, MPI_STATUSES_IGNORE);
}

/* The program frees communicator, types and operation first, unless the MPI's own would crash. */
static void persistent(const char *name, int n, int early)
{
    MPI_Request requests[ALL];
    MPI_Datatype flat = pair(0), wide = pair(1);
    MPI_Op op;
    char out, in;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    out = (char)rank;
    MPI_Op_create(compose, 0, &op);
    MPI_Send_init(&out, 1, MPI_CHAR, (rank + 1) % size, 0, comm, &requests[FORMS]);
    MPI_Recv_init(&in, 1, MPI_CHAR, (rank + size - 1) % size, 0, comm, &requests[FORMS + 1]);
    for (int c = 0; c < FORMS; c++) {
        int in_place = c >= CALLS, root = (c + n) % size;
        MPI_Datatype mine = c % 2 ? flat : wide, theirs = c % 3 ? flat : wide;
        if (c % CALLS < 11)
            move(c, n, root, in_place, mine, theirs, &requests[c]);
        else if (c % 4 == 0)
            combine(c, n, root, in_place, MPI_INT, MPI_SUM, &requests[c]);
        else
            combine(c, n, root, in_place, theirs, op, &requests[c]);
    }
    for (int pass = 0; pass < 2; pass++) {
        if (pass == !early) {
            MPI_Type_free(&flat);
            MPI_Type_free(&wide);
            MPI_Op_free(&op);
            MPI_Comm_free(&comm);
        }
        for (int round = 0; round < ROUNDS && !pass; round++) {
            for (int c = 0; c < FORMS; c++)
                fill(c, round);
            run(round, requests);
            for (int c = 0; c < FORMS; c++)
                say(name, round * 100 + c, sum_of(sum_of(1, from[c], sizeof from[c]), to[c], sizeof to[c]));
            failed |= in != (char)((rank + size - 1) % size);
        }
    }
    for (int i = 0; i < ALL; i++) {
        MPI_Request_free(&requests[i]);
        failed |= requests[i] != MPI_REQUEST_NULL;
    }
}

/* ---- neighbourhoods ---- */

/* How many neighbours there are on either side. */
static void degrees(int *sources, int *destinations)
{
    int topology, n, weighted;
    MPI_Topo_test(comm, &topology);
    if (topology == MPI_CART) {
        MPI_Cartdim_get(comm, &n);
        *sources = *destinations = 2 * n;
    } else if (topology == MPI_GRAPH) {
        MPI_Graph_neighbors_count(comm, rank, sources);
        *destinations = *sources;
    } else {
        MPI_Dist_graph_neighbors_count(comm, sources, destinations, &weighted);
    }
}

static int *f, *t, k[EDGES], d[EDGES], *l = k;
static MPI_Aint w[EDGES];
static MPI_Datatype each[EDGES];

static void nonblocking(int c, int n, MPI_Datatype a, MPI_Datatype b, MPI_Request *request)
{
    switch (c) {
    case 0: MPI_Ineighbor_allgather(f, n, a, t, n, b, comm, request); break;
    case 1: MPI_Ineighbor_allgatherv(f, n, a, t, l, d, b, comm, request); break;
    case 2: MPI_Ineighbor_alltoall(f, n, a, t, n, b, comm, request); break;
    case 3: MPI_Ineighbor_alltoallv(f, k, d, a, t, l, d, b, comm, request); break;
    default: MPI_Ineighbor_alltoallw(f, k, w, each, t, l, w, each, comm, request);
    }
}

static void blocking(int c, int n, MPI_Datatype a, MPI_Datatype b)
{
    switch (c) {
    case 0: MPI_Neighbor_allgather(f, n, a, t, n, b, comm); break;
    case 1: MPI_Neighbor_allgatherv(f, n, a, t, l, d, b, comm); break;
    case 2: MPI_Neighbor_alltoall(f, n, a, t, n, b, comm); break;
    case 3: MPI_Neighbor_alltoallv(f, k, d, a, t, l, d, b, comm); break;
    default: MPI_Neighbor_alltoallw(f, k, w, each, t, l, w, each, comm);
    }
}

static void initialised(int c, int n, MPI_Datatype a, MPI_Datatype b, MPI_Request *request)
{
    switch (c) {
    case 0: INIT(Neighbor_allgather)(f, n, a, t, n, b, comm, MPI_INFO_NULL, request); break;
    case 1: INIT(Neighbor_allgatherv)(f, n, a, t, l, d, b, comm, MPI_INFO_NULL, request); break;
    case 2: INIT(Neighbor_alltoall)(f, n, a, t, n, b, comm, MPI_INFO_NULL, request); break;
    case 3: INIT(Neighbor_alltoallv)(f, k, d, a, t, l, d, b, comm, MPI_INFO_NULL, request); break;
    default: INIT(Neighbor_alltoallw)(f, k, w, each, t, l, w, each, comm, MPI_INFO_NULL, request);
    }
}

/* Persistent ones are run twice, the others once. */
static void neighbors(const char *name)
{
    MPI_Datatype flat = pair(0), wide = pair(1);
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    for (int c = 0; c < 5; c++)
        for (int form = 0; form < 4; form++)
            for (int n = 0; n < 100; n = n * 7 + 1) {
                MPI_Request request = MPI_REQUEST_NULL;
                f = from[0];
                t = to[0];
                fill(0, c);
                for (int i = 0; i < EDGES; i++) {
                    k[i] = n;
                    d[i] = i * (n + 1);
                    w[i] = (MPI_Aint)d[i] * 4 * (MPI_Aint)sizeof(int);
                    each[i] = i % 2 ? flat : wide;
                }
                if (c == 4) /* what an end of an edge has as flat, the other may have as wide */
                    for (int i = 0; i < EDGES; i++)
                        each[i] = (i + rank) % 2 ? flat : wide;
                MPI_Datatype a = rank % 2 ? flat : wide;
                if (form == 0)
                    blocking(c, n, a, flat);
                else if (form == 1)
                    nonblocking(c, n, a, wide, &request);
                else
                    initialised(c, n, a, wide, &request);
                for (int run = 2; run <= form; run++) {
                    fill(0, run);
                    MPI_Start(&request);
                    if (run < form)
                        MPI_Wait(&request, MPI_STATUS_IGNORE);
                }
                MPI_Wait(&request, MPI_STATUS_IGNORE);
                if (form > 1)
                    MPI_Request_free(&request);
                char what[64];
                snprintf(what, sizeof what, "%s call %d form %d", name, c, form);
                say(what, n, sum_of(1, to[0], sizeof to[0]));
            }
    MPI_Type_free(&flat);
    MPI_Type_free(&wide);
}

/* Many at once, on a communicator that is freed before they end. */
static void outstanding(int early)
{
    MPI_Request requests[10];
    int sources, destinations;
    uint64_t sum = 1;
    degrees(&sources, &destinations);
    memset(to, 0, sizeof to);
    for (int i = 0; i < 10; i++) {
        fill(i, i);
        MPI_Ineighbor_alltoall(from[i], 60, MPI_INT, to[i], 60, MPI_INT, comm, &requests[i]);
    }
    if (early)
        MPI_Comm_free(&comm);
    MPI_Waitall(10, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < 10; i++)
        sum = sum_of(sum, to[i], (size_t)sources * 60 * sizeof(int));
    say("outstanding", sources, sum);
    if (!early)
        MPI_Comm_free(&comm);
}

static void topologies(int early)
{
    int world, me, dims[2] = {0, 0}, open[2] = {0, 0}, index[RANKS], edges[2 * RANKS], in[EDGES], out[EDGES],
        weights[EDGES] = {0};
    MPI_Comm_size(MPI_COMM_WORLD, &world);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Dims_create(world, 2, dims);
    MPI_Cart_create(MPI_COMM_WORLD, 2, dims, open, 0, &comm);
    neighbors("grid");
    outstanding(early);
    int ring = world > 2 ? world : 1, closed = world > 2; /* of two ranks MPI 3 does not say what comes from where */
    MPI_Cart_create(MPI_COMM_WORLD, 1, closed ? &ring : dims, closed ? &closed : open, 0, &comm);
    if (comm != MPI_COMM_NULL)
        neighbors("ring");
    outstanding(early);
    for (int i = 0; i < world; i++) {
        index[i] = 2 * (i + 1);
        edges[2 * i] = (i + 1) % world;
        edges[2 * i + 1] = (i + world - 1) % world;
    }
    MPI_Graph_create(MPI_COMM_WORLD, world, index, edges, 0, &comm);
    neighbors("graph");
    outstanding(early);
    for (int i = 0; i < 3; i++) { /* to itself, and two edges to the next one, both ways */
        in[i] = i == 0 ? me : (me + world - 1) % world;
        out[i] = i == 0 ? me : (me + 1) % world;
    }
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 3, in, weights, 3, out, weights, MPI_INFO_NULL, 0,
                                   &comm);
    neighbors("distributed");
    outstanding(early);
    for (int i = 0; i < world; i++) /* rank 0 gets from all others, which get nothing */
        in[i] = i + 1;
    out[0] = 0;
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, me == 0 ? world - 1 : 0, in, weights, me != 0, out,
                                   weights, MPI_INFO_NULL, 0, &comm);
    neighbors("star");
    outstanding(early);
}

int main(int argc, char *argv[])
{
    int early = argc > 1;
    MPI_Init(&argc, &argv);
    for (int n = 1; n < 200; n = n * 9 + 1)
        persistent("persistent", n > 60 ? 60 : n, early);
    topologies(early);
    MPI_Finalize();
    return failed;
}
