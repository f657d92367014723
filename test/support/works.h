/* SPDX-License-Identifier: BSD-3-Clause
 * An operation of all ranks; and the question after each refusal: is everything as before? */
#ifndef WORKS_H
#define WORKS_H

#include "operation.h"
#include "world.h"

/* An operation of these communicators, of which comm[i] is rank i's, ends on each of them, stepped, with its values. */
void all_perform(world *w, const operation *o, nbcoll_comm *const comm[], int ranks);

/* An operation that needs all ranks of the world, which are stepped, ends on each of them with its values. So no rank
 * has lost or taken a tag that the others have not. */
void works(world *w);

/* The same with an allgather over these communicators, of which comm[i] is rank i's. */
void works_over(world *w, nbcoll_comm *const comm[], int ranks);

#endif
