/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Half round trips of a message over libfabric's provider alone and over the transport ofi, in turns, between two
 * processes of this machine by its loopback: bench/ofi [provider [bytes [batches]]]. Of each it prints the shortest and
 * the median of batches of 20.
 */
#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "nbcoll/ofi.h"

enum { BATCH = 20, MOST = 4096 };

typedef struct shared {
    char name[2][128];
    nbcoll_ofi_address all[2];
    atomic_int came[3];
} shared;

typedef struct raw {
    struct fid_ep *ep;
    struct fid_cq *cq;
    fi_addr_t to;
    char out[MOST], in[MOST];
    struct fi_context2 sent, received;
    int is_received, is_sent;
} raw;

static void must(int ok, const char *what)
{
    if (ok)
        return;
    fprintf(stderr, "bench/ofi: %s failed\n", what);
    exit(1);
}

static void meet(shared *s, int what)
{
    atomic_fetch_add(&s->came[what], 1);
    while (atomic_load(&s->came[what]) < 2)
        sched_yield();
}

static uint64_t now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* ---- the provider alone ------------------------------------------------------------------------------------------ */

static void raw_open(raw *r, const char *provider, shared *s, int rank)
{
    struct fi_info *hints = fi_allocinfo(), *info;
    struct fi_cq_attr queue = {.format = FI_CQ_FORMAT_MSG, .wait_obj = FI_WAIT_FD};
    struct fi_av_attr table = {.type = FI_AV_TABLE};
    struct fid_fabric *fabric;
    struct fid_domain *domain;
    struct fid_av *av;
    size_t bytes = sizeof s->name[0];

    hints->caps = FI_MSG;
    hints->mode = FI_CONTEXT | FI_CONTEXT2;
    hints->ep_attr->type = FI_EP_RDM;
    hints->fabric_attr->prov_name = strdup(provider);
    hints->domain_attr->threading = FI_THREAD_DOMAIN;
    hints->domain_attr->data_progress = hints->domain_attr->control_progress = FI_PROGRESS_MANUAL;
    must(fi_getinfo(FI_VERSION(1, 17), "127.0.0.1", NULL, FI_SOURCE, hints, &info) == 0, "fi_getinfo");
    must(fi_fabric(info->fabric_attr, &fabric, NULL) == 0 && fi_domain(fabric, info, &domain, NULL) == 0, "fi_domain");
    must(fi_cq_open(domain, &queue, &r->cq, NULL) == 0 && fi_av_open(domain, &table, &av, NULL) == 0, "fi_cq_open");
    must(fi_endpoint(domain, info, &r->ep, NULL) == 0 && fi_ep_bind(r->ep, &r->cq->fid, FI_SEND | FI_RECV) == 0 &&
             fi_ep_bind(r->ep, &av->fid, 0) == 0 && fi_enable(r->ep) == 0,
         "fi_endpoint");
    must(fi_getname(&r->ep->fid, s->name[rank], &bytes) == 0, "fi_getname");
    meet(s, 0);
    must(fi_av_insert(av, s->name[1 - rank], 1, &r->to, 0, NULL) == 1, "fi_av_insert");
    must(fi_recv(r->ep, r->in, MOST, NULL, FI_ADDR_UNSPEC, &r->received) == 0, "fi_recv");
}

static void raw_poll(raw *r)
{
    struct fi_cq_msg_entry c;
    if (fi_cq_read(r->cq, &c, 1) != 1)
        return;
    r->is_received |= c.op_context == &r->received;
    r->is_sent |= c.op_context == &r->sent;
}

static void raw_turn(void *user, int sends, size_t bytes)
{
    raw *r = user;

    if (sends) {
        while (fi_send(r->ep, r->out, bytes, NULL, r->to, &r->sent) == -FI_EAGAIN)
            raw_poll(r);
        for (r->is_sent = 0; !r->is_sent;)
            raw_poll(r);
        return;
    }
    while (!r->is_received)
        raw_poll(r);
    r->is_received = 0;
    must(fi_recv(r->ep, r->in, MOST, NULL, FI_ADDR_UNSPEC, &r->received) == 0, "fi_recv");
}

/* ---- the transport ----------------------------------------------------------------------------------------------- */

static nbcoll_endpoint *ours_open(const char *provider, shared *s, int rank)
{
    const nbcoll_ofi_config config = {
        .size = sizeof config, .rank = rank, .ranks = 2, .provider = provider, .address = "127.0.0.1"};
    nbcoll_endpoint *ep;

    must(nbcoll_ofi_open(&config, &s->all[rank], &ep) == NBCOLL_OK, "nbcoll_ofi_open");
    meet(s, 1);
    must(nbcoll_ofi_meet(ep, s->all) == NBCOLL_OK, "nbcoll_ofi_meet");
    return ep;
}

static void ours_turn(void *user, int sends, size_t bytes)
{
    static nbcoll_work work[64];
    static unsigned works;
    static int arrived;
    nbcoll_endpoint *ep = user;
    const nbcoll_header header = {{1}};
    const char payload[MOST] = {0};
    int done = 0;

    while (!done) {
        nbcoll_completions found = NBCOLL_COMPLETIONS_EMPTY;
        if (sends)
            done = ep->transport->post(ep, 1 - ep->rank, &header, payload, bytes, &work[works % 64]) !=
                   NBCOLL_POST_NOT_NOW;
        else if (arrived > 0)
            done = arrived--;
        if (!done || sends)
            ep->transport->progress(ep, &found);
        for (const nbcoll_arrival *a = found.arrived; a; a = a->next)
            arrived++;
    }
    works += (unsigned)sends;
}

/* ---- both -------------------------------------------------------------------------------------------------------- */

static uint64_t batch(void (*turn)(void *user, int sends, size_t bytes), void *user, int rank, size_t bytes)
{
    uint64_t since = now();

    for (int i = 0; i < BATCH; i++) {
        turn(user, rank == 0, bytes);
        turn(user, rank == 1, bytes);
    }
    return (now() - since) / (2 * BATCH);
}

static int by_size(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

int main(int argc, char **argv)
{
    const char *provider = argc > 1 ? argv[1] : "tcp;ofi_rxm";
    size_t bytes = argc > 2 ? (size_t)atoi(argv[2]) : 16;
    int batches = argc > 3 ? atoi(argv[3]) : 500;
    shared *s = mmap(NULL, sizeof *s, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    uint64_t *ns[2] = {calloc((size_t)batches, sizeof **ns), calloc((size_t)batches, sizeof **ns)};
    static raw r;

    must(s != MAP_FAILED && ns[0] && ns[1] && batches > 0 && bytes <= MOST - 64, "the beginning");
    int rank = fork() == 0;
    raw_open(&r, provider, s, rank);
    nbcoll_endpoint *ep = ours_open(provider, s, rank);
    for (int i = -10; i < batches; i++) { /* the first ones connect */
        uint64_t alone = batch(raw_turn, &r, rank, bytes + 64), ours = batch(ours_turn, ep, rank, bytes);
        ns[0][i < 0 ? 0 : i] = alone;
        ns[1][i < 0 ? 0 : i] = ours;
    }
    meet(s, 2);
    if (rank == 1)
        return 0;
    for (int k = 0; k < 2; k++) {
        qsort(ns[k], (size_t)batches, sizeof **ns, by_size);
        printf("%s, %zu bytes: shortest %.2f us, median %.2f us\n", k ? "ofi" : provider, bytes,
               (double)ns[k][0] / 1000, (double)ns[k][batches / 2] / 1000);
    }
    wait(NULL);
    return 0;
}
