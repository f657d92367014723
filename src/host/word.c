/* SPDX-License-Identifier: BSD-3-Clause
 * Threads of a process that wake each other: see word.h. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* syscall */
#endif
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "word.h"

int nbcolli_word_sleep(_Atomic uint32_t *word, uint32_t value, uint64_t longest)
{
    struct timespec t = {(time_t)(longest / 1000000000u), (long)(longest % 1000000000u)};
    return syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, &t, NULL, 0) == 0 || errno != ETIMEDOUT;
}

void nbcolli_word_wake(_Atomic uint32_t *word)
{
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

int nbcolli_bell_open(void)
{
    return eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
}

void nbcolli_bell_ring(int bell)
{
    static const uint64_t one = 1;
    (void)!write(bell, &one, sizeof one); /* fails only when 2^64 - 2 of them are unread */
}

int nbcolli_bell_hush(int bell)
{
    uint64_t rung;
    return read(bell, &rung, sizeof rung) == sizeof rung;
}
