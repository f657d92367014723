/* SPDX-License-Identifier: BSD-3-Clause
 * The queue of events. Source: Ahuja, Mehlhorn, Orlin, Tarjan, "Faster algorithms for the shortest path problem"
 * (1990), the radix heap. Memory is touched from one end to the other, so that millions of events cost little more than
 * few. Also the memory that is counted. */
#include "simulate.h"

void *nbcolli_purse_take(nbcolli_purse *p, size_t n, size_t bytes)
{
    size_t total;
    if (__builtin_mul_overflow(n, bytes, &total) || total > SIZE_MAX / 2)
        return NULL;
    nbcolli_coin *coin = nbcolli_alloc(&p->host, sizeof *coin + total, 64);
    if (!coin)
        return NULL;
    memset(coin, 0, sizeof *coin + total);
    *coin = (nbcolli_coin){.next = p->first, .at = &p->first, .bytes = sizeof *coin + total};
    if (p->first)
        p->first->at = &coin->next;
    p->first = coin;
    p->held += coin->bytes;
    if (p->most < p->held)
        p->most = p->held;
    return coin + 1;
}

void nbcolli_purse_give(nbcolli_purse *p, void *memory)
{
    if (!memory)
        return;
    nbcolli_coin *coin = (nbcolli_coin *)memory - 1;
    *coin->at = coin->next;
    if (coin->next)
        coin->next->at = coin->at;
    p->held -= coin->bytes;
    nbcolli_free(&p->host, coin, coin->bytes);
}

void nbcolli_purse_close(nbcolli_purse *p)
{
    while (p->first)
        nbcolli_purse_give(p, p->first + 1);
}

static int nbcolli_queue_grow(nbcolli_queue *q, nbcolli_bucket *b)
{
    size_t room = b->room ? 2 * b->room : 64;
    nbcolli_happening *items = nbcolli_purse_take(q->purse, room, sizeof *items);
    if (!items)
        return 0;
    if (b->used)
        memcpy(items, b->items, b->used * sizeof *items);
    nbcolli_purse_give(q->purse, b->items);
    b->items = items;
    b->room = room;
    return 1;
}

int nbcolli_queue_put(nbcolli_queue *q, nbcolli_happening h)
{
    unsigned i = h.time == q->last ? 0 : 64 - (unsigned)__builtin_clzll(h.time ^ q->last);
    nbcolli_bucket *b = &q->bucket[i];
    if (b->used == b->room && !nbcolli_queue_grow(q, b))
        return 0;
    b->items[b->used++] = h;
    if (i)
        q->filled |= UINT64_C(1) << (i - 1);
    return 1;
}

/* Spreads the first bucket that holds something over those before it. Each keeps the order in which things came. */
static int nbcolli_queue_spread(nbcolli_queue *q)
{
    nbcolli_bucket *b = &q->bucket[1 + __builtin_ctzll(q->filled)];
    uint64_t least = b->items[0].time;
    q->filled &= q->filled - 1;
    for (size_t i = 1; i < b->used; i++)
        least = b->items[i].time < least ? b->items[i].time : least;
    q->last = least;
    for (size_t i = 0; i < b->used; i++)
        if (!nbcolli_queue_put(q, b->items[i]))
            return 0;
    b->used = 0;
    return 1;
}

int nbcolli_queue_take(nbcolli_queue *q, nbcolli_happening *out)
{
    nbcolli_bucket *b = &q->bucket[0];
    if (b->first == b->used) {
        b->first = b->used = 0;
        if (!q->filled)
            return 0;
        if (!nbcolli_queue_spread(q))
            return -1;
    }
    *out = b->items[b->first++];
    return 1;
}
