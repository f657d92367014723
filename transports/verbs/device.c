/* SPDX-License-Identifier: BSD-3-Clause
 * The device: which one, which port and GID; and what an endpoint has of it. See verbs.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "verbs.h"

#define NBCOLLI_VERBS_OWN 32u  /* messages to this rank itself */

/* ---- finding ----------------------------------------------------------------------------------------------------- */

static bool nbcolli_verbs_port_of(nbcolli_verbs_rail *rail, uint32_t wanted)
{
    struct ibv_device_attr all;

    if (ibv_query_device(rail->device, &all) != 0)
        return false;
    for (uint32_t port = 1; port <= all.phys_port_cnt; port++)
        if ((!wanted || port == wanted) && ibv_query_port(rail->device, (uint8_t)port, &rail->port_attr) == 0 &&
            rail->port_attr.state == IBV_PORT_ACTIVE) {
            rail->port = (uint8_t)port;
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

static bool nbcolli_verbs_gid_of(nbcolli_verbs_rail *rail, uint32_t wanted)
{
    struct ibv_gid_entry entry;
    int best = 0;

    for (uint32_t i = wanted ? wanted - 1 : 0; i < (uint32_t)rail->port_attr.gid_tbl_len; i++) {
        if (ibv_query_gid_ex(rail->device, rail->port, i, &entry, 0) == 0 && nbcolli_verbs_worth(&entry) > best) {
            best = nbcolli_verbs_worth(&entry);
            rail->gid_index = (int)i;
        }
        if (wanted)
            break;
    }
    return best > 0;
}

/* What a rail lacks; of several devices, the one that lacks least. */
typedef enum nbcolli_verbs_lack {
    NBCOLLI_VERBS_LACKS_NOTHING,
    NBCOLLI_VERBS_LACKS_GID,
    NBCOLLI_VERBS_LACKS_PORT,
    NBCOLLI_VERBS_LACKS_DEVICE,
    NBCOLLI_VERBS_LACKS_ROOM
} nbcolli_verbs_lack;

/* What is asked for: a device of that name, of `bytes` characters, or of none: the first one that has such a port. */
typedef struct nbcolli_verbs_wish {
    const char *name;
    size_t bytes;
    uint32_t port, gid_index;
} nbcolli_verbs_wish;

static nbcolli_verbs_lack nbcolli_verbs_rail_find(nbcolli_verbs_rail *rail, struct ibv_device **list, int n,
                                                  const nbcolli_verbs_wish *wish)
{
    nbcolli_verbs_lack lack = NBCOLLI_VERBS_LACKS_DEVICE;

    for (int i = 0; list && i < n; i++) {
        const char *is = ibv_get_device_name(list[i]);
        if (wish->bytes && (strlen(is) != wish->bytes || memcmp(is, wish->name, wish->bytes) != 0))
            continue;
        rail->device = ibv_open_device(list[i]);
        nbcolli_verbs_lack of_this = !rail->device                                  ? NBCOLLI_VERBS_LACKS_DEVICE
                                     : !nbcolli_verbs_port_of(rail, wish->port)     ? NBCOLLI_VERBS_LACKS_PORT
                                     : !nbcolli_verbs_gid_of(rail, wish->gid_index) ? NBCOLLI_VERBS_LACKS_GID
                                                                                    : NBCOLLI_VERBS_LACKS_NOTHING;
        if (of_this == NBCOLLI_VERBS_LACKS_NOTHING)
            return of_this;
        lack = of_this < lack ? of_this : lack;
        if (rail->device)
            ibv_close_device(rail->device);
        rail->device = NULL;
    }
    return lack;
}

static nbcoll_status nbcolli_verbs_lacks(const nbcoll_host *host, nbcolli_verbs_lack lack,
                                         const nbcolli_verbs_wish *wish)
{
    const nbcoll_status no = NBCOLL_ERR_UNSUPPORTED;
    char port[16] = "";

    if (wish->port)
        snprintf(port, sizeof port, " %u", wish->port);
    const char *name = wish->bytes ? wish->name : "of any name";
    int bytes = wish->bytes ? (int)wish->bytes : (int)strlen(name);
    if (lack == NBCOLLI_VERBS_LACKS_ROOM)
        return nbcolli_log(host, no, "more than %u RDMA devices are named", NBCOLLI_VERBS_RAILS);
    if (lack == NBCOLLI_VERBS_LACKS_DEVICE)
        return nbcolli_log(host, no, "no RDMA device %.*s can be opened: ibv_devices lists them", bytes, name);
    if (lack == NBCOLLI_VERBS_LACKS_PORT)
        return nbcolli_log(host, no, "the RDMA device %.*s has no active port%s: ibv_devinfo says their states", bytes,
                           name, port);
    if (wish->gid_index)
        return nbcolli_log(host, no,
                           "entry %u of the GIDs of the RDMA device %.*s, port%s, is empty: gid_index is 1 + the "
                           "number that ibv_devinfo -v shows; take one of RoCE v2 with an IPv4 address, or 0",
                           wish->gid_index - 1, bytes, name, port);
    return nbcolli_log(host, no,
                       "the RDMA device %.*s has no GID: over RoCE its network interface needs an address", bytes,
                       name);
}

/* The port behind a device's name, or the one for all. */
static uint32_t nbcolli_verbs_named_port(const char *name, size_t bytes, uint32_t usual)
{
    uint32_t port = 0;

    if (name[bytes] != ':')
        return usual;
    for (const char *digit = name + bytes + 1; *digit >= '0' && *digit <= '9' && port < 256; digit++)
        port = 10 * port + (uint32_t)(*digit - '0');
    return port ? port : 256; /* no device has that */
}

nbcoll_status nbcolli_verbs_find(nbcolli_verbs_end *e, const nbcoll_verbs_config *config)
{
    int n = 0;
    struct ibv_device **list = ibv_get_device_list(&n);
    nbcolli_verbs_wish wish = {.name = config->device ? config->device : "", .gid_index = config->gid_index};
    nbcolli_verbs_lack lack;
    bool is_shared = true;

    do {
        lack = e->rails < NBCOLLI_VERBS_RAILS ? NBCOLLI_VERBS_LACKS_DEVICE : NBCOLLI_VERBS_LACKS_ROOM;
        wish.bytes = strcspn(wish.name, ":,");
        wish.port = nbcolli_verbs_named_port(wish.name, wish.bytes, config->port);
        if (lack == NBCOLLI_VERBS_LACKS_DEVICE && (wish.bytes || !config->device))
            lack = nbcolli_verbs_rail_find(&e->rail[e->rails], list, n, &wish);
        if (lack != NBCOLLI_VERBS_LACKS_NOTHING)
            break;
        is_shared = nbcolli_verbs_share_device(e, &e->rail[e->rails]) && is_shared;
        e->rails++;
        wish.name += strcspn(wish.name, ",");
    } while (*wish.name++ == ',');
    if (list)
        ibv_free_device_list(list);
    if (lack != NBCOLLI_VERBS_LACKS_NOTHING)
        return nbcolli_verbs_lacks(&e->host, lack, &wish);
    return is_shared ? NBCOLL_OK : NBCOLL_ERR_TRANSPORT;
}

/* ---- buffers ----------------------------------------------------------------------------------------------------- */

nbcolli_verbs_buffer *nbcolli_verbs_cut(nbcolli_verbs_end *e, nbcolli_verbs_rail *rail, uint32_t count, size_t wire,
                                        nbcolli_verbs_slab *slab)
{
    size_t stride = nbcolli_verbs_stride(wire);
    nbcolli_verbs_buffer *first = NULL;

    slab->bytes = count * stride;
    slab->memory = nbcolli_alloc(&e->host, slab->bytes, 4096);
    if (!slab->memory) {
        errno = ENOMEM; /* the host's hook says nothing */
        return NULL;
    }
    slab->mr = ibv_reg_mr(rail->pd, slab->memory, slab->bytes, IBV_ACCESS_LOCAL_WRITE);
    if (!slab->mr) {
        nbcolli_verbs_slab_free(e, slab);
        return NULL;
    }
    for (uint32_t i = count; i-- > 0;) {
        nbcolli_verbs_buffer *b = (nbcolli_verbs_buffer *)(void *)((char *)slab->memory + i * stride);
        *b = (nbcolli_verbs_buffer){.next = first, .rail = rail, .lkey = slab->mr->lkey};
        first = b;
    }
    return first;
}

void nbcolli_verbs_slab_free(nbcolli_verbs_end *e, nbcolli_verbs_slab *slab)
{
    if (slab->mr)
        ibv_dereg_mr(slab->mr);
    nbcolli_free(&e->host, slab->memory, slab->bytes);
    *slab = (nbcolli_verbs_slab){0};
}

/* ---- datagrams --------------------------------------------------------------------------------------------------- */

uint32_t nbcolli_verbs_hears(uint32_t peers)
{
    return peers < 32 ? 64 : peers < 512 ? 2 * peers : 1024;
}

bool nbcolli_verbs_hear(nbcolli_verbs_end *e, nbcolli_verbs_mail *m, struct ibv_cq *cq, uint32_t peers, uint32_t bytes)
{
    uint32_t heard = nbcolli_verbs_hears(peers), qkey = NBCOLLI_VERBS_MAGIC & 0x7fffffffu;
    struct ibv_qp_init_attr how = {.send_cq = cq,
                                   .recv_cq = cq,
                                   .qp_type = IBV_QPT_UD,
                                   .sq_sig_all = 1,
                                   .cap = {NBCOLLI_VERBS_SAID, heard, 1, 1, 0}};
    struct ibv_qp_attr to = {.qp_state = IBV_QPS_INIT, .port_num = e->rail->port, .qkey = qkey};
    nbcolli_verbs_buffer *all;

    m->bytes = bytes;
    m->qp = ibv_create_qp(e->rail->pd, &how);
    if (!m->qp || ibv_modify_qp(m->qp, &to, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY) != 0)
        return false;
    to.qp_state = IBV_QPS_RTR;
    if (ibv_modify_qp(m->qp, &to, IBV_QP_STATE) != 0)
        return false;
    to.qp_state = IBV_QPS_RTS;
    if (ibv_modify_qp(m->qp, &to, IBV_QP_STATE | IBV_QP_SQ_PSN) != 0)
        return false;
    all = nbcolli_verbs_cut(e, e->rail, heard + NBCOLLI_VERBS_SAID, NBCOLLI_VERBS_ROUTE + bytes, &m->slab);
    for (uint32_t i = 0; all; i++) {
        nbcolli_verbs_buffer *one = all;
        all = all->next;
        if (i >= NBCOLLI_VERBS_SAID) {
            nbcolli_verbs_listen(m, one);
            continue;
        }
        one->next = m->said;
        m->said = one;
    }
    return m->said;
}

void nbcolli_verbs_listen(nbcolli_verbs_mail *m, nbcolli_verbs_buffer *b)
{
    struct ibv_sge part = {(uintptr_t)b->wire, NBCOLLI_VERBS_ROUTE + m->bytes, b->lkey};
    struct ibv_recv_wr wr = {.wr_id = nbcolli_verbs_wr_id(b, NBCOLLI_VERBS_OF_DATAGRAM),
                             .sg_list = &part,
                             .num_sge = 1},
                       *bad;
    ibv_post_recv(m->qp, &wr, &bad);
}

void nbcolli_verbs_mail_say(nbcolli_verbs_mail *m, const void *what, struct ibv_ah *route, bool is_own, uint32_t qpn)
{
    nbcolli_verbs_buffer *b = m->said;

    memcpy(b->wire, what, m->bytes);
    b->route = is_own ? route : NULL;
    m->said = b->next;
    m->saying++;
    struct ibv_sge part = {(uintptr_t)b->wire, m->bytes, b->lkey};
    struct ibv_send_wr wr = {.wr_id = nbcolli_verbs_wr_id(b, NBCOLLI_VERBS_OF_SAID),
                             .sg_list = &part,
                             .num_sge = 1,
                             .opcode = IBV_WR_SEND,
                             .send_flags = IBV_SEND_SIGNALED,
                             .wr.ud = {route, qpn, NBCOLLI_VERBS_MAGIC & 0x7fffffffu}},
                       *bad;
    if (ibv_post_send(m->qp, &wr, &bad) != 0)
        nbcolli_verbs_mail_said(m, b);
}

void nbcolli_verbs_mail_said(nbcolli_verbs_mail *m, nbcolli_verbs_buffer *b)
{
    if (b->route)
        ibv_destroy_ah(b->route);
    b->next = m->said;
    m->said = b;
    m->saying--;
}

void nbcolli_verbs_hang_up(nbcolli_verbs_end *e, nbcolli_verbs_mail *m)
{
    if (m->qp)
        ibv_destroy_qp(m->qp);
    nbcolli_verbs_slab_free(e, &m->slab);
}

/* ---- what an endpoint has ---------------------------------------------------------------------------------------- */

static bool nbcolli_verbs_queues(const nbcolli_verbs_end *e, nbcolli_verbs_rail *rail, uint32_t heard)
{
    struct ibv_device_attr all;
    uint32_t ranks = (uint32_t)e->base.ranks;
    struct ibv_srq_init_attr receives = {.attr = {.max_sge = 1}};

    if (ibv_query_device(rail->device, &all) != 0)
        return false;
    uint64_t wanted = (uint64_t)ranks * (e->credits + NBCOLLI_VERBS_EXTRA);
    receives.attr.max_wr = wanted < (uint64_t)all.max_srq_wr ? (uint32_t)wanted : (uint32_t)all.max_srq_wr;
    uint64_t events =
        wanted + heard + NBCOLLI_VERBS_SAID + (uint64_t)ranks * (e->credits + NBCOLLI_VERBS_QUIET + NBCOLLI_VERBS_BULK);
    rail->channel = ibv_create_comp_channel(rail->device);
    if (!rail->channel || fcntl(rail->channel->fd, F_SETFL, fcntl(rail->channel->fd, F_GETFL) | O_NONBLOCK) != 0)
        return false;
    int entries = events < (uint64_t)all.max_cqe ? (int)events : all.max_cqe;
    rail->cq = ibv_create_cq(rail->device, entries, NULL, rail->channel, 0);
    rail->srq = rail->cq ? ibv_create_srq(rail->pd, &receives) : NULL;
    return rail->srq != NULL;
}

static bool nbcolli_verbs_sleeper(nbcolli_verbs_end *e)
{
    struct epoll_event event = {.events = EPOLLIN};
    e->timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    e->epoll = epoll_create1(EPOLL_CLOEXEC);
    bool is_ready = e->timer >= 0 && e->epoll >= 0 && epoll_ctl(e->epoll, EPOLL_CTL_ADD, e->timer, &event) == 0;
    for (uint32_t i = 0; i < e->rails; i++)
        is_ready = is_ready && epoll_ctl(e->epoll, EPOLL_CTL_ADD, e->rail[i].channel->fd, &event) == 0;
    return is_ready;
}

/* What the others learn of this rank. */
static bool nbcolli_verbs_describe(nbcolli_verbs_end *e, nbcolli_verbs_place *mine)
{
    bool is_known = true;

    *mine = (nbcolli_verbs_place){.magic = NBCOLLI_VERBS_MAGIC,
                                  .ranks = (uint32_t)e->base.ranks,
                                  .qpn = e->mail.qp->qp_num,
                                  .programs = e->programs.mail.qp->qp_num,
                                  .credits = (uint16_t)e->credits,
                                  .rails = (uint16_t)e->rails,
                                  .payload = e->payload,
                                  .nonce = e->nonce};
    for (uint32_t i = 0; i < e->rails; i++) {
        const nbcolli_verbs_rail *rail = &e->rail[i];
        mine->port[i].lid = rail->port_attr.lid;
        mine->port[i].mtu = (uint32_t)rail->port_attr.active_mtu;
        is_known = is_known && ibv_query_gid(rail->device, rail->port, rail->gid_index, &mine->port[i].gid) == 0;
    }
    return is_known;
}

nbcoll_status nbcolli_verbs_equip(nbcolli_verbs_end *e, bool is_beside, nbcolli_verbs_place *mine)
{
    uint32_t ranks = (uint32_t)e->base.ranks;
    size_t wire = sizeof(nbcoll_header) + e->payload;
    bool is_ready = true;

    e->piece = 1u << 30;
    for (uint32_t i = 0; i < e->rails; i++)
        e->piece = e->rail[i].port_attr.max_msg_sz < e->piece ? e->rail[i].port_attr.max_msg_sz : e->piece;
    e->base.limits.interfaces = e->rails; /* the ranks of a machine share them */
    e->base.limits.key_bytes = e->rails > 1 ? 32 : 16;
    for (uint32_t i = 0; i < e->rails && is_ready; i++)
        is_ready = nbcolli_verbs_queues(e, &e->rail[i], nbcolli_verbs_hears(ranks));
    if (!is_ready || !nbcolli_verbs_hear(e, &e->mail, e->rail->cq, ranks, sizeof(nbcolli_verbs_datagram)) ||
        !nbcolli_verbs_sleeper(e) || !nbcolli_verbs_prepare(e))
        return errno == ENOMEM ? NBCOLL_ERR_MEMORY : NBCOLL_ERR_TRANSPORT;
    e->own = nbcolli_verbs_cut(e, e->rail, NBCOLLI_VERBS_OWN, wire, &e->own_slab);
    if (!e->own || getrandom(&e->nonce, sizeof e->nonce, 0) != (ssize_t)sizeof e->nonce)
        return NBCOLL_ERR_MEMORY;
    if (!nbcolli_verbs_describe(e, mine))
        return NBCOLL_ERR_TRANSPORT;
    if (!is_beside)
        e->shared->prices = nbcolli_verbs_try(e, mine);
    mine->prices = e->shared->prices;
    return NBCOLL_OK;
}

/* Whatever there is of it. */
void nbcolli_verbs_strip(nbcolli_verbs_end *e)
{
    for (nbcolli_verbs_peer *p = e->known; p; p = p->next_known)
        nbcolli_verbs_disconnect(p);
    nbcolli_verbs_unprepare(e);
    nbcolli_verbs_hang_up(e, &e->mail);
    for (nbcolli_verbs_rail *rail = e->rail; rail < e->rail + e->rails; rail++) {
        if (rail->srq)
            ibv_destroy_srq(rail->srq);
        if (rail->cq)
            ibv_destroy_cq(rail->cq);
        if (rail->channel)
            ibv_destroy_comp_channel(rail->channel);
    }
    for (nbcolli_verbs_peer *p = e->known; p; p = p->next_known) /* after the queue that they were posted to */
        nbcolli_verbs_slab_free(e, &p->slab);
    nbcolli_verbs_slab_free(e, &e->own_slab);
    nbcolli_verbs_forget_all(e);
    nbcolli_verbs_unshare(e);
    if (e->epoll >= 0)
        close(e->epoll);
    if (e->timer >= 0)
        close(e->timer);
}
