/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The progress bar, drawn on stderr when that is a terminal, and messages that must not run into it.
 */
#ifndef LINESCAN_BAR_H
#define LINESCAN_BAR_H

#include <stdbool.h>
#include <stdint.h>

typedef struct bar {
    bool shown;
    uint64_t total;
    double began, drawn; /* seconds */
} bar;

void bar_begin(bar *b, uint64_t total);
void bar_move(bar *b, uint64_t position); /* draws at most ten times a second */
void bar_end(bar *b);

/* Says on stderr that a file is skipped. */
void bar_skip(bar *b, const char *path, const char *why);

#endif
