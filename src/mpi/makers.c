/* SPDX-License-Identifier: BSD-3-Clause
 * What makes communicators decides at once whether nbcoll serves them: a nonblocking collective, which must not wait,
 * may be the first call on one. MPI_Comm_idup must not wait either. A communicator that some member makes with the info
 * key `nbcoll` = `off` passes, and so do its duplicates: MPI_Comm_idup copies that as an attribute. */
#include "door.h"

static bool is_off(MPI_Comm comm)
{
    door_state *state;
    return door_comm(comm, false, &state) == DOOR_FATE_OFF;
}

#define MAKES(name, parameters, arguments, off)                                                                        \
    int MPI_##name(parameters, MPI_Comm *made)                                                                         \
    {                                                                                                                  \
        int error = PMPI_##name(arguments, made);                                                                      \
        if (error == MPI_SUCCESS)                                                                                      \
            door_comm_made(*made, off);                                                                                \
        return error;                                                                                                  \
    }

MAKES(Comm_dup, P(MPI_Comm comm), comm, is_off(comm))
MAKES(Comm_dup_with_info, P(MPI_Comm comm, MPI_Info info), P(comm, info), door_info_off(info))
MAKES(Comm_create, P(MPI_Comm comm, MPI_Group group), P(comm, group), false)
MAKES(Comm_create_group, P(MPI_Comm comm, MPI_Group group, int tag), P(comm, group, tag), false)
MAKES(Comm_split, P(MPI_Comm comm, int color, int key), P(comm, color, key), false)
MAKES(Comm_split_type, P(MPI_Comm comm, int type, int key, MPI_Info info), P(comm, type, key, info),
      door_info_off(info))
MAKES(Intercomm_merge, P(MPI_Comm comm, int high), P(comm, high), false)
MAKES(Cart_create, P(MPI_Comm comm, int n, const int dims[], const int periods[], int reorder),
      P(comm, n, dims, periods, reorder), false)
MAKES(Cart_sub, P(MPI_Comm comm, const int remain[]), P(comm, remain), false)
MAKES(Graph_create, P(MPI_Comm comm, int n, const int index[], const int edges[], int reorder),
      P(comm, n, index, edges, reorder), false)
MAKES(Dist_graph_create,
      P(MPI_Comm comm, int n, const int sources[], const int degrees[], const int destinations[], const int weights[],
        MPI_Info info, int reorder),
      P(comm, n, sources, degrees, destinations, weights, info, reorder), door_info_off(info))
MAKES(Dist_graph_create_adjacent,
      P(MPI_Comm comm, int sources, const int from[], const int from_weights[], int destinations, const int to[],
        const int to_weights[], MPI_Info info, int reorder),
      P(comm, sources, from, from_weights, destinations, to, to_weights, info, reorder), door_info_off(info))
