/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The interval decides whether there is a difference. Where there is none to be seen, that is a result only on a
 * machine that had nothing else to do, and whose rounds were alike.
 */
#include "verdict.h"

#include <stdio.h>
#include <string.h>

static const double busy = 0.1;  /* share of the processors: more of them, and others had a hand in the result */
static const double full = 0.33; /* more, and it is theirs */
static const double alike = 1.2; /* both ends of the interval: farther apart, and it says nothing */

/* Where nothing can be gained, however quiet the machine is; else null. */
static const char *why_nothing(const comparison *c)
{
    if (c->processors == 1)
        return "one processor has always something to do, so that there is no waiting to hide.";
    if (c->ranks <= 2)
        return "with two ranks rank 0, which decompresses all text and counts half of it, never waits.";
    return NULL;
}

/* Says what is there where the interval holds 1, or tells of others. */
static void say_no_gain(const comparison *c, bool is_busy, char text[VERDICT_BYTES])
{
    const char *why = why_nothing(c);
    const char *what = is_busy && !why ? "This machine is too busy to tell a gain from none"
                       : c->gain.high > alike * c->gain.low && !why
                           ? "The rounds differ too much to tell a gain from none"
                           : "No gain is to be seen here";
    snprintf(text, VERDICT_BYTES, "%s (95%% interval of the gain %.2f to %.2f)%s%s", what, c->gain.low, c->gain.high,
             why ? ":\n" : ".", why ? why : "");
}

void verdict(const comparison *c, char text[VERDICT_BYTES])
{
    const spread *g = &c->gain;
    bool is_busy = c->others > busy, is_full = c->others > full;
    if (g->low > 1 && !is_full)
        snprintf(
            text, VERDICT_BYTES, "Nonblocking is %.2f times as fast as blocking (95%% interval %.2f to %.2f): rank 0%s",
            g->middle, g->low, g->high,
            is_busy ? " waits less."
                    : "\ndecompresses the next blocks instead of waiting until all ranks have taken the last one.");
    else if (g->high < 1 && !is_full)
        snprintf(text, VERDICT_BYTES,
                 "Nonblocking is SLOWER here: %.2f times as fast as blocking (95%% interval %.2f to %.2f).", g->middle,
                 g->low, g->high);
    else
        say_no_gain(c, is_busy, text);
    size_t used = strlen(text);
    if (is_busy && !strchr(text, '\n'))
        snprintf(text + used, VERDICT_BYTES - used, "\nOther programs took %.0f%% of the processors meanwhile.",
                 100 * c->others);
}
