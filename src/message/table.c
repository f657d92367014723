/* SPDX-License-Identifier: BSD-3-Clause
 * Tables by which receives, messages that are kept, and transfers are found, however many of them there are. What has
 * the same key stands in the order in which it came. A table grows when it is full; without memory for that it does
 * not, and looking takes longer. */
#include "message.h"

#include "../host/host.h"

static size_t nbcolli_table_bytes(uint32_t bits)
{
    return sizeof(nbcolli_list) << bits;
}

__attribute__((noinline)) void nbcolli_table_grow(const nbcoll_host *host, nbcolli_buckets *t)
{
    nbcolli_buckets wider = {.bits = t->bits + 2, .key = t->key};

    wider.bucket = nbcolli_alloc(host, nbcolli_table_bytes(wider.bits), 64);
    if (!wider.bucket)
        return;
    memset(wider.bucket, 0, nbcolli_table_bytes(wider.bits));
    for (uint32_t i = 0; i < 1u << t->bits; i++)
        for (nbcolli_list_item *item; (item = t->bucket[i].first);) {
            nbcolli_table_leave(t, item);
            nbcolli_table_add(host, &wider, item, t->key(item));
        }
    nbcolli_table_free(host, t);
    *t = wider;
}

nbcolli_keyed *nbcolli_table_find(const nbcolli_buckets *t, uint64_t key)
{
    nbcolli_list_item *item = nbcolli_table_bucket(t, key)->first;

    while (item && ((nbcolli_keyed *)item)->key != key)
        item = item->next;
    return (nbcolli_keyed *)item;
}

uint64_t nbcolli_key_of_keyed(const nbcolli_list_item *item)
{
    return ((const nbcolli_keyed *)item)->key;
}

void nbcolli_table_free(const nbcoll_host *host, nbcolli_buckets *t)
{
    if (t->bits > NBCOLLI_TABLE_BITS)
        nbcolli_free(host, t->bucket, nbcolli_table_bytes(t->bits));
    t->bucket = NULL;
}
