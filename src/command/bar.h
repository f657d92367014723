/* SPDX-License-Identifier: BSD-3-Clause
 * A progress bar on standard error, drawn only where that is a terminal. It says how much time is left, if what is left
 * takes as long as what was done. */
#ifndef COMMAND_BAR_H
#define COMMAND_BAR_H

typedef struct command_bar {
    int is_shown;
    double done, total;
    int percent; /* as drawn last */
    double begun, first; /* when the first part that took time began, and what was done before it */
} command_bar;

/* Of `total`, so much was done before. */
void command_bar_begin(command_bar *bar, double total, double before);

/* So much more is done; at work on `what`. */
void command_bar_add(command_bar *bar, double part, const char *what);

/* Takes the bar off the screen, so that lines can be printed; the next command_bar_add draws it again. */
void command_bar_clear(command_bar *bar);

#endif
