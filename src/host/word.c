/* SPDX-License-Identifier: BSD-3-Clause
 * Threads of a process that wake each other: see word.h. */
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "host.h"
#include "word.h"

int nbcolli_word_sleep(_Atomic uint32_t *word, uint32_t value, uint64_t longest)
{
    struct timespec t = {(time_t)(longest / 1000000000u), (long)(longest % 1000000000u)};
    return syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, &t, NULL, 0) == 0 || errno != ETIMEDOUT;
}

#ifdef SYS_futex_waitv
int nbcolli_words_sleep(size_t n, _Atomic uint32_t *const words[], const uint32_t values[], uint64_t longest)
{
    struct futex_waitv wait[NBCOLLI_WORDS_MOST] = {{0}};
    static const nbcoll_host system = {.size = sizeof system}; /* whose clock the kernel's is */

    for (size_t i = 0; i < n; i++) {
        wait[i].val = values[i];
        wait[i].uaddr = (uintptr_t)words[i];
        wait[i].flags = FUTEX_32 | FUTEX_PRIVATE_FLAG;
    }
    uint64_t end = nbcolli_now(&system) + longest;
    struct timespec until = {(time_t)(end / 1000000000u), (long)(end % 1000000000u)};
    if (syscall(SYS_futex_waitv, wait, n, 0, &until, CLOCK_MONOTONIC) >= 0 || errno == EAGAIN || errno == EINTR)
        return 1;
    return errno == ETIMEDOUT ? 0 : -1;
}
#else
int nbcolli_words_sleep(size_t n, _Atomic uint32_t *const words[], const uint32_t values[], uint64_t longest)
{
    (void)n, (void)words, (void)values, (void)longest;
    return -1;
}
#endif

void nbcolli_word_wake(_Atomic uint32_t *word)
{
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}
