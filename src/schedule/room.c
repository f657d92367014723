/* SPDX-License-Identifier: BSD-3-Clause
 * Memory that a builder lends, till it is finished. */
#include "builder.h"

void *nbcolli_builder_room(nbcolli_builder *b, size_t n, size_t bytes)
{
    size_t all = sizeof(nbcolli_room) + n * bytes;
    nbcolli_room *room = nbcolli_alloc(&b->host, all, 64);
    if (!room) {
        nbcolli_builder_refuse(b, NBCOLL_ERR_MEMORY, (nbcoll_step)b->drafts.used, "no memory");
        return NULL;
    }
    memset(room, 0, all);
    *room = (nbcolli_room){b->rooms, all};
    b->rooms = room;
    return room + 1;
}

nbcoll_part *nbcolli_builder_parts(nbcolli_builder *b, size_t n)
{
    if (n > NBCOLLI_MOST) {
        nbcolli_builder_refuse(b, NBCOLL_ERR_LIMIT, (nbcoll_step)b->drafts.used, "%zu parts", n);
        return NULL;
    }
    return nbcolli_builder_room(b, n, sizeof(nbcoll_part));
}

void *nbcoll_builder_memory(nbcoll_builder *builder, size_t n, size_t bytes)
{
    nbcolli_builder *b = nbcolli_builder_enter(builder, "nbcoll_builder_memory");

    if (!b)
        return NULL;
    if (bytes && n > NBCOLLI_MOST / bytes * sizeof(nbcoll_part)) {
        nbcolli_builder_refuse(b, NBCOLL_ERR_LIMIT, (nbcoll_step)b->drafts.used, "%zu things of %zu bytes", n, bytes);
        return NULL;
    }
    return nbcolli_builder_room(b, n, bytes);
}
