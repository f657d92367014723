/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Decompresses file after file into one store.
 */
#include "reader.h"
#include "options.h"

#include <stdlib.h>
#include <string.h>

reader *reader_open(const list *files, const reader_events *events)
{
    reader *r = calloc(1, sizeof *r);
    unsigned char *store = malloc(READER_STORE);
    if (!r || !store)
        fatal("reader", "no memory");
    r->files = files;
    r->events = *events;
    r->skipped = files->skipped;
    r->store = store;
    source_init(&r->source);
    return r;
}

void reader_close(reader *r)
{
    source_free(&r->source);
    free(r->store);
    free(r);
}

static bool tick(reader *r)
{
    if (!r->stopped && r->events.tick && !r->events.tick(r->events.user))
        r->stopped = true;
    return !r->stopped;
}

static void skip(reader *r, const char *why)
{
    r->skipped++;
    if (r->events.skip)
        r->events.skip(r->events.user, r->files->file[r->next - 1].path, why);
}

/* Reads until the store is full or the file ends. False: failed or stopped. */
static bool fill(reader *r)
{
    memmove(r->store, r->store + r->from, r->to - r->from);
    r->to -= r->from;
    r->from = 0;
    while (r->to < READER_STORE && !r->ended) {
        if (!tick(r))
            return false;
        ssize_t got = source_read(&r->source, r->store + r->to, READER_STORE - r->to);
        if (got < 0)
            return false;
        r->to += (size_t)got;
        r->ended = got == 0;
    }
    return true;
}

/* Opens the file and fills the store for the first time. */
static bool show(reader *r, const char *path)
{
    r->from = r->to = 0;
    r->ended = false;
    return source_open(&r->source, path) && fill(r);
}

static bool load(reader *r, const char *path)
{
    if (!show(r, path))
        return false;
    if (r->ended)
        return true;
    while (!r->ended) { /* too large to keep: verify it, then begin again */
        r->from = r->to;
        if (!fill(r))
            return false;
    }
    return show(r, path);
}

bool reader_next(reader *r)
{
    while (r->next < r->files->count && tick(r)) {
        if (r->next > 0)
            r->before += r->files->file[r->next - 1].bytes;
        if (load(r, r->files->file[r->next++].path)) {
            r->clean++;
            return true;
        }
        if (!r->stopped)
            skip(r, r->source.why);
    }
    source_close(&r->source);
    return false;
}

const unsigned char *reader_view(reader *r, size_t want, size_t *got)
{
    if (r->to - r->from < want && !r->ended && !fill(r)) {
        r->ended = true;
        if (!r->stopped) {
            r->clean--;
            skip(r, "changed while it was read, and counted in part");
        }
    }
    *got = r->to - r->from;
    return r->store + r->from;
}

void reader_take(reader *r, size_t bytes)
{
    r->from += bytes;
}

uint64_t reader_position(const reader *r)
{
    uint64_t all = r->before + r->source.offset;
    return all < r->files->bytes ? all : r->files->bytes;
}
