/* SPDX-License-Identifier: BSD-3-Clause
 * Reading the arguments of a subcommand, and refusing them. */
#include <ctype.h>
#include <getopt.h>
#include <time.h>

#include "command.h"

void command_say(const command *self, const char *format, ...)
{
    va_list arguments;
    fprintf(stderr, self ? "nbcoll %s: " : "nbcoll: ", self ? self->name : "");
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
}

void command_fail_status(const command *self, nbcoll_status why)
{
    if (why != NBCOLL_OK)
        command_fail(self, "%s", nbcoll_status_text(why));
}

void command_add(char *text, size_t room, const char *format, ...)
{
    size_t used = strlen(text);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text + used, room - used, format, arguments);
    va_end(arguments);
}

void *command_alloc(size_t n, size_t bytes)
{
    void *memory = calloc(n + !n, bytes);
    if (!memory)
        command_fail_status(NULL, NBCOLL_ERR_MEMORY);
    return memory;
}

void command_append(void *list, size_t *used, size_t *room, const void *one, size_t bytes)
{
    char *all;
    memcpy(&all, list, sizeof all);
    if (*used == *room) {
        *room = *room ? 2 * *room : 256;
        all = realloc(all, *room * bytes);
        if (!all)
            command_fail_status(NULL, NBCOLL_ERR_MEMORY);
        memcpy(list, &all, sizeof all);
    }
    memcpy(all + *used * bytes, one, bytes);
    ++*used;
}

void command_exit(int status)
{
    if (fflush(stdout) || ferror(stdout))
        command_fail(NULL, "the output could not be written");
    exit(status);
}

void command_write_file(const command *self, const char *name, command_writer *write, void *user)
{
    FILE *out = fopen(name, "w");
    if (!out)
        command_fail(self, "%s: %s", name, strerror(errno));
    write(user, out);
    if (ferror(out) | fclose(out)) /* closed in any case */
        command_fail(self, "%s: it could not be written", name);
}

void command_print_words(FILE *out, const char *begin, const char *again, int indent, int width, const char *words)
{
    int used = fprintf(out, "%-*s", indent, begin), is_fresh = used == indent || begin[used - 1] == ' ';

    while (*(words += strspn(words, " "))) {
        int length = (int)strcspn(words, " ");
        if (!is_fresh && used + 1 + length > width) {
            used = fprintf(out, "\n%-*s", indent, again) - 1;
            is_fresh = 1;
        }
        used += fprintf(out, "%s%.*s", is_fresh ? "" : " ", length, words);
        is_fresh = 0;
        words += length;
    }
    fputc('\n', out);
}

int command_number_at(const char **at, unsigned long long low, unsigned long long high, unsigned long long *out)
{
    char *end;
    if (!isdigit((unsigned char)**at))
        return 0;
    errno = 0;
    *out = strtoull(*at, &end, 10);
    *at = end;
    return !errno && low <= *out && *out <= high;
}

int command_number(const char *word, unsigned long long low, unsigned long long high, unsigned long long *out)
{
    return command_number_at(&word, low, high, out) && !*word;
}

int command_numbers(const char **at, unsigned long long low, unsigned long long high, size_t list[], size_t most,
                    size_t *n)
{
    unsigned long long number;
    for (*n = 0; command_number_at(at, low, high, &number); ++*at) {
        if (*n < most)
            list[*n] = (size_t)number;
        ++*n;
        if (**at != ',')
            return 1;
    }
    return 0;
}

const char *command_next_name(const char *at, char name[COMMAND_WORD])
{
    size_t length = strcspn(at, ",");
    snprintf(name, COMMAND_WORD, "%.*s", (int)length, at);
    return at + length + (at[length] == ',');
}

/* ---- tables of options ------------------------------------------------------------------------------------------- */

enum { HELP_INDENT = 20, HELP_WIDTH = 112 };
enum { ROW = 256, MOST_ROWS = 64 }; /* what getopt gives for a row of the table: ROW and its number */

void command_store(const command_option *o, void *user, uint64_t number)
{
    uint32_t narrow = (uint32_t)number;
    memcpy((char *)user + o->offset, o->size == sizeof narrow ? (void *)&narrow : (void *)&number, o->size);
}

uint64_t command_stored(const command_option *o, const void *user)
{
    uint32_t narrow;
    uint64_t number;
    const char *at = (const char *)user + o->offset;
    memcpy(o->size == sizeof narrow ? (void *)&narrow : (void *)&number, at, o->size);
    return o->size == sizeof narrow ? narrow : number;
}

static const char *dashes(const command_option *o)
{
    return o->name[1] ? "--" : "-";
}

static void take_word(const command *self, const command_option *o, void *user, const char *value)
{
    uint64_t number = o->low;
    int is_text = o->size == sizeof value;
    for (const char *word = o->words; *word; number++) {
        size_t length = strcspn(word, ", ");
        if (strlen(value) == length && (is_text ? strncmp : strncasecmp)(word, value, length) == 0) {
            command_store(o, user, is_text ? (uintptr_t)value : number);
            return;
        }
        word += length;
        word += strncmp(word, " or ", 4) == 0 ? 4 : strspn(word, ", ");
    }
    command_refuse(self, "--%s is %s, not '%s'", o->name, o->words, value);
}

static void take_real(const command *self, const command_option *o, void *user, const char *value)
{
    char *end;
    double number = strtod(value, &end);
    if (end == value || *end || !(number >= 0 && number <= o->most))
        command_refuse(self, "--%s takes a number of 0..%.0f, not '%s'", o->name, o->most, value);
    memcpy((char *)user + o->offset, &number, sizeof number);
}

static void take_number(const command *self, const command_option *o, void *user, const char *value)
{
    unsigned long long number;
    int is_right = command_number(value, o->low, o->high, &number);
    if (!is_right && o->high >= INT_MAX)
        command_refuse(self, "%s%s takes a number from %llu on, not '%s'", dashes(o), o->name, o->low, value);
    if (!is_right)
        command_refuse(self, "%s%s takes a number of %llu..%llu, not '%s'", dashes(o), o->name, o->low, o->high, value);
    command_store(o, user, number);
}

static void take_row(const command *self, const command_option *o, void *user, const char *value)
{
    if (o->take)
        o->take(self, (char *)user + o->offset, value);
    else if (o->value && !value)
        command_store(o, user, (uint64_t)o->without);
    else if (o->words)
        take_word(self, o, user, value);
    else if (o->most > 0)
        take_real(self, o, user, value);
    else if (o->value && o->high)
        take_number(self, o, user, value);
    else
        command_store(o, user, o->value ? (uintptr_t)value : o->low ? o->low : 1);
}

static int is_end(const command_option *o)
{
    return !o->name && !o->help;
}

static void list_options(const command *self, struct option list[], char letters[])
{
    size_t n = 0;
    strcpy(letters, self->has_program ? "+h" : "h");
    for (int i = 0; !is_end(&self->options[i]); i++) {
        const command_option *o = &self->options[i];
        int has = !o->value ? no_argument : *o->value == '[' ? optional_argument : required_argument;
        if (o->name && o->name[1])
            list[n++] = (struct option){o->name, has, NULL, ROW + i};
        else if (o->name)
            command_add(letters, MOST_ROWS, "%s:", o->name);
    }
    list[n++] = (struct option){"help", no_argument, NULL, 'h'};
    list[n] = (struct option){NULL, 0, NULL, 0};
}

void command_take_options(const command *self, int *argc, char **argv[], void *user, unsigned *marks)
{
    struct option list[MOST_ROWS];
    char letters[MOST_ROWS], name[32], *word = **argv;
    list_options(self, list, letters);
    snprintf(name, sizeof name, "nbcoll %s", self->name);
    **argv = name; /* getopt says what is wrong */
    for (int option; (option = getopt_long(*argc, *argv, letters, list, NULL)) != -1;) {
        const command_option *o = self->options + (option >= ROW ? option - ROW : 0);
        if (option == '?')
            exit(COMMAND_USAGE);
        if (option == 'h') {
            command_help(self);
            command_exit(COMMAND_OK);
        }
        while (option < ROW && (!o->name || o->name[0] != option || o->name[1]))
            o++;
        if (marks)
            *marks |= o->marks;
        take_row(self, o, user, optarg);
    }
    **argv = word;
    *argc -= optind;
    *argv += optind;
}

/* Those without a text of their own are explained together with the next one. */
void command_help(const command *self)
{
    char names[COMMAND_COLUMNS * 2] = "";
    fputs(self->help, stdout);
    for (const command_option *o = self->options; !is_end(o); o++) {
        if (!o->name)
            printf("%s\n", o->help);
        if (!o->name || (o->help && !*o->help))
            continue;
        command_add(names, sizeof names, "%s%s%s%s%s", *names ? ", " : "  ", dashes(o), o->name,
                    o->value && *o->value != '[' ? " " : "", o->value ? o->value : "");
        if (!o->help)
            continue;
        int is_long = strlen(names) >= HELP_INDENT;
        if (is_long)
            puts(names);
        command_print_words(stdout, is_long ? "" : names, "", HELP_INDENT, HELP_WIDTH, o->help);
        *names = '\0';
    }
    fputs(self->more ? self->more : "", stdout);
}

int command_is_installed(const char *name)
{
    char line[128];
    snprintf(line, sizeof line, "command -v %s >/dev/null 2>&1", name);
    return system(line) == 0;
}

int command_find_beside(const char *place, const char *begin, const char *name, const char *end, char *file,
                        size_t room)
{
    char self[4096];
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    if (length < 0)
        return 0;
    self[length] = 0;
    *strrchr(self, '/') = 0;
    snprintf(file, room, "%s/%s/%s%s%s", self, place, begin, name, end);
    return access(file, R_OK) == 0;
}

/* ---- the progress bar: drawn anew when its percentage changes ---------------------------------------------------- */

#define CELLS 30

uint64_t command_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

double command_now(void)
{
    return (double)command_ns() * 1e-3;
}

void command_bar_begin(command_bar *bar, double total, double before)
{
    *bar = (command_bar){.is_shown = isatty(STDERR_FILENO), .done = before, .total = total, .percent = -1,
                         .begun = command_now(), .first = before};
}

/* "12 min left"; "" while nothing is known. */
static const char *left(const command_bar *bar, char text[32])
{
    double part = bar->done - bar->first;
    double seconds = part > 0 ? (command_now() - bar->begun) * 1e-6 * (bar->total - bar->done) / part : 0;
    double unit = seconds < 99 ? 1 : seconds < 99 * 60 ? 60 : 3600;
    *text = 0;
    if (part > 0)
        snprintf(text, 32, "%.0f %s left", seconds / unit, unit < 60 ? "s" : unit < 3600 ? "min" : "h");
    return text;
}

void command_bar_add(command_bar *bar, double part, const char *what)
{
    char text[32];
    bar->done += part;
    int percent = bar->total > 0 && bar->done < bar->total ? (int)(100 * bar->done / bar->total) : 100;
    if (!bar->is_shown || percent == bar->percent)
        return;
    bar->percent = percent;
    int full = CELLS * percent / 100;
    fprintf(stderr, "\r[%.*s%*s] %3d%% %-12.12s %-30.30s", full, "##############################", CELLS - full, "",
            percent, left(bar, text), what);
    fflush(stderr);
}

void command_bar_clear(command_bar *bar)
{
    if (!bar->is_shown || bar->percent < 0)
        return;
    fprintf(stderr, "\r%*s\r", CELLS + 8 + 43, "");
    fflush(stderr);
    bar->percent = -1;
}
