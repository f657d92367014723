/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Rank 0: fills the next free buffer with whole lines, scatters it, and counts its own part while the scatters are on
 * their way. A line that fits no block is counted here and travels nowhere. The last line of a file, when it lacks its
 * newline, travels with one, so that the next file's text does not join it; what that adds is taken off here.
 */
#include "scan.h"
#include "interrupt.h"

#include <string.h>

typedef struct root {
    scan *scan;
    reader *reader;
    bool in_file;
    size_t room;     /* bytes of text that a block holds */
    uint64_t rounds; /* scatters so far */
} root;

static block *part(const root *r, size_t buffer, int rank)
{
    return (block *)(void *)((unsigned char *)r->scan->blocks[buffer] + (size_t)rank * r->scan->options->buffer);
}

/* Counts the rest of the current line. */
static void count_long_line(root *r)
{
    counter *c = &r->scan->count;
    for (const unsigned char *newline = NULL; !newline;) {
        size_t got;
        const unsigned char *view = reader_view(r->reader, r->room, &got);
        if (got == 0) {
            count_file_end(c);
            return;
        }
        newline = memchr(view, '\n', got);
        size_t bytes = newline ? (size_t)(newline + 1 - view) : got;
        count_text(c, view, bytes);
        reader_take(r->reader, bytes);
    }
}

/* How much of what is left of the file to put into `room` bytes: whole lines, or all if it fits. */
static size_t cut(const unsigned char *view, size_t got, size_t room)
{
    if (got < room)
        return got;
    const unsigned char *newline = memrchr(view, '\n', room);
    return newline ? (size_t)(newline + 1 - view) : 0;
}

/* Fills a block as far as whole lines go; leaves it empty at the end of the text. */
static void fill(root *r, block *b)
{
    *b = (block){0};
    while (b->used < r->room) {
        if (!r->in_file && !(r->in_file = reader_next(r->reader)))
            return;
        size_t got, room = r->room - b->used;
        const unsigned char *view = reader_view(r->reader, room, &got);
        r->in_file = got > 0;
        if (got == 0)
            continue;
        size_t bytes = cut(view, got, room);
        if (bytes == 0 && b->used > 0)
            return; /* the line begins the next block */
        if (bytes == 0) {
            count_long_line(r);
            continue;
        }
        memcpy(b->text + b->used, view, bytes);
        b->used += bytes;
        reader_take(r->reader, bytes);
        if (b->text[b->used - 1] != '\n') {
            b->text[b->used++] = '\n';
            r->scan->count.total.lines--;
            r->scan->count.total.bytes--;
        }
    }
}

/* The next free buffer; waits for one. */
static size_t next_buffer(root *r)
{
    size_t i = scan_free_buffer(r->scan);
    return i < r->scan->in_flight ? i : scan_wait(r->scan);
}

/* Scatters one buffer under the request of that or another free one. */
static void scatter(root *r, size_t request, size_t buffer)
{
    r->rounds++;
    scan_scatter(r->scan, request, r->scan->blocks[buffer], NBCOLL_IN_PLACE);
}

/* Fills a buffer, this rank's own part last. False: no text was left. */
static bool fill_buffer(root *r, size_t i)
{
    uint64_t used = 0;
    for (int rank = 1; rank <= r->scan->ranks; rank++) {
        block *b = part(r, i, rank % r->scan->ranks);
        fill(r, b);
        used += b->used;
    }
    return used > 0;
}

/* The final scatters, all from one buffer, which none of them changes. */
static void announce_end(root *r)
{
    uint64_t rounds = r->rounds + r->scan->in_flight;
    size_t last = next_buffer(r);
    for (int rank = 0; rank < r->scan->ranks; rank++)
        *part(r, last, rank) = (block){.rounds = rounds};
    while (r->rounds < rounds)
        scatter(r, next_buffer(r), last);
}

void scan_root(scan *s, reader *text)
{
    root r = {.scan = s, .reader = text, .room = s->options->buffer - sizeof(block)};
    for (size_t i; i = next_buffer(&r), !interrupted() && fill_buffer(&r, i);) {
        scatter(&r, i, i);
        scan_block(s, part(&r, i, 0));
    }
    announce_end(&r);
    while (scan_wait(s) < s->in_flight)
        continue;
}
