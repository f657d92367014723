/* SPDX-License-Identifier: BSD-3-Clause
 * What the printers share: output through the host's callback, and the words for a step. Private to this folder. */
#ifndef NBCOLLI_SHOW_PRINT_H
#define NBCOLLI_SHOW_PRINT_H

#include "nbcoll/show.h"

typedef struct nbcolli_printer {
    nbcoll_write *write;
    void *user;
    const char *gap; /* between the parts of a step */
    int is_stopped;
    size_t used;
    char text[512]; /* not yet written */
} nbcolli_printer;

/* Prints a piece of at most 255 bytes. */
void nbcolli_print(nbcolli_printer *p, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Prints a schedule's name; with quotes and backslashes escaped, if it goes into a quoted string. */
void nbcolli_print_name(nbcolli_printer *p, const char *name, int is_quoted);

/* Prints what a step does, beginning with a space, if there is anything to say beyond its kind. */
void nbcolli_print_step(nbcolli_printer *p, const nbcoll_schedule *s, nbcoll_step step);

/* Writes what is left, and tells how the printing went. */
nbcoll_status nbcolli_print_end(nbcolli_printer *p);

#endif
