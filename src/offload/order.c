/* SPDX-License-Identifier: BSD-3-Clause
 * The order of a rank's tasks: by levels; within one, what is enabled stands before what is waited for. */
#include "plan.h"

static void nbcolli_order_add(nbcolli_plan *p, nbcolli_plan_moment moment, nbcoll_step step, uint32_t message,
                              uint32_t level)
{
    uint32_t tie = message == NBCOLL_NO_QUEUE ? step : message;
    p->event[p->events] = (nbcolli_plan_event){moment, step, message, level};
    p->order[p->events] = (nbcolli_entry){nbcolli_key(4 * level + (uint32_t)moment, tie), (uint32_t)p->events};
    p->events++;
}

nbcoll_status nbcolli_plan_order(nbcolli_plan *p)
{
    size_t most = 2 * (size_t)p->s->steps; /* a message has two at most, all else one */
    p->event = nbcolli_arena_take(&p->c->arena, most, sizeof *p->event);
    p->order = nbcolli_arena_take(&p->c->arena, 2 * most, sizeof *p->order);
    if (!p->event || !p->order)
        return NBCOLL_ERR_MEMORY;
    for (uint32_t i = 0; i < p->s->sends + p->s->recvs; i++) {
        const nbcolli_plan_message *m = &p->message[i];
        int is_recv = nbcolli_plan_view(p, m->step)->kind == NBCOLL_RECV;
        if (!is_recv || nbcolli_plan_is_bulk(m))
            nbcolli_order_add(p, NBCOLLI_PLAN_GO, m->step, i, m->begin);
        if (is_recv)
            nbcolli_order_add(p, NBCOLLI_PLAN_END, m->step, i, nbcolli_plan_met(p, m->step));
        if (is_recv && !nbcolli_plan_is_bulk(m))
            nbcolli_order_add(p, NBCOLLI_PLAN_TAKE, m->step, i, nbcolli_plan_done(p, m->step));
        if (!is_recv && p->is_awaited[m->step])
            nbcolli_order_add(p, NBCOLLI_PLAN_END, m->step, i, nbcolli_plan_done(p, m->step));
    }
    for (nbcoll_step step = NBCOLL_END + 1; step < p->s->steps; step++) {
        const nbcoll_step_view *v = nbcolli_plan_view(p, step);
        if (!nbcolli_compile_is_message(v) && !nbcolli_compile_is_join(v))
            nbcolli_order_add(p, NBCOLLI_PLAN_CALC, step, NBCOLL_NO_QUEUE, nbcolli_plan_go(p, step));
    }
    nbcolli_sort(p->order, p->order + p->events, p->events);
    return NBCOLL_OK;
}
