/* SPDX-License-Identifier: BSD-3-Clause
 * The end of a schedule. */
#include "../3_run/pool.h"
#include "../6_progress/lock.h"

nbcoll_status nbcoll_schedule_free(nbcoll_schedule *s)
{
    nbcoll_context *c = s ? s->owner : NULL;
    nbcoll_status status = c ? nbcolli_enter(c) : NBCOLL_OK;

    if (!s || status != NBCOLL_OK)
        return status;
    if (c && s->users)
        return nbcolli_leave(c, NBCOLL_ERR_BUSY);
    if (c) {
        nbcolli_schedule_disown(s);
        nbcolli_leave(c, NBCOLL_OK);
    }
    nbcolli_schedule_delete(s);
    return NBCOLL_OK;
}
