/* SPDX-License-Identifier: BSD-3-Clause
 * Hierarchical barrier: the leader of each node hears of its ranks through shared memory, the leaders meet by
 * dissemination, and tell their nodes. ceil(log2 N) messages after each other between N leaders. Source: the phases of
 * Inozemtsev's thesis (2014), section 4.4; several leaders of a node: section 4.4.1. Leaders: `leaders`, or one. By
 * domains, leaders of domains meet so by nodes. */
#include "algorithms.h"

static void nbcolli_barrier_nodes(nbcoll_builder *b, const nbcoll_args *a, const nbcoll_nodes *t, nbcoll_build *build)
{
    nbcoll_args nothing = nbcoll_args_part(a, NBCOLL_OPERATION_GATHER, 0, 0);

    nothing.in_place = 1;
    nbcoll_step here = nbcoll_within_node(b, t, &nothing, nbcolli_gather_slots, NBCOLL_START);
    nbcoll_step everywhere = nbcoll_between_nodes(b, t, -1, a, build, here);
    nbcoll_within_node(b, t, &nothing, nbcolli_bcast_slots, everywhere);
}

void nbcolli_barrier_hierarchical(nbcoll_builder *b, const nbcoll_args *a)
{
    nbcolli_barrier_nodes(b, a, nbcoll_nodes_parts(b, a->leaders, 0), nbcolli_barrier_dissemination);
}

void nbcolli_barrier_hierarchical_domains(nbcoll_builder *b, const nbcoll_args *a)
{
    const nbcoll_nodes *domains = nbcoll_nodes_domains(b->nodes);
    if (domains)
        nbcolli_barrier_nodes(b, a, domains, nbcolli_barrier_hierarchical);
    else
        nbcolli_barrier_hierarchical(b, a);
}
