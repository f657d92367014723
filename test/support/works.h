/* SPDX-License-Identifier: BSD-3-Clause
 * The question after each refusal: is everything as before? */
#ifndef WORKS_H
#define WORKS_H

#include "world.h"

/* An operation that needs all ranks of the world, which are stepped, ends on each of them with its values. So no rank
 * has lost or taken a tag that the others have not. */
void works(world *w);

#endif
