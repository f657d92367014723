/* SPDX-License-Identifier: BSD-3-Clause
 * Contention: drivers of several ranks that are gathered on a progress core look in turn, so that each piece of work
 * waits for a look of every other one that has something under way. */
#include "simulate.h"

static int nbcolli_contend_is_shared(const nbcolli_sim *s, const nbcolli_node *n)
{
    return !(s->model.lanes && n->lane == NBCOLL_LANE_CALLER);
}

nbcoll_status nbcolli_contend_open(nbcolli_sim *s)
{
    nbcolli_contenders *c = &s->contenders;
    if (!s->model.contention || !s->model.progress)
        return NBCOLL_OK;
    c->steps = nbcolli_purse_take(&s->purse, s->runs, sizeof *c->steps);
    c->runs = nbcolli_purse_take(&s->purse, (size_t)s->config.ranks, sizeof *c->runs);
    c->ranks = nbcolli_purse_take(&s->purse, s->cores, sizeof *c->ranks);
    if (!c->steps || !c->runs || !c->ranks)
        return NBCOLL_ERR_MEMORY;
    for (uint32_t run = 0; run < s->runs; run++)
        for (uint32_t i = 0; i < s->run[run].shape->steps; i++)
            c->steps[run] += (uint32_t)nbcolli_contend_is_shared(s, &s->run[run].shape->node[i]);
    return NBCOLL_OK;
}

void nbcolli_contend_start(nbcolli_sim *s, uint32_t run)
{
    nbcolli_contenders *c = &s->contenders;
    uint32_t rank = nbcolli_rank_of(s, run);
    if (c->ranks && c->steps[run] && !c->runs[rank]++)
        c->ranks[nbcolli_progress_core(s, rank)]++;
}

void nbcolli_contend_ended(nbcolli_sim *s, uint32_t run, const nbcolli_node *n)
{
    nbcolli_contenders *c = &s->contenders;
    uint32_t rank = nbcolli_rank_of(s, run);
    if (c->ranks && nbcolli_contend_is_shared(s, n) && !--c->steps[run] && !--c->runs[rank])
        c->ranks[nbcolli_progress_core(s, rank)]--;
}

uint64_t nbcolli_contend_cost(const nbcolli_sim *s, uint32_t rank)
{
    if (!s->contenders.ranks)
        return 0;
    uint64_t ranks = s->contenders.ranks[nbcolli_progress_core(s, rank)];
    if (s->model.pool)
        ranks = (ranks + s->model.progress - 1) / s->model.progress;
    return ranks > 1 ? (ranks - 1) * s->model.contention : 0;
}
