/* SPDX-License-Identifier: BSD-3-Clause
 * What rows of `nbcoll sim` consist of, so that none is wider than 80 columns: names of any length, times, and what is
 * said below a row. */
#include <stdio.h>
#include <string.h>

#include "sim.h"

enum { COLUMNS = 80, INDENT = 2 };

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
    size_t used = 0;
    while (*text) {
        size_t length = strcspn(text, " ");
        if (used && used + 1 + length > COLUMNS) {
            putchar('\n');
            used = 0;
        }
        printf("%*s%.*s", used ? 1 : INDENT, "", (int)length, text);
        used += (used ? 1 : INDENT) + length;
        text += length + (text[length] == ' ');
    }
    if (used)
        putchar('\n');
}
