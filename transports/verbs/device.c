/* SPDX-License-Identifier: BSD-3-Clause
 * The device: which one, which port and GID; and what an endpoint has of it. See verbs.h. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "verbs.h"

#define NBCOLLI_VERBS_SAID 16u /* datagrams under way */
#define NBCOLLI_VERBS_OWN 32u  /* messages to this rank itself */

/* ---- finding ----------------------------------------------------------------------------------------------------- */

static bool nbcolli_verbs_port_of(nbcolli_verbs_end *e, uint32_t wanted)
{
    struct ibv_device_attr all;

    if (ibv_query_device(e->device, &all) != 0)
        return false;
    for (uint32_t port = 1; port <= all.phys_port_cnt; port++)
        if ((!wanted || port == wanted) && ibv_query_port(e->device, (uint8_t)port, &e->port_attr) == 0 &&
            e->port_attr.state == IBV_PORT_ACTIVE) {
            e->port = (uint8_t)port;
            return true;
        }
    return false;
}

/* RoCE v2 over IPv4 is what routers and firewalls know. */
static int nbcolli_verbs_worth(const struct ibv_gid_entry *g)
{
    static const unsigned char ipv4[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
    if (g->gid_type != IBV_GID_TYPE_ROCE_V2)
        return 1;
    return memcmp(g->gid.raw, ipv4, sizeof ipv4) == 0 ? 3 : 2;
}

static bool nbcolli_verbs_gid_of(nbcolli_verbs_end *e, uint32_t wanted)
{
    struct ibv_gid_entry entry;
    int best = 0;

    for (uint32_t i = wanted ? wanted - 1 : 0; i < (uint32_t)e->port_attr.gid_tbl_len; i++) {
        if (ibv_query_gid_ex(e->device, e->port, i, &entry, 0) == 0 && nbcolli_verbs_worth(&entry) > best) {
            best = nbcolli_verbs_worth(&entry);
            e->gid_index = (int)i;
        }
        if (wanted)
            break;
    }
    return best > 0;
}

nbcoll_status nbcolli_verbs_find(nbcolli_verbs_end *e, const nbcoll_verbs_config *config)
{
    int n = 0;
    struct ibv_device **list = ibv_get_device_list(&n);

    for (int i = 0; list && i < n; i++) {
        if (config->device && strcmp(config->device, ibv_get_device_name(list[i])) != 0)
            continue;
        e->device = ibv_open_device(list[i]);
        if (e->device && nbcolli_verbs_port_of(e, config->port) && nbcolli_verbs_gid_of(e, config->gid_index))
            break;
        if (e->device)
            ibv_close_device(e->device);
        e->device = NULL;
    }
    if (list)
        ibv_free_device_list(list);
    return e->device ? NBCOLL_OK : NBCOLL_ERR_UNSUPPORTED;
}

/* ---- buffers ----------------------------------------------------------------------------------------------------- */

nbcolli_verbs_buffer *nbcolli_verbs_cut(nbcolli_verbs_end *e, uint32_t count, size_t wire, void **slab, size_t *bytes,
                                        struct ibv_mr **mr)
{
    size_t stride = nbcolli_verbs_stride(wire);
    nbcolli_verbs_buffer *first = NULL;

    *bytes = count * stride;
    *slab = nbcolli_alloc(&e->host, *bytes, 4096);
    if (!*slab) {
        errno = ENOMEM; /* the host's hook says nothing */
        return NULL;
    }
    *mr = ibv_reg_mr(e->pd, *slab, *bytes, IBV_ACCESS_LOCAL_WRITE);
    if (!*mr) {
        nbcolli_free(&e->host, *slab, *bytes);
        *slab = NULL;
        return NULL;
    }
    for (uint32_t i = count; i-- > 0;) {
        nbcolli_verbs_buffer *b = (nbcolli_verbs_buffer *)(void *)((char *)*slab + i * stride);
        *b = (nbcolli_verbs_buffer){.next = first, .lkey = (*mr)->lkey};
        first = b;
    }
    return first;
}

nbcolli_verbs_buffer *nbcolli_verbs_split(nbcolli_verbs_buffer **list, uint32_t count)
{
    nbcolli_verbs_buffer *first = *list, *last = first;
    while (--count)
        last = last->next;
    *list = last->next;
    last->next = NULL;
    return first;
}

/* ---- what an endpoint has ---------------------------------------------------------------------------------------- */

static bool nbcolli_verbs_queues(nbcolli_verbs_end *e, uint32_t heard)
{
    struct ibv_device_attr all;
    uint32_t ranks = (uint32_t)e->base.ranks;
    struct ibv_srq_init_attr receives = {.attr = {.max_sge = 1}};

    if (ibv_query_device(e->device, &all) != 0)
        return false;
    uint64_t wanted = (uint64_t)ranks * (e->credits + NBCOLLI_VERBS_EXTRA);
    receives.attr.max_wr = wanted < (uint64_t)all.max_srq_wr ? (uint32_t)wanted : (uint32_t)all.max_srq_wr;
    uint64_t events = wanted + heard + NBCOLLI_VERBS_SAID +
                      (uint64_t)ranks * (e->credits + NBCOLLI_VERBS_QUIET + NBCOLLI_VERBS_BULK);
    e->channel = ibv_create_comp_channel(e->device);
    if (!e->channel || fcntl(e->channel->fd, F_SETFL, fcntl(e->channel->fd, F_GETFL) | O_NONBLOCK) != 0)
        return false;
    e->cq = ibv_create_cq(e->device, events < (uint64_t)all.max_cqe ? (int)events : all.max_cqe, NULL, e->channel, 0);
    e->srq = e->cq ? ibv_create_srq(e->pd, &receives) : NULL;
    return e->srq != NULL;
}

struct ibv_qp *nbcolli_verbs_hear(nbcolli_verbs_end *e, struct ibv_cq *cq, uint32_t said, uint32_t heard)
{
    struct ibv_qp_init_attr how = {
        .send_cq = cq, .recv_cq = cq, .qp_type = IBV_QPT_UD, .sq_sig_all = 1, .cap = {said, heard, 1, 1, 0}};
    struct ibv_qp_attr to = {.qp_state = IBV_QPS_INIT, .port_num = e->port, .qkey = NBCOLLI_VERBS_MAGIC & 0x7fffffffu};
    struct ibv_qp *qp = ibv_create_qp(e->pd, &how);
    bool is_ready = qp && ibv_modify_qp(qp, &to, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY) == 0;

    to.qp_state = IBV_QPS_RTR;
    is_ready = is_ready && ibv_modify_qp(qp, &to, IBV_QP_STATE) == 0;
    to.qp_state = IBV_QPS_RTS;
    is_ready = is_ready && ibv_modify_qp(qp, &to, IBV_QP_STATE | IBV_QP_SQ_PSN) == 0;
    if (qp && !is_ready)
        ibv_destroy_qp(qp);
    return is_ready ? qp : NULL;
}

static bool nbcolli_verbs_sleeper(nbcolli_verbs_end *e)
{
    struct epoll_event event = {.events = EPOLLIN};
    e->timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    e->epoll = epoll_create1(EPOLL_CLOEXEC);
    return e->timer >= 0 && e->epoll >= 0 && epoll_ctl(e->epoll, EPOLL_CTL_ADD, e->timer, &event) == 0 &&
           epoll_ctl(e->epoll, EPOLL_CTL_ADD, e->channel->fd, &event) == 0;
}

nbcoll_status nbcolli_verbs_equip(nbcolli_verbs_end *e, nbcolli_verbs_place *mine)
{
    uint32_t heard = 2 * (uint32_t)e->base.ranks < 64 ? 64 : 2 * (uint32_t)e->base.ranks;
    size_t wire = sizeof(nbcoll_header) + e->payload; /* more than a datagram with its route */

    heard = heard < 1024 ? heard : 1024;
    e->pd = ibv_alloc_pd(e->device);
    if (!e->pd || !nbcolli_verbs_queues(e, heard) || !nbcolli_verbs_sleeper(e) ||
        !(e->datagrams = nbcolli_verbs_hear(e, e->cq, NBCOLLI_VERBS_SAID, heard)) || !nbcolli_verbs_prepare(e))
        return errno == ENOMEM ? NBCOLL_ERR_MEMORY : NBCOLL_ERR_TRANSPORT;
    size_t small = NBCOLLI_VERBS_ROUTE + sizeof(nbcolli_verbs_datagram);
    nbcolli_verbs_buffer *all =
        nbcolli_verbs_cut(e, heard + NBCOLLI_VERBS_SAID, small, &e->pool, &e->pool_bytes, &e->pool_mr);
    nbcolli_verbs_buffer *own = nbcolli_verbs_cut(e, NBCOLLI_VERBS_OWN, wire, &e->own_slab, &e->own_bytes, &e->own_mr);
    if (!all || !own || getrandom(&e->nonce, sizeof e->nonce, 0) != (ssize_t)sizeof e->nonce)
        return NBCOLL_ERR_MEMORY;
    e->own = own;
    e->said = nbcolli_verbs_split(&all, NBCOLLI_VERBS_SAID);
    while (all) {
        nbcolli_verbs_buffer *one = all;
        all = all->next;
        nbcolli_verbs_listen(e, one);
    }
    *mine = (nbcolli_verbs_place){.magic = NBCOLLI_VERBS_MAGIC,
                                  .ranks = (uint32_t)e->base.ranks,
                                  .qpn = e->datagrams->qp_num,
                                  .lid = e->port_attr.lid,
                                  .credits = (uint16_t)e->credits,
                                  .payload = e->payload,
                                  .mtu = (uint32_t)e->port_attr.active_mtu,
                                  .nonce = e->nonce,
                                  .programs = e->programs.datagrams->qp_num};
    return ibv_query_gid(e->device, e->port, e->gid_index, &mine->gid) == 0 ? NBCOLL_OK : NBCOLL_ERR_TRANSPORT;
}

/* Whatever there is of it. */
void nbcolli_verbs_strip(nbcolli_verbs_end *e)
{
    for (nbcolli_verbs_peer *p = e->known; p; p = p->next_known)
        nbcolli_verbs_disconnect(e, p);
    nbcolli_verbs_unprepare(e);
    if (e->datagrams)
        ibv_destroy_qp(e->datagrams);
    if (e->srq)
        ibv_destroy_srq(e->srq);
    if (e->cq)
        ibv_destroy_cq(e->cq);
    if (e->channel)
        ibv_destroy_comp_channel(e->channel);
    for (nbcolli_verbs_peer *p = e->known; p; p = p->next_known) { /* after the queue that they were posted to */
        if (p->mr)
            ibv_dereg_mr(p->mr);
        nbcolli_free(&e->host, p->slab, p->slab_bytes);
    }
    if (e->pool_mr)
        ibv_dereg_mr(e->pool_mr);
    if (e->own_mr)
        ibv_dereg_mr(e->own_mr);
    nbcolli_free(&e->host, e->pool, e->pool_bytes);
    nbcolli_free(&e->host, e->own_slab, e->own_bytes);
    nbcolli_verbs_forget_all(e);
    if (e->pd)
        ibv_dealloc_pd(e->pd);
    if (e->device)
        ibv_close_device(e->device);
    if (e->epoll >= 0)
        close(e->epoll);
    if (e->timer >= 0)
        close(e->timer);
}
