/* SPDX-License-Identifier: BSD-3-Clause
 * Messages leave: as lines, or as EXECUTED ones with a payload or without. */
#include "message.h"

#include "../host/host.h"

nbcolli_header nbcolli_message_header(nbcoll_messages *m, int rank, nbcolli_message_kind kind, uint32_t number)
{
    nbcolli_correspondent *p = &m->at[rank];
    nbcolli_header h = nbcolli_header_to(m->comm, rank, NBCOLLI_EXECUTED, (uint64_t)m->head.channel << 32);

    h.status = (uint8_t)kind;
    h.number = number;
    h.count = p->channel;
    h.stamp = p->owed;
    p->owed = 0;
    return h;
}

void nbcolli_message_say(nbcoll_messages *m, int rank, nbcolli_message_kind kind, uint32_t number, uint64_t bytes)
{
    nbcolli_header h = nbcolli_message_header(m, rank, kind, number);

    h.bytes = bytes;
    if (kind == NBCOLLI_MSG_REFUSED) /* as the engine says it: of that the channel is its receiver's */
        h.tag = (uint64_t)h.count << 32;
    nbcolli_control(m->comm->peer[rank].link, m->comm->peer[rank].address, &h);
}

void nbcolli_message_post(nbcolli_transfer *t, const nbcolli_peer *peer, const nbcolli_header *h, const void *payload,
                          size_t bytes)
{
    t->post.wire = nbcolli_pack(h);
    t->post.link = peer->link;
    t->post.peer = peer->address;
    t->post.payload = payload ? payload : t; /* so that it is no post of the pool */
    t->post.bytes = bytes;
    nbcolli_post_send(&t->post);
    nbcolli_control_is(&t->post);
}

NBCOLLI_ALWAYS_INLINE int nbcolli_message_put_line(nbcoll_messages *m, int rank, uint64_t what, const void *payload,
                                                   size_t bytes)
{
    nbcolli_correspondent *p = &m->at[rank];
    const nbcolli_peer *peer = nbcolli_message_peer(m, rank);
    nbcolli_link *link = peer->link;

    if (!p->has_lines || link->lines.post(link->endpoint, peer->address, p->channel, (uint64_t)p->owed << 48 | what,
                                          payload, bytes) != NBCOLL_POST_DONE)
        return 0;
    p->owed = 0;
    return 1;
}

int nbcolli_message_send_line(nbcoll_messages *m, int rank, int32_t tag, const void *payload, size_t bytes)
{
    nbcolli_correspondent *p = &m->at[rank];

    if (!nbcolli_message_put_line(m, rank, (uint64_t)(p->next & 0xffff) << 32 | (uint32_t)tag, payload, bytes))
        return 0;
    p->next++;
    p->credits--;
    return 1;
}

void nbcolli_message_return(nbcoll_messages *m, int rank)
{
    nbcolli_correspondent *p = &m->at[rank];

    if (rank == m->comm->rank) {
        p->credits += (int32_t)p->owed;
        p->owed = 0;
    } else if (!nbcolli_message_put_line(m, rank, NBCOLLI_LINE_IS_CREDIT, NULL, 0))
        nbcolli_message_say(m, rank, NBCOLLI_MSG_CREDIT, 0, 0);
}
