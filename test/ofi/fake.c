/* SPDX-License-Identifier: BSD-3-Clause
 * See fake.h. */
#include <errno.h>
#include <pthread.h>
#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

#include "crew.h"
#include "fake.h"

enum { KEY_MOST = 32, RAW_MOST = 4096, KEY_OF_FIRST_MAP = 1 << 20 };

fake fake_provider;

typedef struct domain {
    struct fid_domain fid; /* first */
    struct mr *mrs;
    uint64_t mapped[RAW_MOST]; /* number of the region; 0: free */
} domain;

typedef struct cq {
    struct fid_cq fid; /* first */
    struct done *first;
    int fd; /* -1: none */
    int rank;
} cq;

typedef struct done { /* a completion */
    struct done *next;
    uint64_t at;
    void *context;
    size_t bytes;
    int error;
} done;

typedef struct receive {
    struct receive *next;
    void *to, *context;
    size_t bytes;
} receive;

typedef struct end {
    struct fid_ep fid; /* first */
    struct end *next;
    uint64_t number;
    domain *domain;
    cq *cq;
    receive *receives, **last;
    bool is_dead, is_selective;
} end;

typedef struct mr {
    struct fid_mr fid; /* first */
    struct mr *next;
    domain *domain;
    end *end; /* that it is bound to */
    char *memory;
    size_t bytes;
    uint64_t access, number;
} mr;

typedef struct packet {
    struct packet *next;
    uint64_t at, from, to; /* numbers of endpoints */
    cq *cq;                /* of its sender; null: gone */
    void *context;
    bool is_write, is_quiet; /* nobody is told of its end */
    bool fails, is_dropped;
    const char *source; /* of a write */
    uint64_t where, key;
    size_t bytes;
    char data[];
} packet;

static pthread_mutex_t lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP; /* held in each call */
static uint64_t step, numbers;
static end *ends;
static packet *packets; /* in the order of their posts */
static int open_count, mapped_count;

static uint64_t any(uint64_t below)
{
    return below ? random_of(&fake_provider.seed) % below : 0;
}

static bool by_chance(unsigned of_1000)
{
    return any(1000) < of_1000;
}

static bool takes(int *count)
{
    bool is_one = *count > 0 && (!fake_provider.world || fake_provider.world->caller() == fake_provider.only);
    *count -= is_one;
    return is_one;
}

static void unlock(const int *held)
{
    (void)held;
    pthread_mutex_unlock(&lock);
}

static int locked(void)
{
    return pthread_mutex_lock(&lock);
}

static int begun(void)
{
    if (fake_provider.world)
        fake_provider.world->enters();
    return locked();
}
#define IN_TURN __attribute__((cleanup(unlock))) int held = begun()

static void must(bool holds, const char *what)
{
    if (fake_provider.world && !holds)
        fake_provider.world->finds(fake_provider.world->caller(), what);
    else
        assert_true(holds);
}
#define MUST(condition) must(condition, #condition)

static uint64_t now(void)
{
    return fake_provider.world ? fake_provider.world->now() : step;
}

/* ---- completions ------------------------------------------------------------------------------------------------- */

static void ring(const cq *q, uint64_t at)
{
    if (fake_provider.world)
        fake_provider.world->rings(q->rank, at);
    else if (q->fd >= 0)
        (void)!write(q->fd, &(uint64_t){1}, sizeof(uint64_t));
}

static void complete(cq *q, void *context, size_t bytes, int error, uint64_t at)
{
    done *d = malloc(sizeof *d), **before = &q->first;

    *d = (done){NULL, at, context, bytes, error};
    while (*before && (*before)->at <= at)
        before = &(*before)->next;
    d->next = *before;
    *before = d;
    ring(q, at);
}

static end *end_that_was(uint64_t number)
{
    end *e = ends;
    while (e && e->number != number)
        e = e->next;
    return e;
}

static end *end_of(uint64_t number)
{
    end *e = end_that_was(number);
    return e && !e->is_dead ? e : NULL;
}

/* ---- delivery ---------------------------------------------------------------------------------------------------- */

static mr *region_of(const packet *p, const end *to)
{
    domain *mapping = end_that_was(p->from)->domain;
    uint64_t number = p->key;

    if (fake_provider.mr_mode & FI_MR_RAW)
        number = number - KEY_OF_FIRST_MAP < RAW_MOST ? mapping->mapped[number - KEY_OF_FIRST_MAP] : 0;
    for (mr *m = to->domain->mrs; m; m = m->next) {
        uint64_t key = fake_provider.mr_mode & FI_MR_RAW ? m->number : m->fid.key;
        bool is_bound = !(fake_provider.mr_mode & FI_MR_ENDPOINT) || m->end == to;
        uint64_t at = fake_provider.mr_mode & FI_MR_VIRT_ADDR ? p->where - (uintptr_t)m->memory : p->where;
        if (key == number && m->access & FI_REMOTE_WRITE && is_bound && at <= m->bytes && p->bytes <= m->bytes - at)
            return m;
    }
    return NULL;
}

static int write_it(const packet *p, const end *to)
{
    mr *m = to ? region_of(p, to) : NULL;

    if (p->fails || !m)
        return to ? FI_EACCES : FI_ECONNRESET;
    memcpy(fake_provider.mr_mode & FI_MR_VIRT_ADDR ? (char *)(uintptr_t)p->where : m->memory + p->where, p->source,
           p->bytes);
    return 0;
}

static void receive_it(const packet *p, end *to)
{
    receive *r = to->receives;

    to->receives = r->next;
    if (!to->receives)
        to->last = &to->receives;
    MUST(p->bytes <= r->bytes);
    memcpy(r->to, p->data, p->bytes);
    complete(to->cq, r->context, p->bytes, 0, 0);
    free(r);
}

static bool is_first(const packet *p)
{
    const packet *before = packets;
    while (before != p && (before->from != p->from || before->to != p->to))
        before = before->next;
    return before == p;
}

/* What is due at the endpoints of a queue, or is for nobody. Of a pair nothing overtakes what was posted before. */
static void deliver(cq *q)
{
    for (packet **at = &packets; *at;) {
        packet *p = *at;
        end *to = p->at > now() ? NULL : end_of(p->to);
        if (p->at > now() || (to && (to->cq != q || (!p->is_write && !to->receives))) || !is_first(p)) {
            at = &p->next;
            continue;
        }
        int error = p->is_write ? write_it(p, to) : to ? 0 : FI_ECONNREFUSED;
        if (!p->is_write && to && !p->is_dropped)
            receive_it(p, to);
        if (!p->is_quiet && p->cq)
            complete(p->cq, p->context, 0, error, now() + any(fake_provider.late));
        *at = p->next;
        free(p);
    }
}

static ssize_t cq_read(struct fid_cq *fid, void *buffer, size_t count)
{
    IN_TURN;
    cq *q = (cq *)(void *)fid;
    struct fi_cq_msg_entry *entry = buffer;
    size_t n = 0;

    step++;
    deliver(q);
    for (done *d; n < count && (d = q->first) && d->at <= now() && !d->error; n++, free(d)) {
        entry[n] = (struct fi_cq_msg_entry){.op_context = d->context, .len = d->bytes};
        q->first = d->next;
    }
    if (n == 0 && q->first && q->first->at <= now())
        return -FI_EAVAIL;
    return n ? (ssize_t)n : -FI_EAGAIN;
}

static ssize_t cq_error(struct fid_cq *fid, struct fi_cq_err_entry *said, uint64_t flags)
{
    IN_TURN;
    cq *q = (cq *)(void *)fid;
    done *d = q->first;

    (void)flags;
    if (!d || !d->error)
        return -FI_EAGAIN;
    said->op_context = d->context;
    said->err = d->error;
    q->first = d->next;
    free(d);
    return 1;
}

/* ---- posts ------------------------------------------------------------------------------------------------------- */

/* Are the bytes registered, where that must be? */
static void is_described(const void *at, size_t bytes, const void *desc)
{
    const mr *m = desc;

    if (fake_provider.mr_mode & FI_MR_LOCAL && bytes)
        MUST(m && (const char *)at >= m->memory && (const char *)at + bytes <= m->memory + m->bytes);
}

static packet *post(end *e, uint64_t to, size_t bytes, size_t kept)
{
    packet *p = calloc(1, sizeof *p + kept), **last = &packets;
    end *there = end_of(to);
    bool is_own = fake_provider.world && there && there->domain == e->domain; /* how it finds what a write takes */

    *p = (packet){.at = now() + any(is_own ? 1000 : fake_provider.late),
                  .from = e->number,
                  .to = to,
                  .cq = e->cq,
                  .bytes = bytes};
    if (fake_provider.world && there)
        p->at = fake_provider.world->passes(e->cq->rank, there->cq->rank, p->at);
    for (; *last; last = &(*last)->next)
        if ((*last)->from == p->from && (*last)->to == to && (*last)->at > p->at)
            p->at = (*last)->at;
    *last = p;
    ring(there ? there->cq : e->cq, p->at);
    return p;
}

static ssize_t ep_receive(struct fid_ep *fid, void *to, size_t bytes, void *desc, fi_addr_t from, void *context)
{
    IN_TURN;
    end *e = (end *)(void *)fid;

    (void)from;
    if (by_chance(fake_provider.refused))
        return -FI_EAGAIN;
    is_described(to, bytes, desc);
    receive *r = malloc(sizeof *r);
    *r = (receive){NULL, to, context, bytes};
    *e->last = r;
    e->last = &r->next;
    return 0;
}

static ssize_t ep_send(struct fid_ep *fid, const void *from, size_t bytes, void *desc, fi_addr_t to, void *context)
{
    IN_TURN;
    end *e = (end *)(void *)fid;

    if (by_chance(fake_provider.refused))
        return -FI_EAGAIN;
    is_described(from, bytes, desc);
    if (takes(&fake_provider.failed_sends)) {
        complete(e->cq, context, 0, FI_EIO, now() + any(fake_provider.late));
        return 0;
    }
    bool is_early = by_chance(300); /* completed before it has gone anywhere */
    packet *p = post(e, to, bytes, bytes);
    p->is_dropped = takes(&fake_provider.dropped);
    p->context = context;
    p->is_quiet = is_early;
    memcpy(p->data, from, bytes);
    if (is_early)
        complete(e->cq, context, 0, 0, now() + any(fake_provider.late));
    return 0;
}

static ssize_t ep_inject(struct fid_ep *fid, const void *from, size_t bytes, fi_addr_t to)
{
    IN_TURN;
    if (by_chance(fake_provider.refused))
        return -FI_EAGAIN;
    MUST(bytes <= fake_provider.inject);
    packet *p = post((end *)(void *)fid, to, bytes, bytes);
    p->is_quiet = true;
    memcpy(p->data, from, bytes);
    return 0;
}

/* Copies it, and tells of failures only. */
static ssize_t ep_send_message(struct fid_ep *fid, const struct fi_msg *what, uint64_t flags)
{
    IN_TURN;
    end *e = (end *)(void *)fid;

    MUST(flags == FI_INJECT && what->iov_count == 1 && e->is_selective);
    if (takes(&fake_provider.failed_sends)) {
        complete(e->cq, what->context, 0, FI_EIO, now() + any(fake_provider.late));
        return 0;
    }
    bool is_dropped = takes(&fake_provider.dropped);
    ssize_t said = ep_inject(fid, what->msg_iov->iov_base, what->msg_iov->iov_len, what->addr);
    for (packet *p = packets; is_dropped && said == 0 && p; p = p->next)
        if (!p->next)
            p->is_dropped = true;
    return said;
}

static ssize_t ep_write(struct fid_ep *fid, const struct fi_msg_rma *what, uint64_t flags)
{
    IN_TURN;
    if (by_chance(fake_provider.refused))
        return -FI_EAGAIN;
    MUST(flags & FI_DELIVERY_COMPLETE && what->iov_count == 1);
    MUST(!fake_provider.piece || what->msg_iov->iov_len <= fake_provider.piece);
    is_described(what->msg_iov->iov_base, what->msg_iov->iov_len, what->desc[0]);
    packet *p = post((end *)(void *)fid, what->addr, what->msg_iov->iov_len, 0);
    p->is_write = true;
    p->fails = takes(&fake_provider.failed_writes);
    p->context = what->context;
    p->source = what->msg_iov->iov_base;
    p->where = what->rma_iov->addr;
    p->key = what->rma_iov->key;
    return 0;
}

/* ---- what is open ------------------------------------------------------------------------------------------------ */

static void *opened(size_t bytes, struct fi_ops *ops)
{
    IN_TURN;
    struct fid *made = calloc(1, bytes);
    made->ops = ops;
    open_count++;
    return made;
}

static int close_any(struct fid *fid)
{
    IN_TURN;
    open_count--;
    free(fid);
    return 0;
}

static int close_queue(struct fid *fid)
{
    IN_TURN;
    cq *q = (cq *)(void *)fid;

    for (end *e = ends; e; e = e->next)
        MUST(e->cq != q);
    for (done *d; (d = q->first); free(d))
        q->first = d->next;
    if (q->fd >= 0 && !fake_provider.world)
        close(q->fd);
    return close_any(fid);
}

static int close_region(struct fid *fid)
{
    IN_TURN;
    mr *m = (mr *)(void *)fid, **at = &m->domain->mrs;

    while (*at != m)
        at = &(*at)->next;
    *at = m->next;
    return close_any(fid);
}

/* What it has sent, and has not gone, is lost, though it was completed. */
static int close_end(struct fid *fid)
{
    IN_TURN;
    end *e = (end *)(void *)fid, **before = &ends;

    for (packet **at = &packets; *at;) {
        packet *p = *at;
        if (p->to == e->number && p->cq)
            ring(p->cq, p->at);
        if (p->from != e->number) {
            at = &p->next;
            continue;
        }
        *at = p->next;
        free(p);
    }
    for (receive *r; (r = e->receives); free(r))
        e->receives = r->next;
    while (*before != e)
        before = &(*before)->next;
    *before = e->next;
    return close_any(fid);
}

static int end_bind(struct fid *fid, struct fid *to, uint64_t flags)
{
    end *e = (end *)(void *)fid;

    if (flags)
        e->cq = (cq *)(void *)to;
    e->is_selective |= (flags & FI_SEND && flags & FI_SELECTIVE_COMPLETION);
    return 0;
}

static int region_bind(struct fid *fid, struct fid *to, uint64_t flags)
{
    (void)flags;
    ((mr *)(void *)fid)->end = (end *)(void *)to;
    return 0;
}

static int enable(struct fid *fid, int command, void *what)
{
    (void)fid, (void)what;
    return command == FI_ENABLE ? 0 : -FI_ENOSYS;
}

static int queue_control(struct fid *fid, int command, void *what)
{
    const cq *q = (cq *)(void *)fid;

    if (command != FI_GETWAIT || q->fd < 0)
        return -FI_ENOSYS;
    *(int *)what = q->fd;
    return 0;
}

static int region_control(struct fid *fid, int command, void *what)
{
    const mr *m = (mr *)(void *)fid;
    const struct fi_mr_raw_attr *raw = what;

    if (command == FI_ENABLE)
        return 0;
    MUST(command == FI_GET_RAW_MR && fake_provider.mr_mode & FI_MR_RAW);
    MUST(*raw->key_size >= fake_provider.key_bytes);
    *raw->key_size = fake_provider.key_bytes;
    *raw->base_addr = fake_provider.mr_mode & FI_MR_VIRT_ADDR ? (uintptr_t)m->memory : 0;
    memset(raw->raw_key, 0xa5, fake_provider.key_bytes);
    memcpy(raw->raw_key + fake_provider.key_bytes - sizeof m->number, &m->number, sizeof m->number);
    return 0;
}

static int domain_control(struct fid *fid, int command, void *what)
{
    IN_TURN;
    domain *d = (domain *)(void *)fid;
    const struct fi_mr_map_raw *map = what;
    int i = 0;

    if (command == FI_UNMAP_KEY) {
        uint64_t key = *(uint64_t *)what - KEY_OF_FIRST_MAP;
        MUST(key < RAW_MOST && d->mapped[key]);
        d->mapped[key] = 0;
        mapped_count--;
        return 0;
    }
    MUST(command == FI_MAP_RAW_MR && map->key_size == fake_provider.key_bytes);
    for (size_t k = 0; k < map->key_size - sizeof(uint64_t); k++)
        MUST(map->raw_key[k] == 0xa5);
    while (d->mapped[i])
        i++;
    mapped_count++;
    memcpy(&d->mapped[i], map->raw_key + map->key_size - sizeof(uint64_t), sizeof(uint64_t));
    *map->key = (uint64_t)i + KEY_OF_FIRST_MAP;
    return 0;
}

static struct fi_ops plain_ops = {.size = sizeof plain_ops, .close = close_any};
static struct fi_ops queue_ops = {.size = sizeof queue_ops, .close = close_queue, .control = queue_control};
static struct fi_ops end_ops = {.size = sizeof end_ops, .close = close_end, .bind = end_bind, .control = enable};
static struct fi_ops region_ops = {
    .size = sizeof region_ops, .close = close_region, .bind = region_bind, .control = region_control};
static struct fi_ops domain_ops = {.size = sizeof domain_ops, .close = close_any, .control = domain_control};

/* ---- opening ----------------------------------------------------------------------------------------------------- */

static int end_name(struct fid *fid, void *to, size_t *bytes)
{
    MUST(*bytes >= sizeof(uint64_t));
    memcpy(to, &((end *)(void *)fid)->number, sizeof(uint64_t));
    *bytes = sizeof(uint64_t);
    return 0;
}

static int end_open(struct fid_domain *in, struct fi_info *info, struct fid_ep **out, void *context)
{
    IN_TURN;
    static struct fi_ops_msg msg = {.size = sizeof msg, .recv = ep_receive, .send = ep_send, .inject = ep_inject, .sendmsg = ep_send_message};
    static struct fi_ops_rma rma = {.size = sizeof rma, .writemsg = ep_write};
    static struct fi_ops_cm cm = {.size = sizeof cm, .getname = end_name};
    if (takes(&fake_provider.refused_endpoints))
        return -FI_ENOMEM;
    end *e = opened(sizeof *e, &end_ops);

    (void)info, (void)context;
    e->fid.msg = &msg;
    e->fid.rma = &rma;
    e->fid.cm = &cm;
    e->number = ++numbers;
    e->domain = (domain *)(void *)in;
    e->last = &e->receives;
    e->next = ends;
    ends = e;
    *out = &e->fid;
    return 0;
}

static int addresses_insert(struct fid_av *av, const void *at, size_t count, fi_addr_t *to, uint64_t flags,
                            void *context)
{
    (void)av, (void)flags, (void)context;
    MUST(count == 1);
    memcpy(to, at, sizeof *to);
    return 1;
}

static int addresses_open(struct fid_domain *in, struct fi_av_attr *how, struct fid_av **out, void *context)
{
    static struct fi_ops_av ops = {.size = sizeof ops, .insert = addresses_insert};

    (void)in, (void)how, (void)context;
    *out = opened(sizeof **out, &plain_ops);
    (*out)->ops = &ops;
    return 0;
}

static int queue_open(struct fid_domain *in, struct fi_cq_attr *how, struct fid_cq **out, void *context)
{
    static struct fi_ops_cq ops = {.size = sizeof ops, .read = cq_read, .readerr = cq_error};
    bool wants_fd = how->wait_obj == FI_WAIT_FD;

    (void)in, (void)context;
    if (wants_fd && !fake_provider.has_fd)
        return -FI_ENOSYS;
    cq *q = opened(sizeof *q, &queue_ops);
    q->rank = fake_provider.world ? fake_provider.world->caller() : 0;
    q->fd = !wants_fd ? -1 : fake_provider.world ? FAKE_FD + q->rank : eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    q->fid.ops = &ops;
    *out = &q->fid;
    return 0;
}

static int region_open(struct fid *in, const void *memory, size_t bytes, uint64_t access, uint64_t offset, uint64_t key,
                       uint64_t flags, struct fid_mr **out, void *context)
{
    IN_TURN;
    if (takes(&fake_provider.refused_regions))
        return -FI_ENOMEM;
    mr *m = opened(sizeof *m, &region_ops);
    int mode = fake_provider.mr_mode;

    (void)offset, (void)flags, (void)context;
    m->domain = (domain *)(void *)in;
    m->memory = (char *)(uintptr_t)memory;
    m->bytes = bytes;
    m->access = access;
    m->number = ++numbers;
    m->fid.mem_desc = m;
    m->fid.key = mode & FI_MR_RAW ? FI_KEY_NOTAVAIL : mode & FI_MR_PROV_KEY ? m->number * 977 : key;
    m->next = m->domain->mrs;
    m->domain->mrs = m;
    *out = &m->fid;
    return 0;
}

static int domain_open(struct fid_fabric *in, struct fi_info *info, struct fid_domain **out, void *context)
{
    static struct fi_ops_domain ops = {
        .size = sizeof ops, .av_open = addresses_open, .cq_open = queue_open, .endpoint = end_open};
    static struct fi_ops_mr regions = {.size = sizeof regions, .reg = region_open};
    domain *d = opened(sizeof *d, &domain_ops);

    (void)in, (void)info, (void)context;
    d->fid.ops = &ops;
    d->fid.mr = &regions;
    *out = &d->fid;
    return 0;
}

/* Nobody may sleep while there is something that a read would bring nearer. */
static int may_wait(struct fid_fabric *in, struct fid **fids, int count)
{
    IN_TURN;
    const cq *q = (cq *)(void *)fids[0];
    uint64_t rung;

    (void)in, (void)count;
    if (fake_provider.world)
        return fake_next(q->rank) <= now() ? -FI_EAGAIN : 0;
    (void)!read(q->fd, &rung, sizeof rung);
    for (const packet *p = packets; p; p = p->next) {
        const end *to = end_of(p->to);
        if (!to || to->cq == q)
            return -FI_EAGAIN;
    }
    return q->first ? -FI_EAGAIN : 0;
}

int __wrap_fi_fabric(struct fi_fabric_attr *attr, struct fid_fabric **out, void *context);
int __wrap_fi_fabric(struct fi_fabric_attr *attr, struct fid_fabric **out, void *context)
{
    static struct fi_ops_fabric ops = {.size = sizeof ops, .domain = domain_open, .trywait = may_wait};

    (void)attr, (void)context;
    *out = opened(sizeof **out, &plain_ops);
    (*out)->ops = &ops;
    return 0;
}

int __wrap_fi_getinfo(uint32_t version, const char *node, const char *service, uint64_t flags,
                      const struct fi_info *hints, struct fi_info **out);
int __wrap_fi_getinfo(uint32_t version, const char *node, const char *service, uint64_t flags,
                      const struct fi_info *hints, struct fi_info **out)
{
    (void)version, (void)node, (void)service, (void)flags;
    if ((hints->caps & FI_RMA && !fake_provider.has_rma) || fake_provider.mr_mode & ~hints->domain_attr->mr_mode)
        return -FI_ENODATA;
    struct fi_info *info = fi_dupinfo(NULL);
    info->caps = hints->caps;
    info->addr_format = FI_FORMAT_UNSPEC;
    info->tx_attr->inject_size = fake_provider.inject;
    info->ep_attr->type = FI_EP_RDM;
    info->ep_attr->max_msg_size = fake_provider.piece ? fake_provider.piece : SIZE_MAX;
    info->domain_attr->mr_mode = fake_provider.mr_mode;
    info->domain_attr->mr_key_size = fake_provider.mr_mode & FI_MR_RAW ? fake_provider.key_bytes : 8;
    info->domain_attr->name = strdup("fake");
    info->fabric_attr->name = strdup("fake");
    info->fabric_attr->prov_name = strdup("fake");
    *out = info;
    return 0;
}

/* ---- worlds ------------------------------------------------------------------------------------------------------ */

uint64_t fake_next(int rank)
{
    uint64_t next = UINT64_MAX;

    for (const packet *p = packets; p; p = p->next) {
        const end *to = end_of(p->to);
        bool comes = to ? to->cq->rank == rank && (p->is_write || to->receives) : p->cq && p->cq->rank == rank;
        if (comes && p->at < next)
            next = p->at;
    }
    for (const end *e = ends; e; e = e->next)
        if (e->cq->rank == rank && e->cq->first && e->cq->first->at < next)
            next = e->cq->first->at;
    return next;
}

/* That packet, and all of its pair behind it. */
static void lose(packet **at)
{
    const uint64_t from = (*at)->from, to = (*at)->to;

    while (*at) {
        packet *p = *at;
        if (p->from != from || p->to != to) {
            at = &p->next;
            continue;
        }
        *at = p->next;
        free(p);
    }
}

void fake_dies(int rank)
{
    for (end *e = ends; e; e = e->next)
        e->is_dead |= e->cq->rank == rank;
    for (packet **at = &packets; *at;) {
        const end *from = end_that_was((*at)->from), *to = end_that_was((*at)->to);
        if (from && from->is_dead && from->cq->rank == rank && by_chance(200)) {
            lose(at);
            continue;
        }
        if (to && to->cq->rank == rank && (*at)->cq)
            ring((*at)->cq, (*at)->at);
        at = &(*at)->next;
    }
}

/* What is left of one that was broken off is nobody's. */
void fake_begins(void)
{
    ends = NULL;
    packets = NULL;
    step = numbers = 0;
    open_count = mapped_count = 0;
}

int fake_messages(void)
{
    int n = 0;
    for (const packet *p = packets; p; p = p->next)
        n++;
    return n;
}

int fake_open(void)
{
    return open_count;
}

int fake_mapped(void)
{
    return mapped_count;
}

int __wrap_connect(int fd, const struct sockaddr *to, socklen_t bytes);
int __wrap_connect(int fd, const struct sockaddr *to, socklen_t bytes)
{
    if (!fake_provider.is_alone)
        return (int)syscall(SYS_connect, fd, to, bytes);
    errno = ENETUNREACH;
    return -1;
}
