/* SPDX-License-Identifier: BSD-3-Clause
 * The end of a schedule. */
#include "../run/pool.h"
#include "../progress/lock.h"

nbcoll_status nbcoll_schedule_free(nbcoll_schedule *s)
{
    nbcoll_context *c = s ? s->owner : NULL;
    nbcoll_status status = c ? nbcolli_enter(c) : NBCOLL_OK;

    if (!s || status != NBCOLL_OK)
        return status;
    if (c) {
        nbcolli_caller_lock(c);
        int is_used = s->users > 0;
        if (!is_used)
            nbcolli_schedule_disown(s);
        nbcolli_caller_unlock(c);
        if (nbcolli_leave(c, is_used ? NBCOLL_ERR_BUSY : NBCOLL_OK) != NBCOLL_OK)
            return NBCOLL_ERR_BUSY;
    }
    nbcolli_schedule_delete(s);
    return NBCOLL_OK;
}
