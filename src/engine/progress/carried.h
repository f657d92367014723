/* SPDX-License-Identifier: BSD-3-Clause
 * Operations that a communicator's carrier carries out. They take no tag and no slot: the carrier keeps their order. */
#ifndef NBCOLLI_ENGINE_PROGRESS_CARRIED_H
#define NBCOLLI_ENGINE_PROGRESS_CARRIED_H

#include "../state/context.h"
#include "../../arguments/arguments.h"

/* Takes the notice of one that is to be the communicator's carrier, or was. ERR_BUSY: that has another one;
 * ERR_MEMORY, ERR_LIMIT. Closed, it is looked at no more. */
nbcoll_status nbcolli_carrier_open(nbcoll_comm *comm, nbcolli_carrier *carrier);
void nbcolli_carrier_close(nbcoll_comm *comm, nbcolli_carrier *carrier);

/* Sets the communicator's carrier, or with null takes it away. ERR_BUSY: it has another one. */
nbcoll_status nbcolli_comm_carry(nbcoll_comm *comm, nbcolli_carrier *carrier);

/* Does the communicator's carrier carry out a call of these complete arguments? Else a schedule does. On the caller's
 * side, as the next two are. */
int nbcolli_is_to_be_carried(const nbcoll_comm *comm, const nbcoll_args *args);

/* Before a call whose elements travel packed, and before each start of one. ERR_MEMORY: nothing has happened. */
nbcoll_status nbcolli_carried_prepare(const nbcoll_comm *comm, nbcoll_type type);

/* A request for such a call; null: there is no memory for one. */
nbcolli_request *nbcolli_carried_open(nbcoll_comm *comm, const nbcoll_args *args, const void *send, void *recv,
                                      size_t extent);

/* Starts it. AGAIN: it is started, and whoever starts is to let the carrier go, outside. ERR_REQUEST: that does not
 * take it (any more). ERR_MEMORY: as above. */
nbcoll_status nbcolli_carried_start(nbcolli_request *r);

/* Outside: the same starts, the first one first; each is counted as active from now on. */
nbcolli_request *nbcolli_carried_take(nbcoll_context *c, nbcolli_carrier *carrier);

/* Outside: it has ended, and nothing touches its buffers any more. */
void nbcolli_carried_end(nbcolli_carrier *carrier, nbcolli_request *r, nbcoll_status status);

/* Inside: it is to be cancelled when the carrier goes, outside. Null: it is nobody's. */
nbcolli_carrier *nbcolli_carried_cancel(nbcolli_request *r);

#endif
