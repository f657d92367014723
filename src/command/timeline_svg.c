/* SPDX-License-Identifier: BSD-3-Clause
 * A timeline as a drawing: a row for each rank, time from left to right, or round after round. */
#include "sim.h"

enum {
    WIDTH = 1000, TOP = 62, SIDE = 24, LEFT = 84, /* of the paper, and of what is free on it */
    TICKS = 8,
    LEGEND = 450, /* what is not of kinds */
    WORDS = 150,  /* of a round */
};

#define INK "#222222"
#define PALE "#777777"
#define WAIT "#ececec"
#define WAY "#808080"

/* ---- paper, words, colours, and the legend that explains them ---------------------------------------------------- */

/* The colours of Okabe and Ito, which people who see fewer colours tell apart, too. */
static const struct {
    const char *colour, *name;
} looks[NBCOLL_KIND_COUNT] = {
    [NBCOLL_SEND] = {"#0072b2", "send"},     [NBCOLL_RECV] = {"#56b4e9", "receive"},
    [NBCOLL_EXPOSE] = {"#00694e", "expose"}, [NBCOLL_FETCH] = {"#009e73", "fetch"},
    [NBCOLL_COPY] = {"#e69f00", "copy"},     [NBCOLL_REDUCE] = {"#d55e00", "combine"},
    [NBCOLL_CALL] = {"#cc79a7", "call"},     [NBCOLL_FETCH_REDUCE] = {"#b04000", "fetch and combine"},
};

static const char *colour_of(nbcoll_kind kind)
{
    return looks[kind].colour ? looks[kind].colour : PALE;
}

static void put_text(FILE *out, const char *text)
{
    for (; *text; text++)
        if (*text == '<' || *text == '&')
            fputs(*text == '<' ? "&lt;" : "&amp;", out);
        else
            fputc(*text, out);
}

static void put_words(FILE *out, double x, double y, const char *anchor, const char *colour, const char *text)
{
    fprintf(out, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\" fill=\"%s\">", x, y, anchor, colour);
    put_text(out, text);
    fputs("</text>\n", out);
}

static void begin_paper(FILE *out, int width, int height, const char *title, const char *terms)
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
    put_words(out, SIDE, 28, "start", INK, title);
    fputs("</g>\n", out);
    put_words(out, SIDE, 47, "start", PALE, terms);
}

static double put_legend(FILE *out, double x, double y, unsigned of)
{
    for (int kind = 0; kind < NBCOLL_KIND_COUNT; kind++) {
        if (!(of >> kind & 1) || !looks[kind].name)
            continue;
        fprintf(out, "<rect x=\"%.1f\" y=\"%.1f\" width=\"10\" height=\"10\" fill=\"%s\"/>\n", x, y - 9,
                looks[kind].colour);
        put_words(out, x + 15, y, "start", INK, looks[kind].name);
        x += 34 + 6.6 * (double)strlen(looks[kind].name);
    }
    return x;
}

/* ---- ranks and time ---------------------------------------------------------------------------------------------- */

typedef struct drawing {
    const timeline *t;
    FILE *out;
    uint64_t last; /* ns */
    double row;    /* high */
    double bottom;
} drawing;

static double x_of(const drawing *d, uint64_t ns)
{
    return LEFT + (WIDTH - LEFT - SIDE) * (double)ns / (double)d->last;
}

/* The middle of a rank's row. */
static double y_of(const drawing *d, int rank)
{
    return TOP + d->row * (rank + 0.5);
}

static void line(const drawing *d, double x1, double y1, double x2, double y2, const char *look)
{
    fprintf(d->out, "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" %s/>\n", x1, y1, x2, y2, look);
}

/* ---- the axis ---------------------------------------------------------------------------------------------------- */

/* 1, 2 or 5, and zeros: the least distance of at most TICKS ticks. */
static uint64_t distance_of_ticks(uint64_t last)
{
    for (uint64_t power = 1;; power *= 10)
        for (uint64_t i = 1; i <= 5; i += i == 1 ? 1 : 3)
            if (last / (i * power) <= TICKS)
                return i * power;
}

static void draw_axis(const drawing *d)
{
    static const struct {
        uint64_t ns;
        const char *name;
    } units[] = {{1000000000, "s"}, {1000000, "ms"}, {1000, "us"}, {1, "ns"}};
    uint64_t distance = distance_of_ticks(d->last);
    char text[48];
    int u = 0;
    while (units[u].ns > d->last)
        u++;
    for (uint64_t ns = 0; ns <= d->last; ns += distance) {
        snprintf(text, sizeof text, "%.4g", (double)ns / (double)units[u].ns);
        line(d, x_of(d, ns), TOP, x_of(d, ns), d->bottom + 4, "stroke=\"#e4e4e4\"");
        put_words(d->out, x_of(d, ns), d->bottom + 18, "middle", PALE, text);
    }
    snprintf(text, sizeof text, "time, %s", units[u].name);
    put_words(d->out, WIDTH - SIDE, d->bottom + 44, "end", PALE, text);
}

/* "4 messages, 16000 bytes" */
static void count_round(const timeline *t, int round, char text[96])
{
    unsigned long messages = 0, reads = 0;
    unsigned long long bytes = 0;
    for (const nbcoll_sim_event *e = t->event; e < t->event + t->used; e++)
        if (e->what == NBCOLL_SIM_MESSAGE && (int)(e->begin / TIMELINE_ROUND) == round) {
            messages += e->kind == NBCOLL_SEND;
            reads += e->kind != NBCOLL_SEND;
            bytes += e->bytes;
        }
    *text = '\0';
    if (messages)
        command_add(text, 96, "%lu message%s, ", messages, messages == 1 ? "" : "s");
    if (reads)
        command_add(text, 96, "%lu read%s, ", reads, reads == 1 ? "" : "s");
    command_add(text, 96, "%llu bytes", bytes);
}

/* Where there is no room for the words, they appear when a mouse is there. */
static void draw_rounds(const drawing *d)
{
    double width = x_of(d, TIMELINE_ROUND) - LEFT;
    char number[24], words[96];
    for (int round = 0; round <= d->t->rounds; round++) {
        double x = x_of(d, (uint64_t)round * TIMELINE_ROUND);
        line(d, x, TOP, x, d->bottom + 4, "stroke=\"#e4e4e4\"");
        if (round == d->t->rounds)
            break;
        snprintf(number, sizeof number, "%s%d", width < WORDS ? "" : "round ", round + 1);
        count_round(d->t, round, words);
        fprintf(d->out, "<g><title>%s</title>\n", words);
        if (width >= 20 || round % 2 == 0)
            put_words(d->out, x + width / 2, d->bottom + 12, "middle", PALE, number);
        if (width >= WORDS)
            put_words(d->out, x + width / 2, d->bottom + 26, "middle", PALE, words);
        fputs("</g>\n", d->out);
    }
    for (int i = 0; i < 2; i++)
        fprintf(d->out,
                "<marker id=\"%s\" viewBox=\"0 0 10 10\" refX=\"9\" refY=\"5\" markerWidth=\"9\" markerHeight=\"9\" "
                "markerUnits=\"userSpaceOnUse\" orient=\"auto\"><path d=\"M0 1L10 5L0 9z\" fill=\"%s\"/></marker>\n",
                i ? "read" : "sent", colour_of(i ? NBCOLL_FETCH : NBCOLL_SEND));
}

static void draw_rank(const drawing *d, int rank, int of_labels)
{
    char text[24];
    snprintf(text, sizeof text, "rank %d", rank);
    if (rank % of_labels == 0)
        put_words(d->out, LEFT - 12, y_of(d, rank) + 4, "end", INK, text);
    line(d, LEFT, y_of(d, rank), WIDTH - SIDE, y_of(d, rank), "stroke=\"#eeeeee\"");
}

/* ---- what happens ------------------------------------------------------------------------------------------------ */

static void draw_step(const drawing *d, const nbcoll_sim_event *e)
{
    double begin = x_of(d, e->begin < d->last ? e->begin : d->last), width = x_of(d, e->end) - begin;
    double height = d->row * (d->t->rounds ? 0.3 : 0.5);
    double least = d->t->rounds ? 6 : 1.5;
    if (d->t->rounds) /* kinds beside each other, where a message comes or goes */
        begin += e->kind == NBCOLL_COPY ? -8 : e->kind == NBCOLL_CALL ? 8 : 0;
    fprintf(d->out,
            "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" fill=\"%s\"><title>%s, step %u, %" PRIu64
            " bytes, %" PRIu64 "..%" PRIu64 " ns</title></rect>\n",
            begin, y_of(d, e->rank) - height / 2, width < least ? least : width, height, colour_of(e->kind),
            nbcoll_kind_name(e->kind), (unsigned)e->step, e->bytes, e->begin, e->end);
}

/* From where its sender's core has given it away; along the sender's row until the interface is free. */
static void draw_message(const drawing *d, size_t i)
{
    const nbcoll_sim_event *e = &d->t->event[i];
    int is_read = e->kind != NBCOLL_SEND;
    char look[96] = "stroke=\"" WAY "\"";
    if (d->t->rounds)
        snprintf(look, sizeof look, "stroke=\"%s\" stroke-width=\"1.6\" marker-end=\"url(#%s)\"",
                 colour_of(is_read ? NBCOLL_FETCH : NBCOLL_SEND), is_read ? "read" : "sent");
    fprintf(d->out,
            "<path d=\"M%.1f %.1fH%.1fL%.1f %.1f\" fill=\"none\" %s><title>from rank %d to rank %d, %" PRIu64
            " bytes, %" PRIu64 "..%" PRIu64 " ns</title></path>\n",
            x_of(d, timeline_given(d->t, i)), y_of(d, e->rank), x_of(d, e->begin), x_of(d, e->end), y_of(d, e->peer),
            look, e->rank, e->peer, e->bytes, e->begin, e->end);
}

/* From start to end, or until the rank ended: what no step covers of it, the rank waits. */
static void draw_wait(const drawing *d, const nbcoll_sim_event *started)
{
    double begin = x_of(d, started->begin), height = d->row * 0.5;
    for (const nbcoll_sim_event *e = started; e < d->t->event + d->t->used; e++)
        if (e->operation == started->operation && (timeline_is_missing(e) ? e->peer == started->rank
                                                   : e->what == NBCOLL_SIM_ENDED && e->rank == started->rank))
            fprintf(d->out, "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" fill=\"" WAIT "\"/>\n", begin,
                    y_of(d, started->rank) - height / 2, x_of(d, e->begin) - begin, height);
}

static void draw_mark(const drawing *d, const nbcoll_sim_event *e)
{
    double x = x_of(d, e->begin), y = y_of(d, e->rank), half = d->row * 0.4;
    line(d, x, y - half, x, y + half, "stroke=\"" INK "\" stroke-width=\"1.5\"");
}

/* The kinds that the legend explains: of rounds also what is sent and read. */
static unsigned kind_of(const timeline *t, const nbcoll_sim_event *e)
{
    int is_message = e->what == NBCOLL_SIM_MESSAGE;
    if (e->what == NBCOLL_SIM_STEP || (t->rounds && is_message))
        return 1u << (is_message && e->kind != NBCOLL_SEND ? NBCOLL_FETCH : e->kind);
    return 0;
}

/* Messages below steps, so that a step that sends covers where they begin. */
static void draw_events(const drawing *d)
{
    const nbcoll_sim_event *event = d->t->event;
    for (size_t i = 0; i < d->t->used; i++)
        if (event[i].what == NBCOLL_SIM_STARTED)
            draw_wait(d, &event[i]);
    for (size_t i = 0; i < d->t->used; i++)
        if (event[i].what == NBCOLL_SIM_MESSAGE && !timeline_is_missing(&event[i]))
            draw_message(d, i);
    for (size_t i = 0; i < d->t->used; i++)
        if (event[i].what == NBCOLL_SIM_STEP)
            draw_step(d, &event[i]);
        else if (event[i].what == NBCOLL_SIM_STARTED || event[i].what == NBCOLL_SIM_ENDED)
            draw_mark(d, &event[i]);
}

static void draw_legend(const drawing *d, unsigned kinds)
{
    double y = d->bottom + 44, x = put_legend(d->out, LEFT, y, kinds);
    if (d->t->rounds)
        return;
    if (x > WIDTH - LEGEND) {
        x = LEFT;
        y += 18;
    }
    fprintf(d->out, "<rect x=\"%.1f\" y=\"%.1f\" width=\"10\" height=\"10\" fill=\"" WAIT "\"/>\n", x, y - 9);
    put_words(d->out, x + 15, y, "start", INK, "wait");
    x += 62;
    line(d, x, y - 4, x + 22, y - 4, "stroke=\"" WAY "\"");
    put_words(d->out, x + 27, y, "start", INK, "message on its way");
    x += 160;
    line(d, x, y - 9, x, y + 1, "stroke=\"" INK "\" stroke-width=\"1.5\"");
    put_words(d->out, x + 7, y, "start", INK, "start, and end of the wait");
}

void timeline_svg(void *user, FILE *out)
{
    const timeline *t = user;
    drawing d = {.t = t, .out = out, .last = t->rounds ? (uint64_t)t->rounds * TIMELINE_ROUND : 1,
                 .row = t->ranks <= 20 ? 28 : t->ranks <= 60 ? 14 : 8};
    int of_labels = d.row < 12 ? 2 : 1;
    unsigned kinds = 0;
    d.bottom = TOP + d.row * t->ranks;
    for (size_t i = 0; i < t->used; i++) {
        d.last = t->event[i].end > d.last && !t->rounds ? t->event[i].end : d.last;
        kinds |= kind_of(t, &t->event[i]);
    }
    int is_long = !t->rounds && __builtin_popcount(kinds) > 5; /* a legend of two lines */
    begin_paper(out, WIDTH, (int)d.bottom + (is_long ? 78 : 60), t->title, t->terms);
    (t->rounds ? draw_rounds : draw_axis)(&d);
    for (int rank = 0; rank < t->ranks; rank++)
        draw_rank(&d, rank, of_labels);
    draw_events(&d);
    draw_legend(&d, kinds);
    fputs("</svg>\n", out);
}
