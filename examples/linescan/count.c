/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The processing of lines.
 */
#include "count.h"
#include "options.h"

#include <stdlib.h>
#include <string.h>

/* FNV-1a over the bytes of a line, which needs no look-ahead, so that a line may come in pieces. */
#define HASH_BASIS 0xcbf29ce484222325u
#define HASH_PRIME 0x100000001b3u

void count_init(counter *c, uint64_t work, unsigned grams)
{
    *c = (counter){.work = work, .hash = HASH_BASIS, .grams = grams};
    if (grams && !(c->classes = calloc(GRAM_CLASSES, sizeof *c->classes)))
        fatal("counter", "no memory");
}

void count_free(counter *c)
{
    free(c->classes);
}

/* 0 or 1, for arithmetic without branches. */
static inline unsigned is_space(unsigned char byte)
{
    return byte == ' ' || (byte >= '\t' && byte <= '\r');
}

static inline unsigned is_printable(unsigned char byte)
{
    return byte > ' ' && byte < 0x7f;
}

/* FNV's high bits are weak in short lines, and the sum would show it. */
static uint64_t finish_hash(uint64_t hash)
{
    hash = (hash ^ (hash >> 32)) * 0x9e3779b97f4a7c15u;
    hash = (hash ^ (hash >> 29)) * 0xbf58476d1ce4e5b9u;
    return hash ^ (hash >> 32);
}

/* A chain of `work` multiplications; the empty asm makes the compiler believe that somebody reads the result. */
static void dummy_work(counter *c)
{
    uint64_t x = c->hash;
    for (uint64_t i = 0; i < c->work; i++) {
        x = x * 0x5851f42d4c957f2du + i;
        __asm__ volatile("" : "+r"(x));
    }
    c->residue ^= x;
}

static void end_line(counter *c)
{
    c->total.checksum += finish_hash(c->hash);
    dummy_work(c);
    c->hash = HASH_BASIS;
    c->open = c->in_word = false;
    c->run = 0;
}

/* The sequences that end at each of these bytes. */
static void count_sequences(counter *c, const unsigned char *text, size_t bytes)
{
    uint64_t recent = c->recent;
    unsigned run = c->run;
    for (size_t i = 0; i < bytes; i++) {
        recent = recent << 8 | text[i];
        run += run < c->grams;
        for (unsigned length = 1; length <= run; length++) {
            uint64_t sequence = recent & (UINT64_MAX >> (64 - 8 * length));
            c->classes[(sequence + length) * 0x9e3779b97f4a7c15u >> 48]++;
        }
    }
    c->recent = recent;
    c->run = run;
}

static void inside_line(counter *c, const unsigned char *text, size_t bytes)
{
    uint64_t hash = c->hash, words = 0;
    unsigned in_word = c->in_word;
    for (size_t i = 0; i < bytes; i++) {
        unsigned char byte = text[i];
        hash = (hash ^ byte) * HASH_PRIME;
        words += is_printable(byte) & (in_word ^ 1);
        in_word = is_printable(byte) | (in_word & (is_space(byte) ^ 1));
    }
    c->hash = hash;
    c->in_word = in_word;
    c->open |= bytes > 0;
    c->total.words += words;
}

void count_text(counter *c, const unsigned char *text, size_t bytes)
{
    c->total.bytes += bytes;
    while (bytes > 0) {
        const unsigned char *newline = memchr(text, '\n', bytes);
        size_t length = newline ? (size_t)(newline - text) : bytes;
        inside_line(c, text, length);
        if (c->grams)
            count_sequences(c, text, length);
        if (newline) {
            end_line(c);
            c->total.lines++;
            length++;
        }
        text += length;
        bytes -= length;
    }
}

void count_file_end(counter *c)
{
    if (c->open)
        end_line(c);
}

void count_finish(counter *c)
{
    c->total.sequences = c->total.frequencies = 0;
    for (uint64_t i = 0; c->grams && i < GRAM_CLASSES; i++) {
        c->total.sequences += c->classes[i];
        c->total.frequencies += c->classes[i] * finish_hash(i + 1);
    }
}
