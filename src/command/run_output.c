/* SPDX-License-Identifier: BSD-3-Clause
 * Pipes from the ranks to our standard output and standard error, which pass whole lines. Each *stream* (what one rank
 * writes to one of the two) has a thread, which reads until a line is complete and writes it to the stream's *sink*:
 * one of our two; one for both where they are the same file, so that a line of either is not cut by the other. While a
 * sink cannot be written its streams are not read: their ranks wait, and nothing else.
 *
 * A terminal is rank 0's own standard error, since a program draws (a bar, colours) only where it sees a terminal. */
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/stat.h>

#include "run.h"

enum {
    LINE = 1 << 16, /* the longest line that surely stays whole, with its end */
    PREFIX = 16,    /* "[255] " */
};

typedef struct stream {
    run_output *output;
    int fd; /* 0: it was not opened */
    int sink;
    char prefix[PREFIX];
    char data[LINE];
} stream;

typedef struct sink {
    int fd;
    pthread_mutex_t lock;
    const stream *unfinished; /* whose line was begun last and has no end yet */
    _Atomic int has_failed;   /* nothing can be written any more */
} sink;

struct run_output {
    int sinks;
    sink sink[2];
    int own; /* where we write to the last sink; -1: ended */
    int is_prefixed, first;
    int is_shared; /* rank 0 writes to our standard error itself */
    _Atomic int has_id;
    char id[RUN_ID]; /* which is complete with that */
    _Atomic int live; /* streams whose end has not come */
    int streams;
    stream stream[]; /* the first is our own, then two of each rank */
};

static int is_same_file(int one, int other)
{
    struct stat a, b;
    return fstat(one, &a) == 0 && fstat(other, &b) == 0 && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

/* Gives the end to write to; -1 and errno. */
static int open_stream(run_output *o, stream *s, int descriptor)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) < 0)
        return -1;
    s->output = o;
    s->fd = ends[0];
    s->sink = descriptor == STDERR_FILENO ? o->sinks - 1 : 0;
    return ends[1];
}

run_output *run_output_new(int ranks, int is_prefixed, int first)
{
    run_output *o = calloc(1, sizeof *o + (1 + 2 * (size_t)ranks) * sizeof *o->stream);
    if (!o)
        return NULL;
    o->is_prefixed = is_prefixed;
    o->first = first;
    o->is_shared = !is_prefixed && first == 0 && isatty(STDERR_FILENO);
    o->sinks = is_same_file(STDOUT_FILENO, STDERR_FILENO) ? 1 : 2;
    for (int i = 0; i < o->sinks; i++)
        o->sink[i] = (sink){.fd = STDOUT_FILENO + i, .lock = PTHREAD_MUTEX_INITIALIZER};
    o->streams = 1 + 2 * ranks;
    o->own = open_stream(o, o->stream, STDERR_FILENO);
    return o->own >= 0 && fcntl(o->own, F_SETFL, O_NONBLOCK) == 0 ? o : NULL; /* we wait for nobody to take it */
}

/* A thread whose writing nobody takes ends with the process. */
void run_output_free(run_output *o)
{
    if (run_output_end(o))
        free(o);
}

int run_output_open(run_output *o, int rank, int descriptor)
{
    if (o->is_shared && rank == 0 && descriptor == STDERR_FILENO)
        return fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0);
    stream *s = &o->stream[2 * rank + descriptor];
    if (o->is_prefixed && o->first >= 0)
        snprintf(s->prefix, PREFIX, "[%d] ", o->first + rank);
    return open_stream(o, s, descriptor);
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
    if (write(o->own, text, bytes) < 0)
        return; /* nobody takes our output */
}

/* ---- the threads ------------------------------------------------------------------------------------------------- */

static void put(run_output *o, sink *k, const char *data, size_t bytes)
{
    while (bytes && !k->has_failed) {
        ssize_t written = write(k->fd, data, bytes);
        if (written >= 0) {
            data += written;
            bytes -= (size_t)written;
        } else if (errno == EAGAIN)
            poll(&(struct pollfd){k->fd, POLLOUT, 0}, 1, -1);
        else if (errno != EINTR) {
            k->has_failed = 1;
            if (k != &o->sink[o->sinks - 1]) /* that would be said there */
                run_output_say(o, "the output could not be written: %s", strerror(errno));
            kill(getpid(), SIGCHLD); /* wakes the launcher */
        }
    }
}

/* The first bytes of a stream that may go on: a line (all there are, where none is looked at), or what is as long as
 * one, or the last that will come. */
static size_t next_line(const stream *s, const char *data, size_t used, int is_closed)
{
    const char *end = (*s->prefix || s->output->first < 0 ? memchr : memrchr)(data, '\n', used);
    if (end)
        return (size_t)(end - data) + 1;
    return used == LINE || is_closed ? used : 0;
}

/* Keeps the line of the first host, and no other, that says the id: it is not for our output. */
static int keeps_id(const stream *s, const char *line, size_t bytes)
{
    const size_t begin = sizeof RUN_HAS_ID - 1;
    run_output *o = s->output;
    if (o->first >= 0 || o->has_id || s != &o->stream[1] || bytes <= begin || bytes - begin > sizeof o->id ||
        memcmp(line, RUN_HAS_ID, begin) != 0)
        return 0;
    memcpy(o->id, line + begin, bytes - begin - 1);
    o->has_id = 1;
    kill(getpid(), SIGCHLD);
    return 1;
}

/* Gives the bytes that were passed on. */
static size_t pass_lines(const stream *s, size_t used, int is_closed)
{
    run_output *o = s->output;
    sink *k = &o->sink[s->sink];
    size_t from = 0, bytes;
    pthread_mutex_lock(&k->lock);
    for (; (bytes = next_line(s, s->data + from, used - from, is_closed)); from += bytes) {
        if (keeps_id(s, s->data + from, bytes))
            continue;
        if (k->unfinished && k->unfinished != s)
            put(o, k, "\n", 1);
        if (k->unfinished != s)
            put(o, k, s->prefix, strlen(s->prefix));
        put(o, k, s->data + from, bytes);
        k->unfinished = s->data[from + bytes - 1] == '\n' ? NULL : s;
    }
    pthread_mutex_unlock(&k->lock);
    return from;
}

static void *serve(void *user)
{
    stream *s = user;
    ssize_t bytes;
    size_t used = 0, passed;
    do {
        bytes = read(s->fd, s->data + used, LINE - used);
        used += bytes > 0 ? (size_t)bytes : 0;
        passed = pass_lines(s, used, bytes <= 0);
        used -= passed;
        memmove(s->data, s->data + passed, used);
    } while (bytes > 0);
    close(s->fd);
    if (atomic_fetch_sub(&s->output->live, 1) == 1)
        kill(getpid(), SIGCHLD);
    return NULL;
}

int run_output_start(run_output *o)
{
    pthread_t thread;
    int error = 0;
    for (int i = 0; i < o->streams; i++)
        o->live += o->stream[i].fd > 0;
    for (stream *s = o->stream; s < o->stream + o->streams && !error; s++)
        if (s->fd > 0 && !(error = pthread_create(&thread, NULL, serve, s)))
            pthread_detach(thread);
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
    if (o->own >= 0)
        close(o->own);
    o->own = -1;
    return !o->live;
}
