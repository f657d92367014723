/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Two panels under each other on one scale of time: a row for each rank with bars where it works, and a red ground
 * where fewer ranks work than there are processors: what blocking scatters lose.
 */
#include "picture.h"
#include "options.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum {
    WIDTH = 1000,
    LEFT = 70,
    RIGHT = 30,
    MOST = WIDTH - LEFT - RIGHT,
    HEAD = 96,
    FIRST = 24,
    HEIGHT = 144,
    GAP = 52
};

#define READS "#1d4e89"
#define COUNTS "#5fa8d3"
#define WAITS "#f77f00"
#define IDLE "#f28482"

static const char *const title[FORMS] = {"Blocking scatter", "Nonblocking scatters"};

typedef struct panel {
    FILE *out;
    enum form form;
    int ranks, processors;
    const waits *of;
    double y, scale, row; /* pixels: of its top, of a second, of a rank */
} panel;

static void bar(const panel *p, double from, double to, double y, double height, const char *colour, double opacity)
{
    if (to - from < 0.02)
        return;
    fprintf(p->out, "<rect x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\" fill=\"%s\" fill-opacity=\"%.2f\"/>\n",
            LEFT + from, y, to - from, height, colour, opacity);
}

static void write_text(const panel *p, double x, double y, const char *style, const char *text)
{
    fprintf(p->out, "<text x=\"%.1f\" y=\"%.1f\" %s>%s</text>\n", LEFT + x, y, style, text);
}

/* How many ranks work at this moment. */
static int working(const panel *p, double at)
{
    int all = 0;
    for (int i = 0; i < p->ranks; i++) {
        const waits *w = &p->of[i];
        bool works = at < w->ended;
        for (size_t j = 0; j < w->count && works; j++)
            works = w->at[j].counts || at < w->at[j].from || at >= w->at[j].to;
        all += works;
    }
    return all;
}

/* The ground, pixel by pixel. Returns the share of the time, 0 to 1, in which the processors have nothing to do. */
static double ground(const panel *p)
{
    double end = p->of[0].ended * p->scale, lost = 0;
    int before = 0, from = 0;
    for (int x = 0; x <= (int)end + 1; x++) {
        int idle = x < (int)end ? p->processors - working(p, (x + 0.5) / p->scale) : 0;
        idle = idle > 0 ? idle : 0;
        lost += idle;
        if (idle == before)
            continue;
        if (before > 0)
            bar(p, from, x, p->y, HEIGHT, IDLE, (double)before / p->processors);
        before = idle;
        from = x;
    }
    return lost / (end * p->processors);
}

static void row(const panel *p, int rank)
{
    const waits *w = &p->of[rank];
    double y = p->y + (rank > 0) * FIRST + (rank - (rank > 0)) * p->row, at = 0;
    double height = rank > 0 ? p->row * 0.75 : FIRST - 4;
    char text[20];
    for (size_t i = 0; i < w->count; i++) {
        double from = w->at[i].from, to = w->at[i].to;
        bar(p, at * p->scale, from * p->scale, y, height, rank == 0 ? READS : COUNTS, 1);
        if (w->at[i].counts || rank == 0)
            bar(p, from * p->scale, to * p->scale, y, height, w->at[i].counts ? COUNTS : WAITS, 1);
        at = to;
    }
    snprintf(text, sizeof text, "rank %d", rank);
    if (rank == 0 || p->row >= 12)
        write_text(p, -8, y + height / 2 + 5, "text-anchor=\"end\" font-size=\"12\"", text);
}

static void draw_panel(const panel *p, double saved)
{
    char text[120];
    double end = p->of[0].ended, lost;
    bar(p, 0, end * p->scale, p->y, HEIGHT, "#eeeeee", 1);
    lost = ground(p);
    for (int i = 0; i < p->ranks; i++)
        row(p, i);
    snprintf(text, sizeof text, "%s: %.2f s. Rank 0 waits %.0f%% of it; %.0f%% of the processors' time is not used.",
             title[p->form], end, 100 * p->of[0].seconds / end, 100 * lost);
    write_text(p, 0, p->y - 9, "font-size=\"16\" font-weight=\"bold\"", text);
    if (saved * p->scale > 110) { /* as wide as the text */
        snprintf(text, sizeof text, "%.2f s saved", saved);
        write_text(p, (end + saved / 2) * p->scale, p->y + HEIGHT / 2 + 6,
                   "text-anchor=\"middle\" font-size=\"16\" font-weight=\"bold\" fill=\"#2a9d4a\"", text);
    }
}

static void draw_head(const panel *p, int height)
{
    static const struct {
        int x;
        const char *colour, *text;
    } key[] = {{0, READS, "rank 0 decompresses"},
               {190, WAITS, "rank 0 waits"},
               {320, COUNTS, "a rank counts"},
               {460, IDLE, "fewer ranks work than there are processors"}};
    char text[160];
    fprintf(p->out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" font-family=\"sans-serif\" "
            "font-size=\"14\">\n<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n",
            WIDTH, height);
    snprintf(text, sizeof text,
             "%d ranks on %d processor%s: rank 0 decompresses text and scatters it, all ranks count it", p->ranks,
             p->processors, p->processors == 1 ? "" : "s");
    write_text(p, 0, 24, "font-size=\"16\"", text);
    for (size_t i = 0; i < sizeof key / sizeof *key; i++) {
        bar(p, key[i].x, key[i].x + 24, 38, 13, key[i].colour, 1);
        write_text(p, key[i].x + 30, 49, "", key[i].text);
    }
}

void picture_draw(const char *file, const comparison *c, waits *const of[FORMS])
{
    double blocking = of[BLOCKING][0].ended, other = of[NONBLOCKING][0].ended;
    panel p = {.out = fopen(file, "w"),
               .ranks = c->ranks,
               .processors = c->processors,
               .y = HEAD,
               .scale = MOST / (blocking > other ? blocking : other),
               .row = (double)(HEIGHT - FIRST) / (c->ranks > 1 ? c->ranks - 1 : 1)};
    if (!p.out)
        fatal(file, strerror(errno));
    draw_head(&p, HEAD + FORMS * (HEIGHT + GAP) - GAP / 2);
    for (; p.form < FORMS; p.form++, p.y += HEIGHT + GAP) {
        p.of = of[p.form];
        draw_panel(&p, p.form == NONBLOCKING && c->gain.low > 1 ? blocking - other : 0);
    }
    fprintf(p.out, "</svg>\n");
    if (fclose(p.out))
        fatal(file, "cannot be written");
}
