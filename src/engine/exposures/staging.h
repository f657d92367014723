/* SPDX-License-Identifier: BSD-3-Clause
 * The staging buffer of a link: shared memory where this rank puts copies of what it exposes, so that its readers find
 * it in place, and its own memory is not lent. What readers would get from private memory otherwise waits for each of
 * them, and takes a get; and a rank that waits hands its core over, where others take turns on it.
 *
 * The owner does not wait for readers, and may have left before they look. So it copies only where all ranks of the
 * communicator have a staging buffer: these see others' in place. A rank that has to get a copy could not get it any
 * more.
 *
 * A long copy that is alike for all readers is shown before it is made, and followed (stream.h).
 *
 * What was put there last lies last, and what lies first goes first: when its readers have said that they are through,
 * by the words that also say when a cell may be used again (cells.h). Nobody waits for that: where there is no room the
 * memory is lent as if there were no staging buffer. What is longer than the exposure's share of the staging buffer,
 * which is as much for each that the operation makes, goes through a part of it by rings, whose owner waits for its
 * readers (stream.h). What a freed communicator leaves goes with its part of the cells. */
#ifndef NBCOLLI_ENGINE_EXPOSURES_STAGING_H
#define NBCOLLI_ENGINE_EXPOSURES_STAGING_H

#include "../state/context.h"

/* Takes the memory from the transport, if that offers any and has it. */
void nbcolli_staging_open(nbcolli_link *link);

/* Gives it back, if nobody reads there any more; else it stays the transport's. */
void nbcolli_staging_close(nbcolli_link *link);

/* Room for all parts of an exposure whose slot is the run's; op->copy is where, or null: they are to be lent. */
void nbcolli_staging_take(nbcolli_op *op);

/* Of an op that is not streamed: copies as much as the pass has left. Returns whether all is there. */
int nbcolli_staging_fill(nbcolli_op *op);

/* The communicator is freed, with its part of the cells, if it has one. */
void nbcolli_staging_leave(nbcoll_comm *comm);

/* That part is given back. */
void nbcolli_staging_forget(nbcolli_link *link, const nbcolli_area *area);

#endif
