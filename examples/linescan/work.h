/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How much counting this machine has time for.
 */
#ifndef LINESCAN_WORK_H
#define LINESCAN_WORK_H

#include "list.h"

/* Rank 0 decompresses and counts a share; the others count the rest. Nonblocking scatters hide the decompression behind
 * the counting, and gain the most where rank 0 is then as busy as every other processor. Returns how many bytes of the
 * longest sequence (1 .. GRAMS_MOST) make it so, or nearly, on this many processors with this many ranks: the most that
 * do not make the others the busier ones, by a trial with the first files. */
unsigned work_for(const list *files, int ranks, int processors);

#endif
