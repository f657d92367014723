/* SPDX-License-Identifier: BSD-3-Clause
 * Bells: descriptors that poll readable once rung. Inline: transports ring them with posts. */
#ifndef NBCOLLI_HOST_BELL_H
#define NBCOLLI_HOST_BELL_H

#include <stdint.h>
#include <sys/eventfd.h>
#include <unistd.h>

/* Or -1. */
static inline int nbcolli_bell_open(void)
{
    return eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
}

static inline void nbcolli_bell_ring(int bell)
{
    static const uint64_t one = 1;
    (void)!write(bell, &one, sizeof one); /* fails only when 2^64 - 2 of them are unread */
}

/* Makes it quiet. How often it had been rung. */
static inline uint64_t nbcolli_bell_hush(int bell)
{
    uint64_t rung;
    return read(bell, &rung, sizeof rung) == sizeof rung ? rung : 0;
}

#endif
