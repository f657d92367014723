/* SPDX-License-Identifier: BSD-3-Clause
 * Pipes from the ranks to our standard output and standard error, which pass whole lines. Each *stream* (what one rank
 * writes to one of the two) is collected until a line is complete; each *sink* (one of our two) takes complete lines
 * from its streams in turn. A sink that is not read from holds back its streams, and nothing else.
 *
 * A terminal is rank 0's own standard error, since a program draws (a bar, colours) only where it sees a terminal. */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "run.h"

enum {
    LINE = 1 << 16,  /* the longest line that surely stays whole, with its end */
    PREFIX = 16,     /* "[255] " */
    ROOM = 2 * LINE, /* of a sink: at least one line, its prefix, and the end of the line before */
    PIECE = 4096,    /* what can be written without blocking where poll says that something can */
};

typedef struct stream stream;

typedef struct sink {
    int fd;
    int error;                /* nothing can be written any more */
    const stream *unfinished; /* whose line was begun last and has no end yet */
    int turn;                 /* the stream that was looked at last */
    size_t from, to;          /* of data: to be written */
    char data[ROOM];
} sink;

struct stream {
    int fd; /* -1: all is here */
    sink *sink;
    char prefix[PREFIX];
    size_t used;
    char *data; /* LINE bytes */
};

struct run_output {
    int streams; /* two for each rank, then our own */
    stream *stream;
    sink sink[2];
    int is_shared; /* rank 0 writes to our standard error itself */
};

static int is_same_file(int one, int other)
{
    struct stat a, b;
    return fstat(one, &a) == 0 && fstat(other, &b) == 0 && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

run_output *run_output_new(int ranks, int is_prefixed)
{
    run_output *o = calloc(1, sizeof *o);
    if (!o)
        return NULL;
    o->streams = 2 * ranks + 1;
    o->stream = calloc((size_t)o->streams, sizeof *o->stream);
    o->sink[0].fd = STDOUT_FILENO;
    o->sink[1].fd = STDERR_FILENO;
    o->is_shared = !is_prefixed && isatty(STDERR_FILENO);
    int is_one = is_same_file(STDOUT_FILENO, STDERR_FILENO); /* then a line of either is not cut by the other */
    int failed = !o->stream;
    for (int i = 0; !failed && i < o->streams; i++) {
        stream *s = &o->stream[i];
        s->fd = -1;
        s->sink = &o->sink[!is_one && (i % 2 || i == 2 * ranks)];
        s->data = malloc(LINE);
        if (is_prefixed && i < 2 * ranks)
            snprintf(s->prefix, sizeof s->prefix, "[%d] ", i / 2);
        failed = !s->data;
    }
    if (!failed)
        return o;
    run_output_free(o);
    return NULL;
}

void run_output_free(run_output *o)
{
    for (int i = 0; o && o->stream && i < o->streams; i++) {
        if (o->stream[i].fd >= 0)
            close(o->stream[i].fd);
        free(o->stream[i].data);
    }
    if (o)
        free(o->stream);
    free(o);
}

/* ---- from the ranks -------------------------------------------------------------------------------------------- */

int run_output_open(run_output *o, int rank, int descriptor)
{
    int ends[2];
    if (o->is_shared && rank == 0 && descriptor == STDERR_FILENO)
        return fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0);
    if (pipe2(ends, O_CLOEXEC) < 0)
        return -1;
    fcntl(ends[0], F_SETFL, O_NONBLOCK); /* this end only */
    o->stream[2 * rank + descriptor - 1].fd = ends[0];
    return ends[1];
}

void run_output_say(run_output *o, const char *format, ...)
{
    char text[2048];
    size_t begin = (size_t)sprintf(text, "%snbcoll run: ", o->is_shared ? "\n" : ""); /* rank 0 may be within a line */
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(text + begin, sizeof text - begin - 1, format, arguments);
    va_end(arguments);
    stream *s = &o->stream[o->streams - 1];
    size_t bytes = strlen(text);
    if (length < 0 || bytes + 1 > LINE - s->used)
        return;
    text[bytes++] = '\n';
    memcpy(s->data + s->used, text, bytes);
    s->used += bytes;
}

/* Reads once. 0 when nothing came. */
static int take(stream *s)
{
    ssize_t bytes = read(s->fd, s->data + s->used, LINE - s->used);
    if (bytes > 0) {
        s->used += (size_t)bytes;
        return 1;
    }
    if (bytes == 0 || (errno != EAGAIN && errno != EINTR)) {
        close(s->fd);
        s->fd = -1;
    }
    return 0;
}

void run_output_drain(run_output *o)
{
    for (stream *s = o->stream; s < o->stream + o->streams; s++) {
        while (s->fd >= 0 && s->used < LINE && take(s))
            ;
        if (s->fd >= 0 && s->used < LINE) {
            close(s->fd);
            s->fd = -1;
        }
    }
}

/* ---- to the sinks ---------------------------------------------------------------------------------------------- */

/* The first bytes of a stream that may go on: a line, or what is as long as one, or the last that will come. */
static size_t next_line(const stream *s)
{
    const char *end = memchr(s->data, '\n', s->used);
    if (end)
        return (size_t)(end - s->data) + 1;
    return s->used == LINE || s->fd < 0 ? s->used : 0;
}

static void append(sink *k, const char *data, size_t bytes)
{
    memcpy(k->data + k->to, data, bytes);
    k->to += bytes;
}

/* Moves lines of a stream to its sink while there is room for a longest one. */
static void move_lines(stream *s)
{
    sink *k = s->sink;
    stream rest = *s;
    size_t bytes;
    while (ROOM - k->to >= LINE + PREFIX + 1 && (bytes = next_line(&rest))) {
        if (k->unfinished && k->unfinished != s)
            append(k, "\n", 1);
        if (k->unfinished != s)
            append(k, s->prefix, strlen(s->prefix));
        append(k, rest.data, bytes);
        k->unfinished = rest.data[bytes - 1] == '\n' ? NULL : s;
        rest.data += bytes;
        rest.used -= bytes;
    }
    memmove(s->data, rest.data, rest.used);
    s->used = rest.used;
}

/* Gives an empty sink the lines of the next streams that have some. */
static void fill(run_output *o, sink *k)
{
    k->from = k->to = 0;
    for (int i = 0; i < o->streams; i++) {
        k->turn = (k->turn + 1) % o->streams;
        stream *s = &o->stream[k->turn];
        if (s->sink != k)
            continue;
        if (k->error)
            s->used = 0;
        else
            move_lines(s);
    }
}

/* 0, or an errno. */
static int write_piece(sink *k)
{
    size_t bytes = k->to - k->from;
    ssize_t written = write(k->fd, k->data + k->from, bytes < PIECE ? bytes : PIECE);
    if (written >= 0)
        k->from += (size_t)written;
    else if (errno != EAGAIN && errno != EINTR) {
        k->error = errno;
        return errno;
    }
    return 0;
}

/* ---- the poll -------------------------------------------------------------------------------------------------- */

size_t run_output_polls(int ranks)
{
    return 2 * (size_t)ranks + 2;
}

void run_output_ask(run_output *o, struct pollfd polls[])
{
    for (sink *k = o->sink; k < o->sink + 2; k++) {
        if (k->from == k->to || k->error)
            fill(o, k);
        *polls++ = (struct pollfd){k->from < k->to ? k->fd : -1, POLLOUT, 0};
    }
    for (const stream *s = o->stream; s < o->stream + o->streams - 1; s++)
        *polls++ = (struct pollfd){s->used < LINE ? s->fd : -1, POLLIN, 0};
}

int run_output_move(run_output *o, const struct pollfd polls[])
{
    int error = 0;
    for (sink *k = o->sink; k < o->sink + 2; k++, polls++) {
        int failed = polls->revents ? write_piece(k) : 0;
        error = error ? error : failed;
    }
    for (stream *s = o->stream; s < o->stream + o->streams - 1; s++, polls++)
        if (polls->revents)
            take(s);
    return error;
}

int run_output_is_done(const run_output *o)
{
    for (const sink *k = o->sink; k < o->sink + 2; k++)
        if (k->from < k->to)
            return 0;
    for (const stream *s = o->stream; s < o->stream + o->streams; s++)
        if (s->fd >= 0 || s->used)
            return 0;
    return 1;
}
