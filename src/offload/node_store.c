/* SPDX-License-Identifier: BSD-3-Clause
 * The store of a node: see node_store.h. */
#include "node_store.h"

#include "../host/host.h"

static uint32_t nbcolli_node_store_buffers(const nbcolli_node_store_shape *shape)
{
    return shape->received + shape->readers * shape->own;
}

static size_t nbcolli_node_store_stride(const nbcolli_node_store_shape *shape)
{
    return sizeof(nbcolli_node_store_buffer) + nbcolli_lines(shape->bytes);
}

size_t nbcolli_node_store_bytes(const nbcolli_node_store_shape *shape)
{
    size_t buffers = nbcolli_node_store_buffers(shape);
    return sizeof(nbcolli_node_store_head) + (size_t)shape->readers * sizeof(nbcolli_node_store_reader) +
           nbcolli_lines(buffers * sizeof(uint32_t)) + buffers * nbcolli_node_store_stride(shape);
}

nbcolli_node_store nbcolli_node_store_at(void *memory, const nbcolli_node_store_shape *shape)
{
    nbcolli_node_store s = {.shape = *shape, .buffers = nbcolli_node_store_buffers(shape), .head = memory};
    s.reader = (nbcolli_node_store_reader *)(s.head + 1);
    s.ring = (_Atomic uint32_t *)(void *)(s.reader + shape->readers);
    s.buffer = (char *)s.ring + nbcolli_lines(s.buffers * sizeof(uint32_t));
    s.stride = nbcolli_node_store_stride(shape);
    return s;
}

void nbcolli_node_store_break(const nbcolli_node_store *s, nbcoll_status status)
{
    unsigned well = NBCOLL_OK;
    atomic_compare_exchange_strong(&s->head->status, &well, status);
}

int nbcolli_node_store_release(const nbcolli_node_store *s, uint32_t i)
{
    nbcolli_node_store_buffer *b = nbcolli_node_store_buffer_at(s, i);
    /* The last one has seen that all others are done with it, and shows it to whoever fills it next. */
    if (atomic_fetch_sub(&b->count, 1) != 1)
        return 0;
    if (i >= s->shape.received)
        return 1;
    b->next = atomic_load_explicit(&s->head->freed, memory_order_relaxed); /* compared below */
    while (!atomic_compare_exchange_weak_explicit(&s->head->freed, &b->next, i + 1, memory_order_release,
                                                  memory_order_relaxed))
        ;
    return 1;
}

void nbcolli_node_store_show(const nbcolli_node_store *s, uint32_t i, uint32_t count)
{
    uint64_t n = atomic_load_explicit(&s->head->arrived, memory_order_relaxed);                     /* the agent's */
    atomic_store_explicit(&nbcolli_node_store_buffer_at(s, i)->count, count, memory_order_relaxed); /* shown below */
    atomic_store_explicit(&s->ring[n % s->buffers], i, memory_order_relaxed);
    atomic_store(&s->head->arrived, n + 1); /* with all of the message */
}

uint32_t nbcolli_node_store_take_freed(const nbcolli_node_store *s)
{
    return atomic_exchange_explicit(&s->head->freed, 0, memory_order_acquire); /* all are done with those */
}

int nbcolli_node_store_has_room(const nbcolli_node_store *s, uint32_t reader, uint64_t n)
{
    uint32_t i = nbcolli_node_store_own(s, reader, n);
    return !atomic_load(&nbcolli_node_store_buffer_at(s, i)->count);
}

void nbcolli_node_store_hand(const nbcolli_node_store *s, uint32_t reader, uint64_t n)
{
    uint32_t i = nbcolli_node_store_own(s, reader, n);
    atomic_store_explicit(&nbcolli_node_store_buffer_at(s, i)->count, 1,
                          memory_order_relaxed); /* until the agent counts */
    atomic_store_explicit(nbcolli_node_store_handed(s, reader), n + 1, memory_order_release); /* with the message */
}
