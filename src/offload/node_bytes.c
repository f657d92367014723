/* SPDX-License-Identifier: BSD-3-Clause
 * Relays of a node as bytes, for an agent in another process: the store's shape and the numbers of relays and ends, how
 * many ends each relay has, and the ends, relay by relay, sources before destinations. Pointers are not among them. */
#include <string.h>

#include "commands.h"
#include "node_relays.h"

typedef struct nbcolli_node_bytes_head {
    nbcolli_node_store_shape shape;
    uint32_t relays, ends;
} nbcolli_node_bytes_head;

typedef struct nbcolli_node_bytes_relay {
    uint32_t sources, destinations;
} nbcolli_node_bytes_relay;

static uint64_t nbcolli_node_bytes_size(uint32_t relays, uint32_t ends)
{
    return sizeof(nbcolli_node_bytes_head) + relays * (uint64_t)sizeof(nbcolli_node_bytes_relay) +
           ends * (uint64_t)sizeof(nbcolli_node_relays_end);
}

static uint32_t nbcolli_node_bytes_ends(const nbcolli_node_relays_config *c)
{
    uint32_t ends = 0;
    for (uint32_t i = 0; i < c->relays; i++)
        ends += c->relay[i].sources + c->relay[i].destinations;
    return ends;
}

/* ---- writing ----------------------------------------------------------------------------------------------------- */

size_t nbcolli_node_bytes_bytes(const nbcolli_node_relays_config *c)
{
    return (size_t)nbcolli_node_bytes_size(c->relays, nbcolli_node_bytes_ends(c));
}

static char *nbcolli_node_bytes_add(char *to, const void *from, size_t bytes)
{
    if (bytes)
        memcpy(to, from, bytes);
    return to + bytes;
}

void nbcolli_node_bytes_write(const nbcolli_node_relays_config *c, char *to)
{
    const nbcolli_node_bytes_head head = {c->store.shape, c->relays, nbcolli_node_bytes_ends(c)};
    to = nbcolli_node_bytes_add(to, &head, sizeof head);
    for (uint32_t i = 0; i < c->relays; i++) {
        const nbcolli_node_bytes_relay counts = {c->relay[i].sources, c->relay[i].destinations};
        to = nbcolli_node_bytes_add(to, &counts, sizeof counts);
    }
    for (uint32_t i = 0; i < c->relays; i++) {
        const nbcolli_node_relays_relay *r = &c->relay[i];
        to = nbcolli_node_bytes_add(to, r->source, r->sources * sizeof *r->source);
        to = nbcolli_node_bytes_add(to, r->destination, r->destinations * sizeof *r->destination);
    }
}

void nbcolli_node_bytes_meet(char *packed, int peer, uint32_t first)
{
    nbcolli_node_bytes_head head;
    memcpy(&head, packed, sizeof head);
    packed += nbcolli_node_bytes_size(head.relays, 0);
    for (uint32_t i = 0; i < head.ends; i++, packed += sizeof(nbcolli_node_relays_end)) {
        nbcolli_node_relays_end end;
        memcpy(&end, packed, sizeof end);
        end.number += end.peer == peer ? first : 0;
        memcpy(packed, &end, sizeof end);
    }
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

#define NBCOLLI_NODE_LETTER_BUFFERS (UINT32_C(1) << 30)
#define NBCOLLI_NODE_LETTER_BYTES (UINT32_C(1) << 31)
#define NBCOLLI_NODE_LETTER_NUMBERS (NBCOLLI_NODE_RELAYS_SETS * NBCOLLI_NODE_RELAYS_NUMBERS) /* below: programs' */

/* So many buffers have numbers of 32 bits, and their bytes one of 64. */
static int nbcolli_node_bytes_is_shape(const nbcolli_node_store_shape *s)
{
    return s->readers && s->own && (uint64_t)s->readers * s->own <= NBCOLLI_NODE_LETTER_BUFFERS &&
           s->received <= NBCOLLI_NODE_LETTER_BUFFERS && s->bytes && s->bytes <= NBCOLLI_NODE_LETTER_BYTES;
}

/* Can all of these be ends of an agent of that rank? *credits: of all. */
static int nbcolli_node_bytes_are_ends(const nbcoll_agent *a, const nbcolli_node_relays_end *end, uint32_t count,
                                        uint64_t most, uint64_t *credits)
{
    *credits = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (end[i].peer < 0 || end[i].peer >= a->ranks || end[i].peer == a->rank ||
            end[i].number < NBCOLLI_NODE_LETTER_NUMBERS || !end[i].credits || end[i].credits > most)
            return 0;
        *credits += end[i].credits;
    }
    return 1;
}

/* What comes to a relay has the buffers of its sources, and all of them are received ones; a destination has no more
 * credits than messages may wait for it. So what is taken for them is bounded by a store that lies in the segment. */
static int nbcolli_node_bytes_check(const nbcoll_agent *a, const nbcolli_node_relays_config *c)
{
    const nbcolli_node_store_shape *shape = &c->store.shape;
    uint64_t received = 0, credits, none;
    for (uint32_t i = 0; i < c->relays; i++) {
        const nbcolli_node_relays_relay *r = &c->relay[i];
        if (!nbcolli_node_bytes_are_ends(a, r->source, r->sources, shape->received, &credits) || (!i && r->sources) ||
            !nbcolli_node_bytes_are_ends(a, r->destination, r->destinations,
                                          i ? credits : (uint64_t)shape->readers * shape->own, &none))
            return 0;
        received += credits;
    }
    return received == shape->received;
}

/* Gives each relay its ends: all there are. */
static int nbcolli_node_bytes_deal(const char *from, nbcolli_node_relays_relay *relay, uint32_t relays,
                                    const nbcolli_node_relays_end *end, uint32_t ends)
{
    for (uint32_t i = 0; i < relays; i++) {
        nbcolli_node_bytes_relay counts;
        memcpy(&counts, from + i * sizeof counts, sizeof counts);
        if (counts.sources > ends || counts.destinations > ends - counts.sources)
            return 0;
        relay[i] = (nbcolli_node_relays_relay){counts.sources, counts.destinations, end, end + counts.sources};
        end += counts.sources + counts.destinations;
        ends -= counts.sources + counts.destinations;
    }
    return !ends;
}

nbcoll_status nbcolli_node_bytes_read(const nbcoll_agent *a, nbcolli_arena *arena, const char *from, size_t bytes,
                                       nbcolli_node_relays_config *out)
{
    nbcolli_node_bytes_head h;
    if (bytes < sizeof h)
        return NBCOLL_ERR_ARGUMENT;
    memcpy(&h, from, sizeof h);
    if (!h.relays || bytes != nbcolli_node_bytes_size(h.relays, h.ends) || !nbcolli_node_bytes_is_shape(&h.shape))
        return NBCOLL_ERR_ARGUMENT;
    nbcolli_node_relays_relay *relay = nbcolli_arena_take(arena, h.relays, sizeof *relay);
    nbcolli_node_relays_end *end = nbcolli_arena_take(arena, h.ends, sizeof *end);
    if (!relay || !end)
        return NBCOLL_ERR_MEMORY;
    from += sizeof h;
    nbcolli_node_bytes_add((char *)end, from + h.relays * sizeof(nbcolli_node_bytes_relay), h.ends * sizeof *end);
    *out = (nbcolli_node_relays_config){
        .host = &a->host, .relays = h.relays, .relay = relay, .store.shape = h.shape};
    return nbcolli_node_bytes_deal(from, relay, h.relays, end, h.ends) && nbcolli_node_bytes_check(a, out)
               ? NBCOLL_OK
               : NBCOLL_ERR_ARGUMENT;
}
