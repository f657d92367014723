/* SPDX-License-Identifier: BSD-3-Clause
 * The staging buffer of a link: shared memory where this rank puts copies of what it exposes, so that its readers find
 * it in place, and its own memory is not lent. Readers of private memory need a get each, and the owner waits for them;
 * where ranks take turns on a core, it hands its core over to wait.
 *
 * The owner does not wait for readers, and may have left before they look. So it copies only if all ranks of the
 * communicator have a staging buffer: these read others' in place. A rank that must get the copy could not, once the
 * owner has left.
 *
 * The buffer is a queue: the oldest copy is dropped when its readers are through, by the words that also say when a
 * cell may be used again (cells.h). Nobody waits for that: without room the owner lends its memory instead. An
 * operation's exposures have equal shares of the buffer. One that is longer with its streams' heads goes through its
 * share by rings, and its owner waits for its readers. Copies of a freed communicator go with its part of the cells.
 *
 * Streams carry an exposure that is longer than the staging buffer; and readers follow by one a long copy, the same for
 * all, while it is made. Each of an exposure's parts gets a ring on the staging buffer. The owner copies pieces into
 * the ring, and its readers take them out. In front of the rings stands one nbcolli_stream for each reader. There the
 * owner says how many bytes of the part it has written, and the reader how many it needs no more: the owner writes over
 * no others. A word of either has one writer.
 *
 * The owner waits for its readers, as it does where it lends. A ring with several readers waits for the last of them,
 * and the others with it. So a part that several get is streamed only by algorithms whose ranks come to such a part
 * without waiting for another one (NBCOLL_ALGORITHM_TOGETHER); other ranks might wait for each other in a circle. A
 * reader that has failed has raised its word (cells.h), and is waited for no longer. A ring that holds all of its part,
 * a copy that is followed, waits for nobody. */
#ifndef NBCOLLI_ENGINE_EXPOSURES_STAGING_H
#define NBCOLLI_ENGINE_EXPOSURES_STAGING_H

#include "cells.h"

/* Takes the memory from the transport, if that offers any and has it. */
void nbcolli_staging_open(nbcolli_link *link);

/* Gives it back to the transport, unless somebody may still read there. */
void nbcolli_staging_close(nbcolli_link *link);

/* Room for all parts of an exposure whose slot is the run's; op->copy is where, or null: they are to be lent. */
void nbcolli_staging_take(nbcolli_op *op);

/* Copies what the pass has left (nothing without `copies`) and, [STREAM], what there is room for. OK: all is copied.
 * AGAIN: the pass has nothing left. PENDING: the rings are full, and wait for *reader. */
nbcoll_status nbcolli_staging_fill(nbcolli_op *op, int copies, int *reader);

/* Finds the ring that `found` leads to, and has the op use it. Its owner waits for op->stream, if that is set. PENDING:
 * its owner has given this rank up. ERR_MISMATCH: there is no such ring of elements of `unit` bytes. */
nbcoll_status nbcolli_stream_find(nbcolli_op *op, const nbcolli_found *found, size_t unit);

/* The communicator is freed, with its part of the cells, if it has one. */
void nbcolli_staging_leave(nbcoll_comm *comm);

/* That part is given back. */
void nbcolli_staging_forget(nbcolli_link *link, const nbcolli_area *area);

#endif
