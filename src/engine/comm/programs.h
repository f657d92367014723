/* SPDX-License-Identifier: BSD-3-Clause
 * Programs by which a communicator's agent carries out collectives. */
#ifndef NBCOLLI_ENGINE_COMM_PROGRAMS_H
#define NBCOLLI_ENGINE_COMM_PROGRAMS_H

#include "nbcoll/offload.h"
#include "../state/context.h"

/* The schedule of a collective with the program that is made of it, which all ranks make alike. *why, which is of all
 * its size: as nbcoll_comm_offloads says. ERR_UNSUPPORTED: it is none. */
nbcoll_status nbcolli_comm_compile(nbcoll_comm *comm, const nbcoll_args *args, nbcoll_schedule **out,
                                   nbcoll_refusal *why);

/* Says why there is none; returns ERR_UNSUPPORTED. */
nbcoll_status nbcolli_programs_refuse(nbcoll_refusal_reason reason, nbcoll_refusal *why);

/* May it serve a communicator of this endpoint's ranks? Null may. ERR_UNSUPPORTED; ERR_BUSY: another one is served. */
nbcoll_status nbcolli_agent_suits(const nbcoll_context *c, const nbcoll_agent *agent, const nbcoll_endpoint *ep);

/* Are its ranks those of its last endpoint, in order? */
int nbcolli_has_ranks_of_endpoint(const nbcoll_comm *comm);

/* What ranks say of their agents in a vote; 0: there is none. */
uint32_t nbcolli_comm_agent_hash(const nbcoll_comm *comm);

#endif
