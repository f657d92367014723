/* SPDX-License-Identifier: BSD-3-Clause
 * Collective calls as programs: the schedules of all ranks are built, and compiled together, so that all ranks come to
 * the same answer. */
#ifndef NBCOLLI_OFFLOAD_CALLS_H
#define NBCOLLI_OFFLOAD_CALLS_H

#include "nbcoll/offload.h"
#include "../engine/state/context.h"

/* The schedule of a collective with the program that is made of it, which all ranks make alike. *why, which is of all
 * its size: as nbcoll_comm_offloads says. ERR_UNSUPPORTED: it is none. */
nbcoll_status nbcolli_offload_compile(nbcoll_comm *comm, const nbcoll_args *args, nbcoll_schedule **out,
                                      nbcoll_refusal *why);

#endif
