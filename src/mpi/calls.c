/* SPDX-License-Identifier: BSD-3-Clause
 * The blocking collectives that move data as it is. */
#include "door.h"

int MPI_Barrier(MPI_Comm comm)
{
    nbcoll_comm *ours = door_comm(comm, DOOR_Barrier);
    return ours ? door_end(comm, DOOR_Barrier, MPI_SUCCESS, nbcoll_barrier(WAITED)) : PMPI_Barrier(comm);
}

int MPI_Bcast(void *buffer, int count, MPI_Datatype type, int root, MPI_Comm comm)
{
    nbcoll_comm *ours = door_bad(count, type) ? NULL : door_comm(comm, DOOR_Bcast);
    if (!ours || root < 0 || root >= nbcoll_comm_size(ours))
        return PMPI_Bcast(buffer, count, type, root, comm);
    bool sends = nbcoll_comm_rank(ours) == root;
    door_blocks *blocks = BLOCKS(buffer, 1, count, type);
    door_sides s;
    door_sides_open(&s, sends ? blocks : NULL, sends ? NULL : blocks, 0, false);
    door_view *view = sends ? &s.send : &s.recv;
    if (door_sides_ready(&s))
        s.status = nbcoll_bcast(view->data, view->bytes, NBCOLL_BYTE, root, WAITED);
    return door_sides_end(&s, comm, DOOR_Bcast);
}

int MPI_Gather(const void *send, int send_count, MPI_Datatype send_type, void *recv, int recv_count,
               MPI_Datatype recv_type, int root, MPI_Comm comm)
{
    nbcoll_comm *ours = door_comm(comm, DOOR_Gather);
    int n = ours ? nbcoll_comm_size(ours) : 0;
    bool is_root = ours && nbcoll_comm_rank(ours) == root;
    if (root < 0 || root >= n || (is_root && door_bad(recv_count, recv_type)) ||
        (send != MPI_IN_PLACE && door_bad(send_count, send_type)))
        return PMPI_Gather(send, send_count, send_type, recv, recv_count, recv_type, root, comm);
    door_sides s;
    door_sides_open(&s, BLOCKS(send, 1, send_count, send_type), is_root ? BLOCKS(recv, n, recv_count, recv_type) : NULL,
                    root, false);
    if (door_sides_ready(&s))
        s.status =
            nbcoll_gather(s.send.data, s.recv.data, is_root ? s.recv.bytes : s.send.bytes, NBCOLL_BYTE, root, WAITED);
    return door_sides_end(&s, comm, DOOR_Gather);
}

int MPI_Gatherv(const void *send, int send_count, MPI_Datatype send_type, void *recv, const int counts[],
                const int displs[], MPI_Datatype recv_type, int root, MPI_Comm comm)
{
    nbcoll_comm *ours = door_comm(comm, DOOR_Gatherv);
    int n = ours ? nbcoll_comm_size(ours) : 0;
    bool is_root = ours && nbcoll_comm_rank(ours) == root;
    if (root < 0 || root >= n || (is_root && (door_any_bad(n, counts, recv_type) || !displs)) ||
        (send != MPI_IN_PLACE && door_bad(send_count, send_type)))
        return PMPI_Gatherv(send, send_count, send_type, recv, counts, displs, recv_type, root, comm);
    door_sides s;
    door_sides_open(&s, BLOCKS(send, 1, send_count, send_type),
                    is_root ? VECTOR(recv, n, counts, displs, recv_type) : NULL, root, false);
    if (door_sides_ready(&s))
        s.status = nbcoll_gatherv(s.send.data, s.send.bytes, s.recv.data, s.recv.counts, s.recv.displs, NBCOLL_BYTE,
                                  root, WAITED);
    return door_sides_end(&s, comm, DOOR_Gatherv);
}

int MPI_Scatter(const void *send, int send_count, MPI_Datatype send_type, void *recv, int recv_count,
                MPI_Datatype recv_type, int root, MPI_Comm comm)
{
    nbcoll_comm *ours = door_comm(comm, DOOR_Scatter);
    int n = ours ? nbcoll_comm_size(ours) : 0;
    bool is_root = ours && nbcoll_comm_rank(ours) == root, in_place = recv == MPI_IN_PLACE;
    if (root < 0 || root >= n || (is_root && door_bad(send_count, send_type)) ||
        (!in_place && door_bad(recv_count, recv_type)))
        return PMPI_Scatter(send, send_count, send_type, recv, recv_count, recv_type, root, comm);
    door_sides s;
    door_sides_open(&s, is_root ? BLOCKS(send, n, send_count, send_type) : NULL,
                    in_place ? NULL : BLOCKS(recv, 1, recv_count, recv_type), 0, false);
    if (door_sides_ready(&s))
        s.status = nbcoll_scatter(s.send.data, in_place ? NBCOLL_IN_PLACE : s.recv.data,
                                  is_root ? s.send.bytes : s.recv.bytes, NBCOLL_BYTE, root, WAITED);
    return door_sides_end(&s, comm, DOOR_Scatter);
}

int MPI_Scatterv(const void *send, const int counts[], const int displs[], MPI_Datatype send_type, void *recv,
                 int recv_count, MPI_Datatype recv_type, int root, MPI_Comm comm)
{
    nbcoll_comm *ours = door_comm(comm, DOOR_Scatterv);
    int n = ours ? nbcoll_comm_size(ours) : 0;
    bool is_root = ours && nbcoll_comm_rank(ours) == root, in_place = recv == MPI_IN_PLACE;
    if (root < 0 || root >= n || (is_root && (door_any_bad(n, counts, send_type) || !displs)) ||
        (!in_place && door_bad(recv_count, recv_type)))
        return PMPI_Scatterv(send, counts, displs, send_type, recv, recv_count, recv_type, root, comm);
    door_sides s;
    door_sides_open(&s, is_root ? VECTOR(send, n, counts, displs, send_type) : NULL,
                    in_place ? NULL : BLOCKS(recv, 1, recv_count, recv_type), 0, false);
    if (door_sides_ready(&s))
        s.status = nbcoll_scatterv(s.send.data, s.send.counts, s.send.displs, in_place ? NBCOLL_IN_PLACE : s.recv.data,
                                   s.recv.bytes, NBCOLL_BYTE, root, WAITED);
    return door_sides_end(&s, comm, DOOR_Scatterv);
}

int MPI_Allgather(const void *send, int send_count, MPI_Datatype send_type, void *recv, int recv_count,
                  MPI_Datatype recv_type, MPI_Comm comm)
{
    bool is_bad = door_bad(recv_count, recv_type) || (send != MPI_IN_PLACE && door_bad(send_count, send_type));
    nbcoll_comm *ours = is_bad ? NULL : door_comm(comm, DOOR_Allgather);
    if (!ours)
        return PMPI_Allgather(send, send_count, send_type, recv, recv_count, recv_type, comm);
    door_sides s;
    door_sides_open(&s, BLOCKS(send, 1, send_count, send_type),
                    BLOCKS(recv, nbcoll_comm_size(ours), recv_count, recv_type), nbcoll_comm_rank(ours), false);
    if (door_sides_ready(&s))
        s.status = nbcoll_allgather(s.send.data, s.recv.data, s.recv.bytes, NBCOLL_BYTE, WAITED);
    return door_sides_end(&s, comm, DOOR_Allgather);
}

int MPI_Allgatherv(const void *send, int send_count, MPI_Datatype send_type, void *recv, const int counts[],
                   const int displs[], MPI_Datatype recv_type, MPI_Comm comm)
{
    nbcoll_comm *ours = door_comm(comm, DOOR_Allgatherv);
    int n = ours ? nbcoll_comm_size(ours) : 0;
    if (!ours || door_any_bad(n, counts, recv_type) || !displs ||
        (send != MPI_IN_PLACE && door_bad(send_count, send_type)))
        return PMPI_Allgatherv(send, send_count, send_type, recv, counts, displs, recv_type, comm);
    door_sides s;
    door_sides_open(&s, BLOCKS(send, 1, send_count, send_type), VECTOR(recv, n, counts, displs, recv_type),
                    nbcoll_comm_rank(ours), false);
    if (door_sides_ready(&s))
        s.status = nbcoll_allgatherv(s.send.data, s.recv.data, s.recv.counts, s.recv.displs, NBCOLL_BYTE, WAITED);
    return door_sides_end(&s, comm, DOOR_Allgatherv);
}

int MPI_Alltoall(const void *send, int send_count, MPI_Datatype send_type, void *recv, int recv_count,
                 MPI_Datatype recv_type, MPI_Comm comm)
{
    bool is_bad = door_bad(recv_count, recv_type) || (send != MPI_IN_PLACE && door_bad(send_count, send_type));
    nbcoll_comm *ours = is_bad ? NULL : door_comm(comm, DOOR_Alltoall);
    if (!ours)
        return PMPI_Alltoall(send, send_count, send_type, recv, recv_count, recv_type, comm);
    int n = nbcoll_comm_size(ours);
    door_sides s;
    door_sides_open(&s, BLOCKS(send, n, send_count, send_type), BLOCKS(recv, n, recv_count, recv_type), -1, false);
    if (door_sides_ready(&s))
        s.status = nbcoll_alltoall(s.send.data, s.recv.data, s.recv.bytes, NBCOLL_BYTE, WAITED);
    return door_sides_end(&s, comm, DOOR_Alltoall);
}

/* Alltoallw, too, is an alltoallv of bytes. */
static int alltoallv(const door_blocks *send, const door_blocks *recv, MPI_Comm comm, nbcoll_comm *ours, door_call call)
{
    door_sides s;
    door_sides_open(&s, send, recv, -1, false);
    if (door_sides_ready(&s))
        s.status = nbcoll_alltoallv(s.send.data, s.send.counts, s.send.displs, s.recv.data, s.recv.counts,
                                    s.recv.displs, NBCOLL_BYTE, WAITED);
    return door_sides_end(&s, comm, call);
}

int MPI_Alltoallv(const void *send, const int send_counts[], const int send_displs[], MPI_Datatype send_type,
                  void *recv, const int recv_counts[], const int recv_displs[], MPI_Datatype recv_type, MPI_Comm comm)
{
    nbcoll_comm *ours = door_comm(comm, DOOR_Alltoallv);
    int n = ours ? nbcoll_comm_size(ours) : 0;
    if (!ours || door_any_bad(n, recv_counts, recv_type) || !recv_displs ||
        (send != MPI_IN_PLACE && (door_any_bad(n, send_counts, send_type) || !send_displs)))
        return PMPI_Alltoallv(send, send_counts, send_displs, send_type, recv, recv_counts, recv_displs, recv_type,
                              comm);
    return alltoallv(VECTOR(send, n, send_counts, send_displs, send_type),
                     VECTOR(recv, n, recv_counts, recv_displs, recv_type), comm, ours, DOOR_Alltoallv);
}

int MPI_Alltoallw(const void *send, const int send_counts[], const int send_displs[], const MPI_Datatype send_types[],
                  void *recv, const int recv_counts[], const int recv_displs[], const MPI_Datatype recv_types[],
                  MPI_Comm comm)
{
    nbcoll_comm *ours = door_comm(comm, DOOR_Alltoallw);
    int n = ours ? nbcoll_comm_size(ours) : 0;
    bool is_bad = !ours || door_any_bad(n, recv_counts, MPI_BYTE) || !recv_displs || !recv_types;
    if (!is_bad && send != MPI_IN_PLACE)
        is_bad = door_any_bad(n, send_counts, MPI_BYTE) || !send_displs || !send_types;
    for (int i = 0; i < n && !is_bad; i++)
        is_bad = recv_types[i] == MPI_DATATYPE_NULL || (send != MPI_IN_PLACE && send_types[i] == MPI_DATATYPE_NULL);
    if (is_bad)
        return PMPI_Alltoallw(send, send_counts, send_displs, send_types, recv, recv_counts, recv_displs, recv_types,
                              comm);
    door_blocks from = {.user = send, .n = n, .counts = send_counts, .displs = send_displs, .types = send_types};
    door_blocks to = {.user = recv, .n = n, .counts = recv_counts, .displs = recv_displs, .types = recv_types};
    return alltoallv(&from, &to, comm, ours, DOOR_Alltoallw);
}
