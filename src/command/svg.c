/* SPDX-License-Identifier: BSD-3-Clause
 * See svg.h. */
#include "svg.h"

#include <string.h>

/* The colours of Okabe and Ito, which people who see fewer colours tell apart, too. */
static const struct {
    const char *colour, *name;
} kinds[NBCOLL_KIND_COUNT] = {
    [NBCOLL_SEND] = {"#0072b2", "send"},     [NBCOLL_RECV] = {"#56b4e9", "receive"},
    [NBCOLL_EXPOSE] = {"#00694e", "expose"}, [NBCOLL_FETCH] = {"#009e73", "fetch"},
    [NBCOLL_COPY] = {"#e69f00", "copy"},     [NBCOLL_REDUCE] = {"#d55e00", "combine"},
    [NBCOLL_CALL] = {"#cc79a7", "call"},     [NBCOLL_FETCH_REDUCE] = {"#b04000", "fetch and combine"},
};

const char *svg_colour(nbcoll_kind kind)
{
    return kinds[kind].colour ? kinds[kind].colour : SVG_PALE;
}

static void put_text(FILE *out, const char *text)
{
    for (; *text; text++)
        if (*text == '<' || *text == '&')
            fputs(*text == '<' ? "&lt;" : "&amp;", out);
        else
            fputc(*text, out);
}

void svg_text(FILE *out, double x, double y, const char *anchor, const char *colour, const char *text)
{
    fprintf(out, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\" fill=\"%s\">", x, y, anchor, colour);
    put_text(out, text);
    fputs("</text>\n", out);
}

void svg_begin(FILE *out, int width, int height, const char *title, const char *terms)
{
    fprintf(out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" viewBox=\"0 0 %d %d\" "
            "font-family=\"sans-serif\" font-size=\"12\">\n<title>",
            width, height, width, height);
    put_text(out, title);
    fprintf(out,
            "</title>\n<rect width=\"%d\" height=\"%d\" fill=\"#ffffff\"/>\n<g font-size=\"16\" "
            "font-weight=\"bold\">\n",
            width, height);
    svg_text(out, SVG_SIDE, 28, "start", SVG_INK, title);
    fputs("</g>\n", out);
    svg_text(out, SVG_SIDE, 47, "start", SVG_PALE, terms);
}

void svg_end(FILE *out)
{
    fputs("</svg>\n", out);
}

double svg_legend(FILE *out, double x, double y, unsigned of)
{
    for (int kind = 0; kind < NBCOLL_KIND_COUNT; kind++) {
        if (!(of >> kind & 1) || !kinds[kind].name)
            continue;
        fprintf(out, "<rect x=\"%.1f\" y=\"%.1f\" width=\"10\" height=\"10\" fill=\"%s\"/>\n", x, y - 9,
                kinds[kind].colour);
        svg_text(out, x + 15, y, "start", SVG_INK, kinds[kind].name);
        x += 34 + 6.6 * (double)strlen(kinds[kind].name);
    }
    return x;
}
