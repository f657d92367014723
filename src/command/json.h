/* SPDX-License-Identifier: BSD-3-Clause
 * JSON as all subcommands print it. */
#ifndef COMMAND_JSON_H
#define COMMAND_JSON_H

#include <jansson.h>

/* Prints an object, whose figures have six digits where they are not whole numbers, and gives it up. */
void command_print_json(json_t *all);

#endif
