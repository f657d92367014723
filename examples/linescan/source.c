/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Decompression with one z_stream for all files.
 */
#include "source.h"
#include "options.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

void source_init(source *s)
{
    memset(&s->z, 0, sizeof s->z);
    s->fd = -1;
    if (inflateInit2(&s->z, MAX_WBITS + 16) != Z_OK) /* + 16: gzip only; checks each member's CRC and length */
        fatal("zlib", s->z.msg ? s->z.msg : "no memory");
}

void source_free(source *s)
{
    source_close(s);
    inflateEnd(&s->z);
}

void source_close(source *s)
{
    if (s->fd >= 0)
        close(s->fd);
    s->fd = -1;
}

static ssize_t fail(source *s, const char *why)
{
    s->why = why;
    return -1;
}

bool source_open(source *s, const char *path)
{
    size_t length = strlen(path);
    source_close(s);
    s->must_be_gzip = length > 3 && strcmp(path + length - 3, ".gz") == 0;
    s->state = SOURCE_START;
    s->offset = 0;
    s->z.avail_in = 0;
    s->fd = open(path, O_RDONLY | O_CLOEXEC);
    if (s->fd < 0)
        s->why = strerror(errno);
    return s->fd >= 0;
}

/* Reads more behind what is not used yet. 1: something came; 0: the file ends; -1: failure. */
static ssize_t refill(source *s)
{
    memmove(s->in, s->z.next_in, s->z.avail_in);
    s->z.next_in = s->in;
    ssize_t got;
    do
        got = read(s->fd, s->in + s->z.avail_in, sizeof s->in - s->z.avail_in);
    while (got < 0 && errno == EINTR);
    if (got < 0)
        return fail(s, strerror(errno));
    s->z.avail_in += (unsigned)got;
    s->offset += (uint64_t)got;
    return got > 0;
}

/* Looks at the first two bytes. */
static ssize_t begin(source *s)
{
    s->z.next_in = s->in;
    for (ssize_t more = 1; s->z.avail_in < 2 && more;)
        if ((more = refill(s)) < 0)
            return -1;
    bool gzip = s->z.avail_in >= 2 && s->in[0] == 0x1f && s->in[1] == 0x8b;
    if (!gzip && s->must_be_gzip)
        return fail(s, s->z.avail_in < 2 ? "truncated" : "not in gzip format");
    s->state = gzip ? SOURCE_MEMBER : SOURCE_PLAIN;
    if (gzip)
        inflateReset(&s->z);
    return 1;
}

static ssize_t read_plain(source *s, unsigned char *to, size_t room)
{
    if (s->z.avail_in == 0) {
        ssize_t more = refill(s);
        if (more <= 0)
            return more;
    }
    size_t n = s->z.avail_in < room ? s->z.avail_in : room;
    memcpy(to, s->z.next_in, n);
    s->z.next_in += n;
    s->z.avail_in -= (unsigned)n;
    return (ssize_t)n;
}

/* Behind a member: the end, another member, or zeros up to the end. 1: a member follows. */
static ssize_t between_members(source *s)
{
    for (bool zeros = false;;) {
        if (s->z.avail_in == 0) {
            ssize_t more = refill(s);
            if (more <= 0)
                return more;
        }
        if (*s->z.next_in != 0) {
            if (zeros)
                return fail(s, "damaged: garbage behind the end");
            s->state = SOURCE_MEMBER;
            inflateReset(&s->z);
            return 1;
        }
        zeros = true;
        s->z.next_in++;
        s->z.avail_in--;
    }
}

static ssize_t read_member(source *s, unsigned char *to, size_t room)
{
    unsigned want = room < SOURCE_PIECE ? (unsigned)room : SOURCE_PIECE;
    s->z.next_out = to;
    s->z.avail_out = want;
    while (s->z.avail_out == want && s->state == SOURCE_MEMBER) {
        if (s->z.avail_in == 0) {
            ssize_t more = refill(s);
            if (more <= 0)
                return more < 0 ? more : fail(s, "truncated");
        }
        int result = inflate(&s->z, Z_NO_FLUSH);
        if (result == Z_STREAM_END)
            s->state = SOURCE_BETWEEN;
        else if (result == Z_MEM_ERROR)
            fatal("zlib", "no memory");
        else if (result != Z_OK && result != Z_BUF_ERROR)
            return fail(s, "damaged");
    }
    return (ssize_t)(want - s->z.avail_out);
}

ssize_t source_read(source *s, unsigned char *to, size_t room)
{
    if (s->state == SOURCE_START && begin(s) < 0)
        return -1;
    if (s->state == SOURCE_PLAIN)
        return read_plain(s, to, room);
    for (;;) { /* members may be empty */
        if (s->state == SOURCE_BETWEEN) {
            ssize_t more = between_members(s);
            if (more <= 0)
                return more;
        }
        ssize_t got = read_member(s, to, room);
        if (got != 0)
            return got;
    }
}
