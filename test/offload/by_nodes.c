/* SPDX-License-Identifier: BSD-3-Clause
 * See by_nodes.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "by_nodes.h"

static const nbcoll_loopback_config sharing = {.size = sizeof sharing, .flags = NBCOLL_LOOPBACK_SHARED};

void scene_open(scene *s, const nbcoll_nodes *nodes, const nbcoll_context_config *contexts, uint32_t in_flight,
                nbcoll_comm_config config)
{
    nbcoll_agent_config agents = {.size = sizeof agents, .in_flight = in_flight};
    nbcoll_request request[WORLD_MOST];
    *s = (scene){.ranks = nodes->ranks};
    joined_open_contexts(&s->j, nodes, &sharing, NULL, contexts);
    for (int rank = 0; rank < s->ranks; rank++) {
        EXPECT(OK, nbcoll_agent_open(s->j.w.endpoint[rank], &agents, &s->agent[rank]));
        config.agent = s->agent[rank];
        config.domain = 1 + (uint64_t)(nbcoll_node_place(nodes, rank) % 2);
        EXPECT(OK, joined_icreate(&s->j, rank, &config, &request[rank]));
    }
    world_finish(&s->j.w, (size_t)s->ranks, request);
}

void scene_close(scene *s)
{
    for (int rank = 0; rank < s->ranks; rank++) {
        nbcoll_agent_progress(s->agent[rank]); /* frees what has been reported */
        EXPECT(OK, nbcoll_agent_close(s->agent[rank]));
    }
    joined_close(&s->j);
}
