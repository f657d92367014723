/* SPDX-License-Identifier: BSD-3-Clause
 * nbcoll's entries. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <nbcoll/cluster.h>
#include <nbcoll/shm.h>

#include "../calls.h"
#include "against.h"

#define DEADLINE UINT64_C(60000000000) /* ns for one operation */

struct ours {
    nbcoll_context *context;
    nbcoll_comm *comm;
};

typedef struct job {
    ours *ours;
    nbcoll_request request[TURNS]; /* persistent, or what was started */
} job;

const char *const form_names[ALL_FORMS] = {"blocking", "nonblocking", "persistent", "apart", "started apart"};

static ours *open_over(const world *w, int n, nbcoll_endpoint *const end[], nbcoll_status status)
{
    ours *o = calloc(1, sizeof *o);
    if (!o)
        status = NBCOLL_ERR_MEMORY;
    if (status == NBCOLL_OK)
        status = nbcoll_context_create(NBCOLL_ABI, NULL, &o->context);
    if (status == NBCOLL_OK)
        status = nbcoll_comm_create_over(o->context, n, end, NULL, &o->comm, DEADLINE);
    if (status != NBCOLL_OK)
        give_up("rank %d: nbcoll does not open: %s", w->rank, nbcoll_status_text(status));
    return o;
}

ours *ours_open(world *w, const char id[41], size_t memory)
{
    nbcoll_shm_config config = {.size = sizeof config,
                                .rank = w->rank,
                                .ranks = w->ranks,
                                .quota = memory ? nbcoll_shm_quota(w->ranks) + memory : 0};
    nbcoll_endpoint *end = NULL;
    memcpy(config.id.text, id, sizeof config.id.text);
    nbcoll_status status = nbcoll_shm_open(&config, &end);
    return open_over(w, 1, &end, status);
}

ours *ours_open_apart(world *w, const char *provider)
{
    const nbcoll_ofi_config ofi = {.size = sizeof ofi, .provider = provider};
    const nbcoll_cluster_config config = {
        .size = sizeof config, .rank = w->rank, .ranks = w->ranks, .exchange = theirs_exchange, .ofi = &ofi};
    nbcoll_endpoint *end[2];
    int n = 0;
    nbcoll_status status = nbcoll_cluster_open(&config, end, &n);
    return open_over(w, n, end, status);
}

static void progress(void *user)
{
    const ours *o = user;
    nbcoll_progress(o->context);
}

void ours_close(ours *o, world *w)
{
    if (nbcoll_barrier(o->comm, DEADLINE) == NBCOLL_OK)
        while (nbcoll_context_free(o->context) == NBCOLL_ERR_BUSY)
            nbcoll_progress(o->context);
    meet(w, NULL, NULL);
    free(o);
}

/* Without the others: they are of this thread, too. */
void ours_abandon(ours *o)
{
    nbcoll_context_abandon(o->context, NULL, NULL);
    free(o);
}

void *ours_alloc(ours *o, size_t bytes)
{
    void *memory = NULL;
    return nbcoll_mem_alloc(o->comm, bytes, &memory) == NBCOLL_OK ? memory : NULL;
}

void ours_free(ours *o, void *memory)
{
    nbcoll_mem_free(o->comm, memory);
}

static call call_of(const entry *e, int turn)
{
    const job *k = e->user;
    return (call){e->cell->operation, e->buffers->send[turn], e->buffers->recv[turn], e->cell->count, NBCOLL_FLOAT,
                  k->ours->comm};
}

static int call_at_once(entry *e, int turn)
{
    const call c = call_of(e, turn);
    return (int)call_blocking(&c, DEADLINE);
}

static int call_nonblocking(entry *e, int turn)
{
    const call c = call_of(e, turn);
    nbcoll_request request;
    nbcoll_status status = call_start(&c, &request);
    return (int)(status == NBCOLL_OK ? nbcoll_wait(&request, DEADLINE) : status);
}

static int call_persistent(entry *e, int turn)
{
    job *k = e->user;
    nbcoll_status status = nbcoll_start(&k->request[turn]);
    return (int)(status == NBCOLL_OK ? nbcoll_wait(&k->request[turn], DEADLINE) : status);
}

static int call_start_again(entry *e, int turn)
{
    job *k = e->user;
    return (int)nbcoll_start(&k->request[turn]);
}

static int call_start_new(entry *e, int turn)
{
    const call c = call_of(e, turn);
    job *k = e->user;
    return (int)call_start(&c, &k->request[turn]);
}

static int call_wait(entry *e, int turn)
{
    job *k = e->user;
    return (int)nbcoll_wait(&k->request[turn], DEADLINE);
}

int ours_test(entry *e, int turn)
{
    job *k = e->user;
    return (int)nbcoll_test(&k->request[turn]);
}

static int open_requests(entry *e)
{
    job *k = e->user;
    nbcoll_status status = NBCOLL_OK;
    for (int i = 0; i < e->cell->turns && status == NBCOLL_OK; i++) {
        const call c = call_of(e, i);
        status = call_init(&c, &k->request[i]);
    }
    return (int)status;
}

static void close_call(entry *e)
{
    job *k = e->user;
    for (int i = 0; e->open && i < e->cell->turns; i++)
        nbcoll_request_free(&k->request[i]);
    free(k);
}

static void progress_call(void *user)
{
    const job *k = user;
    progress(k->ours);
}

int ours_entry(ours *o, entry *e, form which)
{
    static int (*const calls[ALL_FORMS])(entry *, int) = {call_at_once, call_nonblocking, call_persistent,
                                                          call_start_again, call_start_new};
    job *k = calloc(1, sizeof *k);
    if (!k)
        return -1;
    k->ours = o;
    e->library = "nbcoll";
    e->form = which;
    e->form_name = form_names[which];
    e->user = k;
    e->open = which == PERSISTENT || which == APART ? open_requests : NULL;
    e->call = calls[which];
    e->second = which >= APART ? call_wait : NULL;
    e->close = close_call;
    e->progress = progress_call;
    return 0;
}
