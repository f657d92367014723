/* SPDX-License-Identifier: BSD-3-Clause
 * Which elements a rank has in its buffers in one call of a collective, and where: from the definitions of the
 * operations, without a schedule. */
#ifndef LAYOUT_H
#define LAYOUT_H

#include "operation.h"

typedef enum side { SEND, RECV } side;
typedef enum part { NOTHING, ONE_BLOCK, A_BLOCK_EACH } part;

int has_root(nbcoll_operation what);
int combines(nbcoll_operation what);
/* Do counts differ from block to block? */
int is_v(nbcoll_operation what);
/* Does this rank pass NBCOLL_IN_PLACE, and for which buffer? */
int is_in_place(const operation *o, int rank);
side in_place_side(nbcoll_operation what);

/* What the buffer holds when it is not in place. */
part part_of(const operation *o, int rank, side which);
/* Elements of the block that goes from one rank to another; where a vector is combined, of it, or of the block of it
 * that belongs to `to`. */
size_t length(const operation *o, int from, int to);
/* Elements before the block that `rank` has for, or gets from, `peer`. In the v and w forms blocks lie in another order
 * than their ranks, and with gaps. */
size_t place(const operation *o, int rank, side which, int peer, int ranks);
/* Elements of the whole buffer, with gaps. */
size_t extent(const operation *o, int rank, side which, int ranks);

#endif
