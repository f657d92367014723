/* SPDX-License-Identifier: BSD-3-Clause
 * Reading tuning files. libinih splits the text into sections, names and values; the lines come to it from here, since
 * it does not say which line a value stands on, nor that one is too long for it. */
#include <ini.h>
#include <stdio.h>

#include "../host/host.h"
#include "nbcoll/tuning.h"

#define TUNING_NEITHER "neither an [operation], nor ALGORITHM = ..., nor a comment"

typedef struct tuning_file {
    nbcoll_tuning tuning; /* first: what the caller frees */
    nbcoll_host host;
    nbcoll_rule *rules;
    size_t room;
} tuning_file;

typedef struct tuning_reader {
    FILE *in;
    tuning_file *file;
    unsigned line;
    int unended; /* the last line had no newline: it must have been the last */
    nbcoll_status status;
    nbcoll_tuning_problem problem;
    const nbcoll_algorithm *const *own; /* the host's */
    size_t owned;
} tuning_reader;

/* Keeps the first problem. Returns 0, for handlers. */
static int tuning_refuse(tuning_reader *r, nbcoll_status status, const char *format, const char *first,
                         const char *second) __attribute__((format(printf, 3, 0)));
static int tuning_refuse(tuning_reader *r, nbcoll_status status, const char *format, const char *first,
                         const char *second)
{
    if (r->status != NBCOLL_OK)
        return 0;
    r->status = status;
    r->problem.line = r->line;
    snprintf(r->problem.text, sizeof r->problem.text, format, first, second);
    return 0;
}

/* ---- values ------------------------------------------------------------------------------------------------------ */

/* A decimal number at *at, which is moved behind it. 0: there is none, or a greater one than `most`. */
static int tuning_number(const char **at, size_t most, size_t *out)
{
    size_t n = 0;

    if (**at < '0' || **at > '9')
        return 0;
    for (; **at >= '0' && **at <= '9'; ++*at)
        if (__builtin_mul_overflow(n, 10, &n) || __builtin_add_overflow(n, (size_t)(**at - '0'), &n) || n > most)
            return 0;
    *out = n;
    return 1;
}

/* "A", "A..B", "A..", "..B": *above is the first number that is too much, 0 when there is none. */
static int tuning_range(const char *word, size_t most, size_t *from, size_t *above)
{
    size_t last = most;
    int has_first = tuning_number(&word, most, from);

    if (!has_first)
        *from = 0;
    if (has_first && !*word)
        last = *from;
    else if (strncmp(word, "..", 2) != 0)
        return 0;
    else {
        word += 2;
        if (!*word && !has_first)
            return 0;
        if (*word && (!tuning_number(&word, most, &last) || *word || last < *from))
            return 0;
    }
    *above = last < most ? last + 1 : 0;
    return 1;
}

static int tuning_whole(const char *word, size_t most, size_t *out)
{
    return tuning_number(&word, most, out) && !*word;
}

/* The next word of the value, in `word`. 0 at the end. */
static int tuning_word(const char **at, char *word, size_t room)
{
    size_t n = 0;

    *at += strspn(*at, " \t");
    for (; **at && **at != ' ' && **at != '\t'; ++*at)
        if (n < room - 1)
            word[n++] = **at;
    word[n] = '\0';
    return n > 0;
}

enum tuning_key { TUNING_RANKS, TUNING_NODES, TUNING_BYTES, TUNING_SEGMENT, TUNING_ARITY, TUNING_PORTS, TUNING_SPLIT,
                  TUNING_LEADERS, TUNING_SHARED, TUNING_APART, TUNING_KEYS };
static const char *const tuning_keys[] = {"ranks", "nodes", "bytes", "segment", "arity", "ports",
                                          "split", "leaders", "shared", "apart"};

/* Sets what a key with a value says. 0: it is no such value. */
static int tuning_set(nbcoll_rule *rule, int key, const char *word)
{
    size_t first = 0, above = 0;
    int fits = key <= TUNING_NODES   ? tuning_range(word, INT_MAX, &first, &above)
               : key == TUNING_BYTES ? tuning_range(word, SIZE_MAX, &first, &above)
                                     : tuning_whole(word, key == TUNING_SEGMENT ? SIZE_MAX : INT_MAX, &first);
    if (key <= TUNING_NODES) {
        *(key == TUNING_RANKS ? &rule->fewest : &rule->fewest_nodes) = (int)first;
        *(key == TUNING_RANKS ? &rule->most : &rule->most_nodes) = above ? (int)(above - 1) : 0;
        fits = fits && (!above || above > 1); /* 0 would mean no limit */
    } else if (key == TUNING_BYTES) {
        rule->from = first;
        rule->below = above;
    } else if (key == TUNING_SEGMENT)
        rule->segment = first;
    else
        *(key == TUNING_ARITY   ? &rule->arity
          : key == TUNING_PORTS ? &rule->ports
          : key == TUNING_SPLIT ? &rule->split
                                : &rule->leaders) = (unsigned)first;
    return fits;
}

static int tuning_value(tuning_reader *r, nbcoll_rule *rule, const char *value)
{
    unsigned seen = 0;
    char word[64], of[64];

    while (tuning_word(&value, word, sizeof word)) {
        int key = 0;
        while (key < TUNING_KEYS && strcmp(word, tuning_keys[key]) != 0)
            key++;
        if (key == TUNING_KEYS)
            return tuning_refuse(r, NBCOLL_ERR_CONFIG, "unknown word '%s'", word, NULL);
        if (seen & 1u << key || (key == TUNING_APART && seen & 1u << TUNING_SHARED) ||
            (key == TUNING_SHARED && seen & 1u << TUNING_APART))
            return tuning_refuse(r, NBCOLL_ERR_CONFIG, "'%s' is said already, or the contrary", word, NULL);
        seen |= 1u << key;
        if (key >= TUNING_SHARED) {
            rule->sharing = key == TUNING_SHARED ? NBCOLL_SHARED : NBCOLL_NOT_SHARED;
            continue;
        }
        tuning_word(&value, of, sizeof of);
        if (!tuning_set(rule, key, of))
            return tuning_refuse(r, NBCOLL_ERR_CONFIG,
                                 key <= TUNING_BYTES ? "%s takes a number, or a range like 2..8, 2.. or ..8, not '%s'"
                                                     : "%s takes a number, not '%s'", word, of);
    }
    return 1;
}

/* ---- rules ------------------------------------------------------------------------------------------------------- */

static int tuning_keep(tuning_reader *r, const nbcoll_rule *rule)
{
    tuning_file *f = r->file;
    size_t count = f->tuning.count, room = f->room ? 2 * f->room : 16;

    if (count == NBCOLL_RULES)
        return tuning_refuse(r, NBCOLL_ERR_LIMIT, "too many rules", NULL, NULL);
    if (count == f->room) {
        nbcoll_rule *more = nbcolli_alloc(&f->host, room * sizeof *more, _Alignof(nbcoll_rule));
        if (!more)
            return tuning_refuse(r, NBCOLL_ERR_MEMORY, "no memory", NULL, NULL);
        if (count)
            memcpy(more, f->rules, count * sizeof *more);
        nbcolli_free(&f->host, f->rules, f->room * sizeof *more);
        f->rules = more;
        f->room = room;
    }
    f->rules[f->tuning.count++] = *rule;
    return 1;
}

static int tuning_operation(const char *name)
{
    int operation = 0;

    while (operation < NBCOLL_OPERATION_COUNT && strcmp(name, nbcoll_operation_name((nbcoll_operation)operation)))
        operation++;
    return operation;
}

static const nbcoll_algorithm *tuning_algorithm(const tuning_reader *r, const char *operation, const char *name)
{
    nbcoll_operation of = (nbcoll_operation)tuning_operation(operation);

    for (size_t i = 0; i < r->owned; i++)
        if (r->own[i]->operation == of && strcmp(r->own[i]->name, name) == 0)
            return r->own[i];
    return nbcoll_algorithm_find(of, name);
}

/* An ini_handler: one `name = value` of a section, which is an operation. */
static int tuning_rule(void *user, const char *section, const char *name, const char *value)
{
    tuning_reader *r = user;

    if (!*section)
        return tuning_refuse(r, NBCOLL_ERR_CONFIG, "a rule stands before any [operation]", NULL, NULL);
    nbcoll_rule rule = {.algorithm = tuning_algorithm(r, section, name), .line = r->line};
    if (!rule.algorithm)
        return tuning_refuse(r, NBCOLL_ERR_CONFIG, "%s has no algorithm '%s'", section, name);
    if (!tuning_value(r, &rule, value))
        return 0;
    if (nbcoll_rules_check(&rule, 1, NULL) == NBCOLL_ERR_UNSUPPORTED)
        return tuning_refuse(r, NBCOLL_ERR_CONFIG, "%s %s does not read one of these parameters", section, name);
    return tuning_keep(r, &rule);
}

/* ---- files ------------------------------------------------------------------------------------------------------- */

/* A line that begins a section, of which libinih does not tell when no rule follows; nor does it look at what stands
 * behind the bracket. A line without the second bracket it refuses. */
static int tuning_section(tuning_reader *r, const char *text)
{
    char name[64];
    size_t length = strcspn(text + 1, "]");
    const char *rest = text + 1 + length;

    if (*rest != ']')
        return 1;
    snprintf(name, sizeof name, "%.*s", (int)(length < sizeof name ? length : sizeof name), text + 1);
    if (tuning_operation(name) == NBCOLL_OPERATION_COUNT)
        return tuning_refuse(r, NBCOLL_ERR_CONFIG, "unknown operation '%s'", name, NULL);
    rest += 1 + strspn(rest + 1, " \t\r\n");
    return !*rest || *rest == ';' || tuning_refuse(r, NBCOLL_ERR_CONFIG, TUNING_NEITHER, NULL, NULL);
}

/* An ini_reader: the next line, from its first word on (a blank before it would mean more of the line before). */
static char *tuning_line(char *text, int room, void *user)
{
    tuning_reader *r = user;

    if (r->status != NBCOLL_OK || !fgets(text, room, r->in))
        return NULL;
    if (r->unended) {
        tuning_refuse(r, NBCOLL_ERR_CONFIG, "the line is too long, or has a byte that is no text", NULL, NULL);
        return NULL;
    }
    r->line++;
    r->unended = !strchr(text, '\n');
    size_t blanks = r->line == 1 && strncmp(text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0; /* a byte order mark */
    blanks += strspn(text + blanks, " \t");
    memmove(text, text + blanks, strlen(text + blanks) + 1);
    return *text != '[' || tuning_section(r, text) ? text : NULL;
}

static nbcoll_status tuning_fill(tuning_reader *r)
{
    int failed = ini_parse_stream(tuning_line, r, tuning_rule, r);

    if (failed > 0 && (r->status == NBCOLL_OK || (unsigned)failed < r->problem.line)) {
        r->status = NBCOLL_OK;
        r->line = (unsigned)failed;
        tuning_refuse(r, NBCOLL_ERR_CONFIG, TUNING_NEITHER, NULL, NULL);
    } else if (failed < 0 || ferror(r->in)) {
        r->line = 0;
        tuning_refuse(r, failed < 0 ? NBCOLL_ERR_MEMORY : NBCOLL_ERR_ARGUMENT,
                      failed < 0 ? "no memory" : "it cannot be read", NULL, NULL);
    }
    r->file->tuning.rules = r->file->rules;
    return r->status;
}

static nbcoll_status tuning_read(tuning_reader *r, const nbcoll_host *host, const char *path)
{
    r->file = nbcolli_alloc(host, sizeof *r->file, _Alignof(tuning_file));
    if (!r->file) {
        tuning_refuse(r, NBCOLL_ERR_MEMORY, "no memory", NULL, NULL);
        return r->status;
    }
    *r->file = (tuning_file){.host = *host};
    r->in = fopen(path, "r");
    if (r->in) {
        tuning_fill(r);
        fclose(r->in);
    } else
        tuning_refuse(r, NBCOLL_ERR_ARGUMENT, "it cannot be opened", NULL, NULL);
    if (r->status != NBCOLL_OK)
        nbcoll_tuning_free(&r->file->tuning);
    return r->status;
}

static nbcoll_status tuning_check_own(const nbcoll_algorithm *const own[], size_t n)
{
    nbcoll_status status = n && !own ? NBCOLL_ERR_NULL : NBCOLL_OK;

    for (size_t i = 0; i < n && status == NBCOLL_OK; i++)
        status = nbcoll_rules_check(&(nbcoll_rule){.algorithm = own[i]}, 1, NULL);
    return status;
}

nbcoll_status nbcoll_tuning_read(const nbcoll_host *host, const char *path, nbcoll_tuning **out,
                                 nbcoll_tuning_problem *problem)
{
    return nbcoll_tuning_read_with(host, path, NULL, 0, out, problem);
}

nbcoll_status nbcoll_tuning_read_with(const nbcoll_host *host, const char *path, const nbcoll_algorithm *const own[],
                                      size_t n, nbcoll_tuning **out, nbcoll_tuning_problem *problem)
{
    tuning_reader r = {.status = NBCOLL_OK, .own = own, .owned = n};
    nbcoll_host hooks = {0};

    if (!path || !out)
        return NBCOLL_ERR_NULL;
    nbcoll_status status = tuning_check_own(own, n);
    if (status != NBCOLL_OK)
        return status;
    if ((problem && problem->size < sizeof problem->size) ||
        (host && nbcolli_copy_tagged(&hooks, host, sizeof hooks) != NBCOLL_OK))
        return NBCOLL_ERR_CONFIG;
    if (tuning_read(&r, &hooks, path) == NBCOLL_OK)
        *out = &r.file->tuning;
    else if (problem) {
        r.problem.size = problem->size;
        memcpy(problem, &r.problem, problem->size < sizeof r.problem ? problem->size : sizeof r.problem);
    }
    return r.status;
}

void nbcoll_tuning_free(nbcoll_tuning *tuning)
{
    tuning_file *file = (tuning_file *)(void *)tuning;

    if (!file)
        return;
    nbcoll_host host = file->host;
    nbcolli_free(&host, file->rules, file->room * sizeof *file->rules);
    nbcolli_free(&host, file, sizeof *file);
}
