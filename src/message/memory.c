/* SPDX-License-Identifier: BSD-3-Clause
 * Transfers and messages that are kept come from pools, which only grow. */
#include "message.h"

#include "../engine/state/caller.h"
#include "../host/host.h"

nbcolli_transfer *nbcolli_transfer_new(nbcoll_messages *m, nbcolli_request *r, int rank, size_t bytes, int packs)
{
    nbcolli_transfer *t = m->transfers;

    if (!t && !(t = nbcolli_alloc(&m->context->host, sizeof *t, 64)))
        return NULL;
    if (t == m->transfers)
        m->transfers = t->next;
    t->memory = packs && bytes > sizeof t->few ? nbcolli_alloc(&m->context->host, bytes, 64) : t->few;
    if (!t->memory) {
        t->next = m->transfers;
        m->transfers = t;
        return NULL;
    }
    t->post.item.in = NULL;
    t->post.op = NULL;
    t->post.where = NBCOLLI_FREE;
    t->post.work.status = NBCOLL_OK;
    t->phase = NBCOLLI_TRANSFER_PACKING; /* nothing is owed to its peer, whatever the last one here has got */
    t->among.in = t->beside.in = t->numbered.item.in = NULL;
    t->request = r;
    t->rank = rank;
    t->self = NULL;
    t->bytes = bytes;
    t->moved = 0;
    t->packs = packs != 0;
    t->triple = NULL;
    t->is_carried = t->is_refused = 0;
    t->is_over = t->is_begun = t->lends = t->registered = t->is_short = t->has_failed = 0;
    r->executed.work = t;
    return t;
}

static uint64_t nbcolli_key_by_number(int rank, int receives, uint32_t number)
{
    return (uint64_t)(uint32_t)rank << 33 | (uint64_t)receives << 32 | number;
}

void nbcolli_transfer_join(nbcoll_messages *m, nbcolli_transfer *t, int receives)
{
    nbcolli_correspondent *p = &m->at[t->rank];

    nbcolli_list_add(receives ? &p->receives : &p->sends, &t->beside);
    t->numbered.key = nbcolli_key_by_number(t->rank, receives, t->number);
    nbcolli_table_add(&m->context->host, &m->numbered, &t->numbered.item, t->numbered.key);
}

void nbcolli_transfer_leave(nbcoll_messages *m, nbcolli_transfer *t)
{
    nbcolli_list_leave(&t->beside);
    nbcolli_table_leave(&m->numbered, &t->numbered.item);
}

nbcolli_transfer *nbcolli_transfer_find(const nbcoll_messages *m, int rank, int receives, uint32_t number)
{
    nbcolli_keyed *found = nbcolli_table_find(&m->numbered, nbcolli_key_by_number(rank, receives, number));
    return NBCOLLI_HOLDER(nbcolli_transfer, numbered, found);
}

void nbcolli_transfer_free(nbcoll_messages *m, nbcolli_transfer *t)
{
    if (t->registered)
        t->post.link->transport.bulk->deregister_memory(t->post.link->endpoint, &t->mine.registration);
    if (t->packs && t->memory != t->few)
        nbcolli_free(&m->context->host, t->memory, t->bytes);
    nbcolli_list_leave(&t->among);
    nbcolli_transfer_leave(m, t);
    t->request->executed.work = NULL;
    t->next = m->transfers;
    m->transfers = t;
}

void nbcolli_transfer_move(nbcoll_messages *m, nbcolli_transfer *t)
{
    if (t->among.in)
        return;
    nbcolli_executor_watch(&m->head);
    nbcolli_list_add(&m->moving, &t->among);
}

static int nbcolli_kept_is_large(size_t bytes)
{
    return bytes > sizeof(nbcolli_remote);
}

nbcolli_kept *nbcolli_keep(nbcoll_messages *m, const nbcolli_arrival *l)
{
    int is_large = nbcolli_kept_is_large(l->held);
    size_t capacity = is_large ? m->config.eager : sizeof(nbcolli_remote);
    nbcolli_kept *k = m->kept[is_large];

    if (k)
        m->kept[is_large] = k->next;
    else if (!(k = nbcolli_alloc(&m->context->host, sizeof *k + capacity, 64)))
        return NULL;
    k->capacity = capacity;
    k->beside.in = k->among.in = k->exact.item.in = k->tagged.item.in = k->numbered.item.in = NULL;
    k->arrival = *l;
    k->arrival.payload = k->payload;
    m->at[l->source].kept[l->kind == NBCOLLI_MSG_SHORT]++;
    if (l->held)
        memcpy(k->payload, l->payload, l->held);
    return k;
}

void nbcolli_kept_leave(nbcoll_messages *m, nbcolli_kept *k)
{
    nbcolli_list_leave(&k->beside);
    nbcolli_list_leave(&k->among);
    nbcolli_table_leave(&m->keyed, &k->exact.item);
    nbcolli_table_leave(&m->keyed, &k->tagged.item);
    nbcolli_table_leave(&m->keyed, &k->numbered.item);
}

void nbcolli_kept_free(nbcoll_messages *m, nbcolli_kept *k)
{
    nbcolli_kept **pool = &m->kept[nbcolli_kept_is_large(k->capacity)];

    if (k->arrival.kind != NBCOLLI_MSG_WITHDRAWN)
        m->at[k->arrival.source].kept[k->arrival.kind == NBCOLLI_MSG_SHORT]--;
    nbcolli_kept_leave(m, k);
    k->next = *pool;
    *pool = k;
}

void nbcolli_messages_clear(nbcoll_messages *m)
{
    const nbcoll_host *host = &m->context->host;

    for (int rank = 0; rank < m->comm->size; rank++) {
        nbcolli_correspondent *p = &m->at[rank];
        while (p->in_turn.first)
            nbcolli_kept_free(m, (nbcolli_kept *)p->in_turn.first);
        while (p->early.first)
            nbcolli_kept_free(m, (nbcolli_kept *)p->early.first);
    }
    while (m->probed.first)
        nbcolli_kept_free(m, NBCOLLI_HOLDER(nbcolli_kept, among, m->probed.first));
    for (int i = 0; i < 2; i++)
        NBCOLLI_FREE_ALL(host, m->kept[i], sizeof *it + it->capacity)
    NBCOLLI_FREE_ALL(host, m->transfers, sizeof *it)
    nbcolli_table_free(host, &m->posted);
    nbcolli_table_free(host, &m->keyed);
    nbcolli_table_free(host, &m->numbered);
}
