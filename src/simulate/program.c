/* SPDX-License-Identifier: BSD-3-Clause
 * Programs: what ranks do beside communicating. A program goes on when an event says so, or when the operation it waits
 * for has ended; between these it computes or waits. */
#include "simulate.h"

/* ---- checks ---------------------------------------------------------------------------------------------------- */

static int nbcolli_program_is_wait(const nbcoll_sim_action *a)
{
    return a->act == NBCOLL_SIM_WAIT || a->act == NBCOLL_SIM_WAIT_STARTED;
}

static nbcoll_status nbcolli_program_check(const nbcoll_sim_program *p, uint32_t operations)
{
    uint32_t starts = 0;
    for (size_t i = 0; i < p->actions; i++) {
        const nbcoll_sim_action *a = &p->action[i];
        if (a->compute > NBCOLL_SIM_MOST_NS || a->test_every > NBCOLL_SIM_MOST_NS)
            return NBCOLL_ERR_LIMIT;
        if ((unsigned)a->act > NBCOLL_SIM_WAIT_STARTED || (nbcolli_program_is_wait(a) && a->operation >= starts) ||
            (a->act == NBCOLL_SIM_START && starts == operations))
            return NBCOLL_ERR_ARGUMENT;
        starts += a->act == NBCOLL_SIM_START;
    }
    if (p->actions > UINT32_MAX / 2)
        return NBCOLL_ERR_LIMIT;
    return p->actions && starts < operations ? NBCOLL_ERR_ARGUMENT : NBCOLL_OK;
}

nbcoll_status nbcolli_programs_check(const nbcoll_sim_config *c)
{
    nbcoll_status status = nbcolli_program_check(nbcolli_program_of(c, 0), c->operations);
    for (int rank = 1; c->programs && rank < c->ranks && status == NBCOLL_OK; rank++)
        if (c->programs[rank].action != c->programs[rank - 1].action ||
            c->programs[rank].actions != c->programs[rank - 1].actions)
            status = nbcolli_program_check(&c->programs[rank], c->operations);
    return status;
}

/* ---- computing ------------------------------------------------------------------------------------------------- */

/* How many ranks of its (full) node compute on the core of this one. */
static uint64_t nbcolli_program_sharers(const nbcolli_sim *s, uint32_t rank)
{
    uint32_t room = nbcolli_sim_room(s, nbcolli_sim_node(s, rank));
    return room / s->workers + (nbcolli_sim_place(s, rank) % s->workers < room % s->workers);
}

/* ---- actions --------------------------------------------------------------------------------------------------- */

/* The action a player is at; behind those of the program come the waits for all operations. */
static nbcoll_sim_action nbcolli_program_action(const nbcolli_sim *s, uint32_t rank, uint32_t at)
{
    const nbcoll_sim_program *p = nbcolli_program_of(&s->config, rank);
    uint32_t actions = p->actions ? (uint32_t)p->actions : s->config.operations;
    if (at >= actions)
        return (nbcoll_sim_action){.act = NBCOLL_SIM_WAIT, .operation = at - actions};
    return p->actions ? p->action[at] : (nbcoll_sim_action){.act = NBCOLL_SIM_START};
}

/* When a rank that was at an action since `t` has come out of the library. */
static uint64_t nbcolli_program_returns(const nbcolli_sim *s, uint32_t rank, uint64_t t)
{
    return nbcolli_later(t, s->player[rank].last[NBCOLLI_RANK]);
}

static nbcoll_status nbcolli_program_compute(nbcolli_sim *s, uint32_t rank, const nbcoll_sim_action *a, uint64_t t)
{
    nbcolli_player *p = &s->player[rank];
    uint64_t work = a->compute * nbcolli_program_sharers(s, rank);
    if (s->model.tick) /* of each period so much is left to the computation */
        work += work / (s->model.tick - s->model.tick_cost) * s->model.tick_cost;
    p->base = t;
    p->until = nbcolli_noise_end(&s->config, nbcolli_compute_core(s, rank), t, work);
    return nbcolli_put(s, p->until, rank, 0, NBCOLLI_GO_ON);
}

/* The program has got to the wait for a run: does it return, and when? */
static int nbcolli_program_wait(nbcolli_sim *s, uint32_t rank, uint32_t operation, uint64_t *t)
{
    uint32_t index = operation * (uint32_t)s->config.ranks + rank;
    nbcolli_sim_run *run = &s->run[index];
    if (run->left)
        return 0;
    *t = nbcolli_program_returns(s, rank, nbcolli_later(*t, run->ended));
    if (run->is_waited)
        return 1;
    run->is_waited = 1;
    if (s->result.rank)
        s->result.rank[index].waited = *t;
    nbcolli_tell(s, NBCOLL_SIM_ENDED, index, NULL, 0, *t, *t);
    return 1;
}

/* The same for what belongs to its start. Who waits for that does it. */
static int nbcolli_program_wait_started(nbcolli_sim *s, uint32_t rank, uint32_t operation, uint64_t *t)
{
    nbcolli_sim_run *run = &s->run[operation * (uint32_t)s->config.ranks + rank];
    run->is_awaited = run->starting != 0;
    if (run->starting)
        return 0;
    *t = nbcolli_program_returns(s, rank, *t);
    return 1;
}

/* Goes through the program from its place on, at `t`, until it computes, waits, or has ended. */
static nbcoll_status nbcolli_program_run(nbcolli_sim *s, uint32_t rank, uint64_t t)
{
    nbcolli_player *p = &s->player[rank];
    nbcoll_status status = NBCOLL_OK;
    for (;; p->at++) {
        nbcoll_sim_action a = nbcolli_program_action(s, rank, p->at);
        if (a.act == NBCOLL_SIM_COMPUTE && a.compute)
            return nbcolli_program_compute(s, rank, &a, t);
        p->base = p->until = t;
        if (a.act == NBCOLL_SIM_START) {
            status = nbcolli_play_start(s, p->starts++ * (uint32_t)s->config.ranks + rank, t);
            t = nbcolli_program_returns(s, rank, t);
        } else if (a.act == NBCOLL_SIM_WAIT && a.operation == s->config.operations) {
            s->unended--;
            s->result.waited = nbcolli_later(s->result.waited, t);
            return NBCOLL_OK;
        } else if (a.act == NBCOLL_SIM_WAIT && !nbcolli_program_wait(s, rank, a.operation, &t))
            return NBCOLL_OK;
        else if (a.act == NBCOLL_SIM_WAIT_STARTED && !nbcolli_program_wait_started(s, rank, a.operation, &t))
            return NBCOLL_OK;
        if (status != NBCOLL_OK)
            return status;
    }
}

nbcoll_status nbcolli_program_go_on(nbcolli_sim *s, uint32_t rank, uint64_t t)
{
    nbcolli_player *p = &s->player[rank];
    if (p->at == UINT32_MAX) {
        p->at = 0;
        return nbcolli_program_run(s, rank, t);
    }
    if (t < p->until) /* the library took some of its time */
        return nbcolli_put(s, p->until, rank, 0, NBCOLLI_GO_ON);
    p->at++;
    return nbcolli_program_run(s, rank, nbcolli_program_returns(s, rank, t));
}

nbcoll_status nbcolli_program_look(nbcolli_sim *s, uint32_t rank)
{
    nbcolli_player *p = &s->player[rank];
    nbcoll_sim_action a = nbcolli_program_action(s, rank, p->at);
    if (a.operation == s->config.operations) /* it has ended */
        return NBCOLL_OK;
    const nbcolli_sim_run *run = &s->run[a.operation * (uint32_t)s->config.ranks + rank];
    if (!nbcolli_program_is_wait(&a) || (a.act == NBCOLL_SIM_WAIT ? run->left : run->starting))
        return NBCOLL_OK;
    return nbcolli_program_run(s, rank, p->until);
}

static uint64_t nbcolli_program_late(const nbcolli_sim *s, uint32_t rank)
{
    const nbcoll_sim_arrival *a = &s->config.arrival;
    uint64_t others = (uint64_t)s->config.ranks - 1;
    switch (a->pattern) {
    case NBCOLL_SIM_ONE_LATE:
        return rank == (uint32_t)a->rank ? a->spread : 0;
    case NBCOLL_SIM_RISING:
        return rank ? a->spread / others * rank + a->spread % others * rank / others : 0;
    case NBCOLL_SIM_SCATTERED:
        return nbcolli_mix(s->config.seed, rank, 0) % (a->spread + 1);
    default:
        return 0;
    }
}

nbcoll_status nbcolli_programs_begin(nbcolli_sim *s)
{
    nbcoll_status status = NBCOLL_OK;
    for (uint32_t rank = 0; rank < (uint32_t)s->config.ranks && status == NBCOLL_OK; rank++) {
        s->player[rank].at = UINT32_MAX;
        s->player[rank].until = nbcolli_program_late(s, rank);
        status = nbcolli_put(s, s->player[rank].until, rank, 0, NBCOLLI_GO_ON);
    }
    return status;
}
