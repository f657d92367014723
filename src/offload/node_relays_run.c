/* SPDX-License-Identifier: BSD-3-Clause
 * Relays of a node: the agent moves them. */
#include "node_relays_run.h"

/* ---- waking ------------------------------------------------------------------------------------------------------ */

static void nbcolli_node_relays_wake(const nbcolli_node_relays *s, uint32_t reader)
{
    if (s->wake)
        s->wake(s->user, &s->store, reader);
}

static void nbcolli_node_relays_wake_all(const nbcolli_node_relays *s)
{
    for (uint32_t reader = 0; reader < s->store.shape.readers; reader++)
        nbcolli_node_relays_wake(s, reader);
}

/* ---- out --------------------------------------------------------------------------------------------------------- */

static void nbcolli_node_relays_queue(const nbcolli_node_relays_instance *r, uint32_t buffer)
{
    for (uint32_t i = 0; i < r->outs; i++) {
        nbcolli_node_relays_out *o = &r->out[i];
        o->queue[o->queued++ % o->room] = buffer;
    }
}

static nbcoll_status nbcolli_node_relays_send(nbcolli_node_relays *s, nbcolli_node_relays_out *o)
{
    const nbcoll_posting p = {.kind = NBCOLL_POSTING_SEND,
                              .signal = 1,
                              .memory = nbcolli_node_store_message(&s->store, o->queue[o->posted % o->room]),
                              .bytes = s->store.shape.bytes,
                              .local = s->is_registered ? &s->registered : NULL};
    o->posted++;
    o->credits--;
    return s->agent->call.post(s->agent->ep, o->pair, &p);
}

/* Takes what has ended there and the credits that have come back, and sends what they allow. */
static nbcoll_status nbcolli_node_relays_move_out(nbcolli_node_relays *s, nbcolli_node_relays_out *o, int *moved)
{
    const nbcoll_offload *call = &s->agent->call;
    nbcoll_endpoint *ep = s->agent->ep;
    nbcoll_status status = NBCOLL_OK;
    while (o->done < o->posted && (status = call->wait(ep, o->sent, 1)) == NBCOLL_OK) {
        uint32_t buffer = o->queue[o->done++ % o->room];
        s->buffer[buffer].held--;
        if (nbcolli_node_store_release(&s->store, buffer) && buffer >= s->store.shape.received)
            nbcolli_node_relays_wake(s, nbcolli_node_store_owner(&s->store, buffer)); /* it has room */
        *moved = 1;
    }
    while ((status == NBCOLL_OK || status == NBCOLL_PENDING) &&
           (status = call->wait(ep, o->returned, 1)) == NBCOLL_OK) {
        o->credits++;
        *moved = 1;
        status = nbcolli_node_relays_post_credit(s, o->pair, NBCOLL_POSTING_RECEIVE);
    }
    status = status == NBCOLL_PENDING ? NBCOLL_OK : status;
    for (; status == NBCOLL_OK && o->credits && o->posted < o->queued; *moved = 1)
        status = nbcolli_node_relays_send(s, o);
    return status;
}

/* ---- in ---------------------------------------------------------------------------------------------------------- */

static nbcoll_status nbcolli_node_relays_note(nbcolli_node_relays *s, const nbcolli_node_relays_instance *r,
                                              const nbcoll_shared_arrival *arrival)
{
    uint32_t buffer = nbcolli_node_store_number(&s->store, arrival->memory), i = 0;
    while (i < r->ins && r->in[i].pair != arrival->pair)
        i++;
    if (i == r->ins)
        return NBCOLL_ERR_TRANSPORT;
    s->buffer[buffer] = (nbcolli_node_relays_buffer){(uint32_t)(&r->in[i] - s->in), r->outs + 1};
    nbcolli_node_relays_queue(r, buffer);
    nbcolli_node_store_show(&s->store, buffer, s->store.shape.readers + r->outs);
    return NBCOLL_PENDING; /* for more */
}

static nbcoll_status nbcolli_node_relays_take(nbcolli_node_relays *s, int *moved)
{
    nbcoll_status status = NBCOLL_PENDING;
    nbcoll_shared_arrival arrival;
    for (uint32_t i = 0; i < s->relays && status == NBCOLL_PENDING; i++) {
        const nbcolli_node_relays_instance *r = &s->relay[i];
        while (r->ins && status == NBCOLL_PENDING &&
               (status = s->agent->call.take(s->agent->ep, r->arrived, &arrival)) == NBCOLL_OK) {
            status = nbcolli_node_relays_note(s, r, &arrival);
            *moved = 1;
        }
    }
    return status == NBCOLL_PENDING ? NBCOLL_OK : status;
}

/* What the node's ranks have handed over: none has more own buffers than there are, nor one twice. */
static nbcoll_status nbcolli_node_relays_take_own(nbcolli_node_relays *s, int *moved)
{
    const nbcolli_node_store *store = &s->store;
    for (uint32_t reader = 0; reader < store->shape.readers; reader++) {
        /* acquire: sees the messages */
        uint64_t handed = atomic_load_explicit(nbcolli_node_store_handed(store, reader), memory_order_acquire);
        if (handed - s->taken[reader] > store->shape.own)
            return NBCOLL_ERR_ARGUMENT;
        for (; s->taken[reader] < handed; *moved = 1) {
            uint32_t buffer = nbcolli_node_store_own(store, reader, s->taken[reader]++);
            if (s->buffer[buffer].held)
                return NBCOLL_ERR_ARGUMENT;
            s->buffer[buffer].held = s->relay[0].outs;
            nbcolli_node_relays_queue(&s->relay[0], buffer);
            nbcolli_node_store_show(store, buffer, store->shape.readers + s->relay[0].outs);
        }
    }
    return NBCOLL_OK;
}

/* What nobody needs any more receives again; then its sender may send. What has not come, or is still to be sent, is
 * not freed, nor is what was: so the list ends. */
static nbcoll_status nbcolli_node_relays_refill(nbcolli_node_relays *s, int *moved)
{
    nbcoll_status status = NBCOLL_OK;
    for (uint32_t i = nbcolli_node_store_take_freed(&s->store), next; i && status == NBCOLL_OK; i = next) {
        if (i > s->store.shape.received || s->buffer[i - 1].held != 1)
            return NBCOLL_ERR_ARGUMENT;
        s->buffer[i - 1].held = 0;
        next = nbcolli_node_store_buffer_at(&s->store, i - 1)->next;
        const nbcolli_node_relays_in *in = &s->in[s->buffer[i - 1].came_by];
        status = nbcolli_node_relays_post_free(s, in, i - 1);
        if (status == NBCOLL_OK)
            status = nbcolli_node_relays_post_credit(s, in->pair, NBCOLL_POSTING_SEND);
        *moved = 1;
    }
    return status;
}

/* ---- all --------------------------------------------------------------------------------------------------------- */

static nbcoll_status nbcolli_node_relays_go_on(nbcolli_node_relays *s, int *moved)
{
    uint64_t arrived = nbcolli_node_store_arrived(&s->store);
    nbcoll_status status = nbcolli_node_relays_refill(s, moved);
    if (status == NBCOLL_OK)
        status = nbcolli_node_relays_take(s, moved);
    if (status == NBCOLL_OK)
        status = nbcolli_node_relays_take_own(s, moved);
    if (nbcolli_node_store_arrived(&s->store) != arrived)
        nbcolli_node_relays_wake_all(s);
    for (uint32_t i = 0; i < s->outs && status == NBCOLL_OK; i++)
        status = nbcolli_node_relays_move_out(s, &s->out[i], moved);
    return status;
}

static void nbcolli_node_relays_finish(nbcolli_node_relays *s, nbcoll_status status)
{
    int is_agents = s->is_agents;
    nbcolli_node_store_break(&s->store, status);
    nbcolli_node_relays_close_pairs(s);
    atomic_store(&s->store.head->state, NBCOLLI_NODE_STORE_ENDING); /* seq_cst: published */
    nbcolli_node_relays_wake_all(s);
    atomic_store_explicit(&s->store.head->state, NBCOLLI_NODE_STORE_OVER, memory_order_release); /* its last touch */
    if (is_agents)
        nbcolli_node_relays_free(s);
}

/* 0: they are over, and their memory is not the agent's any more. */
static int nbcolli_node_relays_move(nbcolli_node_relays *s, int *moved)
{
    nbcolli_node_store_head *head = s->store.head;
    nbcoll_status status = nbcolli_node_store_status(&s->store);
    if (!s->is_open) {
        s->is_open = 1;
        if (status == NBCOLL_OK)
            status = nbcolli_node_relays_open_pairs(s);
        if (status == NBCOLL_OK) {
            atomic_store(&head->state, NBCOLLI_NODE_STORE_OPEN); /* seq_cst: published; all is posted */
            nbcolli_node_relays_wake_all(s);
        }
        *moved = 1;
    } else if (status == NBCOLL_OK)
        status = nbcolli_node_relays_go_on(s, moved);
    /* acquire: after all that was done with the store */
    if (status == NBCOLL_OK && !atomic_load_explicit(&head->is_ending, memory_order_acquire))
        return 1;
    nbcolli_node_relays_finish(s, status == NBCOLL_OK ? NBCOLL_ERR_CANCELLED : status);
    *moved = 1;
    return 0;
}

static void nbcolli_node_relays_all_take_begun(nbcoll_agent *a)
{
    /* acquire: all of what was handed over */
    nbcolli_node_relays *s = atomic_exchange_explicit(&a->begun, NULL, memory_order_acquire);
    while (s) {
        nbcolli_node_relays *before = s->next;
        s->next = a->preposted;
        a->preposted = s;
        s = before;
    }
}

int nbcolli_node_relays_all_move(nbcoll_agent *a)
{
    int moved = 0;
    if (atomic_load_explicit(&a->begun, memory_order_relaxed)) /* sees them now, or later */
        nbcolli_node_relays_all_take_begun(a);
    for (nbcolli_node_relays **at = &a->preposted, *next; *at;) {
        next = (*at)->next;
        if (nbcolli_node_relays_move(*at, &moved))
            at = &(*at)->next;
        else
            *at = next;
    }
    return moved;
}

uint32_t nbcolli_node_relays_all_count(const nbcoll_agent *a)
{
    uint32_t count = 0;
    const nbcolli_node_relays *lists[] = {a->preposted, atomic_load_explicit(&a->begun, memory_order_acquire)};
    for (size_t i = 0; i < 2; i++)
        for (const nbcolli_node_relays *s = lists[i]; s; s = s->next)
            count++;
    return count;
}

void nbcolli_node_relays_all_end(nbcoll_agent *a, nbcoll_status status)
{
    nbcolli_node_relays_all_take_begun(a);
    while (a->preposted) {
        nbcolli_node_relays *s = a->preposted;
        a->preposted = s->next;
        nbcolli_node_relays_finish(s, status);
    }
}
