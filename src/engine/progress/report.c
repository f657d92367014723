/* SPDX-License-Identifier: BSD-3-Clause
 * The way out for a call that progresses: see report.h. */
#include "report.h"

#include "../comm/requests.h"

void nbcolli_report_ended(nbcoll_context *c)
{
    while (nbcolli_enter(c) == NBCOLL_OK) {
        nbcolli_request *r = c->ended;
        if (!r) {
            nbcolli_unlock(c);
            return;
        }
        c->ended = r->next;
        nbcoll_request handle = nbcolli_request_handle(r);
        nbcoll_done *done = r->done;
        nbcoll_status status = r->status;
        void *user = r->user;
        int persistent = r->persistent;
        if (persistent) { /* the callback may start it again, or free it */
            r->calling = 0;
            atomic_store_explicit(&r->state, NBCOLLI_REQUEST_INACTIVE, memory_order_release); /* for its start */
        }
        nbcolli_unlock(c);
        if (done) {
            int is_driver = nbcolli_driven_step_aside(c);
            done(handle, status, user);
            if (is_driver)
                c->driven.is_driving = 1;
        }
        if (persistent)
            continue;
        if (nbcolli_enter(c) != NBCOLL_OK)
            return;
        nbcolli_request_release(c, r);
        nbcolli_unlock(c);
    }
}
