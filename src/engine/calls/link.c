/* SPDX-License-Identifier: BSD-3-Clause
 * Links: see link.h. */
#include <errno.h>
#include <stddef.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "link.h"

#include "../wire/channel.h"
#include "../wire/control.h"
#include "../wire/unexpected.h"
#include "../exposures/staging.h"
#include "../comm/area.h"
#include "../match/agree.h"
#include "../../host/crowding.h"
#include "../../host/host.h"

#define NBCOLLI_POSTS_OF_A_LINK 16 /* control messages that wait for room, or are in flight */

/* As much of a table or group as both sides know. */
static void nbcolli_table_copy(void *to, size_t room, const void *from, size_t size)
{
    memcpy(to, from, size < room ? size : room);
}

#define NBCOLLI_GROUP_READ(link, group)                                                                                \
    if ((link)->transport.group) {                                                                                     \
        nbcolli_table_copy(&(link)->group, sizeof(link)->group, (link)->transport.group,                               \
                           (link)->transport.group->size);                                                             \
        (link)->transport.group = &(link)->group;                                                                      \
    }

/* The endpoint's limits, table and groups over defaults, or ERR_ABI. */
static nbcoll_status nbcolli_table_read(nbcolli_link *link)
{
    const nbcoll_endpoint *ep = link->endpoint;
    nbcoll_transport *t = &link->transport;
    nbcoll_limits *limits = &link->limits;

    if (!ep->transport || ep->transport->abi != NBCOLL_ABI)
        return NBCOLL_ERR_ABI;
    nbcolli_table_copy(t, sizeof *t, ep->transport, ep->transport->size);
    nbcolli_table_copy(limits, sizeof *limits, &ep->limits, ep->limits.size);
    if (t->size < offsetof(nbcoll_transport, bulk) || !t->post || !t->progress || !t->cancel || !t->close ||
        limits->payload < 256)
        return NBCOLL_ERR_ABI;
    NBCOLLI_GROUP_READ(link, bulk)
    NBCOLLI_GROUP_READ(link, lines)
    NBCOLLI_GROUP_READ(link, wakeup)
    NBCOLLI_GROUP_READ(link, shared)
    int has_all = (!t->bulk || (t->bulk->register_memory && (t->bulk->get || t->bulk->put) && limits->key_bytes &&
                                limits->key_bytes <= sizeof(nbcoll_key))) &&
                  (!t->lines || t->lines->post) && (!t->wakeup || (t->wakeup->fd && t->wakeup->arm)) &&
                  (!t->shared || (t->shared->reserve && t->shared->release && t->shared->map && t->shared->wake));
    return has_all ? NBCOLL_OK : NBCOLL_ERR_ABI;
}

/* What differs by peer. */
static void nbcolli_pairs_make(nbcolli_link *link)
{
    const nbcoll_transport *t = &link->transport;

    for (int peer = 0; peer < link->endpoint->ranks; peer++) {
        nbcoll_limits l = link->limits;
        l.size = sizeof l;
        if (t->peer_limits)
            t->peer_limits(link->endpoint, peer, &l);
        link->pair[peer].credits = (int32_t)link->credits;
        link->pair[peer].most_owed = link->credits / 2;
        link->pair[peer].epoch = link->pair[peer].version = 1;
        link->pair[peer].payload = l.payload > link->limits.payload ? l.payload : link->limits.payload;
        if (link->pair[peer].payload > UINT32_MAX) /* what an EAGER's header can say */
            link->pair[peer].payload = UINT32_MAX;
        link->pair[peer].way = !t->bulk                                                 ? NBCOLLI_BY_FRAGMENTS
                               : !t->bulk->get || (t->bulk->put && l.price.put_ns < l.price.get_ns)
                                   ? NBCOLLI_BY_PUT
                                                                                        : NBCOLLI_BY_GET;
    }
}

static nbcoll_status nbcolli_poller_error(int why)
{
    if (why == ENOMEM)
        return NBCOLL_ERR_MEMORY;
    return why == ENOSYS || why == EPERM ? NBCOLL_ERR_UNSUPPORTED : NBCOLL_ERR_TRANSPORT;
}

/* Adds the link's wakeup to the context's poller, which exists as long as every link has one. */
static nbcoll_status nbcolli_wakeup_add(nbcoll_context *c, nbcolli_link *link)
{
    struct epoll_event event = {.events = EPOLLIN};

    if (!link->transport.wakeup) {
        c->silent_links++;
        return NBCOLL_OK;
    }
    if (c->poller < 0)
        c->poller = epoll_create1(EPOLL_CLOEXEC);
    if (c->poller >= 0 &&
        epoll_ctl(c->poller, EPOLL_CTL_ADD, link->transport.wakeup->fd(link->endpoint), &event) == 0)
        return NBCOLL_OK;
    int why = errno;
    if (c->poller >= 0 && !c->links) {
        close(c->poller);
        c->poller = c->driven.polled = -1;
    }
    return nbcolli_poller_error(why);
}

#define NBCOLLI_LINK_RANK (sizeof(nbcolli_pair) + sizeof(nbcoll_transport_error) + sizeof(int) + 1)

/* Of a link and what lies behind it: the table of unexpected messages, the pairs, what is known of each rank. */
static size_t nbcolli_link_memory(const nbcoll_context *c, int ranks)
{
    size_t room = nbcolli_unexpected_room(c->credits, ranks) * sizeof(nbcolli_unexpected *);
    return sizeof(nbcolli_link) + room + (size_t)ranks * NBCOLLI_LINK_RANK;
}

/* What bad news needs is there before there can be any: for each link some posts in the pool, and for each of its ranks
 * one that says the last thing. */
static nbcoll_status nbcolli_posts_reserve(nbcoll_context *c, nbcolli_link *link)
{
    uint32_t wanted = NBCOLLI_POSTS_OF_A_LINK;

    for (const nbcolli_link *other = c->links; other; other = other->next)
        wanted += NBCOLLI_POSTS_OF_A_LINK;
    if (c->posts < wanted && !nbcolli_control_reserve(c, wanted - c->posts))
        return NBCOLL_ERR_MEMORY;
    for (int peer = 0; peer < link->endpoint->ranks; peer++) {
        nbcolli_post *post = nbcolli_alloc(&c->host, sizeof *post, 64);
        if (!post)
            return NBCOLL_ERR_MEMORY;
        post->next = link->farewells;
        link->farewells = post;
    }
    return NBCOLL_OK;
}

/* Do ranks take turns on this rank's cores? Where the transport does not know: if all its ranks needed these. */
static int nbcolli_is_crowded(const nbcolli_link *link)
{
    if (link->limits.ranks_per_core)
        return link->limits.ranks_per_core > 1;
    nbcolli_cores cores = nbcolli_cores_allowed();
    int n = nbcolli_cores_count(&cores);
    return n > 0 && link->endpoint->ranks > n;
}

static nbcoll_status nbcolli_link_open(nbcoll_context *c, nbcoll_endpoint *ep, nbcolli_link **out)
{
    nbcolli_link *link;
    nbcoll_status s;

    if (ep->ranks < 1 || ep->rank < 0 || ep->rank >= ep->ranks)
        return NBCOLL_ERR_ABI;
    link = nbcolli_alloc(&c->host, nbcolli_link_memory(c, ep->ranks), 64);
    if (!link)
        return NBCOLL_ERR_MEMORY;
    memset(link, 0, nbcolli_link_memory(c, ep->ranks));
    link->context = c;
    link->endpoint = ep;
    link->backlog_end = &link->backlog;
    link->credits = c->credits;
    link->unexpected = (nbcolli_unexpected **)(void *)(link + 1);
    link->unexpected_mask = nbcolli_unexpected_room(c->credits, ep->ranks) - 1;
    link->pair = (nbcolli_pair *)(void *)(link->unexpected + link->unexpected_mask + 1);
    link->reason = (nbcoll_transport_error *)(void *)(link->pair + ep->ranks);
    link->member = (int *)(void *)(link->reason + ep->ranks);
    link->loss = (uint8_t *)(link->member + ep->ranks);
    link->home = link->first = link;
    link->executed_comm = NBCOLLI_NO_COMM;
    for (int i = 0; i < ep->ranks; i++)
        link->member[i] = i;
    s = nbcolli_table_read(link);
    if (link->limits.receives && link->limits.receives < link->credits)
        link->credits = link->limits.receives;
    if (s == NBCOLL_OK)
        nbcolli_pairs_make(link);
    if (s == NBCOLL_OK)
        s = nbcolli_posts_reserve(c, link);
    if (s == NBCOLL_OK)
        s = nbcolli_wakeup_add(c, link);
    if (s != NBCOLL_OK) {
        NBCOLLI_FREE_ALL(&c->host, link->farewells, sizeof *it)
        nbcolli_free(&c->host, link, nbcolli_link_memory(c, ep->ranks));
        return s;
    }
    ep->owner = c;
    nbcolli_staging_open(link);
    link->next = c->links;
    c->links = link;
    if (nbcolli_is_crowded(link))
        atomic_store_explicit(&c->crowded, 1, memory_order_relaxed); /* for itself */
    c->driven.looked = 1; /* it is not armed */
    *out = link;
    return NBCOLL_OK;
}

nbcoll_status nbcolli_links_open(nbcoll_context *c, int n, nbcoll_endpoint *const ep[], nbcolli_link **home)
{
    nbcolli_link *link = NULL, *first = NULL;

    for (nbcolli_link **at = &first; n > 0; n--, ep++, at = &link->beside) {
        nbcoll_status s =
            link && !link->transport.identify ? NBCOLL_ERR_UNSUPPORTED : nbcolli_link_open(c, *ep, at);
        if (s != NBCOLL_OK) {
            nbcolli_links_drop(first);
            return s;
        }
        link = *at;
    }
    *home = link;
    for (link = first; link != *home; link = link->beside) {
        link->home = *home;
        link->first = NULL;
        for (int i = 0; i < link->endpoint->ranks; i++)
            link->member[i] = -1;
    }
    link->first = first;
    return NBCOLL_OK;
}

void nbcolli_links_drop(nbcolli_link *first)
{
    for (nbcolli_link *next; first; first = next) {
        next = first->beside;
        nbcolli_link_drop(first);
    }
}

static void nbcolli_unexpected_clear(nbcolli_unexpected **list)
{
    while (*list) {
        nbcolli_unexpected *s = *list;
        *list = s->next;
        nbcolli_unexpected_free(s);
    }
}

void nbcolli_link_drop(nbcolli_link *link)
{
    nbcoll_context *c = link->context;
    nbcoll_endpoint *ep = link->endpoint;

    nbcolli_link **at = &c->links;
    while (*at != link)
        at = &(*at)->next;
    *at = link->next;
    nbcolli_unexpected_clear(&link->orphans);
    for (size_t i = 0; i <= link->unexpected_mask; i++)
        nbcolli_unexpected_clear(&link->unexpected[i]);
    NBCOLLI_FREE_ALL(&c->host, link->tombstones, sizeof *it)
    NBCOLLI_FREE_ALL(&c->host, link->unmade, sizeof *it)
    nbcolli_shrinks_clear(link);
    NBCOLLI_FREE_ALL(&c->host, link->farewells, sizeof *it)
    nbcolli_channels_free(link);
    nbcolli_staging_close(link);
    /* Memory of areas itself stays the transport's: others may still use it. */
    NBCOLLI_FREE_ALL(&c->host, link->areas, nbcolli_area_memory(it->room))
    NBCOLLI_FREE_ALL(&c->host, link->memory, nbcolli_area_memory(it->room))
    if (link->transport.wakeup)
        epoll_ctl(c->poller, EPOLL_CTL_DEL, link->transport.wakeup->fd(ep), NULL);
    else
        c->silent_links--;
    ep->owner = NULL;
    nbcolli_free(&c->host, link, nbcolli_link_memory(c, ep->ranks));
}
