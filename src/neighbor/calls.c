/* SPDX-License-Identifier: BSD-3-Clause
 * The calls, in their three forms. */
#include "neighbors.h"

typedef enum nbcolli_neighbor_form { NBCOLLI_NEIGHBOR_NOW, NBCOLLI_NEIGHBOR_LATER } nbcolli_neighbor_form;

static int nbcolli_spans_meet(const void *one, size_t bytes, const void *other, size_t others)
{
    uintptr_t a = (uintptr_t)one, b = (uintptr_t)other;
    return bytes && others && a < b + others && b < a + bytes;
}

static nbcoll_status nbcolli_neighbor_begin(nbcoll_neighbors *n, const nbcolli_neighbor_call *c, const void *send,
                                            void *recv, nbcolli_neighbor_form form, nbcoll_request *request)
{
    nbcolli_cached_call *e;

    if (!n || !request)
        return NBCOLL_ERR_NULL;
    if (send == NBCOLL_IN_PLACE || recv == NBCOLL_IN_PLACE)
        return NBCOLL_ERR_BUFFER;
    nbcoll_status s = nbcolli_cached_find(n, c, &e);
    if (s == NBCOLL_OK && !c->side[1].counts && nbcolli_spans_meet(send, e->sent, recv, e->received))
        s = NBCOLL_ERR_BUFFER;
    if (s != NBCOLL_OK)
        return s;
    return (form == NBCOLLI_NEIGHBOR_LATER ? nbcoll_schedule_init : nbcoll_schedule_start)(e->schedule, send, recv,
                                                                                           n->comm, request);
}

static void nbcolli_neighbor_left(nbcoll_request request, nbcoll_status status, void *user)
{
    (void)request, (void)status, (void)user;
}

/* At the timeout the operation is cancelled; it ends by itself. */
static nbcoll_status nbcolli_neighbor_wait(nbcoll_status s, nbcoll_request *request, uint64_t timeout)
{
    if (s == NBCOLL_OK)
        s = nbcoll_wait(request, timeout);
    if ((s == NBCOLL_ERR_TIMEOUT || s == NBCOLL_ERR_NO_SLOT) && request->at) {
        nbcoll_request left = *request;
        nbcoll_on_done(left, nbcolli_neighbor_left, NULL);
        nbcoll_cancel(left);
    }
    return s;
}

/* NBCOLLI_NEIGHBOR_FORMS(name, its arguments before the neighbours, kind, what is sent, what is received) */
#define NBCOLLI_UNPACKED(...) __VA_ARGS__
#define NBCOLLI_NEIGHBOR_FORMS(name, arguments, kind, sent, received)                                                  \
    nbcoll_status nbcoll_i##name(NBCOLLI_UNPACKED arguments, nbcoll_neighbors *neighbors, nbcoll_request *request)     \
    {                                                                                                                  \
        nbcolli_neighbor_call c = {kind, {{NBCOLLI_UNPACKED sent}, {NBCOLLI_UNPACKED received}}};                      \
        return nbcolli_neighbor_begin(neighbors, &c, send, recv, NBCOLLI_NEIGHBOR_NOW, request);                       \
    }                                                                                                                  \
    nbcoll_status nbcoll_##name##_init(NBCOLLI_UNPACKED arguments, nbcoll_neighbors *neighbors,                        \
                                       nbcoll_request *request)                                                        \
    {                                                                                                                  \
        nbcolli_neighbor_call c = {kind, {{NBCOLLI_UNPACKED sent}, {NBCOLLI_UNPACKED received}}};                      \
        return nbcolli_neighbor_begin(neighbors, &c, send, recv, NBCOLLI_NEIGHBOR_LATER, request);                     \
    }                                                                                                                  \
    nbcoll_status nbcoll_##name(NBCOLLI_UNPACKED arguments, nbcoll_neighbors *neighbors, uint64_t timeout)             \
    {                                                                                                                  \
        nbcolli_neighbor_call c = {kind, {{NBCOLLI_UNPACKED sent}, {NBCOLLI_UNPACKED received}}};                      \
        nbcoll_request mine = NBCOLL_REQUEST_NULL;                                                                     \
        return nbcolli_neighbor_wait(nbcolli_neighbor_begin(neighbors, &c, send, recv, NBCOLLI_NEIGHBOR_NOW, &mine),   \
                                     &mine, timeout);                                                                  \
    }

NBCOLLI_NEIGHBOR_FORMS(neighbor_allgather, (const void *send, void *recv, size_t count, nbcoll_type type),
                       NBCOLLI_NEIGHBOR_ALLGATHER, (.count = count, .type = type), (.count = count, .type = type))
NBCOLLI_NEIGHBOR_FORMS(neighbor_allgatherv,
                       (const void *send, size_t count, void *recv, const size_t counts[], const size_t displs[],
                        nbcoll_type type),
                       NBCOLLI_NEIGHBOR_ALLGATHERV, (.count = count, .type = type),
                       (.counts = counts, .displs = displs, .type = type))
NBCOLLI_NEIGHBOR_FORMS(neighbor_alltoall, (const void *send, void *recv, size_t count, nbcoll_type type),
                       NBCOLLI_NEIGHBOR_ALLTOALL, (.count = count, .type = type), (.count = count, .type = type))
NBCOLLI_NEIGHBOR_FORMS(neighbor_alltoallv,
                       (const void *send, const size_t send_counts[], const size_t send_displs[], void *recv,
                        const size_t recv_counts[], const size_t recv_displs[], nbcoll_type type),
                       NBCOLLI_NEIGHBOR_ALLTOALLV, (.counts = send_counts, .displs = send_displs, .type = type),
                       (.counts = recv_counts, .displs = recv_displs, .type = type))
NBCOLLI_NEIGHBOR_FORMS(neighbor_alltoallw,
                       (const void *send, const size_t send_counts[], const size_t send_displs[],
                        const nbcoll_type send_types[], void *recv, const size_t recv_counts[],
                        const size_t recv_displs[], const nbcoll_type recv_types[]),
                       NBCOLLI_NEIGHBOR_ALLTOALLW, (.counts = send_counts, .displs = send_displs, .types = send_types),
                       (.counts = recv_counts, .displs = recv_displs, .types = recv_types))
