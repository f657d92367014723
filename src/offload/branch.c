/* SPDX-License-Identifier: BSD-3-Clause
 * Branches: steps that nothing joins, neither edges nor a queue pair, may be in management queues of their own. */
#include "plan.h"

static uint32_t nbcolli_branch_root(const nbcolli_plan *p, uint32_t i)
{
    while (p->branch[i] != i)
        i = p->branch[i] = p->branch[p->branch[i]];
    return i;
}

static void nbcolli_branch_join(nbcolli_plan *p, uint32_t a, uint32_t b)
{
    p->branch[nbcolli_branch_root(p, a)] = nbcolli_branch_root(p, b);
}

/* Is there a task after `step` that must wait for its end? */
static int nbcolli_branch_holds(const nbcolli_plan *p, nbcoll_step step)
{
    const nbcoll_step_view *v = nbcolli_plan_view(p, step);
    for (uint32_t i = 0; i < v->after_count; i++) {
        const nbcoll_step_view *after = nbcolli_plan_view(p, v->after[i]);
        int begins =
            !nbcolli_compile_is_join(after) && (after->kind != NBCOLL_RECV || nbcolli_compile_is_bulk(p->c, after));
        if (begins || p->is_awaited[v->after[i]])
            return 1;
    }
    return 0;
}

nbcoll_status nbcolli_plan_branches(nbcolli_plan *p)
{
    uint32_t steps = p->s->steps, all = steps + 3 * p->connections;
    const nbcoll_step *order = p->c->order + p->c->first[p->rank];
    p->branch = nbcolli_arena_take(&p->c->arena, all, sizeof *p->branch);
    p->management = nbcolli_arena_take(&p->c->arena, all, sizeof *p->management);
    p->is_awaited = nbcolli_arena_take(&p->c->arena, steps, sizeof *p->is_awaited);
    if (!p->branch || !p->management || !p->is_awaited)
        return NBCOLL_ERR_MEMORY;
    for (uint32_t i = 0; i < all; i++)
        p->branch[i] = i;
    for (uint32_t i = steps; i-- > 0;)
        p->is_awaited[order[i]] = (uint8_t)nbcolli_branch_holds(p, order[i]);
    for (nbcoll_step step = NBCOLL_END + 1; step < steps; step++)
        for (uint32_t i = 0; i < p->s->step[step].after_count; i++)
            nbcolli_branch_join(p, step, p->s->step[step].after[i]);
    for (uint32_t i = 0; i < p->s->sends + p->s->recvs; i++) {
        const nbcolli_plan_message *m = &p->message[i];
        nbcolli_branch_join(p, m->step, steps + m->queue);
        if (nbcolli_plan_is_bulk(m))
            nbcolli_branch_join(p, m->step, steps + nbcolli_plan_pair(m->queue, NBCOLL_QUEUE_CLEAR));
    }
    return NBCOLL_OK;
}

uint32_t nbcolli_plan_management(nbcolli_plan *p, nbcoll_step step)
{
    uint32_t *management = &p->management[nbcolli_branch_root(p, step)];
    if (!*management)
        *management = 1 + p->managements++ % p->c->config.management;
    return 3 * p->connections + *management - 1;
}
