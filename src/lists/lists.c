/* SPDX-License-Identifier: BSD-3-Clause
 * The component lists: many buffers as the elements of one type of the host's (nbcoll/lists.h). The addresses of the
 * vectors are those of no memory: received elements are numbered from the object's address on, sent ones behind them.
 * The library only computes with them, since it touches elements of a type that packs by its functions alone. */
#include "nbcoll/lists.h"

#include "../engine/progress/lock.h"
#include "../engine/state/context.h"
#include "../host/host.h"
#include "../reduce/reduce.h"

typedef struct nbcolli_list_piece {
    unsigned char *at;
    size_t first, count; /* elements before it in its list; and its own */
} nbcolli_list_piece;

typedef struct nbcolli_lists {
    nbcoll_lists given; /* first */
    nbcoll_host host;
    nbcoll_context *context;
    nbcoll_host_type type;
    nbcoll_host_op op;
    nbcoll_reduction how;
    size_t memory;
    size_t pieces[2]; /* received, sent */
    nbcolli_list_piece piece[];
} nbcolli_lists;

/* The piece that the element is of, which the list has; `elements` becomes its number there. */
static const nbcolli_list_piece *nbcolli_lists_find(const nbcolli_lists *l, const void *elements, size_t *number)
{
    size_t e = (size_t)((uintptr_t)elements - (uintptr_t)l->given.recv) / l->type.extent;
    int is_sent = e >= l->given.received;
    const nbcolli_list_piece *first = l->piece + (is_sent ? l->pieces[0] : 0);
    size_t n = l->pieces[is_sent];

    e -= is_sent ? l->given.received : 0;
    while (n > 1) { /* the last one that begins at it or before it: of those the one with elements */
        size_t half = n / 2;
        if (first[half].first <= e) {
            first += half;
            n -= half;
        } else
            n = half;
    }
    *number = e - first->first;
    return first;
}

/* Of that piece and those behind it, one way or the other. */
static void nbcolli_lists_copy(const nbcolli_lists *l, const void *elements, void *out, const void *in, size_t count)
{
    size_t skip = 0, done = 0, size = l->type.packed;
    const nbcolli_list_piece *p = count ? nbcolli_lists_find(l, elements, &skip) : NULL;

    for (; done < count; p++, skip = 0) {
        size_t n = p->count - skip < count - done ? p->count - skip : count - done;
        if (n && out)
            memcpy((unsigned char *)out + done * size, p->at + skip * size, n * size);
        else if (n)
            memcpy(p->at + skip * size, (const unsigned char *)in + done * size, n * size);
        done += n;
    }
}

static nbcoll_status nbcolli_lists_pack(void *user, const void *elements, void *packed, size_t count)
{
    nbcolli_lists_copy(user, elements, packed, NULL, count);
    return NBCOLL_OK;
}

static nbcoll_status nbcolli_lists_unpack(void *user, const void *packed, void *elements, size_t count)
{
    nbcolli_lists_copy(user, elements, NULL, packed, count);
    return NBCOLL_OK;
}

static nbcoll_status nbcolli_lists_combine(void *user, void *result, const void *left, const void *right, size_t count,
                                           nbcoll_type type)
{
    const nbcolli_lists *l = user;
    const nbcoll_reducers *by = l->context->reducers ? l->context->reducers : nbcolli_reducers;
    (void)type;
    return nbcolli_reduce(by, l->how, result, left, right, count);
}

/* ---- making ------------------------------------------------------------------------------------------------------ */

/* Do two pieces have a byte in common? */
static int nbcolli_pieces_overlap(const nbcoll_list_piece *a, const nbcoll_list_piece *b, size_t size)
{
    uintptr_t at = (uintptr_t)a->at, other = (uintptr_t)b->at;
    return a->count && b->count && (at < other ? other - at < a->count * size : at - other < b->count * size);
}

static nbcoll_status nbcolli_lists_check(size_t size, size_t sends, const nbcoll_list_piece send[], size_t recvs,
                                         const nbcoll_list_piece recv[])
{
    size_t left = SIZE_MAX / 4 / size;

    for (size_t i = 0; i < recvs + sends; i++) {
        const nbcoll_list_piece *p = i < recvs ? &recv[i] : &send[i - recvs];
        if (p->count && !p->at)
            return NBCOLL_ERR_BUFFER;
        if (p->count > left)
            return NBCOLL_ERR_COUNT;
        left -= p->count;
    }
    for (size_t i = 0; i < recvs; i++)
        for (size_t k = i + 1; k < recvs + sends; k++)
            if (nbcolli_pieces_overlap(&recv[i], k < recvs ? &recv[k] : &send[k - recvs], size))
                return NBCOLL_ERR_BUFFER;
    return NBCOLL_OK;
}

/* Those of one list; returns its elements. */
static size_t nbcolli_lists_take(nbcolli_list_piece to[], size_t n, const nbcoll_list_piece from[])
{
    size_t first = 0;

    for (size_t i = 0; i < n; first += from[i++].count)
        to[i] = (nbcolli_list_piece){from[i].at, first, from[i].count};
    return first;
}

nbcoll_status nbcoll_lists_make(nbcoll_context *context, nbcoll_type type, nbcoll_op op, size_t sends,
                                const nbcoll_list_piece send[], size_t recvs, const nbcoll_list_piece recv[],
                                nbcoll_lists **out)
{
    if (!context || !out || (sends && !send) || (recvs && !recv))
        return NBCOLL_ERR_NULL;
    if (type >= NBCOLL_TYPE_COUNT)
        return NBCOLL_ERR_TYPE;
    if (op >= NBCOLL_OP_COUNT || !nbcoll_op_applies(op, type))
        return NBCOLL_ERR_OP;
    size_t size = nbcoll_type_size(type), memory = sizeof(nbcolli_lists);
    if (sends > SIZE_MAX / 4 / sizeof *send || recvs > SIZE_MAX / 4 / sizeof *recv)
        return NBCOLL_ERR_COUNT;
    nbcoll_status s = nbcolli_lists_check(size, sends, send, recvs, recv);
    if (s != NBCOLL_OK)
        return s;
    memory += (sends + recvs) * sizeof(nbcolli_list_piece);
    if ((s = nbcolli_enter(context)) != NBCOLL_OK)
        return s;
    nbcolli_lists *l = nbcolli_alloc(&context->host, memory, 64);
    if ((s = nbcolli_leave(context, l ? NBCOLL_OK : NBCOLL_ERR_MEMORY)) != NBCOLL_OK)
        return s;
    *l = (nbcolli_lists){.host = context->host, .context = context, .how = {type, op}, .memory = memory,
                         .pieces = {recvs, sends}};
    l->type = (nbcoll_host_type){.size = sizeof l->type, .extent = size, .packed = size, .user = l,
                                 .pack = nbcolli_lists_pack, .unpack = nbcolli_lists_unpack};
    l->op = (nbcoll_host_op){.size = sizeof l->op, .user = l, .combine = nbcolli_lists_combine, .commutative = 1};
    l->given.received = nbcolli_lists_take(l->piece, recvs, recv);
    l->given.sent = nbcolli_lists_take(l->piece + recvs, sends, send);
    l->given.type = nbcoll_type_of(&l->type);
    l->given.op = nbcoll_op_of(&l->op);
    l->given.recv = l;
    l->given.send = sends ? (unsigned char *)l + l->given.received * size : NBCOLL_IN_PLACE;
    *out = &l->given;
    return NBCOLL_OK;
}

void nbcoll_lists_free(nbcoll_lists *lists)
{
    nbcolli_lists *l = (nbcolli_lists *)(void *)lists;

    if (l) {
        nbcoll_host host = l->host;
        nbcoll_context *c = l->context;
        int has_entered = nbcolli_enter(c) == NBCOLL_OK; /* else it is inside a host's function, or forked */
        nbcolli_free(&host, l, l->memory);
        if (has_entered)
            (void)nbcolli_leave(c, NBCOLL_OK);
    }
}

nbcoll_status nbcoll_lists_arrived(const nbcoll_lists *lists, nbcoll_request request, size_t piece)
{
    const nbcolli_lists *l = (const nbcolli_lists *)(const void *)lists;

    if (!l)
        return NBCOLL_ERR_NULL;
    if (piece >= l->pieces[0])
        return NBCOLL_ERR_ARGUMENT;
    return nbcoll_arrived(request, l->piece[piece].first * l->type.extent, l->piece[piece].count * l->type.extent);
}
