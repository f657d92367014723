/* SPDX-License-Identifier: BSD-3-Clause
 * What a rank votes when a communicator is made, and what all go by then. The first vote over several endpoints also
 * says which ones each rank has but the last, its *sides*; from all votes each rank finds by which one it talks to each
 * other one, and who shares a node. */
#ifndef NBCOLLI_ENGINE_COMM_VOTE_H
#define NBCOLLI_ENGINE_COMM_VOTE_H

#include "../state/context.h"

/* Memory for what all ranks say when the communicator is made: their votes; behind the first one over several endpoints
 * their sides, and behind that of an eldest the parts of its twins' cells (area.h). */
nbcoll_status nbcolli_ballot_open(nbcoll_comm *comm);
void nbcolli_ballot_free(nbcoll_comm *comm);

/* Where an eldest's ballot says what `rank` of its parent gives for its part of the twin's cells. The twin has some. */
uint64_t *nbcolli_ballot_area(const nbcoll_comm *twin, int rank);

/* This rank votes for `comm` among the ranks of `over`. */
void nbcolli_vote_cast(nbcoll_comm *comm, nbcoll_comm *over, nbcolli_creation creation, int colour, int key);

/* The terms that all go by, from the votes of `n` ranks. */
void nbcolli_votes_agree(nbcoll_comm *comm, int n);

/* Those of a twin: its eldest's, but for what its configuration says, which is the same on all ranks. */
void nbcolli_votes_agree_twin(nbcoll_comm *comm);

/* From now on each pair talks by the first endpoint that both have, in the order of the lower rank; the votes say the
 * nodes. ERR_MISMATCH, on all ranks, and a word to the host's log: some endpoint is not one of ranks of this
 * communicator alone, each once. */
nbcoll_status nbcolli_sides_settle(nbcoll_comm *comm);

/* The tables of nodes and domains: `voter[r]` is who cast the vote of rank r. Room for three times as many ints from
 * there on is used up. */
void nbcolli_comm_place(nbcoll_comm *comm, int voter[]);

#endif
