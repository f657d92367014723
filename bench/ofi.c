/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Half round trips of a message, in turns: over plain sockets; over libfabric's provider alone, as a message and as a
 * write; and, as far as one message goes, over the transport ofi. Between two processes, by this machine's loopback or
 * between two network namespaces, SPACE0 at 10.99.0.1 and SPACE1 at 10.99.0.2 (bench/hosts.py makes them):
 *
 *     ofi [PROVIDER [BYTES [BATCHES [SPACE]]]]
 *
 * Of each it prints the shortest and the median of batches. A write is complete when it can be read at the other side;
 * then a message of 64 bytes follows: so the transport moves large data.
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "nbcoll/ofi.h"

enum { FRONT = 64, WAYS = 4 };

typedef struct shared {
    char name[2][128];
    uint64_t at[2], key[2];
    struct sockaddr_in listener;
    nbcoll_ofi_address all[2];
    atomic_int came[4];
} shared;

/* One side; also what a way of sending is given. */
typedef struct side {
    shared *s;
    const char *provider, *address;
    int rank;
    size_t bytes;
    char *out, *in;
    int socket;
    struct fid_ep *ep;
    struct fid_cq *cq;
    fi_addr_t to;
    struct fi_context2 context[3]; /* of a send, a receive, a write */
    int is_done[3];
    nbcoll_endpoint *ours;
} side;

enum { SENT, RECEIVED, WRITTEN };

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

/* ---- sockets ----------------------------------------------------------------------------------------------------- */

static void socket_open(side *m)
{
    struct sockaddr_in *at = &m->s->listener;
    socklen_t length = sizeof *at;
    int fd = socket(AF_INET, SOCK_STREAM, 0), yes = 1;

    if (m->rank == 0) {
        *at = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = inet_addr(m->address)};
        must(bind(fd, (void *)at, sizeof *at) == 0 && listen(fd, 1) == 0 && getsockname(fd, (void *)at, &length) == 0,
             "listen");
    }
    meet(m->s, 0);
    m->socket = m->rank == 0 ? accept(fd, NULL, NULL) : connect(fd, (void *)at, sizeof *at) == 0 ? fd : -1;
    must(m->socket >= 0 && setsockopt(m->socket, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes) == 0, "connect");
}

static void socket_turn(side *m, int sends)
{
    for (size_t at = 0; at < m->bytes;) {
        ssize_t n = sends ? send(m->socket, m->out + at, m->bytes - at, MSG_DONTWAIT)
                          : recv(m->socket, m->in + at, m->bytes - at, MSG_DONTWAIT);
        at += n > 0 ? (size_t)n : 0;
    }
}

/* ---- the provider alone ------------------------------------------------------------------------------------------ */

static void receive(side *m)
{
    must(fi_recv(m->ep, m->in, m->bytes, NULL, FI_ADDR_UNSPEC, &m->context[RECEIVED]) == 0, "fi_recv");
}

static void provider_open(side *m)
{
    struct fi_info *hints = fi_allocinfo(), *info;
    struct fi_cq_attr queue = {.format = FI_CQ_FORMAT_MSG, .wait_obj = FI_WAIT_FD};
    struct fi_av_attr table = {.type = FI_AV_TABLE};
    struct fid_fabric *fabric;
    struct fid_domain *domain;
    struct fid_av *av;
    struct fid_mr *mr;
    size_t length = sizeof m->s->name[0];

    hints->caps = FI_MSG | FI_RMA;
    hints->mode = FI_CONTEXT | FI_CONTEXT2;
    hints->ep_attr->type = FI_EP_RDM;
    hints->fabric_attr->prov_name = strdup(m->provider);
    hints->domain_attr->threading = FI_THREAD_DOMAIN;
    hints->domain_attr->data_progress = hints->domain_attr->control_progress = FI_PROGRESS_MANUAL;
    must(fi_getinfo(FI_VERSION(1, 17), m->address, NULL, FI_SOURCE, hints, &info) == 0, "fi_getinfo");
    must(fi_fabric(info->fabric_attr, &fabric, NULL) == 0 && fi_domain(fabric, info, &domain, NULL) == 0, "fi_domain");
    must(fi_cq_open(domain, &queue, &m->cq, NULL) == 0 && fi_av_open(domain, &table, &av, NULL) == 0, "fi_cq_open");
    must(fi_endpoint(domain, info, &m->ep, NULL) == 0 && fi_ep_bind(m->ep, &m->cq->fid, FI_SEND | FI_RECV) == 0 &&
             fi_ep_bind(m->ep, &av->fid, 0) == 0 && fi_enable(m->ep) == 0,
         "fi_endpoint");
    must(fi_getname(&m->ep->fid, m->s->name[m->rank], &length) == 0, "fi_getname");
    must(fi_mr_reg(domain, m->in, m->bytes, FI_REMOTE_WRITE, 0, 1, 0, &mr, NULL) == 0, "fi_mr_reg");
    m->s->key[m->rank] = fi_mr_key(mr);
    m->s->at[m->rank] = info->domain_attr->mr_mode & FI_MR_VIRT_ADDR ? (uintptr_t)m->in : 0;
    meet(m->s, 1);
    must(fi_av_insert(av, m->s->name[1 - m->rank], 1, &m->to, 0, NULL) == 1, "fi_av_insert");
    receive(m);
}

static void poll_for(side *m, int what)
{
    struct fi_cq_msg_entry c;

    while (!m->is_done[what])
        if (fi_cq_read(m->cq, &c, 1) == 1)
            m->is_done[(struct fi_context2 *)c.op_context - m->context] = 1;
    m->is_done[what] = 0;
}

static void read_once(side *m)
{
    struct fi_cq_msg_entry c;

    if (fi_cq_read(m->cq, &c, 1) == 1)
        m->is_done[(struct fi_context2 *)c.op_context - m->context] = 1;
}

static void send_bytes(side *m, size_t bytes)
{
    while (fi_send(m->ep, m->out, bytes, NULL, m->to, &m->context[SENT]) == -FI_EAGAIN)
        read_once(m);
    poll_for(m, SENT);
}

static void provider_turn(side *m, int sends)
{
    if (sends)
        send_bytes(m, m->bytes);
    else {
        poll_for(m, RECEIVED);
        receive(m);
    }
}

static void write_turn(side *m, int sends)
{
    struct iovec part = {m->out, m->bytes};
    struct fi_rma_iov there = {m->s->at[1 - m->rank], m->bytes, m->s->key[1 - m->rank]};
    struct fi_msg_rma what = {.msg_iov = &part,
                              .iov_count = 1,
                              .addr = m->to,
                              .rma_iov = &there,
                              .rma_iov_count = 1,
                              .context = &m->context[WRITTEN]};

    if (!sends) {
        provider_turn(m, 0);
        return;
    }
    while (fi_writemsg(m->ep, &what, FI_DELIVERY_COMPLETE | FI_COMPLETION) == -FI_EAGAIN)
        read_once(m);
    poll_for(m, WRITTEN);
    send_bytes(m, FRONT);
}

/* ---- the transport ----------------------------------------------------------------------------------------------- */

static void ours_open(side *m)
{
    const nbcoll_ofi_config config = {
        .size = sizeof config, .rank = m->rank, .ranks = 2, .provider = m->provider, .address = m->address};

    must(nbcoll_ofi_open(&config, &m->s->all[m->rank], &m->ours) == NBCOLL_OK, "nbcoll_ofi_open");
    meet(m->s, 2);
    must(nbcoll_ofi_meet(m->ours, m->s->all) == NBCOLL_OK, "nbcoll_ofi_meet");
}

static void ours_turn(side *m, int sends)
{
    static nbcoll_work work[64];
    static unsigned works;
    static int arrived;
    nbcoll_endpoint *ep = m->ours;
    const nbcoll_header header = {{1}};
    int done = 0;

    while (!done) {
        nbcoll_completions found = NBCOLL_COMPLETIONS_EMPTY;
        if (sends)
            done = ep->transport->post(ep, 1 - ep->rank, &header, m->out, m->bytes - FRONT, &work[works % 64]) !=
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

/* ---- all --------------------------------------------------------------------------------------------------------- */

typedef void turn(side *m, int sends);

static turn *const ways[WAYS] = {socket_turn, provider_turn, write_turn, ours_turn};
static const char *const names[WAYS] = {"sockets", "provider", "write", "ofi"};

/* Nanoseconds of half a round trip. */
static uint64_t batch(turn *way, side *m, int trips)
{
    uint64_t since = now();

    for (int i = 0; i < trips; i++) {
        way(m, m->rank == 0);
        way(m, m->rank == 1);
    }
    return (now() - since) / (2 * (uint64_t)trips);
}

static int by_size(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

static void enter(const char *space, int rank)
{
    char name[256];

    snprintf(name, sizeof name, "/run/netns/%s%d", space, rank);
    int fd = open(name, O_RDONLY | O_CLOEXEC);
    must(fd >= 0 && setns(fd, CLONE_NEWNET) == 0, name);
    close(fd);
}

/* On a core of its own, before ordinary programs. */
static void settle(int core)
{
    const struct sched_param first = {.sched_priority = 1};
    cpu_set_t set;

    CPU_ZERO(&set);
    CPU_SET(core, &set);
    if (sched_setaffinity(0, sizeof set, &set) != 0 || sched_setscheduler(0, SCHED_FIFO, &first) != 0)
        fprintf(stderr, "bench/ofi: other programs may take this one's cores\n");
}

int main(int argc, char **argv)
{
    const char *space = argc > 4 ? argv[4] : NULL;
    int batches = argc > 3 ? atoi(argv[3]) : 500;
    side m = {.s = mmap(NULL, sizeof *m.s, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0),
              .provider = argc > 1 ? argv[1] : "tcp;ofi_rxm",
              .bytes = FRONT + (argc > 2 ? strtoul(argv[2], NULL, 10) : 16)};
    uint64_t *ns[WAYS];

    m.rank = fork() == 0;
    m.address = !space ? "127.0.0.1" : m.rank ? "10.99.0.2" : "10.99.0.1";
    if (space)
        enter(space, m.rank);
    settle(m.rank);
    m.out = calloc(1, m.bytes);
    m.in = calloc(1, m.bytes);
    must(m.s != MAP_FAILED && m.out && m.in && batches > 0, "the beginning");
    socket_open(&m);
    provider_open(&m);
    ours_open(&m);
    int all = m.bytes - FRONT <= m.ours->limits.payload ? WAYS : WAYS - 1, trips = m.bytes > 1 << 20 ? 2 : 20;
    for (int w = 0; w < WAYS; w++)
        must((ns[w] = calloc((size_t)batches, sizeof **ns)) != NULL, "calloc");
    for (int i = -3; i < batches; i++) /* the first ones connect */
        for (int w = 0; w < all; w++)
            ns[w][i < 0 ? 0 : i] = batch(ways[w], &m, trips);
    meet(m.s, 3);
    if (m.rank == 1)
        return 0;
    for (int w = 0; w < all; w++) {
        qsort(ns[w], (size_t)batches, sizeof **ns, by_size);
        printf("%zu bytes, %s: shortest %.2f us, median %.2f us\n", m.bytes - FRONT, names[w],
               (double)ns[w][0] / 1000, (double)ns[w][batches / 2] / 1000);
    }
    wait(NULL);
    return 0;
}
