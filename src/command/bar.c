/* SPDX-License-Identifier: BSD-3-Clause
 * The progress bar: drawn anew when its percentage changes. */
#include <time.h>

#include "command.h"

#define CELLS 30

uint64_t command_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

double command_now(void)
{
    return (double)command_ns() * 1e-3;
}

void command_bar_begin(command_bar *bar, double total, double before)
{
    *bar = (command_bar){.is_shown = isatty(STDERR_FILENO), .done = before, .total = total, .percent = -1,
                         .begun = command_now(), .first = before};
}

/* "12 min left"; "" while nothing is known. */
static const char *left(const command_bar *bar, char text[32])
{
    double part = bar->done - bar->first;
    double seconds = part > 0 ? (command_now() - bar->begun) * 1e-6 * (bar->total - bar->done) / part : 0;
    double unit = seconds < 99 ? 1 : seconds < 99 * 60 ? 60 : 3600;
    *text = 0;
    if (part > 0)
        snprintf(text, 32, "%.0f %s left", seconds / unit, unit < 60 ? "s" : unit < 3600 ? "min" : "h");
    return text;
}

void command_bar_add(command_bar *bar, double part, const char *what)
{
    char text[32];
    bar->done += part;
    int percent = bar->total > 0 && bar->done < bar->total ? (int)(100 * bar->done / bar->total) : 100;
    if (!bar->is_shown || percent == bar->percent)
        return;
    bar->percent = percent;
    int full = CELLS * percent / 100;
    fprintf(stderr, "\r[%.*s%*s] %3d%% %-12.12s %-30.30s", full, "##############################", CELLS - full, "",
            percent, left(bar, text), what);
    fflush(stderr);
}

void command_bar_clear(command_bar *bar)
{
    if (!bar->is_shown || bar->percent < 0)
        return;
    fprintf(stderr, "\r%*s\r", CELLS + 8 + 43, "");
    fflush(stderr);
    bar->percent = -1;
}
