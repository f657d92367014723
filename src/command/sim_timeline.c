/* SPDX-License-Identifier: BSD-3-Clause
 * Timelines of `nbcoll sim`: gathered, then written as a trace for Chrome and Perfetto, or drawn as SVG. */
#include <inttypes.h>
#include <stdlib.h>

#include "sim.h"

void sim_timeline_add(sim_timeline *t, const nbcoll_sim_event *event)
{
    if (t->used == t->room) {
        size_t room = t->room ? 2 * t->room : 256;
        nbcoll_sim_event *more = realloc(t->event, room * sizeof *more);
        t->has_failed |= !more;
        if (!more)
            return;
        t->event = more;
        t->room = room;
    }
    t->event[t->used++] = *event;
}

/* ---- Chrome's trace format ------------------------------------------------------------------------------------- */

/* One line; times are microseconds there. Nodes are its processes, ranks its threads. */
static void chrome_line(const sim_timeline *t, FILE *out, const char *phase, int rank, uint64_t ns)
{
    fprintf(out, ",\n{\"ph\":\"%s\",\"pid\":%d,\"tid\":%d,\"ts\":%" PRIu64 ".%03" PRIu64, phase,
            nbcoll_node_of(t->nodes, rank), rank, ns / 1000, ns % 1000);
}

static void chrome_event(const sim_timeline *t, FILE *out, size_t id)
{
    const nbcoll_sim_event *e = &t->event[id];
    uint64_t ns = e->end - e->begin;
    switch (e->what) {
    case NBCOLL_SIM_STEP:
        chrome_line(t, out, "X", e->rank, e->begin);
        fprintf(out, ",\"dur\":%" PRIu64 ".%03" PRIu64 ",\"name\":\"%s\"", ns / 1000, ns % 1000,
                nbcoll_kind_name(e->kind));
        fprintf(out, ",\"args\":{\"operation\":%u,\"step\":%u,\"bytes\":%" PRIu64, (unsigned)e->operation,
                (unsigned)e->step, e->bytes);
        if (e->peer >= 0)
            fprintf(out, ",\"peer\":%d", e->peer);
        fputs("}}", out);
        break;
    case NBCOLL_SIM_MESSAGE:
        chrome_line(t, out, "s", e->rank, e->begin);
        fprintf(out, ",\"id\":%zu,\"cat\":\"message\",\"name\":\"message\"}", id);
        chrome_line(t, out, "f", e->peer, e->end);
        fprintf(out, ",\"id\":%zu,\"cat\":\"message\",\"name\":\"message\",\"bp\":\"e\"}", id);
        break;
    default:
        chrome_line(t, out, "i", e->rank, e->begin);
        fprintf(out, ",\"s\":\"t\",\"name\":\"%s\"}", e->what == NBCOLL_SIM_STARTED ? "start" : "end");
    }
}

void sim_timeline_chrome(const sim_timeline *t, FILE *out)
{
    fputs("{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n", out);
    for (int rank = 0; rank < t->ranks; rank++)
        fprintf(out, "%s{\"ph\":\"M\",\"pid\":%d,\"tid\":%d,\"name\":\"thread_name\",\"args\":{\"name\":\"rank %d\"}}",
                rank ? ",\n" : "", nbcoll_node_of(t->nodes, rank), rank, rank);
    for (size_t i = 0; i < t->used; i++)
        chrome_event(t, out, i);
    fputs("\n]}\n", out);
}

/* ---- SVG ------------------------------------------------------------------------------------------------------- */

#define SVG_LEFT 70
#define SVG_WIDTH 1000 /* of the time */
#define SVG_ROW 20

static uint64_t svg_last(const sim_timeline *t)
{
    uint64_t last = 1;
    for (size_t i = 0; i < t->used; i++)
        last = t->event[i].end > last ? t->event[i].end : last;
    return last;
}

static double svg_x(uint64_t ns, uint64_t last)
{
    return SVG_LEFT + (double)SVG_WIDTH * (double)ns / (double)last;
}

static int svg_y(int rank)
{
    return 30 + SVG_ROW * rank;
}

static void svg_event(const nbcoll_sim_event *e, uint64_t last, FILE *out)
{
    static const char *const colours[NBCOLL_KIND_COUNT] = {
        [NBCOLL_SEND] = "#d95f02", [NBCOLL_RECV] = "#1b9e77", [NBCOLL_COPY] = "#7570b3", [NBCOLL_REDUCE] = "#e7298a"};
    double begin = svg_x(e->begin, last), end = svg_x(e->end, last);
    const char *colour = colours[e->kind] ? colours[e->kind] : "#666666";
    if (e->what == NBCOLL_SIM_MESSAGE)
        fprintf(out, "<line x1=\"%.1f\" y1=\"%d\" x2=\"%.1f\" y2=\"%d\" stroke=\"#999\"/>\n", begin,
                svg_y(e->rank) + SVG_ROW / 2, end, svg_y(e->peer) + SVG_ROW / 2);
    else if (e->what == NBCOLL_SIM_STEP)
        fprintf(out,
                "<rect x=\"%.1f\" y=\"%d\" width=\"%.1f\" height=\"%d\" fill=\"%s\"><title>%s, step %u, %" PRIu64
                " bytes, %" PRIu64 "..%" PRIu64 " ns</title></rect>\n",
                begin, svg_y(e->rank) + 4, end - begin < 2 ? 2 : end - begin, SVG_ROW - 8, colour,
                nbcoll_kind_name(e->kind), (unsigned)e->step, e->bytes, e->begin, e->end);
    else
        fprintf(out, "<line x1=\"%.1f\" y1=\"%d\" x2=\"%.1f\" y2=\"%d\" stroke=\"#000\"/>\n", begin, svg_y(e->rank) + 2,
                begin, svg_y(e->rank) + SVG_ROW - 2);
}

void sim_timeline_svg(const sim_timeline *t, FILE *out)
{
    uint64_t last = svg_last(t);
    int width = SVG_LEFT + SVG_WIDTH + 20, height = svg_y(t->ranks) + 10;
    fprintf(out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" font-family=\"sans-serif\" "
            "font-size=\"12\">\n<rect width=\"%d\" height=\"%d\" fill=\"#fff\"/>\n",
            width, height, width, height);
    fprintf(out, "<text x=\"%d\" y=\"18\">0</text><text x=\"%d\" y=\"18\" text-anchor=\"end\">%" PRIu64 " ns</text>\n",
            SVG_LEFT, SVG_LEFT + SVG_WIDTH, last);
    for (int rank = 0; rank < t->ranks; rank++)
        fprintf(out, "<text x=\"8\" y=\"%d\">rank %d</text>\n", svg_y(rank) + 14, rank);
    for (size_t i = 0; i < t->used; i++)
        svg_event(&t->event[i], last, out);
    fputs("</svg>\n", out);
}
