/* SPDX-License-Identifier: BSD-3-Clause
 * Matching. Messages of a rank are taken in the order of their numbers; each goes to the receive that was posted first
 * among those that fit, or is kept. A receive takes the first kept message that fits. test/model/matching.pml has the
 * rules. */
#include "message.h"

#include "../engine/wire/giveup.h"
#include "../select/select.h"

static int nbcolli_tag_fits(uint32_t wanted, int32_t tag)
{
    return wanted == NBCOLLI_TAG_ANY || wanted == (uint32_t)tag;
}

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

static void nbcolli_arrival_meets(nbcoll_messages *m, nbcolli_request *r, const nbcolli_arrival *l)
{
    nbcoll_message_info *info = (nbcoll_message_info *)(uintptr_t)r->send; /* the program's */
    nbcoll_status suits = nbcolli_arrival_suits(r, l);

    if (info)
        *info = nbcolli_arrival_info(l);
    if (l->kind == NBCOLLI_MSG_SHORT)
        nbcolli_message_credit(m, l->source);
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
    else if (r->executed.room)
        nbcolli_transfer_short(m, r, l);
    else {
        if (l->bytes)
            memcpy(r->recv, l->payload, l->bytes);
        nbcolli_message_end(m, r, NBCOLL_OK, l->source);
    }
}

/* ---- arrivals ---------------------------------------------------------------------------------------------------- */

/* The first receive of a list that fits, or null. */
static nbcolli_request *nbcolli_receive_find(const nbcolli_list *list, int32_t tag)
{
    for (nbcolli_list_item *item = list->first; item; item = item->next) {
        nbcolli_request *r = NBCOLLI_HOLDER(nbcolli_request, queued, item);
        if (nbcolli_tag_fits((uint32_t)r->tag, tag))
            return r;
    }
    return NULL;
}

/* There is no memory to keep it: what its sender says cannot be heard any more. */
static void nbcolli_arrival_starves(nbcoll_messages *m, const nbcolli_arrival *l)
{
    const nbcolli_peer *peer = nbcolli_message_peer(m, l->source);

    if (l->source != m->comm->rank)
        nbcolli_give_up(peer->link, peer->address);
}

int nbcolli_arrival_deliver(nbcoll_messages *m, const nbcolli_arrival *l)
{
    nbcolli_request *r = nbcolli_receive_find(&m->at[l->source].posted, l->tag);
    nbcolli_request *any = m->posted.first ? nbcolli_receive_find(&m->posted, l->tag) : NULL;

    if (!r || (any && any->executed.number < r->executed.number))
        r = any;
    if (r) {
        nbcolli_list_leave(&r->queued);
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
    return 1;
}

/* Out of turn, one before it is missing. 0: there is one of that number. */
static int nbcolli_arrival_is_early(nbcoll_messages *m, const nbcolli_arrival *l)
{
    nbcolli_list *early = &m->at[l->source].early;
    nbcolli_list_item **at = &early->first;

    while (*at && (int32_t)(((nbcolli_kept *)*at)->arrival.number - l->number) < 0)
        at = &(*at)->next;
    if (*at && ((nbcolli_kept *)*at)->arrival.number == l->number)
        return 0;
    nbcolli_kept *k = nbcolli_keep(m, l);
    if (k)
        nbcolli_list_put(early, at, &k->beside);
    else
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
    while ((k = (nbcolli_kept *)p->early.first) && k->arrival.number == p->expected) {
        p->expected++;
        if (k->arrival.kind != NBCOLLI_MSG_WITHDRAWN)
            nbcolli_arrival_deliver(m, &k->arrival);
        nbcolli_kept_free(m, k);
    }
    return 1;
}

/* ---- receives ---------------------------------------------------------------------------------------------------- */

nbcolli_kept *nbcolli_kept_find(const nbcoll_messages *m, int source, uint32_t tag)
{
    if (source != NBCOLL_ANY_SOURCE) {
        for (nbcolli_list_item *item = m->at[source].in_turn.first; item; item = item->next)
            if (nbcolli_tag_fits(tag, ((nbcolli_kept *)item)->arrival.tag))
                return (nbcolli_kept *)item;
        return NULL;
    }
    for (nbcolli_list_item *item = m->in_turn.first; item; item = item->next) {
        nbcolli_kept *k = NBCOLLI_HOLDER(nbcolli_kept, among, item);
        if (nbcolli_tag_fits(tag, k->arrival.tag))
            return k;
    }
    return NULL;
}

void nbcolli_kept_probe(nbcoll_messages *m, nbcolli_kept *k)
{
    nbcolli_list_leave(&k->beside);
    nbcolli_list_leave(&k->among);
    nbcolli_list_add(&m->probed, &k->among);
    k->number = ++m->probes;
}

nbcolli_kept *nbcolli_probed_find(const nbcoll_messages *m, uint64_t number)
{
    for (nbcolli_list_item *item = m->probed.first; item; item = item->next)
        if (NBCOLLI_HOLDER(nbcolli_kept, among, item)->number == number)
            return NBCOLLI_HOLDER(nbcolli_kept, among, item);
    return NULL;
}

void nbcolli_kept_receive(nbcoll_messages *m, nbcolli_request *r, nbcolli_kept *k)
{
    nbcolli_list_leave(&k->beside);
    nbcolli_list_leave(&k->among);
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

void nbcolli_receive_post(nbcoll_messages *m, nbcolli_request *r)
{
    int source = r->executed.root;
    nbcolli_kept *k = m->in_turn.first ? nbcolli_kept_find(m, source, (uint32_t)r->tag) : NULL;

    if (k)
        nbcolli_kept_receive(m, r, k);
    else if (nbcolli_receive_is_deserted(m, source))
        nbcolli_message_end(m, r, NBCOLL_ERR_PEER_LOST, source);
    else {
        r->executed.number = m->posts++;
        nbcolli_list_add(source == NBCOLL_ANY_SOURCE ? &m->posted : &m->at[source].posted, &r->queued);
    }
}

/* ---- withdrawing ------------------------------------------------------------------------------------------------- */

void nbcolli_arrival_withdraw(nbcoll_messages *m, int source, uint32_t number)
{
    nbcolli_correspondent *p = &m->at[source];
    int is_later = (int32_t)(number - p->expected) >= 0;
    nbcolli_list_item *item = is_later ? p->early.first : p->in_turn.first;

    while (item && ((nbcolli_kept *)item)->arrival.number != number)
        item = item->next;
    if (item && is_later) { /* its place stays */
        p->kept[0] -= ((nbcolli_kept *)item)->arrival.kind == NBCOLLI_MSG_ANNOUNCED;
        p->kept[1] -= ((nbcolli_kept *)item)->arrival.kind == NBCOLLI_MSG_SHORT;
        ((nbcolli_kept *)item)->arrival.kind = NBCOLLI_MSG_WITHDRAWN;
    } else if (item)
        nbcolli_kept_free(m, (nbcolli_kept *)item);
    if (item || is_later)
        nbcolli_message_say(m, source, item ? NBCOLLI_MSG_WITHDRAWN : NBCOLLI_MSG_TOO_EARLY, number, 0);
}

static void nbcolli_arrival_refuse(nbcoll_messages *m, const nbcolli_arrival *l)
{
    if (l->kind == NBCOLLI_MSG_ANNOUNCED && !l->self)
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
