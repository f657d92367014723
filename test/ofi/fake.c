/* SPDX-License-Identifier: BSD-3-Clause
 * What travels between the endpoints of the fake provider: posts, deliveries, completions. See fake.h. */
#include <pthread.h>
#include <rdma/fabric.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "crew.h"
#include "fake_parts.h"

fake fake_provider;

#define WITHHELD UINT64_C(1000000000) /* of a world's time */

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

uint64_t fake_any(uint64_t below)
{
    return below ? random_of(&fake_provider.seed) % below : 0;
}

static bool by_chance(unsigned of_1000)
{
    return fake_any(1000) < of_1000;
}

bool fake_takes(int *count)
{
    bool is_one = *count > 0 && (!fake_provider.world || fake_provider.world->caller() == fake_provider.only);
    *count -= is_one;
    return is_one;
}

void fake_unlock(const int *held)
{
    (void)held;
    pthread_mutex_unlock(&lock);
}

static int locked(void)
{
    return pthread_mutex_lock(&lock);
}

int fake_begun(void)
{
    if (fake_provider.world)
        fake_provider.world->enters();
    return locked();
}

void fake_must(bool holds, const char *what)
{
    if (fake_provider.world && !holds)
        fake_provider.world->finds(fake_provider.world->caller(), what);
    else
        assert_true(holds);
}

uint64_t fake_now(void)
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

/* A provider that loses a message without a word is noticed by the next one: a last one comes late, and is not lost. */
static bool is_withheld(const packet *p)
{
    const packet *behind = p->next;
    while (behind && (behind->is_write || behind->from != p->from || behind->to != p->to))
        behind = behind->next;
    return p->is_dropped && !behind;
}

/* What is due at the endpoints of a queue, or is for nobody. Of a pair nothing overtakes what was posted before. */
static void deliver(cq *q)
{
    for (packet **at = &packets; *at;) {
        packet *p = *at;
        end *to = p->at > fake_now() ? NULL : end_of(p->to);
        if (p->at > fake_now() || (to && (to->cq != q || (!p->is_write && !to->receives))) || !is_first(p)) {
            at = &p->next;
            continue;
        }
        bool is_last = is_withheld(p);
        if (is_last && fake_now() - p->at < WITHHELD) {
            ring(q, p->at + WITHHELD);
            at = &p->next;
            continue;
        }
        int error = p->is_write ? write_it(p, to) : to ? 0 : FI_ECONNREFUSED;
        if (!p->is_write && to && (!p->is_dropped || is_last))
            receive_it(p, to);
        if (!p->is_quiet && p->cq)
            complete(p->cq, p->context, 0, error, fake_now() + fake_any(fake_provider.late));
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
    for (done *d; n < count && (d = q->first) && d->at <= fake_now() && !d->error; n++, free(d)) {
        entry[n] = (struct fi_cq_msg_entry){.op_context = d->context, .len = d->bytes};
        q->first = d->next;
    }
    if (n == 0 && q->first && q->first->at <= fake_now())
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

    *p = (packet){.at = fake_now() + fake_any(is_own ? 1000 : fake_provider.late),
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
    if (fake_takes(&fake_provider.failed_sends)) {
        complete(e->cq, context, 0, FI_EIO, fake_now() + fake_any(fake_provider.late));
        return 0;
    }
    bool is_early = by_chance(300); /* completed before it has gone anywhere */
    packet *p = post(e, to, bytes, bytes);
    p->is_dropped = fake_takes(&fake_provider.dropped);
    p->context = context;
    p->is_quiet = is_early;
    memcpy(p->data, from, bytes);
    if (is_early)
        complete(e->cq, context, 0, 0, fake_now() + fake_any(fake_provider.late));
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
    if (fake_takes(&fake_provider.failed_sends)) {
        complete(e->cq, what->context, 0, FI_EIO, fake_now() + fake_any(fake_provider.late));
        return 0;
    }
    bool is_dropped = fake_takes(&fake_provider.dropped);
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
    p->fails = fake_takes(&fake_provider.failed_writes);
    p->context = what->context;
    p->source = what->msg_iov->iov_base;
    p->where = what->rma_iov->addr;
    p->key = what->rma_iov->key;
    return 0;
}

struct fi_ops_msg fake_messaging = {.size = sizeof fake_messaging,
                                    .recv = ep_receive,
                                    .send = ep_send,
                                    .inject = ep_inject,
                                    .sendmsg = ep_send_message};
struct fi_ops_rma fake_writing = {.size = sizeof fake_writing, .writemsg = ep_write};
struct fi_ops_cq fake_queue = {.size = sizeof fake_queue, .read = cq_read, .readerr = cq_error};

/* ---- endpoints --------------------------------------------------------------------------------------------------- */

void fake_end_joins(end *e)
{
    e->number = ++numbers;
    e->last = &e->receives;
    e->next = ends;
    ends = e;
}

/* What it has sent, and has not gone, is lost, though it was completed. */
void fake_end_leaves(end *e)
{
    end **before = &ends;

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
}

bool fake_is_bound(const cq *q)
{
    const end *e = ends;

    while (e && e->cq != q)
        e = e->next;
    return e;
}

bool fake_may_come(const cq *q)
{
    for (const packet *p = packets; p; p = p->next) {
        const end *to = end_of(p->to);
        if (!to || to->cq == q)
            return true;
    }
    return q->first;
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
    fake_forget();
}

int fake_messages(void)
{
    int n = 0;
    for (const packet *p = packets; p; p = p->next)
        n++;
    return n;
}
