/* SPDX-License-Identifier: BSD-3-Clause
 * Ranks that are given up: the host, or another rank, has declared them lost, though they may be alive. They count as
 * dead; their messages are ignored. The other members are told at once. The rank itself is told last, when this one
 * reads nothing of its memory any more: from then on it need not wait for us, its own calls say that it is lost, and it
 * tells others the same. A rank without memory for what it must say gives itself up, too. */
#ifndef NBCOLLI_ENGINE_WIRE_GIVEUP_H
#define NBCOLLI_ENGINE_WIRE_GIVEUP_H

#include "control.h"

/* It has given us up. */
void nbcolli_rejected_by(nbcolli_link *link, int peer);

/* A rank that is cut off on this endpoint is cut off on all that belong to it: it may be alive there, and is given up,
 * so that nobody goes on with it by half. A rank that left one of them is reported by each other one itself. */
void nbcolli_spread_losses(nbcolli_link *link);

/* LOST: that `rank` is lost, and perhaps to be given up; or that it is out of step. -1: no member is the cause. */
void nbcolli_tell_lost(nbcoll_comm *comm, int rank, nbcoll_status why);

/* Tells each rank that is UNTOLD that it is given up, or that this one is, once nothing of ours reads its memory: the
 * communicators have broken then, and no more gets begin. That rank then gives us up, and says so when it reads nothing
 * of our memory any more. Each rank is told once, by a post that the link has from its opening. */
void nbcolli_say_farewells(nbcolli_link *link);

/* Asks for the posts that the transport has for such ranks, which may never take them. */
void nbcolli_recall_given_up(nbcolli_link *link);

#endif
