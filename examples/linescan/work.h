/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How much counting this machine has time for.
 */
#ifndef LINESCAN_WORK_H
#define LINESCAN_WORK_H

#include "list.h"

/* Rank 0 decompresses and counts a share; the others count the rest. Nonblocking scatters hide the decompression behind
 * the counting, and gain the most where both take as long. Returns how many bytes of the longest sequence (1 ..
 * GRAMS_MOST) make it nearly so on this many processors, by a trial with the first files. */
unsigned work_for(const list *files, int processors);

#endif
