/* SPDX-License-Identifier: BSD-3-Clause
 * Contexts: see context.h. */
#include <unistd.h>

#include "context.h"

#include "link.h"
#include "../wire/giveup.h"
#include "../run/run.h"
#include "../run/pool.h"
#include "../run/run.h"
#include "../comm/area.h"
#include "../comm/comm.h"
#include "../comm/executors.h"
#include "../comm/requests.h"
#include "../match/ask.h"
#include "../progress/progress.h"
#include "../progress/lock.h"
#include "../../host/alive.h"
#include "../../host/host.h"

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
    nbcoll_context *c;
    nbcoll_status s;

    if (abi != NBCOLL_ABI)
        return NBCOLL_ERR_ABI;
    if (!out)
        return NBCOLL_ERR_NULL;
    s = nbcolli_context_config_read(given, &config);
    if (s != NBCOLL_OK)
        return s;
    c = nbcolli_alloc(&config.host, sizeof *c, 64);
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
    c->unreported_end = &c->unreported;
    c->serves = NBCOLLI_SERVES_ALL;
    c->failure.rank = -1;
    c->till_pass = NBCOLLI_REPLAY_PASSES;
    c->restart = nbcolli_restart;
    c->passes = c->passes_left = c->host.pause ? nbcolli_most_passes(c) : 63; /* it is not known how rare they are */
    s = nbcolli_alive_open(&c->alive);
    if (s != NBCOLL_OK) {
        nbcolli_free(&c->host, c, sizeof *c);
        return s;
    }
    *out = c;
    return NBCOLL_OK;
}

/* ---- freeing ----------------------------------------------------------------------------------------------------- */

static void nbcolli_pools_free(nbcoll_context *c)
{
    NBCOLLI_FREE_ALL(&c->host, c->controls, sizeof *it)
    for (int i = 0; i < 2; i++)
        NBCOLLI_FREE_ALL(&c->host, c->unexpected_pools[i], sizeof *it + it->capacity)
    NBCOLLI_FREE_ALL(&c->host, c->pending_revokes, sizeof *it)
    for (uint32_t i = 0; i < c->chunks; i++)
        nbcolli_free(&c->host, c->chunk[i], nbcolli_chunk_size(i) * sizeof(nbcolli_request));
}

void nbcolli_context_end(nbcoll_context *c, int abandons)
{
    c->is_ending = 1;
    nbcolli_requests_clear(c); /* ends that nobody asked for */
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
    nbcolli_pools_free(c);
    if (c->poller >= 0)
        close(c->poller);
    nbcolli_alive_close(c->alive);
    nbcolli_free(&c->host, c, sizeof *c);
}

int nbcolli_context_busy(const nbcoll_context *c)
{
    int busy = c->active > 0;
    for (const nbcolli_link *link = c->links; link; link = link->next)
        busy |= link->backlog != NULL || link->in_flight > 0;
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
        nbcolli_recall_given_up(link); /* what that pass could not deliver */
    int busy = nbcolli_context_busy(c) || c->ended;
    busy |= atomic_load_explicit(&c->outside, memory_order_acquire) > 0; /* after all that those calls did */
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
        return nbcolli_is_inside(c) ? NBCOLL_ERR_BUSY : NBCOLL_OK; /* somebody else is progressing it */
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
    c->driven.looked = 1; /* who is refused is not armed any more */
    if (c->poller < 0 || c->silent_links)
        return NBCOLL_ERR_UNSUPPORTED;
    if (c->active)
        nbcolli_look_at_clock(c);
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
    /* [SLEEP] the second look of the sleeper's bargain */
    int has_come = nbcolli_look_again(c, SIZE_MAX) || c->delayed.first ||
                   (c->executors && nbcolli_executors_look(c, c->poller));
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
    if (s == NBCOLL_OK && c->driven.ended != c->armed_at_ends) { /* perhaps in a look at another request */
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
