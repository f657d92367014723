/* SPDX-License-Identifier: BSD-3-Clause
 * News of other ranks about operations and communicators: revoked, broken, not made there. And ranks that are gone:
 * operations that need them end. */
#ifndef NBCOLLI_ENGINE_MATCH_NEWS_H
#define NBCOLLI_ENGINE_MATCH_NEWS_H

#include "../wire/unexpected.h"

/* The member with this address at home, or -1. */
int nbcolli_member_at(const nbcoll_comm *comm, int home);

/* A REVOKE, or a cancelled shrink, names votes that may have ended well here: then not all ranks have what these made.
 * `comm`: where they were, or null if that was freed. */
void nbcolli_vote_revoked(nbcoll_comm *comm, const nbcolli_incoming *in, nbcoll_status why);

/* Handles a REVOKE of one or more operations in a row. */
void nbcolli_revokes_in(nbcoll_comm *comm, nbcolli_incoming *in);

/* This rank shrinks without `left`, which has left: operations that it has not started end on all ranks, and so do
 * those that executors have in one order on all ranks; others go on. */
void nbcolli_revoke_rest(nbcoll_comm *comm, int left);

/* Handles a LOST: another rank has broken the communicator, or names a rank that is given up. If ranks are out of step,
 * it will not start `tag` or later ones. */
void nbcolli_lost_in(nbcoll_comm *comm, nbcolli_incoming *in);

/* The rank has freed the communicator, and never starts `tag`, nor a later one: these end on all ranks. */
void nbcolli_member_freed(nbcoll_comm *comm, int rank, uint64_t tag);

/* The agent of another rank has failed, or a rank takes no part any more: all that executors have in one order on all
 * ranks ends, whatever the agents' queue pairs say. `in` is not read. */
void nbcolli_executors_over(nbcoll_comm *comm, nbcolli_incoming *in);

/* Ends the run if it still needs a message of a rank that has left: all that this rank sent has been handled. */
void nbcolli_run_miss(nbcolli_run *run);

/* A member is lost, or has left: settling runs need not wait for its answers. A loss breaks the communicator; a
 * departure ends only operations that need that rank. */
void nbcolli_member_gone(nbcoll_comm *comm, int rank);

#endif
