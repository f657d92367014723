/* SPDX-License-Identifier: BSD-3-Clause
 * See point.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "elements.h"
#include "joined.h"
#include "point.h"

const nbcoll_comm_config point_limits = {.size = sizeof point_limits, .slots = 4, .cells = 8,
                                         .schedules = 16, .eager = 256, .large = 2048};

static const int ranks_of[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 16};
static const uint32_t flags_of[] = {0, NBCOLL_REPRODUCIBLE, NBCOLL_COUNTS_KNOWN};

enum { RANKS_VALUES = sizeof ranks_of / sizeof *ranks_of, FLAGS_VALUES = sizeof flags_of / sizeof *flags_of };

static const int sizes[DIMENSIONS] = {
    [OPERATION] = NBCOLL_OPERATION_COUNT, [RANKS] = RANKS_VALUES, [TRANSPORT] = TRANSPORTS, [FLAGS] = FLAGS_VALUES,
    [FORM] = FORMS, [TYPE] = ELEMENT_TYPES, [OP] = ELEMENT_OPS, [ROOT] = ROOTS, [COUNT] = COUNTS, [PLACE] = PLACES};

static const char *const names[DIMENSIONS][16] = {
    [RANKS] = {"1", "2", "3", "4", "5", "6", "7", "8", "9", "16"},
    [TRANSPORT] = {"stepped", "stepped_shared", "threads", "threads_shared", "stepped_nodes", "threads_nodes",
                   "shm_messages", "shm_threads", "shm_processes", "shm_nodes", "shm_sockets"},
    [FLAGS] = {"plain", "reproducible", "counts_known"},
    [FORM] = {"started", "blocking", "persistent", "mixed"},
    [ROOT] = {"first", "middle", "last"},
    [COUNT] = {"zero", "one", "few", "to_eager", "over_eager", "below_large", "from_large", "pieces", "holes", "rising",
               "one_large"},
    [PLACE] = {"out", "in", "some"}};

/* ---- operations ------------------------------------------------------------------------------------------------ */

int operation_has_root(nbcoll_operation what)
{
    return what == NBCOLL_OPERATION_BCAST || what == NBCOLL_OPERATION_SCATTER || what == NBCOLL_OPERATION_SCATTERV ||
           what == NBCOLL_OPERATION_GATHER || what == NBCOLL_OPERATION_GATHERV || what == NBCOLL_OPERATION_REDUCE;
}

int operation_reduces(nbcoll_operation what)
{
    return what == NBCOLL_OPERATION_REDUCE || what == NBCOLL_OPERATION_ALLREDUCE || what == NBCOLL_OPERATION_SCAN ||
           what == NBCOLL_OPERATION_EXSCAN || what == NBCOLL_OPERATION_REDUCE_SCATTER ||
           what == NBCOLL_OPERATION_REDUCE_SCATTER_BLOCK;
}

int operation_has_counts(nbcoll_operation what)
{
    return what == NBCOLL_OPERATION_SCATTERV || what == NBCOLL_OPERATION_GATHERV ||
           what == NBCOLL_OPERATION_ALLGATHERV || what == NBCOLL_OPERATION_ALLTOALLV ||
           what == NBCOLL_OPERATION_ALLTOALLW || what == NBCOLL_OPERATION_REDUCE_SCATTER;
}

/* Is there a block for each rank? */
static int has_blocks(nbcoll_operation what)
{
    return what != NBCOLL_OPERATION_BCAST && what != NBCOLL_OPERATION_REDUCE && what != NBCOLL_OPERATION_ALLREDUCE &&
           what != NBCOLL_OPERATION_SCAN && what != NBCOLL_OPERATION_EXSCAN;
}

/* ---- what is allowed ------------------------------------------------------------------------------------------- */

static int suits_operation(const int v[])
{
    nbcoll_operation what = (nbcoll_operation)v[OPERATION];

    if (v[OP] >= 0 && operation_reduces(what) == (v[OP] == ELEMENT_NO_OP))
        return 0;
    if (v[ROOT] > ROOT_FIRST && !operation_has_root(what))
        return 0;
    if (v[COUNT] >= HOLES && !operation_has_counts(what))
        return 0;
    if (v[PLACE] == IN_PLACE_AT_SOME && operation_has_root(what))
        return 0;
    if (what == NBCOLL_OPERATION_BARRIER)
        return v[TYPE] <= 0 && v[COUNT] <= ZERO && v[PLACE] <= NOT_IN_PLACE;
    return what != NBCOLL_OPERATION_BCAST || v[PLACE] <= NOT_IN_PLACE;
}

static int point_is_legal(const int v[])
{
    int is_stepped =
        v[TRANSPORT] == STEPPED || v[TRANSPORT] == STEPPED_SHARED || v[TRANSPORT] == STEPPED_NODES;

    if (v[FORM] == BLOCKING && is_stepped) /* nobody would step the others */
        return 0;
    if (v[TYPE] >= 0 && v[OP] >= 0 && !element_has(v[OP], v[TYPE]))
        return 0;
    if (v[OP] == ELEMENT_ROUNDING && v[FLAGS] >= 0 && !(flags_of[v[FLAGS]] & NBCOLL_REPRODUCIBLE))
        return 0; /* any bracketing would be right */
    if (v[RANKS] == 0 && (v[ROOT] > ROOT_FIRST || v[PLACE] == IN_PLACE_AT_SOME))
        return 0;
    if (v[RANKS] == 1 && v[ROOT] == ROOT_MIDDLE)
        return 0;
    return v[OPERATION] < 0 || suits_operation(v);
}

static int point_is_dear(int d, int value)
{
    return (d == TRANSPORT && value == SHM_PROCESSES) || (d == RANKS && ranks_of[value] == 16) ||
           (d == COUNT && value == PIECES);
}

const grid point_grid = {DIMENSIONS, sizes, point_is_legal, point_is_dear, .free = 0};

/* ---- what a point means ---------------------------------------------------------------------------------------- */

int point_ranks(const point *p)
{
    return ranks_of[p->v[RANKS]];
}

int point_is_stepped(const point *p)
{
    return p->v[TRANSPORT] == STEPPED || p->v[TRANSPORT] == STEPPED_SHARED || p->v[TRANSPORT] == STEPPED_NODES;
}

int point_has_nodes(const point *p)
{
    return p->v[TRANSPORT] == STEPPED_NODES || p->v[TRANSPORT] == LOOPBACK_NODES || p->v[TRANSPORT] >= SHM_NODES;
}

int point_nodes(const point *p)
{
    int nodes = 1 + (int)(p->seed % JOINED_COUNT), ranks = point_ranks(p);
    return nodes < ranks ? nodes : ranks;
}

nbcoll_numbering point_numbering(const point *p)
{
    return (nbcoll_numbering)(p->seed / JOINED_COUNT % JOINED_NUMBERINGS);
}

int point_is_shared(const point *p)
{
    return p->v[TRANSPORT] != STEPPED && p->v[TRANSPORT] != LOOPBACK_THREADS && p->v[TRANSPORT] != SHM_MESSAGES &&
           !point_has_nodes(p);
}

int point_root(const point *p)
{
    int ranks = point_ranks(p);
    switch (p->v[ROOT]) {
    case ROOT_FIRST: return 0;
    case ROOT_LAST: return ranks - 1;
    default: return 1 + (int)(p->seed % (uint64_t)(ranks - 2));
    }
}

uint32_t point_flags(const point *p)
{
    return flags_of[p->v[FLAGS]];
}

form point_form(const point *p, int rank)
{
    static const form forms[] = {STARTED, PERSISTENT, BLOCKING};
    int some = point_is_stepped(p) ? 2 : 3;

    return p->v[FORM] == MIXED ? forms[((uint64_t)rank + p->seed) % (uint64_t)some] : (form)p->v[FORM];
}

int point_in_place(const point *p, int rank)
{
    if (p->v[PLACE] == IN_PLACE_AT_SOME)
        return (rank + (int)(p->seed % 2)) % 2;
    return p->v[PLACE] == IN_PLACE &&
           (!operation_has_root((nbcoll_operation)p->v[OPERATION]) || rank == point_root(p));
}

/* Of blocks of one size. */
static size_t equal_count(const point *p, int shape)
{
    nbcoll_operation what = (nbcoll_operation)p->v[OPERATION];
    size_t size = element_travels(p->v[TYPE]), blocks = has_blocks(what) ? (size_t)point_ranks(p) : 1;
    size_t enough = (point_limits.large + size * blocks - 1) / (size * blocks);

    switch (shape) {
    case ZERO: return 0;
    case ONE: return 1;
    case FEW: return 7;
    case TO_EAGER: return point_limits.eager / size;
    case OVER_EAGER: return point_limits.eager / size + 1;
    case BELOW_LARGE: return enough - 1;
    case FROM_LARGE: return enough;
    default: return (blocks > 1 ? 9000 : 20000) / size + 1;
    }
}

size_t point_block(const point *p, int from, int to)
{
    nbcoll_operation what = (nbcoll_operation)p->v[OPERATION];
    int is_all = what == NBCOLL_OPERATION_ALLTOALLV || what == NBCOLL_OPERATION_ALLTOALLW;
    int is_received = what == NBCOLL_OPERATION_SCATTERV || what == NBCOLL_OPERATION_REDUCE_SCATTER;
    uint64_t ranks = (uint64_t)point_ranks(p), index = (uint64_t)(is_received ? to : from);

    /* In place, what goes and what comes must be equally long. */
    if (is_all)
        index = (uint64_t)from + (uint64_t)to * (p->v[PLACE] == NOT_IN_PLACE ? 2 : 1);
    index = (index + p->seed) % ranks;
    switch (p->v[COUNT]) {
    case HOLES: return index % 2 ? 3 + (size_t)index : 0;
    case RISING: return (size_t)index * 5;
    case ONE_LARGE: return index ? (size_t)index % 2 : equal_count(p, PIECES);
    default: return equal_count(p, p->v[COUNT]);
    }
}

/* ---- text ------------------------------------------------------------------------------------------------------ */

static const char *value_name(int d, int value)
{
    switch (d) {
    case OPERATION: return nbcoll_operation_name((nbcoll_operation)value);
    case TYPE: return element_type_name(value);
    case OP: return element_op_name(value);
    default: return names[d][value];
    }
}

void point_print(const point *p, char text[POINT_TEXT])
{
    size_t used = 0;
    for (int d = 0; d < DIMENSIONS; d++)
        used += (size_t)snprintf(text + used, POINT_TEXT - used, "%s/", value_name(d, p->v[d]));
    used += (size_t)snprintf(text + used, POINT_TEXT - used, "%llu", (unsigned long long)p->seed);
    if (p->rule.algorithm)
        snprintf(text + used, POINT_TEXT - used, "/%s/%zu/%u/%u/%u/%u", p->rule.algorithm->name, p->rule.segment,
                 p->rule.arity, p->rule.ports, p->rule.split, p->rule.leaders);
}

/* "/binomial/64/2/1/0/0", or nothing. */
static int parse_rule(point *p, const char *text)
{
    char name[64];

    p->rule = (nbcoll_rule){.algorithm = NULL};
    if (!*text)
        return 1;
    if (sscanf(text, "/%63[^/]/%zu/%u/%u/%u/%u", name, &p->rule.segment, &p->rule.arity, &p->rule.ports,
               &p->rule.split, &p->rule.leaders) != 6)
        return 0;
    p->rule.algorithm = nbcoll_algorithm_find((nbcoll_operation)p->v[OPERATION], name);
    return p->rule.algorithm != NULL;
}

int point_parse(point *p, const char *text)
{
    char *end;

    for (int d = 0; d < DIMENSIONS; d++) {
        size_t length = strcspn(text, "/");
        for (p->v[d] = 0; p->v[d] < sizes[d]; p->v[d]++)
            if (strlen(value_name(d, p->v[d])) == length && !strncmp(value_name(d, p->v[d]), text, length))
                break;
        if (p->v[d] == sizes[d] || text[length] != '/')
            return 0;
        text += length + 1;
    }
    p->seed = strtoull(text, &end, 10);
    return end != text && parse_rule(p, end) && point_is_legal(p->v);
}
