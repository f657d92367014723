/* SPDX-License-Identifier: BSD-3-Clause
 * Neighbours: what a rank knows of them, a call, and the algorithms. These build from the first two alone, so that the
 * verifier can have all ranks' schedules without a communicator. */
#ifndef NBCOLLI_NEIGHBOR_H
#define NBCOLLI_NEIGHBOR_H

#include "nbcoll/neighbor.h"
#include "../reduce/reduce.h"
#include "nbcoll/select.h"

/* The ends of edges at one rank. */
typedef struct nbcolli_ends {
    int count;
    int *peer;   /* [count], -1: none */
    int *sorted; /* [count]: their numbers by peer, the next rank first and this one last; those of one peer in the
                    order of its edges, which is the same at both ends. Those of none are behind all */
} nbcolli_ends;

/* A rank's neighbours. */
typedef struct nbcolli_around {
    int rank, ranks;
    nbcolli_ends out, in;
    int dims; /* of a grid, with extents below; 0 for a graph */
    int extent[NBCOLL_NEIGHBOR_DIMS], periodic[NBCOLL_NEIGHBOR_DIMS], coordinate[NBCOLL_NEIGHBOR_DIMS];
    int *offset;          /* [out.count][dims] */
    int *opposite;        /* [out.count]: what goes to offset i comes in at opposite[i] there */
    uint32_t fingerprint; /* equal on all ranks */
} nbcolli_around;

/* around.c: null where there is no memory. */
nbcolli_around *nbcolli_around_open(const nbcoll_host *host, int rank, int ranks, int outs, int ins, int dims);
void nbcolli_around_close(const nbcoll_host *host, nbcolli_around *a);
/* Fills both `sorted`: the end of making one, which is closed where there is no memory. */
nbcoll_status nbcolli_around_sort(const nbcoll_host *host, nbcolli_around *a, nbcolli_around **out);

/* grid.c: the rank at a place, or -1. A grid that is right, for one of its ranks. */
int nbcolli_grid_rank(const nbcolli_around *a, const int coordinate[]);
/* How far offset i goes in dimension k; in a periodic one, from 0 up. */
int nbcolli_grid_way(const nbcolli_around *a, int i, int k);
uint64_t nbcolli_grid_hash(const nbcolli_around *a);
nbcoll_status nbcolli_grid_check(const nbcoll_neighbor_grid *grid, int ranks);
nbcoll_status nbcolli_grid_open(const nbcoll_neighbor_grid *grid, const nbcoll_host *host, int rank, int ranks,
                                nbcolli_around **out);
/* graph.c: */
nbcoll_status nbcolli_graph_check(const nbcoll_neighbor_graph *graph, int ranks);
nbcoll_status nbcolli_graph_open(const nbcoll_neighbor_graph *graph, const nbcoll_host *host, int rank, int ranks,
                                 nbcolli_around **out);

/* reorder.c: the place of `rank` in a grid whose places are dealt by nodes. */
int nbcolli_grid_place(const nbcoll_neighbor_grid *grid, const nbcoll_nodes *nodes, int rank);

/* ---- calls ------------------------------------------------------------------------------------------------------- */

typedef enum nbcolli_neighbor_kind {
    NBCOLLI_NEIGHBOR_ALLGATHER,
    NBCOLLI_NEIGHBOR_ALLGATHERV,
    NBCOLLI_NEIGHBOR_ALLTOALL,
    NBCOLLI_NEIGHBOR_ALLTOALLV,
    NBCOLLI_NEIGHBOR_ALLTOALLW,
    NBCOLLI_NEIGHBOR_KINDS
} nbcolli_neighbor_kind;

/* Blocks in a buffer: of equal length one behind the other where `counts` is null; `displs` are bytes if there are
 * `types`. */
typedef struct nbcolli_blocks_side {
    const size_t *counts, *displs;
    const nbcoll_type *types;
    size_t count;
    nbcoll_type type;
} nbcolli_blocks_side;

typedef struct nbcolli_neighbor_call {
    nbcolli_neighbor_kind kind;
    nbcolli_blocks_side side[2]; /* what is sent; what is received */
} nbcolli_neighbor_call;

static inline int nbcolli_gathers(const nbcolli_neighbor_call *c)
{
    return c->kind <= NBCOLLI_NEIGHBOR_ALLGATHERV;
}

static inline size_t nbcolli_count_at(const nbcolli_blocks_side *s, int i)
{
    return nbcolli_number_or(s->counts, (size_t)i, s->count);
}

/* The type of a block without elements is not read. */
static inline nbcoll_type nbcolli_edge_type(const nbcolli_blocks_side *s, int i)
{
    if (!nbcolli_count_at(s, i))
        return NBCOLL_BYTE;
    return s->types ? s->types[i] : s->type;
}

/* check.c: all that can be said at the call; */
nbcoll_status nbcolli_neighbor_check(const nbcolli_around *a, const nbcolli_neighbor_call *c);
/* fails the builder where blocks that this rank receives overlap, but for types that pack: these may lie between each
 * other. */
void nbcolli_neighbor_check_apart(nbcoll_builder *b, const nbcolli_around *a, const nbcolli_neighbor_call *c);
/* Where block i lies in the caller's buffer. */
nbcoll_region nbcolli_edge_at(const nbcolli_blocks_side *s, nbcoll_buffer buffer, int i);

/* ---- building ---------------------------------------------------------------------------------------------------- */

/* The bytes of an edge at one end, packed ones, and when they are there: those that leave, from the beginning on; those
 * that come, after what the algorithm has set. */
typedef struct nbcolli_edge {
    nbcoll_region at;
    nbcoll_step there;
} nbcolli_edge;

typedef struct nbcolli_exchange {
    const nbcolli_around *around;
    nbcolli_edge *out, *in;
    int gathers;   /* what leaves is one block */
    size_t bytes;  /* of each block, where all are equal */
    size_t joined; /* so many bytes of several blocks for one rank at most are put together */
    size_t sent;   /* so many for one rank, or less, are rather a message than exposed, unless cells hold them */
    int pairs;     /* two blocks for one rank that are not put together are exposed, each in another exposure */
} nbcolli_exchange;

#define NBCOLLI_NEIGHBOR_CELL 80 /* bytes in a cell */

typedef void nbcolli_neighbor_algorithm(nbcoll_builder *b, nbcolli_exchange *x);
nbcolli_neighbor_algorithm nbcolli_neighbor_peers, nbcolli_neighbor_combining;

/* linear.c: the edges of one peer, of which `sorted` has `n`. */
void nbcolli_linear_out(nbcoll_builder *b, nbcolli_exchange *x, const int sorted[], int n);
void nbcolli_linear_in(nbcoll_builder *b, nbcolli_exchange *x, const int sorted[], int n);
/* What the rank has for itself. */
void nbcolli_linear_own(nbcoll_builder *b, nbcolli_exchange *x);

/* How many ends from `sorted[from]` on have its peer; none: 0. */
int nbcolli_same_peer(const nbcolli_ends *ends, int from);

/* choose.c: what all ranks choose alike. */
typedef struct nbcolli_neighbor_choice {
    nbcolli_neighbor_algorithm *algorithm;
    size_t joined, sent;
    int pairs;
} nbcolli_neighbor_choice;
nbcolli_neighbor_choice nbcolli_neighbor_choose(const nbcolli_around *a, const nbcolli_neighbor_call *c,
                                                const nbcoll_terms *terms, uint32_t exposures);

/* build.c: the call's types must live as long as the schedule. */
nbcoll_status nbcolli_neighbor_build(const nbcolli_around *a, const nbcolli_neighbor_call *c,
                                     nbcolli_neighbor_choice choice, const nbcoll_builder_config *config,
                                     nbcoll_schedule **out);

#endif
