/* SPDX-License-Identifier: BSD-3-Clause
 * Ranks of processes of their own that work until some of them have died, by kill -9, and go on together without those.
 * Include crew.h first. */
#ifndef MORTAL_H
#define MORTAL_H

#include "nbcoll/nbcoll.h"

/* Sums over all ranks of the communicator, and shrinks it, until those have died whose left[rank], looks or operations,
 * is not 0: this one dies when its own have passed. Checks each sum. */
void mortal_work(nbcoll_comm *comm, const uint64_t left[]);

#endif
