/* SPDX-License-Identifier: BSD-3-Clause
 * See show_svg.h. The simulator tells what happens on a machine on which a message takes a microsecond and all else
 * nothing, so that a microsecond is a round. */
#include "show_svg.h"

#include <math.h>
#include <stdlib.h>

#include "sim.h"
#include "svg.h"

enum { MOST_ROUNDS = 64, ROUND_NS = 1000, LEFT = 90, RIGHT = 200, WIDEST = 1200, ROUND = 58, HEAD = 34 };

typedef struct drawing {
    timeline t;
    const nbcoll_algorithm *algorithm;
    const nbcoll_case *at;
    int only;
    int rounds, left_out;
    double column;
    FILE *out;
} drawing;

static double x_of(const drawing *d, int rank)
{
    return LEFT + d->column * (rank + 0.5);
}

/* The line on which a round begins, and the one before it has ended. */
static double y_of(int round)
{
    return SVG_TOP + HEAD + ROUND * round;
}

static int round_of(const nbcoll_sim_event *e)
{
    return (int)(e->begin / ROUND_NS);
}

static int is_drawn(const drawing *d, const nbcoll_sim_event *e)
{
    return round_of(e) <= MOST_ROUNDS && (d->only < 0 || e->rank == d->only || e->peer == d->only);
}

/* ---- playing --------------------------------------------------------------------------------------------------- */

static void see_event(void *user, const nbcoll_sim_event *e)
{
    drawing *d = user;
    timeline_add(&d->t, e);
    if (e->what == NBCOLL_SIM_MESSAGE && round_of(e) >= d->rounds)
        d->rounds = round_of(e) + 1;
}

static nbcoll_status play(drawing *d)
{
    nbcoll_sim_model model = {.size = sizeof model};
    nbcoll_sim_config config = {.size = sizeof config,
                                .ranks = d->at->ranks,
                                .model = &model,
                                .user = d,
                                .event = see_event};
    sim_case one;
    nbcoll_sim_result result = {.size = sizeof result};
    nbcoll_status status = sim_case_set(&one, NULL, d->algorithm, d->at);
    nbcoll_sim_model_find("unit", &model);
    model.node = (uint32_t)d->at->ranks; /* who shares memory has been settled by who built the schedules */
    if (status == NBCOLL_OK)
        status = sim_play(&one, &config, &result);
    return status == NBCOLL_OK && d->t.has_failed ? NBCOLL_ERR_MEMORY : status;
}

/* ---- drawing --------------------------------------------------------------------------------------------------- */

static void draw_ranks(const drawing *d)
{
    int step = 1;
    char text[24];
    while (d->column * step < 20)
        step *= 2;
    svg_text(d->out, LEFT - 14, SVG_TOP + 14, "end", SVG_PALE, "rank");
    for (int rank = 0; rank < d->at->ranks; rank++) {
        double x = x_of(d, rank);
        snprintf(text, sizeof text, "%d", rank);
        if (rank % step == 0)
            svg_text(d->out, x, SVG_TOP + 14, "middle", SVG_INK, text);
        fprintf(d->out, "<line x1=\"%.1f\" y1=\"%d\" x2=\"%.1f\" y2=\"%.1f\" stroke=\"#e0e0e0\"/>\n", x, SVG_TOP + 22,
                x, y_of(d->rounds) + 10);
    }
}

/* What a round has, in words at its side: "4 messages, 16000 bytes". */
static void draw_round(const drawing *d, int round)
{
    double middle = y_of(round) + ROUND / 2.0 + 4;
    unsigned long messages = 0, reads = 0;
    unsigned long long bytes = 0;
    char text[96];
    for (size_t i = 0; i < d->t.used; i++) {
        const nbcoll_sim_event *e = &d->t.event[i];
        if (e->what != NBCOLL_SIM_MESSAGE || round_of(e) != round || !is_drawn(d, e))
            continue;
        messages += e->kind == NBCOLL_SEND;
        reads += e->kind != NBCOLL_SEND;
        bytes += e->bytes;
    }
    snprintf(text, sizeof text, "round %d", round + 1);
    svg_text(d->out, LEFT - 14, middle, "end", SVG_PALE, text);
    text[0] = '\0';
    if (messages)
        command_add(text, sizeof text, "%lu message%s, ", messages, messages == 1 ? "" : "s");
    if (reads)
        command_add(text, sizeof text, "%lu read%s, ", reads, reads == 1 ? "" : "s");
    command_add(text, sizeof text, "%llu bytes", bytes);
    if (messages + reads)
        svg_text(d->out, LEFT + d->column * d->at->ranks + 14, middle, "start", SVG_PALE, text);
}

static void draw_message(const drawing *d, const nbcoll_sim_event *e)
{
    const int is_read = e->kind != NBCOLL_SEND;
    double x1 = x_of(d, e->rank), y1 = y_of(round_of(e)), x2 = x_of(d, e->peer), y2 = y1 + ROUND;
    double short_of = 5 / hypot(x2 - x1, y2 - y1);
    fprintf(d->out,
            "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" stroke=\"%s\" stroke-width=\"1.6\" "
            "marker-end=\"url(#%s)\"><title>rank %d to rank %d, %llu bytes</title></line>\n",
            x1, y1, x2 + (x1 - x2) * short_of, y2 + (y1 - y2) * short_of,
            svg_colour(is_read ? NBCOLL_FETCH : NBCOLL_SEND), is_read ? "read" : "sent", e->rank, e->peer,
            (unsigned long long)e->bytes);
    fprintf(d->out, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3\" fill=\"" SVG_INK "\"/>\n", x1, y1);
    fprintf(d->out, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3\" fill=\"" SVG_INK "\"/>\n", x2, y2);
}

/* Work of a rank's own stands beside its line: one square for each kind. */
static unsigned draw_work(const drawing *d, const nbcoll_sim_event *e)
{
    nbcoll_kind kind = e->kind == NBCOLL_FETCH_REDUCE ? NBCOLL_REDUCE : e->kind;
    if (kind != NBCOLL_COPY && kind != NBCOLL_REDUCE && kind != NBCOLL_CALL)
        return 0;
    int beside = kind == NBCOLL_COPY ? -14 : kind == NBCOLL_REDUCE ? 6 : 16;
    fprintf(d->out, "<rect x=\"%.1f\" y=\"%.1f\" width=\"8\" height=\"8\" fill=\"%s\"/>\n", x_of(d, e->rank) + beside,
            y_of(round_of(e)) - 4, svg_colour(kind));
    return 1u << kind;
}

static unsigned draw_events(const drawing *d)
{
    unsigned kinds = 0;
    for (size_t i = 0; i < d->t.used; i++) {
        const nbcoll_sim_event *e = &d->t.event[i];
        if (e->what == NBCOLL_SIM_MESSAGE && is_drawn(d, e) && round_of(e) < d->rounds) {
            draw_message(d, e);
            kinds |= 1u << (e->kind == NBCOLL_SEND ? NBCOLL_SEND : NBCOLL_FETCH);
        }
    }
    for (size_t i = 0; i < d->t.used; i++) {
        const nbcoll_sim_event *e = &d->t.event[i];
        if (e->what == NBCOLL_SIM_STEP && is_drawn(d, e) && (d->only < 0 || e->rank == d->only) &&
            round_of(e) <= d->rounds)
            kinds |= draw_work(d, e);
    }
    return kinds;
}

static void draw_all(drawing *d, const char *title, const char *terms)
{
    char more[64];
    d->column = (double)(WIDEST - LEFT - RIGHT) / d->at->ranks;
    d->column = d->column > 56 ? 56 : d->column < 6 ? 6 : d->column;
    d->left_out = d->rounds > MOST_ROUNDS ? d->rounds - MOST_ROUNDS : 0;
    d->rounds -= d->left_out;
    int width = (int)(LEFT + d->column * d->at->ranks + RIGHT), height = (int)y_of(d->rounds) + 56;
    svg_begin(d->out, width < 520 ? 520 : width, height, title, terms);
    for (int i = 0; i < 2; i++)
        fprintf(d->out,
                "<marker id=\"%s\" viewBox=\"0 0 10 10\" refX=\"9\" refY=\"5\" markerWidth=\"9\" markerHeight=\"9\" "
                "markerUnits=\"userSpaceOnUse\" orient=\"auto\"><path d=\"M0 1L10 5L0 9z\" fill=\"%s\"/></marker>\n",
                i ? "read" : "sent", svg_colour(i ? NBCOLL_FETCH : NBCOLL_SEND));
    draw_ranks(d);
    for (int round = 0; round < d->rounds; round++)
        draw_round(d, round);
    double x = svg_legend(d->out, LEFT, height - 18, draw_events(d));
    snprintf(more, sizeof more, "%d more rounds are left out", d->left_out);
    if (d->left_out)
        svg_text(d->out, x + 10, height - 18, "start", SVG_PALE, more);
    svg_end(d->out);
}

nbcoll_status show_svg(const nbcoll_algorithm *algorithm, const nbcoll_case *c, int only, const char *title,
                       const char *terms, FILE *out)
{
    drawing d = {.algorithm = algorithm, .at = c, .only = only, .out = out};
    nbcoll_status status = play(&d);
    if (status == NBCOLL_OK)
        draw_all(&d, title, terms);
    free(d.t.event);
    return status;
}
