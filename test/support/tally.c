/* SPDX-License-Identifier: BSD-3-Clause
 * See tally.h. */
#include <stdlib.h>

#include "tally.h"

static void *tally_alloc(void *user, size_t bytes, size_t align)
{
    tally *t = user;
    if (t->lacks && t->lacks())
        return NULL;
    t->used += bytes;
    return aligned_alloc(align, (bytes + align - 1) / align * align);
}

static void tally_free(void *user, void *memory, size_t bytes)
{
    ((tally *)user)->used -= bytes;
    free(memory);
}

nbcoll_host tally_host(tally *t)
{
    return (nbcoll_host){.size = sizeof(nbcoll_host), .user = t, .alloc = tally_alloc, .free = tally_free};
}
