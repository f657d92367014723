/* SPDX-License-Identifier: BSD-3-Clause
 * The collectives that combine. Each function describes a call; false: the MPI gets it. */
#include <limits.h>

#include "operation.h"

/* The number of ranks that take part in a reduction, 0: it passes. */
DOOR_INLINE int serves(door_operation *o, MPI_Comm comm, int count, MPI_Datatype type, MPI_Op op)
{
    size_t bytes = o->call == DOOR_Reduce_scatter ? DOOR_ANY : door_bytes(count, type);
    int n = door_bad(count, type) || op == MPI_OP_NULL ? 0 : door_serves(o, comm, bytes);
    o->count = (size_t)count;
    if (!n || door_reduction_of(&o->r, type, op))
        return n;
    door_count(o, DOOR_FATE_OPERATION);
    return 0;
}

DOOR_INLINE bool reduce(door_operation *o, const void *send, void *recv, int count, MPI_Datatype type, MPI_Op op,
                        int root, MPI_Comm comm)
{
    int n = serves(o, comm, count, type, op);
    if (root < 0 || root >= n)
        return false;
    o->root = root;
    door_sides(o, BLOCKS(send, 1, count, type), nbcoll_comm_rank(o->ours) == root ? BLOCKS(recv, 1, count, type) : NULL,
               0, !o->r.packs);
    return true;
}

DOOR_FORMS(Reduce, reduce, reduce,
           P(const void *send, void *recv, int count, MPI_Datatype type, MPI_Op op, int root, MPI_Comm comm),
           P(send, recv, count, type, op, root, comm))

/* One without a root whose result is as long as what each rank sends. */
DOOR_INLINE bool combine(door_operation *o, const void *send, void *recv, int count, MPI_Datatype type, MPI_Op op,
                         MPI_Comm comm)
{
    if (!serves(o, comm, count, type, op))
        return false;
    bool receives = o->call != DOOR_Exscan || send == MPI_IN_PLACE || nbcoll_comm_rank(o->ours) > 0;
    door_sides(o, BLOCKS(send, 1, count, type), receives ? BLOCKS(recv, 1, count, type) : NULL, 0, !o->r.packs);
    return true;
}

DOOR_FORMS(Allreduce, allreduce, combine,
           P(const void *send, void *recv, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm),
           P(send, recv, count, type, op, comm))
DOOR_FORMS(Scan, scan, combine, P(const void *send, void *recv, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm),
           P(send, recv, count, type, op, comm))
DOOR_FORMS(Exscan, exscan, combine,
           P(const void *send, void *recv, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm),
           P(send, recv, count, type, op, comm))

/* In place, packed operands need no place in common with the result. So nothing is unpacked behind that. */
DOOR_INLINE void scattered(door_operation *o, const void *send, void *recv, int n, int count, int mine,
                           MPI_Datatype type)
{
    const void *from = send == MPI_IN_PLACE && o->r.packs ? recv : send;
    door_sides(o, BLOCKS(from, n, count, type), BLOCKS(recv, 1, mine, type), -1, !o->r.packs);
}

DOOR_INLINE bool reduce_scatter(door_operation *o, const void *send, void *recv, const int counts[], MPI_Datatype type,
                                MPI_Op op, MPI_Comm comm)
{
    int n = serves(o, comm, 0, type, op);
    long long total = 0;
    if (!n || door_any_bad(n, counts, type))
        return false;
    for (int i = 0; i < n; i++)
        total += counts[i];
    if (total > INT_MAX) {
        door_count(o, DOOR_FATE_OPERATION);
        return false;
    }
    o->counts = counts;
    scattered(o, send, recv, 1, (int)total, counts[nbcoll_comm_rank(o->ours)], type);
    return true;
}

DOOR_FORMS(Reduce_scatter, reduce_scatter, reduce_scatter,
           P(const void *send, void *recv, const int counts[], MPI_Datatype type, MPI_Op op, MPI_Comm comm),
           P(send, recv, counts, type, op, comm))

DOOR_INLINE bool reduce_scatter_block(door_operation *o, const void *send, void *recv, int count, MPI_Datatype type,
                                      MPI_Op op, MPI_Comm comm)
{
    int n = serves(o, comm, count, type, op);
    if (n)
        scattered(o, send, recv, n, count, count, type);
    return n;
}

DOOR_FORMS(Reduce_scatter_block, reduce_scatter_block, reduce_scatter_block,
           P(const void *send, void *recv, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm),
           P(send, recv, count, type, op, comm))
