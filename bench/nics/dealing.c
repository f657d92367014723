/* SPDX-License-Identifier: BSD-3-Clause
 * Which of a NIC's ports a connection has: a queue pair belongs to one port, and the thesis deals ports in a round
 * robin. A rank of Bruck's has a connection to each rank that it sends to, and another one to each that it receives
 * from. */
#include <string.h>

#include "nics.h"

enum { NONE = -1, WAYS = NBCOLL_INWARD + 1 };

static int dealt[MOST][MOST][WAYS]; /* ports, of a rank, its peer and their direction */

static int turn(const play *p, const dealing *d, int connections)
{
    return d->is_of_round ? connections % (int)p->ports : connections;
}

static void deal_rank(const play *p, const dealing *d, int rank)
{
    int next[WAYS] = {0}, first = d->begins_by_rank ? rank : 0;
    play copy = *p;
    nbcoll_schedule *s;
    const nbcoll_step_view *v;
    expect(build(&copy, 0, rank, &s), p->algorithm->name);
    memset(dealt[rank], NONE, sizeof dealt[rank]);
    for (nbcoll_step i = 0; (v = nbcoll_schedule_step(s, i)); i++) {
        if (v->kind != NBCOLL_SEND && v->kind != NBCOLL_RECV)
            continue;
        int *of = dealt[rank][v->peer], way = v->kind == NBCOLL_SEND ? NBCOLL_OUTWARD : NBCOLL_INWARD;
        if (of[NBCOLL_BOTH_WAYS] == NONE)
            of[NBCOLL_BOTH_WAYS] = first + turn(p, d, next[NBCOLL_BOTH_WAYS]++);
        if (of[way] == NONE)
            of[way] = first + turn(p, d, next[d->is_apart ? way : NBCOLL_OUTWARD]++);
    }
    nbcoll_schedule_free(s);
}

static uint32_t port_of(void *user, int rank, const nbcoll_queue_view *queue)
{
    (void)user;
    return (uint32_t)dealt[rank][queue->peer][queue->direction];
}

nbcoll_nic_port *deal(const play *p)
{
    static const dealing by_turns;
    const dealing *d = p->deals ? p->deals : &by_turns;
    for (int rank = 0; rank < p->ranks && !d->by_message; rank++)
        deal_rank(p, d, rank);
    return d->by_message ? NULL : port_of;
}
