/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How a case says what it has found. It runs in a process of its own, and its ranks in threads of that or in processes
 * forked from it; whichever of them finds something wrong says so and ends its process, and with it the case. So no
 * check has to be carried back through threads, and nothing that a broken transport has left behind is used again.
 */
#ifndef NBCOLLI_CONFORMANCE_CASE_H
#define NBCOLLI_CONFORMANCE_CASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nbcoll/conformance.h"

#define MILLISECOND UINT64_C(1000000)

/* Ends the case: it has failed, and why. The first one counts. From any thread and process of the case. */
static _Noreturn void case_fails(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Ends the case: it needs what the transport lacks. Only the case's own thread, with its world closed. */
static _Noreturn void case_is_skipped(const char *why);
/* To be asked in every loop that waits for the transport: ends the case at its deadline, naming what it waited for. */
static void case_waits(const char *what);
static bool case_is_late(void);
/* What is left of the case's time: how long a sleep may last that must end. */
static int case_left_ms(void);

static uint64_t now_ns(void);

/* The condition is the text. */
#define CHECK(condition) ((condition) ? (void)0 : case_fails("%s (%s:%d)", #condition, place(__FILE__), __LINE__))
/* For integers: says both. */
#define CHECK_EQUAL(is, wanted)                                                                                        \
    check_equal((long long)(is), (long long)(wanted), #is " is %lld, not " #wanted ", %lld (%s:%d)", __FILE__, __LINE__)
static const char *place(const char *file); /* without its folders */
static void check_equal(long long is, long long wanted, const char *format, const char *file, int line);

#endif
