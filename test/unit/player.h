/* SPDX-License-Identifier: BSD-3-Clause
 * Plays the schedules of a crowd over real buffers, with the steps in every order that a seeded dice makes of their
 * edges: a step that should wait but does not is noticed by what it does to the data.
 *
 * Elements are 64 bits. The player gives reductions meanings of its own:
 *
 *   SUM    the sum
 *   PROD   the composition of x -> a x + b, a and b being the halves of the element: associative, not commutative
 *   MAX    a mixture that is neither: equal only where the same elements were combined in the same way */
#ifndef TEST_UNIT_PLAYER_H
#define TEST_UNIT_PLAYER_H

#include "crowd.h"

/* Plays the schedules once; a SEND ends when its bytes are taken, or with rendezvous only after its RECV was posted.
 * Did all steps end, and is the result right? Of a mixture that is not combined along the tree: the same on all ranks.
 */
int plays(const crowd *all, int is_rendezvous, uint64_t *dice);

#endif
