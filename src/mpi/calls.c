/* SPDX-License-Identifier: BSD-3-Clause
 * The collectives that move data as it is. Each function describes a call; false: the MPI gets it. */
#include "operation.h"

DOOR_INLINE bool barrier(door_operation *o, MPI_Comm comm)
{
    bool well = door_serves(o, comm, 0);
    if (well)
        door_sides(o, NULL, NULL, -1, false);
    return well;
}

DOOR_FORMS(Barrier, barrier, barrier, MPI_Comm comm, comm)

/* Whether a rank of its n has this number, and this one is it. */
DOOR_INLINE bool has_root(door_operation *o, int root, int n, bool *is_root)
{
    *is_root = n && nbcoll_comm_rank(o->ours) == root;
    o->root = root;
    return root >= 0 && root < n;
}

DOOR_INLINE bool bcast(door_operation *o, void *buffer, int count, MPI_Datatype type, int root, MPI_Comm comm)
{
    bool sends;
    if (door_bad(count, type) || !has_root(o, root, door_serves(o, comm, door_bytes(count, type)), &sends))
        return false;
    if (sends)
        door_sides(o, BLOCKS(buffer, 1, count, type), NULL, 0, false);
    else
        door_sides(o, NULL, BLOCKS(buffer, 1, count, type), 0, false);
    return true;
}

DOOR_FORMS(Bcast, bcast, bcast, P(void *buffer, int count, MPI_Datatype type, int root, MPI_Comm comm),
           P(buffer, count, type, root, comm))

DOOR_INLINE bool gather(door_operation *o, const void *send, int send_count, MPI_Datatype send_type, void *recv,
                        int recv_count, MPI_Datatype recv_type, int root, MPI_Comm comm)
{
    bool is_root;
    bool is_in_place = send == MPI_IN_PLACE;
    int n = door_serves(o, comm, is_in_place ? door_bytes(recv_count, recv_type) : door_bytes(send_count, send_type));
    if (!has_root(o, root, n, &is_root) || (is_root && door_bad(recv_count, recv_type)) ||
        (send != MPI_IN_PLACE && door_bad(send_count, send_type)))
        return false;
    door_sides(o, BLOCKS(send, 1, send_count, send_type), is_root ? BLOCKS(recv, n, recv_count, recv_type) : NULL, root,
               false);
    return true;
}

DOOR_FORMS(Gather, gather, gather,
           P(const void *send, int send_count, MPI_Datatype send_type, void *recv, int recv_count,
             MPI_Datatype recv_type, int root, MPI_Comm comm),
           P(send, send_count, send_type, recv, recv_count, recv_type, root, comm))

DOOR_INLINE bool gatherv(door_operation *o, const void *send, int send_count, MPI_Datatype send_type, void *recv,
                         const int counts[], const int displs[], MPI_Datatype recv_type, int root, MPI_Comm comm)
{
    bool is_root;
    int n = door_serves(o, comm, DOOR_ANY);
    if (!has_root(o, root, n, &is_root) || (is_root && door_bad_vector(VECTOR(recv, n, counts, displs, recv_type))) ||
        (send != MPI_IN_PLACE && door_bad(send_count, send_type)))
        return false;
    door_sides(o, BLOCKS(send, 1, send_count, send_type), is_root ? VECTOR(recv, n, counts, displs, recv_type) : NULL,
               root, false);
    return true;
}

DOOR_FORMS(Gatherv, gatherv, gatherv,
           P(const void *send, int send_count, MPI_Datatype send_type, void *recv, const int counts[],
             const int displs[], MPI_Datatype recv_type, int root, MPI_Comm comm),
           P(send, send_count, send_type, recv, counts, displs, recv_type, root, comm))

/* What one rank receives of a scatter. */
DOOR_INLINE void scattered(door_operation *o, const door_blocks *send, const door_blocks *recv)
{
    bool in_place = recv->user == MPI_IN_PLACE;
    door_sides(o, send, in_place ? NULL : recv, 0, false);
    if (in_place)
        o->recv.data = NBCOLL_IN_PLACE;
}

DOOR_INLINE bool scatter(door_operation *o, const void *send, int send_count, MPI_Datatype send_type, void *recv,
                         int recv_count, MPI_Datatype recv_type, int root, MPI_Comm comm)
{
    bool is_root;
    bool is_in_place = recv == MPI_IN_PLACE;
    int n = door_serves(o, comm, is_in_place ? door_bytes(send_count, send_type) : door_bytes(recv_count, recv_type));
    if (!has_root(o, root, n, &is_root) || (is_root && door_bad(send_count, send_type)) ||
        (recv != MPI_IN_PLACE && door_bad(recv_count, recv_type)))
        return false;
    scattered(o, is_root ? BLOCKS(send, n, send_count, send_type) : NULL, BLOCKS(recv, 1, recv_count, recv_type));
    return true;
}

DOOR_FORMS(Scatter, scatter, scatter,
           P(const void *send, int send_count, MPI_Datatype send_type, void *recv, int recv_count,
             MPI_Datatype recv_type, int root, MPI_Comm comm),
           P(send, send_count, send_type, recv, recv_count, recv_type, root, comm))

DOOR_INLINE bool scatterv(door_operation *o, const void *send, const int counts[], const int displs[],
                          MPI_Datatype send_type, void *recv, int recv_count, MPI_Datatype recv_type, int root,
                          MPI_Comm comm)
{
    bool is_root;
    int n = door_serves(o, comm, DOOR_ANY);
    if (!has_root(o, root, n, &is_root) || (is_root && door_bad_vector(VECTOR(send, n, counts, displs, send_type))) ||
        (recv != MPI_IN_PLACE && door_bad(recv_count, recv_type)))
        return false;
    scattered(o, is_root ? VECTOR(send, n, counts, displs, send_type) : NULL, BLOCKS(recv, 1, recv_count, recv_type));
    return true;
}

DOOR_FORMS(Scatterv, scatterv, scatterv,
           P(const void *send, const int counts[], const int displs[], MPI_Datatype send_type, void *recv,
             int recv_count, MPI_Datatype recv_type, int root, MPI_Comm comm),
           P(send, counts, displs, send_type, recv, recv_count, recv_type, root, comm))

/* What an allgather and an alltoall have in common. */
static bool is_bad(const void *send, int send_count, MPI_Datatype send_type, int recv_count, MPI_Datatype recv_type)
{
    return door_bad(recv_count, recv_type) || (send != MPI_IN_PLACE && door_bad(send_count, send_type));
}

DOOR_INLINE bool allgather(door_operation *o, const void *send, int send_count, MPI_Datatype send_type, void *recv,
                           int recv_count, MPI_Datatype recv_type, MPI_Comm comm)
{
    size_t bytes = door_bytes(recv_count, recv_type);
    int n = is_bad(send, send_count, send_type, recv_count, recv_type) ? 0 : door_serves(o, comm, bytes);
    if (n)
        door_sides(o, BLOCKS(send, 1, send_count, send_type), BLOCKS(recv, n, recv_count, recv_type),
                   nbcoll_comm_rank(o->ours), false);
    return n;
}

DOOR_FORMS(Allgather, allgather, allgather,
           P(const void *send, int send_count, MPI_Datatype send_type, void *recv, int recv_count,
             MPI_Datatype recv_type, MPI_Comm comm),
           P(send, send_count, send_type, recv, recv_count, recv_type, comm))

DOOR_INLINE bool allgatherv(door_operation *o, const void *send, int send_count, MPI_Datatype send_type, void *recv,
                            const int counts[], const int displs[], MPI_Datatype recv_type, MPI_Comm comm)
{
    int n = door_serves(o, comm, DOOR_ANY);
    if (!n || door_bad_vector(VECTOR(recv, n, counts, displs, recv_type)) ||
        (send != MPI_IN_PLACE && door_bad(send_count, send_type)))
        return false;
    door_sides(o, BLOCKS(send, 1, send_count, send_type), VECTOR(recv, n, counts, displs, recv_type),
               nbcoll_comm_rank(o->ours), false);
    return true;
}

DOOR_FORMS(Allgatherv, allgatherv, allgatherv,
           P(const void *send, int send_count, MPI_Datatype send_type, void *recv, const int counts[],
             const int displs[], MPI_Datatype recv_type, MPI_Comm comm),
           P(send, send_count, send_type, recv, counts, displs, recv_type, comm))

DOOR_INLINE bool alltoall(door_operation *o, const void *send, int send_count, MPI_Datatype send_type, void *recv,
                          int recv_count, MPI_Datatype recv_type, MPI_Comm comm)
{
    size_t bytes = door_bytes(recv_count, recv_type);
    int n = is_bad(send, send_count, send_type, recv_count, recv_type) ? 0 : door_serves(o, comm, bytes);
    if (n)
        door_sides(o, BLOCKS(send, n, send_count, send_type), BLOCKS(recv, n, recv_count, recv_type), -1, false);
    return n;
}

DOOR_FORMS(Alltoall, alltoall, alltoall,
           P(const void *send, int send_count, MPI_Datatype send_type, void *recv, int recv_count,
             MPI_Datatype recv_type, MPI_Comm comm),
           P(send, send_count, send_type, recv, recv_count, recv_type, comm))

DOOR_INLINE bool exchange(door_operation *o, const door_blocks *send, const door_blocks *recv)
{
    if (!recv->n || door_bad_vector(recv) || (send->user != MPI_IN_PLACE && door_bad_vector(send)))
        return false;
    door_sides(o, send, recv, -1, false);
    return true;
}

DOOR_INLINE bool alltoallv(door_operation *o, const void *send, const int send_counts[], const int send_displs[],
                           MPI_Datatype send_type, void *recv, const int recv_counts[], const int recv_displs[],
                           MPI_Datatype recv_type, MPI_Comm comm)
{
    int n = door_serves(o, comm, DOOR_ANY);
    return exchange(o, VECTOR(send, n, send_counts, send_displs, send_type),
                    VECTOR(recv, n, recv_counts, recv_displs, recv_type));
}

DOOR_FORMS(Alltoallv, alltoallv, alltoallv,
           P(const void *send, const int send_counts[], const int send_displs[], MPI_Datatype send_type, void *recv,
             const int recv_counts[], const int recv_displs[], MPI_Datatype recv_type, MPI_Comm comm),
           P(send, send_counts, send_displs, send_type, recv, recv_counts, recv_displs, recv_type, comm))

DOOR_INLINE bool alltoallw(door_operation *o, const void *send, const int send_counts[], const int send_displs[],
                           const MPI_Datatype send_types[], void *recv, const int recv_counts[],
                           const int recv_displs[], const MPI_Datatype recv_types[], MPI_Comm comm)
{
    int n = door_serves(o, comm, DOOR_ANY);
    return exchange(o, TYPED(send, n, send_counts, send_displs, send_types),
                    TYPED(recv, n, recv_counts, recv_displs, recv_types));
}

DOOR_FORMS(Alltoallw, alltoallw, alltoallw,
           P(const void *send, const int send_counts[], const int send_displs[], const MPI_Datatype send_types[],
             void *recv, const int recv_counts[], const int recv_displs[], const MPI_Datatype recv_types[],
             MPI_Comm comm),
           P(send, send_counts, send_displs, send_types, recv, recv_counts, recv_displs, recv_types, comm))
