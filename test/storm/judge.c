/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Which outcomes are allowed. A call that ends well has the right bytes; whatever its end, nothing beside the receive
 * buffer has changed. An error must have a cause of its kind that has happened before, and who is called lost must be
 * one to whom something has happened. */
#include <stdio.h>

#include "../../src/engine/state/context.h"
#include "counters.h"
#include "wire.h"

/* May others be unable to hear it? */
static bool is_cut_off(const storm *s, int rank)
{
    return s->bad[rank] & (BAD_DEAD | BAD_DECLARED | BAD_WIRE | BAD_MEMORY) ||
           (s->plan.has_agents && s->bad[rank] & BAD_CANCELS); /* all that its agent has is cancelled */
}

/* What must have happened to the rank that is named. One that has left in good order is lost only once it has closed
 * its end, and if it went without what failed. */
static bool may_be_named(const storm *s, int rank, nbcoll_status status)
{
    unsigned bad = s->bad[rank];
    switch (status) {
    case NBCOLL_ERR_PEER_LOST:
        return is_cut_off(s, rank) || bad & BAD_FREED || /* of one on which something had failed */
               ((bad & (BAD_LEFT | BAD_ENDED) || s->bad_anywhere & BAD_DIFFERS) && s->medium->is_shut(&s->actor[rank]));
    case NBCOLL_ERR_MEMORY:
        return bad & (BAD_MEMORY | BAD_KEY);
    case NBCOLL_ERR_CALL:
        return bad & BAD_HOST;
    case NBCOLL_ERR_FAULT:
        return bad & BAD_BUFFER;
    case NBCOLL_ERR_MISMATCH:
        return bad & (BAD_DIFFERS | BAD_QUITS);
    case NBCOLL_ERR_CANCELLED:
        return bad & (BAD_CANCELS | BAD_MEMORY | BAD_BUFFER);
    default:
        return false;
    }
}

bool judge_is_gone(const storm *s, int rank)
{
    return s->bad[rank] & (BAD_DEAD | BAD_DECLARED | BAD_WIRE | BAD_MEMORY) || s->medium->is_shut(&s->actor[rank]);
}

/* Does it know what was called? Else it names whoever has shown that the ranks are out of step. */
static bool is_blame(const nbcoll_failure *failure)
{
    return failure->is_before || failure->called.operation || failure->expected.operation;
}

/* Do relays carry out calls of the communicator? Whatever breaks them ends those of others as cancelled (relay.h). */
static bool has_relays(const plan *p, int comm)
{
    for (int n = 0; n < p->items; n++)
        if (p->item[n].kind == ITEM_DUP && p->item[n].made == comm && p->item[n].relays)
            return true;
    return false;
}

/* Nothing else happens than that a rank frees a communicator, and not this one, or one that this is made over. */
static bool is_of_another(const plan *p, int comm)
{
    if (p->faults != 1 || p->fault[0].kind != FAULT_FREES || p->fault[0].at >= (uint64_t)p->items)
        return false;
    if (p->few_serials) /* a rank that can make no more leaves, each at a time of its own */
        return false;
    for (int n = 0; n < p->items; n++)
        if (p->item[n].cancels || p->item[n].differs || p->item[n].kind == ITEM_CHAIN)
            return false;
    for (int of = comm, n = p->items - 1; n >= 0; n--)
        if (p->item[n].kind != ITEM_CALL && p->item[n].kind != ITEM_OWN && p->item[n].kind != ITEM_FREE &&
            p->item[n].kind < ITEM_MESSAGES && p->item[n].made == of) {
            of = p->item[n].comm;
            if (of == p->item[p->fault[0].at].comm)
                return false;
        }
    return comm != p->item[p->fault[0].at].comm;
}

/* Nothing happens but that ranks die. */
static bool only_deaths(const plan *p)
{
    for (int k = 0; k < p->faults; k++)
        if (p->fault[k].kind != FAULT_DEATH)
            return false;
    for (int n = 0; n < p->items; n++)
        if (p->item[n].cancels || p->item[n].differs)
            return false;
    return !p->agent_fails;
}

static const char *is_without_cause(const actor *a, const item *i, nbcoll_status status, const nbcoll_failure *failure)
{
    static const struct {
        unsigned causes;
        const char *otherwise;
    } of[NBCOLL_STATUS_COUNT] = {
        [NBCOLL_ERR_PEER_LOST] = {BAD_DEAD | BAD_LEFT | BAD_ENDED | BAD_DECLARED | BAD_WIRE | BAD_MEMORY,
                                  "nobody is lost"},
        [NBCOLL_ERR_MEMORY] = {BAD_MEMORY | BAD_KEY, "no memory was refused"},
        [NBCOLL_ERR_FAULT] = {BAD_BUFFER, "all memory could be touched"},
        [NBCOLL_ERR_CALL] = {BAD_HOST, "no function has failed"},
        /* who has freed a communicator differs from those that wait for it, but where it had failed there */
        [NBCOLL_ERR_MISMATCH] = {BAD_DIFFERS | BAD_QUITS, "all have called the same"},
        /* who has no memory for a communicator, or cannot get its vote, cancels it */
        [NBCOLL_ERR_CANCELLED] = {BAD_CANCELS | BAD_MEMORY | BAD_BUFFER, "nobody has cancelled"}};
    const storm *s = a->storm;

    if (s->bad_anywhere & BAD_HEADER)
        return NULL;
    /* whatever ends one of its operations ends all that an agent has (offload.h); it refuses calls that others make */
    if (s->plan.has_agents && s->bad_anywhere &&
        (status == NBCOLL_ERR_PEER_LOST || status == NBCOLL_ERR_CANCELLED || status == NBCOLL_ERR_MISMATCH))
        return NULL;
    if (status == NBCOLL_ERR_CANCELLED && s->bad_anywhere && i && has_relays(&s->plan, i->comm) &&
        !only_deaths(&s->plan))
        return NULL;
    if (!of[status].causes)
        return "no operation ends like that";
    if (!(s->bad_anywhere & of[status].causes))
        return of[status].otherwise;
    if (i && i->kind == ITEM_SHRINK) { /* of a broken one: that has failed in its own way */
        if (status == NBCOLL_ERR_MISMATCH || status == NBCOLL_ERR_CALL)
            return "no shrink ends like that";
        if (status == NBCOLL_ERR_PEER_LOST && !judge_is_gone(s, a->rank))
            return "to this rank nothing has happened";
        if (status != NBCOLL_ERR_CANCELLED)
            return NULL;
    }
    if (status == NBCOLL_ERR_MISMATCH && i && is_of_another(&s->plan, i->comm))
        return "somebody has freed another communicator";
    if (!failure || !i || failure->status != status || failure->tag & NBCOLL_FAILURE_MESSAGE)
        return NULL;       /* a later one may have taken its place, or a message */
    if (failure->rank < 0) /* on one that not all have made: somebody of the parent */
        return i->comm || s->plan.has_agents ? NULL : "nobody is named";
    if (s->plan.place[i->comm][a->rank].group < 0) /* nobody has said yet who is in it */
        return NULL;
    int named = plan_member(&s->plan, i->comm, a->rank, failure->rank);
    int other = failure->other < 0 ? named : plan_member(&s->plan, i->comm, a->rank, failure->other);
    if (named < 0 || other < 0)
        return "no member is named";
    if (status == NBCOLL_ERR_MISMATCH && failure->position == NBCOLL_POSITION_FREED &&
        s->deserted[named] >> i->comm & 1)
        return "the one that is named has freed it after a failure, and is lost";
    if (status == NBCOLL_ERR_MISMATCH && !is_blame(failure))
        return NULL;
    return may_be_named(s, named, status) || may_be_named(s, other, status)
               ? NULL
               : "to the one that is named nothing of the kind has happened";
}

/* This rank may be the one that is lost: to the other one, which it cannot hear. */
const char *judge_message(const actor *a, const item *i, int peer, nbcoll_status status, bool is_cancelled)
{
    const storm *s = a->storm;
    bool may = may_be_named(s, a->rank, status);
    for (int r = 0; r < s->plan.ranks; r++)
        may |= s->plan.place[i->comm][r].group == s->plan.place[i->comm][a->rank].group && may_be_named(s, r, status) &&
               (peer < 0 || s->plan.place[i->comm][r].rank == peer);
    switch (status) {
    case NBCOLL_ERR_PEER_LOST:
    case NBCOLL_ERR_MEMORY:
    case NBCOLL_ERR_FAULT:
        return may ? NULL : "to none of its ends anything of the kind has happened";
    case NBCOLL_ERR_CANCELLED: /* the other one has closed; it had given up */
        return is_cancelled || s->bad_anywhere ? NULL : "nobody has cancelled it";
    default:
        return "no message ends like that";
    }
}

bool judge_may_miss(const actor *a, const item *i, int from)
{
    const storm *s = a->storm;
    return is_cut_off(s, a->rank) || is_cut_off(s, plan_member(&s->plan, i->comm, a->rank, from));
}

/* Something has ended badly for it there, other than that the ranks were out of step: then who waits for it is told
 * that it is lost (match/ask.h). */
void judge_frees(actor *a, int number, const nbcoll_comm *comm)
{
    if (comm->failure.status != NBCOLL_ERR_MISMATCH)
        a->storm->deserted[a->rank] |= a->storm->failed[a->rank] & 1u << number;
    a->storm->freed[a->rank] |= 1u << number;
}

/* ---- differences ------------------------------------------------------------------------------------------------- */

/* The item in which a rank differs, if nothing else happens; or -1. */
static int only_difference(const storm *s)
{
    int found = -1;
    for (int n = 0; n < s->plan.items; n++)
        if (s->plan.item[n].differs && !s->plan.is_skipped[n]) {
            if (found >= 0)
                return -1;
            found = n;
        }
    for (int n = 0; n < s->plan.items; n++)
        if (s->plan.item[n].cancels)
            return -1;
    return s->plan.faults ? -1 : found;
}

/* Each rank hears of all others before it ends well. */
static bool is_heard_of_all(const item *i)
{
    switch (i->o.what) {
    case NBCOLL_OPERATION_BARRIER:
        return true;
    case NBCOLL_OPERATION_ALLREDUCE:
    case NBCOLL_OPERATION_ALLGATHER:
    case NBCOLL_OPERATION_ALLTOALL:
        return i->o.count > 0;
    default:
        return false;
    }
}

/* Checked calls find a difference themselves, on all ranks, before data moves. Otherwise whoever hears from the rank
 * that differs later finds it (but for one of 65,536 differences: so many does a history tell apart). */
static void judge_difference(actor *a, const item *i, int index, nbcoll_status status, buffers *b)
{
    storm *s = a->storm;
    int differs = only_difference(s);
    char text[200];
    const char *touched;

    if (differs < 0 || !s->is_different || !i || i->kind != ITEM_CALL || i->comm != s->plan.item[differs].comm)
        return;
    const place_in *place = s->plan.place[i->comm];
    if (place[a->rank].group != place[s->plan.item[differs].differs - 1].group)
        return;
    if (index == differs && s->plan.flags & NBCOLL_CHECKED) {
        if (status == NBCOLL_OK)
            storm_find(s, "rank %d, item %d (%s): checked calls differ, and one has ended well", a->rank, index,
                       nbcoll_operation_name(i->o.what));
        else if (b && (touched = buffers_touched(b, text)))
            storm_find(s, "rank %d, item %d (%s): checked calls differ, but %s", a->rank, index,
                       nbcoll_operation_name(i->o.what), touched);
    }
    if (index > differs && status == NBCOLL_OK && is_heard_of_all(i))
        storm_find(s, "rank %d, item %d (%s): ends well, though in item %d rank %d has called something else", a->rank,
                   index, nbcoll_operation_name(i->o.what), differs, s->plan.item[differs].differs - 1);
}

void judge_heard(actor *a, int from, const nbcoll_header *header)
{
    const storm *s = a->storm;
    said what = counters_said(header);
    int differs = only_difference(s);
    a->has_answered[from] |= what.tag != 0;
    a->is_out_of_step |= counters_is_out_of_step(header);
    a->is_revoked |= !a->is_out_of_step && counters_is_revoked(header);
    if (what.is_called && (!a->heard[from].tag || what.tag < a->heard[from].tag)) {
        a->heard[from].tag = what.tag;
        a->heard[from].before = what.before;
    }
    if (what.is_called && what.tag > 1 && a->told[from].tag == what.tag && a->told[from].is_called &&
        a->told[from].before != what.before && a->differs[from].tag != what.tag && differs >= 0 &&
        !(s->freed[a->rank] >> s->plan.item[differs].comm & 1)) {
        a->differs[from].tag = what.tag;
        a->differs[from].since = s->now;
    }
}

void judge_says(actor *a, int to, const nbcoll_header *header)
{
    const plan *p = &a->storm->plan;
    said what = counters_said(header);
    if (what.is_forgotten && !p->late_tags && rank_remembers(a, header))
        storm_find(a->storm, "rank %d has forgotten operation %llu", a->rank, (unsigned long long)what.tag - 1);
    if (what.tag && (!a->told[to].tag || what.tag <= a->told[to].tag)) {
        a->told[to].tag = what.tag;
        a->told[to].before = what.before;
        a->told[to].is_called = what.is_called;
    }
}

/* Who finds that another one differs before an operation tells it of the one before, while that one is there. */
void judge_goes_back(const actor *a)
{
    const storm *s = a->storm;
    if (only_difference(s) < 0 || a->is_dead || s->ends)
        return;
    for (int r = 0; r < s->plan.ranks; r++)
        if (a->differs[r].tag && a->told[r].tag == a->differs[r].tag && s->now > a->differs[r].since + SECOND &&
            !s->medium->is_shut(&s->actor[r]))
            storm_find(a->storm, "rank %d differs from rank %d before operation %llu, and does not go back", a->rank, r,
                       (unsigned long long)a->differs[r].tag - 1);
}

/* The ranks are out of step: the operation waits from then on for what all others have called, for 100 ms or two rounds
 * of asking; not if it was revoked before. */
void judge_hears(actor *a, const item *i, int index, nbcoll_status status, const nbcoll_comm *comm, uint64_t since)
{
    const storm *s = a->storm;
    const place_in *place = s->plan.place[i->comm];
    if (status != NBCOLL_ERR_MISMATCH || !comm || atomic_load(&comm->broken) != NBCOLL_ERR_MISMATCH || !since ||
        s->now > since + 70 * MILLISECOND || a->is_revoked || only_difference(s) < 0 || a->is_dead || s->ends ||
        s->plan.is_over || s->plan.has_drivers || s->plan.has_agents || has_relays(&s->plan, i->comm))
        return;
    for (int r = 0; r < s->plan.ranks; r++)
        if (r != a->rank && place[r].group == place[a->rank].group && !a->has_answered[r] &&
            !(s->freed[r] >> i->comm & 1) && !s->medium->is_shut(&s->actor[r]))
            storm_find(a->storm, "rank %d, item %d: it ends before it has heard what rank %d has called", a->rank,
                       index, r);
}

/* Who has heard what all others have called knows who differs from most. */
void judge_blamed(actor *a, const nbcoll_failure *f)
{
    const storm *s = a->storm;
    int differs = only_difference(s), alike = 1;
    if (differs < 0 || s->plan.has_drivers || !a->was_out_of_step) /* a driver may still be at it */
        return;
    if (f->status != NBCOLL_ERR_MISMATCH || f->other < 0 || !f->called.operation || f->is_before)
        return;
    int who = s->plan.item[differs].differs - 1;
    const place_in *place = s->plan.place[s->plan.item[differs].comm];
    if (a->rank == who || place[a->rank].group != place[who].group)
        return;
    for (int r = 0; r < s->plan.ranks; r++)
        alike += r != who && r != a->rank && place[r].group == place[who].group && a->heard[r].tag == f->tag + 1;
    if (alike == place[who].size - 1 && alike > 1)
        storm_find(a->storm, "rank %d, item %d: it knows the calls of all, but not that rank %d differs from most",
                   a->rank, differs, who);
}

/* ---- losses ------------------------------------------------------------------------------------------------------ */

/* By which it is lost there, too, though its transport need not know: that one reads nothing of this rank's memory. */
static bool has_rejected(const actor *a, const nbcoll_context *context, int by)
{
    bool is_so = true;
    for (int n = 0; n < NETS; n++)
        is_so &= counters_has_rejected(context, &a->end[n]->base, a->end[n]->net.at[by].rank);
    return is_so;
}

void judge_given_up(actor *a, const nbcoll_context *context)
{
    const storm *s = a->storm;
    if (s->plan.nets < NETS || s->plan.is_over || s->ends || a->is_dead || s->bad_anywhere & BAD_HEADER)
        return;
    const end *home = a->end[HOME], *near = a->end[NEAR];
    if (s->now < home->gave_up_at + SECOND || s->now < near->gave_up_at + SECOND)
        return; /* something may still be in flight between them */
    for (int r = 0; r < s->plan.ranks; r++)
        if (r != a->rank && wire_reaches(near, r) && counters_is_met(context, &near->base, near->net.at[r].rank) &&
            home->given_up[r] != near->given_up[r] && !home->has_seen[r] && !near->has_seen[r] &&
            !(s->bad[r] & BAD_DEAD) && !home->said_lost[r] && !near->said_lost[r] && !has_rejected(a, context, r))
            storm_find(a->storm, "rank %d has given rank %d up on one endpoint, and not on the other", a->rank, r);
}

/* ---- ways -------------------------------------------------------------------------------------------------------- */

/* A part is copied to the staging buffer only where that is worth it (nbcoll_shared.staging_part): in an alltoall
 * readers have no more to do than owners, and its parts, where no type packs, are the send buffer's blocks. */
void judge_copied(actor *a, int reader, const void *from, size_t longest)
{
    const buffers *b = rank_buffers_at(a, from);
    size_t bytes = b ? b->o.count * b->extent : 0;

    if (b && reader >= 0 && b->o.what == NBCOLL_OPERATION_ALLTOALL && longest && bytes > longest)
        storm_find(
            a->storm,
            "rank %d copies parts of %zu bytes to its staging buffer for rank %d, and more than %zu are not worth it",
            a->rank, bytes, reader, longest);
}

/* What a cell holds is read there (nbcoll_add_expose). Without nodes, whose leaders share no cells with all, and where
 * messages of as many bytes hold them. */
void judge_got(const actor *a, const actor *owner, const void *from)
{
    const plan *p = &a->storm->plan;
    if (p->nets == 1 && !p->is_mixed && !p->has_agents && p->eager >= 64 && rank_shows(owner, from))
        storm_find(a->storm, "rank %d gets what rank %d shows, and a cell holds", a->rank, owner->rank);
}

/* ---- ends -------------------------------------------------------------------------------------------------------- */

void judge_end(actor *a, const item *i, int index, nbcoll_status status, const nbcoll_failure *failure, buffers *b)
{
    storm *s = a->storm;
    char text[200], why[300] = "";
    const char *wrong;

    met.ended[i && i->kind == ITEM_CALL ? i->o.what : NBCOLL_OPERATION_COUNT][status]++;
    if (a->is_dead || s->ends)
        return;
    if (status != NBCOLL_OK) {
        s->bad[a->rank] |= BAD_ENDED;
        s->bad_anywhere |= BAD_ENDED;
    }
    if (i && i->kind == ITEM_CALL && status != NBCOLL_OK && status != NBCOLL_ERR_MISMATCH &&
        status != NBCOLL_ERR_MEMORY) /* that may be a refusal; and a shrink is no operation of the communicator */
        s->failed[a->rank] |= 1u << i->comm;
    if (status != NBCOLL_OK && (wrong = is_without_cause(a, i, status, failure))) {
        if (failure)
            nbcoll_failure_text(failure, why, sizeof why);
        storm_find(s, "rank %d, item %d (%s): %s (%s), but %s", a->rank, index,
                   i && i->kind == ITEM_CALL ? nbcoll_operation_name(i->o.what) : "creation",
                   nbcoll_status_name(status), why, wrong);
        return;
    }
    a->was_out_of_step |= b && status == NBCOLL_ERR_MISMATCH;
    judge_difference(a, i, index, status, b);
    bool is_right = status == NBCOLL_OK && !(s->bad_anywhere & (BAD_DIFFERS | BAD_HEADER));
    if (b && (wrong = buffers_wrong(b, is_right, text)))
        storm_find(s, "rank %d, item %d (%s, %d of %d): %s: %s", a->rank, index, nbcoll_operation_name(b->o.what),
                   b->rank, b->ranks, nbcoll_status_name(status), wrong);
}

void judge_all(actor *a, nbcoll_status all, size_t n, const nbcoll_status statuses[])
{
    size_t first = 0;
    while (first < n && statuses[first] == NBCOLL_OK)
        first++;
    nbcoll_status is = first < n ? statuses[first] : NBCOLL_OK;
    if (all != is && !a->is_dead && !a->storm->ends)
        storm_find(a->storm, "rank %d: wait_all says %s, but the first that is not well is %s", a->rank,
                   nbcoll_status_name(all), nbcoll_status_name(is));
}
