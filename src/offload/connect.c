/* SPDX-License-Identifier: BSD-3-Clause
 * Whom a rank is connected to, and in what order messages stand in their queues. Both ends see the same order: that of
 * the levels at which both may have begun. */
#include "plan.h"

/* Is each rank that this one sends to one that it receives from, and the reverse? */
static int nbcolli_connect_is_mutual(const nbcoll_schedule *s)
{
    uint32_t i = 0, j = 0;
    while (i < s->sends && j < s->recvs) {
        int peer = s->send[i].peer;
        if (s->recv[j].peer != peer)
            return 0;
        while (i < s->sends && s->send[i].peer == peer)
            i++;
        while (j < s->recvs && s->recv[j].peer == peer)
            j++;
    }
    return i == s->sends && j == s->recvs;
}

int nbcolli_compile_is_pairwise(const nbcolli_compile *c)
{
    int rank = 0;
    while (rank < c->ranks && nbcolli_connect_is_mutual(c->schedules[rank]))
        rank++;
    return rank == c->ranks;
}

static void nbcolli_connect_queues(nbcolli_plan *p, int peer, uint32_t connection, nbcoll_direction direction)
{
    for (uint32_t kind = 0; kind < 3; kind++)
        p->queue[3 * connection + kind] = (nbcoll_queue_view){.kind = (nbcoll_queue_kind)kind,
                                                              .peer = peer,
                                                              .direction = direction,
                                                              .send_cq = NBCOLL_NO_QUEUE,
                                                              .receive_cq = NBCOLL_NO_QUEUE};
    p->queue[3 * connection + NBCOLL_QUEUE_EAGER].held = NBCOLL_HOLDS_SENDS;
}

/* Connections by peer, outward before inward. */
static nbcoll_status nbcolli_connect_peers(nbcolli_plan *p)
{
    const nbcoll_schedule *s = p->s;
    size_t ranks = (size_t)s->ranks;
    p->out = nbcolli_arena_take(&p->c->arena, 2 * ranks, sizeof *p->out);
    p->queue = nbcolli_arena_take(&p->c->arena, 6 * ranks + p->c->config.management, sizeof *p->queue);
    if (!p->out || !p->queue)
        return NBCOLL_ERR_MEMORY;
    p->in = p->out + ranks;
    for (uint32_t i = 0; i < s->sends; i++)
        p->out[s->send[i].peer] = 1;
    for (uint32_t i = 0; i < s->recvs; i++)
        p->in[s->recv[i].peer] = 1;
    for (int peer = 0; peer < s->ranks; peer++) {
        int is_out = p->out[peer] != 0, is_in = p->in[peer] != 0, is_one = p->c->is_pairwise && is_out;
        p->out[peer] = is_out ? p->connections : NBCOLL_NO_QUEUE;
        if (is_out)
            nbcolli_connect_queues(p, peer, p->connections++, is_one ? NBCOLL_BOTH_WAYS : NBCOLL_OUTWARD);
        p->in[peer] = is_one ? p->out[peer] : is_in ? p->connections : NBCOLL_NO_QUEUE;
        if (is_in && !is_one)
            nbcolli_connect_queues(p, peer, p->connections++, NBCOLL_INWARD);
    }
    return NBCOLL_OK;
}

/* What begins later than at once makes its queue hold: of bulk queues, receives with what clears them too. */
static void nbcolli_connect_hold(nbcolli_plan *p, const nbcolli_plan_message *m, int is_recv)
{
    if (!nbcolli_plan_is_bulk(m) || m->begin <= 1)
        return;
    p->queue[m->queue].held |= is_recv ? NBCOLL_HOLDS_RECEIVES : NBCOLL_HOLDS_SENDS;
    if (is_recv)
        p->queue[nbcolli_plan_pair(m->queue, NBCOLL_QUEUE_CLEAR)].held |= NBCOLL_HOLDS_SENDS;
}

static nbcolli_entry nbcolli_connect_entry(const nbcolli_plan *p, const nbcolli_message *m, int is_recv)
{
    const nbcoll_step_view *v = nbcolli_plan_view(p, m->step);
    nbcoll_queue_kind kind = nbcolli_compile_is_bulk(p->c, v) ? NBCOLL_QUEUE_BULK : NBCOLL_QUEUE_EAGER;
    uint32_t queue = 3 * (is_recv ? p->in : p->out)[m->peer] + (uint32_t)kind;
    return (nbcolli_entry){nbcolli_key(2 * queue + (uint32_t)is_recv, nbcolli_plan_met(p, m->step)), m->step};
}

nbcoll_status nbcolli_plan_connect(nbcolli_plan *p)
{
    const nbcoll_schedule *s = p->s;
    size_t n = (size_t)s->sends + s->recvs;
    nbcoll_status status = nbcolli_connect_peers(p);
    nbcolli_entry *entry = nbcolli_arena_take(&p->c->arena, 2 * n, sizeof *entry);
    p->message = nbcolli_arena_take(&p->c->arena, n, sizeof *p->message);
    if (status != NBCOLL_OK || !entry || !p->message)
        return NBCOLL_ERR_MEMORY;
    for (uint32_t i = 0; i < s->sends; i++) /* by number: the sort keeps the order of equals */
        entry[i] = nbcolli_connect_entry(p, &s->send[i], 0);
    for (uint32_t i = 0; i < s->recvs; i++)
        entry[s->sends + i] = nbcolli_connect_entry(p, &s->recv[i], 1);
    nbcolli_sort(entry, entry + n, n);
    for (size_t i = 0; i < n; i++) {
        uint32_t end = (uint32_t)(entry[i].key >> 32), go = nbcolli_plan_go(p, entry[i].value);
        int follows = i && (uint32_t)(entry[i - 1].key >> 32) == end && p->message[i - 1].begin > go;
        p->message[i] = (nbcolli_plan_message){entry[i].value, end / 2, follows ? p->message[i - 1].begin : go, 0};
        nbcolli_connect_hold(p, &p->message[i], end % 2);
    }
    return NBCOLL_OK;
}
