/* SPDX-License-Identifier: BSD-3-Clause
 * What other ranks say of operations and communicators: revoked, broken, not made there. And ranks that are gone: what
 * needs them ends. */
#ifndef NBCOLLI_ENGINE_MATCH_NEWS_H
#define NBCOLLI_ENGINE_MATCH_NEWS_H

#include "../wire/unexpected.h"

/* The member with this address at home, or -1. */
int nbcolli_member_at(const nbcoll_comm *comm, int home);

/* Votes that a REVOKE, or the word of a shrink that is cancelled, names may have ended well here: then what they made
 * is not on all ranks. `comm`: where they were, or null if that was freed. */
void nbcolli_vote_revoked(nbcoll_comm *comm, const nbcolli_incoming *in, nbcoll_status why);

/* One or more operations in a row. */
void nbcolli_revokes_in(nbcoll_comm *comm, nbcolli_incoming *in);

/* This rank shrinks without `left`, which has left: what it has not started ends on all ranks, what it has started goes
 * on. */
void nbcolli_revoke_rest(nbcoll_comm *comm, int left);

/* Another rank has broken the communicator, or says who is given up. Where the ranks are out of step, it will not start
 * `tag` or later ones. */
void nbcolli_lost_in(nbcoll_comm *comm, nbcolli_incoming *in);

/* The rank has freed the communicator, and never starts `tag`, nor a later one: these end on all ranks. */
void nbcolli_member_freed(nbcoll_comm *comm, int rank, uint64_t tag);

/* The agent of another rank has failed: that of this one is to end what it has, whatever its queue pairs say. */
void nbcolli_agent_failed_in(nbcoll_comm *comm, nbcolli_incoming *in);

/* Ends the run if it will ever need a message of a rank that has left: what has not been handled was never sent. */
void nbcolli_run_miss(nbcolli_run *run);

/* A member is lost, or has left: what settles need not wait for its answers. By a loss the communicator breaks; a rank
 * that has left ends only what needs it. */
void nbcolli_member_gone(nbcoll_comm *comm, int rank);

#endif
