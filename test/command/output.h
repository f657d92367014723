/* SPDX-License-Identifier: BSD-3-Clause
 *
 * For tests of what `nbcoll` prints as JSON.
 */
#ifndef TEST_COMMAND_OUTPUT_H
#define TEST_COMMAND_OUTPUT_H

#include <jansson.h>

/* Runs `nbcoll` with these arguments (words of a shell), which must succeed, and parses all that it prints. Where there
 * is no such program, the test is skipped. */
json_t *output_of(const char *arguments);

/* A system call that fails. */
typedef struct denial {
    int call, error;
} denial;

/* The same, where the program and its children are denied a system call. */
json_t *output_without(const denial *denied, const char *arguments);

#endif
