/* SPDX-License-Identifier: BSD-3-Clause
 * Reading the arguments of a subcommand, and refusing them. */
#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "command.h"

int command_refuse(const command *self, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fprintf(stderr, "nbcoll %s: ", self->name);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    return COMMAND_USAGE;
}

void command_add(char *text, size_t room, const char *format, ...)
{
    size_t used = strlen(text);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text + used, room - used, format, arguments);
    va_end(arguments);
}

void command_print_words(const char *begin, int indent, int width, const char *words)
{
    int used = printf("%-*s", indent, begin), is_fresh = used == indent || begin[used - 1] == ' ';

    while (*(words += strspn(words, " "))) {
        int length = (int)strcspn(words, " ");
        if (!is_fresh && used + 1 + length > width) {
            used = printf("\n%*s", indent, "") - 1;
            is_fresh = 1;
        }
        used += printf("%s%.*s", is_fresh ? "" : " ", length, words);
        is_fresh = 0;
        words += length;
    }
    puts("");
}

int command_number(const char *word, unsigned long long low, unsigned long long high, unsigned long long *out)
{
    char *end;
    if (!isdigit((unsigned char)word[0]))
        return 0;
    errno = 0;
    *out = strtoull(word, &end, 10);
    return !*end && !errno && low <= *out && *out <= high;
}

int command_numbers(const char *words, unsigned long long low, unsigned long long high, size_t list[], size_t most,
                    size_t *n)
{
    for (*n = 0;; words++) {
        char word[24] = "";
        size_t length = strcspn(words, ",");
        unsigned long long number;
        if (length < sizeof word)
            memcpy(word, words, length);
        if (!command_number(word, low, high, &number))
            return 0;
        if (*n < most)
            list[*n] = (size_t)number;
        ++*n;
        words += length;
        if (!*words)
            return 1;
    }
}

int command_take_number(const command *self, const char *option, const char *value, unsigned long long low,
                        unsigned long long high, unsigned long long *out)
{
    if (command_number(value, low, high, out))
        return 0;
    return command_refuse(self, "--%s takes a number of %llu..%llu, not '%s'", option, low, high, value);
}

int command_next(const command *self, int argc, char *argv[], const struct option *options)
{
    opterr = 0;
    int option = getopt_long(argc, argv, self->letters, options, NULL);
    if (option != ':' && option != '?')
        return option;
    const char *word = argv[optind - 1];
    if (option == ':')
        command_refuse(self, "%s lacks its value", word);
    else if (strncmp(word, "--", 2) != 0)
        command_refuse(self, "unknown option -%c", optopt);
    else if (optopt)
        command_refuse(self, "the option takes no value: %s", word);
    else
        command_refuse(self, "unknown or ambiguous option %s", word);
    return '?';
}

int command_take_options(const command *self, int argc, char *argv[], const struct option *options,
                         int (*take)(void *user, int option, const char *value), void *user)
{
    int option, status = 0;
    while (!status && (option = command_next(self, argc, argv, options)) != -1)
        status = option == '?' ? COMMAND_USAGE : take(user, option, optarg);
    return status;
}

int command_is_installed(const char *name)
{
    char file[4096];
    const char *path = getenv("PATH");
    for (size_t length; path && *path; path += length + (path[length] == ':')) {
        length = strcspn(path, ":");
        if (snprintf(file, sizeof file, "%.*s/%s", (int)length, path, name) < (int)sizeof file &&
            access(file, X_OK) == 0)
            return 1;
    }
    return 0;
}
