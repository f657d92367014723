/* SPDX-License-Identifier: BSD-3-Clause
 * Communicators of the library's own: made together, and given up. */
#ifndef NBCOLLI_ENGINE_CALLS_CREATE_H
#define NBCOLLI_ENGINE_CALLS_CREATE_H

#include "../state/context.h"

typedef struct nbcolli_twin {
    nbcoll_comm_config config; /* without an agent; with 0 cells: it exposes nothing, and takes no shared memory */
    nbcoll_comm **out;         /* as of nbcoll_comm_idup_with */
    int leader; /* 0; or only the leaders of the nodes expose anything, in each operation once, and the same to all
                   others of the node, and this is 1 + this rank's. It has one cell */
    nbcoll_comm *made;         /* the call's own, until it is started */
} nbcolli_twin;

/* As so many calls of nbcoll_comm_idup_with, by one operation of the communicator, whose end is that of all: all are
 * made, or none. The first one has a vote as always. Of the others the configuration is the same on all ranks, and none
 * has a larger `eager`, or anything but slots and cells that the first one has not; those with cells come before those
 * without. `purpose`: what all ranks want them for, above 0, which stands for their configurations; where it differs
 * none is made, and all ranks get ERR_MISMATCH. */
nbcoll_status nbcolli_comm_idups(nbcoll_comm *comm, int purpose, int n, nbcolli_twin twin[], nbcoll_request *request);

/* Ends all that runs there, as cancelled. Nobody else has anything to do with that: nobody is told, no failure is
 * noted, and it is freed like one on which all has ended well. */
nbcoll_status nbcolli_comm_withdraw(nbcoll_comm *comm);

#endif
