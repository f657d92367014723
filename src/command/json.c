/* SPDX-License-Identifier: BSD-3-Clause
 * See json.h. */
#include "json.h"

#include <stdio.h>

void command_print_json(json_t *all)
{
    json_dumpf(all, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(6));
    puts("");
    json_decref(all);
}
