/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Which outcomes are allowed. A call that ends well has the right bytes; whatever its end, nothing beside the receive
 * buffer has changed. An error must have a cause of its kind that has happened before, and who is called lost must be
 * one to whom something has happened. */
#include <stdio.h>

#include "wire.h"

/* Can this rank be called lost? One that has left in good order only once it has, and if it went without what failed.
 */
static bool may_be_lost(const storm *s, int rank)
{
    if (rank < 0 || s->bad[rank] & (BAD_DEAD | BAD_DECLARED | BAD_WIRE | BAD_MEMORY))
        return true;
    return s->bad[rank] & BAD_LEFT && s->actor[rank].end->is_closed;
}

static const char *is_without_cause(const actor *a, const item *i, nbcoll_status status, const nbcoll_failure *failure)
{
    const storm *s = a->storm;
    int named = -1;

    if (s->bad_anywhere & BAD_HEADER)
        return NULL;

    if (failure && i && failure->rank >= 0 && failure->status == status)
        named = plan_member(&s->plan, i->comm, a->rank, failure->rank);
    switch (status) {
    case NBCOLL_ERR_PEER_LOST:
        if (!(s->bad_anywhere & (BAD_DEAD | BAD_LEFT | BAD_DECLARED | BAD_WIRE | BAD_MEMORY)))
            return "nobody is lost";
        if (s->bad[a->rank] & (BAD_WIRE | BAD_DECLARED | BAD_MEMORY)) /* this rank is lost to the others itself */
            return NULL;
        return may_be_lost(s, named) ? NULL : "to the one that is named nothing has happened";
    case NBCOLL_ERR_MEMORY:
        return s->bad_anywhere & BAD_MEMORY ? NULL : "no memory was refused";
    case NBCOLL_ERR_CALL:
        return s->bad_anywhere & BAD_HOST ? NULL : "no function has failed";
    case NBCOLL_ERR_MISMATCH:
        /* who has freed a communicator differs from those that wait for it */
        return s->bad_anywhere & (BAD_DIFFERS | BAD_LEFT) ? NULL : "all have called the same";
    case NBCOLL_ERR_CANCELLED:
        return s->bad_anywhere & (BAD_CANCELS | BAD_MEMORY | BAD_DIFFERS) ? NULL : "nobody has cancelled";
    default:
        return "no operation ends like that";
    }
}

void judge_end(actor *a, const item *i, int index, nbcoll_status status, const nbcoll_failure *failure, buffers *b)
{
    storm *s = a->storm;
    char text[200], why[300] = "";
    const char *wrong;

    met.ended[i && i->kind == ITEM_CALL ? i->o.what : NBCOLL_OPERATION_COUNT][status]++;
    if (a->is_dead || s->ends)
        return;
    if (status != NBCOLL_OK)
        s->bad[a->rank] |= BAD_LEFT;
    if (status != NBCOLL_OK && (wrong = is_without_cause(a, i, status, failure))) {
        if (failure)
            nbcoll_failure_text(failure, why, sizeof why);
        storm_find(s, "rank %d, item %d (%s): %s (%s), but %s", a->rank, index,
                   i && i->kind == ITEM_CALL ? nbcoll_operation_name(i->o.what) : "creation",
                   nbcoll_status_name(status), why, wrong);
        return;
    }
    bool is_right = status == NBCOLL_OK && !(s->bad_anywhere & (BAD_DIFFERS | BAD_HEADER));
    if (b && (wrong = buffers_wrong(b, is_right, text)))
        storm_find(s, "rank %d, item %d (%s, %d of %d): %s: %s", a->rank, index, nbcoll_operation_name(b->o.what),
                   b->rank, b->ranks, nbcoll_status_name(status), wrong);
}
