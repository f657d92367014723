/* SPDX-License-Identifier: BSD-3-Clause
 * The seventeen collectives in plain serial C: from what all ranks pass to what stands in their receive buffers at the
 * end. Written from the manual and the MPI standard, without schedules, and without anything of the library's. */
#ifndef REFERENCE_H
#define REFERENCE_H

#include "nbcoll/schedule.h"

/* What one rank passes. Vectors in the v and w forms: counts and displacements, in bytes for alltoallw. What a rank
 * does not use may hold anything. */
typedef struct vector {
    const size_t *counts, *displs;
    const nbcoll_type *types;
} vector;

typedef struct passed {
    const void *send; /* or NBCOLL_IN_PLACE */
    void *recv;       /* or NBCOLL_IN_PLACE */
    size_t count;     /* where there are no counts; in gatherv and scatterv: of the rank's own block */
    vector sent, received;
} passed;

typedef struct collective {
    nbcoll_operation what;
    int ranks, root;
    int type, op; /* as elements.h numbers them */
    int is_tree;  /* combine along the tree of NBCOLL_REPRODUCIBLE, else from the left */
} collective;

/* Writes what the collective writes into results[r], which holds what the receive buffer of rank r held before. Null:
 * the rank receives nothing. */
void reference(const collective *c, const passed by[], void *const results[]);

#endif
