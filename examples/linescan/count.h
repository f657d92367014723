/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Counts text that comes in pieces: lines, words and bytes as Debian 12's `wc` does in the C locale (a word is a run of
 * bytes other than white space with a printable one among them), and a checksum that does not depend on the order of
 * the lines: the sum, modulo 2^64, of a hash of each line, its newline not included.
 */
#ifndef LINESCAN_COUNT_H
#define LINESCAN_COUNT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Each can be added up over parts that end with a line. */
typedef struct totals {
    uint64_t lines, words, bytes, checksum;
} totals;

typedef struct counter {
    totals total;
    uint64_t work;    /* dummy operations a line */
    uint64_t hash;    /* of the current line so far */
    bool open;        /* the current line has a byte */
    bool in_word;     /* it is inside a word that was counted */
    uint64_t residue; /* what the dummy operations made */
} counter;

void count_init(counter *c, uint64_t work);
void count_text(counter *c, const unsigned char *text, size_t bytes);

/* The file ends: so does a line without newline, which is hashed but, as in wc, is no line. */
void count_file_end(counter *c);

#endif
