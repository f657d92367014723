/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Counts text that comes in pieces: lines, words and bytes as Debian 12's `wc` does in the C locale (a word is a run of
 * bytes other than white space with a printable one among them), and a checksum that does not depend on the order of
 * the lines: the sum, modulo 2^64, of a hash of each line, its newline not included. And how often each sequence of 1
 * to `grams` bytes within a line occurs: sequences are put into 65536 classes, by a hash, and counted there.
 */
#ifndef LINESCAN_COUNT_H
#define LINESCAN_COUNT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Each can be added up over parts that end with a line. */
typedef struct totals {
    uint64_t lines, words, bytes, checksum;
    uint64_t sequences, frequencies; /* how many, and a checksum of the classes' counts: set by count_finish */
} totals;

enum { GRAMS_MOST = 8, GRAM_CLASSES = 65536 };

typedef struct counter {
    totals total;
    uint64_t work;    /* dummy operations a line */
    uint64_t hash;    /* of the current line so far */
    bool open;        /* the current line has a byte */
    bool in_word;     /* it is inside a word that was counted */
    uint64_t residue; /* what the dummy operations made */
    unsigned grams;   /* bytes of the longest sequence; 0: none are counted */
    unsigned run;     /* bytes of the current line, at most `grams`, */
    uint64_t recent;  /* and the last of them */
    uint64_t *classes; /* [GRAM_CLASSES]: can be added up; null without grams */
} counter;

/* `grams`: 0..GRAMS_MOST. */
void count_init(counter *c, uint64_t work, unsigned grams);
void count_free(counter *c);
void count_text(counter *c, const unsigned char *text, size_t bytes);

/* The file ends: so does a line without newline, which is hashed but, as in wc, is no line. */
void count_file_end(counter *c);

/* All is counted and added up: sets what is made from the classes. */
void count_finish(counter *c);

#endif
