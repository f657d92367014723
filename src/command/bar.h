/* SPDX-License-Identifier: BSD-3-Clause
 * A progress bar on standard error, drawn only where that is a terminal. */
#ifndef COMMAND_BAR_H
#define COMMAND_BAR_H

typedef struct command_bar {
    int is_shown;
    double done, total;
    int percent; /* as drawn last */
} command_bar;

void command_bar_begin(command_bar *bar, double total);

/* So much more is done; at work on `what`. */
void command_bar_add(command_bar *bar, double part, const char *what);

/* Takes the bar off the screen, so that lines can be printed; the next command_bar_add draws it again. */
void command_bar_clear(command_bar *bar);

#endif
