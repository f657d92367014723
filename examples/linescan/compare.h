/* SPDX-License-Identifier: BSD-3-Clause
 *
 * --compare: the same text with the blocking scatter and with nonblocking ones, by turns.
 */
#ifndef LINESCAN_COMPARE_H
#define LINESCAN_COMPARE_H

#include "scan.h"

/* Every rank. `files` are rank 0's; `out` is its last job. */
void compare_run(scan *s, const list *files, outcome *out, comparison *c);

#endif
