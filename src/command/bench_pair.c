/* SPDX-License-Identifier: BSD-3-Clause
 * The point-to-point baseline: messages between two ranks, as schedules of their own over the same engine and transport
 * that carry the collectives. A round trip, and a window of messages one way that one word answers. */
#include <stdlib.h>
#include <string.h>

#include <nbcoll/schedule.h>

#include "bench.h"

#define MOST ((size_t)64 << 20) /* bytes of a window */

int bench_window(size_t bytes)
{
    size_t fit = bytes ? MOST / bytes : BENCH_WINDOW;
    return fit > BENCH_WINDOW ? BENCH_WINDOW : fit ? (int)fit : 1;
}

static nbcoll_addr send_at(size_t offset)
{
    return (nbcoll_addr){NBCOLL_BUFFER_SEND, offset};
}

static nbcoll_addr recv_at(size_t offset)
{
    return (nbcoll_addr){NBCOLL_BUFFER_RECV, offset};
}

static void build_round_trip(nbcoll_builder *b, int rank, size_t bytes)
{
    nbcoll_step mine = rank == 0 ? nbcoll_add_send(b, 1, send_at(0), bytes) : nbcoll_add_recv(b, 0, recv_at(0), bytes);
    nbcoll_step other = rank == 0 ? nbcoll_add_recv(b, 1, recv_at(0), bytes) : nbcoll_add_send(b, 0, send_at(0), bytes);
    nbcoll_after(b, other, mine);
}

static void build_window(nbcoll_builder *b, int rank, size_t bytes)
{
    if (rank == 0) {
        for (int i = 0; i < bench_window(bytes); i++)
            nbcoll_add_send(b, 1, send_at((size_t)i * bytes), bytes);
        nbcoll_add_recv(b, 1, recv_at(0), 0);
        return;
    }
    nbcoll_step answer = nbcoll_add_send(b, 0, send_at(0), 0);
    for (int i = 0; i < bench_window(bytes); i++)
        nbcoll_after(b, answer, nbcoll_add_recv(b, 0, recv_at((size_t)i * bytes), bytes));
}

typedef struct pair {
    nbcoll_comm *comm;
    int rank;
    size_t bytes;
    unsigned char *send, *recv;
    nbcoll_schedule *schedule;
    nbcoll_request request;
} pair;

static nbcoll_status open_form(pair *p, bench_form form)
{
    nbcoll_builder_config config = {.size = sizeof config, .rank = p->rank, .ranks = 2};
    nbcoll_builder *b;
    nbcoll_status status = nbcoll_builder_open(&config, &b);
    if (status != NBCOLL_OK)
        return status;
    if (form == BENCH_BLOCKING)
        build_round_trip(b, p->rank, p->bytes);
    else
        build_window(b, p->rank, p->bytes);
    status = nbcoll_builder_finish(b, &p->schedule);
    return status == NBCOLL_OK ? nbcoll_schedule_init(p->schedule, p->send, p->recv, p->comm, &p->request) : status;
}

static nbcoll_status once(pair *p, double *us)
{
    double at = bench_now();
    nbcoll_status status = nbcoll_start(&p->request);
    if (status == NBCOLL_OK)
        status = nbcoll_wait(&p->request, BENCH_DEADLINE);
    *us = bench_now() - at;
    return status;
}

static nbcoll_status measure_form(const bench_plan *plan, pair *p, bench_form form, double *samples)
{
    int n = plan->rounds * plan->iterations, warm = plan->iterations;
    double us = 0;
    nbcoll_status status = open_form(p, form);
    for (int i = -warm; i < n && status == NBCOLL_OK; i++)
        status = once(p, i < 0 ? &us : &samples[i]);
    if (status == NBCOLL_OK)
        status = nbcoll_request_free(&p->request);
    return status == NBCOLL_OK ? nbcoll_schedule_free(p->schedule) : status;
}

nbcoll_status bench_pair(const bench_plan *plan, bench_shared *shared, nbcoll_comm *comm)
{
    size_t bytes = plan->count * nbcoll_type_size(plan->reduction.type), all = bytes * (size_t)bench_window(bytes);
    pair p = {.comm = comm, .rank = nbcoll_comm_rank(comm), .bytes = bytes};
    p.send = malloc(all + 1);
    p.recv = malloc(all + 1);
    nbcoll_status status = p.send && p.recv ? NBCOLL_OK : NBCOLL_ERR_MEMORY;
    if (status == NBCOLL_OK) {
        memset(p.send, 0x3c, all); /* a page that was never written is no memory yet */
        memset(p.recv, 0x3c, all);
    }
    for (int form = BENCH_BLOCKING; form <= BENCH_NONBLOCKING && status == NBCOLL_OK; form++)
        status = measure_form(plan, &p, (bench_form)form,
                              bench_samples(plan, shared, p.rank, 0, (bench_form)form));
    if (status == NBCOLL_OK) { /* else peers may still read what is lent to them: the process ends */
        free(p.send);
        free(p.recv);
    }
    return status;
}
