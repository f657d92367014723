/* SPDX-License-Identifier: BSD-3-Clause
 * Growing exposures: a gate and an exposure for each piece. The gates follow each other, so that an engine starts the
 * exposures in order; where memory is shared they take one cell. */
#include "builder.h"

/* Piece `i` of the regions of `parts`. */
static void nbcolli_grow_slice(size_t n, const nbcoll_part parts[], size_t piece, size_t i, nbcoll_part slice[])
{
    for (size_t p = 0; p < n; p++) {
        size_t from = i * piece, bytes = parts[p].region.bytes;
        slice[p] = parts[p];
        slice[p].region = nbcoll_span(nbcoll_at(parts[p].region.at, from), bytes - from < piece ? bytes - from : piece);
    }
}

/* Marks what is native among the steps from `first` on, the exposure of one piece, as a piece of `*grows`. */
static void nbcolli_grow_mark(nbcolli_builder *b, nbcoll_step first, nbcoll_step *grows, size_t piece, size_t whole)
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

static nbcoll_step nbcolli_grow_pieces(nbcolli_builder *b, size_t n, const nbcoll_part parts[], size_t piece,
                                       nbcoll_part slice[])
{
    size_t whole = n ? parts[0].region.bytes : 0, pieces = whole ? (whole - 1) / piece + 1 : 1;
    nbcoll_step first = (nbcoll_step)b->drafts.used, gate = NBCOLL_START, grows = NBCOLL_START;

    for (size_t i = 0; i < pieces && b->status == NBCOLL_OK; i++) {
        nbcoll_step next = nbcolli_builder_join(b);
        if (gate != NBCOLL_START)
            nbcolli_builder_after(b, next, gate);
        gate = next;
        nbcolli_grow_slice(n, parts, piece, i, slice);
        nbcoll_step exposure = b->status == NBCOLL_OK ? nbcolli_builder_expose(b, n, slice) : NBCOLL_START;
        if (b->status == NBCOLL_OK)
            nbcolli_builder_after(b, exposure, gate);
        nbcolli_grow_mark(b, gate, &grows, piece, whole);
    }
    uint32_t added = (uint32_t)(b->drafts.used - first);
    nbcoll_step end = nbcolli_builder_join(b);
    for (size_t i = 1; i <= pieces && b->status == NBCOLL_OK; i++) /* the last step of each piece ends it */
        nbcolli_builder_after(b, end, first + (nbcoll_step)i * (added / (uint32_t)pieces) - 1);
    if (b->status != NBCOLL_OK)
        return NBCOLL_START;
    nbcolli_drafts(b)[end].members = added;
    nbcolli_drafts(b)[end].pieces = (uint32_t)pieces;
    return end;
}

/* Can these parts grow together? */
static int nbcolli_grow_together(nbcolli_builder *b, size_t n, const nbcoll_part parts[], size_t piece)
{
    nbcoll_step next = (nbcoll_step)b->drafts.used;

    if (n && !parts)
        nbcolli_builder_refuse(b, NBCOLL_ERR_NULL, next, "parts is null");
    else if (!piece)
        nbcolli_builder_refuse(b, NBCOLL_ERR_ARGUMENT, next, "pieces of 0 bytes");
    for (size_t i = 0; b->status == NBCOLL_OK && i < n; i++) {
        if (parts[i].region.bytes != parts[0].region.bytes)
            nbcolli_builder_refuse(b, NBCOLL_ERR_ARGUMENT, next, "part %zu has %zu bytes, part 0 has %zu", i,
                                   parts[i].region.bytes, parts[0].region.bytes);
        for (size_t k = 0; k < i; k++) /* a reader's numbers are those of the pieces */
            if (parts[k].peer == parts[i].peer)
                nbcolli_builder_refuse(b, NBCOLL_ERR_ARGUMENT, next, "parts %zu and %zu are both for rank %d", k, i,
                                       parts[i].peer);
    }
    return b->status == NBCOLL_OK;
}

nbcoll_step nbcoll_add_expose_growing(nbcoll_builder *builder, size_t n, const nbcoll_part parts[], size_t piece)
{
    nbcolli_builder *b = nbcolli_builder_enter(builder, "nbcoll_add_expose_growing");

    if (!b || !nbcolli_grow_together(b, n, parts, piece))
        return NBCOLL_START;
    nbcoll_part *slice = nbcolli_builder_parts(b, n);
    return slice ? nbcolli_grow_pieces(b, n, parts, piece, slice) : NBCOLL_START;
}

nbcoll_step nbcoll_add_grow(nbcoll_builder *builder, nbcoll_step exposure, size_t i)
{
    nbcolli_builder *b = nbcolli_builder_enter(builder, "nbcoll_add_grow");

    if (!b)
        return NBCOLL_START;
    const nbcolli_draft *end = exposure < b->drafts.used ? &nbcolli_drafts(b)[exposure] : NULL;
    if (!end || i >= end->pieces) {
        nbcolli_builder_refuse(b, NBCOLL_ERR_ARGUMENT, exposure, "it is no exposure that grows by a piece %zu", i);
        return NBCOLL_START;
    }
    return exposure - end->members + (nbcoll_step)i * (end->members / end->pieces);
}
