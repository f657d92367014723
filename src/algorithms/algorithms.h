/* SPDX-License-Identifier: BSD-3-Clause
 * What the algorithms share: their names, and what several of them do. Whatever they build they build by the public
 * calls. */
#ifndef NBCOLLI_ALGORITHMS_H
#define NBCOLLI_ALGORITHMS_H

#include "nbcoll/pattern.h"
#include "nbcoll/schedule.h"

nbcoll_build nbcolli_allgather_binomial, nbcolli_allgather_bruck, nbcolli_allgather_bruck_pipelined,
    nbcolli_allgather_bruck_ports, nbcolli_allgather_cayley, nbcolli_allgather_exchange,
    nbcolli_allgather_exchange_pipelined, nbcolli_allgather_flat, nbcolli_allgather_gather_bcast,
    nbcolli_allgather_hierarchical, nbcolli_allgather_hierarchical_groups, nbcolli_allgather_recursive_doubling,
    nbcolli_allgather_ring, nbcolli_allgather_ring_sequential, nbcolli_allgather_slots, nbcolli_allgather_two_roots,
    nbcolli_allreduce_binomial, nbcolli_allreduce_groups, nbcolli_allreduce_halving, nbcolli_allreduce_hierarchical,
    nbcolli_allreduce_hierarchical_domains, nbcolli_allreduce_hierarchical_ordered,
    nbcolli_allreduce_recursive_doubling, nbcolli_allreduce_recursive_doubling_sequential,
    nbcolli_allreduce_reduce_bcast, nbcolli_allreduce_ring, nbcolli_allreduce_slots, nbcolli_allreduce_slots_owners,
    nbcolli_allreduce_two_roots, nbcolli_alltoall_bruck, nbcolli_alltoall_flat, nbcolli_alltoall_flat_sequential,
    nbcolli_alltoall_flat_sequential_receives, nbcolli_alltoall_flat_sequential_sends, nbcolli_alltoall_hierarchical,
    nbcolli_alltoall_pairwise, nbcolli_alltoall_slots, nbcolli_barrier_binomial, nbcolli_barrier_dissemination,
    nbcolli_barrier_dissemination_ports, nbcolli_barrier_gather_bcast, nbcolli_barrier_hierarchical,
    nbcolli_barrier_hierarchical_domains, nbcolli_barrier_recursive_doubling, nbcolli_barrier_slots,
    nbcolli_barrier_two_roots, nbcolli_bcast_binomial, nbcolli_bcast_chain_pipelined, nbcolli_bcast_flat,
    nbcolli_bcast_flat_sequential, nbcolli_bcast_hierarchical, nbcolli_bcast_hierarchical_domains,
    nbcolli_bcast_scatter_ring, nbcolli_bcast_slots, nbcolli_bcast_slots_chain, nbcolli_bcast_spanning_tree,
    nbcolli_bcast_tree, nbcolli_bcast_tree_pipelined, nbcolli_combine_flat, nbcolli_combine_flat_sequential,
    nbcolli_exscan_linear, nbcolli_gather_binomial, nbcolli_gather_flat, nbcolli_gather_flat_sequential,
    nbcolli_gather_hierarchical, nbcolli_gather_slots, nbcolli_gather_spanning_tree, nbcolli_reduce_binomial,
    nbcolli_reduce_hierarchical, nbcolli_reduce_hierarchical_domains, nbcolli_reduce_hierarchical_ordered,
    nbcolli_reduce_pairwise, nbcolli_reduce_scatter_binomial, nbcolli_reduce_scatter_halving,
    nbcolli_reduce_scatter_halving_sequential, nbcolli_reduce_scatter_hierarchical,
    nbcolli_reduce_scatter_hierarchical_ordered, nbcolli_reduce_scatter_owners, nbcolli_reduce_scatter_ring,
    nbcolli_reduce_scatter_ring_sequential, nbcolli_reduce_slots, nbcolli_reduce_spanning_tree,
    nbcolli_scan_hierarchical, nbcolli_scan_linear, nbcolli_scan_recursive_doubling, nbcolli_scatter_binomial,
    nbcolli_scatter_flat, nbcolli_scatter_flat_sequential, nbcolli_scatter_hierarchical, nbcolli_scatter_slots,
    nbcolli_scatter_spanning_tree;

/* Block i of a vector that is cut into a block for each rank. */
nbcoll_region nbcolli_vector_block(const nbcoll_builder *b, const nbcoll_args *a, nbcoll_addr vector, int i);

/* The bytes of so many blocks, from that of rank `first` on, and behind the last rank's from that of rank 0. */
size_t nbcolli_blocks_bytes(const nbcoll_builder *b, const nbcoll_args *a, int first, int blocks);

/* ---- sums ------------------------------------------------------------------------------------------------------ */

/* What is known of some operands, and since which step. */
typedef struct nbcolli_sum {
    nbcoll_addr at;
    nbcoll_step since;
} nbcolli_sum;

/* Combines two, in this order; and with that of a peer, in rank order. */
nbcolli_sum nbcolli_sum_of(nbcoll_builder *b, const nbcoll_args *a, nbcoll_addr to, size_t bytes, nbcolli_sum left,
                           nbcolli_sum right);
nbcolli_sum nbcolli_sum_with(nbcoll_builder *b, const nbcoll_args *a, nbcoll_addr to, size_t bytes, nbcolli_sum mine,
                             int peer, nbcolli_sum its);

/* Takes what a peer sends; and sends what is known. */
nbcolli_sum nbcolli_sum_take(nbcoll_builder *b, int peer, nbcoll_addr to, size_t bytes);
nbcoll_step nbcolli_sum_give(nbcoll_builder *b, int peer, nbcolli_sum sum, size_t bytes);

/* Fetches the operands of all others to this rank's, those below from the nearest on, then those above. */
nbcoll_step nbcolli_sum_fetch(nbcoll_builder *b, const nbcoll_args *a, nbcoll_addr to, size_t count, nbcoll_step since);

/* ---- blocks on their way to a root, or (no gather) from it ----------------------------------------------------- */

typedef struct nbcolli_rooted {
    nbcoll_builder *b;
    const nbcoll_args *a;
    nbcoll_addr all, own; /* the root's buffer of all blocks; this rank's block */
    int is_gather;
} nbcolli_rooted;

/* A message with a peer, which is nearer to the root, or farther from it; a copy from where blocks are farther from the
 * root to where they are nearer, or back; the order of two steps. */
nbcoll_step nbcolli_rooted_pass(const nbcolli_rooted *p, int peer, int is_nearer, nbcoll_addr at, size_t bytes);
nbcoll_step nbcolli_rooted_copy(const nbcolli_rooted *p, nbcoll_addr farther, nbcoll_addr nearer, size_t bytes);
void nbcolli_rooted_order(const nbcolli_rooted *p, nbcoll_step farther, nbcoll_step nearer);

/* The block of a rank in the root's buffer. */
nbcoll_region nbcolli_rooted_place(const nbcolli_rooted *p, int rank);

/* At the root: `blocks` blocks side by side, from that of `first` on and round, to a peer, or in a gather from it. */
nbcoll_step nbcolli_rooted_pack(const nbcolli_rooted *p, int peer, int first, int blocks);

/* ---- nodes_pieces.c: a vector goes in pieces of so many bytes -------------------------------------------------- */

/* The exposure of a rank to its leader. */
nbcoll_step nbcolli_pieces_give(nbcoll_builder *b, const nbcoll_args *a, int leader, size_t piece);

/* The exposure of a leader to its node. */
nbcoll_step nbcolli_pieces_show(nbcoll_builder *b, const nbcoll_args *a, const nbcoll_nodes *t, int node, size_t piece);

/* At a leader: those behind `at` of a vector of a node's, to piece->send, once `earlier` ones are combined, in the
 * order of nbcolli_reduce_slots. */
nbcoll_step nbcolli_pieces_combine(nbcoll_builder *b, const nbcoll_args *a, const nbcoll_nodes *t, size_t at,
                                   const nbcoll_args *piece, nbcoll_step earlier);

#endif
