/* SPDX-License-Identifier: BSD-3-Clause
 * The progress bar: drawn anew when its percentage changes. */
#define _POSIX_C_SOURCE 200809L

#include <stdio.h>
#include <unistd.h>

#include "bar.h"

#define CELLS 30

void command_bar_begin(command_bar *bar, double total)
{
    *bar = (command_bar){isatty(STDERR_FILENO), 0, total, -1};
}

void command_bar_add(command_bar *bar, double part, const char *what)
{
    bar->done += part;
    int percent = bar->total > 0 && bar->done < bar->total ? (int)(100 * bar->done / bar->total) : 100;
    if (!bar->is_shown || percent == bar->percent)
        return;
    bar->percent = percent;
    int full = CELLS * percent / 100;
    fprintf(stderr, "\r[%.*s%*s] %3d%% %-40.40s", full, "##############################", CELLS - full, "", percent,
            what);
    fflush(stderr);
}

void command_bar_clear(command_bar *bar)
{
    if (!bar->is_shown || bar->percent < 0)
        return;
    fprintf(stderr, "\r%*s\r", CELLS + 8 + 40, "");
    fflush(stderr);
    bar->percent = -1;
}
