/* SPDX-License-Identifier: BSD-3-Clause
 * Noting what failed, for those who ask afterwards: see failure.h. */
#include "failure.h"

void nbcolli_note(nbcoll_comm *comm, const nbcoll_failure *f)
{
    comm->context->failure = *f;
    if (nbcolli_broken(comm) == NBCOLL_OK)
        comm->failure = *f;
}

void nbcolli_note_failure(nbcoll_comm *comm, nbcoll_status s, int rank, uint64_t tag)
{
    nbcoll_failure f = {s, rank, tag, comm, NBCOLL_POSITION_UNKNOWN, 0};
    nbcolli_note(comm, &f);
}
