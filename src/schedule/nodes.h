/* SPDX-License-Identifier: BSD-3-Clause
 * Filling tables of nodes in memory of others. */
#ifndef NBCOLLI_SCHEDULE_NODES_H
#define NBCOLLI_SCHEDULE_NODES_H

#include "../host/host.h"
#include "nbcoll/nodes.h"

/* How many numbers a table of so many ranks is made of. */
size_t nbcolli_nodes_ints(int ranks);

/* node[r] becomes the first rank with the number that rank r has, in as many steps as there are ranks, nearly. `table`:
 * room for twice as many, for now. */
void nbcolli_nodes_number(int ranks, uint64_t (*number)(const void *user, int rank), const void *user, int *node,
                          int *table);

/* Fills a table in such room, the first `ranks` numbers of which are the node of each rank, any of 0..ranks-1. */
void nbcolli_nodes_fill(nbcoll_nodes *t, int ranks, int *room);

/* Fills the table of domains of `t` in such room, the first numbers of which say of the ranks of each node who shares
 * one: any of 0..ranks-1. From then on `t` has it. */
void nbcolli_domains_fill(nbcoll_nodes *t, nbcoll_nodes *domains, int *room);

#endif
