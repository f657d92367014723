/* SPDX-License-Identifier: BSD-3-Clause
 * The memory of a communicator's cells. Each rank gives the part that it writes, which it reserves before the vote; if
 * one has none the others give theirs back, and the communicator works by messages alone. A rank's part of a freed
 * communicator is reserved until each of its ranks has left it, or is dead for certain: one that is only given up may
 * still write there that it has left. */
#ifndef NBCOLLI_ENGINE_COMM_AREA_H
#define NBCOLLI_ENGINE_COMM_AREA_H

#include "../state/context.h"

/* What a rank's vote says of its shared memory: bits that all ranks have count. */
typedef enum nbcolli_shared { NBCOLLI_SHARES_WITH_SOME = 1, NBCOLLI_SHARES_WITH_ALL = 3 } nbcolli_shared;

/* The bits of this rank's vote for it. */
uint32_t nbcolli_area_shares(const nbcoll_comm *over);

/* Does this communicator ask for cells, and can it have them, as far as this rank knows? */
int nbcolli_area_suits(const nbcoll_comm *comm);

/* Ends what area_reserve or area_register began. */
void nbcolli_area_release(nbcolli_link *link, nbcolli_area *area);

/* Memory of the host's, zeroed and registered for every use and peer. ERR_MEMORY, or what the transport says. */
nbcoll_status nbcolli_area_register(nbcolli_link *link, size_t bytes, nbcolli_area **out);

/* Shared memory of this rank, for a communicator of at most `most` ranks, or null. */
nbcolli_area *nbcolli_area_reserve(nbcolli_link *link, size_t bytes, int most);

/* Reserves this rank's part of the cells of a communicator of at most `most` ranks: what the vote says, 0 for none. */
uint64_t nbcolli_area_offer(nbcoll_comm *comm, int most);

/* Finds the part that a rank has offered. */
void nbcolli_area_find(nbcoll_comm *comm, int rank, uint64_t at, int most);

/* Gives the own part back. */
void nbcolli_area_return(nbcoll_comm *comm);

/* The part that it offered stays reserved, whatever the survivors decide. */
void nbcolli_area_keep(nbcoll_comm *comm);

/* Takes all parts that were found; if one is missing takes none, and logs it. */
void nbcolli_area_take(nbcoll_comm *comm);

/* The communicator ends: this rank touches no part any more. */
void nbcolli_area_leave(nbcoll_comm *comm);

/* Bytes of an entry for so many ranks. */
size_t nbcolli_area_memory(int most);

#endif
