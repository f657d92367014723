/* SPDX-License-Identifier: BSD-3-Clause
 * Communicators of the library's own: made together, and given up. */
#ifndef NBCOLLI_ENGINE_CALLS_CREATE_H
#define NBCOLLI_ENGINE_CALLS_CREATE_H

#include "../state/context.h"

typedef struct nbcolli_twin {
    nbcoll_comm_config config; /* without an agent; 0 cells: it exposes nothing, and takes no shared memory */
    nbcoll_comm **out;         /* as of nbcoll_comm_idup_with */
    int leader; /* 0; or 1 + this rank's leader: then only the nodes' leaders expose, once in each operation, the same
                   to all others of the node. It has one cell */
    nbcoll_comm *made;         /* the call's own, until it is started */
} nbcolli_twin;

/* As so many calls of nbcoll_comm_idup_with, by one operation of the communicator: all are made, or none. The first has
 * a vote as always. The configurations of the others are equal on all ranks, and differ from the first's in slots and
 * cells only, or in a smaller `eager`; those with cells come first. `purpose`, above 0, stands for their
 * configurations: if ranks pass different ones, none is made, and all ranks get ERR_MISMATCH. */
nbcoll_status nbcolli_comm_idups(nbcoll_comm *comm, int purpose, int n, nbcolli_twin twin[], nbcoll_request *request);

#define NBCOLLI_BALLOT_MARK(bytes) (0x5eedc0deu ^ (uint32_t)(bytes)) /* the fingerprint of a vote; no program's */
#endif
