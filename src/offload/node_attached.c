/* SPDX-License-Identifier: BSD-3-Clause
 * Relays of a node whose agent is another process: the rank that leads writes what that needs to know into a slot of
 * the command area, and hears there whether it takes them. From then on both know of each other by the store. */
#include <poll.h>
#include <unistd.h>

#include "agent.h"
#include "commands.h"
#include "node_relays_run.h"

nbcoll_status nbcolli_node_attached_make(nbcolli_node_relays *s, const nbcolli_node_relays_config *c)
{
    s->packed_bytes = nbcolli_node_bytes_bytes(c);
    if (!nbcolli_attached_shares(s->agent, s->memory, s->bytes))
        return NBCOLL_ERR_UNSUPPORTED;
    if (s->packed_bytes > nbcolli_attached_room(s->agent))
        return NBCOLL_ERR_LIMIT;
    s->packed = nbcolli_arena_take(&s->arena, 1, s->packed_bytes);
    if (!s->packed)
        return NBCOLL_ERR_MEMORY;
    nbcolli_node_bytes_write(c, s->packed);
    return NBCOLL_OK;
}

/* The process touches nothing of the store any more, or has never. */
static void nbcolli_node_attached_end(nbcolli_node_relays *s, nbcoll_status why)
{
    nbcolli_node_store_break(&s->store, why);
    /* release: as by the process itself */
    atomic_store_explicit(&s->store.head->state, NBCOLLI_NODE_STORE_OVER, memory_order_release);
}

nbcoll_status nbcolli_node_attached_begin(nbcolli_node_relays *s)
{
    nbcoll_status status = nbcolli_attached_hand(s->agent, s->packed, s->packed_bytes, s->memory, &s->slot);
    if (status == NBCOLL_PENDING)
        return status;
    s->is_out = status == NBCOLL_OK;
    if (!s->is_out)
        nbcolli_node_attached_end(s, status);
    return NBCOLL_OK;
}

void nbcolli_node_attached_look(nbcolli_node_relays *s)
{
    nbcoll_status status = NBCOLL_OK;
    if (s->is_out) {
        status = nbcolli_attached_taken(s->agent, s->slot);
        if (status == NBCOLL_PENDING)
            return;
        s->is_out = 0;
    } else if (nbcolli_attached_is_lost(s->agent))
        status = NBCOLL_ERR_PEER_LOST;
    if (status != NBCOLL_OK)
        nbcolli_node_attached_end(s, status);
}

/* ---- other ranks of the node ------------------------------------------------------------------------------------- */

int nbcolli_node_store_watch(const nbcolli_node_store *s)
{
    int process = atomic_load_explicit(&s->head->process, memory_order_relaxed); /* it does not change */
    return process > 0 ? nbcolli_commands_watch(process) : -1;
}

int nbcolli_node_store_has_ended(int watch)
{
    struct pollfd ended = {watch, POLLIN, 0};
    return poll(&ended, 1, 0) > 0;
}

void nbcolli_node_store_unwatch(int watch)
{
    if (watch >= 0)
        close(watch);
}
