/* SPDX-License-Identifier: BSD-3-Clause
 * Communicators over several endpoints: the first vote says which endpoints each rank has but the last, its *sides*;
 * from all votes each rank finds by which one it talks to each other one, and who shares a node. */
#ifndef NBCOLLI_ENGINE_COMM_SIDES_H
#define NBCOLLI_ENGINE_COMM_SIDES_H

#include "../state/context.h"

/* Memory for votes that have something behind them: the first one over several endpoints, which has sides there; and
 * that of an eldest, which has the parts of its twins' cells there (area.h). */
nbcoll_status nbcolli_ballot_open(nbcoll_comm *comm);
void nbcolli_ballot_free(nbcoll_comm *comm);

/* Bytes that each rank says in that vote. */
size_t nbcolli_ballot_record(const nbcoll_comm *comm);

/* Where that vote says what `rank` of its parent gives for its part of the twin's cells. The twin has cells. */
uint64_t *nbcolli_ballot_area(const nbcoll_comm *twin, int rank);

/* What this rank says: its vote, and its sides. */
void nbcolli_ballot_write(nbcoll_comm *comm);

/* All have said it: what they say of themselves becomes votes[]. */
void nbcolli_ballot_read(nbcoll_comm *comm);

/* From now on each pair talks by the first endpoint that both have, in the order of the lower rank; votes[] say the
 * nodes. ERR_MISMATCH, on all ranks, and a word to the host's log: some endpoint is not one of ranks of this
 * communicator alone, each once. */
nbcoll_status nbcolli_sides_settle(nbcoll_comm *comm);

/* The tables of nodes and domains: `voter[r]` is who cast the vote of rank r. Room for three times as many ints from
 * there on is used up. */
void nbcolli_comm_place(nbcoll_comm *comm, int voter[]);

#endif
