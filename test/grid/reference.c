/* SPDX-License-Identifier: BSD-3-Clause
 * See reference.h. */
#include "elements.h"
#include "reference.h"

static const void *element_of(const collective *c, const void *buffer, size_t i)
{
    return (const char *)buffer + i * element_size(c->type);
}

/* Elements to[at..] become from[first..]. Bytes that do not travel stay. */
static void move(const collective *c, void *to, size_t at, const void *from, size_t first, size_t count)
{
    unsigned char travelling[ELEMENT_SIZE_MOST];
    for (size_t i = 0; i < count; i++) {
        element_pack(c->type, element_of(c, from, first + i), travelling);
        element_unpack(c->type, travelling, (char *)to + (at + i) * element_size(c->type));
    }
}

/* In the w form. */
static void move_bytes(void *to, size_t at, const void *from, size_t first, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        ((char *)to)[at + i] = ((const char *)from)[first + i];
}

/* ---- moving ---------------------------------------------------------------------------------------------------- */

static void bcast(const collective *c, const passed by[], void *const results[])
{
    for (int r = 0; r < c->ranks; r++)
        if (r != c->root)
            move(c, results[r], 0, by[c->root].recv, 0, by[c->root].count);
}

static void scatter(const collective *c, const passed by[], void *const results[])
{
    const passed *root = &by[c->root];
    int is_v = c->what == NBCOLL_OPERATION_SCATTERV;

    for (int r = 0; r < c->ranks; r++)
        if (by[r].recv != NBCOLL_IN_PLACE)
            move(c, results[r], 0, root->send, is_v ? root->sent.displs[r] : (size_t)r * root->count,
                 is_v ? root->sent.counts[r] : root->count);
}

/* What all ranks send, into the vector of rank m. */
static void gather_at(const collective *c, const passed by[], int m, void *result)
{
    int is_v = c->what == NBCOLL_OPERATION_GATHERV || c->what == NBCOLL_OPERATION_ALLGATHERV;

    for (int r = 0; r < c->ranks; r++) {
        const vector *mine = &by[m].received, *theirs = &by[r].received;
        size_t at = is_v ? mine->displs[r] : (size_t)r * by[m].count;
        size_t count = is_v ? mine->counts[r] : by[m].count;
        if (by[r].send != NBCOLL_IN_PLACE)
            move(c, result, at, by[r].send, 0, count);
        else if (r != m) /* its block stands where it receives it itself */
            move(c, result, at, by[r].recv, is_v ? theirs->displs[r] : at, count);
    }
}

static void allgather(const collective *c, const passed by[], void *const results[])
{
    for (int m = 0; m < c->ranks; m++)
        gather_at(c, by, m, results[m]);
}

static void alltoall(const collective *c, const passed by[], void *const results[])
{
    for (int m = 0; m < c->ranks; m++)
        for (int r = 0; r < c->ranks; r++) {
            int in_place = by[r].send == NBCOLL_IN_PLACE;
            const void *from = in_place ? by[r].recv : by[r].send;
            const vector *theirs = in_place ? &by[r].received : &by[r].sent, *mine = &by[m].received;
            if (c->what == NBCOLL_OPERATION_ALLTOALL)
                move(c, results[m], (size_t)r * by[m].count, from, (size_t)m * by[m].count, by[m].count);
            else if (c->what == NBCOLL_OPERATION_ALLTOALLV)
                move(c, results[m], mine->displs[r], from, theirs->displs[m], mine->counts[r]);
            else if (theirs->types[m] == NBCOLL_BYTE || mine->types[r] == NBCOLL_BYTE)
                move_bytes(results[m], mine->displs[r], from, theirs->displs[m],
                           mine->counts[r] * (mine->types[r] == NBCOLL_BYTE ? 1 : element_size(c->type)));
            else
                move(c, (char *)results[m] + mine->displs[r], 0, (const char *)from + theirs->displs[m], 0,
                     mine->counts[r]);
        }
}

/* ---- combining ------------------------------------------------------------------------------------------------- */

/* Element i of what a rank contributes, as it travels. */
static void operand(const collective *c, const passed *by, size_t i, void *at)
{
    element_pack(c->type, element_of(c, by->send == NBCOLL_IN_PLACE ? by->recv : by->send, i), at);
}

/* Of `ranks` ranks from by[0] on, one after the other. */
static void fold(const collective *c, const passed by[], int ranks, size_t i, void *result)
{
    unsigned char next[ELEMENT_SIZE_MOST];
    operand(c, &by[0], i, result);
    for (int r = 1; r < ranks; r++) {
        operand(c, &by[r], i, next);
        element_combine(c->type, c->op, result, result, next);
    }
}

/* The same, split behind the largest power of two below the number of ranks. */
static void tree(const collective *c, const passed by[], int ranks, size_t i, void *result)
{
    unsigned char right[ELEMENT_SIZE_MOST];
    int left = 1;

    if (ranks == 1) {
        operand(c, &by[0], i, result);
        return;
    }
    while (left * 2 < ranks)
        left *= 2;
    tree(c, by, left, i, result);
    tree(c, by + left, ranks - left, i, right);
    element_combine(c->type, c->op, result, result, right);
}

/* Elements first..first+count of the first `ranks` ranks' vectors, combined, to the beginning of the result. */
static void combine(const collective *c, const passed by[], int ranks, size_t first, size_t count, void *result)
{
    unsigned char both[ELEMENT_SIZE_MOST];
    for (size_t i = 0; i < count; i++) {
        (c->is_tree ? tree : fold)(c, by, ranks, first + i, both);
        element_unpack(c->type, both, (char *)result + i * element_size(c->type));
    }
}

static void reduce_scatter(const collective *c, const passed by[], void *const results[])
{
    size_t first = 0;
    for (int r = 0; r < c->ranks; r++) {
        size_t count = c->what == NBCOLL_OPERATION_REDUCE_SCATTER ? by[r].sent.counts[r] : by[r].count;
        combine(c, by, c->ranks, first, count, results[r]);
        first += count;
    }
}

static void scan(const collective *c, const passed by[], void *const results[])
{
    int is_exclusive = c->what == NBCOLL_OPERATION_EXSCAN;
    for (int r = is_exclusive; r < c->ranks; r++)
        combine(c, by, is_exclusive ? r : r + 1, 0, by[r].count, results[r]);
}

void reference(const collective *c, const passed by[], void *const results[])
{
    switch (c->what) {
    case NBCOLL_OPERATION_BARRIER: break;
    case NBCOLL_OPERATION_BCAST: bcast(c, by, results); break;
    case NBCOLL_OPERATION_SCATTER:
    case NBCOLL_OPERATION_SCATTERV: scatter(c, by, results); break;
    case NBCOLL_OPERATION_GATHER:
    case NBCOLL_OPERATION_GATHERV: gather_at(c, by, c->root, results[c->root]); break;
    case NBCOLL_OPERATION_ALLGATHER:
    case NBCOLL_OPERATION_ALLGATHERV: allgather(c, by, results); break;
    case NBCOLL_OPERATION_ALLTOALL:
    case NBCOLL_OPERATION_ALLTOALLV:
    case NBCOLL_OPERATION_ALLTOALLW: alltoall(c, by, results); break;
    case NBCOLL_OPERATION_REDUCE: combine(c, by, c->ranks, 0, by[c->root].count, results[c->root]); break;
    case NBCOLL_OPERATION_ALLREDUCE:
        for (int r = 0; r < c->ranks; r++)
            combine(c, by, c->ranks, 0, by[r].count, results[r]);
        break;
    case NBCOLL_OPERATION_SCAN:
    case NBCOLL_OPERATION_EXSCAN: scan(c, by, results); break;
    default: reduce_scatter(c, by, results);
    }
}
