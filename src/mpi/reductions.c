/* SPDX-License-Identifier: BSD-3-Clause
 * The blocking collectives that combine. */
#include <limits.h>

#include "door.h"

/* The communicator that serves a reduction, and that in nbcoll's terms; null: it passes. */
static nbcoll_comm *serves(MPI_Comm comm, door_call call, door_reduction *r, int count, MPI_Datatype type, MPI_Op op)
{
    nbcoll_comm *ours = door_bad(count, type) || op == MPI_OP_NULL ? NULL : door_comm(comm, call);
    if (!ours || door_reduction_of(r, type, op))
        return ours;
    door_count(call, DOOR_FATE_OPERATION);
    return NULL;
}

int MPI_Reduce(const void *send, void *recv, int count, MPI_Datatype type, MPI_Op op, int root, MPI_Comm comm)
{
    door_reduction r;
    nbcoll_comm *ours = serves(comm, DOOR_Reduce, &r, count, type, op);
    if (!ours || root < 0 || root >= nbcoll_comm_size(ours))
        return PMPI_Reduce(send, recv, count, type, op, root, comm);
    door_sides s;
    door_sides_open(&s, BLOCKS(send, 1, count, type),
                    nbcoll_comm_rank(ours) == root ? BLOCKS(recv, 1, count, type) : NULL, 0, !r.packs);
    if (door_sides_ready(&s))
        s.status = nbcoll_reduce(s.send.data, s.recv.data, (size_t)count, r.type, r.op, root, WAITED);
    return door_sides_end(&s, comm, DOOR_Reduce);
}

typedef nbcoll_status ours_of(const void *send, void *recv, size_t count, nbcoll_type type, nbcoll_op op,
                              nbcoll_comm *comm, uint64_t timeout);
typedef int its_of(const void *send, void *recv, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm);

/* One without a root whose result is as long as what each rank sends. */
static int combine(door_call call, ours_of *by_us, its_of *by_it, const door_blocks *send, const door_blocks *recv,
                   MPI_Op op, MPI_Comm comm)
{
    door_reduction r;
    nbcoll_comm *ours = serves(comm, call, &r, send->count, send->type, op);
    if (!ours)
        return by_it(send->user, (void *)recv->user, send->count, send->type, op, comm);
    bool receives = call != DOOR_Exscan || send->user == MPI_IN_PLACE || nbcoll_comm_rank(ours) > 0;
    door_sides s;
    door_sides_open(&s, send, receives ? recv : NULL, 0, !r.packs);
    if (door_sides_ready(&s))
        s.status = by_us(s.send.data, s.recv.data, (size_t)send->count, r.type, r.op, WAITED);
    return door_sides_end(&s, comm, call);
}

int MPI_Allreduce(const void *send, void *recv, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm)
{
    return combine(DOOR_Allreduce, nbcoll_allreduce, PMPI_Allreduce, BLOCKS(send, 1, count, type),
                   BLOCKS(recv, 1, count, type), op, comm);
}

int MPI_Scan(const void *send, void *recv, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm)
{
    return combine(DOOR_Scan, nbcoll_scan, PMPI_Scan, BLOCKS(send, 1, count, type), BLOCKS(recv, 1, count, type), op,
                   comm);
}

int MPI_Exscan(const void *send, void *recv, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm)
{
    return combine(DOOR_Exscan, nbcoll_exscan, PMPI_Exscan, BLOCKS(send, 1, count, type),
                   BLOCKS(recv, 1, count, type), op, comm);
}

int MPI_Reduce_scatter(const void *send, void *recv, const int counts[], MPI_Datatype type, MPI_Op op, MPI_Comm comm)
{
    door_reduction r;
    nbcoll_comm *ours = serves(comm, DOOR_Reduce_scatter, &r, 0, type, op);
    int n = ours ? nbcoll_comm_size(ours) : 0;
    long long total = 0;
    if (!ours || door_any_bad(n, counts, type))
        return PMPI_Reduce_scatter(send, recv, counts, type, op, comm);
    for (int i = 0; i < n; i++)
        total += counts[i];
    if (total > INT_MAX) {
        door_count(DOOR_Reduce_scatter, DOOR_FATE_OPERATION);
        return PMPI_Reduce_scatter(send, recv, counts, type, op, comm);
    }
    int mine = counts[nbcoll_comm_rank(ours)];
    door_sides s;
    door_sides_open(&s, BLOCKS(send, 1, (int)total, type),
                    BLOCKS(recv, 1, send == MPI_IN_PLACE ? (int)total : mine, type), 0, !r.packs);
    if (door_sides_ready(&s))
        s.status = nbcoll_reduce_scatter(s.send.data, s.recv.data, nbcoll_ints(counts), r.type, r.op, WAITED);
    s.recv.of.count = mine; /* behind the result nothing changes */
    return door_sides_end(&s, comm, DOOR_Reduce_scatter);
}

int MPI_Reduce_scatter_block(const void *send, void *recv, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm)
{
    door_reduction r;
    nbcoll_comm *ours = serves(comm, DOOR_Reduce_scatter_block, &r, count, type, op);
    if (!ours)
        return PMPI_Reduce_scatter_block(send, recv, count, type, op, comm);
    int n = nbcoll_comm_size(ours);
    door_sides s;
    door_sides_open(&s, BLOCKS(send, n, count, type), BLOCKS(recv, send == MPI_IN_PLACE ? n : 1, count, type), -1,
                    !r.packs);
    if (door_sides_ready(&s))
        s.status = nbcoll_reduce_scatter_block(s.send.data, s.recv.data, (size_t)count, r.type, r.op, WAITED);
    s.recv.of.n = 1;
    return door_sides_end(&s, comm, DOOR_Reduce_scatter_block);
}
