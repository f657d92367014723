/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Groups: some ranks of a communicator make one of their own, in an order of its own, and use it; the others do
 * nothing. Where something bad has happened a rank gives up what does not end in time, since a member may not come.
 *
 * From edition 25 on some groups grow: the first ranks of the list have a group already when the others join. Members
 * come late, and those that have a timeout may end a try: then all try again, without one. Beside faults, from edition
 * 27 on, there are no timeouts; those of edition 29 are in timeouts.c. */
#include <stdlib.h>

#include "groups.h"

#define PATIENCE (3 * SECOND)
#define LOOKS 100 /* after which a wait looks less often, from edition 31 on */

/* Numbers in the communicator, in a seeded order. */
static void draw_list(gathering *x, int at)
{
    uint64_t random = mix(x->item->salt, 90), few = 1 + next_random(&random) % 3;
    for (int q = 0; q < x->ranks; q++)
        if (next_random(&random) % few == 0)
            x->list[x->members++] = q;
    for (int k = x->members - 1; k > 0; k--) {
        int other = (int)(next_random(&random) % ((uint64_t)k + 1)), number = x->list[k];
        x->list[k] = x->list[other];
        x->list[other] = number;
    }
    x->me = -1;
    for (int k = 0; k < x->members; k++)
        x->me = x->list[k] == at ? k : x->me;
}

void groups_free(const gathering *x, nbcoll_comm *made)
{
    rank *r = x->rank;
    nbcoll_status status;
    while ((status = nbcoll_comm_free(made)) == NBCOLL_ERR_BUSY) {
        nbcoll_progress(r->context);
        storm_sleep(r->storm, 1 + rank_choose(r, MILLISECOND));
    }
    if (status != NBCOLL_OK)
        storm_find(r->storm, "rank %d, item %d: its group is not freed: %s", r->actor->rank, x->index,
                   nbcoll_status_name(status));
}

nbcoll_status groups_finish(gathering *x, nbcoll_request *request)
{
    rank *r = x->rank;
    storm *s = r->storm;
    uint64_t since = s->now;
    bool gives_up = false;
    nbcoll_status status;
    int looks = 0;

    storm_note(s, r->actor->rank, NOTE_STARTS, (uint64_t)x->index, 9);
    while ((status = nbcoll_test(request)) == NBCOLL_PENDING) {
        if (s->bad_anywhere && !gives_up && s->last_cause < s->now)
            s->last_cause = s->now;
        if (s->bad_anywhere && !gives_up && (s->ends || s->now > since + PATIENCE)) {
            gives_up = true;
            nbcoll_cancel(*request);
        }
        chain_look(r);
        bool is_long = looks++ >= LOOKS && s->plan.edition >= EDITION_OF_RATES;
        storm_sleep(s, 1 + rank_choose(r, is_long ? 20 * MILLISECOND : MILLISECOND));
    }
    storm_note(s, r->actor->rank, NOTE_MESSAGE, (uint64_t)x->index, status);
    bool is_ended = status == NBCOLL_ERR_CANCELLED && x->others_may_end;
    if (!is_ended && (status != NBCOLL_ERR_CANCELLED || !s->bad_anywhere))
        judge_end(r->actor, x->item, x->index, status, NULL, NULL);
    if (status != NBCOLL_OK && !is_ended)
        storm_cause(s, r->actor->rank, BAD_LEFT);
    return status;
}

nbcoll_status groups_use(gathering *x, int members, nbcoll_comm *made)
{
    rank *r = x->rank;
    int32_t mine = x->list[x->me], all[RANKS_MOST];
    nbcoll_request request;
    nbcoll_status status;
    int tries = 0;

    if (nbcoll_comm_rank(made) != x->me || nbcoll_comm_size(made) != members)
        storm_find(r->storm, "rank %d, item %d: number %d of %d in its group", r->actor->rank, x->index,
                   nbcoll_comm_rank(made), nbcoll_comm_size(made));
    while ((status = nbcoll_iallgather(&mine, all, 1, NBCOLL_INT32, made, &request)) == NBCOLL_ERR_MEMORY &&
           tries++ < RETRIES)
        storm_stay(r->storm, 1 + rank_choose(r, 50 * MICROSECOND));
    if (status == NBCOLL_OK)
        status = groups_finish(x, &request);
    else if (status != NBCOLL_ERR_CANCELLED || !x->others_may_end) {
        judge_end(r->actor, x->item, x->index, status, NULL, NULL);
        storm_cause(r->storm, r->actor->rank, BAD_QUITS); /* it frees the group, in which the others have started */
    }
    for (int k = 0; k < members && status == NBCOLL_OK; k++)
        if (all[k] != x->list[k] && !(r->storm->bad_anywhere & BAD_HEADER) && !r->storm->ends && !r->actor->is_dead)
            storm_find(r->storm, "rank %d, item %d: member %d is another one", r->actor->rank, x->index, k);
    return status;
}

bool groups_try_again(gathering *x, nbcoll_status status, int tries)
{
    rank *r = x->rank;
    if (status != NBCOLL_ERR_PEER_LOST)
        return rank_is_refused(r, x->index, status, tries);
    judge_end(r->actor, x->item, x->index, status, NULL, NULL);
    storm_cause(r->storm, r->actor->rank, BAD_LEFT);
    return false;
}

bool groups_make(gathering *x, int members, bool is_second, nbcoll_comm **made)
{
    rank *r = x->rank;
    int world[RANKS_MOST], tries = 0;
    nbcoll_request request;
    nbcoll_status status;
    *made = NULL;

    for (int k = 0; k < members && is_second; k++)
        world[k] = plan_member(&r->storm->plan, x->item->comm, r->actor->rank, x->list[k]);
    while ((status = is_second ? nbcoll_comm_icreate_among(r->context, r->endpoint, members, world, x->index, NULL,
                                                           made, &request)
                               : nbcoll_comm_icreate_group(r->comm[x->item->comm], members, x->list, x->index, made,
                                                           &request)) != NBCOLL_OK)
        if (!groups_try_again(x, status, tries++))
            return false;
    status = groups_finish(x, &request);
    return status == NBCOLL_OK && groups_use(x, members, *made) == NBCOLL_OK;
}

/* ---- growing ----------------------------------------------------------------------------------------------------- */

enum { TRIES_WITH_TIMEOUTS = 2 };

/* Of that member, at that try. */
static uint64_t timeout_of(const gathering *x, int member, int tries)
{
    uint64_t draws = mix(x->item->salt + (uint64_t)tries, 91 + (uint64_t)member);
    return tries >= TRIES_WITH_TIMEOUTS || draws % 4 ? NBCOLL_FOREVER : draws / 4 % (20 * MILLISECOND);
}

/* A status that a try may end with, but OK: who has a timeout reaches it, and the others hear of that. */
static bool may_end_so(const gathering *x, int tries, nbcoll_status status)
{
    bool others = false;
    for (int k = 0; k < x->members; k++)
        others |= timeout_of(x, k, tries) != NBCOLL_FOREVER;
    return ((status == NBCOLL_ERR_TIMEOUT || status == NBCOLL_ERR_NO_SLOT) &&
            timeout_of(x, x->me, tries) != NBCOLL_FOREVER) ||
           (status == NBCOLL_ERR_CANCELLED && others);
}

static bool are_all_there(const gathering *x, nbcoll_comm *made, int members, nbcoll_status *status)
{
    int32_t mine = x->list[x->me], all[RANKS_MOST];
    bool is_right = nbcoll_comm_rank(made) == x->me && nbcoll_comm_size(made) == members;
    *status = nbcoll_allgather(&mine, all, 1, NBCOLL_INT32, made, NBCOLL_FOREVER);
    for (int k = 0; k < members && *status == NBCOLL_OK; k++)
        is_right &= all[k] == x->list[k];
    return is_right;
}

/* False: it ends in a way that it may not. *made: null, or to be freed. */
static bool grow(gathering *x, int members, bool is_second, int tries, nbcoll_status *status, nbcoll_comm **made)
{
    rank *r = x->rank;
    int world[RANKS_MOST];
    *made = NULL;

    for (int k = 0; k < members; k++)
        world[k] = plan_member(&r->storm->plan, x->item->comm, r->actor->rank, x->list[k]);
    storm_note(r->storm, r->actor->rank, NOTE_STARTS, (uint64_t)x->index, 9);
    *status = is_second
                  ? nbcoll_comm_create_among(r->context, r->endpoint, members, world, x->index, NULL, made,
                                             timeout_of(x, x->me, tries))
                  : nbcoll_comm_create_group(r->comm[x->item->comm], members, x->list, x->index, made, NBCOLL_FOREVER);
    storm_note(r->storm, r->actor->rank, NOTE_MADE, (uint64_t)x->index, *status);
    bool is_right = *status == NBCOLL_OK ? are_all_there(x, *made, members, status) : !*made;
    storm_note(r->storm, r->actor->rank, NOTE_MESSAGE, (uint64_t)x->index, *status);
    r->storm->has_ended_early |= *status != NBCOLL_OK;
    return is_right && (*status == NBCOLL_OK || (is_second && may_end_so(x, tries, *status)));
}

static void grow_all(gathering *x)
{
    rank *r = x->rank;
    int few = (x->members + 1) / 2, tries = 0;
    nbcoll_comm *smaller = NULL, *larger = NULL;
    nbcoll_status status = NBCOLL_OK;
    bool is_right = x->me >= few || grow(x, few, false, 0, &status, &smaller);

    do {
        if (larger) /* in which a member has given up */
            groups_free(x, larger);
        if (rank_choose(r, 3) == 0)
            storm_stay(r->storm, rank_choose(r, 30 * MILLISECOND));
        is_right = is_right && grow(x, x->members, true, tries, &status, &larger);
    } while (is_right && status != NBCOLL_OK && tries++ < TRIES_WITH_TIMEOUTS);
    if (smaller)
        groups_free(x, smaller);
    if (larger)
        groups_free(x, larger);
    if (!is_right && !r->actor->is_dead)
        storm_find(r->storm, "rank %d, item %d: its growing group ends with %s, at try %d, or has others in it",
                   r->actor->rank, x->index, nbcoll_status_name(status), tries);
}

static void grow_beside_faults(gathering *x)
{
    int few = (x->members + 1) / 2;
    nbcoll_comm *smaller = NULL, *larger = NULL;

    if (x->me >= few || groups_make(x, few, false, &smaller))
        groups_make(x, x->members, true, &larger);
    if (smaller)
        groups_free(x, smaller);
    if (larger)
        groups_free(x, larger);
}

/* Over the endpoint itself: that must be the context's only one. */
static bool grows(const gathering *x)
{
    const plan *p = &x->rank->storm->plan;
    return p->edition >= EDITION_OF_FORMS && p->nets == 1 && !p->has_agents && !p->late_tags && !p->few_serials &&
           (p->edition >= EDITION_OF_MISHAPS || !plan_has_faults(p)) && mix(x->item->salt, 92) % 2;
}

void groups_run(rank *r, int n)
{
    const item *i = &r->storm->plan.item[n];
    place_in at = r->storm->plan.place[i->comm][r->actor->rank];
    gathering x = {.rank = r, .item = i, .index = n, .ranks = at.size};
    nbcoll_comm *made;

    draw_list(&x, at.rank);
    if (x.me < 0)
        return;
    if (r->storm->plan.edition >= EDITION_OF_TIMEOUTS && mix(i->salt, 93) % 2 && !r->storm->plan.few_serials) {
        timeouts_run(&x);
        return;
    }
    if (grows(&x)) {
        (plan_has_faults(&r->storm->plan) ? grow_beside_faults : grow_all)(&x);
        return;
    }
    groups_make(&x, x.members, false, &made);
    if (made)
        groups_free(&x, made);
}
