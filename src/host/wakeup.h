/* SPDX-License-Identifier: BSD-3-Clause
 * Waking a rank that sleeps: an eventfd, and a word in memory of all that may wake it, which says that it is about to
 * sleep. Whoever has something for it publishes that first, then looks at the word; the sleeper sets the word first,
 * then looks once more for what was published. At least one of both sees the other if all four are seq_cst; or if the
 * sleeper, between its two, has the cores of all others make a barrier (membarrier): then publishing costs a plain
 * store, and the sleeper pays (test/model/wakeup.pml). Nobody makes a system call for a rank that is awake. Inline: two
 * transports look at the word with each post. */
#ifndef NBCOLLI_HOST_WAKEUP_H
#define NBCOLLI_HOST_WAKEUP_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "bell.h"

/* Has a rank set the word? Then it is taken back, and its caller, alone among all that look, wakes that rank. */
static inline bool nbcolli_wakeup_take(_Atomic uint32_t *word)
{
    return atomic_load(word) && atomic_exchange(word, 0);
}

/* Stores what a rank may wait for; to be followed by the look at its word. */
static inline void nbcolli_wakeup_publish(_Atomic uint64_t *at, uint64_t value, bool sleeper_pays)
{
    if (__builtin_expect(sleeper_pays, 1)) {
        atomic_store_explicit(at, value, memory_order_release); /* with what was written before */
        atomic_signal_fence(memory_order_seq_cst);              /* the compiler keeps the look behind it */
    } else
        atomic_store(at, value);
}

/* The sleeper's own side. */
typedef struct nbcolli_sleeper {
    bool armed;    /* by us, and not yet disarmed by us */
    uint64_t owed; /* wake-ups that somebody who took the word has promised, and that have not been read */
} nbcolli_sleeper;

/* To be followed by the second look. */
static inline void nbcolli_wakeup_arm(nbcolli_sleeper *s, _Atomic uint32_t *word)
{
    if (s->armed)
        return;
    atomic_store(word, 1);
    s->armed = true;
}

/* Is there something to disarm, or to read? */
static inline bool nbcolli_wakeup_is_armed(const nbcolli_sleeper *s)
{
    return s->armed || s->owed;
}

/* Disarms, and reads the wake-ups of those that took the word first. A promised one may come a little later: then a
 * later call reads it. The first reading after an arming is done in any case: the descriptor may have been made
 * readable without a promise. */
static inline void nbcolli_wakeup_disarm(nbcolli_sleeper *s, _Atomic uint32_t *word, int fd, uint64_t (*heard)(int fd))
{
    if (s->armed && !atomic_exchange(word, 0))
        s->owed++;
    s->armed = false;
    uint64_t woken = heard(fd);
    s->owed -= woken < s->owed ? woken : s->owed;
}

#endif
