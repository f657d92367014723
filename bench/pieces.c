/* SPDX-License-Identifier: BSD-3-Clause
 * Do sizes ask hierarchical algorithms to go in pieces? In virtual time, on the presets, each hierarchical algorithm is
 * played whole, and cut into 2, 4 and 8 pieces that are started at once, each as whole as the algorithm has it, blocks
 * copied together and apart; with 1, 2, 4 and 8 leaders of a node, of which the best counts. Beside it the best of all
 * other algorithms. Microseconds. With arguments PRESET RANKS that machine only. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nbcoll/simulate.h"
#include "nbcoll/verify.h"

typedef struct machine {
    const char *preset;
    int ranks;
} machine;

static const nbcoll_algorithm *whole; /* what goes in pieces */
static size_t cuts;                   /* how many */

/* A piece has a part of each block, and those lie apart where they belong: they are brought from there, or to there,
 * one copy each. The step that ends it. */
static nbcoll_step sort(nbcoll_builder *b, nbcoll_addr together, size_t bytes, nbcoll_addr apart, size_t block,
                        int comes, nbcoll_step after)
{
    nbcoll_step all = nbcoll_add_join(b);
    for (size_t rank = 0; rank < (size_t)b->ranks; rank++) {
        nbcoll_addr here = nbcoll_at(together, rank * bytes), there = nbcoll_at(apart, rank * block);
        nbcoll_step copy = nbcoll_add_copy(b, comes ? here : there, comes ? there : here, bytes);
        nbcoll_after(b, copy, after);
        nbcoll_after(b, all, copy);
    }
    return all;
}

static void build_piece(nbcoll_builder *b, const nbcoll_args *a, nbcoll_args piece, size_t at)
{
    nbcoll_operation what = whole->operation;
    int is_root = b->rank == a->root, is_to_all = what == NBCOLL_OPERATION_ALLTOALL;
    int gives_blocks = is_to_all || what == NBCOLL_OPERATION_REDUCE_SCATTER_BLOCK ||
                       (what == NBCOLL_OPERATION_SCATTER && is_root);
    int gets_blocks = is_to_all || what == NBCOLL_OPERATION_ALLGATHER || (what == NBCOLL_OPERATION_GATHER && is_root);
    nbcoll_step before = NBCOLL_START;
    piece.send = nbcoll_at(a->send, at);
    piece.recv = nbcoll_at(a->recv, at);
    if (gives_blocks) {
        piece.send = nbcoll_add_scratch(b, piece.bytes * (size_t)b->ranks);
        before = sort(b, piece.send, piece.bytes, nbcoll_at(a->send, at), a->bytes, 1, NBCOLL_START);
    }
    if (gets_blocks)
        piece.recv = nbcoll_add_scratch(b, piece.bytes * (size_t)b->ranks);
    nbcoll_step after = nbcoll_within(b, NULL, b->ranks, &piece, whole->build, before);
    if (gets_blocks)
        sort(b, piece.recv, piece.bytes, nbcoll_at(a->recv, at), a->bytes, 0, after);
}

static void build_pieces(nbcoll_builder *b, const nbcoll_args *a)
{
    for (size_t i = 0; i < cuts; i++) {
        nbcoll_args piece = *a;
        piece.count = a->count / cuts;
        piece.bytes = piece.count * a->element;
        build_piece(b, a, piece, i * piece.bytes);
    }
}

/* Nanoseconds; all there are, where it cannot be played. */
static uint64_t play(const machine *on, const nbcoll_nodes *nodes, const nbcoll_algorithm *algorithm, size_t bytes,
                     unsigned leaders)
{
    nbcoll_operation what = algorithm->operation;
    int has_vector = what == NBCOLL_OPERATION_BCAST || what == NBCOLL_OPERATION_REDUCE ||
                     what == NBCOLL_OPERATION_ALLREDUCE || what == NBCOLL_OPERATION_SCAN;
    nbcoll_sim_model model = {.size = sizeof model};
    nbcoll_sim_result result = {.size = sizeof result};
    const nbcoll_case c = {.size = sizeof c,
                           .operation = what,
                           .ranks = on->ranks,
                           .node = NBCOLL_CASE_BY_NODE,
                           .count = bytes / (has_vector ? 1 : (size_t)on->ranks),
                           .reduction = {NBCOLL_BYTE, NBCOLL_BXOR},
                           .leaders = leaders,
                           .nodes = nodes};
    nbcoll_status status = nbcoll_sim_model_find(on->preset, &model);
    nbcoll_sim_config config = {.size = sizeof config, .ranks = on->ranks, .seed = 1, .model = &model, .nodes = nodes};
    if (status == NBCOLL_OK)
        status = nbcoll_simulate_cases(&config, &(nbcoll_sim_case){algorithm, &c}, &result);
    return status == NBCOLL_OK ? result.last : UINT64_MAX;
}

static uint64_t best_of(const machine *on, const nbcoll_nodes *nodes, const nbcoll_algorithm *algorithm, size_t bytes)
{
    uint64_t least = UINT64_MAX;
    for (unsigned leaders = 1; leaders <= (algorithm->flags & NBCOLL_ALGORITHM_LEADERS ? 8u : 1u); leaders *= 2) {
        uint64_t time = play(on, nodes, algorithm, bytes, leaders);
        least = time < least ? time : least;
    }
    return least;
}

/* The best of those that expose nothing to all. */
static uint64_t best_of_others(const machine *on, const nbcoll_nodes *nodes, nbcoll_operation what, size_t bytes)
{
    const nbcoll_algorithm *algorithm;
    uint64_t least = UINT64_MAX;
    for (unsigned i = 0; (algorithm = nbcoll_algorithm_at(what, i)); i++) {
        if (algorithm->flags & NBCOLL_ALGORITHM_NODES || algorithm->flags >> 16)
            continue;
        uint64_t time = best_of(on, nodes, algorithm, bytes);
        least = time < least ? time : least;
    }
    return least;
}

static void print_line(const machine *on, const nbcoll_nodes *nodes, const nbcoll_algorithm *algorithm, size_t bytes)
{
    nbcoll_algorithm in_pieces = *algorithm;
    uint64_t alone = best_of(on, nodes, algorithm, bytes), least = UINT64_MAX;
    size_t pieces = 0;

    whole = algorithm;
    in_pieces.build = build_pieces;
    for (cuts = 2; cuts <= 8; cuts *= 2) {
        uint64_t time = best_of(on, nodes, &in_pieces, bytes);
        pieces = time < least ? cuts : pieces;
        least = time < least ? time : least;
    }
    uint64_t others = best_of_others(on, nodes, algorithm->operation, bytes);
    const char *verdict = least >= alone ? "" : least < others ? "asks" : "gains";
    printf("%-10s %5d %-20s %8zu %10.1f %10.1f %6zu %10.1f %s\n", on->preset, on->ranks,
           nbcoll_operation_name(algorithm->operation), bytes, (double)alone / 1e3, (double)least / 1e3, pieces,
           (double)others / 1e3, verdict);
}

static int measure(machine on)
{
    static const nbcoll_operation operations[] = {
        NBCOLL_OPERATION_BCAST,     NBCOLL_OPERATION_SCATTER,  NBCOLL_OPERATION_GATHER,
        NBCOLL_OPERATION_ALLGATHER, NBCOLL_OPERATION_REDUCE,   NBCOLL_OPERATION_ALLREDUCE,
        NBCOLL_OPERATION_ALLTOALL,  NBCOLL_OPERATION_REDUCE_SCATTER_BLOCK, NBCOLL_OPERATION_SCAN};
    static const size_t lengths[] = {32768, 262144, 2097152};
    nbcoll_sim_model model = {.size = sizeof model};
    nbcoll_nodes *nodes;
    if (on.ranks < 1 || nbcoll_sim_model_find(on.preset, &model) != NBCOLL_OK)
        return 2;
    int room = (int)model.node;
    nbcoll_placement placement = {sizeof placement, &room, 1, NBCOLL_NUMBERING_BLOCK, 0, 0};
    if (nbcoll_nodes_place(&placement, on.ranks, NULL, &nodes) != NBCOLL_OK)
        return 1;
    for (size_t i = 0; i < sizeof operations / sizeof *operations; i++)
        for (size_t k = 0; k < sizeof lengths / sizeof *lengths; k++)
            print_line(&on, nodes, nbcoll_algorithm_find(operations[i], "hierarchical"), lengths[k]);
    nbcoll_nodes_free(nodes);
    return 0;
}

int main(int argc, char *argv[])
{
    static const machine machines[] = {{"cluster", 32},   {"cluster", 64},   {"cluster", 128}, {"cluster_a", 32},
                                       {"cluster_a", 64}, {"cluster_a", 128}, {"das4", 32},    {"das4", 64},
                                       {"das4", 128},     {"cluster_b", 16}, {"cluster_b", 32}};
    int failed = 0;
    printf("%-10s %5s %-20s %8s %10s %10s %6s %10s\n", "machine", "ranks", "operation", "bytes", "whole", "in pieces",
           "pieces", "others");
    if (argc > 1)
        return argc == 3 ? measure((machine){argv[1], atoi(argv[2])}) : 2;
    for (size_t i = 0; i < sizeof machines / sizeof *machines && !failed; i++)
        failed = measure(machines[i]);
    return failed;
}
