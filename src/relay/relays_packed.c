/* SPDX-License-Identifier: BSD-3-Clause
 * Calls that relays carry out whose elements travel packed. Fragments end anywhere in an element, and the places of
 * elements in a buffer may be shorter than what travels, or have gaps that are not to be touched: so blocks are put
 * together in memory of their own. The host's functions are called inside the context, which refuses their calls. */
#include "../engine/progress/lock.h"
#include "../select/select.h"
#include "relays.h"

/* Of one operation. */
static size_t nbcolli_relays_packed_bytes(const nbcoll_relays *r)
{
    return nbcolli_lines((size_t)r->ranks * r->config.carries);
}

nbcoll_status nbcolli_relays_prepare_packed(nbcoll_relays *r)
{
    if (!r->packed) /* nothing else takes of the arena since they were made */
        r->packed = nbcolli_arena_take(&r->arena, r->config.at_once, nbcolli_relays_packed_bytes(r));
    return r->packed ? NBCOLL_OK : NBCOLL_ERR_MEMORY;
}

/* That rank's block in the buffer of the call. */
static char *nbcolli_relays_loose(const nbcolli_relays_operation *o, int rank)
{
    const nbcolli_blocks *blocks = &o->request->blocks[1];
    return (char *)o->request->recv + (o->root < 0 ? (size_t)rank * blocks->count * blocks->element : 0);
}

static char *nbcolli_relays_tight(const nbcolli_relays_operation *o, int rank)
{
    return o->recv + (o->root < 0 ? (size_t)rank * o->bytes : 0);
}

nbcoll_status nbcolli_relays_pack(const nbcoll_relays *r, nbcolli_relays_operation *o)
{
    const nbcolli_blocks *blocks = &o->request->blocks[1];
    size_t at = (size_t)((r->last + 1) % r->config.at_once);
    nbcoll_status s;
    const void *from = o->request->send ? o->request->send : nbcolli_relays_loose(o, r->rank);
    o->recv = r->packed + at * nbcolli_relays_packed_bytes(r);
    if (!o->bytes || o->is_revoked || !nbcolli_relays_contributes(o, r->rank))
        return NBCOLL_OK;
    if ((s = nbcolli_enter(r->context)) != NBCOLL_OK)
        return s;
    nbcoll_memory both[] = {{(void *)(uintptr_t)from, 0, blocks->type},
                            {nbcolli_relays_tight(o, r->rank), o->bytes, NBCOLL_BYTE}};
    s = nbcolli_pack_call(NULL, both);
    nbcolli_unlock(r->context);
    return s == NBCOLL_OK ? s : NBCOLL_ERR_CALL;
}

/* What this rank has contributed, and has in its place, stays as it is. */
nbcoll_status nbcolli_relays_unpack(const nbcoll_relays *r, const nbcolli_relays_operation *o)
{
    const nbcolli_request *q = o->request;
    nbcoll_status s = nbcolli_enter(r->context);
    if (s != NBCOLL_OK)
        return s;
    for (int i = 0; i < r->ranks && s == NBCOLL_OK && o->bytes; i++)
        if (nbcolli_relays_contributes(o, i) && (i != r->rank || q->send)) {
            nbcoll_memory both[] = {{nbcolli_relays_tight(o, i), o->bytes, q->blocks[1].type},
                                    {nbcolli_relays_loose(o, i), 0, NBCOLL_BYTE}};
            s = nbcolli_unpack_call(NULL, both);
        }
    nbcolli_unlock(r->context);
    return s == NBCOLL_OK ? s : NBCOLL_ERR_CALL;
}
