/* SPDX-License-Identifier: BSD-3-Clause
 * The survivors of a communicator agree on who they are, and make a new one. The messages are the endpoint's, not
 * operations of the communicator: that is broken, and who takes part is not known yet.
 *
 * One type of message, AGREE, does all, by its status. Each rank tells all that are not gone who is gone, as far as it
 * knows, with its vote (AGAIN); it repeats that whenever it learns of more, by itself or from a rank that is not gone.
 * Once it has heard the same from each of them it decides: they are the members. It tells them (OK) and ends. A rank
 * that hears a decision, of a rank that is not gone, adopts it, and passes it on before it ends. So if one survivor
 * decides, all others decide the same, or hear of it: nobody can decide something else without that rank's word. A rank
 * that is cancelled, or cannot make the communicator, says that (ERR_CANCELLED), and each rank that hears it does, too.
 *
 * A rank that has not started its shrink notes only who is gone: others repeat their words when they first hear of it.
 * All memory is taken at the start; a message that cannot go now waits in the backlog, and is written anew when it
 * goes. A decision is kept until all members are known to have it.
 *
 * A loss breaks the communicator, a departure does not: a rank that has not looked yet at an operation that failed may
 * wait, in a later one, for one that shrinks already. So a rank that shrinks without one that has left revokes all
 * operations that it has not started. */
#ifndef NBCOLLI_ENGINE_MATCH_AGREE_H
#define NBCOLLI_ENGINE_MATCH_AGREE_H

#include "../wire/unexpected.h"

/* The lowest rank that a request that shrinks waits for. */
int nbcolli_shrink_awaited(const nbcolli_request *r);

/* Ends it, on all ranks that have not decided. */
void nbcolli_shrink_cancel(nbcolli_request *r);

/* Makes the communicator of the decision; or not, if that is spoiled: then members learn it as a cancellation, whether
 * or not they know of the decision. 0: no shrink, or it has not decided. */
int nbcolli_shrink_made(const nbcoll_comm *made);

/* Handles an AGREE. `comm`: null if it is not known here. */
void nbcolli_shrink_in(nbcoll_comm *comm, nbcolli_incoming *in);

/* Takes the shrinks of an endpoint as far as they can go now. */
void nbcolli_shrinks_go(nbcolli_link *link);

/* Frees a shrink; leaks it if the transport still has messages of it: its context is abandoned. */
void nbcolli_shrinks_clear(nbcolli_link *link);

/* Is a vote of this communicator's ranks small enough for a message? */
int nbcolli_shrink_fits(const nbcoll_comm *comm);

/* Begins one of `comm` by request `r`, which makes `made`. ERR_MEMORY. */
nbcoll_status nbcolli_shrink_start(nbcoll_comm *comm, nbcoll_comm *made, nbcolli_request *r);

/* Does the request shrink? */
int nbcolli_is_shrink(const nbcolli_request *r);

#endif
