/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Groups whose creation has timeouts, beside faults, agents and second endpoints: of a communicator; of a list of ranks
 * of an endpoint; and growing ones. A member may be absent for longer than the others
 * wait. Whose timeout passes tries again, as those do who hear of that; the last try has none. Where communicators of
 * the context have the endpoint beside another one, a list of its ranks is refused, and so is one for which the agent
 * is named that the first communicator has; nothing has changed then.
 *
 * Judged: no try ends with a timeout before that, or a second after it, beside what its rank's own callbacks wait then:
 * a wait returns after those that it has called. What a timeout names is a place in the list, and is not called absent
 * if it had called long ago; who has no timeout, nor hears of one, ends as a creation without timeouts does. */
#include "groups.h"

enum { TRIES = 3 };

#define ABSENCE (6 * SECOND)
#define LONG_AGO SECOND
#define LATENESS SECOND /* a rank may lose its core, and sleep in a pause */

typedef enum form { OF_COMM, OF_LIST, GROWN, FORMS } form;

static uint64_t draws_of(const gathering *x, int member, int tries)
{
    return mix(mix(x->item->salt, 95 + (uint64_t)tries), (uint64_t)member);
}

/* The place of who is absent at the first try; -1: nobody is. */
static int absent_of(const gathering *x)
{
    uint64_t draws = mix(x->item->salt, 94);
    return draws % 3 == 0 && x->members > 1 ? (int)(draws / 3 % (uint64_t)x->members) : -1;
}

/* What a rank knows through up to 16 others is 40 ms older for each, and more where these make no calls, as
 * nbcoll_failure says: in worlds whose ranks lose their cores for up to 300 ms. */
static uint64_t long_ago(const storm *s)
{
    uint64_t through = s->plan.ranks < 16 ? (uint64_t)s->plan.ranks : 16;
    return LONG_AGO + (s->plan.is_preempted || s->plan.at_looks ? through * 300 * MILLISECOND : 0);
}

/* The last try has none. Where a member is absent the others wait for less. */
static uint64_t timeout_of(const gathering *x, int member, int tries)
{
    uint64_t draws = draws_of(x, member, tries);
    if (tries == TRIES - 1)
        return NBCOLL_FOREVER;
    if (tries == 0 && absent_of(x) >= 0)
        return 2 * SECOND + draws % SECOND;
    return draws % 3 ? NBCOLL_FOREVER : draws / 3 % (20 * MILLISECOND);
}

static bool has_timeout(const gathering *x, int members, int tries)
{
    bool has = false;
    for (int k = 0; k < members; k++)
        has |= timeout_of(x, k, tries) != NBCOLL_FOREVER;
    return has;
}

/* `agent`: of a list, whose communicator is to have it. */
static nbcoll_status start(gathering *x, int members, bool is_list, struct nbcoll_agent *agent, nbcoll_comm **made,
                           nbcoll_request *request)
{
    rank *r = x->rank;
    nbcoll_comm_config config = NBCOLL_COMM_DEFAULTS;
    int world[RANKS_MOST];

    config.agent = agent;
    for (int k = 0; k < members; k++)
        world[k] = plan_member(&r->storm->plan, x->item->comm, r->actor->rank, x->list[k]);
    return is_list
               ? nbcoll_comm_icreate_among(r->context, r->endpoint, members, world, x->index, &config, made, request)
               : nbcoll_comm_icreate_group(r->comm[x->item->comm], members, x->list, x->index, made, request);
}

/* By the call that blocks: where no memory is refused, since that would not say whether it has taken its number. */
static nbcoll_status block(gathering *x, int members, bool is_list, nbcoll_comm **made, uint64_t timeout)
{
    rank *r = x->rank;
    int world[RANKS_MOST];
    for (int k = 0; k < members; k++)
        world[k] = plan_member(&r->storm->plan, x->item->comm, r->actor->rank, x->list[k]);
    return is_list ? nbcoll_comm_create_among(r->context, r->endpoint, members, world, x->index, NULL, made, timeout)
                   : nbcoll_comm_create_group(r->comm[x->item->comm], members, x->list, x->index, made, timeout);
}

/* By one that does not: the request is waited for with the timeout, and cancelled. *at: when the wait ended, or would
 * have without the rank's callbacks. *is_judged: this end is. */
static nbcoll_status wait_for(gathering *x, int members, bool is_list, nbcoll_comm **made, uint64_t timeout,
                              uint64_t *at, bool *is_judged)
{
    rank *r = x->rank;
    nbcoll_request request;
    nbcoll_status status, last;
    int tries = 0;

    *is_judged = true;
    while ((status = start(x, members, is_list, NULL, made, &request)) != NBCOLL_OK)
        if (!groups_try_again(x, status, tries++))
            return status;
    if (timeout == NBCOLL_FOREVER)
        return groups_finish(x, &request);
    *is_judged = false;
    status = nbcoll_wait(&request, timeout);
    *at = r->storm->now - r->beyond;
    if (status != NBCOLL_ERR_TIMEOUT && status != NBCOLL_ERR_NO_SLOT)
        return status;
    nbcoll_cancel(request);
    last = nbcoll_wait(&request, NBCOLL_FOREVER);
    return last == NBCOLL_ERR_CANCELLED ? status : last;
}

static void judge_timeout(gathering *x, int members, int tries, uint64_t took, const nbcoll_failure *f)
{
    storm *s = x->rank->storm;
    int me = x->rank->actor->rank;
    uint64_t timeout = timeout_of(x, x->me, tries);

    if (timeout == NBCOLL_FOREVER || (took < timeout && !x->rank->actor->skew))
        storm_find(s, "rank %d, item %d: its creation times out after %llu ns", me, x->index, (unsigned long long)took);
    if (took > timeout && took - timeout > LATENESS)
        storm_find(s, "rank %d, item %d: its creation ends %llu ns after its timeout", me, x->index,
                   (unsigned long long)(took - timeout));
    if (f->status != NBCOLL_ERR_TIMEOUT || f->rank < 0)
        return;
    int named = f->rank < members ? plan_member(&s->plan, x->item->comm, me, x->list[f->rank]) : -1;
    if (named < 0 || named == me)
        storm_find(s, "rank %d, item %d: its creation waits for place %d of %d", me, x->index, f->rank, members);
    else if (f->position <= NBCOLL_POSITION_NOT_STARTED && took > LONG_AGO && s->came[named].item == 1 + x->index &&
             s->came[named].at + long_ago(s) < s->now && s->came[named].tries >= tries && !s->bad_anywhere)
        storm_find(s, "rank %d, item %d: its creation waits for rank %d as for one that has not called, and it has", me,
                   x->index, named);
}

/* The creation alone. False: it has ended as one without timeouts may, badly. */
static bool create(gathering *x, int members, bool is_list, int tries, nbcoll_status *status, nbcoll_comm **made)
{
    rank *r = x->rank;
    storm *s = r->storm;
    uint64_t since = s->now, at = 0, timeout = timeout_of(x, x->me, tries);
    bool is_judged = false;

    r->due = since + timeout;
    r->beyond = 0;
    if (rank_may_block(r) && timeout != NBCOLL_FOREVER && rank_choose(r, 2))
        *status = block(x, members, is_list, made, timeout);
    else
        *status = wait_for(x, members, is_list, made, timeout, &at, &is_judged);
    storm_note(s, r->actor->rank, NOTE_MADE, (uint64_t)x->index, *status);
    if (r->actor->is_dead || s->ends)
        return false;
    nbcoll_failure failure = rank_failure(r, -1);
    if (*status != NBCOLL_OK && *made)
        storm_find(s, "rank %d, item %d: %s, and it has a group", r->actor->rank, x->index,
                   nbcoll_status_name(*status));
    if (*status == NBCOLL_ERR_TIMEOUT || *status == NBCOLL_ERR_NO_SLOT)
        judge_timeout(x, members, tries, (at ? at : s->now - r->beyond) - since, &failure);
    else if (*status != NBCOLL_OK && (*status != NBCOLL_ERR_CANCELLED || !x->others_may_end)) {
        if (!is_judged)
            judge_end(r->actor, x->item, x->index, *status, NULL, NULL);
        storm_cause(s, r->actor->rank, BAD_LEFT);
        return false;
    }
    return true;
}

/* False likewise. *status: OK, or others try again, too. */
static bool attempt(gathering *x, int members, bool is_list, int tries, nbcoll_status *status, nbcoll_comm **made)
{
    storm *s = x->rank->storm;
    int me = x->rank->actor->rank;

    *made = NULL;
    s->came[me].item = 1 + x->index;
    s->came[me].tries = tries;
    s->came[me].at = s->now;
    storm_note(s, me, NOTE_STARTS, (uint64_t)x->index, 9);
    x->others_may_end = has_timeout(x, members, tries);
    bool is_right = create(x, members, is_list, tries, status, made);
    if (is_right && *status == NBCOLL_OK) {
        *status = groups_use(x, members, *made);
        is_right = *status == NBCOLL_OK || (*status == NBCOLL_ERR_CANCELLED && x->others_may_end);
    }
    x->others_may_end = false;
    s->has_ended_early |= *status != NBCOLL_OK;
    return is_right;
}

/* The last try goes as any creation. */
static bool gather(gathering *x, int members, bool is_list, nbcoll_comm **made)
{
    nbcoll_status status = NBCOLL_OK;
    *made = NULL;
    for (int tries = 0; tries < TRIES - 1; tries++) {
        if (tries == 0 && absent_of(x) == x->me)
            storm_away(x->rank->storm, ABSENCE);
        if (!attempt(x, members, is_list, tries, &status, made))
            return false;
        if (status == NBCOLL_OK)
            return true;
        if (*made) /* in which a member has given up */
            groups_free(x, *made);
        *made = NULL;
    }
    return groups_make(x, members, is_list, made);
}

/* Communicators of the context have the endpoint beside another one; or the first communicator has the agent, which is
 * of all ranks. */
static void judge_refused(gathering *x, struct nbcoll_agent *agent)
{
    rank *r = x->rank;
    nbcoll_comm *made = NULL;
    nbcoll_request request;
    nbcoll_status status = start(x, x->members, true, agent, &made, &request);
    bool is_right = status == NBCOLL_ERR_UNSUPPORTED || (agent && status == NBCOLL_ERR_BUSY);
    bool lacks = status == NBCOLL_ERR_MEMORY && r->storm->bad[r->actor->rank] & BAD_MEMORY;
    if ((!is_right || made) && !lacks && !r->actor->is_dead && !r->storm->ends)
        storm_find(r->storm, "rank %d, item %d: a list of ranks of one of its endpoints%s: %s", r->actor->rank,
                   x->index, agent ? ", with its agent" : "", nbcoll_status_name(status));
}

void timeouts_run(gathering *x)
{
    const plan *p = &x->rank->storm->plan;
    form how = (form)(mix(x->item->salt, 93) / 2 % FORMS);
    int few = (x->members + 1) / 2;
    nbcoll_comm *smaller = NULL, *larger = NULL;

    if (p->nets > 1 || x->rank->agent)
        judge_refused(x, p->nets > 1 ? NULL : x->rank->agent);
    if (how != GROWN || x->me >= few || groups_make(x, few, false, &smaller))
        gather(x, x->members, how != OF_COMM && p->nets == 1, &larger);
    if (smaller)
        groups_free(x, smaller);
    if (larger)
        groups_free(x, larger);
}
