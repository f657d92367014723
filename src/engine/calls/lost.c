/* SPDX-License-Identifier: BSD-3-Clause
 * What a program says of its peers: that one is lost. */
#include "../wire/giveup.h"
#include "../progress/lock.h"
#include "../progress/progress.h"

nbcoll_status nbcoll_comm_declare_lost(nbcoll_comm *comm, int rank)
{
    nbcoll_status s = comm ? nbcolli_enter(comm->context) : NBCOLL_ERR_NULL;
    if (s != NBCOLL_OK)
        return s;
    if (rank < 0 || rank >= comm->size || rank == comm->rank)
        return nbcolli_leave(comm->context, NBCOLL_ERR_RANK);
    nbcolli_link *link = comm->peer[rank].link;
    nbcolli_give_up(link, comm->peer[rank].address);
    nbcolli_drain(comm->context);
    for (link = comm->link->first; link; link = link->beside)
        nbcolli_tell_given_up(link);
    return nbcolli_leave(comm->context, NBCOLL_OK);
}
