/* SPDX-License-Identifier: BSD-3-Clause
 * Who waits for whom, and where that rank is. A run that has not moved for a round (40 ms) is stuck: for each rank that
 * it waits for it finds out whether that runs the same operation. It reads that rank's words in shared memory; without
 * that it sends a QUERY, which the rank answers with a WHERE in its next pass. At most one QUERY to a rank and
 * communicator is unanswered, so that nothing piles up at a rank that computes for hours.
 *
 *   it has not started the operation   that is no mistake, however long it takes; a timeout will name it
 *   it has, with another fingerprint   the ranks are out of step
 *   it has ended it well, likewise     what it has sent is on its way
 *   it has ended it well, and does not remember which it was, or has freed the communicator: what is awaited from there
 *                                      is on its way, or never comes. What it shows in cells it has shown before its
 *                                      end: that is looked for once more. What it has sent has come here once it
 *                                      misses no more credits than are held by messages that are kept here, which its
 *                                      WHERE says; else it is asked again in the next round. If it never comes, the
 *                                      ranks are out of step; or, if that rank freed the communicator after a failure,
 *                                      it has left. If it was broken, or that rank leaves, word of that is on its way
 *   it has failed there                word of that is on its way
 *
 * Of an operation that is all an executor's, and has no tag, a rank asks those for whom it waits only whether they have
 * freed the communicator. One that has says how many of the executor's operations it had started: it has ended these,
 * and a later one is out of step at once.
 *
 * A rank that is making communicators does not know their ids. A QUERY says which operation has made the one that it is
 * about: if the rank asked is not in the middle of that, it has freed that communicator, and answers what it has kept
 * of it. So a failed run that waits for answers asks, too.
 *
 * The clock is looked at before a sleep and from passes: after twice as many each time, till these are 16; from one
 * again after some that took 10 ms. An operation that goes well asks nobody. Nor does one of a pre-posted schedule,
 * which waits by design, until it has failed. Inline: what every start and every pass does for that. */
#ifndef NBCOLLI_ENGINE_MATCH_ASK_H
#define NBCOLLI_ENGINE_MATCH_ASK_H

#include "../state/context.h"

#define NBCOLLI_ROUND 40000000u /* ns: the longest sleep of a waiting rank */

/* A rank that starts an operation notes the history behind it, for ranks that ask or look. */
static inline void nbcolli_note_started(const nbcoll_comm *comm, uint64_t tag, uint64_t history)
{
    /* release: readers also see the rank's words of earlier operations */
    atomic_store_explicit(&comm->started[tag % NBCOLLI_STARTED], history, memory_order_release);
}

#define NBCOLLI_ROUND_SLOTS 256 /* that a pass looks at in a round: of all communicators up to there */

/* Looks at the clock, begins a round if one is due, and goes on with it, over about so many slots. The next round is
 * due some time after this one's end. Runs may fail by it: drain afterwards. */
void nbcolli_look_at_clock(nbcoll_context *c, int64_t slots);

/* For a deadline's failure: the rank for which the run waits, and its place as far as this one knows. */
nbcoll_failure nbcolli_awaited(const nbcolli_run *run);

/* Handles a QUERY. */
void nbcolli_ask_in(nbcoll_comm *comm, nbcolli_incoming *in);

/* A QUERY about a communicator that is unknown here: freed so, or (0) not made yet. */
void nbcolli_ask_elsewhere(nbcolli_link *link, int source, const nbcolli_header *h, nbcolli_freeing freeing);

/* Handles a WHERE. */
void nbcolli_where_in(nbcoll_comm *comm, nbcolli_incoming *in);

#endif
