/* SPDX-License-Identifier: BSD-3-Clause
 * Asking whether an operation would be offloaded. */
#include "../4_comm/programs.h"
#include "../6_progress/lock.h"
#include "../../arguments/arguments.h"

nbcoll_status nbcoll_comm_offloads(nbcoll_comm *comm, const nbcoll_args *args, nbcoll_refusal *why)
{
    nbcoll_args taken = {0};
    nbcoll_schedule *schedule;
    if (!comm || !args)
        return NBCOLL_ERR_NULL;
    nbcoll_status status = nbcolli_copy_tagged(&taken, args, sizeof taken);
    if (status != NBCOLL_OK || (why && why->size < sizeof why->size))
        return NBCOLL_ERR_CONFIG;
    status = nbcolli_enter(comm->context);
    if (status != NBCOLL_OK)
        return status;
    status = nbcoll_args_complete(&taken, comm->rank, comm->size);
    if (status == NBCOLL_OK)
        status = nbcolli_comm_compile(comm, &taken, &schedule, why);
    if (status == NBCOLL_OK)
        nbcolli_schedule_delete(schedule);
    return nbcolli_leave(comm->context, status);
}
