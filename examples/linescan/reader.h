/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The text of a list of files, one file after the other, without those that are unreadable or damaged: nothing of a
 * file is shown before the whole of it has decompressed cleanly. A file of up to READER_STORE bytes is decompressed
 * into memory; a larger one is read twice, first to verify it, then to show it.
 */
#ifndef LINESCAN_READER_H
#define LINESCAN_READER_H

#include "list.h"
#include "source.h"

#define READER_STORE ((size_t)32 << 20)

/* What a reader tells while it reads. Both are optional. */
typedef struct reader_events {
    void *user;
    bool (*tick)(void *user);                                    /* often; false makes the reader stop */
    void (*skip)(void *user, const char *path, const char *why); /* a file is skipped */
} reader_events;

typedef struct reader {
    const list *files;
    reader_events events;
    size_t next;           /* index in the list */
    size_t clean, skipped; /* files so far */
    uint64_t before;       /* bytes, as stored, of the files before the current one */
    bool stopped;
    bool ended;           /* the current file's last byte is in the store */
    unsigned char *store; /* READER_STORE bytes */
    size_t from, to;      /* what of them was not taken yet */
    source source;
} reader;

/* The list must outlive it. Allocates all it needs. */
reader *reader_open(const list *files, const reader_events *events);
void reader_close(reader *r);

/* Goes to the next clean file. False when there is none, or when it was stopped. */
bool reader_next(reader *r);

/* What comes next in the current file: at least `want` bytes (at most READER_STORE / 2), or all that is left. */
const unsigned char *reader_view(reader *r, size_t want, size_t *got);
void reader_take(reader *r, size_t bytes);

/* How far it is, in bytes as stored. */
uint64_t reader_position(const reader *r);

#endif
