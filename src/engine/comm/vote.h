/* SPDX-License-Identifier: BSD-3-Clause
 * What a rank votes when a communicator is made, and the terms that follow. The first vote over several endpoints also
 * names each rank's endpoints except the last, its *sides*; from all votes each rank finds the endpoint by which it
 * talks to each other one, and the ranks that share a node. */
#ifndef NBCOLLI_ENGINE_COMM_VOTE_H
#define NBCOLLI_ENGINE_COMM_VOTE_H

#include "../state/context.h"

/* Memory for the ballot, what all ranks say when the communicator is made: their votes; after the first vote over
 * several endpoints, their sides; after an eldest's, the parts of its twins' cells (area.h). */
nbcoll_status nbcolli_ballot_open(nbcoll_comm *comm);
void nbcolli_ballot_free(nbcoll_comm *comm);

/* The entry of an eldest's ballot for the memory that `rank` of its parent gives to a twin with cells. */
uint64_t *nbcolli_ballot_area(const nbcoll_comm *twin, int rank);

/* This rank votes for `comm` among the ranks of `over`. */
void nbcolli_vote_cast(nbcoll_comm *comm, nbcoll_comm *over, nbcolli_creation creation, int colour, int key);

/* Computes the common terms from the votes of `n` ranks. */
void nbcolli_votes_agree(nbcoll_comm *comm, int n);

/* A twin's terms: its eldest's, except what its configuration sets, which is equal on all ranks. */
void nbcolli_votes_agree_twin(nbcoll_comm *comm);

/* From now on each pair talks by the first endpoint that both have, in the order of the lower rank; the votes give the
 * nodes. ERR_MISMATCH, on all ranks, and a line in the host's log: some endpoint has a rank that is not of this
 * communicator, or one twice. */
nbcoll_status nbcolli_sides_settle(nbcoll_comm *comm);

/* Makes the tables of nodes and domains: `voter[r]` cast the vote of rank r. Uses room for three times as many ints
 * behind that array. */
void nbcolli_comm_place(nbcoll_comm *comm, int voter[]);

#endif
