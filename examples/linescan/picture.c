/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Two panels under each other on one scale of time: a row for each rank, dark where it read and counted, light where it
 * waited for others.
 */
#include "picture.h"
#include "options.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { WIDTH = 1000, LEFT = 80, RIGHT = 20, ROW = 16, HEAD = 64, GAP = 44 };

static const char *const title[FORMS] = {"blocking scatter", "nonblocking scatters"};

static double length(int ranks, waits *const of[FORMS])
{
    double most = 0;
    for (enum form f = 0; f < FORMS; f++)
        for (int i = 0; i < ranks; i++)
            most = of[f][i].ended > most ? of[f][i].ended : most;
    return most;
}

static void bar(FILE *out, double from, double to, double y, const char *colour)
{
    fprintf(out, "<rect x=\"%.1f\" y=\"%.0f\" width=\"%.2f\" height=\"%d\" fill=\"%s\"/>\n", from, y, to - from,
            ROW - 3, colour);
}

static void row(FILE *out, const waits *w, double y, double scale)
{
    bar(out, LEFT, LEFT + w->ended * scale, y, "#2a6f97");
    for (size_t i = 0; i < w->count; i++)
        bar(out, LEFT + w->at[i].from * scale, LEFT + w->at[i].to * scale, y, "#f4d58d");
}

static void panel(FILE *out, enum form f, int ranks, const waits *w, double y, double scale)
{
    fprintf(out, "<text x=\"%d\" y=\"%.0f\">%s: %.2f s</text>\n", LEFT, y - 8, title[f], w[0].ended);
    for (int i = 0; i < ranks; i++) {
        fprintf(out, "<text x=\"%d\" y=\"%.0f\" text-anchor=\"end\">rank %d</text>\n", LEFT - 8, y + i * ROW + ROW - 5,
                i);
        row(out, &w[i], y + i * ROW, scale);
    }
}

void picture_draw(const char *file, int ranks, waits *const of[FORMS])
{
    FILE *out = fopen(file, "w");
    double scale = (WIDTH - LEFT - RIGHT) / length(ranks, of);
    int panels = ranks * ROW + GAP;
    if (!out)
        fatal(file, strerror(errno));
    fprintf(out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" font-family=\"sans-serif\" "
            "font-size=\"13\">\n<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n",
            WIDTH, HEAD + FORMS * panels);
    fprintf(out, "<text x=\"%d\" y=\"22\">rank 0 decompresses, all ranks count: </text>\n", LEFT);
    bar(out, 330, 354, 11, "#2a6f97");
    fprintf(out, "<text x=\"360\" y=\"22\">working</text>\n");
    bar(out, 430, 454, 11, "#f4d58d");
    fprintf(out, "<text x=\"460\" y=\"22\">waiting for another rank</text>\n");
    for (enum form f = 0; f < FORMS; f++)
        panel(out, f, ranks, of[f], HEAD + (int)f * panels, scale);
    fprintf(out, "</svg>\n");
    if (fclose(out))
        fatal(file, "cannot be written");
}
