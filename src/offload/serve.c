/* SPDX-License-Identifier: BSD-3-Clause
 * What the engine and drivers ask of agents: the table to which each agent begins with a pointer. */
#include "agent.h"
#include "executor.h"

/* Agents number the queue pairs of an endpoint alike, and programs of two communicators have no order. */
static nbcoll_status nbcolli_serve_suits(const nbcoll_agent *a, const nbcoll_context *c, const nbcoll_endpoint *ep)
{
    if (nbcolli_agent_endpoint(a) != ep)
        return NBCOLL_ERR_UNSUPPORTED;
    for (const nbcoll_comm *comm = c->comms; comm; comm = comm->sister)
        if (comm->config.agent &&
            (comm->config.agent == a || (comm->link->endpoint == ep && !nbcolli_agent_process(a))))
            return NBCOLL_ERR_BUSY;
    return NBCOLL_OK;
}

const nbcolli_route_table nbcolli_agent_serves = {.agent = {.suits = nbcolli_serve_suits,
                                                            .serve = nbcolli_offload_serve,
                                                            .hold = nbcolli_agent_hold,
                                                            .own = nbcolli_agent_own,
                                                            .disown = nbcolli_agent_disown,
                                                            .progress = nbcoll_agent_progress,
                                                            .arm = nbcolli_agent_arm,
                                                            .wake = nbcolli_agent_wake},
                                                  .open = nbcolli_agent_route,
                                                  .on = nbcolli_agent_route_on,
                                                  .free = nbcolli_agent_route_free,
                                                  .watch = nbcolli_agent_watch,
                                                  .unwatch = nbcolli_agent_unwatch};
