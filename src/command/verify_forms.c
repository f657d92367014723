/* SPDX-License-Identifier: BSD-3-Clause
 * See verify_forms.h. */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "verify_forms.h"

/* ---- what is combined or moved --------------------------------------------------------------------------------- */

/* Nothing of a proof runs; that the pointers are there is what counts. */
static nbcoll_status never_packs(void *user, const void *from, void *to, size_t count)
{
    (void)user, (void)from, (void)to, (void)count;
    return NBCOLL_ERR_CALL;
}

static nbcoll_status never_combines(void *user, void *result, const void *left, const void *right, size_t count,
                                    nbcoll_type type)
{
    (void)user, (void)result, (void)left, (void)right, (void)count, (void)type;
    return NBCOLL_ERR_CALL;
}

static const nbcoll_host_type host_type = {.size = sizeof host_type, .extent = 12};
static const nbcoll_host_type packed_type = {
    .size = sizeof packed_type, .extent = 20, .packed = 12, .pack = never_packs, .unpack = never_packs};
static const nbcoll_host_op ordered_op = {sizeof ordered_op, NULL, never_combines, 0, NULL};
static const nbcoll_host_op commuting_op = {sizeof commuting_op, NULL, never_combines, 1, NULL};

enum { ELEMENTS_GIVEN, ELEMENTS_BYTES, ELEMENTS_HOST, ELEMENTS_PACKED };

static nbcoll_reduction reduction_of(size_t elements, int is_ordered)
{
    nbcoll_op op = nbcoll_op_of(is_ordered ? &ordered_op : &commuting_op);
    if (elements == ELEMENTS_BYTES)
        return (nbcoll_reduction){NBCOLL_INT8, NBCOLL_MAX};
    return (nbcoll_reduction){nbcoll_type_of(elements == ELEMENTS_HOST ? &host_type : &packed_type), op};
}

static const char *type_text(nbcoll_type type)
{
    return type == nbcoll_type_of(&host_type)     ? "host"
           : type == nbcoll_type_of(&packed_type) ? "packed"
                                                  : nbcoll_type_name(type);
}

static const char *op_text(nbcoll_op op)
{
    return op == nbcoll_op_of(&ordered_op)     ? "ordered"
           : op == nbcoll_op_of(&commuting_op) ? "commuting"
                                               : nbcoll_op_name(op);
}

void verify_take_type(const command *self, void *cases, const char *value)
{
    int is_host = strcasecmp(value, "host") == 0;
    if (is_host || strcasecmp(value, "packed") == 0)
        ((command_cases *)cases)->reduction.type = nbcoll_type_of(is_host ? &host_type : &packed_type);
    else
        command_take_type(self, cases, value);
}

void verify_take_op(const command *self, void *cases, const char *value)
{
    int is_ordered = strcasecmp(value, "ordered") == 0;
    if (is_ordered || strcasecmp(value, "commuting") == 0)
        ((command_cases *)cases)->reduction.op = nbcoll_op_of(is_ordered ? &ordered_op : &commuting_op);
    else
        command_take_op(self, cases, value);
}

/* ---- forms ----------------------------------------------------------------------------------------------------- */

/* Whole numbers by which forms differ in one respect; the first is the plain form's. */
typedef struct choices {
    unsigned n;
    size_t of[4];
} choices;

static choices in_place_of(const command_cases *cases, unsigned fixed, nbcoll_operation operation)
{
    if (fixed & VERIFY_IN_PLACE)
        return (choices){1, {(size_t)cases->in_place}};
    if (operation == NBCOLL_OPERATION_BARRIER || operation == NBCOLL_OPERATION_BCAST)
        return (choices){1, {0}};
    if (command_is(operation, COMMAND_ROOTED)) /* at the root, whatever its number */
        return (choices){2, {0, 1}};
    return (choices){3, {0, 1, 2}};
}

/* So many neighbours share memory; `most` stands for all. What never exposes memory is the same with any. */
static choices node_of(const command_cases *cases, unsigned fixed, const nbcoll_algorithm *algorithm)
{
    size_t most = cases->placement.rooms ? (size_t)NBCOLL_CASE_BY_NODE : (size_t)cases->most;
    if (fixed & VERIFY_NATIVE)
        return (choices){1, {cases->node < 0 ? most : (size_t)cases->node}};
    if (cases->placement.rooms)
        return algorithm->flags >> 16 ? (choices){2, {0, most}} : (choices){1, {0}};
    return algorithm->flags >> 16 ? (choices){3, {0, most, 2}} : (choices){1, {0}};
}

static choices elements_of(unsigned fixed, nbcoll_operation operation)
{
    if (fixed & VERIFY_ELEMENTS || operation == NBCOLL_OPERATION_BARRIER)
        return (choices){1, {ELEMENTS_GIVEN}};
    return (choices){4, {ELEMENTS_GIVEN, ELEMENTS_BYTES, ELEMENTS_HOST, ELEMENTS_PACKED}};
}

static choices parameter_of(unsigned fixed, size_t given, int is_read, choices all)
{
    return fixed & VERIFY_PARAMETERS || !is_read ? (choices){1, {given}} : all;
}

/* The next digit of a number that counts through all choices. */
static size_t next_of(unsigned *i, choices c)
{
    size_t value = c.of[*i % c.n];
    *i /= c.n;
    return value;
}

int verify_form(const command_cases *cases, unsigned fixed, const nbcoll_choice *given,
                const nbcoll_algorithm *algorithm, unsigned i, nbcoll_case *out)
{
    static const choices segments = {2, {0, 160}}, numbers = {3, {0, 1, 3}}, few = {2, {0, 2}};
    uint32_t flags = algorithm->flags;
    *out = command_case(cases, algorithm);
    size_t elements = next_of(&i, elements_of(fixed, algorithm->operation));
    if (elements)
        out->reduction = reduction_of(elements, !(flags & NBCOLL_ALGORITHM_REORDERS));
    out->in_place = (int)next_of(&i, in_place_of(cases, fixed, algorithm->operation));
    out->node = (int)next_of(&i, node_of(cases, fixed, algorithm));
    out->segment = next_of(&i, parameter_of(fixed, given->segment, flags & NBCOLL_ALGORITHM_SEGMENT, segments));
    out->arity = (unsigned)next_of(&i, parameter_of(fixed, given->arity, flags & NBCOLL_ALGORITHM_ARITY, numbers));
    out->ports = (unsigned)next_of(&i, parameter_of(fixed, given->ports, flags & NBCOLL_ALGORITHM_PORTS, numbers));
    out->split = given->split; /* lanes mean nothing for a proof */
    out->leaders = (unsigned)next_of(&i, parameter_of(fixed, given->leaders, flags & NBCOLL_ALGORITHM_LEADERS, few));
    return i == 0;
}

/* ---- in words -------------------------------------------------------------------------------------------------- */

char *verify_form_text(const nbcoll_case *c, char text[VERIFY_TEXT])
{
    text[0] = '\0';
    if (c->reduction.type != NBCOLL_INT32 || c->reduction.op != NBCOLL_SUM)
        command_add(text, VERIFY_TEXT, " --type %s --op %s", type_text(c->reduction.type), op_text(c->reduction.op));
    if (c->in_place)
        command_add(text, VERIFY_TEXT, " --in-place%s", c->in_place == 2 ? "=odd" : "");
    if (c->node)
        command_add(text, VERIFY_TEXT, c->node >= c->ranks || c->node < 0 ? " --native" : " --native=%d", c->node);
    command_add_parameters(text, VERIFY_TEXT, " --", &(nbcoll_choice){COMMAND_PARAMETERS_OF(c)});
    return text;
}

void verify_see(verify_seen *seen, const nbcoll_case *c)
{
    nbcoll_type type = c->reduction.type;
    const int is[VERIFY_RESPECTS] = {
        [VERIFY_BY_ELEMENTS] = type == nbcoll_type_of(&host_type)     ? ELEMENTS_HOST
                               : type == nbcoll_type_of(&packed_type) ? ELEMENTS_PACKED
                               : type == NBCOLL_INT8                  ? ELEMENTS_BYTES
                                                                      : ELEMENTS_GIVEN,
        [VERIFY_BY_PLACE] = c->in_place,
        [VERIFY_BY_NODE] = !c->node ? 0 : c->node >= c->ranks ? 1 : 2,
        [VERIFY_BY_NODES] = c->nodes && c->nodes->count > 1,
        [VERIFY_BY_DOMAINS] = c->nodes && nbcoll_nodes_domains(c->nodes),
        [VERIFY_BY_SPREAD] = (int)c->spread,
        [VERIFY_BY_APART] = c->apart,
        [VERIFY_BY_KNOWN] = c->known,
        [VERIFY_BY_PARAMETERS] = c->segment || c->arity || c->ports || c->split || c->leaders,
    };
    for (int i = 0; i < VERIFY_RESPECTS; i++)
        seen->by[i] |= 1u << is[i];
}

static void tell_sizes(const command_cases *cases, verify_coverage *out)
{
    if (cases->fewest < cases->most)
        command_add(out->covered, sizeof out->covered, "%d..%d ranks; ", cases->fewest, cases->most);
    else
        command_add(out->covered, sizeof out->covered, "%d ranks; ", cases->most);
    if (cases->fewest > 1)
        command_add(out->left_out, sizeof out->left_out, "fewer than %d ranks; ", cases->fewest);
    command_add(out->left_out, sizeof out->left_out, "more than %d ranks", cases->most);
    if (cases->root < 0)
        command_add(out->covered, sizeof out->covered, "any root");
    else {
        command_add(out->covered, sizeof out->covered, "root %d", cases->root);
        command_add(out->left_out, sizeof out->left_out, "; other roots");
    }
    for (size_t i = 0; i < cases->counts; i++)
        command_add(out->covered, sizeof out->covered, "%s%zu", i ? "," : "; counts ", cases->count[i]);
    command_add(out->left_out, sizeof out->left_out, "; other counts; other types and reductions");
}

void verify_cover(const command_cases *cases, const verify_seen *seen, const verify_seen *possible,
                  verify_coverage *out)
{
    char given[64];
    const char *const names[VERIFY_RESPECTS][NBCOLL_SPREAD_COUNT] = {
        [VERIFY_BY_ELEMENTS] = {given, "INT8 MAX", "a host's type and operation",
                                "a host's type that packs (but for the bytes received)"},
        [VERIFY_BY_PLACE] = {"out of place", "in place", "in place at odd ranks"},
        [VERIFY_BY_NODE] = {"messages", "memory shared by all", "memory shared by some"},
        [VERIFY_BY_NODES] = {"one node", "several nodes"},
        [VERIFY_BY_DOMAINS] = {"no domains", "domains"},
        [VERIFY_BY_SPREAD] = {"equal blocks", "every second block empty", "blocks of rising length", "one long block"},
        [VERIFY_BY_APART] = {"blocks together", "blocks apart"},
        [VERIFY_BY_KNOWN] = {"counts bound at start", "counts known"},
        [VERIFY_BY_PARAMETERS] = {"default parameters", "parameters other than default"},
    };
    snprintf(given, sizeof given, "%s %s", type_text(cases->reduction.type), op_text(cases->reduction.op));
    *out = (verify_coverage){"", ""};
    tell_sizes(cases, out);
    for (int i = 0; i < VERIFY_RESPECTS; i++)
        for (int k = 0; possible->by[i] >> 1 && k < NBCOLL_SPREAD_COUNT && names[i][k]; k++)
            if (seen->by[i] >> k & 1) /* where only the first can be there is nothing to say */
                command_add(out->covered, sizeof out->covered, "; %s", names[i][k]);
            else if (possible->by[i] >> k & 1)
                command_add(out->left_out, sizeof out->left_out, "; %s", names[i][k]);
    if (possible->by[VERIFY_BY_PARAMETERS] > 1)
        command_add(out->left_out, sizeof out->left_out, "; other segments, arities and ports");
    command_add(out->left_out, sizeof out->left_out, "; what verify.h assumes: the engine and its transports");
}
