/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Each blocking collective of MPI, in each of its forms: types of several layouts, which differ between the ranks;
 * MPI_IN_PLACE; operations of the program's; communicators of several kinds; mixed with large messages both ways. Each
 * case prints a checksum of every rank's buffers, with what lies between and behind the data. Values are small
 * integers, so that no order of a sum changes them. The output of two libraries is the same, or one is wrong. */
#include "shared.h"

enum { ROOM = 1 << 14, LARGE = 1 << 20, GUARD = 0x5a };

static int rank, size, failed;
static MPI_Comm comm;
static const char *where;
static int *from, *to;
static int counts[64], displs[64], their_counts[64], their_displs[64], byte_displs[64], their_byte_displs[64];

static void begin(void)
{
    memset(to, GUARD, ROOM * sizeof *to);
    for (int i = 0; i < ROOM; i++)
        from[i] = (rank + 1) * 3 + i % 7;
}

static void end(const char *what, int n)
{
    uint64_t sum = sum_of(sum_of(1, to, ROOM * sizeof *to), from, ROOM * sizeof *from);
    printf("%s %s %d on rank %d: %016llx\n", where, what, n, rank, (unsigned long long)sum);
}

static void add(void *in, void *inout, int *n, MPI_Datatype *type)
{
    (void)type;
    for (int i = 0; i < *n; i++)
        ((int *)inout)[i] += ((int *)in)[i];
}

/* n elements, at most, to each rank; none, to some. */
static void blocks(int n, int gap)
{
    for (int i = 0, at = 0, their_at = 0; i < size; i++) {
        counts[i] = (i * 5 + rank * 3) % (n + 1);
        their_counts[i] = (rank * 5 + i * 3) % (n + 1);
        displs[i] = at;
        their_displs[i] = their_at;
        at += counts[i] + gap;
        their_at += their_counts[i] + gap;
    }
}

static void rooted(int n, int root, MPI_Datatype mine, MPI_Datatype theirs)
{
    begin();
    MPI_Bcast(rank == root ? from : to, n, rank == root ? mine : theirs, root, comm);
    end("bcast", n);
    begin();
    MPI_Gather(from, n, mine, to, n, theirs, root, comm);
    end("gather", n);
    begin();
    MPI_Gather(rank == root ? MPI_IN_PLACE : from, n, mine, to, n, theirs, root, comm);
    end("gather in place", n);
    begin();
    MPI_Scatter(from, n, mine, to, n, theirs, root, comm);
    end("scatter", n);
    begin();
    MPI_Scatter(from, n, mine, rank == root ? MPI_IN_PLACE : to, n, theirs, root, comm);
    end("scatter in place", n);
    for (int i = 0; i < size; i++) {
        counts[i] = (i * 5) % (n + 1);
        displs[i] = (size - 1 - i) * (n + 2);
    }
    begin();
    MPI_Gatherv(from, counts[rank], mine, to, counts, displs, theirs, root, comm);
    end("gatherv", n);
    begin();
    MPI_Gatherv(rank == root ? MPI_IN_PLACE : from, counts[rank], mine, to, counts, displs, theirs, root, comm);
    end("gatherv in place", n);
    begin();
    MPI_Scatterv(from, counts, displs, mine, to, counts[rank], theirs, root, comm);
    end("scatterv", n);
    begin();
    MPI_Scatterv(from, counts, displs, mine, rank == root ? MPI_IN_PLACE : to, counts[rank], theirs, root, comm);
    end("scatterv in place", n);
    begin();
    MPI_Allgatherv(from, counts[rank], mine, to, counts, displs, theirs, comm);
    end("allgatherv", n);
    begin();
    MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, to, counts, displs, theirs, comm);
    end("allgatherv in place", n);
}

static void all_to_all(int n, MPI_Datatype mine, MPI_Datatype theirs)
{
    MPI_Datatype types[64], their_types[64];
    begin();
    MPI_Allgather(from, n, mine, to, n, theirs, comm);
    end("allgather", n);
    begin();
    MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, to, n, theirs, comm);
    end("allgather in place", n);
    begin();
    MPI_Alltoall(from, n, mine, to, n, theirs, comm);
    end("alltoall", n);
    begin();
    MPI_Alltoall(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, from, n, theirs, comm);
    end("alltoall in place", n);
    blocks(n, 3);
    begin();
    MPI_Alltoallv(from, counts, displs, mine, to, their_counts, their_displs, theirs, comm);
    end("alltoallv", n);
    for (int i = 0; i < size; i++) {
        types[i] = i % 2 ? mine : theirs;
        their_types[i] = i % 3 ? mine : theirs;
        byte_displs[i] = 16 * displs[i];
        their_byte_displs[i] = 16 * their_displs[i];
    }
    begin();
    MPI_Alltoallw(from, counts, byte_displs, types, to, their_counts, their_byte_displs, their_types, comm);
    end("alltoallw", n);
}

/* In place a library may leave anything behind the result: that is put into `to`, and the rest is not looked at. */
static void end_scattered(const char *what, int in_place, int n, MPI_Datatype type)
{
    MPI_Aint lb, extent;
    MPI_Type_get_extent(type, &lb, &extent);
    if (in_place) {
        memcpy(to, from, (size_t)n * (size_t)extent);
        memset(from, 0, ROOM * sizeof *from);
    }
    end(what, in_place);
}

static void reductions(const char *what, int n, int root, MPI_Datatype type, MPI_Op op)
{
    const char *before = where;
    char text[128];
    snprintf(text, sizeof text, "%s %s", before, what);
    where = text;
    for (int in_place = 0; in_place < 2; in_place++) {
        void *send = in_place ? MPI_IN_PLACE : (void *)from, *recv = in_place ? from : to;
        begin();
        MPI_Reduce(in_place && rank != root ? from : send, recv, n, type, op, root, comm);
        end("reduce", in_place);
        begin();
        MPI_Allreduce(send, recv, n, type, op, comm);
        end("allreduce", in_place);
        begin();
        MPI_Scan(send, recv, n, type, op, comm);
        end("scan", in_place);
        begin();
        MPI_Exscan(send, recv, n, type, op, comm);
        end("exscan", in_place);
        for (int i = 0; i < size; i++)
            counts[i] = (i * 5 + 2) % (n + 1);
        begin();
        MPI_Reduce_scatter(send, recv, counts, type, op, comm);
        end_scattered("reduce_scatter", in_place, counts[rank], type);
        begin();
        MPI_Reduce_scatter_block(send, recv, n, type, op, comm);
        end_scattered("reduce_scatter_block", in_place, n, type);
    }
    where = before;
}

/* Large messages both ways around the ring, under way while collectives run. */
static void mixed(void)
{
    MPI_Request request[2];
    MPI_Status status[2];
    int right = (rank + 1) % size, left = (rank + size - 1) % size, out = rank, total = 0;
    char *large = malloc(2 * LARGE);
    memset(large, rank, LARGE);
    for (int round = 0; round < 8; round++) {
        MPI_Irecv(large + LARGE, LARGE, MPI_CHAR, left, round, comm, &request[0]);
        if (round % 2 || rank % 2) {
            MPI_Isend(large, LARGE, MPI_CHAR, right, round, comm, &request[1]);
            MPI_Allreduce(&out, &total, 1, MPI_INT, MPI_SUM, comm);
        } else { /* a send that ends only when its receiver, in the collective by then, has moved the MPI */
            MPI_Send(large, LARGE, MPI_CHAR, right, round, comm);
            request[1] = MPI_REQUEST_NULL;
            MPI_Allreduce(&out, &total, 1, MPI_INT, MPI_SUM, comm);
        }
        MPI_Bcast(large, 1, MPI_CHAR, round % size, comm);
        MPI_Waitall(2, request, status);
        failed |= total != size * (size - 1) / 2 || large[LARGE + 1] != left;
        large[0] = (char)rank;
    }
    free(large);
    printf("%s mixed on rank %d: %d\n", where, rank, failed);
}

static void everything(const char *name, MPI_Comm of, MPI_Datatype types[], MPI_Op composition, MPI_Op addition)
{
    where = name;
    comm = of;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    for (int n = 0; n < 2000; n = n * 8 + 1) {
        int root = n % size;
        rooted(n, root, MPI_INT, MPI_INT);
        all_to_all(n, MPI_INT, MPI_INT);
        for (int layout = 0; layout < 4; layout++) { /* each rank another */
            rooted(n, root, types[(layout + rank) % 4], types[layout]);
            all_to_all(n, types[(layout + rank) % 4], types[layout]);
            reductions("composed", n, root, types[layout == 2 ? 0 : layout], composition);
        }
        reductions("sum", n, root, MPI_INT, MPI_SUM);
        reductions("max", n, root, MPI_UNSIGNED, MPI_MAX);
        reductions("maxloc", n, root, MPI_2INT, MPI_MAXLOC);
        reductions("added", n, root, MPI_INT, addition);
    }
    MPI_Barrier(comm);
    mixed();
}

int main(int argc, char *argv[])
{
    MPI_Datatype types[4];
    MPI_Op composition, addition;
    MPI_Comm made;
    int world_rank, dims[2] = {0, 1}, periods[2] = {1, 0}, world;
    char path[4096];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
    if (argc > 1) { /* a launcher may mix the lines of several ranks */
        snprintf(path, sizeof path, "%s.%d", argv[1], world_rank);
        if (!freopen(path, "w", stdout))
            return 1;
    }
    MPI_Comm_size(MPI_COMM_WORLD, &world);
    from = malloc(ROOM * sizeof *from);
    to = malloc(ROOM * sizeof *to);
    for (int i = 0; i < 4; i++)
        types[i] = pair(i);
    MPI_Op_create(compose, 0, &composition);
    MPI_Op_create(add, 1, &addition);
    everything("world", MPI_COMM_WORLD, types, composition, addition);
    MPI_Comm_dup(MPI_COMM_WORLD, &made);
    everything("dup", made, types, composition, addition);
    MPI_Comm_free(&made);
    MPI_Comm_split(MPI_COMM_WORLD, world_rank % 2, -world_rank, &made); /* the halves at once, backwards */
    everything(world_rank % 2 ? "odd half" : "even half", made, types, composition, addition);
    MPI_Comm_free(&made);
    for (int i = 0; i < 40; i++) { /* more than live at a time */
        int one = 1, all = 0;
        dims[0] = world;
        MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 0, &made);
        MPI_Allreduce(&one, &all, 1, MPI_INT, MPI_SUM, made);
        failed |= all != world;
        MPI_Comm_free(&made);
    }
    for (int i = 0; i < 4; i++)
        MPI_Type_free(&types[i]);
    MPI_Op_free(&composition);
    MPI_Op_free(&addition);
    free(from);
    free(to);
    MPI_Finalize();
    return failed;
}
