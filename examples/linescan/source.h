/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The bytes of one file, decompressed. A file that begins like gzip is gzip (any number of members, zeros behind the
 * last); one whose name ends in .gz must be; any other is plain. Damage is what `gzip -t` would refuse.
 */
#ifndef LINESCAN_SOURCE_H
#define LINESCAN_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <zlib.h>

typedef struct source {
    int fd; /* -1: none open */
    bool must_be_gzip;
    enum { SOURCE_START, SOURCE_PLAIN, SOURCE_MEMBER, SOURCE_BETWEEN } state;
    uint64_t offset; /* bytes read from the file */
    const char *why; /* what the last failure was */
    z_stream z;      /* its next_in and avail_in hold what was read and not used yet, plain files too */
    unsigned char in[128 << 10];
} source;

void source_init(source *s);
void source_free(source *s);

/* Opens a file, closing the one before; makes no allocation. False: see why. */
bool source_open(source *s, const char *path);

/* Up to `room` > 0 bytes, and up to SOURCE_PIECE, so that a caller gets control back often; 0 when the file has ended
 * well; -1: see why. */
#define SOURCE_PIECE (256u << 10)
ssize_t source_read(source *s, unsigned char *to, size_t room);

void source_close(source *s);

#endif
