/* SPDX-License-Identifier: BSD-3-Clause
 * Pipes from the ranks to our standard output and standard error, which pass whole lines. Each *stream* (what one rank
 * writes to one of the two) is collected until a line is complete. Each *sink* (one of our two; one for both where they
 * are the same file, so that a line of either is not cut by the other) is a thread, which reads from its streams and
 * writes their lines. While it cannot write it does not read: its ranks wait, and nothing else.
 *
 * A terminal is rank 0's own standard error, since a program draws (a bar, colours) only where it sees a terminal. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "run.h"

enum {
    LINE = 1 << 16, /* the longest line that surely stays whole, with its end */
    PREFIX = 16,    /* "[255] " */
};

typedef struct stream {
    int fd; /* -1: all is here, or it was not opened */
    char prefix[PREFIX];
    size_t used;
    char data[LINE];
} stream;

typedef struct sink {
    int fd;
    run_output *output;
    pthread_t thread;
    int is_started, streams;
    stream *stream;           /* the first is our own, whose end is that of all: no rank is left to write */
    int own;                  /* where we write to it; -1: ended */
    const stream *unfinished; /* whose line was begun last and has no end yet */
    size_t used;              /* of data, to be written */
    char data[LINE + PREFIX + 1];
    _Atomic int has_failed, is_done; /* nothing can be written any more */
} sink;

struct run_output {
    int sinks;
    sink sink[2];
    int is_prefixed, first;
    _Atomic int has_id;
    char id[RUN_ID]; /* which is complete with that */
    int is_shared; /* rank 0 writes to our standard error itself */
};

static int is_same_file(int one, int other)
{
    struct stat a, b;
    return fstat(one, &a) == 0 && fstat(other, &b) == 0 && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

/* Gives the end to write to; -1 and errno. */
static int open_stream(stream *s)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) < 0)
        return -1;
    fcntl(ends[0], F_SETFL, O_NONBLOCK); /* this end only */
    s->fd = ends[0];
    return ends[1];
}

run_output *run_output_new(int ranks, int is_prefixed, int first)
{
    run_output *o = calloc(1, sizeof *o);
    if (!o)
        return NULL;
    *o = (run_output){
        .is_prefixed = is_prefixed, .first = first, .is_shared = !is_prefixed && first == 0 && isatty(STDERR_FILENO)};
    for (int fd = STDOUT_FILENO; fd <= STDERR_FILENO - is_same_file(STDOUT_FILENO, STDERR_FILENO); fd++) {
        sink *k = &o->sink[o->sinks++];
        *k = (sink){.fd = fd, .output = o, .streams = 1 + 2 * ranks, .own = -1};
        k->stream = calloc((size_t)k->streams, sizeof *k->stream);
        for (int i = 0; k->stream && i < k->streams; i++)
            k->stream[i].fd = -1;
        k->own = k->stream ? open_stream(&k->stream[0]) : -1;
        if (k->own < 0) {
            run_output_free(o);
            return NULL;
        }
        fcntl(k->own, F_SETFL, O_NONBLOCK);
    }
    return o;
}

/* A thread whose writing nobody takes stays as it is, and ends with the process. */
void run_output_free(run_output *o)
{
    int is_stuck = 0;
    for (sink *k = o ? o->sink : NULL; o && k < o->sink + o->sinks; k++) {
        if (k->own >= 0)
            close(k->own);
        k->own = -1;
        if (k->is_started && !k->is_done) {
            pthread_detach(k->thread);
            is_stuck = 1;
            continue;
        }
        if (k->is_started)
            pthread_join(k->thread, NULL);
        for (int i = 0; k->stream && i < k->streams; i++)
            if (k->stream[i].fd >= 0)
                close(k->stream[i].fd);
        free(k->stream);
    }
    if (!is_stuck)
        free(o);
}

int run_output_open(run_output *o, int rank, int descriptor)
{
    if (o->is_shared && rank == 0 && descriptor == STDERR_FILENO)
        return fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0);
    stream *s = &o->sink[descriptor == STDERR_FILENO ? o->sinks - 1 : 0].stream[2 * rank + descriptor];
    if (o->is_prefixed && o->first >= 0)
        snprintf(s->prefix, sizeof s->prefix, "[%d] ", o->first + rank);
    return open_stream(s);
}

void run_output_say(run_output *o, const char *format, ...)
{
    char text[2048];
    size_t begin = (size_t)sprintf(text, "%snbcoll run: ", o->is_shared ? "\n" : ""); /* rank 0 may be within a line */
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text + begin, sizeof text - begin - 1, format, arguments);
    va_end(arguments);
    size_t bytes = strlen(text);
    text[bytes++] = '\n';
    if (write(o->sink[o->sinks - 1].own, text, bytes) < 0)
        return; /* nobody takes our output */
}

/* ---- the threads ----------------------------------------------------------------------------------------------- */

static void flush(sink *k)
{
    for (size_t from = 0; from < k->used && !k->has_failed;) {
        ssize_t written = write(k->fd, k->data + from, k->used - from);
        if (written >= 0)
            from += (size_t)written;
        else if (errno == EAGAIN)
            poll(&(struct pollfd){k->fd, POLLOUT, 0}, 1, -1);
        else if (errno != EINTR) {
            k->has_failed = 1;
            if (k != &k->output->sink[k->output->sinks - 1]) /* that would be said there */
                run_output_say(k->output, "the output could not be written: %s", strerror(errno));
            kill(getpid(), SIGCHLD); /* wakes the launcher */
        }
    }
    k->used = 0;
}

static void append(sink *k, const char *data, size_t bytes)
{
    memcpy(k->data + k->used, data, bytes);
    k->used += bytes;
}

/* The first bytes of a stream that may go on: a line, or what is as long as one, or the last that will come. */
static size_t next_line(const char *data, size_t used, int is_closed)
{
    const char *end = memchr(data, '\n', used);
    if (end)
        return (size_t)(end - data) + 1;
    return used == LINE || is_closed ? used : 0;
}

/* Keeps the line of the first host, and no other, that says the id: it is not for our output. */
static int keeps_id(sink *k, const stream *s, const char *line, size_t bytes)
{
    const size_t begin = sizeof RUN_HAS_ID - 1;
    run_output *o = k->output;
    if (o->first >= 0 || o->has_id || s != &o->sink[0].stream[1] || bytes <= begin || bytes - begin > sizeof o->id ||
        memcmp(line, RUN_HAS_ID, begin) != 0)
        return 0;
    memcpy(o->id, line + begin, bytes - begin - 1);
    o->has_id = 1;
    kill(getpid(), SIGCHLD);
    return 1;
}

static void pass_lines(sink *k, stream *s)
{
    size_t from = 0, bytes;
    for (; (bytes = next_line(s->data + from, s->used - from, s->fd < 0)); from += bytes) {
        if (keeps_id(k, s, s->data + from, bytes))
            continue;
        if (sizeof k->data - k->used < bytes + PREFIX + 1)
            flush(k);
        if (k->unfinished && k->unfinished != s)
            append(k, "\n", 1);
        if (k->unfinished != s)
            append(k, s->prefix, strlen(s->prefix));
        append(k, s->data + from, bytes);
        k->unfinished = s->data[from + bytes - 1] == '\n' ? NULL : s;
    }
    s->used -= from;
    memmove(s->data, s->data + from, s->used);
}

/* Reads once. 0 when nothing came; `is_last`: nothing will. */
static int take(sink *k, stream *s, int is_last)
{
    ssize_t bytes = read(s->fd, s->data + s->used, LINE - s->used);
    s->used += bytes > 0 ? (size_t)bytes : 0;
    if (bytes == 0 || (bytes < 0 && (is_last || (errno != EAGAIN && errno != EINTR)))) {
        close(s->fd);
        s->fd = -1;
    }
    pass_lines(k, s);
    return bytes > 0;
}

static void *serve(void *user)
{
    sink *k = user;
    while (k->stream[0].fd >= 0) {
        struct pollfd polls[1 + 2 * NBCOLL_SHM_RANKS];
        for (int i = 0; i < k->streams; i++)
            polls[i] = (struct pollfd){k->stream[i].fd, POLLIN, 0};
        poll(polls, (nfds_t)k->streams, -1);
        for (int i = k->streams - 1; i >= 0; i--)
            if (polls[i].revents)
                take(k, &k->stream[i], 0);
        flush(k);
    }
    for (stream *s = k->stream; s < k->stream + k->streams; s++)
        while (s->fd >= 0)
            take(k, s, 1);
    flush(k);
    k->is_done = 1;
    kill(getpid(), SIGCHLD);
    return NULL;
}

int run_output_start(run_output *o)
{
    int error = 0;
    for (sink *k = o->sink; k < o->sink + o->sinks && !error; k++) {
        error = pthread_create(&k->thread, NULL, serve, k);
        k->is_started = !error;
    }
    return error;
}

const char *run_output_id(const run_output *o)
{
    return o->has_id ? o->id : NULL;
}

int run_output_has_failed(const run_output *o)
{
    return o->sink[0].has_failed || o->sink[1].has_failed;
}

int run_output_end(run_output *o)
{
    for (sink *k = o->sink; k < o->sink + o->sinks; k++) {
        if (k->own >= 0)
            close(k->own);
        k->own = -1;
        if (!k->is_done)
            return 0;
    }
    return 1;
}
