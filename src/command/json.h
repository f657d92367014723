/* SPDX-License-Identifier: BSD-3-Clause
 * JSON as all subcommands print it. */
#ifndef COMMAND_JSON_H
#define COMMAND_JSON_H

#include <jansson.h>

/* Prints an object, whose figures have six digits where they are not whole numbers, and gives it up. */
void command_print_json(json_t *all);

/* Members of a row; of an object in it, by "object.member". */
const char *row_text(const json_t *row, const char *key);
long long row_number(const json_t *row, const char *key);
double row_real(const json_t *row, const char *key);
/* Have two rows the same of these? Keys with blanks between. */
int row_same(const json_t *a, const json_t *b, const char *keys);

#endif
