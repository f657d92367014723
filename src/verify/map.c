/* SPDX-License-Identifier: BSD-3-Clause
 * What memory holds, as few pieces: cut out, put in, join again. */
#include "proof.h"

/* The first piece that ends behind `at`, or at it if `touching`. */
static size_t nbcolli_map_find(const nbcolli_map *map, size_t at, int touching)
{
    size_t low = 0, high = map->used;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        size_t end = map->pieces[middle].end;
        if (end < at || (end == at && !touching))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static nbcoll_status nbcolli_map_reserve(nbcolli_proof *p, nbcolli_map *map, size_t n)
{
    if (n <= map->room)
        return NBCOLL_OK;
    size_t room = n < 4 ? 4 : n * 2;
    nbcolli_piece *pieces = nbcolli_take(p, room, sizeof *pieces);
    if (!pieces)
        return NBCOLL_ERR_MEMORY;
    if (map->used)
        memcpy(pieces, map->pieces, map->used * sizeof *pieces);
    map->pieces = pieces;
    map->room = room;
    return NBCOLL_OK;
}

nbcoll_status nbcolli_map_push(nbcolli_proof *p, nbcolli_map *map, nbcolli_piece piece)
{
    if (piece.begin == piece.end)
        return NBCOLL_OK;
    if (map->used) {
        nbcolli_piece *last = &map->pieces[map->used - 1];
        size_t next = last->from + (last->end - last->begin);
        if (last->end == piece.begin && last->value == piece.value && next == piece.from) {
            last->end = piece.end;
            return NBCOLL_OK;
        }
    }
    nbcoll_status status = nbcolli_map_reserve(p, map, map->used + 1);
    if (status == NBCOLL_OK)
        map->pieces[map->used++] = piece;
    return status;
}

/* The part of a piece that lies in [begin, end), moved so that `begin` becomes `origin`. */
static nbcolli_piece nbcolli_map_clip(nbcolli_piece piece, size_t begin, size_t end, size_t origin)
{
    size_t low = piece.begin > begin ? piece.begin : begin, high = piece.end < end ? piece.end : end;
    if (high < low)
        high = low;
    return (nbcolli_piece){low - begin + origin, high - begin + origin, piece.from + (low - piece.begin), piece.value};
}

nbcoll_status nbcolli_map_cut(nbcolli_proof *p, const nbcolli_map *from, size_t begin, size_t bytes, nbcolli_map *to)
{
    nbcoll_status status = NBCOLL_OK;
    to->used = 0;
    for (size_t i = nbcolli_map_find(from, begin, 0); i < from->used && status == NBCOLL_OK; i++) {
        if (from->pieces[i].begin >= begin + bytes)
            break;
        status = nbcolli_map_push(p, to, nbcolli_map_clip(from->pieces[i], begin, begin + bytes, 0));
    }
    return status;
}

/* Replaces pieces [low, high) by those of `with`. */
static nbcoll_status nbcolli_map_splice(nbcolli_proof *p, nbcolli_map *map, size_t low, size_t high,
                                        const nbcolli_map *with)
{
    size_t tail = map->used - high, used = low + with->used + tail;
    nbcoll_status status = nbcolli_map_reserve(p, map, used);
    if (status != NBCOLL_OK || !used)
        return status;
    memmove(&map->pieces[low + with->used], &map->pieces[high], tail * sizeof *map->pieces);
    if (with->used)
        memcpy(&map->pieces[low], with->pieces, with->used * sizeof *map->pieces);
    map->used = used;
    return NBCOLL_OK;
}

nbcoll_status nbcolli_map_put(nbcolli_proof *p, nbcolli_map *map, size_t at, size_t bytes, const nbcolli_map *from)
{
    if (!bytes)
        return NBCOLL_OK;
    /* Neighbours that only touch are taken out too, so that they can join what comes between them. */
    size_t end = at + bytes, low = nbcolli_map_find(map, at, 1), high = low;
    while (high < map->used && map->pieces[high].begin <= end)
        high++;
    nbcoll_status status = NBCOLL_OK;
    nbcolli_map *splice = &p->splice;
    splice->used = 0;
    if (low < high && map->pieces[low].begin < at)
        status = nbcolli_map_push(p, splice, nbcolli_map_clip(map->pieces[low], 0, at, 0));
    for (size_t i = 0; i < from->used && status == NBCOLL_OK; i++)
        status = nbcolli_map_push(p, splice, nbcolli_map_clip(from->pieces[i], 0, bytes, at));
    if (low < high && map->pieces[high - 1].end > end && status == NBCOLL_OK)
        status = nbcolli_map_push(p, splice, nbcolli_map_clip(map->pieces[high - 1], end, SIZE_MAX, end));
    return status == NBCOLL_OK ? nbcolli_map_splice(p, map, low, high, splice) : status;
}

size_t nbcolli_map_gap(const nbcolli_map *map, size_t bytes, size_t *length)
{
    size_t at = 0, i = 0;
    while (i < map->used && map->pieces[i].begin <= at)
        at = map->pieces[i++].end;
    if (at >= bytes)
        return bytes;
    *length = (i < map->used ? map->pieces[i].begin : bytes) - at;
    return at;
}
