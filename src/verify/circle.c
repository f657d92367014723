/* SPDX-License-Identifier: BSD-3-Clause
 * Names a circle of steps that wait for each other. Whoever has not ended waits for something that has not either, so
 * following what each waits for leads into one. */
#include "proof.h"

/* An earlier step of the rank that has not ended. */
static nbcolli_item nbcolli_circle_earlier(const nbcolli_proof *p, const uint8_t *state, nbcolli_item item)
{
    const nbcoll_schedule *s = p->schedules[item.rank];
    for (nbcoll_step step = 0; step < s->steps; step++)
        for (uint32_t i = 0; i < s->step[step].after_count; i++)
            if (s->step[step].after[i] == item.step && state[nbcolli_index(p, item.rank, step)] != NBCOLLI_ENDED)
                return (nbcolli_item){item.rank, step};
    return item;
}

/* A fetch without which a reader does not tell that it has its part: of that part, or of one before it. */
static nbcolli_item nbcolli_circle_reader(const nbcolli_proof *p, const uint8_t *state, nbcolli_item expose)
{
    const nbcoll_step_view *v = nbcolli_view(p, expose.rank, expose.step);
    for (uint32_t i = 0; i < v->part_count; i++) {
        const nbcoll_part *part = &v->parts[i];
        const nbcoll_schedule *s = p->schedules[part->peer];
        uint32_t first = nbcolli_message_index(s->fetch, s->fetches, expose.rank, 0);
        for (const nbcolli_message *fetch = s->fetch + first; fetch <= s->fetch + first + part->number; fetch++)
            if (state[nbcolli_index(p, part->peer, fetch->step)] != NBCOLLI_ENDED)
                return (nbcolli_item){part->peer, fetch->step};
    }
    return expose;
}

static nbcolli_item nbcolli_circle_next(const nbcolli_proof *p, const uint8_t *state, nbcolli_item item)
{
    size_t index = nbcolli_index(p, item.rank, item.step);
    const nbcoll_step_view *v = nbcolli_view(p, item.rank, item.step);
    if (state[index] == NBCOLLI_WAITS)
        return nbcolli_circle_earlier(p, state, item);
    if (v->kind == NBCOLL_EXPOSE)
        return nbcolli_circle_reader(p, state, item);
    return (nbcolli_item){v->peer, p->mate[index]};
}

nbcoll_status nbcolli_refute_circle(nbcolli_proof *p, const uint8_t *state)
{
    nbcoll_place places[NBCOLL_PLACES];
    uint32_t n = 0;
    nbcolli_item item = {0, NBCOLL_START};
    uint8_t *is_passed = nbcolli_take(p, p->first[p->ranks], 1);
    if (!is_passed)
        return NBCOLL_ERR_MEMORY;
    for (item.rank = 0; item.rank < p->ranks; item.rank++) {
        for (item.step = 0; item.step < p->schedules[item.rank]->steps; item.step++)
            if (state[nbcolli_index(p, item.rank, item.step)] != NBCOLLI_ENDED)
                break;
        if (item.step < p->schedules[item.rank]->steps)
            break;
    }
    while (!is_passed[nbcolli_index(p, item.rank, item.step)]) {
        is_passed[nbcolli_index(p, item.rank, item.step)] = 1;
        item = nbcolli_circle_next(p, state, item);
    }
    /* Now inside. Begin at the lowest rank and step. */
    nbcolli_item first = item, stop = item;
    do {
        item = nbcolli_circle_next(p, state, item);
        if (nbcolli_index(p, item.rank, item.step) < nbcolli_index(p, first.rank, first.step))
            first = item;
    } while (item.rank != stop.rank || item.step != stop.step);
    item = first;
    do {
        const nbcoll_step_view *v = nbcolli_view(p, item.rank, item.step);
        if (n < NBCOLL_PLACES)
            places[n] = nbcolli_place(item.rank, item.step, v->write.bytes ? v->write : v->read[0]);
        n++;
        item = nbcolli_circle_next(p, state, item);
    } while (item.rank != first.rank || item.step != first.step);
    return nbcolli_refute(p, NBCOLL_FLAW_DEADLOCK, n, places);
}
