/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Neighbourhood collectives: each rank exchanges blocks with a few others, its neighbours, in one operation. Who they
 * are is said once, as a graph or as a grid.
 *
 * The halo of a field over a grid of ranks, again and again: rows and columns as host types, each at its place
 *
 *     nbcoll_neighbor_grid grid = {.size = sizeof grid, .dims = 2, .extent = (int[]){4, 2}, .periodic = (int[]){1, 0}};
 *     nbcoll_neighbors *around;                         above, below, left, right
 *     nbcoll_neighbors_of_grid(comm, &grid, &around, NBCOLL_FOREVER);
 *     nbcoll_neighbor_alltoallw_init(field, ones, inner, types, field, ones, outer, types, around, &halo);
 *     for (...) {
 *         nbcoll_start(&halo);
 *         compute_inside(field);
 *         nbcoll_wait(&halo, NBCOLL_FOREVER);
 *         compute_edges(field);
 *     }
 *     nbcoll_request_free(&halo);
 *     nbcoll_neighbors_free(around);
 *
 * Irregular neighbours, as a partitioned mesh has them: those that this rank receives from, and those that it sends to
 *
 *     nbcoll_neighbor_graph graph = {.size = sizeof graph, .sources = n, .source = owners, .destinations = m,
 *                                    .destination = users};
 *     nbcoll_neighbors_of_graph(comm, &graph, &mesh, NBCOLL_FOREVER);
 *     nbcoll_neighbor_alltoallv(shared, give, give_at, ghosts, take, take_at, NBCOLL_DOUBLE, mesh, NBCOLL_FOREVER);
 *
 * All 26 neighbours of a cube: the offsets name them
 *
 *     int offset[26][3] = {{-1, -1, -1}, ... {1, 1, 1}};
 *     nbcoll_neighbor_grid cube = {.size = sizeof cube, .dims = 3, .extent = (int[]){4, 4, 4}, .neighbors = 26,
 *                                  .offset = &offset[0][0], .reorder = 1};
 *     nbcoll_neighbors_of_grid(comm, &cube, &around, NBCOLL_FOREVER);
 *     nbcoll_ineighbor_alltoall(out, in, 1, NBCOLL_DOUBLE, around, &request);
 *
 * A rank may have no neighbours, the same one several times, and itself. Block i of a send buffer goes to destination
 * i; block j of a receive buffer comes from source j. Of several edges from one rank to one other, the n-th in the
 * sender's list of destinations is the n-th in the receiver's list of sources. In a grid offsets tell edges apart: what
 * is sent to offset o comes from offset -o, also where both lead to the same rank.
 *
 * They are operations of the neighbours' own communicator, like all others (nbcoll.h, collectives): all its ranks start
 * them, in one order, and the same requests test, wait, cancel and report. Components:
 * -DNBCOLL_WITH_NEIGHBOR=1, or link nbcoll_neighbor. The core knows nothing of them: they are schedules of a program's
 * own (schedule.h).
 *
 * What an algorithm does with the blocks (src/neighbor):
 *
 *   linear      a message for each edge
 *   peers       a message, or a part of an exposure, for each rank that is a neighbour: its blocks lie in it one behind
 *               the other. Two long ones are exposed apart, more are linear. An allgather sends each rank one block,
 *               however often it is a neighbour
 *   combining   in grids, equal blocks: dimension by dimension, in one message for each distance in that dimension.
 *               26 neighbours of a cube take 6 messages instead of 26 (Traeff, Luebbe, Rougier, Hunold, "Isomorphic,
 *               sparse MPI-like collective communication operations for parallel stencil computations", 2015)
 *
 * All ranks choose the same, by the prices on which the communicator's ranks agreed (select.h): combining where ranks
 * share no memory and its messages cost less, else peers. CHECKED and rules of communicators do not apply, and agents
 * leave these operations to the ranks.
 *
 * Threads: as for the communicator; but of an ANY_THREAD context, too, one thread at a time may be inside calls with
 * the same neighbours.
 */
#include "schedule.h"

#ifndef NBCOLL_NEIGHBOR_H
#define NBCOLL_NEIGHBOR_H

#if defined NBCOLL_WITH_NEIGHBOR && !NBCOLL_WITH_NEIGHBOR
#error "nbcoll/neighbor.h is of the component neighbor: define NBCOLL_WITH_NEIGHBOR=1, or link nbcoll_neighbor"
#endif

NBCOLLI_BEGIN

/* ---- who they are ------------------------------------------------------------------------------------------------ */

/* What a rank knows of its neighbours, on a communicator. */
typedef struct nbcoll_neighbors nbcoll_neighbors;

/* Each rank names its own. The arrays are copied. */
typedef struct nbcoll_neighbor_graph {
    size_t size;
    int sources, destinations; /* how many, from 0 on */
    const int *source;         /* [sources], ranks */
    const int *destination;    /* [destinations] */
    const nbcoll_host *host;   /* for memory; may be null */
} nbcoll_neighbor_graph;

/* Equal on all ranks. Rank 0 is at (0, ..., 0), and the last coordinate runs fastest. The arrays are copied. */
typedef struct nbcoll_neighbor_grid {
    size_t size;
    int dims;            /* 0..NBCOLL_NEIGHBOR_DIMS */
    const int *extent;   /* [dims]; their product is the number of ranks */
    const int *periodic; /* [dims]: 1 where the last one is next to the first; null: nowhere */
    int neighbors;       /* how many offsets; with a null `offset` as many as dims asks for */
    const int *offset;   /* [neighbors][dims], which with each offset have its opposite, as often. Null: for each
                            dimension -1, then +1, as MPI has them */
    int reorder;         /* 1: the places are dealt so that ranks of a node are neighbours, as far as the nodes have as
                            many ranks, and these fill a brick of the grid */
    const nbcoll_host *host; /* for memory; may be null */
} nbcoll_neighbor_grid;

#define NBCOLL_NEIGHBOR_DIMS 8
#define NBCOLL_NEIGHBOR_OFFSETS_MOST 1024
#define NBCOLL_NEIGHBORS_MOST 65536 /* of a rank, in each list of a graph */

/* Make neighbours, with a communicator of their own that has the configuration of `comm`. Collective: all ranks of
 * `comm` call one of them, the same, with or without `reorder`; it is one operation of `comm`, a split. Errors at the
 * call: ERR_NULL, ERR_CONFIG (a size), ERR_RANK (a neighbour outside the communicator; extents whose product is not the
 * number of ranks), ERR_ARGUMENT (a negative number; more dimensions; an offset without its opposite), ERR_LIMIT (more
 * neighbours). On all ranks together: ERR_MISMATCH (a rank names another as destination more or fewer times than that
 * names it as source; grids differ), ERR_MEMORY (a rank has none for its part), and what splits and allreduces return.
 * If a rank fails after others have ended well, their operations with these neighbours end with ERR_CANCELLED,
 * ERR_PEER_LOST or ERR_MISMATCH. So does the making of a graph, if a rank fails after the split. `comm` stays usable.
 */
NBCOLL_API nbcoll_status nbcoll_neighbors_of_graph(nbcoll_comm *comm, const nbcoll_neighbor_graph *graph,
                                                   nbcoll_neighbors **out, uint64_t timeout);
NBCOLL_API nbcoll_status nbcoll_neighbors_of_grid(nbcoll_comm *comm, const nbcoll_neighbor_grid *grid,
                                                  nbcoll_neighbors **out, uint64_t timeout);

typedef struct nbcoll_neighborhood {
    size_t size;
    nbcoll_comm *comm;               /* whose ranks these are; it ends with the neighbours */
    int sources, destinations;       /* in grids both are the neighbours */
    const int *source, *destination; /* in grids -1, where there is none: the block there is neither read nor written */
    int dims;                        /* 0 for a graph */
    const int *coordinate;           /* [dims], of this rank */
} nbcoll_neighborhood;

/* Set out->size before. What it points to lives as long as the neighbours. Errors: ERR_NULL, ERR_CONFIG (out->size). */
NBCOLL_API nbcoll_status nbcoll_neighbors_query(const nbcoll_neighbors *neighbors, nbcoll_neighborhood *out);

/* Frees them; not collective. Before the context. Null is accepted. Errors: ERR_BUSY (a request of theirs is active, or
 * persistent and not freed), ERR_FORKED. */
NBCOLL_API nbcoll_status nbcoll_neighbors_free(nbcoll_neighbors *neighbors);

/* ---- the collectives --------------------------------------------------------------------------------------------- */

/* In the three forms of all collectives (nbcoll.h). Counts and displacements are in elements of `type`, in alltoallw
 * displacements are in bytes. There is no form in place.
 *
 * Arrays of counts, displacements and types, and descriptors of types, are copied: they need not outlive the call. A
 * call that equals one of the last 16 apart from its buffers finds its schedule; so count arrays that change in each
 * call cost as much as building one.
 *
 * Blocks that a rank receives do not overlap each other nor what it sends. Blocks that it sends may overlap.
 *
 * Errors at the call: ERR_NULL (neighbours, request, or an array with elements), ERR_BUFFER (null, or NBCOLL_IN_PLACE;
 * receive blocks that overlap; in allgather and alltoall also send and receive buffers that do), ERR_TYPE, ERR_COUNT
 * (bytes overflow; what a rank sends to itself is not as long as what it receives; in allgatherv, blocks of one source
 * that differ in length), and those of nbcoll_schedule_start. Blocks whose two ends differ in length on different ranks
 * end the operation with ERR_MISMATCH, as do different operations. */

/* Every rank gets the block of each of its sources: `count` elements, on all ranks as many bytes. */
NBCOLL_API nbcoll_status nbcoll_ineighbor_allgather(const void *send, void *recv, size_t count, nbcoll_type type,
                                                    nbcoll_neighbors *neighbors, nbcoll_request *request);
NBCOLL_API nbcoll_status nbcoll_neighbor_allgather_init(const void *send, void *recv, size_t count, nbcoll_type type,
                                                        nbcoll_neighbors *neighbors, nbcoll_request *request);
NBCOLL_API nbcoll_status nbcoll_neighbor_allgather(const void *send, void *recv, size_t count, nbcoll_type type,
                                                   nbcoll_neighbors *neighbors, uint64_t timeout);

/* The same with blocks of different lengths: this rank's has `count` elements; that of source j, counts[j]. */
NBCOLL_API nbcoll_status nbcoll_ineighbor_allgatherv(const void *send, size_t count, void *recv, const size_t counts[],
                                                     const size_t displs[], nbcoll_type type,
                                                     nbcoll_neighbors *neighbors, nbcoll_request *request);
NBCOLL_API nbcoll_status nbcoll_neighbor_allgatherv_init(const void *send, size_t count, void *recv,
                                                         const size_t counts[], const size_t displs[], nbcoll_type type,
                                                         nbcoll_neighbors *neighbors, nbcoll_request *request);
NBCOLL_API nbcoll_status nbcoll_neighbor_allgatherv(const void *send, size_t count, void *recv, const size_t counts[],
                                                    const size_t displs[], nbcoll_type type,
                                                    nbcoll_neighbors *neighbors, uint64_t timeout);

/* Every rank sends another block to each destination. Blocks of `count` elements, on all ranks as many bytes, lie one
 * behind the other. */
NBCOLL_API nbcoll_status nbcoll_ineighbor_alltoall(const void *send, void *recv, size_t count, nbcoll_type type,
                                                   nbcoll_neighbors *neighbors, nbcoll_request *request);
NBCOLL_API nbcoll_status nbcoll_neighbor_alltoall_init(const void *send, void *recv, size_t count, nbcoll_type type,
                                                       nbcoll_neighbors *neighbors, nbcoll_request *request);
NBCOLL_API nbcoll_status nbcoll_neighbor_alltoall(const void *send, void *recv, size_t count, nbcoll_type type,
                                                  nbcoll_neighbors *neighbors, uint64_t timeout);

NBCOLL_API nbcoll_status nbcoll_ineighbor_alltoallv(const void *send, const size_t send_counts[],
                                                    const size_t send_displs[], void *recv, const size_t recv_counts[],
                                                    const size_t recv_displs[], nbcoll_type type,
                                                    nbcoll_neighbors *neighbors, nbcoll_request *request);
NBCOLL_API nbcoll_status nbcoll_neighbor_alltoallv_init(const void *send, const size_t send_counts[],
                                                        const size_t send_displs[], void *recv,
                                                        const size_t recv_counts[], const size_t recv_displs[],
                                                        nbcoll_type type, nbcoll_neighbors *neighbors,
                                                        nbcoll_request *request);
NBCOLL_API nbcoll_status nbcoll_neighbor_alltoallv(const void *send, const size_t send_counts[],
                                                   const size_t send_displs[], void *recv, const size_t recv_counts[],
                                                   const size_t recv_displs[], nbcoll_type type,
                                                   nbcoll_neighbors *neighbors, uint64_t timeout);

/* With a type for each block. Both ends of a block need the same bytes, packed ones where a type packs. */
NBCOLL_API nbcoll_status nbcoll_ineighbor_alltoallw(const void *send, const size_t send_counts[],
                                                    const size_t send_displs[], const nbcoll_type send_types[],
                                                    void *recv, const size_t recv_counts[], const size_t recv_displs[],
                                                    const nbcoll_type recv_types[], nbcoll_neighbors *neighbors,
                                                    nbcoll_request *request);
NBCOLL_API nbcoll_status nbcoll_neighbor_alltoallw_init(const void *send, const size_t send_counts[],
                                                        const size_t send_displs[], const nbcoll_type send_types[],
                                                        void *recv, const size_t recv_counts[],
                                                        const size_t recv_displs[], const nbcoll_type recv_types[],
                                                        nbcoll_neighbors *neighbors, nbcoll_request *request);
NBCOLL_API nbcoll_status nbcoll_neighbor_alltoallw(const void *send, const size_t send_counts[],
                                                   const size_t send_displs[], const nbcoll_type send_types[],
                                                   void *recv, const size_t recv_counts[], const size_t recv_displs[],
                                                   const nbcoll_type recv_types[], nbcoll_neighbors *neighbors,
                                                   uint64_t timeout);

NBCOLLI_END
#endif
