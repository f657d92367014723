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

/* Connects to `peer` one way; both ways, if each pair of ranks that talks does so. */
static uint32_t nbcolli_connect_peer(nbcolli_plan *p, int peer, nbcoll_direction direction)
{
    nbcolli_connect_queues(p, peer, p->connections, p->c->is_pairwise ? NBCOLL_BOTH_WAYS : direction);
    return p->connections++;
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

/* `connection`: the message's. */
static nbcolli_entry nbcolli_connect_entry(const nbcolli_plan *p, const nbcolli_message *m, uint32_t connection,
                                           int is_recv)
{
    const nbcoll_step_view *v = nbcolli_plan_view(p, m->step);
    nbcoll_queue_kind kind = nbcolli_compile_is_bulk(p->c, v) ? NBCOLL_QUEUE_BULK : NBCOLL_QUEUE_EAGER;
    uint32_t queue = 3 * connection + (uint32_t)kind;
    return (nbcolli_entry){nbcolli_key(2 * queue + (uint32_t)is_recv, nbcolli_plan_met(p, m->step)), m->step};
}

/* Connections by peer, outward before inward, and the entries of all messages by their numbers: messages stand by peer
 * in a schedule. */
static void nbcolli_connect_messages(nbcolli_plan *p, nbcolli_entry *entry)
{
    const nbcoll_schedule *s = p->s;
    uint32_t i = 0, j = 0;
    while (i < s->sends || j < s->recvs) {
        int is_out = j == s->recvs || (i < s->sends && s->send[i].peer <= s->recv[j].peer);
        int peer = is_out ? s->send[i].peer : s->recv[j].peer;
        int is_in = j < s->recvs && s->recv[j].peer == peer;
        uint32_t out = is_out ? nbcolli_connect_peer(p, peer, NBCOLL_OUTWARD) : 0;
        uint32_t in = is_in && !p->c->is_pairwise ? nbcolli_connect_peer(p, peer, NBCOLL_INWARD) : out;
        for (; i < s->sends && s->send[i].peer == peer; i++)
            entry[i] = nbcolli_connect_entry(p, &s->send[i], out, 0);
        for (; j < s->recvs && s->recv[j].peer == peer; j++)
            entry[s->sends + j] = nbcolli_connect_entry(p, &s->recv[j], in, 1);
    }
}

nbcoll_status nbcolli_plan_connect(nbcolli_plan *p)
{
    const nbcoll_schedule *s = p->s;
    size_t n = (size_t)s->sends + s->recvs, most = 2 * (size_t)s->ranks;
    nbcolli_entry *entry = nbcolli_arena_take(&p->c->arena, 2 * n, sizeof *entry);
    p->message = nbcolli_arena_take(&p->c->arena, n, sizeof *p->message);
    p->queue = nbcolli_arena_take(&p->c->arena, 3 * (n < most ? n : most) + p->c->config.management, sizeof *p->queue);
    if (!entry || !p->message || !p->queue)
        return NBCOLL_ERR_MEMORY;
    nbcolli_connect_messages(p, entry); /* the sort keeps the order of equals */
    nbcolli_sort(entry, entry + n, n);
    for (size_t i = 0; i < n; i++) {
        uint32_t end = (uint32_t)(entry[i].key >> 32), go = nbcolli_plan_go(p, entry[i].value);
        int follows = i && (uint32_t)(entry[i - 1].key >> 32) == end && p->message[i - 1].begin > go;
        p->message[i] = (nbcolli_plan_message){entry[i].value, end / 2, follows ? p->message[i - 1].begin : go, 0};
        nbcolli_connect_hold(p, &p->message[i], end % 2);
    }
    return NBCOLL_OK;
}
