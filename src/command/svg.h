/* SPDX-License-Identifier: BSD-3-Clause
 * What the pictures of `nbcoll show` and `nbcoll sim` share: paper, words, colours, and the legend that explains them.
 */
#ifndef COMMAND_SVG_H
#define COMMAND_SVG_H

#include <stdio.h>

#include <nbcoll/schedule.h>

/* Opens a picture on white paper. Both texts are shown above it: what it shows, and on what terms. */
void svg_begin(FILE *out, int width, int height, const char *title, const char *terms);
void svg_end(FILE *out);

/* A text in place (anchor: "start", "middle" or "end"). */
void svg_text(FILE *out, double x, double y, const char *anchor, const char *colour, const char *text);

/* Kinds of steps of one colour have one name. JOIN has the colour of all else. */
const char *svg_colour(nbcoll_kind kind);

/* A row of coloured squares with the names of these kinds, bit by bit; returns where it ends. */
double svg_legend(FILE *out, double x, double y, unsigned kinds);

#define SVG_TOP 62  /* from here on the paper is free */
#define SVG_SIDE 24 /* free at the left and right */
#define SVG_INK "#222222"
#define SVG_PALE "#777777"

#endif
