/* SPDX-License-Identifier: BSD-3-Clause
 * Every SEND has one RECV, every exposed part one FETCH or FETCH_REDUCE, of its length: the numbers decide. */
#include "proof.h"
#include "../schedule/sort.h"

/* One end of each message of a rank: ascending by peer and number. */
typedef struct nbcolli_matching_ends {
    const nbcolli_message *end;
    uint32_t n, passed;
} nbcolli_matching_ends;

nbcoll_region nbcolli_given(const nbcoll_step_view *giver, int taker, uint32_t number)
{
    for (uint32_t i = 0; i < giver->part_count; i++)
        if (giver->parts[i].peer == taker && giver->parts[i].number == number)
            return giver->parts[i].region;
    return giver->read[0];
}

static nbcoll_status nbcolli_matching_no_taker(nbcolli_proof *p, int rank, const nbcolli_message *giver)
{
    const nbcoll_step_view *v = nbcolli_view(p, rank, giver->step);
    nbcoll_place places[] = {
        nbcolli_place(rank, giver->step, nbcolli_given(v, giver->peer, giver->number)),
        nbcolli_moment(giver->peer, NBCOLL_START),
    };
    return nbcolli_refute(p, v->kind == NBCOLL_SEND ? NBCOLL_FLAW_NO_RECV : NBCOLL_FLAW_NO_FETCH, 2, places);
}

static nbcoll_status nbcolli_matching_no_giver(nbcolli_proof *p, int rank, const nbcolli_message *taker)
{
    const nbcoll_step_view *v = nbcolli_view(p, rank, taker->step);
    nbcoll_place places[] = {
        nbcolli_place(rank, taker->step, v->write),
        nbcolli_moment(taker->peer, NBCOLL_START),
    };
    return nbcolli_refute(p, v->kind == NBCOLL_RECV ? NBCOLL_FLAW_NO_SEND : NBCOLL_FLAW_NO_EXPOSE, 2, places);
}

static nbcoll_status nbcolli_matching_pair(nbcolli_proof *p, int rank, const nbcolli_message *giver,
                                           const nbcolli_message *taker)
{
    const nbcoll_step_view *v = nbcolli_view(p, rank, giver->step);
    nbcoll_region given = nbcolli_given(v, giver->peer, giver->number);
    nbcoll_region taken = nbcolli_view(p, giver->peer, taker->step)->write;
    p->mate[nbcolli_index(p, giver->peer, taker->step)] = giver->step;
    if (v->kind == NBCOLL_SEND)
        p->mate[nbcolli_index(p, rank, giver->step)] = taker->step;
    if (given.bytes == taken.bytes)
        return NBCOLL_OK;
    nbcoll_place places[] = {nbcolli_place(rank, giver->step, given), nbcolli_place(giver->peer, taker->step, taken)};
    return nbcolli_refute(p, NBCOLL_FLAW_LENGTH, 2, places);
}

/* The givers come in the order of (rank, peer, number), so each rank's takers, which are ordered by (peer, number), are
 * passed from the first to the last. */
static nbcoll_status nbcolli_matching_walk(nbcolli_proof *p, const nbcolli_matching_ends *givers,
                                           nbcolli_matching_ends *takers)
{
    for (int rank = 0; rank < p->ranks; rank++)
        for (uint32_t i = 0; i < givers[rank].n; i++) {
            const nbcolli_message *giver = &givers[rank].end[i];
            nbcolli_matching_ends *t = &takers[giver->peer];
            const nbcolli_message *taker = t->passed < t->n ? &t->end[t->passed] : NULL;
            if (taker && (taker->peer < rank || (taker->peer == rank && taker->number < giver->number)))
                return nbcolli_matching_no_giver(p, giver->peer, taker);
            if (!taker || taker->peer > rank || taker->number > giver->number)
                return nbcolli_matching_no_taker(p, rank, giver);
            nbcoll_status status = nbcolli_matching_pair(p, rank, giver, taker);
            if (status != NBCOLL_OK)
                return status;
            t->passed++;
        }
    for (int rank = 0; rank < p->ranks; rank++)
        if (takers[rank].passed < takers[rank].n)
            return nbcolli_matching_no_giver(p, rank, &takers[rank].end[takers[rank].passed]);
    return NBCOLL_OK;
}

/* Lists a rank's exposed parts. */
static nbcoll_status nbcolli_matching_list(nbcolli_proof *p, const nbcoll_schedule *s, nbcolli_matching_ends *out)
{
    uint32_t n = 0, i = 0;
    for (nbcoll_step step = 0; step < s->steps; step++)
        n += s->step[step].kind == NBCOLL_EXPOSE ? s->step[step].part_count : 0;
    nbcolli_entry *entries = nbcolli_take(p, 2 * (size_t)n, sizeof *entries);
    nbcolli_message *ends = nbcolli_take(p, n, sizeof *ends);
    if (!entries || !ends)
        return NBCOLL_ERR_MEMORY;
    for (nbcoll_step step = 0; step < s->steps; step++) {
        const nbcoll_step_view *v = &s->step[step];
        for (uint32_t part = 0; v->kind == NBCOLL_EXPOSE && part < v->part_count; part++)
            entries[i++] = (nbcolli_entry){nbcolli_key((uint32_t)v->parts[part].peer, v->parts[part].number), step};
    }
    nbcolli_sort(entries, entries + n, n);
    for (i = 0; i < n; i++)
        ends[i] = (nbcolli_message){(int)(entries[i].key >> 32), (uint32_t)entries[i].key, entries[i].value};
    *out = (nbcolli_matching_ends){ends, n, 0};
    return NBCOLL_OK;
}

static nbcoll_status nbcolli_matching_parts(nbcolli_proof *p, nbcolli_matching_ends *givers,
                                            nbcolli_matching_ends *takers)
{
    nbcoll_status status = NBCOLL_OK;
    int shared = 0;
    for (int rank = 0; rank < p->ranks; rank++)
        shared |= p->schedules[rank]->shared;
    if (!shared)
        return NBCOLL_OK;
    for (int rank = 0; rank < p->ranks && status == NBCOLL_OK; rank++) {
        const nbcoll_schedule *s = p->schedules[rank];
        takers[rank] = (nbcolli_matching_ends){s->fetch, s->fetches, 0};
        status = nbcolli_matching_list(p, s, &givers[rank]);
    }
    return status == NBCOLL_OK ? nbcolli_matching_walk(p, givers, takers) : status;
}

nbcoll_status nbcolli_prove_matching(nbcolli_proof *p)
{
    nbcolli_matching_ends *givers = nbcolli_take(p, 2 * (size_t)p->ranks, sizeof *givers);
    if (!givers)
        return NBCOLL_ERR_MEMORY;
    nbcolli_matching_ends *takers = givers + p->ranks;
    for (int rank = 0; rank < p->ranks; rank++) {
        const nbcoll_schedule *s = p->schedules[rank];
        givers[rank] = (nbcolli_matching_ends){s->send, s->sends, 0};
        takers[rank] = (nbcolli_matching_ends){s->recv, s->recvs, 0};
    }
    nbcoll_status status = nbcolli_matching_walk(p, givers, takers);
    return status == NBCOLL_OK ? nbcolli_matching_parts(p, givers, takers) : status;
}
