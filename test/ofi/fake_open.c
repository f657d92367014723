/* SPDX-License-Identifier: BSD-3-Clause
 * What can be opened of the fake provider: domains, queues, endpoints, regions and their keys. See fake.h. */
#include <errno.h>
#include <rdma/fi_cm.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

#include "fake_parts.h"

static int open_count, mapped_count;
static uint64_t numbers; /* of regions */

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

    MUST(!fake_is_bound(q));
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

static int close_end(struct fid *fid)
{
    IN_TURN;
    fake_end_leaves((end *)(void *)fid);
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
    static struct fi_ops_cm cm = {.size = sizeof cm, .getname = end_name};
    if (fake_takes(&fake_provider.refused_endpoints))
        return -FI_ENOMEM;
    end *e = opened(sizeof *e, &end_ops);

    (void)info, (void)context;
    e->fid.msg = &fake_messaging;
    e->fid.rma = &fake_writing;
    e->fid.cm = &cm;
    e->domain = (domain *)(void *)in;
    fake_end_joins(e);
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
    bool wants_fd = how->wait_obj == FI_WAIT_FD;

    (void)in, (void)context;
    if (wants_fd && !fake_provider.has_fd)
        return -FI_ENOSYS;
    cq *q = opened(sizeof *q, &queue_ops);
    q->rank = fake_provider.world ? fake_provider.world->caller() : 0;
    q->fd = !wants_fd ? -1 : fake_provider.world ? FAKE_FD + q->rank : eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    q->fid.ops = &fake_queue;
    *out = &q->fid;
    return 0;
}

static int region_open(struct fid *in, const void *memory, size_t bytes, uint64_t access, uint64_t offset, uint64_t key,
                       uint64_t flags, struct fid_mr **out, void *context)
{
    IN_TURN;
    if (fake_takes(&fake_provider.refused_regions))
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
        return fake_next(q->rank) <= fake_now() ? -FI_EAGAIN : 0;
    (void)!read(q->fd, &rung, sizeof rung);
    return fake_may_come(q) ? -FI_EAGAIN : 0;
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
    info->fabric_attr->prov_name = strdup(fake_provider.is_rxm ? "fake;ofi_rxm" : "fake");
    *out = info;
    return 0;
}

/* ---- counts ------------------------------------------------------------------------------------------------------ */

void fake_forget(void)
{
    open_count = mapped_count = 0;
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
