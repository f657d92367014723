/* SPDX-License-Identifier: BSD-3-Clause
 * Ranks by rounds, as a drawing. */
#ifndef COMMAND_SHOW_SVG_H
#define COMMAND_SHOW_SVG_H

#include <stdio.h>

#include "command.h"

/* Draws what the algorithm does: a column for each rank, and below each other the rounds, messages that do not wait for
 * each other being of one round. `only` is a rank, whose messages alone are drawn, or -1. Errors: those of
 * nbcoll_simulate. */
nbcoll_status show_svg(const nbcoll_algorithm *algorithm, const nbcoll_case *c, int only, const char *title,
                       const char *terms, FILE *out);

#endif
