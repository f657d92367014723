/* SPDX-License-Identifier: BSD-3-Clause
 * Wirings: making. */
#include "wiring.h"

const char *nbcoll_wiring_name(nbcoll_wiring_kind kind)
{
    static const char *const names[] = {
#define NBCOLLI_WIRING_NAME(name, text) text,
        NBCOLL_WIRING_LIST(NBCOLLI_WIRING_NAME)
#undef NBCOLLI_WIRING_NAME
    };
    return (unsigned)kind < NBCOLL_WIRING_COUNT ? names[kind] : "?";
}

/* What a caller gets, in one block with its relays and their ends. */
typedef struct nbcolli_wiring {
    nbcoll_wiring made;
    nbcoll_host host;
    size_t memory;
} nbcolli_wiring;

nbcoll_status nbcolli_wiring_write(nbcolli_wire *wire, nbcolli_wirer w, const char *name, const nbcoll_host *host,
                                   nbcoll_wiring **out)
{
    wire(&w);
    size_t head = nbcolli_lines(sizeof(nbcolli_wiring)), relays = nbcolli_lines(w.relays * sizeof *w.relay);
    size_t bytes = head + relays + w.ends * sizeof *w.end;
    nbcolli_wiring *made = nbcolli_alloc(host, bytes, 64);
    if (!made)
        return NBCOLL_ERR_MEMORY;
    w.relay = (nbcoll_relay *)(void *)((char *)made + head);
    w.end = (nbcoll_relay_end *)(void *)((char *)made + head + relays);
    w.relays = w.ends = 0;
    wire(&w);
    *made = (nbcolli_wiring){{sizeof made->made, name, w.rank, w.ranks, w.relays, w.ends, w.relay}, *host, bytes};
    *out = &made->made;
    return NBCOLL_OK;
}

nbcoll_status nbcoll_wiring_make(nbcoll_wiring_kind kind, unsigned ports, int ranks, int rank, const nbcoll_host *host,
                                 nbcoll_wiring **out)
{
    static nbcolli_wire *const wire[] = {nbcolli_wire_direct, nbcolli_wire_ring, nbcolli_wire_exchange,
                                         nbcolli_wire_bruck, nbcolli_wire_cayley};
    nbcoll_host own = {.size = sizeof own};

    if (!out)
        return NBCOLL_ERR_NULL;
    if (host && nbcolli_copy_tagged(&own, host, sizeof own) != NBCOLL_OK)
        return NBCOLL_ERR_CONFIG;
    if (ranks < 1 || rank < 0 || rank >= ranks)
        return NBCOLL_ERR_RANK;
    if ((unsigned)kind >= NBCOLL_WIRING_COUNT)
        return NBCOLL_ERR_ARGUMENT;
    nbcolli_wirer w = {.rank = rank, .ranks = ranks, .ports = ports ? ports : NBCOLLI_WIRING_PORTS};
    return nbcolli_wiring_write(wire[kind], w, nbcoll_wiring_name(kind), &own, out);
}

void nbcoll_wiring_free(nbcoll_wiring *wiring)
{
    if (!wiring)
        return;
    nbcolli_wiring *made = (nbcolli_wiring *)(void *)wiring; /* it begins so */
    nbcoll_host host = made->host;
    nbcolli_free(&host, made, made->memory);
}
