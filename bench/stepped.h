/* SPDX-License-Identifier: BSD-3-Clause
 * Ranks over shm that all live in one process, and that one thread steps: of path and peers. */
#ifndef BENCH_STEPPED_H
#define BENCH_STEPPED_H

#include "ranks.h"

enum { STEPPED_MOST = 64 };

/* One rank. */
typedef struct stepped {
    nbcoll_shm_config config;
    nbcoll_endpoint *endpoint;
    nbcoll_context *context;
    nbcoll_comm *comm;
    nbcoll_request request;
} stepped;

static void *stepped_open_endpoint(void *of)
{
    stepped *one = of;
    must(nbcoll_shm_open(&one->config, &one->endpoint));
    return NULL;
}

/* Tests all ranks' requests in turn until they have ended. */
static void stepped_finish(stepped *const rank[], int ranks)
{
    for (int left = ranks; left;) {
        left = 0;
        for (int i = 0; i < ranks; i++)
            left += nbcoll_test(&rank[i]->request) == NBCOLL_PENDING;
    }
}

/* Gives each rank its communicator of all. */
static void stepped_open(stepped *const rank[], int ranks)
{
    nbcoll_context_config config = {.size = sizeof config};
    pthread_t thread[STEPPED_MOST];
    nbcoll_shm_id id;

    must(nbcoll_shm_id_make(&id));
    for (int i = 0; i < ranks; i++) {
        rank[i]->config = (nbcoll_shm_config){.size = sizeof rank[i]->config, .id = id, .rank = i,
                                               .ranks = ranks};
        if (pthread_create(&thread[i], NULL, stepped_open_endpoint, rank[i])) /* the opening waits for all */
            exit(1);
    }
    for (int i = 0; i < ranks; i++)
        pthread_join(thread[i], NULL);
    for (int i = 0; i < ranks; i++) {
        must(nbcoll_context_create(NBCOLL_ABI, &config, &rank[i]->context));
        must(nbcoll_comm_icreate(rank[i]->context, rank[i]->endpoint, NULL, &rank[i]->comm, &rank[i]->request));
    }
    stepped_finish(rank, ranks);
}

#endif
