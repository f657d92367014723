/* SPDX-License-Identifier: BSD-3-Clause
 * Ranks that are given up: the host, or another rank, has declared them lost, and they may be alive all the same.
 * They count as dead; nothing of them is heard. The other members are told at once. The rank itself is told last,
 * when this one reads nothing of its memory any more: from then on it need not wait for us, its own calls say that it
 * is lost, and it tells others the same. A rank without memory for what it must say gives itself up, too. */
#ifndef NBCOLLI_ENGINE_WIRE_GIVEUP_H
#define NBCOLLI_ENGINE_WIRE_GIVEUP_H

#include "../state/context.h"

/* Gives a rank up, whatever has happened to it. */
void nbcolli_give_up(nbcolli_link *link, int peer);

/* It has given us up. */
void nbcolli_rejected_by(nbcolli_link *link, int peer);

/* Who is cut off on this endpoint is so on all that belong to it: alive it may be there, and is given up; so nobody
 * goes on with it half. What has only left one of them is still to be reported by the others. */
void nbcolli_spread_losses(nbcolli_link *link);

/* LOST: that `rank` is lost, and perhaps to be given up; or that it is out of step. -1: no member is the cause. */
void nbcolli_tell_lost(nbcoll_comm *comm, int rank, nbcoll_status why);

/* Tells each rank that is UNTOLD, once nothing of ours reads its memory, that it is given up, or that this one is: then
 * the communicators have broken, and no more gets begin; who hears it gives us up, and says so in turn when it reads
 * nothing of our memory any more. A rank is told one of these once, by a post that is there since the link was
 * opened. */
void nbcolli_say_farewells(nbcolli_link *link);

/* Asks for the control messages that the transport has for such ranks: they may never take them. */
void nbcolli_recall_given_up(nbcolli_link *link);

#endif
