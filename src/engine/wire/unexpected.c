/* SPDX-License-Identifier: BSD-3-Clause */
#include "unexpected.h"

#include "control.h"
#include "../../host/host.h"

static nbcolli_unexpected *nbcolli_unexpected_new(nbcolli_link *link, size_t capacity)
{
    nbcolli_unexpected *s = nbcolli_alloc(&link->context->host, sizeof *s + capacity, 64);
    if (!s)
        return NULL;
    s->capacity = capacity;
    s->link = link;
    return s;
}

int nbcolli_unexpected_reserve(nbcolli_link *link, uint32_t n)
{
    for (uint32_t i = 0; i < 2 * n; i++) {
        nbcolli_unexpected *s = nbcolli_unexpected_new(link, i < n ? NBCOLLI_UNEXPECTED_SMALL : link->limits.payload);
        if (!s)
            return 0;
        link->context->stored++; /* till it is free */
        nbcolli_unexpected_pool(s);
    }
    return 1;
}

nbcolli_unexpected *nbcolli_unexpected_keep(nbcolli_incoming *in)
{
    nbcolli_link *link = in->link;
    int is_large = in->bytes > NBCOLLI_UNEXPECTED_SMALL;
    nbcolli_unexpected **pool = &link->context->unexpected_pools[is_large], *s = in->kept;
    size_t limit = is_large ? link->limits.payload : NBCOLLI_UNEXPECTED_SMALL;

    in->kept = NULL;
    if (s)
        return s;
    if (*pool && (*pool)->capacity >= in->bytes) {
        s = *pool;
        *pool = s->next;
    } else if (!(s = nbcolli_unexpected_new(link, in->bytes < limit ? limit : in->bytes)))
        return NULL;
    link->context->stored++;
    s->next = NULL;
    s->link = link;
    s->source = in->source;
    s->header = in->header;
    s->bytes = in->bytes;
    link->pair[in->source].kept += nbcolli_is_message(&in->header);
    if (in->bytes)
        memcpy(s->payload, in->payload, in->bytes);
    return s;
}

void nbcolli_refuse(nbcolli_link *link, int peer, const nbcolli_header *m, nbcoll_status why)
{
    nbcolli_credit_back(link, peer);
    if (m->type == NBCOLLI_RTS)
        nbcolli_answer(link, peer, m,
                       (nbcolli_header){.type = NBCOLLI_FIN, .status = (uint8_t)why, .number = m->number});
}

nbcolli_unexpected **nbcolli_unexpected_find(const nbcoll_comm *comm, uint64_t first, uint64_t last)
{
    nbcolli_unexpected **end = &comm->link->unexpected[NBCOLLI_UNEXPECTED_BUCKETS];

    for (nbcolli_unexpected **chain = first == last ? nbcolli_unexpected_at(comm, first) : comm->link->unexpected;
         chain < end; chain = first == last ? end : chain + 1)
        for (nbcolli_unexpected **at = chain; *at; at = &(*at)->next)
            if ((*at)->header.comm == comm->id && (*at)->header.tag >= first && (*at)->header.tag <= last)
                return at;
    return NULL;
}

int nbcolli_unexpected_drop(nbcoll_comm *comm, uint64_t first, uint64_t last, nbcoll_status why)
{
    int any = 0;

    for (nbcolli_unexpected **at; (at = nbcolli_unexpected_find(comm, first, last)); any = 1) {
        nbcolli_unexpected *s = *at;
        *at = s->next;
        nbcolli_refuse(s->link, s->source, &s->header, why);
        nbcolli_unexpected_free(s);
    }
    return any;
}
