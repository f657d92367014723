/* SPDX-License-Identifier: BSD-3-Clause
 * Threads of a process that wake each other: those that sleep until a word changes. Who must not miss its change counts
 * itself before, where the other looks. */
#ifndef NBCOLLI_HOST_WORD_H
#define NBCOLLI_HOST_WORD_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

/* Sleeps while the word has this value, at most `longest` nanoseconds; also shorter. 0: for so long. */
int nbcolli_word_sleep(_Atomic uint32_t *word, uint32_t value, uint64_t longest);

/* The same of several words, at most NBCOLLI_WORDS_MOST, while none of them has another value. -1, at once: the system
 * cannot (Linux can from 5.16 on). */
#define NBCOLLI_WORDS_MOST 64
int nbcolli_words_sleep(size_t n, _Atomic uint32_t *const words[], const uint32_t values[], uint64_t longest);

/* Wakes all that sleep on the word, which has been changed. */
void nbcolli_word_wake(_Atomic uint32_t *word);

/* The head of every context: what uses its endpoints beside it, and is to be closed first. */
typedef struct nbcolli_users {
    atomic_uint agents; /* that are open over its endpoints, as far as they, or it, have met the other one */
} nbcolli_users;

#endif
