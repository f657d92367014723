/* SPDX-License-Identifier: BSD-3-Clause
 * What rows of `nbcoll sim` consist of, so that none is wider than 80 columns: names of any length, times, and what is
 * said below a row. */
#include <stdio.h>
#include <string.h>

#include "sim.h"

enum { SIM_BELOW = 2 }; /* characters before what stands below a row */

void sim_print_name(const char *name)
{
    if (strlen(name) > SIM_NAME)
        printf("%s\n%*s", name, SIM_NAME, "");
    else
        printf("%-*s", SIM_NAME, name);
}

void sim_print_us(uint64_t ns, int width)
{
    int digits = 3;
    while (digits && snprintf(NULL, 0, "%.*f", digits, (double)ns / 1e3) > width)
        digits--;
    printf(" %*.*f", width, digits, (double)ns / 1e3);
}

void sim_print_below(const char *text)
{
    if (*text)
        command_print_words(stdout, "", "", SIM_BELOW, COMMAND_COLUMNS, text);
}
