/* SPDX-License-Identifier: BSD-3-Clause
 * Communicators: their memory, their names on a link, their end. */
#ifndef NBCOLLI_ENGINE_COMM_COMM_H
#define NBCOLLI_ENGINE_COMM_COMM_H

#include "../state/context.h"

/* The tombstone of a freed communicator of that id, or null. */
const nbcolli_tombstone *nbcolli_find_tombstone(const nbcolli_link *link, uint64_t id);

/* Can a communicator have so many? The ranges that nbcoll_comm_config gives. */
static inline int nbcolli_slots_are_possible(uint32_t slots, uint32_t cells)
{
    return slots >= 1 && slots <= 65536 && cells >= 1 && cells <= 256;
}

/* The configuration given, over the defaults; null: those. ERR_CONFIG, or an error of nbcoll_rules_check. */
nbcoll_status nbcolli_comm_config_read(const nbcoll_comm_config *given, nbcoll_comm_config *config);

/* A new, empty communicator, with room for `most` ranks; not known to its link yet. */
nbcoll_status nbcolli_comm_open(nbcolli_link *link, const nbcoll_comm_config *config, int most, nbcoll_comm **out);

/* Makes it known to its link, under its id. */
void nbcolli_comm_register(nbcoll_comm *comm);

/* The communicator of that id on a link, or null. */
nbcoll_comm *nbcolli_comm_find(const nbcolli_link *link, uint64_t id);

/* Sets its rank `place`. */
void nbcolli_comm_join(nbcoll_comm *comm, int place, const nbcolli_peer *peer);

/* Its making has failed, and it will be destroyed: notes its vote. */
void nbcolli_comm_unmade(nbcoll_comm *comm);

/* Groups (src/group): a call lists ranks, which vote over a hidden communicator for the one that they make. Its id is
 * the call's tag and a hash of the list, so that all find it without meeting before. `vote_comm` is the communicator of
 * which they are ranks. */
static inline int nbcolli_is_group(uint64_t id)
{
    return id >> 63 && id != NBCOLLI_NO_COMM;
}

/* Are its ranks those of its last endpoint, in order? */
int nbcolli_has_ranks_of_endpoint(const nbcoll_comm *comm);

/* Frees an idle communicator. */
void nbcolli_comm_destroy(nbcoll_comm *comm);

#endif
