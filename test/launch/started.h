/* SPDX-License-Identifier: BSD-3-Clause
 * A run of `nbcoll run` inside a test, which knows when its last process has ended: each of them inherits the writing
 * end of a pipe, which is then closed. Nothing waits longer than a minute; the test then fails. */
#ifndef STARTED_H
#define STARTED_H

#include <stddef.h>
#include <sys/types.h>

typedef struct started {
    pid_t pid;     /* of what we started: the guard */
    int output;    /* what it and the ranks write to standard output and standard error */
    int presence;  /* at its end when no process is left */
    int terminal;  /* the other end of its terminal, or -1 */
    size_t length; /* of the text: all that was read of the output */
    char text[1 << 16];
} started;

/* Starts "nbcoll run" with these arguments, separated by blanks, and then `sh -c script` as the program. With a
 * terminal it is the foreground process group of one. */
void start(started *s, const char *arguments, const char *script, int has_terminal);

/* Reads the output until this text has come so many times. */
void await(started *s, const char *text, int times);

/* Reads all output, waits until no process is left, and returns the exit status, or -1 - S when signal S killed the
 * guard. */
int finish(started *s);

/* The same without reading the output. */
int finish_unread(started *s);

/* Did the output have this text? */
int has(const started *s, const char *text);
/* How many times? */
int times(const started *s, const char *text);

/* The number after the first occurrence of a word in the output. */
int number_after(const started *s, const char *word);

#endif
