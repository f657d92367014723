/* SPDX-License-Identifier: BSD-3-Clause
 * What it costs that fragments lie apart: so many bytes that no cache holds, as a NIC leaves them in memory, are
 * copied from one place, or in fragments of 1024 bytes from places in no order, each after a look at its flag; into a
 * buffer that is used again. Both in turn, medians of 301, and quartiles of how many times as long fragments take.
 * `scattered ROUNDS`: of fewer. */
#include "timing.h"

enum { FRAGMENT = 1024, MOST = 1 << 20, POOL = 64 << 20, ROUNDS = 301, LINE = 64 };

/* A place of the pool, and whether something has come there. */
typedef struct slot {
    const char *at;
    volatile uint32_t has_come;
} slot;

static void forget(const char *at, size_t bytes)
{
#ifdef __x86_64__
    for (size_t i = 0; i < bytes; i += LINE)
        __builtin_ia32_clflush(at + i);
    __builtin_ia32_mfence();
#else
    static char other[POOL];
    (void)at, (void)bytes;
    memset(other, 1, sizeof other);
#endif
}

/* Places of the pool in no order. */
static void deal(const char *pool, slot *s, size_t count)
{
    for (size_t i = 0; i < count; i++)
        s[i] = (slot){pool + i * FRAGMENT, 1};
    for (size_t i = count; i-- > 1;) {
        size_t other = (size_t)rand() % (i + 1);
        slot kept = s[i];
        s[i] = s[other];
        s[other] = kept;
    }
}

static double copy_whole(char *to, const char *from, size_t bytes)
{
    forget(from, bytes);
    double begun = now();
    memcpy(to, from, bytes);
    __asm__ volatile("" ::: "memory");
    return now() - begun;
}

static double copy_fragments(char *to, const slot *s, size_t count)
{
    for (size_t i = 0; i < count; i++)
        forget(s[i].at, FRAGMENT);
    double begun = now();
    for (size_t i = 0; i < count; i++) {
        while (!s[i].has_come)
            ;
        memcpy(to + i * FRAGMENT, s[i].at, FRAGMENT);
    }
    __asm__ volatile("" ::: "memory");
    return now() - begun;
}

int main(int argc, char *argv[])
{
    enum { SLOTS = POOL / FRAGMENT };
    static double whole[ROUNDS], apart[ROUNDS], ratio[ROUNDS];
    int rounds = argc > 1 ? atoi(argv[1]) : ROUNDS;
    if (rounds < 1 || rounds > ROUNDS) {
        fprintf(stderr, "usage: scattered [ROUNDS]: 1..%d\n", ROUNDS);
        return 2;
    }
    char *pool = malloc(POOL), *to = malloc(MOST);
    slot *s = calloc(SLOTS, sizeof *s);
    memset(pool, 1, POOL);
    memset(to, 1, MOST);
    deal(pool, s, SLOTS);
    printf("%8s %10s %10s %s\n", "bytes", "whole, ns", "apart, ns", "ratio");
    for (size_t bytes = 4096; bytes <= MOST; bytes *= 4) {
        size_t count = bytes / FRAGMENT, first = 0;
        for (int i = 0; i < rounds; i++, first = (first + count) % (SLOTS - MOST / FRAGMENT)) {
            whole[i] = copy_whole(to, pool + first * FRAGMENT, bytes);
            apart[i] = copy_fragments(to, s + first, count);
            ratio[i] = apart[i] / whole[i];
        }
        double usual = median(ratio, rounds);
        printf("%8zu %10.0f %10.0f %.2f (%.2f to %.2f)\n", bytes, median(whole, rounds), median(apart, rounds), usual,
               ratio[rounds / 4], ratio[rounds - 1 - rounds / 4]);
    }
    free(s);
    free(to);
    free(pool);
    return 0;
}
