/* SPDX-License-Identifier: BSD-3-Clause
 * Neighbours of all ranks together, what their collectives mean, and the verifier's word on their schedules. */
#ifndef TEST_NEIGHBOR_PROVED_H
#define TEST_NEIGHBOR_PROVED_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "../../src/neighbor/neighbor.h"
#include "nbcoll/verify.h"

enum { PROVED_MOST = 64, BLOCK = 24 };

/* All ranks, each with its own. */
typedef struct all_around {
    int ranks;
    nbcolli_around *of[PROVED_MOST];
} all_around;

void all_of_grid(all_around *all, const nbcoll_neighbor_grid *grid, int ranks);
/* edges[s * ranks + d]: how many from s to d; the lists are shuffled. */
void all_of_graph(all_around *all, const int edges[], int ranks, uint64_t *random);
void all_close(all_around *all);

/* The edge at the sender that comes in as edge j of rank r: found by counting, or by the offsets. */
int edge_of_sender(const all_around *all, int r, int j);

/* Proves every algorithm that serves them, for each kind of call, where all ranks share memory, none do, and neighbours
 * by two; returns how many proofs that were. */
int prove_all(const all_around *all);

#endif
