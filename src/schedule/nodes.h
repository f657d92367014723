/* SPDX-License-Identifier: BSD-3-Clause
 * Filling tables of nodes in memory of others. */
#ifndef NBCOLLI_SCHEDULE_NODES_H
#define NBCOLLI_SCHEDULE_NODES_H

#include "../host/host.h"
#include "nbcoll/nodes.h"

/* How many numbers a table of so many ranks is made of. */
size_t nbcolli_nodes_ints(int ranks);

/* Fills a table in such room, the first `ranks` numbers of which are the node of each rank, any of 0..ranks-1. */
void nbcolli_nodes_fill(nbcoll_nodes *t, int ranks, int *room);

#endif
