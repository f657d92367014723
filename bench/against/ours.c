/* SPDX-License-Identifier: BSD-3-Clause
 * nbcoll's entries. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <nbcoll/shm.h>

#include "against.h"

#define DEADLINE UINT64_C(60000000000) /* ns for one operation */

struct ours {
    nbcoll_context *context;
    nbcoll_comm *comm;
};

typedef struct call {
    ours *ours;
    nbcoll_request request[TURNS]; /* persistent, or what was started */
} call;

const char *const form_names[ALL_FORMS] = {"blocking", "nonblocking", "persistent", "apart", "started apart"};

ours *ours_open(world *w, const char id[41], size_t memory)
{
    nbcoll_shm_config config = {.size = sizeof config,
                                .rank = w->rank,
                                .ranks = w->ranks,
                                .quota = memory ? nbcoll_shm_quota(w->ranks) + memory : 0};
    nbcoll_endpoint *end = NULL;
    ours *o = calloc(1, sizeof *o);
    memcpy(config.id.text, id, sizeof config.id.text);
    nbcoll_status status = o ? nbcoll_shm_open(&config, &end) : NBCOLL_ERR_MEMORY;
    if (status == NBCOLL_OK)
        status = nbcoll_context_create(NBCOLL_ABI, NULL, &o->context);
    if (status == NBCOLL_OK)
        status = nbcoll_comm_create(o->context, end, NULL, &o->comm, DEADLINE);
    if (status != NBCOLL_OK)
        give_up("rank %d: nbcoll does not open: %s", w->rank, nbcoll_status_text(status));
    return o;
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

/* X(OPERATION, name, what goes before the communicator) */
#define VECTOR c->count, NBCOLL_FLOAT
#define CALL_LIST(X)                                                                                                   \
    X(BARRIER, barrier, )                                                                                              \
    X(BCAST, bcast, recv, VECTOR, 0, )                                                                                 \
    X(SCATTER, scatter, send, recv, VECTOR, 0, )                                                                       \
    X(GATHER, gather, send, recv, VECTOR, 0, )                                                                         \
    X(ALLGATHER, allgather, send, recv, VECTOR, )                                                                      \
    X(REDUCE, reduce, send, recv, VECTOR, NBCOLL_SUM, 0, )                                                             \
    X(ALLREDUCE, allreduce, send, recv, VECTOR, NBCOLL_SUM, )                                                          \
    X(ALLTOALL, alltoall, send, recv, VECTOR, )

#define BLOCK_CASE(OPERATION, name, ...)                                                                               \
    case NBCOLL_OPERATION_##OPERATION:                                                                                 \
        return nbcoll_##name(__VA_ARGS__ o->comm, DEADLINE);
#define START_CASE(OPERATION, name, ...)                                                                               \
    case NBCOLL_OPERATION_##OPERATION:                                                                                 \
        return nbcoll_i##name(__VA_ARGS__ o->comm, request);
#define INIT_CASE(OPERATION, name, ...)                                                                                \
    case NBCOLL_OPERATION_##OPERATION:                                                                                 \
        return nbcoll_##name##_init(__VA_ARGS__ o->comm, request);

static nbcoll_status block(const ours *o, const cell *c, float *send, float *recv)
{
    switch (c->operation) {
        CALL_LIST(BLOCK_CASE)
    default:
        return NBCOLL_ERR_ARGUMENT;
    }
}

static nbcoll_status start(const ours *o, const cell *c, float *send, float *recv, nbcoll_request *request)
{
    switch (c->operation) {
        CALL_LIST(START_CASE)
    default:
        return NBCOLL_ERR_ARGUMENT;
    }
}

static nbcoll_status init(const ours *o, const cell *c, float *send, float *recv, nbcoll_request *request)
{
    switch (c->operation) {
        CALL_LIST(INIT_CASE)
    default:
        return NBCOLL_ERR_ARGUMENT;
    }
}

static int call_blocking(entry *e, int turn)
{
    const call *k = e->user;
    return (int)block(k->ours, e->cell, e->buffers->send[turn], e->buffers->recv[turn]);
}

static int call_nonblocking(entry *e, int turn)
{
    const call *k = e->user;
    nbcoll_request request;
    nbcoll_status status = start(k->ours, e->cell, e->buffers->send[turn], e->buffers->recv[turn], &request);
    return (int)(status == NBCOLL_OK ? nbcoll_wait(&request, DEADLINE) : status);
}

static int call_persistent(entry *e, int turn)
{
    call *k = e->user;
    nbcoll_status status = nbcoll_start(&k->request[turn]);
    return (int)(status == NBCOLL_OK ? nbcoll_wait(&k->request[turn], DEADLINE) : status);
}

static int call_start(entry *e, int turn)
{
    call *k = e->user;
    return (int)nbcoll_start(&k->request[turn]);
}

static int call_start_new(entry *e, int turn)
{
    call *k = e->user;
    return (int)start(k->ours, e->cell, e->buffers->send[turn], e->buffers->recv[turn], &k->request[turn]);
}

static int call_wait(entry *e, int turn)
{
    call *k = e->user;
    return (int)nbcoll_wait(&k->request[turn], DEADLINE);
}

int ours_test(entry *e, int turn)
{
    call *k = e->user;
    return (int)nbcoll_test(&k->request[turn]);
}

static int open_requests(entry *e)
{
    call *k = e->user;
    nbcoll_status status = NBCOLL_OK;
    for (int i = 0; i < e->cell->turns && status == NBCOLL_OK; i++)
        status = init(k->ours, e->cell, e->buffers->send[i], e->buffers->recv[i], &k->request[i]);
    return (int)status;
}

static void close_call(entry *e)
{
    call *k = e->user;
    for (int i = 0; e->open && i < e->cell->turns; i++)
        nbcoll_request_free(&k->request[i]);
    free(k);
}

static void progress_call(void *user)
{
    const call *k = user;
    progress(k->ours);
}

int ours_entry(ours *o, entry *e, form which)
{
    static int (*const calls[ALL_FORMS])(entry *, int) = {call_blocking, call_nonblocking, call_persistent, call_start,
                                                          call_start_new};
    call *k = calloc(1, sizeof *k);
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
