/* SPDX-License-Identifier: BSD-3-Clause
 * The words and options that say which cases of which algorithms are meant, and how ranks are placed on nodes. */
#include "command.h"

#define MOST_ROOM 65536 /* ranks of a node */

int command_is(nbcoll_operation operation, unsigned what)
{
    static const unsigned all[NBCOLL_OPERATION_COUNT] = {
        [NBCOLL_OPERATION_BARRIER] = COMMAND_COMPARED | COMMAND_TUNABLE,
        [NBCOLL_OPERATION_BCAST] = COMMAND_ROOTED | COMMAND_COMPARED | COMMAND_TUNABLE,
        [NBCOLL_OPERATION_SCATTER] = COMMAND_ROOTED | COMMAND_BLOCKS | COMMAND_COMPARED | COMMAND_TUNABLE,
        [NBCOLL_OPERATION_GATHER] = COMMAND_ROOTED | COMMAND_BLOCKS | COMMAND_COMPARED | COMMAND_TUNABLE,
        [NBCOLL_OPERATION_ALLGATHER] = COMMAND_BLOCKS | COMMAND_COMPARED | COMMAND_TUNABLE,
        [NBCOLL_OPERATION_REDUCE] = COMMAND_ROOTED | COMMAND_REDUCES | COMMAND_COMPARED | COMMAND_TUNABLE,
        [NBCOLL_OPERATION_ALLREDUCE] = COMMAND_REDUCES | COMMAND_COMPARED | COMMAND_TUNABLE,
        [NBCOLL_OPERATION_SCATTERV] = COMMAND_ROOTED | COMMAND_BLOCKS,
        [NBCOLL_OPERATION_GATHERV] = COMMAND_ROOTED | COMMAND_BLOCKS,
        [NBCOLL_OPERATION_ALLGATHERV] = COMMAND_BLOCKS | COMMAND_TUNABLE,
        [NBCOLL_OPERATION_ALLTOALL] = COMMAND_BLOCKS | COMMAND_COMPARED | COMMAND_TUNABLE,
        [NBCOLL_OPERATION_ALLTOALLV] = COMMAND_BLOCKS,
        [NBCOLL_OPERATION_ALLTOALLW] = COMMAND_BLOCKS,
        [NBCOLL_OPERATION_REDUCE_SCATTER] = COMMAND_BLOCKS | COMMAND_REDUCES | COMMAND_TUNABLE,
        [NBCOLL_OPERATION_REDUCE_SCATTER_BLOCK] = COMMAND_BLOCKS | COMMAND_REDUCES | COMMAND_TUNABLE,
        [NBCOLL_OPERATION_SCAN] = COMMAND_REDUCES | COMMAND_TUNABLE,
        [NBCOLL_OPERATION_EXSCAN] = COMMAND_REDUCES | COMMAND_TUNABLE,
    };
    return (unsigned)operation < NBCOLL_OPERATION_COUNT && (all[operation] & what) != 0;
}

/* ---- names ----------------------------------------------------------------------------------------------------- */

void command_take_type(const command *self, void *user, const char *name)
{
    nbcoll_reduction *reduction = &((command_cases *)user)->reduction;
    for (int type = 0; type < NBCOLL_TYPE_COUNT; type++)
        if (strcasecmp(name, nbcoll_type_name(reduction->type = (nbcoll_type)type)) == 0)
            return;
    command_refuse(self, "unknown type '%s'; nbcoll info lists them", name);
}

void command_take_op(const command *self, void *user, const char *name)
{
    nbcoll_reduction *reduction = &((command_cases *)user)->reduction;
    for (int op = 0; op < NBCOLL_OP_COUNT; op++)
        if (strcasecmp(name, nbcoll_op_name(reduction->op = (nbcoll_op)op)) == 0)
            return;
    command_refuse(self, "unknown reduction '%s'; nbcoll info lists them", name);
}

const nbcoll_algorithm *command_find_algorithm(const command *self, nbcoll_operation operation, const char *name)
{
    const nbcoll_algorithm *found = catalogue_find(operation, name);
    if (!found)
        command_refuse(self, "%s has no algorithm '%s'; nbcoll info lists them", nbcoll_operation_name(operation),
                       name);
    return found;
}

nbcoll_operation command_operation(const command *self, const char *word)
{
    for (int o = 0; o < NBCOLL_OPERATION_COUNT; o++)
        if (strcmp(word, nbcoll_operation_name((nbcoll_operation)o)) == 0)
            return (nbcoll_operation)o;
    command_refuse(self, "unknown operation '%s'; nbcoll info lists them", word);
}

int command_take_operations(const command *self, int words, char *word[], unsigned otherwise, nbcoll_operation list[])
{
    int n = 0;
    for (int o = 0; o < NBCOLL_OPERATION_COUNT && !words; o++)
        if (command_is((nbcoll_operation)o, otherwise))
            list[n++] = (nbcoll_operation)o;
    for (int i = 0; i < words; i++) {
        list[n] = command_operation(self, word[i]);
        for (int k = 0; k < n; k++)
            if (list[k] == list[n])
                command_refuse(self, "'%s' stands there twice", word[i]);
        n++;
    }
    return n;
}

/* ---- numbers --------------------------------------------------------------------------------------------------- */

/* "7", or "2..16". */
void command_take_ranks(const command *self, void *user, const char *value)
{
    command_cases *cases = user;
    const char *at = value;
    unsigned long long low, high;
    int is_right = command_number_at(&at, 1, COMMAND_MOST_RANKS, &low);
    high = low;
    if (is_right && strncmp(at, "..", 2) == 0) {
        at += 2;
        is_right = command_number_at(&at, low, COMMAND_MOST_RANKS, &high);
    }
    if (!is_right || *at)
        command_refuse(self, "--ranks takes a number or a range like 2..16, of 1..%d, not '%s'", COMMAND_MOST_RANKS,
                       value);
    cases->fewest = (int)low;
    cases->most = (int)high;
}

/* "0,1,1000" */
void command_take_count(const command *self, void *user, const char *value)
{
    command_cases *cases = user;
    const char *at = value;
    if (!command_numbers(&at, 0, SIZE_MAX, cases->count, COMMAND_COUNTS, &cases->counts) || *at)
        command_refuse(self, "--count takes numbers like 0,1,1000, not '%s'", value);
    if (cases->counts > COMMAND_COUNTS)
        command_refuse(self, "--count takes at most %d numbers", COMMAND_COUNTS);
}

const char *command_spread_name(int spread)
{
    static const char *const names[] = {"equal", "holes", "rising", "lone"};
    _Static_assert(sizeof names / sizeof *names == NBCOLL_SPREAD_COUNT, "each has its name");
    return (unsigned)spread < NBCOLL_SPREAD_COUNT ? names[spread] : "?";
}

nbcoll_case command_case(const command_cases *cases, const nbcoll_algorithm *algorithm)
{
    return (nbcoll_case){.size = sizeof(nbcoll_case),
                         .operation = algorithm ? algorithm->operation : (nbcoll_operation)cases->operation,
                         .ranks = cases->most,
                         .root = cases->root < 0 ? 0 : cases->root,
                         .node = cases->node >= 0           ? cases->node
                                 : cases->placement.rooms ? NBCOLL_CASE_BY_NODE
                                                          : cases->most,
                         .count = cases->count[0],
                         .reduction = cases->reduction,
                         .in_place = cases->in_place,
                         .spread = cases->spread < 0 ? NBCOLL_SPREAD_EQUAL : (nbcoll_spread)cases->spread,
                         .apart = cases->apart,
                         .known = cases->known || (algorithm && (algorithm->flags & NBCOLL_ALGORITHM_COUNTS))};
}

int command_refuse_case(const command *self, const nbcoll_case *c, nbcoll_status why)
{
    if (why == NBCOLL_ERR_ROOT)
        command_refuse(self, "--root %d: %s of %d ranks has no such root", c->root, nbcoll_operation_name(c->operation),
                       c->ranks);
    if (why == NBCOLL_ERR_OP)
        command_refuse(self, "--op %s: %s has no such reduction", nbcoll_op_name(c->reduction.op),
                       nbcoll_type_name(c->reduction.type));
    if (why == NBCOLL_ERR_COUNT)
        command_refuse(self, "--count %zu: too many bytes for %d ranks", c->count, c->ranks);
    command_refuse(self, "%s", nbcoll_status_text(why));
}

static void say_error(void *user, nbcoll_status why, const char *text)
{
    (void)why;
    command_say(user, "%s", text);
}

nbcoll_host command_host(const command *self)
{
    return (nbcoll_host){.size = sizeof(nbcoll_host), .user = (void *)(uintptr_t)self, .log = say_error};
}

int command_write(void *user, const char *text, size_t bytes)
{
    return fwrite(text, 1, bytes, user) != bytes;
}

/* ---- how ranks are placed on nodes ------------------------------------------------------------------------------- */

/* "4x8": four of eight ranks; or "3,1,4". 0: it is neither. */
static int take_sizes(command_cases *cases, const char **at)
{
    size_t rooms[COMMAND_ROOMS];
    const char *list = *at;
    unsigned long long nodes, room;
    cases->placement.rooms = 1;
    if (command_number_at(at, 1, MOST_ROOM, &nodes) && **at == 'x') {
        ++*at;
        if (!command_number_at(at, 1, MOST_ROOM, &room) || nodes * room > MOST_ROOM)
            return 0;
        cases->room[0] = (int)room;
        cases->placed = (int)(nodes * room);
        return 1;
    }
    *at = list;
    if (!command_numbers(at, 1, MOST_ROOM / COMMAND_ROOMS, rooms, COMMAND_ROOMS, &cases->placement.rooms) ||
        cases->placement.rooms > COMMAND_ROOMS)
        return 0;
    cases->placed = 0;
    for (size_t i = 0; i < cases->placement.rooms; i++)
        cases->placed += cases->room[i] = (int)rooms[i];
    return 1;
}

void command_take_nodes(const command *self, void *user, const char *value)
{
    command_cases *cases = user;
    const char *at = value;
    unsigned long long domain = 0;
    int is_right = take_sizes(cases, &at);
    cases->nodes_said = value;
    if (!cases->most) /* which --ranks behind this changes */
        cases->fewest = cases->most = cases->placed;
    if (is_right && *at == '/') {
        at++;
        is_right = command_number_at(&at, 1, MOST_ROOM, &domain);
    }
    cases->placement.size = sizeof cases->placement;
    cases->placement.domain = (int)domain;
    if (!is_right || *at)
        command_refuse(self, "--nodes takes sizes like 4x8 or 3,1,4, at most %d of them, or 4x8/2 with domains of two "
                       "ranks, not '%s'", COMMAND_ROOMS, value);
}

void command_take_numbering(const command *self, void *user, const char *value)
{
    command_cases *cases = user;
    static const char *const names[] = {"block", "round-robin", "random"};
    size_t length = strcspn(value, ":");
    unsigned long long seed = 1;
    int numbering = 0;
    while (numbering < 3 && (strlen(names[numbering]) != length || strncmp(value, names[numbering], length) != 0))
        numbering++;
    if (numbering == 3 || (value[length] && (numbering != NBCOLL_NUMBERING_RANDOM ||
                                             !command_number(value + length + 1, 0, UINT64_MAX, &seed))))
        command_refuse(self, "--numbering is block, round-robin or random[:SEED], not '%s'", value);
    cases->placement.numbering = (nbcoll_numbering)numbering;
    cases->placement.seed = seed;
    cases->numbering_said = value;
}

nbcoll_nodes *command_nodes(const command *self, const command_cases *cases, int ranks)
{
    nbcoll_placement placement = cases->placement;
    nbcoll_nodes *nodes = NULL;
    placement.room = cases->room;
    if (placement.rooms)
        command_fail_status(self, nbcoll_nodes_place(&placement, ranks, NULL, &nodes));
    return nodes;
}

char *command_nodes_text(const command_cases *cases, char text[COMMAND_NODES_TEXT])
{
    const char *sizes = cases->nodes_said, *numbering = sizes ? cases->numbering_said : NULL;
    snprintf(text, COMMAND_NODES_TEXT, "%s%s%s%s", sizes ? " --nodes " : "", sizes ? sizes : "",
             numbering ? " --numbering " : "", numbering ? numbering : "");
    return text;
}
