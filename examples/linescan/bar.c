/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The progress bar.
 */
#include "bar.h"
#include "clock.h"

#include <stdio.h>
#include <unistd.h>

enum { WIDTH = 40 };

void bar_begin(bar *b, uint64_t total)
{
    *b = (bar){.shown = isatty(STDERR_FILENO) && total > 0, .total = total, .began = seconds_now()};
}

void bar_move(bar *b, uint64_t position)
{
    if (!b->shown)
        return;
    double now = seconds_now();
    if (now - b->drawn < 0.1)
        return;
    b->drawn = now;
    double part = (double)position / (double)b->total;
    char full[WIDTH + 1];
    for (int i = 0; i < WIDTH; i++)
        full[i] = i < (int)(part * WIDTH) ? '#' : '.';
    full[WIDTH] = '\0';
    fprintf(stderr, "\r[%s] %3d%% %6.1f s", full, (int)(part * 100), now - b->began);
}

static void wipe(const bar *b)
{
    if (b->shown)
        fputs("\r\033[K", stderr);
}

void bar_end(bar *b)
{
    wipe(b);
    b->shown = false;
}

void bar_skip(bar *b, const char *path, const char *why)
{
    wipe(b);
    fprintf(stderr, "linescan: %s: skipped: %s\n", path, why);
}
