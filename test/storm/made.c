/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Communicators as a rank makes and frees them. */
#include <stdio.h>
#include <string.h>

#include "../../src/engine/state/context.h"
#include "rank.h"

/* A plan cannot know who survives: that is set here. All members of a communicator say the same. */
static void is_placed(rank *r, int n, const place_in *places)
{
    plan *p = &r->storm->plan;
    place_in *to = p->place[p->item[n].made];
    for (int q = 0; q < p->ranks; q++)
        if (places[q].group < 0)
            continue;
        else if (to[q].group >= 0 && memcmp(&to[q], &places[q], sizeof *to))
            storm_find(r->storm, "rank %d, item %d: rank %d is number %d of %d, and was number %d of %d",
                       r->actor->rank, n, q, places[q].rank, places[q].size, to[q].rank, to[q].size);
        else
            to[q] = places[q];
}

/* Who has survived is asked of the communicator itself. Nobody is left out to whom nothing has happened. */
static void place_survivors(rank *r, int n, const int64_t *survivors, int size)
{
    storm *s = r->storm;
    place_in places[RANKS_MOST];
    int last = -1;

    for (int q = 0; q < s->plan.ranks; q++)
        places[q] = (place_in){-1, 0, 0};
    for (int k = 0; k < size; k++) {
        if (survivors[k] <= last || survivors[k] >= s->plan.ranks) {
            storm_find(s, "rank %d, item %d: survivor %d of %d is rank %lld, after rank %d", r->actor->rank, n, k, size,
                       (long long)survivors[k], last);
            return;
        }
        last = (int)survivors[k];
        places[last] = (place_in){1 + (int)survivors[0], k, size};
    }
    for (int q = 0; q < s->plan.ranks; q++)
        if (places[q].group < 0 && !judge_is_gone(s, q))
            storm_find(s, "rank %d, item %d: rank %d is no survivor, but nothing has happened to it", r->actor->rank, n,
                       q);
    is_placed(r, n, places);
}

/* An allgather of the new communicator's, by which it works, and says who is in it. */
static void ask_survivors(rank *r, int n)
{
    const item *i = &r->storm->plan.item[n];
    item asks = {.kind = ITEM_CALL, .comm = i->made, .o.what = NBCOLL_OPERATION_ALLGATHER};
    nbcoll_comm *made = r->comm[i->made];
    int64_t mine = r->actor->rank, survivors[RANKS_MOST];
    nbcoll_request request;
    nbcoll_status status;
    int tries = 0, size = nbcoll_comm_size(made), number = nbcoll_comm_rank(made);

    while ((status = nbcoll_iallgather(&mine, survivors, 1, NBCOLL_INT64, made, &request)) ==
               NBCOLL_ERR_MEMORY &&
           tries++ < RETRIES)
        storm_stay(r->storm, 1 + rank_choose(r, 50 * MICROSECOND));
    if (status == NBCOLL_OK)
        status = rank_wait(r, &request);
    nbcoll_failure failure = rank_failure(r, i->made);
    judge_end(r->actor, &asks, n, status, &failure, NULL);
    if (status != NBCOLL_OK) {
        r->is_broken[i->made] = true;
        if (status == NBCOLL_ERR_MEMORY) /* the others wait for it there */
            rank_stops(r, BAD_MEMORY | BAD_LEFT);
        else
            storm_cause(r->storm, r->actor->rank, BAD_LEFT);
    } else if (!r->actor->is_dead && !(r->storm->bad_anywhere & BAD_HEADER)) {
        place_survivors(r, n, survivors, size);
        if (survivors[number] != mine)
            storm_find(r->storm, "rank %d, item %d: it is not number %d itself", r->actor->rank, n, number);
    }
}

/* A rank's part in a dup with configurations: slots, cells and schedules of its own, and as many cells as schedules of
 * the program's need (own.c). Some dup without. */
typedef struct wish {
    bool is_plain, has_none; /* no configuration: so have all that are not plain */
    uint32_t slots, cells, schedules;
} wish;

static wish wish_of(const plan *p, const item *i, int of)
{
    uint64_t all = mix(i->salt, 64), own = mix(all, 1 + (uint64_t)of);
    uint32_t least = begin_cells(p);
    wish w = {.cells = (uint32_t)ONE_OF(&own, 2, 8, 16)};
    w.slots = (uint32_t)ONE_OF(&own, 1, 3, 32, 64);
    w.schedules = (uint32_t)ONE_OF(&own, 1, 2, 8, 128);
    w.is_plain = next_random(&own) % 4 == 0;
    w.has_none = next_random(&all) % 4 == 0 && !p->flags && !p->is_mixed && least <= 8;
    w.cells = w.has_none ? 8 : w.cells < least ? least : w.cells;
    return w;
}

static nbcoll_status dup_with(rank *r, const item *i, nbcoll_request *request)
{
    const plan *p = &r->storm->plan;
    wish w = wish_of(p, i, r->actor->rank);
    nbcoll_comm_config terms;

    begin_terms(r, &terms);
    terms.flags = p->flags; /* the rank that decides on them may be none of its members */
    terms.slots = w.slots;
    terms.schedules = w.schedules;
    terms.cells = w.cells;
    return w.is_plain ? nbcoll_comm_idup(r->comm[i->comm], &r->made[i->made], request)
                      : nbcoll_comm_idup_with(r->comm[i->comm], w.has_none ? NULL : &terms, &r->made[i->made], request);
}

/* The members have agreed on the fewest cells, where who dups without has those of the parent; and on the flags. */
static void judge_terms(const rank *r, int n)
{
    const plan *p = &r->storm->plan;
    const item *i = &p->item[n];
    const place_in *from = p->place[i->comm];
    nbcoll_cells was = {.size = sizeof was}, is = {.size = sizeof is};
    uint32_t least = UINT32_MAX;

    if (r->storm->bad_anywhere & BAD_HEADER)
        return;
    nbcoll_comm_cells(r->comm[i->comm], &was);
    nbcoll_comm_cells(r->comm[i->made], &is);
    for (int q = 0; q < p->ranks; q++) {
        wish w = wish_of(p, i, q);
        uint32_t cells = w.is_plain ? was.exposures : w.cells;
        if (from[q].group >= 0 && from[q].group == from[r->actor->rank].group)
            least = cells < least ? cells : least;
    }
    if (is.exposures != least || nbcoll_comm_flags(r->comm[i->made]) != p->flags)
        storm_find(r->storm, "rank %d, item %d: the flags are %u, of %u, and it has %u cells instead of %u",
                   r->actor->rank, n, nbcoll_comm_flags(r->comm[i->made]), p->flags, is.exposures, least);
}

static nbcoll_status start_creation(rank *r, int n, nbcoll_request *request)
{
    const plan *p = &r->storm->plan;
    const item *i = &p->item[n];
    place_in at = p->place[i->made][r->actor->rank], old = p->place[i->comm][r->actor->rank];
    bool reverse = i->salt / 3 % 2;

    r->made[i->made] = r->comm[i->comm]; /* something that is none */
    if (i->is_with && !i->relays)
        return dup_with(r, i, request);
    if (i->is_shared)
        return nbcoll_comm_isplit_shared(r->comm[i->comm], reverse ? -old.rank : old.rank, &r->made[i->made], request);
    if (i->kind == ITEM_DUP)
        return nbcoll_comm_idup(r->comm[i->comm], &r->made[i->made], request);
    if (i->kind == ITEM_SHRINK)
        return nbcoll_comm_ishrink(r->comm[i->comm], &r->made[i->made], request);
    return nbcoll_comm_isplit(r->comm[i->comm], at.group, reverse ? -old.rank : old.rank, &r->made[i->made], request);
}

void made_lacks(rank *r, const nbcoll_comm *comm)
{
    nbcoll_cells cells = {.size = sizeof cells};
    if (comm && nbcoll_comm_cells(comm, &cells) == NBCOLL_OK && !cells.present && cells.lacking >= 0)
        r->lacking++;
    if (r->has_log && r->actor->logged < r->lacking && !(r->storm->bad_anywhere & BAD_HEADER))
        storm_find(r->storm, "rank %d: rank %d has no room for cells, and nothing was logged", r->actor->rank,
                   cells.lacking);
}

void made_is(rank *r, int n)
{
    const plan *p = &r->storm->plan;
    const item *i = &p->item[n];
    bool is_out = i->kind == ITEM_SPLIT && p->place[i->made][r->actor->rank].group < 0 && !p->survives[i->made];

    r->comm[i->made] = r->made[i->made];
    made_lacks(r, r->comm[i->made]);
    if (!r->comm[i->made] != is_out || r->comm[i->made] == r->comm[i->comm])
        storm_find(r->storm, "rank %d, item %d: it has got %s communicator", r->actor->rank, n,
                   !r->comm[i->made] ? "no" : is_out ? "a" : "the parent as the new");
}

/* Who leaves in good order has told the others what it has agreed on with them: where nothing else has happened all
 * have the same survivors, also those who left at once. */
static void judge_survivors(rank *r, int n)
{
    storm *s = r->storm;
    int made = s->plan.item[n].made, size = nbcoll_comm_size(r->comm[made]);
    if (s->bad_anywhere & ~(unsigned)(BAD_LEFT | BAD_QUITS | BAD_FREED | BAD_ENDED))
        return;
    if (s->survived[made] && s->survived[made] != size)
        storm_find(s, "rank %d, item %d: there are %d survivors, and %d on another rank", r->actor->rank, n, size,
                   s->survived[made]);
    s->survived[made] = size;
}

/* Has the rank been told of a loss there? Then who is lost is no survivor. Read as it lies there: a call takes time. */
static bool knows_of_a_loss(const rank *r, int comm)
{
    const nbcoll_failure *f = &r->comm[comm]->failure;
    int lost = f->status == NBCOLL_ERR_PEER_LOST && f->rank >= 0 && f->rank != r->comm[comm]->rank
                   ? plan_member(&r->storm->plan, comm, r->actor->rank, f->rank)
                   : -1;
    return lost >= 0 && r->storm->bad[lost] & (BAD_DEAD | BAD_DECLARED) && !(r->storm->bad_anywhere & BAD_HEADER);
}

/* Does the rank leave before its next item? Then it does not wait for the other survivors. */
static bool leaves_behind(const rank *r, int n)
{
    const plan *p = &r->storm->plan;
    bool leaves = false;
    for (int k = 0; k < p->faults; k++)
        leaves |= (p->fault[k].kind == FAULT_LEAVE ||
                   (p->fault[k].kind == FAULT_ABANDON && p->edition >= EDITION_OF_CORES)) &&
                  p->fault[k].rank == r->actor->rank && p->fault[k].at == (uint64_t)n + 1;
    return leaves && n + 1 < p->items && p->edition >= EDITION_OF_ENDS;
}

static void create(rank *r, int n)
{
    const plan *p = &r->storm->plan;
    const item *i = &p->item[n];
    nbcoll_request request;
    nbcoll_status status;
    int tries = 0;
    bool lacks = i->kind == ITEM_SHRINK && knows_of_a_loss(r, i->comm);

    while ((status = start_creation(r, n, &request)) != NBCOLL_OK)
        if (!rank_is_refused(r, n, status, tries++))
            return;
    rank_cancels(r, rank_opened(r, n, NULL, request));
    rank_wait_for(r, r->opened - 1);
    nbcoll_comm *made = r->comm[i->made];
    if (!made)
        return;
    if (lacks && nbcoll_comm_size(made) >= nbcoll_comm_size(r->comm[i->comm]))
        storm_find(r->storm, "rank %d, item %d: all have survived, though one was lost", r->actor->rank, n);
    if (i->kind == ITEM_SHRINK)
        judge_survivors(r, n);
    if (i->kind == ITEM_SHRINK && !leaves_behind(r, n))
        ask_survivors(r, n);
    else if (p->survives[i->comm]) {
        place_in places[RANKS_MOST];
        for (int q = 0; q < p->ranks; q++)
            places[q] = p->place[i->comm][q].group == p->place[i->comm][r->actor->rank].group
                            ? p->place[i->comm][q]
                            : (place_in){-1, 0, 0};
        is_placed(r, n, places);
    }
    if (i->is_with && !i->relays && !p->has_agents)
        judge_terms(r, n);
    if (i->relays)
        relays_open(r, n);
    place_in at = p->place[i->made][r->actor->rank];
    if (at.group >= 0 && (nbcoll_comm_rank(made) != at.rank || nbcoll_comm_size(made) != at.size))
        storm_find(r->storm, "rank %d, item %d: number %d of %d instead of %d of %d", r->actor->rank, n,
                   nbcoll_comm_rank(made), nbcoll_comm_size(made), at.rank, at.size);
}

void made_create(rank *r, int n)
{
    const item *i = &r->storm->plan.item[n];
    create(r, n);
    if (i->frees && r->comm[i->comm])
        made_free(r, i->comm);
}

void made_free(rank *r, int comm)
{
    for (int k = r->opened - 1; k >= 0; k = k < r->opened ? k - 1 : r->opened - 1)
        if (r->storm->plan.item[r->open[k]->item].comm == comm)
            rank_wait_for(r, k);
    relays_close(r, comm);
    judge_frees(r->actor, comm, r->comm[comm]);
    ways_freed(r->actor);
    nbcoll_status status;
    r->frees = 1 + comm;
    while ((status = nbcoll_comm_free(r->comm[comm])) == NBCOLL_ERR_BUSY) {
        nbcoll_progress(r->context);
        chain_look(r);
        storm_sleep(r->storm, 1 + rank_choose(r, MILLISECOND));
    }
    if (status != NBCOLL_OK)
        storm_find(r->storm, "rank %d: communicator %d is not freed: %s", r->actor->rank, comm,
                   nbcoll_status_name(status));
    r->comm[comm] = NULL;
    r->frees = 0;
    storm_note(r->storm, r->actor->rank, NOTE_FREED, (uint64_t)comm, 0);
}
