/* SPDX-License-Identifier: BSD-3-Clause
 * The words and options that say which cases of which algorithms are meant, and the schedules of a case. */
#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "command.h"

#define MOST_RANKS 65536

/* ---- names ----------------------------------------------------------------------------------------------------- */

static int same_name(const char *x, const char *y)
{
    while (*x && toupper((unsigned char)*x) == toupper((unsigned char)*y))
        x++, y++;
    return *x == *y;
}

static int take_type(const command *self, command_cases *cases, const char *name)
{
    for (int type = 0; type < NBCOLL_TYPE_COUNT; type++)
        if (same_name(name, nbcoll_type_name((nbcoll_type)type))) {
            cases->reduction.type = (nbcoll_type)type;
            return 0;
        }
    return command_refuse(self, "unknown type '%s'; nbcoll info lists them", name);
}

static int take_op(const command *self, command_cases *cases, const char *name)
{
    for (int op = 0; op < NBCOLL_OP_COUNT; op++)
        if (same_name(name, nbcoll_op_name((nbcoll_op)op))) {
            cases->reduction.op = (nbcoll_op)op;
            return 0;
        }
    return command_refuse(self, "unknown reduction '%s'; nbcoll info lists them", name);
}

int command_take_words(const command *self, command_cases *cases, int words, char *word[])
{
    if (words > 2)
        return command_refuse(self, "one word too many: '%s'", word[2]);
    if (words < 1)
        return 0;
    for (int operation = 0; operation < NBCOLL_OPERATION_COUNT && cases->operation < 0; operation++)
        if (strcmp(word[0], nbcoll_operation_name((nbcoll_operation)operation)) == 0)
            cases->operation = operation;
    if (cases->operation < 0)
        return command_refuse(self, "unknown operation '%s'; nbcoll info lists them", word[0]);
    if (words < 2)
        return 0;
    cases->algorithm = nbcoll_algorithm_find((nbcoll_operation)cases->operation, word[1]);
    if (!cases->algorithm)
        return command_refuse(self, "%s has no algorithm '%s'; nbcoll info lists them", word[0], word[1]);
    return 0;
}

/* ---- numbers --------------------------------------------------------------------------------------------------- */

/* "7", or "2..16". */
static int take_ranks(const command *self, command_cases *cases, const char *value)
{
    char first[16] = "";
    const char *dots = strstr(value, ".."), *last = dots ? dots + 2 : value;
    size_t length = dots ? (size_t)(dots - value) : strlen(value);
    unsigned long long low, high;
    if (length < sizeof first)
        memcpy(first, value, length);
    if (!command_number(first, 1, MOST_RANKS, &low) || !command_number(last, low, MOST_RANKS, &high))
        return command_refuse(self, "--ranks takes a number or a range like 2..16, of 1..%d, not '%s'", MOST_RANKS,
                              value);
    cases->fewest = (int)low;
    cases->most = (int)high;
    return 0;
}

/* "0,1,1000" */
static int take_counts(const command *self, command_cases *cases, const char *value)
{
    const char *at = value;
    cases->counts = 0;
    for (;;) {
        char word[24] = "";
        size_t length = strcspn(at, ",");
        unsigned long long count;
        if (length < sizeof word)
            memcpy(word, at, length);
        if (!command_number(word, 0, SIZE_MAX, &count))
            return command_refuse(self, "--count takes numbers like 0,1,1000, not '%s'", value);
        if (cases->counts == COMMAND_COUNTS)
            return command_refuse(self, "--count takes at most %d numbers", COMMAND_COUNTS);
        cases->count[cases->counts++] = (size_t)count;
        if (!at[length])
            return 0;
        at += length + 1;
    }
}

static int take_int(const command *self, const char *option, const char *value, int low, int *out)
{
    unsigned long long number;
    if (!command_number(value, (unsigned long long)low, INT_MAX, &number))
        return command_refuse(self, "--%s takes a number from %d on, not '%s'", option, low, value);
    *out = (int)number;
    return 0;
}

int command_take_option(const command *self, command_cases *cases, int option, const char *value)
{
    switch (option) {
    case 'p':
        return take_ranks(self, cases, value);
    case 'r':
        return take_int(self, "root", value, 0, &cases->root);
    case 'c':
        return take_counts(self, cases, value);
    case 't':
        return take_type(self, cases, value);
    case 'o':
        return take_op(self, cases, value);
    case 'i':
        cases->in_place = 1;
        return 0;
    case 'n':
        cases->node = -1;
        return value ? take_int(self, "native", value, 1, &cases->node) : 0;
    default:
        return COMMAND_USAGE;
    }
}

int command_check(const command *self, const nbcoll_args *a, int ranks)
{
    nbcoll_args copy = *a;
    nbcoll_status status = nbcoll_args_complete(&copy, 0, ranks);
    if (status == NBCOLL_OK)
        return 0;
    if (status == NBCOLL_ERR_ROOT)
        return command_refuse(self, "--root %d: %s of %d ranks has no such root", a->root,
                              nbcoll_operation_name(a->operation), ranks);
    if (status == NBCOLL_ERR_OP)
        return command_refuse(self, "--op %s: %s has no such reduction", nbcoll_op_name(a->reduction.op),
                              nbcoll_type_name(a->reduction.type));
    if (status == NBCOLL_ERR_COUNT)
        return command_refuse(self, "--count %zu: too many bytes for %d ranks", a->count, ranks);
    return command_refuse(self, "%s", nbcoll_status_text(status));
}

/* ---- building -------------------------------------------------------------------------------------------------- */

typedef struct neighbours {
    int rank, node;
} neighbours;

static int is_neighbour(void *user, int peer)
{
    const neighbours *n = user;
    return n->rank / n->node == peer / n->node;
}

nbcoll_status command_build(const nbcoll_algorithm *algorithm, const nbcoll_args *a, int rank, int ranks, int node,
                            nbcoll_schedule **out)
{
    neighbours of_rank = {rank, node < 0 ? ranks : node};
    nbcoll_builder_config config = {.size = sizeof config, .rank = rank, .ranks = ranks};
    if (node) {
        config.shares = is_neighbour;
        config.shares_user = &of_rank;
    }
    return nbcoll_build_schedule(algorithm, a, &config, out);
}

int command_write(void *user, const char *text, size_t bytes)
{
    return fwrite(text, 1, bytes, user) != bytes;
}
