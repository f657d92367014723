/* SPDX-License-Identifier: BSD-3-Clause
 * Tests of one thread, among others: the thread sanitizer has nothing to find in them, and takes twenty times as long.
 * It passes them over. Include cmocka.h first. */
#ifndef ALONE_H
#define ALONE_H

#ifdef __SANITIZE_THREAD__
enum { IS_FOR_THREADS = 1 };
#else
enum { IS_FOR_THREADS = 0 };
#endif

static inline void alone_passed_over(void **state)
{
    (void)state;
    skip();
}

/* In the place of cmocka_unit_test(). */
#define unit_test_alone(f)                                                                                             \
    {                                                                                                                  \
        #f, IS_FOR_THREADS ? alone_passed_over : f, NULL, NULL, NULL                                                   \
    }

#endif
