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
    nbcolli_gather_hierarchical, nbcolli_gather_slots, nbcolli_gather_spanning_tree, nbcolli_gatherv_binomial,
    nbcolli_gatherv_spanning_tree, nbcolli_reduce_binomial, nbcolli_reduce_hierarchical,
    nbcolli_reduce_hierarchical_domains, nbcolli_reduce_hierarchical_ordered, nbcolli_reduce_pairwise,
    nbcolli_reduce_scatter_binomial, nbcolli_reduce_scatter_halving, nbcolli_reduce_scatter_halving_sequential,
    nbcolli_reduce_scatter_hierarchical, nbcolli_reduce_scatter_hierarchical_ordered, nbcolli_reduce_scatter_owners,
    nbcolli_reduce_scatter_ring, nbcolli_reduce_scatter_ring_sequential, nbcolli_reduce_slots,
    nbcolli_reduce_spanning_tree, nbcolli_scan_hierarchical, nbcolli_scan_linear, nbcolli_scan_recursive_doubling,
    nbcolli_scatter_binomial, nbcolli_scatter_flat, nbcolli_scatter_flat_sequential, nbcolli_scatter_hierarchical,
    nbcolli_scatter_slots, nbcolli_scatter_spanning_tree, nbcolli_scatterv_binomial, nbcolli_scatterv_spanning_tree;

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
