/* SPDX-License-Identifier: BSD-3-Clause
 * How topologies are refuted. Private to this folder. */
#ifndef NBCOLLI_VERIFY_TOPOLOGIES_H
#define NBCOLLI_VERIFY_TOPOLOGIES_H

#include "nbcoll/verify.h"
#include "../offload/arena.h"

/* Are these the topologies of so many ranks? */
nbcoll_status nbcolli_topologies_check(const nbcoll_topology *const topologies[], int ranks);

/* Notes the flaw; ERR_VERIFY. `origin`: or -1. */
nbcoll_status nbcolli_relay_refute(nbcoll_relay_refutation *out, nbcoll_relay_flaw flaw, const nbcoll_topology *at,
                                   uint32_t relay, int origin);

/* The end at that relay of `topology` that names relay `of` of `rank`; null: there is none. */
const nbcoll_relay_end *nbcolli_relay_source(const nbcoll_topology *topology, uint32_t relay, int rank, uint32_t of);

#endif
