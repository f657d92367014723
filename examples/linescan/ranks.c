/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Ranks as threads on loopback.
 */
#include "ranks.h"
#include "options.h"

#include <nbcoll/loopback.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define JOIN_TIMEOUT (UINT64_C(60) * 1000000000) /* nanoseconds that the ranks have to find each other */

typedef struct member {
    nbcoll_loopback *world;
    int rank;
    rank_main *body;
    const void *user;
    int result;
    pthread_t thread;
} member;

void must(nbcoll_status status, const char *what)
{
    if (status != NBCOLL_OK)
        fatal(what, nbcoll_status_text(status));
}

static void *run(void *argument)
{
    member *m = argument;
    nbcoll_context *context = NULL;
    nbcoll_endpoint *endpoint = NULL;
    nbcoll_comm *comm = NULL;
    must(nbcoll_context_create(NBCOLL_ABI, NULL, &context), "context");
    must(nbcoll_loopback_open(m->world, m->rank, &endpoint), "endpoint");
    must(nbcoll_comm_create(context, endpoint, NULL, &comm, JOIN_TIMEOUT), "communicator");
    m->result = m->body(context, comm, m->user);
    nbcoll_status status;
    while ((status = nbcoll_context_free(context)) == NBCOLL_ERR_BUSY) /* the last messages are on their way */
        must(nbcoll_progress(context), "end");
    must(status, "end");
    return NULL;
}

int ranks_run(int count, rank_main *body, const void *user)
{
    nbcoll_loopback *world = NULL;
    nbcoll_loopback_config config = {.size = sizeof config, .ranks = count};
    must(nbcoll_loopback_create(&config, &world), "loopback");
    member *all = calloc((size_t)count, sizeof *all);
    if (!all)
        fatal("ranks", "no memory");
    for (int i = count - 1; i >= 0; i--) {
        all[i] = (member){.world = world, .rank = i, .body = body, .user = user};
        int error = i > 0 ? pthread_create(&all[i].thread, NULL, run, &all[i]) : 0;
        if (error)
            fatal("thread", strerror(error));
    }
    run(&all[0]);
    for (int i = 1; i < count; i++)
        pthread_join(all[i].thread, NULL);
    int result = all[0].result;
    free(all);
    must(nbcoll_loopback_free(world), "loopback");
    return result;
}
