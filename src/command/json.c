/* SPDX-License-Identifier: BSD-3-Clause
 * See json.h. */
#include "json.h"

#include <stdio.h>
#include <string.h>

void command_print_json(json_t *all)
{
    json_dumpf(all, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(6));
    puts("");
    json_decref(all);
}

/* The member that the first so many characters of a key name. */
static const json_t *member(const json_t *row, const char *key, size_t length)
{
    char name[64];
    snprintf(name, sizeof name, "%.*s", (int)length, key);
    return json_object_get(row, name);
}

static const json_t *find(const json_t *row, const char *key)
{
    size_t length = strcspn(key, ".");
    return key[length] ? find(member(row, key, length), key + length + 1) : json_object_get(row, key);
}

const char *row_text(const json_t *row, const char *key)
{
    return json_string_value(find(row, key));
}

long long row_number(const json_t *row, const char *key)
{
    return (long long)json_integer_value(find(row, key));
}

double row_real(const json_t *row, const char *key)
{
    return json_number_value(find(row, key));
}

int row_same(const json_t *a, const json_t *b, const char *keys)
{
    for (size_t length; *keys; keys += length + (keys[length] == ' ')) {
        length = strcspn(keys, " ");
        if (!json_equal(member(a, keys, length), member(b, keys, length)))
            return 0;
    }
    return 1;
}
