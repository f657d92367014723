/* SPDX-License-Identifier: BSD-3-Clause
 * Ranks on nodes that share memory, with agents over what joins the nodes. Include cmocka.h first. */
#ifndef BY_NODES_H
#define BY_NODES_H

#include "joined.h"
#include "nbcoll/offload.h"

typedef struct scene {
    joined j;
    int ranks;
    nbcoll_agent *agent[WORLD_MOST];
} scene;

/* `config` is completed by agents and domains. */
void scene_open(scene *s, const nbcoll_nodes *nodes, const nbcoll_context_config *contexts, uint32_t in_flight,
                nbcoll_comm_config config);
/* Agents that the test has closed, and set to null, are passed over. */
void scene_close(scene *s);

#endif
