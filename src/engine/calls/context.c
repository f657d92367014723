/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stddef.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "context.h"

#include "../wire/channel.h"
#include "../wire/control.h"
#include "../wire/unexpected.h"
#include "../exposures/staging.h"
#include "../../host/crowding.h"
#include "../wire/giveup.h"
#include "../run/pool.h"
#include "../run/run.h"
#include "../comm/area.h"
#include "../comm/comm.h"
#include "../comm/executors.h"
#include "../comm/requests.h"
#include "../match/agree.h"
#include "../match/ask.h"
#include "../progress/progress.h"
#include "../progress/lock.h"
#include "../../host/alive.h"
#include "../../host/host.h"

/* ---- endpoints --------------------------------------------------------------------------------------------------- */

#define NBCOLLI_POSTS_OF_A_LINK 16 /* control messages that wait for room, or are in flight */

/* Copies as much of a table or group as both sides know. */
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

/* Sets limits that differ by peer. */
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
        if (link->pair[peer].payload > UINT32_MAX) /* the most that an EAGER's header can hold */
            link->pair[peer].payload = UINT32_MAX;
        link->pair[peer].way = !t->bulk                                                 ? NBCOLLI_BY_FRAGMENTS
                               : !t->bulk->get || (t->bulk->put && l.price.put_ns < l.price.get_ns)
                                   ? NBCOLLI_BY_PUT
                                                                                        : NBCOLLI_BY_GET;
    }
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
    return why == ENOMEM                    ? NBCOLL_ERR_MEMORY
           : why == ENOSYS || why == EPERM ? NBCOLL_ERR_UNSUPPORTED
                                           : NBCOLL_ERR_TRANSPORT;
}

/* Bytes of a link and the arrays behind it: pairs, and notes about each rank. */
static size_t nbcolli_link_memory(int ranks)
{
    return sizeof(nbcolli_link) +
           (size_t)ranks * (sizeof(nbcolli_pair) + sizeof(nbcoll_transport_error) + sizeof(int) + 1);
}

/* Takes the memory for bad news beforehand: for each link some posts in the pool, and for each of its ranks one for the
 * farewell. */
static nbcoll_status nbcolli_link_reserve(nbcoll_context *c, nbcolli_link *link)
{
    uint32_t wanted = NBCOLLI_POSTS_OF_A_LINK;

    for (const nbcolli_link *other = c->links; other; other = other->next)
        wanted += NBCOLLI_POSTS_OF_A_LINK;
    int has_all = (c->posts >= wanted || nbcolli_posts_reserve(c, &c->controls, wanted - c->posts)) &&
                  nbcolli_posts_reserve(c, &link->farewells, (uint32_t)link->endpoint->ranks);
    return has_all ? NBCOLL_OK : NBCOLL_ERR_MEMORY;
}

static __attribute__((noinline)) void nbcolli_posts_free(nbcoll_context *c, nbcolli_list *list)
{
    for (nbcolli_post *post; (post = nbcolli_post_of(list->first)) != NULL;) {
        nbcolli_list_leave(&post->item);
        nbcolli_free(&c->host, post, sizeof *post);
    }
}

/* Do ranks take turns on this rank's cores? If the transport does not know, assumes that all its ranks share them. */
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
    if (ep->ranks < 1 || ep->rank < 0 || ep->rank >= ep->ranks)
        return NBCOLL_ERR_ABI;
    nbcolli_link *link = nbcolli_alloc(&c->host, nbcolli_link_memory(ep->ranks), 64);
    if (!link)
        return NBCOLL_ERR_MEMORY;
    memset(link, 0, nbcolli_link_memory(ep->ranks));
    link->context = c;
    link->endpoint = ep;
    link->credits = c->credits;
    link->pair = (nbcolli_pair *)(void *)(link + 1);
    link->reason = (nbcoll_transport_error *)(void *)(link->pair + ep->ranks);
    link->member = (int *)(void *)(link->reason + ep->ranks);
    link->loss = (uint8_t *)(link->member + ep->ranks);
    link->home = link->first = link;
    link->executed_comm = NBCOLLI_NO_COMM;
    for (int i = 0; i < ep->ranks; i++)
        link->member[i] = i;
    nbcoll_status s = nbcolli_table_read(link);
    if (link->limits.receives && link->limits.receives < link->credits)
        link->credits = link->limits.receives;
    if (s == NBCOLL_OK)
        nbcolli_pairs_make(link);
    if (s == NBCOLL_OK)
        s = nbcolli_link_reserve(c, link);
    if (s == NBCOLL_OK)
        s = nbcolli_wakeup_add(c, link);
    if (s != NBCOLL_OK) {
        nbcolli_posts_free(c, &link->farewells);
        nbcolli_free(&c->host, link, nbcolli_link_memory(ep->ranks));
        return s;
    }
    ep->owner = c;
    nbcolli_staging_open(link);
    link->next = c->links;
    c->links = link;
    if (nbcolli_is_crowded(link))
        atomic_store_explicit(&c->crowded, 1, memory_order_relaxed); /* orders nothing */
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

static void nbcolli_unexpected_clear(nbcolli_unexpected **list)
{
    while (*list) {
        nbcolli_unexpected *s = *list;
        *list = s->next;
        nbcolli_unexpected_free(s);
    }
}

static void nbcolli_link_drop(nbcolli_link *link)
{
    nbcoll_context *c = link->context;
    nbcoll_endpoint *ep = link->endpoint;

    nbcolli_link **at = &c->links;
    while (*at != link)
        at = &(*at)->next;
    *at = link->next;
    nbcolli_unexpected_clear(&link->orphans);
    for (size_t i = 0; i < NBCOLLI_UNEXPECTED_BUCKETS; i++)
        nbcolli_unexpected_clear(&link->unexpected[i]);
    NBCOLLI_FREE_ALL(&c->host, link->tombstones, sizeof *it)
    NBCOLLI_FREE_ALL(&c->host, link->unmade, sizeof *it)
    nbcolli_shrinks_clear(link);
    nbcolli_posts_free(c, &link->farewells);
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
    nbcolli_free(&c->host, link, nbcolli_link_memory(ep->ranks));
}

void nbcolli_links_drop(nbcolli_link *first)
{
    for (nbcolli_link *next; first; first = next) {
        next = first->beside;
        nbcolli_link_drop(first);
    }
}

/* ---- making ------------------------------------------------------------------------------------------------------ */

static nbcoll_status nbcolli_context_config_read(const nbcoll_context_config *given, nbcoll_context_config *config)
{
    *config = (nbcoll_context_config){.size = sizeof *config};
    nbcoll_status s = given ? nbcolli_copy_tagged(config, given, sizeof *config) : NBCOLL_OK;
    const nbcoll_host host = config->host;
    if (s == NBCOLL_OK)
        s = nbcolli_host_read(&config->host, &host);
    if (s != NBCOLL_OK)
        return s;
    if (!config->credits)
        config->credits = NBCOLL_CREDITS;
    return config->flags & ~NBCOLL_ANY_THREAD || config->credits > UINT16_MAX ? NBCOLL_ERR_CONFIG : NBCOLL_OK;
}

nbcoll_status nbcoll_context_create(uint32_t abi, const nbcoll_context_config *given, nbcoll_context **out)
{
    nbcoll_context_config config;

    if (abi != NBCOLL_ABI)
        return NBCOLL_ERR_ABI;
    if (!out)
        return NBCOLL_ERR_NULL;
    nbcoll_status s = nbcolli_context_config_read(given, &config);
    if (s != NBCOLL_OK)
        return s;
    nbcoll_context *c = nbcolli_alloc(&config.host, sizeof *c, 64);
    if (!c)
        return NBCOLL_ERR_MEMORY;
    memset(c, 0, sizeof *c);
    c->host = config.host;
    c->observer = config.observer;
    c->watcher = config.watcher;
    c->reducers = config.reducers;
    c->flags = config.flags;
    c->credits = config.credits;
    c->poller = -1;
    c->serves = NBCOLLI_SERVES_ALL;
    c->failure.rank = -1;
    c->till_pass = NBCOLLI_REPLAY_PASSES;
    c->restart = nbcolli_restart;
    s = nbcolli_alive_open(&c->alive);
    if (s != NBCOLL_OK) {
        nbcolli_free(&c->host, c, sizeof *c);
        return s;
    }
    *out = c;
    return NBCOLL_OK;
}

/* ---- freeing ----------------------------------------------------------------------------------------------------- */

void nbcolli_context_end(nbcoll_context *c, int abandons)
{
    c->is_ending = 1;
    nbcolli_requests_clear(c); /* ends that nobody has asked for */
    while (c->comms)
        nbcolli_comm_destroy(c->comms);
    while (c->links) {
        while (c->links->memory && !c->links->transport.shared && !abandons) {
            nbcolli_area *area = c->links->memory;
            c->links->memory = area->next;
            nbcolli_area_release(c->links, area);
        }
        nbcoll_endpoint *ep = c->links->endpoint;
        void (*leave)(nbcoll_endpoint *) = c->links->transport.close;
        if (abandons && c->links->transport.abandon)
            leave = c->links->transport.abandon;
        nbcolli_link_drop(c->links);
        leave(ep);
    }
    while (c->schedules)
        nbcolli_schedule_disown(c->schedules);
    nbcolli_posts_free(c, &c->controls);
    for (int i = 0; i < 2; i++)
        NBCOLLI_FREE_ALL(&c->host, c->unexpected_pools[i], sizeof *it + it->capacity)
    for (uint32_t i = 0; i < c->chunks; i++)
        nbcolli_free(&c->host, c->chunk[i], nbcolli_chunk_size(i) * sizeof(nbcolli_request));
    if (c->poller >= 0)
        close(c->poller);
    nbcolli_alive_close(c->alive);
    nbcolli_free(&c->host, c, sizeof *c);
}

int nbcolli_context_busy(const nbcoll_context *c)
{
    int busy = c->active > 0;
    for (const nbcolli_link *link = c->links; link; link = link->next)
        busy |= link->backlog.first || link->in_flight.first;
    return busy;
}

int nbcolli_is_held(const nbcoll_context *c)
{
    /* acquire: an agent that is closed has touched its endpoint for the last time */
    return c->driven.driver || c->ticks.are_on || c->holders ||
           atomic_load_explicit(&c->users.agents, memory_order_acquire);
}

nbcoll_status nbcoll_context_free(nbcoll_context *c)
{
    nbcoll_status s = c ? nbcolli_enter(c) : NBCOLL_OK;
    if (!c || s != NBCOLL_OK)
        return s;
    if (nbcolli_is_held(c))
        return nbcolli_leave(c, NBCOLL_ERR_BUSY);
    nbcolli_pass(c);
    for (nbcolli_link *link = c->links; link; link = link->next)
        nbcolli_recall_given_up(link); /* posts that the pass could not deliver */
    int busy = nbcolli_context_busy(c) || c->ended;
    busy |= atomic_load_explicit(&c->outside, memory_order_acquire) > 0; /* after all their accesses */
    if (busy)
        return nbcolli_leave_reporting(c, NBCOLL_ERR_BUSY);
    nbcolli_context_end(c, 0);
    return NBCOLL_OK;
}

/* ---- progressing ------------------------------------------------------------------------------------------------- */

nbcoll_status nbcoll_progress(nbcoll_context *c)
{
    if (!c)
        return NBCOLL_ERR_NULL;
    if (nbcolli_is_forked(c))
        return NBCOLL_ERR_FORKED;
    if (!nbcolli_try_lock(c))
        return nbcolli_is_inside(c) ? NBCOLL_ERR_BUSY : NBCOLL_OK; /* another thread is progressing it */
    nbcolli_pass(c);
    return nbcolli_leave_reporting(c, NBCOLL_OK);
}

nbcoll_status nbcoll_fd(nbcoll_context *c, int *fd)
{
    nbcoll_status s = c && fd ? nbcolli_enter(c) : NBCOLL_ERR_NULL;
    if (s != NBCOLL_OK)
        return s;
    if (c->poller < 0 || c->silent_links)
        return nbcolli_leave(c, NBCOLL_ERR_UNSUPPORTED);
    *fd = c->poller;
    return nbcolli_leave(c, NBCOLL_OK);
}

nbcoll_status nbcolli_arm_all(nbcoll_context *c)
{
    c->driven.looked = 1; /* a refused caller is not armed any more */
    if (c->poller < 0 || c->silent_links)
        return NBCOLL_ERR_UNSUPPORTED;
    if (c->active)
        nbcolli_look_at_clock(c, INT64_MAX);
    if (c->failing.first)
        nbcolli_drain(c);
    int is_told = c->executed;
    c->executed = 0;
    if (is_told || c->ended || c->delayed.first)
        return NBCOLL_AGAIN;
    for (nbcolli_link *link = c->links; link; link = link->next) {
        nbcoll_status s = link->transport.wakeup->arm(link->endpoint);
        if (s != NBCOLL_OK)
            return s;
    }
    /* [SLEEP] the sleeper's second look (transport.h) */
    int has_come = nbcolli_look_again(c, SIZE_MAX) || c->delayed.first ||
                   (c->executors.first && nbcolli_executors_look(c, c->poller));
    if (!has_come) {
        c->ticks.is_armed = 1;
        return NBCOLL_OK;
    }
    nbcolli_drain(c);
    return NBCOLL_AGAIN;
}

nbcoll_status nbcoll_arm(nbcoll_context *c)
{
    nbcoll_status s = c ? nbcolli_enter(c) : NBCOLL_ERR_NULL;
    if (s != NBCOLL_OK)
        return s;
    s = nbcolli_arm_all(c);
    if (s == NBCOLL_OK && c->driven.ended != c->armed_at_ends) { /* perhaps seen by a look at another request */
        c->ticks.is_armed = 0;
        s = NBCOLL_AGAIN;
    }
    c->armed_at_ends = c->driven.ended;
    return nbcolli_leave(c, s == NBCOLL_OK && c->is_unheard ? NBCOLL_ERR_UNSUPPORTED : s);
}

nbcoll_status nbcoll_last_failure(const nbcoll_context *context, nbcoll_failure *out)
{
    nbcoll_context *c = (nbcoll_context *)(uintptr_t)context; /* only its lock changes */
    nbcoll_status s = c && out ? nbcolli_enter(c) : NBCOLL_ERR_NULL;
    if (s != NBCOLL_OK)
        return s;
    *out = c->failure;
    return nbcolli_leave(c, NBCOLL_OK);
}
