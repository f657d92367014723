/* SPDX-License-Identifier: BSD-3-Clause
 * What the schedule of a call depends on. Of a host's type that is its extent and what travels of it, of a host's
 * operation whether it commutes. Their addresses, functions and `user` belong to the call: a request keeps them, and a
 * schedule has stand-ins in their place (schedule/schedule.h). Made for calls, on the caller's side. */
#ifndef NBCOLLI_ENGINE_COMM_KEY_H
#define NBCOLLI_ENGINE_COMM_KEY_H

#include "../state/context.h"

/* Of complete arguments. */
uint32_t nbcolli_key_hash(const nbcoll_args *a, int ranks);

/* Does the schedule that was built for `kept` serve `a`? `kept` has stand-ins, and what nbcolli_key_types makes. */
int nbcolli_key_same(const nbcoll_args *kept, const nbcoll_args *a, int ranks);

/* Replaces the types of the blocks of an alltoallw in place by the bytes of an element of each, which are all that a
 * schedule has of them. */
void nbcolli_key_types(nbcoll_type *types, const nbcoll_args *a, int ranks);

/* Does the call name a descriptor of the host's? */
static inline int nbcolli_needs_stand_in(nbcoll_reduction how)
{
    return how.type >= NBCOLL_TYPE_COUNT || how.op >= NBCOLL_OP_COUNT;
}

/* Stand-ins for what the host's are, which then take their places in *how. */
void nbcolli_stand_in_make(nbcolli_stand_in *in, nbcoll_reduction *how);

#endif
