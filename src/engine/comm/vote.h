/* SPDX-License-Identifier: BSD-3-Clause
 * What a rank votes when a communicator is made, and what all go by then. */
#ifndef NBCOLLI_ENGINE_COMM_VOTE_H
#define NBCOLLI_ENGINE_COMM_VOTE_H

#include "../state/context.h"

/* The terms that all go by, from the votes of `n` ranks. */
void nbcolli_votes_agree(nbcoll_comm *comm, int n);

/* Those of a twin: its eldest's, but for what its configuration says, which is the same on all ranks. */
void nbcolli_votes_agree_twin(nbcoll_comm *comm);

/* This rank's vote for `comm` among the ranks of `over`. */
nbcolli_vote nbcolli_vote_of(nbcoll_comm *comm, nbcoll_comm *over, nbcolli_creation creation, int colour, int key);

#endif
