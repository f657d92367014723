/* SPDX-License-Identifier: BSD-3-Clause
 * Streams: how an exposure that is longer than the staging buffer goes through it, and how a long copy that is alike
 * for all readers is followed while it is made. Each of an exposure's parts gets a ring on the staging buffer. The
 * owner copies pieces into the ring, and its readers take them out. In front of the rings stands one nbcolli_stream for
 * each reader. There the owner says how many bytes of the part it has written, and the reader how many it needs no
 * more: the owner writes over no others. A word of either has one writer.
 *
 * The owner waits for its readers, as it does where it lends. A ring with several readers waits for the last of them,
 * and the others with it. So a part that several get is streamed only by algorithms whose ranks come to such a part
 * without waiting for another one (NBCOLL_ALGORITHM_TOGETHER); other ranks might wait for each other in a circle. A
 * reader that has failed has raised its word (cells.h), and is waited for no longer. A ring that holds all of its part
 * waits for nobody: that is a copy which is followed. */
#ifndef NBCOLLI_ENGINE_EXPOSURES_STREAM_H
#define NBCOLLI_ENGINE_EXPOSURES_STREAM_H

#include "cells.h"

/* The bytes of the staging buffer for the streams of an exposure, at most `most`; 0: it is not to be streamed. *window
 * is how long each ring is. */
size_t nbcolli_stream_bytes(const nbcolli_run *run, const nbcoll_step_view *v, size_t most, size_t *window);

/* Writes the streams of an op whose place in the staging buffer is op->copy, before its cell is shown. */
void nbcolli_streams_begin(nbcolli_op *op, size_t window);

/* [STREAM] Copies as much as there is room for and as the pass has left, which is nothing without `copies`. OK: all has
 * been copied. AGAIN: the pass has nothing left. PENDING: the rings are full, and *reader is one that they wait for. */
nbcoll_status nbcolli_stream_fill(nbcolli_op *op, int copies, int *reader);

/* Finds the ring that `found` leads to, and has the op use it. Its owner waits for op->stream, if that is set. PENDING:
 * its owner has given this rank up. ERR_MISMATCH: there is no such ring of elements of `unit` bytes. */
nbcoll_status nbcolli_stream_find(nbcolli_op *op, const nbcolli_found *found, size_t unit);

#endif
