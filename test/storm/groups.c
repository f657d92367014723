/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Groups: some ranks of a communicator make one of their own, in an order of its own, and use it; the others do
 * nothing. Where something bad has happened a rank gives up what does not end in time, since a member may not come. */
#include <stdlib.h>

#include "rank.h"
#include "nbcoll/group.h"

#define PATIENCE (3 * SECOND)

typedef struct gathering {
    rank *rank;
    const item *item;
    int index, ranks, members, me; /* me: this rank's place in the list, or -1 */
    int list[RANKS_MOST];
} gathering;

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

/* Whatever it is, it ends; and where it ends badly that has a cause. */
static nbcoll_status finish(gathering *x, nbcoll_request *request)
{
    rank *r = x->rank;
    storm *s = r->storm;
    uint64_t since = s->now;
    bool gives_up = false;
    nbcoll_status status;

    storm_note(s, r->actor->rank, NOTE_STARTS, (uint64_t)x->index, 9);
    while ((status = nbcoll_test(request)) == NBCOLL_PENDING) {
        if (s->bad_anywhere && !gives_up && s->last_cause < s->now)
            s->last_cause = s->now;
        if (s->bad_anywhere && !gives_up && (s->ends || s->now > since + PATIENCE)) {
            gives_up = true;
            nbcoll_cancel(*request);
        }
        chain_look(r);
        storm_sleep(s, 1 + rank_choose(r, MILLISECOND));
    }
    storm_note(s, r->actor->rank, NOTE_MESSAGE, (uint64_t)x->index, status);
    if (status != NBCOLL_ERR_CANCELLED || !s->bad_anywhere)
        judge_end(r->actor, x->item, x->index, status, NULL, NULL);
    if (status != NBCOLL_OK)
        storm_cause(s, r->actor->rank, BAD_LEFT);
    return status;
}

static void use(gathering *x, nbcoll_comm *made)
{
    rank *r = x->rank;
    int32_t mine = x->list[x->me], all[RANKS_MOST];
    nbcoll_request request;
    nbcoll_status status;
    int tries = 0;

    if (nbcoll_comm_rank(made) != x->me || nbcoll_comm_size(made) != x->members)
        storm_find(r->storm, "rank %d, item %d: number %d of %d in its group", r->actor->rank, x->index,
                   nbcoll_comm_rank(made), nbcoll_comm_size(made));
    while ((status = nbcoll_iallgather(&mine, all, 1, NBCOLL_INT32, made, &request)) == NBCOLL_ERR_MEMORY &&
           tries++ < RETRIES)
        storm_stay(r->storm, 1 + rank_choose(r, 50 * MICROSECOND));
    if (status == NBCOLL_OK)
        status = finish(x, &request);
    else {
        judge_end(r->actor, x->item, x->index, status, NULL, NULL);
        storm_cause(r->storm, r->actor->rank, BAD_QUITS); /* it frees the group, in which the others have started */
    }
    for (int k = 0; k < x->members && status == NBCOLL_OK; k++)
        if (all[k] != x->list[k] && !(r->storm->bad_anywhere & BAD_HEADER) && !r->storm->ends && !r->actor->is_dead)
            storm_find(r->storm, "rank %d, item %d: member %d is another one", r->actor->rank, x->index, k);
}

void groups_run(rank *r, int n)
{
    const item *i = &r->storm->plan.item[n];
    place_in at = r->storm->plan.place[i->comm][r->actor->rank];
    gathering x = {.rank = r, .item = i, .index = n, .ranks = at.size};
    nbcoll_comm *made = NULL;
    nbcoll_request request;
    nbcoll_status status;
    int tries = 0;

    draw_list(&x, at.rank);
    if (x.me < 0)
        return;
    while ((status = nbcoll_comm_icreate_group(r->comm[i->comm], x.members, x.list, n, &made, &request)) != NBCOLL_OK)
        if (status == NBCOLL_ERR_PEER_LOST) { /* among the members, who have a communicator for their votes */
            judge_end(r->actor, i, n, status, NULL, NULL);
            storm_cause(r->storm, r->actor->rank, BAD_LEFT);
            return;
        } else if (!rank_is_refused(r, n, status, tries++))
            return;
    if (finish(&x, &request) != NBCOLL_OK)
        return;
    use(&x, made);
    while ((status = nbcoll_comm_free(made)) == NBCOLL_ERR_BUSY) {
        nbcoll_progress(r->context);
        storm_sleep(r->storm, 1 + rank_choose(r, MILLISECOND));
    }
    if (status != NBCOLL_OK)
        storm_find(r->storm, "rank %d, item %d: its group is not freed: %s", r->actor->rank, n,
                   nbcoll_status_name(status));
}
