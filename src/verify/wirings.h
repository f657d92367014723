/* SPDX-License-Identifier: BSD-3-Clause
 * How wirings are refuted. Private to this folder. */
#ifndef NBCOLLI_VERIFY_WIRINGS_H
#define NBCOLLI_VERIFY_WIRINGS_H

#include "nbcoll/verify.h"
#include "../offload/arena.h"

/* Are these the wirings of so many ranks? */
nbcoll_status nbcolli_wirings_check(const nbcoll_wiring *const wirings[], int ranks);

/* Notes the flaw; ERR_VERIFY. `origin`: or -1. */
nbcoll_status nbcolli_relay_refute(nbcoll_relay_refutation *out, nbcoll_relay_flaw flaw, const nbcoll_wiring *at,
                                   uint32_t relay, int origin);

/* The end at that relay of `wiring` that names relay `of` of `rank`; null: there is none. */
const nbcoll_relay_end *nbcolli_relay_source(const nbcoll_wiring *wiring, uint32_t relay, int rank, uint32_t of);

#endif
