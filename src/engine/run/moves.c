/* SPDX-License-Identifier: BSD-3-Clause */
#include "moves.h"

/* The next step among those that wait for no other step: one that waits for no peer, if there is any. */
static nbcoll_step nbcolli_moves_choose(const nbcoll_schedule *s, const uint32_t *before)
{
    nbcoll_step chosen = NBCOLL_START;

    for (nbcoll_step i = NBCOLL_END + 1; i < s->steps; i++) {
        nbcoll_kind kind = s->step[i].kind;
        if (before[i] == 0 && kind != NBCOLL_RECV && kind != NBCOLL_FETCH && kind != NBCOLL_FETCH_REDUCE)
            return i;
        if (before[i] == 0 && chosen == NBCOLL_START)
            chosen = i;
    }
    return chosen;
}

static nbcoll_region nbcolli_move_left(const nbcoll_step_view *v)
{
    return v->kind == NBCOLL_EXPOSE ? v->parts->region : v->read[0];
}

static nbcolli_move nbcolli_move_of(const nbcolli_run *run, nbcoll_step step)
{
    const nbcoll_schedule *s = run->schedule;
    const nbcoll_step_view *v = &s->step[step];
    int combines = v->kind == NBCOLL_REDUCE || v->kind == NBCOLL_FETCH_REDUCE, shows = v->kind == NBCOLL_EXPOSE;
    uint64_t readers = shows ? nbcolli_alike(v, s->rank, s->ranks) : 0;

    return (nbcolli_move){
        .kind = (uint8_t)v->kind,
        .is_left = v->side == NBCOLL_LEFT,
        .bytes = (uint16_t)(shows || v->kind == NBCOLL_SEND ? nbcolli_move_left(v).bytes : v->write.bytes),
        .step = step,
        .peer = v->peer,
        .number = v->number,
        .op = s->op[step] != UINT32_MAX ? &run->op[s->op[step]] : NULL,
        .combines =
            combines ? s->owner->reducers->kernel[nbcolli_unit_type(v->reduction.type)][v->reduction.op] : NULL,
        .readers = readers,
        .cells = (uint8_t)(readers ? 1 : shows ? nbcolli_spread(v, s->rank, s->ranks) : 0),
    };
}

void nbcolli_moves_make(nbcolli_run *run)
{
    const nbcoll_schedule *s = run->schedule;
    nbcolli_move *m = run->move, *of[NBCOLLI_SMALL_STEPS];
    uint32_t before[NBCOLLI_SMALL_STEPS];

    if (s->is_small)
        memcpy(before, s->before, s->steps * sizeof *before);
    for (nbcoll_step step; s->is_small && (step = nbcolli_moves_choose(s, before)) != NBCOLL_START; m++) {
        before[step] = NBCOLLI_STEP_OVER;
        for (uint32_t i = 0; i < s->step[step].after_count; i++)
            before[s->step[step].after[i]]--;
        *m = nbcolli_move_of(run, step);
        m->bit = UINT64_C(1) << (m - run->move);
        if (m->op)
            m->op->move = m;
        of[step] = m;
    }
    *m = (nbcolli_move){.kind = NBCOLLI_MOVES_END, .bit = UINT64_C(1) << (m - run->move)};
    run->moves = m->bit - 1;
    for (m = run->move; m->kind != NBCOLLI_MOVES_END; m++) {
        const nbcoll_step_view *v = &s->step[m->step];
        for (uint32_t i = 0; i < v->after_count; i++)
            of[v->after[i]]->needs |= m->bit;
        run->finals |= v->kind == NBCOLL_FETCH && !v->after_count ? m->bit : 0;
    }
    nbcolli_moves_aim(run, NULL, NULL);
}

/* Nothing may lie nowhere. */
static inline unsigned char *nbcolli_move_at(const nbcolli_run *run, nbcoll_region r)
{
    return r.at.offset ? run->base[r.at.buffer] + r.at.offset : run->base[r.at.buffer];
}

void nbcolli_moves_aim(nbcolli_run *run, const void *send, void *recv)
{
    run->base[NBCOLL_BUFFER_SEND] = (unsigned char *)(uintptr_t)send; /* the builder refuses writes to it */
    run->base[NBCOLL_BUFFER_RECV] = recv;
    for (nbcolli_move *m = run->move; m->kind != NBCOLLI_MOVES_END; m++) {
        const nbcoll_step_view *v = &run->schedule->step[m->step];
        m->to = nbcolli_move_at(run, v->write);
        m->left = nbcolli_move_at(run, nbcolli_move_left(v));
        m->right = nbcolli_move_at(run, v->read[1]);
    }
}

int nbcolli_moves_can_replay(const nbcolli_run *run)
{
    int can = !run->is_worn && run->status == NBCOLL_OK && run->schedule->widest <= 1;

    for (const nbcolli_move *m = run->move; can && m->kind != NBCOLLI_MOVES_END; m++)
        can = m->kind != NBCOLL_RECV || m->op->post.link->lines.take;
    return can;
}
