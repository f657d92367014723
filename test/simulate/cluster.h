/* SPDX-License-Identifier: BSD-3-Clause
 * Simulated clusters, the terms by which algorithms are chosen there, and how far a choice is from the best. */
#ifndef TEST_SIMULATE_CLUSTER_H
#define TEST_SIMULATE_CLUSTER_H

#include <nbcoll/select.h>

#include "scene.h"

typedef struct cluster {
    nbcoll_sim_model model;
    nbcoll_nodes *nodes; /* to be freed */
    nbcoll_terms terms;  /* with the prices of the model */
    int ranks;
} cluster;

/* A preset, with nodes of `room` ranks, the last one perhaps of fewer, numbered one after the other. */
cluster cluster_of(const char *preset, int room, int ranks);

/* The arguments of a call with so many bytes, as rules count them, or as many as are whole elements, but one at least.
 * counts[ranks]: becomes the elements of each rank's block, or of the vector. */
nbcoll_args cluster_args(const cluster *on, nbcoll_operation operation, size_t bytes, size_t counts[]);

/* What the terms choose. */
nbcoll_choice cluster_choose(const nbcoll_terms *terms, const nbcoll_args *a);

/* How long that takes with so many elements; and the least of all algorithms, each alone, or with some values of the
 * parameters that it reads: those that `nbcoll tune` tries, by nodes only where there are several. */
uint64_t cluster_time(const cluster *on, const nbcoll_choice *c, size_t count);
uint64_t cluster_least(const cluster *on, nbcoll_operation operation, size_t count);

/* Are costs known of it? */
int cluster_is_known(nbcoll_operation operation);

#endif
