/* SPDX-License-Identifier: BSD-3-Clause
 * Where the bytes of a buffer lie: in their own place, or still in the eager buffer where they came. */
#include "offload.h"

nbcoll_task_bytes nbcolli_offload_find(const nbcolli_offload_map *map, nbcoll_region region)
{
    size_t begin = region.at.offset, end = begin + region.bytes;
    nbcoll_task_bytes found = {NBCOLL_NO_QUEUE, region};
    for (size_t i = 0; i < map->used; i++) {
        const nbcolli_offload_piece *p = &map->piece[i];
        if (p->end <= begin || p->begin >= end)
            continue;
        if (p->begin > begin) {
            found.region.bytes = p->begin - begin;
            return found;
        }
        found.eager = p->eager;
        found.region.at.offset = p->from + (begin - p->begin);
        found.region.bytes = (p->end < end ? p->end : end) - begin;
        return found;
    }
    return found;
}

static nbcoll_status nbcolli_offload_room(nbcolli_arena *arena, nbcolli_offload_map *map)
{
    if (map->used + 2 <= map->room)
        return NBCOLL_OK;
    nbcolli_offload_piece *piece = nbcolli_arena_take(arena, map->room * 2 + 8, sizeof *piece);
    if (!piece)
        return NBCOLL_ERR_MEMORY;
    if (map->used)
        memcpy(piece, map->piece, map->used * sizeof *piece);
    map->piece = piece;
    map->room = map->room * 2 + 8;
    return NBCOLL_OK;
}

nbcoll_status nbcolli_offload_put(nbcolli_arena *arena, nbcolli_offload_map *map, nbcoll_region region, uint32_t eager)
{
    size_t begin = region.at.offset, end = begin + region.bytes, i = 0;
    if (!region.bytes || (eager == NBCOLL_NO_QUEUE && !map->used))
        return NBCOLL_OK;
    if (nbcolli_offload_room(arena, map) != NBCOLL_OK)
        return NBCOLL_ERR_MEMORY;
    while (i < map->used && map->piece[i].end <= begin)
        i++;
    if (i < map->used && map->piece[i].begin < begin) { /* its beginning stays */
        nbcolli_offload_piece rest = map->piece[i];
        memmove(&map->piece[i + 1], &map->piece[i], (map->used++ - i) * sizeof rest);
        map->piece[i++].end = begin;
        map->piece[i].from = rest.from + (begin - rest.begin);
        map->piece[i].begin = begin;
    }
    size_t past = i;
    while (past < map->used && map->piece[past].end <= end)
        past++;
    if (past < map->used && map->piece[past].begin < end) { /* its end stays */
        map->piece[past].from += end - map->piece[past].begin;
        map->piece[past].begin = end;
    }
    size_t with = eager != NBCOLL_NO_QUEUE;
    memmove(&map->piece[i + with], &map->piece[past], (map->used - past) * sizeof *map->piece);
    map->used = map->used - (past - i) + with;
    if (with)
        map->piece[i] = (nbcolli_offload_piece){begin, end, 0, eager};
    return NBCOLL_OK;
}
