/* SPDX-License-Identifier: BSD-3-Clause
 * Rows: JSON as all subcommands print it. */
#include "command.h"

void command_print_json(json_t *all)
{
    json_dumpf(all, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(6));
    puts("");
    json_decref(all);
}

static const json_t *find(const json_t *row, const char *key)
{
    char name[COMMAND_WORD];
    size_t length = strcspn(key, ".");
    if (json_is_array(row))
        return json_array_get(row, (size_t)atoi(key));
    snprintf(name, sizeof name, "%.*s", (int)length, key);
    return key[length] ? find(json_object_get(row, name), key + length + 1) : json_object_get(row, name);
}

const char *row_text(const json_t *row, const char *key)
{
    const char *text = json_string_value(find(row, key));
    return text ? text : "";
}

int row_is(const json_t *row, const char *key, const char *text)
{
    return strcmp(row_text(row, key), text) == 0;
}

long long row_number(const json_t *row, const char *key)
{
    return (long long)json_integer_value(find(row, key));
}

double row_real(const json_t *row, const char *key)
{
    return json_number_value(find(row, key));
}

json_t *row_part(const json_t *row, const char *keys)
{
    char key[COMMAND_WORD];
    json_t *part = json_object();
    for (keys = command_next_name(keys, key); *key; keys = command_next_name(keys, key))
        json_object_set(part, key, json_object_get(row, key));
    return part;
}

int row_same(const json_t *a, const json_t *b, const char *keys)
{
    json_t *part = row_part(a, keys), *other = row_part(b, keys);
    int is_same = json_equal(part, other);
    json_decref(part);
    json_decref(other);
    return is_same;
}

/* ---- lines ------------------------------------------------------------------------------------------------------- */

static void print_member(const json_t *row, const char *key, char kind, int width, int digits)
{
    double real = row_real(row, key) / (kind == 'u' ? 1e3 : 1);
    const char *text = row_text(row, key);
    if (kind == 'p') {
        real = real < -9.99 ? -999 : 100 * real;
        digits = 0;
    }
    if (kind == 't')
        digits = real < 10 ? 2 : real < 100 ? 1 : 0;
    if (kind == 'u' && digits < 0)
        for (digits = 3; digits && snprintf(NULL, 0, "%.*f", digits, real) > width;)
            digits--;
    if (kind == 'n' && (int)strlen(text) > abs(width))
        printf("%s\n%*s", text, abs(width), "");
    else if (kind == 'c')
        putchar(*text ? *text : '-');
    else if (kind == 's' || kind == 'n')
        printf("%*.*s", width, digits, text);
    else if (kind == 'd')
        printf("%*lld", width, row_number(row, key));
    else
        printf("%*.*f", width, digits, real);
}

void row_print(const json_t *row, const char *text)
{
    for (const char *at; (at = strchr(text, '%')); ) {
        char *kind, key[COMMAND_WORD];
        printf("%.*s", (int)(at - text), text);
        int width = (int)strtol(at + 1, &kind, 10), digits = *kind == '.' ? (int)strtol(kind + 1, &kind, 10) : -1;
        if (*kind == '%') {
            putchar('%');
            text = kind + 1;
            continue;
        }
        size_t length = strcspn(kind + 2, "}");
        snprintf(key, sizeof key, "%.*s", (int)length, kind + 2);
        print_member(row, key, *kind, width, digits);
        text = kind + 2 + length + 1;
    }
    fputs(text, stdout);
}

static void print_value(const json_t *value)
{
    const char *name, *before = "";
    size_t i;
    json_t *one;
    if (json_is_string(value))
        fputs(json_string_value(value), stdout);
    else if (json_is_integer(value))
        printf("%lld", (long long)json_integer_value(value));
    else if (json_is_real(value))
        printf("%.4f", json_real_value(value));
    else if (json_is_null(value))
        putchar('-');
    json_array_foreach(value, i, one)
    {
        fputs(i ? " " : "", stdout);
        print_value(one);
    }
    json_object_foreach((json_t *)(uintptr_t)value, name, one)
    {
        fputs(before, stdout);
        print_value(one);
        before = " ";
    }
}

void row_print_csv(const json_t *row, const char *keys)
{
    char key[COMMAND_WORD];
    for (keys = command_next_name(keys, key); *key; keys = command_next_name(keys, key)) {
        print_value(find(row, key));
        putchar(*keys ? ',' : '\n');
    }
}

void row_print_members(json_t *of)
{
    const char *name, *before = "";
    json_t *value;
    if (!json_is_object(of))
        print_value(of);
    json_object_foreach(of, name, value)
        if (!json_is_object(value) && !json_is_array(value) && (!json_is_string(value) || json_string_length(value))) {
            printf("%s%s ", before, name);
            print_value(value);
            before = ", ";
        }
}
