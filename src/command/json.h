/* SPDX-License-Identifier: BSD-3-Clause
 * JSON as all subcommands print it. */
#ifndef COMMAND_JSON_H
#define COMMAND_JSON_H

#include <jansson.h>

/* Prints an object, whose figures have six digits where they are not whole numbers, and gives it up. */
void command_print_json(json_t *all);

/* Prints a row: a text in which "%8.2f{us}" stands for a member, by row_real, "%d" by row_number, "%s" by row_text (""
 * where there is none), with a width that may be negative, as in printf. "%u": ns as microseconds, with as many
 * decimals, at most 3, as there is room for. "%t": microseconds with those decimals that are worth printing. "%p": a
 * part as percent; below -999 it is all the same. "%n": a name; what is longer has a line of its own. "%c": the first
 * letter of a text, '-' where there is none. */
void row_print(const json_t *row, const char *text);
/* The members that these keys, with blanks between, name, with commas between; an object's with blanks between. */
void row_print_csv(const json_t *row, const char *keys);
/* "name value, name value": the members that are no objects or arrays, and not empty. Or the values of an array. */
void row_print_members(json_t *row);

/* Members of a row; of an object or array in it, by "object.member", "array.0". */
const char *row_text(const json_t *row, const char *key);
long long row_number(const json_t *row, const char *key);
double row_real(const json_t *row, const char *key);
/* An object of these members alone. Keys with blanks between. */
json_t *row_part(const json_t *row, const char *keys);
/* Have two rows the same of these? */
int row_same(const json_t *a, const json_t *b, const char *keys);

#endif
