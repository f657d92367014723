/* SPDX-License-Identifier: BSD-3-Clause
 * Agents over verbs: a thread that moves one rank's, and the process that has those of all. Include crew.h first. */
#ifndef TEST_VM_AGENTS_H
#define TEST_VM_AGENTS_H

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <unistd.h>

#include <nbcoll/offload.h>
#include <nbcoll/verbs.h>

enum { AGENTS_RANKS = 16 };

typedef struct helper {
    nbcoll_agent *agent;
    pthread_t thread;
    atomic_bool is_over;
} helper;

static _Thread_local bool is_helper; /* does this thread move an agent? */

static inline void *helper_main(void *user)
{
    helper *h = user;

    is_helper = true;
    while (!atomic_load(&h->is_over))
        if (!nbcoll_agent_progress(h->agent))
            sched_yield();
    return NULL;
}

static inline void helper_start_with(helper *h, nbcoll_endpoint *end, const nbcoll_agent_config *agent)
{
    CHECK_STATUS(NBCOLL_OK, nbcoll_agent_open(end, agent, &h->agent));
    atomic_init(&h->is_over, false);
    CHECK(pthread_create(&h->thread, NULL, helper_main, h) == 0);
}

static inline void helper_start(helper *h, nbcoll_endpoint *end)
{
    const nbcoll_agent_config agent = {.size = sizeof agent};

    helper_start_with(h, end, &agent);
}

static inline void helper_end(helper *h)
{
    atomic_store(&h->is_over, true);
    pthread_join(h->thread, NULL);
    CHECK_STATUS(NBCOLL_OK, nbcoll_agent_close(h->agent));
}

/* Frees the context as soon as that is possible. */
static inline void leave_context(nbcoll_context *context)
{
    nbcoll_status status;

    for (uint64_t since = clock_ns(); (status = nbcoll_context_free(context)) == NBCOLL_ERR_BUSY;) {
        CHECK(clock_ns() - since < 60 * SECOND);
        nbcoll_progress(context);
    }
    CHECK_STATUS(NBCOLL_OK, status);
}

/* It has the queue pairs of ranks first..first + count - 1 of so many. `meets` adds the addresses of the others, or is
 * null; `socket`: of each of these ranks, its own and the agent's; `how` says what is not the default. */
static inline void agents_serve_some(int first, int count, int ranks, void meets(nbcoll_verbs_address all[]),
                                     int socket[][2], nbcoll_serve_config how)
{
    nbcoll_verbs_config config = {.size = sizeof config, .ranks = ranks, .timeout = 15};
    nbcoll_verbs_address all[AGENTS_RANKS];
    nbcoll_endpoint *end[AGENTS_RANKS] = {NULL};
    int sockets[AGENTS_RANKS];

    for (int i = 0; i < count; i++, config.beside = end[0]) {
        config.rank = first + i;
        CHECK_STATUS(NBCOLL_OK, nbcoll_verbs_open(&config, &all[config.rank], &end[i]));
    }
    if (meets)
        meets(all);
    for (int i = 0; i < count; i++) {
        CHECK_STATUS(NBCOLL_OK, nbcoll_verbs_meet(end[i], all));
        sockets[i] = dup(socket[i][1]);
    }
    how.size = sizeof how;
    how.endpoints = end;
    how.sockets = sockets;
    how.count = count;
    how.flags = NBCOLL_SERVE_OUTSIDE;
    CHECK_STATUS(NBCOLL_OK, nbcoll_agent_serve(&how));
}

/* Of all ranks. */
static inline void agents_serve(int ranks, int socket[][2])
{
    agents_serve_some(0, ranks, ranks, NULL, socket, (nbcoll_serve_config){0});
}

#endif
