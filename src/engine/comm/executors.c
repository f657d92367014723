/* SPDX-License-Identifier: BSD-3-Clause */
#include "executors.h"

void nbcolli_executor_join(nbcolli_executor *e)
{
    e->next = e->comm->executors;
    e->comm->executors = e;
}

void nbcolli_executor_leave(nbcolli_executor *e)
{
    nbcolli_executor **at = &e->comm->executors;
    while (*at != e)
        at = &(*at)->next;
    *at = e->next;
}

void nbcolli_executors_free(nbcoll_comm *comm)
{
    for (nbcolli_executor *e = comm->executors, *next; e; e = next) {
        next = e->next;
        if (!comm->making) { /* one at a time has an agent: all ranks have freed the one before */
            comm->link->executed_comm = comm->id;
            comm->link->executed_called = e->called;
        }
        nbcolli_list_leave(&e->looked);
        e->does->free(e);
    }
    comm->executors = NULL;
}

nbcoll_status nbcolli_executors_plan(const nbcoll_comm *comm, const nbcoll_args *args, nbcoll_schedule **out)
{
    nbcoll_status s = NBCOLL_ERR_UNSUPPORTED;
    for (nbcolli_executor *e = comm->executors; e && s == NBCOLL_ERR_UNSUPPORTED; e = e->next)
        if (e->does->plan)
            s = e->does->plan(e, args, out);
    return s;
}

void nbcolli_executors_go(nbcoll_comm *comm)
{
    for (nbcolli_executor *e = comm->executors, *next; e; e = next) {
        next = e->next;
        if (e->does->go)
            e->does->go(e);
    }
}

int nbcolli_executors_drain(nbcoll_context *c)
{
    int moved = 0;
    c->driven.looked = 1; /* executors never wake a sleeping driver: it must look */
    for (nbcolli_list_item *at = c->executors.first; at; at = at->next) {
        nbcolli_executor *e = NBCOLLI_HOLDER(nbcolli_executor, looked, at);
        moved |= e->does->drain && e->does->drain(e);
    }
    return moved;
}

int nbcolli_executors_look(nbcoll_context *c, int poller)
{
    int moves = 0;
    c->is_unheard = 0;
    if (poller < 0)
        c->driven.looked = 1; /* as above */
    for (nbcolli_list_item *at = c->executors.first; at; at = at->next) {
        nbcolli_executor *e = NBCOLLI_HOLDER(nbcolli_executor, looked, at);
        nbcolli_sight sight = e->does->look(e, poller);
        c->is_unheard |= sight == NBCOLLI_SIGHT_UNHEARD;
        moves |= sight >= NBCOLLI_SIGHT_ELSEWHERE;
    }
    return moves;
}
