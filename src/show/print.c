/* SPDX-License-Identifier: BSD-3-Clause
 * Output of the printers, and the words for a step. */
#include "print.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static void nbcolli_print_flush(nbcolli_printer *p)
{
    if (p->used && !p->is_stopped)
        p->is_stopped = p->write(p->user, p->text, p->used) != 0;
    p->used = 0;
}

void nbcolli_print(nbcolli_printer *p, const char *format, ...)
{
    char piece[256];
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(piece, sizeof piece, format, arguments);
    va_end(arguments);
    size_t bytes = length < 0 ? 0 : (size_t)length;
    if (bytes > sizeof piece - 1)
        bytes = sizeof piece - 1;
    if (bytes > sizeof p->text - p->used)
        nbcolli_print_flush(p);
    memcpy(p->text + p->used, piece, bytes);
    p->used += bytes;
}

nbcoll_status nbcolli_print_end(nbcolli_printer *p)
{
    nbcolli_print_flush(p);
    return p->is_stopped ? NBCOLL_ERR_CALL : NBCOLL_OK;
}

void nbcolli_print_name(nbcolli_printer *p, const char *name, int is_quoted)
{
    for (; *name; name++) {
        unsigned char c = (unsigned char)*name;
        if (is_quoted && (c == '"' || c == '\\'))
            nbcolli_print(p, "\\");
        nbcolli_print(p, "%c", c < ' ' || c == 127 ? '?' : c);
    }
}

static void nbcolli_print_region(nbcolli_printer *p, nbcoll_region r)
{
    static const char *const names[] = {"send", "recv", "scratch", "send", "recv", "packed send", "packed recv"};
    if (r.at.buffer >= NBCOLL_BUFFER_SEND_BLOCK)
        nbcolli_print(p, " %s block %zu", names[r.at.buffer], r.at.offset);
    else
        nbcolli_print(p, " %s[%zu,%zu)", names[r.at.buffer], r.at.offset, r.at.offset + r.bytes);
}

/* Parts that travel as messages are numbered from 2^31 on. */
static void nbcolli_print_message(nbcolli_printer *p, const char *arrow, int peer, uint32_t number, int is_part)
{
    uint32_t lowered = UINT32_C(1) << 31;
    if (is_part || number >= lowered)
        nbcolli_print(p, " %srank %d part %lu", arrow, peer, (unsigned long)(number & (lowered - 1)));
    else
        nbcolli_print(p, " %srank %d #%lu", arrow, peer, (unsigned long)number);
}

static void nbcolli_print_parts(nbcolli_printer *p, const nbcoll_step_view *v)
{
    for (uint32_t i = 0; i < v->part_count; i++) {
        const nbcoll_part *part = &v->parts[i];
        if (i)
            nbcolli_print(p, "%s", p->gap);
        if (v->kind == NBCOLL_CALL)
            nbcolli_print(p, part->number ? " writes" : " reads");
        nbcolli_print_region(p, part->region);
        if (v->kind == NBCOLL_EXPOSE)
            nbcolli_print_message(p, "-> ", part->peer, part->number, 1);
    }
}

static void nbcolli_print_operand(nbcolli_printer *p, const nbcoll_step_view *v, int side)
{
    if (v->kind == NBCOLL_FETCH_REDUCE && (int)v->side == side)
        nbcolli_print_message(p, "", v->peer, v->number, 1);
    else
        nbcolli_print_region(p, v->read[side]);
}

static void nbcolli_print_piece(nbcolli_printer *p, const nbcoll_schedule *s, const nbcoll_step_view *v)
{
    size_t first = nbcoll_schedule_step(s, v->grows)->parts[0].region.at.offset;
    size_t piece = v->whole ? (v->parts[0].region.at.offset - first) / v->piece : 0;
    nbcolli_print(p, " as piece %zu of step %lu", piece, (unsigned long)v->grows);
}

void nbcolli_print_step(nbcolli_printer *p, const nbcoll_schedule *s, nbcoll_step step)
{
    static const char *const lanes[] = {"any", "caller", "progress", "queue", "rail", "start"};
    const nbcoll_step_view *v = nbcoll_schedule_step(s, step);
    if (step <= NBCOLL_END)
        nbcolli_print(p, step == NBCOLL_START ? " start" : " end");
    if (v->kind == NBCOLL_SEND) {
        nbcolli_print_region(p, v->read[0]);
        nbcolli_print_message(p, "-> ", v->peer, v->number, 0);
    } else if (v->kind == NBCOLL_RECV || v->kind == NBCOLL_FETCH) {
        nbcolli_print_region(p, v->write);
        nbcolli_print_message(p, "<- ", v->peer, v->number, v->kind == NBCOLL_FETCH);
    } else if (v->kind == NBCOLL_COPY) {
        nbcolli_print_region(p, v->write);
        nbcolli_print(p, " <-");
        nbcolli_print_region(p, v->read[0]);
    } else if (v->kind == NBCOLL_REDUCE || v->kind == NBCOLL_FETCH_REDUCE) {
        nbcolli_print_region(p, v->write);
        nbcolli_print(p, " <-");
        nbcolli_print_operand(p, v, NBCOLL_LEFT);
        nbcolli_print(p, " %s", nbcoll_op_name(v->reduction.op));
        nbcolli_print_operand(p, v, NBCOLL_RIGHT);
        nbcolli_print(p, " %s", nbcoll_type_name(v->reduction.type));
    }
    nbcolli_print_parts(p, v);
    if (v->grows != NBCOLL_START)
        nbcolli_print_piece(p, s, v);
    if (v->lane != NBCOLL_LANE_ANY)
        nbcolli_print(p, " on %s", lanes[v->lane]);
}
