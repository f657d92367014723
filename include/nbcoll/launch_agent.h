/* SPDX-License-Identifier: BSD-3-Clause
 *
 * For programs started by `nbcoll run --agent`: a rank finds in its environment the agent that the launcher has started
 * for it. As launch.h it is compiled into the program, not the library.
 */
#include "launch.h"
#include "offload.h"

#ifndef NBCOLL_LAUNCH_AGENT_H
#define NBCOLL_LAUNCH_AGENT_H

#if defined NBCOLL_WITH_OFFLOAD && !NBCOLL_WITH_OFFLOAD
#error "nbcoll/launch_agent.h is of the component offload: define NBCOLL_WITH_OFFLOAD=1, or link nbcoll_offload"
#endif

NBCOLLI_BEGIN

/* Gives the agent that `nbcoll run --agent` has started, for nbcoll_comm_config.agent of a communicator of all ranks
 * over this endpoint, which nbcoll_launch_open has opened; null without that option. Each rank calls it once, and
 * closes the agent by nbcoll_agent_close when the context is freed. Errors: ERR_NULL, ERR_CONFIG (the variable is
 * malformed), and those of nbcoll_agent_attach. */
static inline nbcoll_status nbcoll_launch_agent(nbcoll_endpoint *endpoint, nbcoll_agent **out)
{
    const char *text = getenv("NBCOLL_AGENT");
    nbcoll_attach_config config;

    if (!endpoint || !out)
        return NBCOLL_ERR_NULL;
    *out = NULL;
    memset(&config, 0, sizeof config);
    config.size = sizeof config;
    if (!text)
        return NBCOLL_OK;
    if (nbcolli_launch_number(text, 3, 1 << 30, &config.socket) != NBCOLL_OK)
        return NBCOLL_ERR_CONFIG;
    return nbcoll_agent_attach(endpoint, &config, out);
}

NBCOLLI_END
#endif
