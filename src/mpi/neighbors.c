/* SPDX-License-Identifier: BSD-3-Clause
 * The neighbourhood collectives: which neighbours a communicator's topology has, and the calls. */
#include "operation.h"

/* Null: nbcoll has no such grid, or this rank could not. */
static nbcoll_neighbors *of_grid(MPI_Comm comm, nbcoll_comm *ours)
{
    enum { DIMS = NBCOLL_NEIGHBOR_DIMS };
    int n = 0, extent[DIMS], periodic[DIMS], at[DIMS];
    nbcoll_neighbors *out = NULL;
    nbcoll_neighbor_grid grid = {.size = sizeof grid, .extent = extent, .periodic = periodic};
    PMPI_Cartdim_get(comm, &n);
    if (n > DIMS || PMPI_Cart_get(comm, n, extent, periodic, at) != MPI_SUCCESS) /* which all see alike */
        return NULL;
    for (int i = 0; i < n; i++)
        periodic[i] = periodic[i] != 0;
    grid.dims = n;
    nbcoll_neighbors_of_grid(ours, &grid, &out, NBCOLL_FOREVER);
    return out;
}

/* The neighbours of a graph: *from, which is to be freed, and *to in it. False: no memory. */
static bool read_graph(MPI_Comm comm, nbcoll_neighbor_graph *graph, int **from)
{
    int topology = MPI_UNDEFINED, rank, weighted, *to;
    PMPI_Topo_test(comm, &topology);
    PMPI_Comm_rank(comm, &rank);
    if (topology == MPI_GRAPH) {
        PMPI_Graph_neighbors_count(comm, rank, &graph->sources);
        graph->destinations = graph->sources;
    } else {
        PMPI_Dist_graph_neighbors_count(comm, &graph->sources, &graph->destinations, &weighted);
    }
    size_t n = (size_t)graph->sources, m = (size_t)graph->destinations;
    *from = malloc((2 * (n + m) + 1) * sizeof **from);
    if (!*from)
        return false;
    to = topology == MPI_GRAPH ? *from : *from + n;
    graph->source = *from;
    graph->destination = to;
    if (topology == MPI_GRAPH)
        return PMPI_Graph_neighbors(comm, rank, (int)n, *from) == MPI_SUCCESS;
    return PMPI_Dist_graph_neighbors(comm, (int)n, *from, to + m, (int)m, to, to + m + n) == MPI_SUCCESS;
}

nbcoll_neighbors *door_neighbors(MPI_Comm comm, nbcoll_comm *ours)
{
    int topology = MPI_UNDEFINED, *from = NULL;
    nbcoll_neighbors *out = NULL;
    nbcoll_neighbor_graph graph = {.size = sizeof graph};
    PMPI_Topo_test(comm, &topology);
    if (topology == MPI_CART) {
        out = of_grid(comm, ours);
    } else if (door_all(comm, read_graph(comm, &graph, &from))) {
        nbcoll_neighbors_of_graph(ours, &graph, &out, NBCOLL_FOREVER);
    }
    free(from);
    if (door_all(comm, out))
        return out;
    nbcoll_neighbors_free(out);
    return NULL;
}

/* Whether the communicator has neighbours; who they are. A grid is connected, so where all of a rank's blocks have so
 * many bytes those of all ranks have. */
DOOR_INLINE bool serves(door_operation *o, MPI_Comm comm, nbcoll_neighborhood *around, size_t bytes)
{
    door_state *state = NULL;
    *around = (nbcoll_neighborhood){.size = sizeof *around};
    if (comm != MPI_COMM_NULL && door_comm(comm, o->form != DOOR_NONBLOCKING, &state) == DOOR_FATE_SERVED &&
        nbcoll_neighbors_query(state->neighbors, around) != NBCOLL_OK)
        state = NULL;
    if (!door_serves(o, comm, around->dims > 0 ? bytes : DOOR_ANY))
        return false;
    if (state)
        return true;
    door_count(o, DOOR_FATE_NEIGHBORS);
    return false;
}

/* What is in place for other collectives is an error here. In a graph that is not connected the blocks of some ranks
 * may be longer than those of others, so each is described. With a null `send` there is `own` instead, for all. */
DOOR_INLINE bool exchange(door_operation *o, const nbcoll_neighborhood *around, const door_blocks *own,
                          const door_blocks *send, const door_blocks *recv)
{
    door_blocks from = own ? *own : *send, to = *recv;
    if (from.user == MPI_IN_PLACE || to.user == MPI_IN_PLACE || (from.counts && door_bad_vector(&from)) ||
        (to.counts && door_bad_vector(&to)))
        return false;
    from.peers = own ? NULL : around->destination;
    to.peers = around->source;
    to.is_listed = around->dims == 0;
    from.is_listed = to.is_listed && !own;
    door_sides(o, &from, &to, -1, false);
    return true;
}

DOOR_INLINE bool allgather(door_operation *o, const void *send, int send_count, MPI_Datatype send_type, void *recv,
                           int recv_count, MPI_Datatype recv_type, MPI_Comm comm)
{
    nbcoll_neighborhood around;
    return !door_bad(send_count, send_type) && !door_bad(recv_count, recv_type) &&
           serves(o, comm, &around, door_bytes(recv_count, recv_type)) &&
           exchange(o, &around, BLOCKS(send, 1, send_count, send_type), NULL,
                    BLOCKS(recv, around.sources, recv_count, recv_type));
}

DOOR_FORMS(Neighbor_allgather, neighbor_allgather, allgather,
           P(const void *send, int send_count, MPI_Datatype send_type, void *recv, int recv_count,
             MPI_Datatype recv_type, MPI_Comm comm),
           P(send, send_count, send_type, recv, recv_count, recv_type, comm))

DOOR_INLINE bool allgatherv(door_operation *o, const void *send, int send_count, MPI_Datatype send_type, void *recv,
                            const int counts[], const int displs[], MPI_Datatype recv_type, MPI_Comm comm)
{
    nbcoll_neighborhood around;
    return !door_bad(send_count, send_type) && serves(o, comm, &around, DOOR_ANY) &&
           exchange(o, &around, BLOCKS(send, 1, send_count, send_type), NULL,
                    VECTOR(recv, around.sources, counts, displs, recv_type));
}

DOOR_FORMS(Neighbor_allgatherv, neighbor_allgatherv, allgatherv,
           P(const void *send, int send_count, MPI_Datatype send_type, void *recv, const int counts[],
             const int displs[], MPI_Datatype recv_type, MPI_Comm comm),
           P(send, send_count, send_type, recv, counts, displs, recv_type, comm))

DOOR_INLINE bool alltoall(door_operation *o, const void *send, int send_count, MPI_Datatype send_type, void *recv,
                          int recv_count, MPI_Datatype recv_type, MPI_Comm comm)
{
    nbcoll_neighborhood around;
    return !door_bad(send_count, send_type) && !door_bad(recv_count, recv_type) &&
           serves(o, comm, &around, door_bytes(recv_count, recv_type)) &&
           exchange(o, &around, NULL, BLOCKS(send, around.destinations, send_count, send_type),
                    BLOCKS(recv, around.sources, recv_count, recv_type));
}

DOOR_FORMS(Neighbor_alltoall, neighbor_alltoall, alltoall,
           P(const void *send, int send_count, MPI_Datatype send_type, void *recv, int recv_count,
             MPI_Datatype recv_type, MPI_Comm comm),
           P(send, send_count, send_type, recv, recv_count, recv_type, comm))

DOOR_INLINE bool alltoallv(door_operation *o, const void *send, const int send_counts[], const int send_displs[],
                           MPI_Datatype send_type, void *recv, const int recv_counts[], const int recv_displs[],
                           MPI_Datatype recv_type, MPI_Comm comm)
{
    nbcoll_neighborhood around;
    return serves(o, comm, &around, DOOR_ANY) &&
           exchange(o, &around, NULL, VECTOR(send, around.destinations, send_counts, send_displs, send_type),
                    VECTOR(recv, around.sources, recv_counts, recv_displs, recv_type));
}

DOOR_FORMS(Neighbor_alltoallv, neighbor_alltoallv, alltoallv,
           P(const void *send, const int send_counts[], const int send_displs[], MPI_Datatype send_type, void *recv,
             const int recv_counts[], const int recv_displs[], MPI_Datatype recv_type, MPI_Comm comm),
           P(send, send_counts, send_displs, send_type, recv, recv_counts, recv_displs, recv_type, comm))

DOOR_INLINE bool alltoallw(door_operation *o, const void *send, const int send_counts[], const MPI_Aint send_displs[],
                           const MPI_Datatype send_types[], void *recv, const int recv_counts[],
                           const MPI_Aint recv_displs[], const MPI_Datatype recv_types[], MPI_Comm comm)
{
    nbcoll_neighborhood around;
    return serves(o, comm, &around, DOOR_ANY) && exchange(o, &around, NULL,
                                                          &(door_blocks){.user = send,
                                                                         .n = around.destinations,
                                                                         .counts = send_counts,
                                                                         .places = send_displs,
                                                                         .types = send_types},
                                                          &(door_blocks){.user = recv,
                                                                         .n = around.sources,
                                                                         .counts = recv_counts,
                                                                         .places = recv_displs,
                                                                         .types = recv_types});
}

DOOR_FORMS(Neighbor_alltoallw, neighbor_alltoallw, alltoallw,
           P(const void *send, const int send_counts[], const MPI_Aint send_displs[], const MPI_Datatype send_types[],
             void *recv, const int recv_counts[], const MPI_Aint recv_displs[], const MPI_Datatype recv_types[],
             MPI_Comm comm),
           P(send, send_counts, send_displs, send_types, recv, recv_counts, recv_displs, recv_types, comm))
