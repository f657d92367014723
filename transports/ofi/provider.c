/* SPDX-License-Identifier: BSD-3-Clause
 * Which provider of libfabric, and what an endpoint has of it. See ofi.h. */
#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#include "ofi.h"

#define NBCOLLI_OFI_COMING (5000 * NBCOLLI_OFI_MS) /* an address, at most */

/* ---- the log ----------------------------------------------------------------------------------------------------- */

static void nbcolli_ofi_log(const nbcolli_ofi_end *e, nbcoll_status status, const char *text)
{
    if (e->host.log)
        e->host.log(e->host.user, status, text);
}

nbcoll_status nbcolli_ofi_refused(const nbcolli_ofi_end *e, const char *call, int error)
{
    char text[160];

    snprintf(text, sizeof text, "ofi: %s was refused: %s", call, fi_strerror(error < 0 ? -error : error));
    nbcolli_ofi_log(e, NBCOLL_ERR_TRANSPORT, text);
    return NBCOLL_ERR_TRANSPORT;
}

/* ---- which one --------------------------------------------------------------------------------------------------- */

/* The first is the best; one that is not named here comes after them. */
static const char *const nbcolli_ofi_preferred[] = {"efa", "cxi", "psm3", "verbs;ofi_rxm", "tcp", "tcp;ofi_rxm", "net"};

/* Never, whatever the host names (sockets: 5 to 30 ms a message), or only if it names them. */
static bool nbcolli_ofi_is_refused(const char *provider, bool is_named)
{
    return strstr(provider, "sockets") || strstr(provider, "mrail") ||
           (!is_named && (strstr(provider, "shm") || strstr(provider, "udp") || strstr(provider, "hook")));
}

/* The lower the better; 0: never. */
static int nbcolli_ofi_rank_of(const struct fi_info *info, const nbcoll_ofi_config *c)
{
    const int known = sizeof nbcolli_ofi_preferred / sizeof nbcolli_ofi_preferred[0];
    const char *provider = info->fabric_attr->prov_name;
    int rank = 0;

    if (nbcolli_ofi_is_refused(provider, c->provider) || (c->domain && strcmp(info->domain_attr->name, c->domain) != 0))
        return 0; /* asked for a domain, ofi_rxm names another one */
    while (rank < known && strcmp(provider, nbcolli_ofi_preferred[rank]) != 0)
        rank++;
    rank = 8 * (rank + 1) + 4 * !(info->caps & FI_RMA);
    if (info->addr_format == FI_SOCKADDR_IN6) {
        const struct sockaddr_in6 *at = info->src_addr;
        if (at && IN6_IS_ADDR_LINKLOCAL(&at->sin6_addr)) /* means nothing on another machine */
            return 0;
        rank += 1;
    }
    return rank + 2 * (strcmp(info->domain_attr->name, "lo") == 0);
}

static int nbcolli_ofi_ask(const nbcoll_ofi_config *c, uint64_t caps, struct fi_info **out)
{
    struct fi_info *hints = fi_allocinfo();

    if (!hints)
        return -FI_ENOMEM;
    hints->caps = caps;
    hints->mode = FI_CONTEXT | FI_CONTEXT2;
    hints->ep_attr->type = FI_EP_RDM;
    hints->tx_attr->msg_order = hints->rx_attr->msg_order = FI_ORDER_SAS;
    hints->tx_attr->op_flags = FI_DELIVERY_COMPLETE;
    hints->domain_attr->threading = FI_THREAD_DOMAIN;
    hints->domain_attr->control_progress = hints->domain_attr->data_progress = FI_PROGRESS_MANUAL;
    hints->domain_attr->resource_mgmt = FI_RM_ENABLED;
    hints->domain_attr->mr_mode =
        FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY | FI_MR_ENDPOINT | FI_MR_RAW;
    hints->fabric_attr->prov_name = (char *)(uintptr_t)c->provider; /* read only; the host's */
    int error = fi_getinfo(NBCOLLI_OFI_VERSION, c->address, NULL, c->address ? FI_SOURCE : 0, hints, out);
    hints->fabric_attr->prov_name = NULL;
    fi_freeinfo(hints);
    return error;
}

/* Null: there is none. Else to be freed. */
static struct fi_info *nbcolli_ofi_choose(const nbcoll_ofi_config *c)
{
    struct fi_info *all = NULL;
    const struct fi_info *best = NULL;
    int rank = 0;

    if (nbcolli_ofi_ask(c, FI_MSG | FI_RMA, &all) != 0)
        all = NULL;
    if (!all && nbcolli_ofi_ask(c, FI_MSG, &all) != 0)
        all = NULL;
    for (const struct fi_info *i = all; i; i = i->next) {
        int its = nbcolli_ofi_rank_of(i, c);
        if (its && (!best || its < rank)) {
            best = i;
            rank = its;
        }
    }
    struct fi_info *chosen = best ? fi_dupinfo(best) : NULL;
    fi_freeinfo(all);
    return chosen;
}

nbcoll_status nbcolli_ofi_find(nbcolli_ofi_end *e, const nbcoll_ofi_config *c)
{
    uint64_t until = nbcolli_now(&e->host) + NBCOLLI_OFI_COMING, looks = 0;
    bool is_named = c->address || c->domain;
    char text[256];

    while (!(e->info = nbcolli_ofi_choose(c)) || e->info->src_addr) {
        if (!nbcolli_ofi_is_coming(e->info ? e->info->src_addr : NULL, is_named) || nbcolli_now(&e->host) >= until)
            break;
        fi_freeinfo(e->info);
        e->os->sleep(&e->host, NULL, 0, 20 * NBCOLLI_OFI_MS, &looks);
    }
    if (!e->info) {
        snprintf(text, sizeof text, "ofi: libfabric has no provider %.60s with domain %.60s and address %.60s",
                 c->provider ? c->provider : "at all", c->domain ? c->domain : "of any name",
                 c->address ? c->address : "of any kind");
        nbcolli_ofi_log(e, NBCOLL_ERR_UNSUPPORTED, text);
        return NBCOLL_ERR_UNSUPPORTED;
    }
    e->info->tx_attr->op_flags = FI_COMPLETION; /* writes ask for delivery, messages do not */
    snprintf(text, sizeof text, "ofi: provider %.60s, domain %.60s", e->info->fabric_attr->prov_name,
             e->info->domain_attr->name);
    nbcolli_ofi_log(e, NBCOLL_OK, text);
    return NBCOLL_OK;
}

void nbcolli_ofi_ask_for_copies(nbcolli_ofi_end *e, size_t bytes)
{
    struct fi_info *hints, *found = NULL;

    if (e->info->tx_attr->inject_size >= bytes || !(hints = fi_dupinfo(e->info)))
        return;
    hints->tx_attr->inject_size = bytes;
    if (fi_getinfo(NBCOLLI_OFI_VERSION, NULL, NULL, 0, hints, &found) == 0)
        e->info->tx_attr->inject_size = bytes;
    fi_freeinfo(found);
    fi_freeinfo(hints);
}

uint64_t nbcolli_ofi_provider_hash(const nbcolli_ofi_end *e)
{
    uint64_t hash = 0;

    for (const char *c = e->info->fabric_attr->prov_name; *c; c++)
        hash = nbcolli_splitmix(hash ^ (unsigned char)*c);
    return hash;
}

/* ---- buffers ----------------------------------------------------------------------------------------------------- */

nbcolli_ofi_buffer *nbcolli_ofi_cut(nbcolli_ofi_end *e, uint32_t count, nbcolli_ofi_slab *slab)
{
    size_t stride = nbcolli_lines(sizeof(nbcolli_ofi_buffer) + NBCOLLI_OFI_FRONT + e->payload);
    nbcolli_ofi_buffer *first = NULL;

    slab->bytes = count * stride;
    slab->mr = NULL;
    slab->at = nbcolli_alloc(&e->host, slab->bytes, 4096);
    if (!slab->at)
        return NULL;
    if (e->info->domain_attr->mr_mode & FI_MR_LOCAL) {
        e->error = nbcolli_ofi_register(e, slab->at, slab->bytes, FI_SEND | FI_RECV, &slab->mr);
        if (e->error) {
            nbcolli_free(&e->host, slab->at, slab->bytes);
            slab->at = NULL;
            return NULL;
        }
    }
    for (uint32_t i = count; i-- > 0;) {
        nbcolli_ofi_buffer *b = (nbcolli_ofi_buffer *)(void *)((char *)slab->at + i * stride);
        *b = (nbcolli_ofi_buffer){.next = first, .desc = slab->mr ? fi_mr_desc(slab->mr) : NULL};
        first = b;
    }
    return first;
}

nbcolli_ofi_buffer *nbcolli_ofi_split(nbcolli_ofi_buffer **list, uint32_t count)
{
    nbcolli_ofi_buffer *first = *list, *last = first;

    while (--count)
        last = last->next;
    *list = last->next;
    last->next = NULL;
    return first;
}

static void nbcolli_ofi_free_slab(nbcolli_ofi_end *e, nbcolli_ofi_slab *slab)
{
    if (slab->mr)
        fi_close(&slab->mr->fid);
    nbcolli_free(&e->host, slab->at, slab->bytes);
    slab->at = NULL;
}

/* ---- what an endpoint has ---------------------------------------------------------------------------------------- */

int nbcolli_ofi_endpoint(nbcolli_ofi_end *e, struct fid_ep **out, nbcolli_ofi_name *name)
{
    size_t bytes = sizeof name->at;
    int error = fi_endpoint(e->domain, e->info, out, NULL);

    if (error) {
        *out = NULL;
        return error;
    }
    error = fi_ep_bind(*out, &e->cq->fid, FI_SEND | FI_SELECTIVE_COMPLETION);
    error = error ? error : fi_ep_bind(*out, &e->cq->fid, FI_RECV);
    error = error ? error : fi_ep_bind(*out, &e->av->fid, 0);
    error = error ? error : fi_enable(*out);
    memset(name, 0, sizeof *name);
    error = error ? error : fi_getname(&(*out)->fid, name->at, &bytes);
    name->bytes = bytes;
    if (error) {
        fi_close(&(*out)->fid);
        *out = NULL;
    }
    return error;
}

#if FI_MAJOR_VERSION < 2 /* later ones have no net */
/* fi_trywait of net leaves a queue's descriptor ready for ever: fi_wait of a wait set does not. */
static void nbcolli_ofi_queue_in_set(nbcolli_ofi_end *e, struct fi_cq_attr *how)
{
    struct fi_wait_attr set = {.wait_obj = FI_WAIT_FD};

    if (strcmp(e->info->fabric_attr->prov_name, "net") != 0)
        return;
    how->wait_obj = fi_wait_open(e->fabric, &set, &e->set) == 0 ? FI_WAIT_SET : FI_WAIT_NONE;
    how->wait_set = e->set;
}

void nbcolli_ofi_calm(nbcolli_ofi_end *e)
{
    if (e->set)
        (void)fi_wait(e->set, 0);
}
#else
static void nbcolli_ofi_queue_in_set(nbcolli_ofi_end *e, struct fi_cq_attr *how)
{
    (void)e;
    (void)how;
}

void nbcolli_ofi_calm(nbcolli_ofi_end *e)
{
    (void)e;
}
#endif

/* Opens one with a descriptor to wait on, or else one without. */
static int nbcolli_ofi_queue(nbcolli_ofi_end *e)
{
    size_t ranks = (size_t)e->base.ranks, each = 2 * (e->credits + NBCOLLI_OFI_EXTRA + NBCOLLI_OFI_QUIET);
    struct fi_cq_attr how = {.format = FI_CQ_FORMAT_MSG, .wait_obj = FI_WAIT_FD};

    how.size = each * (ranks < 64 ? ranks + 1 : 64);
    nbcolli_ofi_queue_in_set(e, &how);
    int error = fi_cq_open(e->domain, &how, &e->cq, NULL);
    if (!error && fi_control(e->set ? &e->set->fid : &e->cq->fid, FI_GETWAIT, &e->cq_fd) == 0)
        return 0;
    if (!error)
        fi_close(&e->cq->fid);
    e->cq = NULL;
    e->cq_fd = -1;
    how.wait_obj = FI_WAIT_NONE;
    return fi_cq_open(e->domain, &how, &e->cq, NULL);
}

static const char *nbcolli_ofi_open_all(nbcolli_ofi_end *e, nbcolli_ofi_place *mine)
{
    struct fi_av_attr how = {.type = FI_AV_TABLE};

    if ((e->error = fi_fabric(e->info->fabric_attr, &e->fabric, NULL)) != 0)
        return "fi_fabric";
    if ((e->error = fi_domain(e->fabric, e->info, &e->domain, NULL)) != 0)
        return "fi_domain";
    if ((e->error = nbcolli_ofi_queue(e)) != 0)
        return "fi_cq_open";
    if ((e->error = fi_av_open(e->domain, &how, &e->av, NULL)) != 0)
        return "fi_av_open";
    if ((e->error = nbcolli_ofi_endpoint(e, &e->messages, &mine->messages)) != 0)
        return "fi_endpoint";
    bool is_known =
        !(e->info->domain_attr->mr_mode & FI_MR_RAW) || e->info->domain_attr->mr_key_size <= NBCOLLI_OFI_RAW_KEY;
    if (e->info->caps & FI_RMA && is_known && (e->error = nbcolli_ofi_endpoint(e, &e->bulk, &mine->bulk)) != 0)
        return "fi_endpoint, for large data,";
    return NULL;
}

nbcoll_status nbcolli_ofi_equip(nbcolli_ofi_end *e, nbcolli_ofi_place *mine)
{
    const char *refused = nbcolli_ofi_open_all(e, mine);

    if (refused)
        return nbcolli_ofi_refused(e, refused, e->error);
    e->own = nbcolli_ofi_cut(e, e->credits, &e->own_slab);
    nbcolli_ofi_buffer *first = e->own ? nbcolli_ofi_cut(e, e->receives, &e->first_slab) : NULL;
    if (!first)
        return NBCOLL_ERR_MEMORY;
    nbcolli_ofi_receive(e, first);
    return NBCOLL_OK;
}

static void nbcolli_ofi_close_fid(struct fid *fid)
{
    if (fid)
        fi_close(fid);
}

void nbcolli_ofi_strip(nbcolli_ofi_end *e)
{
    for (nbcolli_ofi_lent *l = e->lent; l; l = l->next) /* of one that is abandoned */
        nbcolli_ofi_close_fid(l->mr ? &l->mr->fid : NULL);
    NBCOLLI_FREE_ALL(&e->host, e->lent, sizeof *it)
    nbcolli_ofi_close_fid(e->bulk ? &e->bulk->fid : NULL);
    nbcolli_ofi_close_fid(e->messages ? &e->messages->fid : NULL);
    nbcolli_ofi_trial_free(e);
    for (nbcolli_ofi_peer *p = e->peer; p && p < e->peer + e->base.ranks; p++) {
        for (nbcolli_ofi_buffer *b = p->flight; b; b = b->next) /* shm may still read them: nothing then */
            memset(b->wire, 0, sizeof(nbcolli_ofi_front));
        nbcolli_ofi_free_slab(e, &p->slab);
        nbcolli_ofi_free_slab(e, &p->late);
    }
    nbcolli_ofi_free_slab(e, &e->own_slab);
    nbcolli_ofi_free_slab(e, &e->first_slab);
    nbcolli_ofi_close_fid(e->av ? &e->av->fid : NULL);
    nbcolli_ofi_close_fid(e->cq ? &e->cq->fid : NULL);
    nbcolli_ofi_close_fid(e->set ? &e->set->fid : NULL);
    nbcolli_ofi_close_fid(e->domain ? &e->domain->fid : NULL);
    nbcolli_ofi_close_fid(e->fabric ? &e->fabric->fid : NULL);
    fi_freeinfo(e->info);
    if (e->epoll >= 0)
        e->os->close(e->epoll);
    if (e->timer >= 0)
        e->os->close(e->timer);
}
