/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The sequential pass that the ranks' totals are compared with.
 */
#ifndef LINESCAN_CHECK_H
#define LINESCAN_CHECK_H

#include "list.h"
#include "report.h"

/* Reads all files again, counts the same, and sets checked, agrees and the sequential fields; or interrupted. */
void check_sequential(const list *files, unsigned grams, outcome *out);

#endif
