/* SPDX-License-Identifier: BSD-3-Clause */
#include "purse.h"

#include <stdlib.h>

static void *purse_take(void *user, size_t bytes, size_t align)
{
    purse *p = user;
    if (p->left-- <= 0)
        return NULL;
    p->out += bytes;
    p->most = p->out > p->most ? p->out : p->most;
    return aligned_alloc(align, (bytes + align - 1) / align * align);
}

static void purse_give(void *user, void *memory, size_t bytes)
{
    purse *p = user;
    p->out -= bytes;
    free(memory);
}

nbcoll_host purse_host(purse *p)
{
    return (nbcoll_host){.size = sizeof(nbcoll_host), .user = p, .alloc = purse_take, .free = purse_give};
}
