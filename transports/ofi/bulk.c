/* SPDX-License-Identifier: BSD-3-Clause
 * Large data: puts, as writes of the provider's (FI_RMA), each followed by its notice, which is a message, when the
 * peer's side has acknowledged the last byte. The writes go from the endpoint of the messages to one that does
 * nothing else: bulk. A provider that writes in software may be amid a write when its peer is given up; it looks at the
 * key only before. To stop it this rank closes that endpoint, opens another one, and tells all ranks where that is:
 * they begin their puts again. Those that it has given up it tells that there is none: their puts fail. A provider
 * whose keys belong to an endpoint (FI_MR_ENDPOINT) looks at them with each access: there closing the registration is
 * enough. See ofi.h. */
#include <string.h>

#include "ofi.h"

#define NBCOLLI_OFI_KEY_IS_THERE 1u /* in the third word: no key is all zero */

/* ---- registration ------------------------------------------------------------------------------------------------ */

int nbcolli_ofi_register(nbcolli_ofi_end *e, void *memory, size_t bytes, uint64_t access, struct fid_mr **out)
{
    int error = fi_mr_reg(e->domain, memory, bytes, access, 0, ++e->keys, 0, out, NULL);

    if (error || !(e->info->domain_attr->mr_mode & FI_MR_ENDPOINT))
        return error;
    struct fid_ep *ep = access & FI_REMOTE_WRITE ? e->bulk : e->messages;
    error = fi_mr_bind(*out, &ep->fid, 0);
    error = error ? error : fi_mr_enable(*out);
    if (error) {
        fi_close(&(*out)->fid);
        *out = NULL;
    }
    return error;
}

int nbcolli_ofi_tell_key(const nbcolli_ofi_end *e, struct fid_mr *mr, const void *memory, nbcoll_key *key)
{
    int mode = e->info->domain_attr->mr_mode;
    size_t bytes = NBCOLLI_OFI_RAW_KEY;

    key->word[0] = mode & FI_MR_VIRT_ADDR ? (uintptr_t)memory : 0;
    key->word[1] = fi_mr_key(mr);
    key->word[2] = NBCOLLI_OFI_KEY_IS_THERE;
    key->word[3] = (uintptr_t)memory; /* for this rank itself */
    return mode & FI_MR_RAW ? fi_mr_raw_attr(mr, &key->word[0], (uint8_t *)&key->word[4], &bytes, 0) : 0;
}

int nbcolli_ofi_map_key(const nbcolli_ofi_end *e, const nbcoll_key *key, uint64_t *out)
{
    nbcoll_key its = *key;

    *out = key->word[1];
    if (!(e->info->domain_attr->mr_mode & FI_MR_RAW))
        return 0;
    *out = FI_KEY_NOTAVAIL;
    return fi_mr_map_raw(e->domain, its.word[0], (uint8_t *)&its.word[4], e->info->domain_attr->mr_key_size, out, 0);
}

void nbcolli_ofi_unmap_key(const nbcolli_ofi_end *e, uint64_t key)
{
    if (e->info->domain_attr->mr_mode & FI_MR_RAW && key != FI_KEY_NOTAVAIL)
        (void)fi_mr_unmap_key(e->domain, key);
}

static void nbcolli_ofi_take_back(nbcoll_endpoint *ep, nbcoll_registration *registration)
{
    nbcolli_ofi_lent *lent = (nbcolli_ofi_lent *)(uintptr_t)registration->word[0];

    if (!lent)
        return;
    if (lent->mr)
        fi_close(&lent->mr->fid);
    *lent->back = lent->next;
    if (lent->next)
        lent->next->back = lent->back;
    nbcolli_free(&nbcolli_ofi_end_of(ep)->host, lent, sizeof *lent);
}

static nbcoll_status nbcolli_ofi_lend(nbcoll_endpoint *ep, int peer, void *memory, size_t bytes, uint32_t access,
                                      nbcoll_registration *out)
{
    nbcolli_ofi_end *e = nbcolli_ofi_end_of(ep);
    bool is_local = access & NBCOLL_LOCAL_END && e->info->domain_attr->mr_mode & FI_MR_LOCAL;
    uint64_t how = (access & NBCOLL_PEER_WRITES ? FI_REMOTE_WRITE : 0) | (is_local ? FI_WRITE : 0);

    *out = (nbcoll_registration){.key = {{0}}};
    if (access & NBCOLL_PEER_READS)
        return NBCOLL_ERR_UNSUPPORTED;
    if (!how) /* the provider wants nothing for a local end */
        return NBCOLL_OK;
    nbcolli_ofi_lent *lent = nbcolli_alloc(&e->host, sizeof *lent, _Alignof(nbcolli_ofi_lent));
    if (!lent)
        return NBCOLL_ERR_MEMORY;
    *lent = (nbcolli_ofi_lent){.next = e->lent, .back = &e->lent, .peer = how & FI_REMOTE_WRITE ? peer : ep->rank};
    e->error = -nbcolli_ofi_register(e, memory, bytes, how, &lent->mr);
    if (e->error) {
        nbcolli_free(&e->host, lent, sizeof *lent);
        return e->error == FI_ENOMEM ? NBCOLL_ERR_MEMORY : NBCOLL_ERR_TRANSPORT;
    }
    if (e->lent)
        e->lent->back = &lent->next;
    e->lent = lent;
    out->word[0] = (uintptr_t)lent;
    if (!(access & NBCOLL_PEER_WRITES))
        return NBCOLL_OK;
    e->error = -nbcolli_ofi_tell_key(e, lent->mr, memory, &out->key);
    if (e->error)
        nbcolli_ofi_take_back(ep, out);
    return e->error ? NBCOLL_ERR_TRANSPORT : NBCOLL_OK;
}

int nbcolli_ofi_write(nbcolli_ofi_end *e, const void *from, size_t bytes, void *desc, fi_addr_t to, uint64_t at,
                      uint64_t key, void *context)
{
    struct iovec part = {(void *)(uintptr_t)from, bytes};
    struct fi_rma_iov there = {at, bytes, key};
    struct fi_msg_rma what = {.msg_iov = &part,
                              .desc = &desc,
                              .iov_count = 1,
                              .addr = to,
                              .rma_iov = &there,
                              .rma_iov_count = 1,
                              .context = context};
    return (int)fi_writemsg(e->messages, &what, FI_DELIVERY_COMPLETE | FI_COMPLETION);
}

/* ---- puts -------------------------------------------------------------------------------------------------------- */

static void nbcolli_ofi_write_put(nbcolli_ofi_end *e, nbcolli_ofi_buffer *b, const nbcoll_registration *local,
                                  const nbcoll_header *notice)
{
    const nbcolli_ofi_lent *lent = local ? (const nbcolli_ofi_lent *)(uintptr_t)local->word[0] : NULL;

    *(nbcolli_ofi_front *)(void *)b->wire =
        (nbcolli_ofi_front){.nonce = e->nonce, .rank_and_kind = (uint32_t)e->base.rank << 8 | NBCOLLI_OFI_MESSAGE};
    memcpy(b->wire + sizeof(nbcolli_ofi_front), notice, sizeof *notice);
    b->bytes = NBCOLLI_OFI_FRONT;
    b->doing = NBCOLLI_OFI_WRITES;
    b->local = lent && lent->mr ? fi_mr_desc(lent->mr) : NULL;
}

static nbcoll_posted nbcolli_ofi_put_own(nbcoll_endpoint *ep, const nbcoll_key *key, size_t offset, const void *from,
                                         size_t bytes, const nbcoll_header *notice, nbcoll_work *work)
{
    nbcoll_posted said = nbcolli_ofi_post(ep, ep->rank, notice, NULL, 0, work);

    if (said == NBCOLL_POST_DONE)
        memcpy((char *)(uintptr_t)key->word[3] + offset, from, bytes);
    return said;
}

static nbcoll_posted nbcolli_ofi_put(nbcoll_endpoint *ep, int peer, const nbcoll_key *key, size_t offset,
                                     const nbcoll_registration *local, const void *from, size_t bytes,
                                     const nbcoll_header *notice, nbcoll_work *work)
{
    nbcolli_ofi_end *e = nbcolli_ofi_end_of(ep);

    if (!key->word[2])
        return NBCOLL_POST_FAILED;
    if (peer == ep->rank)
        return nbcolli_ofi_put_own(ep, key, offset, from, bytes, notice, work);
    nbcolli_ofi_peer *p = nbcolli_ofi_know(e, peer);
    nbcolli_ofi_buffer *b = p->spare;
    if (nbcolli_ofi_is_gone(p))
        return NBCOLL_POST_LOST;
    nbcolli_ofi_watch(e, p);
    if (!b || p->is_given_up || !nbcolli_ofi_tell_move(e, p)) {
        if (!p->slab.at)
            nbcolli_ofi_is_refused_now(e);
        return NBCOLL_POST_NOT_NOW;
    }
    nbcolli_ofi_write_put(e, b, local, notice);
    b->from = from;
    b->left = bytes;
    b->at = key->word[0] + offset;
    p->spare = b->next;
    if (nbcolli_ofi_map_key(e, key, &b->key) != 0 || nbcolli_ofi_launch(e, b) != 0) {
        nbcolli_ofi_idle(e, b);
        nbcolli_ofi_is_refused_now(e);
        return NBCOLL_POST_NOT_NOW;
    }
    b->work = work;
    work->scratch[0] = (uintptr_t)b;
    return NBCOLL_POST_IN_FLIGHT;
}

bool nbcolli_ofi_wrote(nbcolli_ofi_end *e, nbcolli_ofi_buffer *b)
{
    nbcolli_ofi_peer *p = b->peer;

    b->from += b->piece;
    b->at += b->piece;
    b->left -= b->piece;
    if (nbcolli_ofi_is_gone(p) || b->is_cancelled) {
        nbcolli_ofi_give_back(e, b, NBCOLL_ERR_CANCELLED); /* which a lost one's is already */
        nbcolli_ofi_idle(e, b);
        return false;
    }
    if (b->left == 0) {
        nbcolli_ofi_unmap_key(e, b->key);
        b->from = NULL;
        b->doing = NBCOLLI_OFI_SENDS;
    }
    nbcolli_ofi_launch_or_wait(e, b);
    return b->left == 0;
}

/* ---- ranks that are given up ------------------------------------------------------------------------------------- */

bool nbcolli_ofi_tell_move(nbcolli_ofi_end *e, nbcolli_ofi_peer *p)
{
    nbcolli_ofi_name name = {0};
    size_t bytes = sizeof name.at;
    bool is_nowhere = p->is_given_up || !e->bulk; /* no bulk: the provider has refused another one */
    uint64_t news = is_nowhere ? NBCOLLI_OFI_NOWHERE : e->moves;

    if (p->told == news || !e->base.transport->bulk)
        return true;
    if (!is_nowhere && fi_getname(&e->bulk->fid, name.at, &bytes) != 0)
        return false;
    name.bytes = is_nowhere ? 0 : bytes;
    if (!nbcolli_ofi_say(e, p, NBCOLLI_OFI_MOVED, &name, sizeof name))
        return false;
    p->told = news;
    return true;
}

void nbcolli_ofi_moved(nbcolli_ofi_end *e, nbcolli_ofi_peer *p, const nbcolli_ofi_name *name)
{
    fi_addr_t to;

    if (!name->bytes) {
        p->gives_up = true;
        return;
    }
    if (name->bytes > sizeof name->at || fi_av_insert(e->av, name->at, 1, &to, 0, NULL) != 1)
        return;
    p->bulk_to = to;
    p->moves++;
    for (nbcolli_ofi_buffer **at = &e->doubtful; *at;) {
        nbcolli_ofi_buffer *b = *at;
        if (b->peer == p && b->doing == NBCOLLI_OFI_WRITES) {
            *at = b->next_doubtful;
            nbcolli_ofi_launch_or_wait(e, b);
        } else
            at = &b->next_doubtful;
    }
}

/* May anything that this peer writes reach this rank's memory? */
static bool nbcolli_ofi_may_write(const nbcolli_ofi_end *e, int peer)
{
    for (const nbcolli_ofi_lent *lent = e->lent; lent; lent = lent->next)
        if (lent->peer == peer || lent->peer < 0)
            return true;
    return false;
}

int nbcolli_ofi_touches(nbcoll_endpoint *ep, int peer)
{
    const nbcolli_ofi_end *e = nbcolli_ofi_end_of(ep);
    return !e->peer[peer].is_given_up && nbcolli_ofi_may_write(e, peer);
}

static void nbcolli_ofi_move(nbcolli_ofi_end *e)
{
    nbcolli_ofi_name name;

    fi_close(&e->bulk->fid);
    e->error = nbcolli_ofi_endpoint(e, &e->bulk, &name);
    e->moves++;
    for (nbcolli_ofi_peer *p = e->known; p; p = p->next_known)
        nbcolli_ofi_is_due(e, p);
    nbcolli_ofi_acknowledge(e);
}

void nbcolli_ofi_give_up(nbcoll_endpoint *ep, int peer)
{
    nbcolli_ofi_end *e = nbcolli_ofi_end_of(ep);
    nbcolli_ofi_peer *p = &e->peer[peer];
    bool may_write = e->bulk && nbcolli_ofi_may_write(e, peer);

    if (peer == ep->rank || p->is_given_up)
        return;
    p->is_given_up = true;
    for (nbcolli_ofi_lent *lent = e->lent; lent; lent = lent->next)
        if (lent->peer == peer && lent->mr) {
            fi_close(&lent->mr->fid);
            lent->mr = NULL;
        }
    if (may_write && !(e->info->domain_attr->mr_mode & FI_MR_ENDPOINT))
        nbcolli_ofi_move(e);
    else if (p->slab.at) {
        nbcolli_ofi_is_due(e, p);
        nbcolli_ofi_acknowledge(e);
    }
    if (p->state == NBCOLLI_OFI_LOST && p->is_reported) { /* nothing of it touches memory any more */
        p->is_reported = false;
        e->ends++;
    }
}

const nbcoll_bulk nbcolli_ofi_bulk = {.size = sizeof nbcolli_ofi_bulk,
                                      .register_memory = nbcolli_ofi_lend,
                                      .deregister_memory = nbcolli_ofi_take_back,
                                      .put = nbcolli_ofi_put};
