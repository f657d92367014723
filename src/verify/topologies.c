/* SPDX-License-Identifier: BSD-3-Clause
 * Are these topologies right? Connections first, then the way of each rank's blocks along them, then circles. */
#include <stdio.h>

#include "topologies.h"

NBCOLLI_TELLS(nbcoll_relay_flaw_name, nbcoll_relay_flaw, NBCOLL_RELAY_FLAW_LIST, NBCOLLI_NAME_OF, "?")

NBCOLLI_TELLS(nbcoll_relay_flaw_text, nbcoll_relay_flaw, NBCOLL_RELAY_FLAW_LIST, NBCOLLI_TEXT_OF, "unknown flaw")

nbcoll_status nbcolli_relay_refute(nbcoll_relay_refutation *out, nbcoll_relay_flaw flaw, const nbcoll_topology *at,
                                   uint32_t relay, int origin)
{
    if (!out)
        return NBCOLL_ERR_VERIFY;
    out->flaw = flaw;
    out->rank = at->rank;
    out->relay = relay;
    out->origin = origin;
    int used =
        snprintf(out->text, sizeof out->text, "%s: rank %d, relay %lu", at->name, at->rank, (unsigned long)relay);
    if (origin >= 0 && used > 0 && (size_t)used < sizeof out->text)
        used += snprintf(out->text + used, sizeof out->text - (size_t)used, ", a block of rank %d", origin);
    if (used > 0 && (size_t)used < sizeof out->text)
        snprintf(out->text + used, sizeof out->text - (size_t)used, ": %s", nbcoll_relay_flaw_text(flaw));
    return NBCOLL_ERR_VERIFY;
}

nbcoll_status nbcolli_topologies_check(const nbcoll_topology *const topologies[], int ranks)
{
    if (ranks < 1)
        return NBCOLL_ERR_RANK;
    for (int rank = 0; rank < ranks; rank++) {
        if (!topologies[rank])
            return NBCOLL_ERR_NULL;
        if (topologies[rank]->size < sizeof *topologies[rank])
            return NBCOLL_ERR_CONFIG;
        if (topologies[rank]->rank != rank || topologies[rank]->ranks != ranks)
            return NBCOLL_ERR_RANK;
    }
    return NBCOLL_OK;
}

static const nbcoll_relay_end *nbcolli_relay_end(const nbcoll_relay_end *end, uint32_t count, int rank, uint32_t of)
{
    for (uint32_t i = 0; i < count; i++)
        if (end[i].rank == rank && end[i].relay == of)
            return &end[i];
    return NULL;
}

const nbcoll_relay_end *nbcolli_relay_source(const nbcoll_topology *topology, uint32_t relay, int rank, uint32_t of)
{
    const nbcoll_relay *at = &topology->relay[relay];
    return nbcolli_relay_end(at->source, at->sources, rank, of);
}

/* ---- connections ------------------------------------------------------------------------------------------------- */

/* Does an end lead to a relay that may be its other end, and no other one of these with it? */
static nbcoll_relay_flaw nbcolli_end_leads(const nbcoll_topology *const topologies[], const nbcoll_topology *w,
                                           uint32_t relay, int is_source, const nbcoll_relay_end *e, uint32_t rest)
{
    if (e->rank < 0 || e->rank >= w->ranks || e->rank == w->rank || e->relay >= topologies[e->rank]->relays ||
        (is_source ? relay : e->relay) == 0)
        return NBCOLL_RELAY_FLAW_END;
    return nbcolli_relay_end(e + 1, rest, e->rank, e->relay) ? NBCOLL_RELAY_FLAW_DOUBLED : NBCOLL_RELAY_FLAW_NONE;
}

/* Is it named there, with as many credits? */
static nbcoll_relay_flaw nbcolli_end_matches(const nbcoll_topology *const topologies[], const nbcoll_topology *w,
                                             uint32_t relay, int is_source, const nbcoll_relay_end *e)
{
    const nbcoll_relay *there = &topologies[e->rank]->relay[e->relay];
    const nbcoll_relay_end *back = is_source
                                       ? nbcolli_relay_end(there->destination, there->destinations, w->rank, relay)
                                       : nbcolli_relay_end(there->source, there->sources, w->rank, relay);
    if (!back)
        return NBCOLL_RELAY_FLAW_ONE_END;
    return back->origins == e->origins ? NBCOLL_RELAY_FLAW_NONE : NBCOLL_RELAY_FLAW_CREDITS;
}

/* Looks at all ends of one rank: where they lead or, where that is known to be right, whether they match. */
static nbcoll_status nbcolli_ends_look(const nbcoll_topology *const topologies[], const nbcoll_topology *w,
                                       int do_match, nbcoll_relay_refutation *out)
{
    for (uint32_t relay = 0; relay < w->relays; relay++)
        for (int is_source = 0; is_source < 2; is_source++) {
            const nbcoll_relay *at = &w->relay[relay];
            uint32_t count = is_source ? at->sources : at->destinations;
            for (uint32_t i = 0; i < count; i++) {
                const nbcoll_relay_end *e = is_source ? &at->source[i] : &at->destination[i];
                nbcoll_relay_flaw flaw = do_match
                                             ? nbcolli_end_matches(topologies, w, relay, is_source, e)
                                             : nbcolli_end_leads(topologies, w, relay, is_source, e, count - i - 1);
                if (flaw != NBCOLL_RELAY_FLAW_NONE)
                    return nbcolli_relay_refute(out, flaw, w, relay, -1);
            }
        }
    return NBCOLL_OK;
}

static nbcoll_status nbcolli_relays_joined(const nbcoll_topology *const topologies[], int ranks,
                                           nbcoll_relay_refutation *out)
{
    nbcoll_status status = NBCOLL_OK;
    for (int do_match = 0; do_match < 2; do_match++)
        for (int rank = 0; rank < ranks && status == NBCOLL_OK; rank++)
            status = nbcolli_ends_look(topologies, topologies[rank], do_match, out);
    return status;
}

/* ---- ways -------------------------------------------------------------------------------------------------------- */

typedef struct nbcolli_ways {
    const nbcoll_topology *const *topologies;
    int ranks;
    nbcoll_relay_refutation *out;
    uint64_t *first;  /* [ranks]: the number of a rank's relay 0 among all */
    uint32_t *passed; /* [relays]: blocks that have come there, of all origins; later sources still to be looked at */
    uint64_t *queue;  /* [ranks, at least relays]: what is to be looked at */
    int *came;        /* [ranks]: 1 + the last origin whose block has come */
} nbcolli_ways;

static uint64_t nbcolli_ways_entry(int rank, uint32_t relay)
{
    return (uint64_t)rank << 32 | relay;
}

/* Follows the block of a rank. */
static nbcoll_status nbcolli_ways_follow(nbcolli_ways *p, int origin)
{
    size_t head = 0, tail = 0;

    p->came[origin] = 1 + origin;
    p->queue[tail++] = nbcolli_ways_entry(origin, 0);
    while (head < tail) {
        const nbcoll_topology *w = p->topologies[p->queue[head] >> 32];
        uint32_t relay = (uint32_t)p->queue[head++];
        p->passed[p->first[w->rank] + relay]++;
        for (uint32_t i = 0; i < w->relay[relay].destinations; i++) {
            const nbcoll_relay_end *to = &w->relay[relay].destination[i];
            if (p->came[to->rank] == 1 + origin)
                return nbcolli_relay_refute(p->out, NBCOLL_RELAY_FLAW_TWICE, p->topologies[to->rank], to->relay,
                                            origin);
            p->came[to->rank] = 1 + origin;
            p->queue[tail++] = nbcolli_ways_entry(to->rank, to->relay);
        }
    }
    for (int rank = 0; rank < p->ranks; rank++)
        if (p->came[rank] != 1 + origin)
            return nbcolli_relay_refute(p->out, NBCOLL_RELAY_FLAW_MISSED, p->topologies[rank], 0, origin);
    return NBCOLL_OK;
}

/* Each relay sends all that comes to it, so that its connections carry as many. */
static nbcoll_status nbcolli_ways_count(nbcolli_ways *p)
{
    for (int rank = 0; rank < p->ranks; rank++)
        for (uint32_t relay = 0; relay < p->topologies[rank]->relays; relay++) {
            const nbcoll_relay *at = &p->topologies[rank]->relay[relay];
            for (uint32_t i = 0; i < at->destinations; i++)
                if (at->destination[i].origins != p->passed[p->first[rank] + relay])
                    return nbcolli_relay_refute(p->out, NBCOLL_RELAY_FLAW_CREDITS, p->topologies[rank], relay, -1);
        }
    return NBCOLL_OK;
}

/* Takes away relays without sources, again and again: what stays is in a circle, or behind one. */
static nbcoll_status nbcolli_ways_circle(nbcolli_ways *p, uint64_t relays)
{
    size_t head = 0, tail = 0;

    for (int rank = 0; rank < p->ranks; rank++)
        for (uint32_t relay = 0; relay < p->topologies[rank]->relays; relay++)
            if (!(p->passed[p->first[rank] + relay] = p->topologies[rank]->relay[relay].sources))
                p->queue[tail++] = nbcolli_ways_entry(rank, relay);
    while (head < tail) {
        const nbcoll_relay *at = &p->topologies[p->queue[head] >> 32]->relay[(uint32_t)p->queue[head]];
        head++;
        for (uint32_t i = 0; i < at->destinations; i++)
            if (!--p->passed[p->first[at->destination[i].rank] + at->destination[i].relay])
                p->queue[tail++] = nbcolli_ways_entry(at->destination[i].rank, at->destination[i].relay);
    }
    for (int rank = 0; rank < p->ranks && tail < relays; rank++)
        for (uint32_t relay = 0; relay < p->topologies[rank]->relays; relay++)
            if (p->passed[p->first[rank] + relay])
                return nbcolli_relay_refute(p->out, NBCOLL_RELAY_FLAW_CIRCLE, p->topologies[rank], relay, -1);
    return NBCOLL_OK;
}

static nbcoll_status nbcolli_ways_prove(nbcolli_ways *p, uint64_t relays)
{
    nbcoll_status status = NBCOLL_OK;
    for (int origin = 0; origin < p->ranks && status == NBCOLL_OK; origin++)
        status = nbcolli_ways_follow(p, origin);
    if (status == NBCOLL_OK)
        status = nbcolli_ways_count(p);
    return status == NBCOLL_OK ? nbcolli_ways_circle(p, relays) : status;
}

nbcoll_status nbcoll_verify_topologies(const nbcoll_topology *const topologies[], int ranks, const nbcoll_host *host,
                                    nbcoll_relay_refutation *out)
{
    nbcoll_host own = {.size = sizeof own};
    if (!topologies)
        return NBCOLL_ERR_NULL;
    if ((out && out->size < sizeof *out) || (host && nbcolli_copy_tagged(&own, host, sizeof own) != NBCOLL_OK))
        return NBCOLL_ERR_CONFIG;
    nbcoll_status status = nbcolli_topologies_check(topologies, ranks);
    if (status == NBCOLL_OK)
        status = nbcolli_relays_joined(topologies, ranks, out);
    if (status != NBCOLL_OK)
        return status;
    uint64_t relays = 0, room = (uint64_t)ranks;
    for (int rank = 0; rank < ranks; rank++)
        relays += topologies[rank]->relays;
    room = room > relays ? room : relays;
    nbcolli_arena arena = {.host = own};
    nbcolli_ways p = {.topologies = topologies, .ranks = ranks, .out = out};
    p.first = nbcolli_arena_take(&arena, (size_t)ranks, sizeof *p.first);
    p.passed = nbcolli_arena_take(&arena, relays, sizeof *p.passed);
    p.queue = nbcolli_arena_take(&arena, room, sizeof *p.queue);
    p.came = nbcolli_arena_take(&arena, (size_t)ranks, sizeof *p.came);
    status = NBCOLL_ERR_MEMORY;
    if (p.first && p.passed && p.queue && p.came) {
        for (int rank = 1; rank < ranks; rank++)
            p.first[rank] = p.first[rank - 1] + topologies[rank - 1]->relays;
        status = nbcolli_ways_prove(&p, relays);
    }
    nbcolli_arena_close(&arena);
    if (status == NBCOLL_OK && out)
        out->flaw = NBCOLL_RELAY_FLAW_NONE;
    return status;
}
