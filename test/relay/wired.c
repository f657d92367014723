/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "wired.h"

void wired_open(wired *p, nbcoll_topology_kind kind, unsigned ports, int ranks)
{
    *p = (wired){.ranks = ranks, .why = {.size = sizeof p->why}};
    for (int rank = 0; rank < ranks; rank++) {
        assert_int_equal(nbcoll_topology_make(kind, ports, ranks, rank, NULL, &p->made[rank]), NBCOLL_OK);
        p->topology[rank] = p->made[rank];
    }
}

void wired_open_nodes(wired *p, nbcoll_topology_kind kind, unsigned ports, const nbcoll_nodes *nodes)
{
    *p = (wired){.ranks = nodes->ranks, .why = {.size = sizeof p->why}};
    for (int rank = 0; rank < p->ranks; rank++) {
        assert_int_equal(nbcoll_topology_make_nodes(kind, ports, nodes, rank, NULL, &p->made[rank]), NBCOLL_OK);
        p->topology[rank] = p->made[rank];
    }
}

nbcoll_nodes *wired_nodes(int ranks, const int room[], size_t rooms, nbcoll_numbering numbering, uint64_t seed)
{
    nbcoll_placement placement = {.size = sizeof placement, .room = room, .rooms = rooms, .numbering = numbering,
                                  .seed = seed};
    nbcoll_nodes *nodes;
    assert_int_equal(nbcoll_nodes_place(&placement, ranks, NULL, &nodes), NBCOLL_OK);
    return nodes;
}

void wired_close(wired *p)
{
    for (int rank = 0; rank < p->ranks; rank++)
        nbcoll_topology_free(p->made[rank]);
}

/* What is made is memory of the library's that is const for those who read it only. */
nbcoll_relay_end *wired_ends(wired *p, int rank, uint32_t relay, int is_source, uint32_t **count)
{
    nbcoll_relay *at = (nbcoll_relay *)(uintptr_t)&p->made[rank]->relay[relay];
    *count = is_source ? &at->sources : &at->destinations;
    return (nbcoll_relay_end *)(uintptr_t)(is_source ? at->source : at->destination);
}

void wired_must(const wired *p, nbcoll_status status)
{
    if (status != NBCOLL_OK)
        print_error("%s\n", p->why.text);
    assert_int_equal(status, NBCOLL_OK);
}

void wired_play(wired *p, const uint32_t started[], uint32_t at_once, uint32_t operations, uint64_t seed)
{
    nbcoll_relay_play play = {.size = sizeof play,
                              .at_once = at_once,
                              .fragments = 2,
                              .operations = operations,
                              .started = started,
                              .seed = seed};
    wired_must(p, nbcoll_play_topologies(p->topology, p->ranks, &play, &p->why));
}
