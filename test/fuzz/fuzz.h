/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What comes from a file or from somebody else's socket, made of any bytes: a target for each parser (FUZZ, in a file
 * of its name), and a corpus for each, corpus/NAME, of what real runs say, and of what was once found. clang's
 * libFuzzer makes more of these (preset `fuzz`, targets.cmake); fuzz/test_corpus replays them, without it.
 *
 * A target says what enters, and by FUZZ_NEVER what may not come of it; the sanitizers say the rest: no access outside,
 * no leak, no undefined step, an end.
 */
#ifndef NBCOLL_TEST_FUZZ_H
#define NBCOLL_TEST_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nbcoll/nbcoll.h"

#ifdef FUZZ_ALONE /* under libFuzzer */
#define FUZZ(name)                                                                                                     \
    int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);                                                     \
    int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
#else
#define FUZZ(name)                                                                                                     \
    int fuzz_##name(const uint8_t *data, size_t bytes);                                                                \
    int fuzz_##name(const uint8_t *data, size_t bytes)
#endif

#define FUZZ_NEVER(what)                                                                                               \
    do {                                                                                                               \
        if (what) {                                                                                                    \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #what);                                                 \
            abort();                                                                                                   \
        }                                                                                                              \
    } while (0)

#define FUZZ_NAMED(status) FUZZ_NEVER((unsigned)(status) >= NBCOLL_STATUS_COUNT)

/* ---- what enters, from its beginning on ------------------------------------------------------------------------ */

typedef struct fuzz_input {
    const uint8_t *at;
    size_t left;
} fuzz_input;

/* As many bytes as there are; behind them 0. */
static inline void fuzz_take(fuzz_input *in, void *to, size_t bytes)
{
    size_t n = bytes < in->left ? bytes : in->left;
    memset(to, 0, bytes);
    if (n)
        memcpy(to, in->at, n);
    in->at += n;
    in->left -= n;
}

static inline unsigned fuzz_byte(fuzz_input *in)
{
    uint8_t byte;
    fuzz_take(in, &byte, 1);
    return byte;
}

/* ---- stand-ins (standins.c) -------------------------------------------------------------------------------------- */

/* A file with these bytes; the path lives until the next call. */
const char *fuzz_file(const uint8_t *data, size_t bytes);

/* What is printed goes nowhere until fuzz_loud (FUZZ_LOUD=1 in the environment: to standard error). */
void fuzz_quiet(void);
void fuzz_loud(void);

/* Calls what may end the program (ends.c): its value, or the exit status. */
int fuzz_run(int (*what)(void *user), void *user);

/* While this is set nobody waits: who would is told what is there when the other side has acted once more. */
extern void (*fuzz_other_side)(void *user);
extern void *fuzz_other_user;
/* A clock that goes on by this, in ns, each time that somebody looks: so deadlines come soon. */
nbcoll_host fuzz_host(void);

#endif
