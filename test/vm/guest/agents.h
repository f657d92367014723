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

static inline void *helper_main(void *user)
{
    helper *h = user;

    while (!atomic_load(&h->is_over))
        if (!nbcoll_agent_progress(h->agent))
            sched_yield();
    return NULL;
}

static inline void helper_start(helper *h, nbcoll_endpoint *end)
{
    const nbcoll_agent_config agent = {.size = sizeof agent};

    CHECK_STATUS(NBCOLL_OK, nbcoll_agent_open(end, &agent, &h->agent));
    atomic_init(&h->is_over, false);
    CHECK(pthread_create(&h->thread, NULL, helper_main, h) == 0);
}

static inline void helper_end(helper *h)
{
    atomic_store(&h->is_over, true);
    pthread_join(h->thread, NULL);
    CHECK_STATUS(NBCOLL_OK, nbcoll_agent_close(h->agent));
}

/* It has the queue pairs of all ranks. `socket`: of each rank, its own and the agent's. */
static inline void agents_serve(int ranks, int socket[][2])
{
    nbcoll_verbs_config config = {.size = sizeof config, .ranks = ranks, .timeout = 15};
    nbcoll_verbs_address all[AGENTS_RANKS];
    nbcoll_endpoint *end[AGENTS_RANKS] = {NULL};
    int sockets[AGENTS_RANKS];

    for (config.rank = 0; config.rank < ranks; config.rank++, config.beside = end[0])
        CHECK_STATUS(NBCOLL_OK, nbcoll_verbs_open(&config, &all[config.rank], &end[config.rank]));
    for (int i = 0; i < ranks; i++) {
        CHECK_STATUS(NBCOLL_OK, nbcoll_verbs_meet(end[i], all));
        sockets[i] = dup(socket[i][1]);
    }
    const nbcoll_serve_config served = {
        .size = sizeof served, .endpoints = end, .sockets = sockets, .count = ranks, .flags = NBCOLL_SERVE_OUTSIDE};
    CHECK_STATUS(NBCOLL_OK, nbcoll_agent_serve(&served));
}

#endif
