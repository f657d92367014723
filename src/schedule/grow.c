/* SPDX-License-Identifier: BSD-3-Clause
 * Growing exposures: a gate and an exposure for each piece. The gates follow each other, so that an engine starts the
 * exposures in order; where memory is shared they take one cell. */
#include "builder.h"

/* Piece `i` of the regions of `parts`. */
static void grow_slice(size_t n, const nbcoll_part parts[], size_t piece, size_t i, nbcoll_part slice[])
{
    for (size_t p = 0; p < n; p++) {
        size_t from = i * piece, bytes = parts[p].region.bytes;
        slice[p] = parts[p];
        slice[p].region = nbcoll_span(nbcoll_at(parts[p].region.at, from), bytes - from < piece ? bytes - from : piece);
    }
}

/* Marks what is native among the steps from `first` on, the exposure of one piece, as a piece of `*grows`. */
static void grow_mark(nbcolli_builder *b, nbcoll_step first, nbcoll_step *grows, size_t piece, size_t whole)
{
    for (nbcoll_step step = first; step < b->drafts.used; step++) {
        nbcoll_step_view *v = &nbcolli_drafts(b)[step].view;
        if (v->kind != NBCOLL_EXPOSE)
            continue;
        if (*grows == NBCOLL_START)
            *grows = step;
        v->grows = *grows;
        v->piece = piece;
        v->whole = whole;
    }
}

static nbcoll_step grow_pieces(nbcolli_builder *b, size_t n, const nbcoll_part parts[], size_t piece,
                               nbcoll_part slice[])
{
    size_t whole = n ? parts[0].region.bytes : 0, pieces = whole ? (whole - 1) / piece + 1 : 1;
    nbcoll_step first = (nbcoll_step)b->drafts.used, gate = NBCOLL_START, grows = NBCOLL_START;

    for (size_t i = 0; i < pieces && b->status == NBCOLL_OK; i++) {
        nbcoll_step next = nbcoll_join(&b->head);
        nbcoll_after(&b->head, next, gate);
        gate = next;
        grow_slice(n, parts, piece, i, slice);
        nbcoll_after(&b->head, nbcoll_expose(&b->head, n, slice), gate);
        grow_mark(b, gate, &grows, piece, whole);
    }
    uint32_t added = (uint32_t)(b->drafts.used - first);
    nbcoll_step end = nbcoll_join(&b->head);
    if (b->status != NBCOLL_OK)
        return NBCOLL_START;
    for (size_t i = 1; i <= pieces; i++) /* the last step of each piece ends it */
        nbcoll_after(&b->head, end, first + (nbcoll_step)i * (added / (uint32_t)pieces) - 1);
    if (b->status != NBCOLL_OK)
        return NBCOLL_START;
    nbcolli_drafts(b)[end].members = added;
    nbcolli_drafts(b)[end].pieces = (uint32_t)pieces;
    return end;
}

nbcoll_step nbcoll_expose_growing(nbcoll_builder *builder, size_t n, const nbcoll_part parts[], size_t piece)
{
    nbcolli_builder *b = (nbcolli_builder *)builder;
    nbcoll_status wrong = n && !parts ? NBCOLL_ERR_NULL : piece ? NBCOLL_OK : NBCOLL_ERR_ARGUMENT;

    if (!b || b->status != NBCOLL_OK)
        return NBCOLL_START;
    for (size_t i = 0; wrong == NBCOLL_OK && i < n; i++) {
        if (parts[i].region.bytes != parts[0].region.bytes)
            wrong = NBCOLL_ERR_ARGUMENT;
        for (size_t k = 0; k < i; k++) /* a reader's numbers are those of the pieces */
            if (parts[k].peer == parts[i].peer)
                wrong = NBCOLL_ERR_ARGUMENT;
    }
    if (wrong != NBCOLL_OK)
        nbcoll_builder_fail(builder, wrong);
    nbcoll_part *slice = nbcoll_parts(builder, n);
    return slice ? grow_pieces(b, n, parts, piece, slice) : NBCOLL_START;
}

nbcoll_step nbcoll_grow(nbcoll_builder *builder, nbcoll_step exposure, size_t i)
{
    nbcolli_builder *b = (nbcolli_builder *)builder;

    if (!b || b->status != NBCOLL_OK)
        return NBCOLL_START;
    const nbcolli_draft *end = exposure < b->drafts.used ? &nbcolli_drafts(b)[exposure] : NULL;
    if (!end || i >= end->pieces) {
        nbcoll_builder_fail(builder, NBCOLL_ERR_ARGUMENT);
        return NBCOLL_START;
    }
    return exposure - end->members + (nbcoll_step)i * (end->members / end->pieces);
}
