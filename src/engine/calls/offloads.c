/* SPDX-License-Identifier: BSD-3-Clause
 * Asking whether an operation would be offloaded. */
#include "../comm/programs.h"
#include "../progress/carried.h"
#include "../progress/lock.h"
#include "../../arguments/arguments.h"

/* For complete arguments, as a call with them would go. */
static nbcoll_status nbcolli_would_offload(nbcoll_comm *comm, const nbcoll_args *args, nbcoll_refusal *why)
{
    nbcoll_schedule *schedule;
    nbcolli_caller_lock(comm->context);
    int is_carried = nbcolli_is_to_be_carried(comm, args);
    nbcolli_caller_unlock(comm->context);
    if (is_carried)
        return nbcolli_programs_refuse(NBCOLL_REFUSAL_CARRIED, why);
    nbcoll_status status = nbcolli_comm_compile(comm, args, &schedule, why);
    if (status == NBCOLL_OK)
        nbcolli_schedule_delete(schedule);
    return status;
}

nbcoll_status nbcoll_comm_offloads(nbcoll_comm *comm, const nbcoll_args *args, nbcoll_refusal *why)
{
    nbcoll_args taken = {0};
    nbcoll_refusal said = {.size = sizeof said};
    if (!comm || !args)
        return NBCOLL_ERR_NULL;
    nbcoll_status status = nbcolli_copy_tagged(&taken, args, sizeof taken);
    if (status != NBCOLL_OK || (why && why->size < sizeof why->size))
        return NBCOLL_ERR_CONFIG;
    status = nbcolli_enter(comm->context);
    if (status != NBCOLL_OK)
        return status;
    status = nbcoll_args_complete(&taken, comm->rank, comm->size);
    if (status == NBCOLL_OK) {
        status = nbcolli_would_offload(comm, &taken, &said);
        if (why) {
            said.size = why->size;
            memcpy(why, &said, said.size < sizeof said ? said.size : sizeof said);
        }
    }
    return nbcolli_leave(comm->context, status);
}
