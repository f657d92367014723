/* SPDX-License-Identifier: BSD-3-Clause
 * Lists of ops (steps with a peer), of runs, and of requests. Each of these has an item for its place in a list; an op
 * or a run, in one list at most, begins with it. The item says in which list it is. */
#ifndef NBCOLLI_ENGINE_STATE_LIST_H
#define NBCOLLI_ENGINE_STATE_LIST_H

#include <stddef.h>

typedef struct nbcolli_list nbcolli_list;
typedef struct nbcolli_list_item nbcolli_list_item;

struct nbcolli_list_item {
    nbcolli_list *in; /* null: none */
    nbcolli_list_item *next, **at;
};

/* In the order in which they came. */
struct nbcolli_list {
    nbcolli_list_item *first, **end; /* end: while there is one */
    size_t count;
};

/* The struct that has the item as that member; null for null. */
#define NBCOLLI_HOLDER(type, member, item)                                                                             \
    ((item) ? (type *)(void *)((char *)(item)-offsetof(type, member)) : (type *)NULL)

/* Puts the item, which is in no list, into one, where `at` points to the next one. */
static inline void nbcolli_list_put(nbcolli_list *list, nbcolli_list_item **at, nbcolli_list_item *item)
{
    *item = (nbcolli_list_item){list, *at, at};
    *(item->next ? &item->next->at : &list->end) = &item->next;
    *at = item;
    list->count++;
}

/* Behind all others. */
static inline void nbcolli_list_add(nbcolli_list *list, nbcolli_list_item *item)
{
    nbcolli_list_put(list, list->first ? list->end : &list->first, item);
}

/* Takes it out of its list, if it is in one. */
static inline void nbcolli_list_leave(nbcolli_list_item *item)
{
    if (!item->in)
        return;
    *item->at = item->next;
    *(item->next ? &item->next->at : &item->in->end) = item->at;
    item->in->count--;
    item->in = NULL;
}

#endif
