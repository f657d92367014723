/* SPDX-License-Identifier: BSD-3-Clause
 * Matching. Messages of a rank are taken in the order of their numbers; each goes to the receive that was posted first
 * among those that fit, or is kept. A receive takes the first kept message that fits. test/model/matching.pml has the
 * rules. */
#include "routes.h"

#include "../select/select.h"

/* ---- an arrival and its receive ---------------------------------------------------------------------------------- */

/* Does it fit? Else the receive ends so; the message is taken, and nothing of it is written. */
static nbcoll_status nbcolli_arrival_suits(const nbcolli_request *r, const nbcolli_arrival *l)
{
    void *type = (void *)(uintptr_t)r->executed.room;

    if (l->bytes == NBCOLLI_FAILED_TO_PACK)
        return NBCOLL_ERR_CALL;
    if (l->bytes > r->executed.bytes)
        return NBCOLL_ERR_TRUNCATED;
    return type && l->bytes % nbcolli_pack_unit(nbcolli_pack_call, type, NULL) ? NBCOLL_ERR_COUNT : NBCOLL_OK;
}

nbcoll_message_info nbcolli_arrival_info(const nbcolli_arrival *l)
{
    return (nbcoll_message_info){l->source, l->tag, l->bytes == NBCOLLI_FAILED_TO_PACK ? 0 : l->bytes};
}

static inline void nbcolli_arrival_credit(nbcoll_messages *m, int source)
{
    if (nbcolli_message_owes(m, source))
        nbcolli_message_return(m, source);
}

void nbcolli_receive_short(nbcoll_messages *m, nbcolli_request *r, int source, int32_t tag, const void *payload,
                           size_t bytes)
{
    nbcoll_message_info *info = (nbcoll_message_info *)(uintptr_t)r->send; /* the program's */

    if (info)
        *info = (nbcoll_message_info){source, tag, bytes};
    nbcolli_small_copy(r->recv, payload, bytes);
    nbcolli_arrival_credit(m, source);
    nbcolli_message_end(m, r, NBCOLL_OK, source);
}

/* One of both has a place on a route. 0: it is as any other. */
static int nbcolli_route_meets(nbcoll_messages *m, nbcolli_request *r, const nbcolli_arrival *l, nbcoll_status suits)
{
    nbcolli_transfer *t = r->executed.work;

    if (!t && (l->kind != NBCOLLI_MSG_CARRIED || !(t = nbcolli_route_joins(m, r, l))))
        return 0;
    t->number = l->number;
    t->bytes = l->bytes == NBCOLLI_FAILED_TO_PACK ? 0 : l->bytes;
    t->held = l->kind == NBCOLLI_MSG_ANNOUNCED ? l->held : 0;
    if (l->kind != NBCOLLI_MSG_CARRIED || suits != NBCOLL_OK) { /* it has come another way */
        t->is_refused = 1;
        nbcolli_triple_end(m, t->triple);
    }
    if (l->kind != NBCOLLI_MSG_SHORT && suits == NBCOLL_OK) {
        memcpy(&t->theirs, l->payload, t->held);
        t->phase = NBCOLLI_TRANSFER_CARRIED;
        nbcolli_transfer_join(m, t, 1);
        nbcolli_transfer_go_on(m, t);
        return 1;
    }
    if (l->kind == NBCOLLI_MSG_SHORT && suits == NBCOLL_OK)
        memcpy(r->recv, l->payload, l->bytes);
    if (l->kind != NBCOLLI_MSG_SHORT)
        nbcolli_message_say(m, l->source, NBCOLLI_MSG_TAKEN, l->number, 0);
    t->phase = NBCOLLI_TRANSFER_CARRIED;
    nbcolli_transfer_over(m, t, suits);
    return 1;
}

static void nbcolli_arrival_meets(nbcoll_messages *m, nbcolli_request *r, const nbcolli_arrival *l)
{
    nbcoll_message_info *info = (nbcoll_message_info *)(uintptr_t)r->send; /* the program's */
    nbcoll_status suits = nbcolli_arrival_suits(r, l);

    if (l->kind == NBCOLLI_MSG_SHORT && suits == NBCOLL_OK && !r->executed.room && !r->executed.work) {
        nbcolli_receive_short(m, r, l->source, l->tag, l->payload, l->bytes);
        return;
    }
    if (info)
        *info = nbcolli_arrival_info(l);
    if (l->kind == NBCOLLI_MSG_SHORT)
        nbcolli_arrival_credit(m, l->source);
    if ((r->executed.work || l->kind == NBCOLLI_MSG_CARRIED) && nbcolli_route_meets(m, r, l, suits))
        return;
    if (l->kind == NBCOLLI_MSG_SHORT)
        ;
    else if (suits != NBCOLL_OK && l->self)
        nbcolli_message_end(m, l->self, NBCOLL_OK, l->source);
    else if (suits != NBCOLL_OK)
        nbcolli_message_say(m, l->source, NBCOLLI_MSG_TAKEN, l->number, 0);
    if (suits != NBCOLL_OK)
        nbcolli_message_end(m, r, suits, l->source);
    else if (l->self)
        nbcolli_transfer_own(m, r, l->self);
    else if (l->kind != NBCOLLI_MSG_SHORT)
        nbcolli_transfer_receive(m, r, l);
    else
        nbcolli_transfer_short(m, r, l);
}

/* ---- arrivals ---------------------------------------------------------------------------------------------------- */

uint64_t nbcolli_key_of_receive(const nbcolli_list_item *item)
{
    return nbcolli_receive_key(NBCOLLI_HOLDER(const nbcolli_request, queued, item));
}

/* The receive that was posted first among those that fit, or null. */
static nbcolli_request *nbcolli_receive_find(const nbcoll_messages *m, int source, int32_t tag)
{
    const nbcolli_triple *x = m->at[source].is_apart ? nbcolli_triple_find(m, source, (uint32_t)tag, 1) : NULL;
    nbcolli_request *first = nbcolli_receive_first(m, source, (uint32_t)tag);

    if (x && x->waiting.first)
        first = nbcolli_receive_before(NBCOLLI_HOLDER(nbcolli_request, queued, x->waiting.first), first);
    return m->wild ? nbcolli_receive_before(first, nbcolli_receive_wild(m, source, (uint32_t)tag)) : first;
}

void nbcolli_receive_leave(nbcoll_messages *m, nbcolli_request *r)
{
    const nbcolli_triple *x = r->executed.root != NBCOLL_ANY_SOURCE && m->at[r->executed.root].is_apart
                                  ? nbcolli_triple_find(m, r->executed.root, (uint32_t)r->tag & NBCOLL_TAG_MOST, 1)
                                  : NULL;
    if (x && r->queued.in == &x->waiting) {
        nbcolli_list_leave(&r->queued);
        return;
    }
    m->wild -= (size_t)nbcolli_is_wild(r->executed.root, (uint32_t)r->tag);
    nbcolli_table_leave(&m->posted, &r->queued);
}

/* There is no memory to keep it: it would be missed. */
static void nbcolli_arrival_starves(nbcoll_messages *m, const nbcolli_arrival *l)
{
    if (l->source != m->comm->rank)
        nbcolli_starve(m->comm->link);
}

/* As none by name; see NBCOLLI_KEY_PROBED. */
static uint64_t nbcolli_key_by_place(int is_early, int source, uint32_t number)
{
    return UINT64_C(2) << (60 + is_early) | nbcolli_key_by_name(source, number);
}

nbcolli_kept *nbcolli_kept_numbered(const nbcoll_messages *m, int is_early, int source, uint32_t number)
{
    nbcolli_keyed *found = nbcolli_table_find(&m->keyed, nbcolli_key_by_place(is_early, source, number));
    return NBCOLLI_HOLDER(nbcolli_kept, numbered, found);
}

static void nbcolli_kept_add(nbcoll_messages *m, nbcolli_keyed *item, uint64_t key)
{
    item->key = key;
    nbcolli_table_add(&m->context->host, &m->keyed, &item->item, key);
}

int nbcolli_arrival_deliver(nbcoll_messages *m, const nbcolli_arrival *come)
{
    nbcolli_arrival own;
    const nbcolli_arrival *l = come;
    if (m->at[l->source].is_apart || l->kind == NBCOLLI_MSG_CARRIED) {
        own = *l;
        nbcolli_route_arrives(m, &own);
        l = &own;
    }
    nbcolli_request *r = nbcolli_receive_find(m, l->source, l->tag);

    if (r) {
        nbcolli_receive_leave(m, r);
        nbcolli_arrival_meets(m, r, l);
        return 1;
    }
    nbcolli_kept *k = nbcolli_keep(m, l);
    if (!k) {
        nbcolli_arrival_starves(m, l);
        return 0;
    }
    nbcolli_list_add(&m->at[l->source].in_turn, &k->beside);
    nbcolli_list_add(&m->in_turn, &k->among);
    nbcolli_kept_add(m, &k->exact, nbcolli_key_by_name(l->source, (uint32_t)l->tag));
    nbcolli_kept_add(m, &k->tagged, nbcolli_key_by_name(NBCOLL_ANY_SOURCE, (uint32_t)l->tag));
    nbcolli_kept_add(m, &k->numbered, nbcolli_key_by_place(0, l->source, l->number));
    return 1;
}

/* Out of turn, one before it is missing. 0: there is one of that number. */
static int nbcolli_arrival_is_early(nbcoll_messages *m, const nbcolli_arrival *l)
{
    if (nbcolli_kept_numbered(m, 1, l->source, l->number))
        return 0;
    nbcolli_kept *k = nbcolli_keep(m, l);
    if (k) {
        nbcolli_list_add(&m->at[l->source].early, &k->beside);
        nbcolli_kept_add(m, &k->numbered, nbcolli_key_by_place(1, l->source, l->number));
    } else
        nbcolli_arrival_starves(m, l);
    return 1;
}

/* Each short one that is kept has a credit of its sender's, and so has each that is owed one; whatever else this rank
 * keeps is announced, and its sender waits for an answer. */
static int nbcolli_arrival_may_come(const nbcoll_messages *m, const nbcolli_arrival *l)
{
    const nbcolli_correspondent *p = &m->at[l->source];

    if ((uint32_t)(l->number - p->expected) >= NBCOLLI_AHEAD_MOST)
        return 0;
    return l->kind == NBCOLLI_MSG_SHORT ? p->kept[1] + p->owed < m->config.credits
                                        : p->kept[0] < NBCOLLI_ANNOUNCED_MOST;
}

int nbcolli_arrival_at_once(nbcoll_messages *m, int rank, uint32_t number, int32_t tag, const void *payload,
                            size_t bytes)
{
    nbcolli_correspondent *p = &m->at[rank];

    if (m->wild || number != p->expected || p->early.first || p->kept[1] + p->owed >= m->config.credits)
        return 0;
    nbcolli_request *r = nbcolli_receive_first(m, rank, (uint32_t)tag);
    if (!r || bytes > r->executed.bytes || r->executed.room)
        return 0;
    p->expected++;
    nbcolli_table_leave(&m->posted, &r->queued);
    nbcolli_receive_short(m, r, rank, tag, payload, bytes);
    return 1;
}

int nbcolli_arrival_in(nbcoll_messages *m, const nbcolli_arrival *l)
{
    nbcolli_correspondent *p = &m->at[l->source];
    nbcolli_kept *k;

    if (!nbcolli_arrival_may_come(m, l))
        return 0;
    if (l->number != p->expected)
        return nbcolli_arrival_is_early(m, l);
    p->expected++;
    nbcolli_arrival_deliver(m, l);
    while (p->early.first && (k = nbcolli_kept_numbered(m, 1, l->source, p->expected))) {
        p->expected++;
        nbcolli_arrival_deliver(m, &k->arrival);
        nbcolli_kept_free(m, k);
    }
    if (p->is_asked && (int32_t)(p->asked - p->expected) < 0) {
        p->is_asked = 0;
        nbcolli_message_say(m, l->source, NBCOLLI_MSG_AGAIN, p->asked, 0);
    }
    return 1;
}

/* ---- receives ---------------------------------------------------------------------------------------------------- */

nbcolli_kept *nbcolli_kept_find(const nbcoll_messages *m, int source, uint32_t tag)
{
    if (tag == NBCOLLI_TAG_ANY)
        return source == NBCOLL_ANY_SOURCE ? NBCOLLI_HOLDER(nbcolli_kept, among, m->in_turn.first)
                                           : (nbcolli_kept *)m->at[source].in_turn.first;
    nbcolli_keyed *found = nbcolli_table_find(&m->keyed, nbcolli_key_by_name(source, tag));
    return source == NBCOLL_ANY_SOURCE ? NBCOLLI_HOLDER(nbcolli_kept, tagged, found)
                                       : NBCOLLI_HOLDER(nbcolli_kept, exact, found);
}

#define NBCOLLI_KEY_PROBED (UINT64_C(2) << 62) /* the number of none comes near to it; and it is of no name */

void nbcolli_kept_probe(nbcoll_messages *m, nbcolli_kept *k)
{
    if (k->arrival.kind == NBCOLLI_MSG_CARRIED)
        nbcolli_routes_are_open_to(m, k->arrival.source, (uint32_t)k->arrival.tag);
    nbcolli_kept_leave(m, k);
    nbcolli_list_add(&m->probed, &k->among);
    nbcolli_kept_add(m, &k->exact, NBCOLLI_KEY_PROBED | ++m->probes);
}

nbcolli_kept *nbcolli_probed_find(const nbcoll_messages *m, uint64_t number)
{
    nbcolli_keyed *found = number > m->probes ? NULL : nbcolli_table_find(&m->keyed, NBCOLLI_KEY_PROBED | number);
    return NBCOLLI_HOLDER(nbcolli_kept, exact, found);
}

void nbcolli_kept_receive(nbcoll_messages *m, nbcolli_request *r, nbcolli_kept *k)
{
    nbcolli_kept_leave(m, k);
    nbcolli_arrival_meets(m, r, &k->arrival);
    nbcolli_kept_free(m, k);
}

int nbcolli_receive_is_deserted(const nbcoll_messages *m, int source)
{
    if (source != NBCOLL_ANY_SOURCE)
        return m->at[source].is_gone;
    for (int rank = 0; rank < m->comm->size; rank++)
        if (!m->at[rank].is_gone && (rank != m->comm->rank || m->comm->size == 1))
            return 0;
    return 1;
}

/* From any source, or from a rank with which something is. 1: it does not wait in the table. */
static int nbcolli_receive_apart(nbcoll_messages *m, nbcolli_request *r, int source)
{
    if (source == NBCOLL_ANY_SOURCE ? nbcolli_receive_is_deserted(m, source) : m->at[source].is_gone)
        nbcolli_message_end(m, r, NBCOLL_ERR_PEER_LOST, source);
    else if (nbcolli_is_wild(source, (uint32_t)r->tag)) {
        nbcolli_routes_are_open_to(m, source, (uint32_t)r->tag);
        return 0;
    } else
        return nbcolli_route_take(m, r);
    return 1;
}

void nbcolli_receive_post(nbcoll_messages *m, nbcolli_request *r)
{
    int source = r->executed.root;
    nbcolli_kept *k = m->in_turn.first ? nbcolli_kept_find(m, source, (uint32_t)r->tag) : NULL;

    if (k)
        nbcolli_kept_receive(m, r, k);
    else if ((source != NBCOLL_ANY_SOURCE && !m->at[source].is_apart) || !nbcolli_receive_apart(m, r, source)) {
        r->executed.number = m->posts++;
        m->wild += (size_t)nbcolli_is_wild(source, (uint32_t)r->tag);
        nbcolli_table_add(&m->context->host, &m->posted, &r->queued, nbcolli_key_by_name(source, (uint32_t)r->tag));
    }
}

/* ---- withdrawing ------------------------------------------------------------------------------------------------- */

void nbcolli_arrival_withdraw(nbcoll_messages *m, int source, uint32_t number)
{
    nbcolli_kept *k = nbcolli_arrival_is_later(m, source, number) ? NULL : nbcolli_kept_numbered(m, 0, source, number);

    if (!k)
        return;
    if (k->arrival.kind == NBCOLLI_MSG_CARRIED)
        nbcolli_routes_are_open_to(m, source, (uint32_t)k->arrival.tag);
    nbcolli_kept_free(m, k);
    nbcolli_message_say(m, source, NBCOLLI_MSG_WITHDRAWN, number, 0);
}

static void nbcolli_arrival_refuse(nbcoll_messages *m, const nbcolli_arrival *l)
{
    if ((l->kind == NBCOLLI_MSG_ANNOUNCED || l->kind == NBCOLLI_MSG_CARRIED) && !l->self)
        nbcolli_message_say(m, l->source, NBCOLLI_MSG_REFUSED, l->number, 0);
}

void nbcolli_kept_refuse(nbcoll_messages *m)
{
    for (nbcolli_list_item *item = m->in_turn.first; item; item = item->next)
        nbcolli_arrival_refuse(m, &NBCOLLI_HOLDER(nbcolli_kept, among, item)->arrival);
    for (nbcolli_list_item *item = m->probed.first; item; item = item->next)
        nbcolli_arrival_refuse(m, &NBCOLLI_HOLDER(nbcolli_kept, among, item)->arrival);
    for (int rank = 0; rank < m->comm->size; rank++)
        for (nbcolli_list_item *item = m->at[rank].early.first; item; item = item->next)
            nbcolli_arrival_refuse(m, &((nbcolli_kept *)item)->arrival);
}
