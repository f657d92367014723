/* SPDX-License-Identifier: BSD-3-Clause
 * Large data, by the device: registration, gets, and puts with their notices. They have a queue pair of their own for
 * each peer, so that a peer that is given up can be kept from this rank's memory and still be told so. A failure there
 * is no death: the other queue pair finds out. See verbs.h. */
#include <errno.h>
#include <string.h>

#include "verbs.h"

#define NBCOLLI_VERBS_KEY_IS_THERE (UINT64_C(1) << 32) /* beside the remote key: no key is all zero */

/* Memory that can only be read is registered for that, if it is not to be written by a peer. */
static nbcoll_status nbcolli_verbs_register(nbcoll_endpoint *ep, int peer, void *memory, size_t bytes, uint32_t access,
                                            nbcoll_registration *out)
{
    nbcolli_verbs_end *e = nbcolli_verbs_end_of(ep);
    int flags = access & NBCOLL_PEER_READS ? IBV_ACCESS_REMOTE_READ : 0;
    struct ibv_mr *mr = NULL;
    (void)peer;

    if (access & NBCOLL_PEER_WRITES)
        flags |= IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_LOCAL_WRITE;
    if (access & (NBCOLL_PEER_WRITES | NBCOLL_LOCAL_END))
        mr = ibv_reg_mr(e->pd, memory, bytes, flags | IBV_ACCESS_LOCAL_WRITE);
    if (!mr && !(access & NBCOLL_PEER_WRITES))
        mr = ibv_reg_mr(e->pd, memory, bytes, flags);
    if (!mr) {
        e->error = errno;
        return errno == ENOMEM ? NBCOLL_ERR_MEMORY : NBCOLL_ERR_TRANSPORT;
    }
    *out = (nbcoll_registration){.word = {(uintptr_t)mr, mr->lkey}};
    if (access & (NBCOLL_PEER_READS | NBCOLL_PEER_WRITES)) {
        out->key.word[0] = (uintptr_t)memory;
        out->key.word[1] = NBCOLLI_VERBS_KEY_IS_THERE | mr->rkey;
    }
    return NBCOLL_OK;
}

static void nbcolli_verbs_deregister(nbcoll_endpoint *ep, nbcoll_registration *registration)
{
    (void)ep;
    ibv_dereg_mr((struct ibv_mr *)(uintptr_t)registration->word[0]);
}

/* What to answer of a get or put, if it cannot be posted; else LENT. */
static nbcoll_posted nbcolli_verbs_may_move(nbcolli_verbs_end *e, nbcolli_verbs_peer *p, size_t bytes)
{
    if (p->state == NBCOLLI_VERBS_LOST || p->state == NBCOLLI_VERBS_LEFT)
        return NBCOLL_POST_LOST;
    if (bytes > e->port_attr.max_msg_sz)
        return NBCOLL_POST_FAILED;
    if (p->state != NBCOLLI_VERBS_CONNECTED)
        return nbcolli_verbs_want(e, p) || e->error == ENOMEM ? NBCOLL_POST_NOT_NOW : NBCOLL_POST_FAILED;
    if (p->is_given_up || p->bulk_is_over || p->bulk_posts == NBCOLLI_VERBS_BULK)
        return NBCOLL_POST_NOT_NOW;
    return NBCOLL_POST_LENT;
}

static struct ibv_send_wr nbcolli_verbs_move(enum ibv_wr_opcode opcode, struct ibv_sge *part, const nbcoll_key *key,
                                             size_t offset)
{
    struct ibv_send_wr wr = {.sg_list = part, .num_sge = 1, .opcode = opcode};
    wr.wr.rdma.remote_addr = key->word[0] + offset;
    wr.wr.rdma.rkey = (uint32_t)key->word[1];
    return wr;
}

static nbcoll_posted nbcolli_verbs_get(nbcoll_endpoint *ep, int peer, const nbcoll_key *key, size_t offset,
                                       const nbcoll_registration *local, void *to, size_t bytes, nbcoll_work *work)
{
    nbcolli_verbs_end *e = nbcolli_verbs_end_of(ep);
    struct ibv_sge part = {(uintptr_t)to, (uint32_t)bytes, (uint32_t)local->word[1]};
    struct ibv_send_wr wr = nbcolli_verbs_move(IBV_WR_RDMA_READ, &part, key, offset), *bad;

    if (!key->word[1])
        return NBCOLL_POST_FAILED;
    if (peer == ep->rank) {
        memcpy(to, (const char *)(uintptr_t)key->word[0] + offset, bytes);
        return NBCOLL_POST_DONE;
    }
    nbcolli_verbs_peer *p = nbcolli_verbs_know(e, peer);
    nbcoll_posted said = nbcolli_verbs_may_move(e, p, bytes);
    if (said != NBCOLL_POST_LENT)
        return said;
    wr.wr_id = nbcolli_verbs_wr_id(work, NBCOLLI_VERBS_OF_GET);
    wr.send_flags = IBV_SEND_SIGNALED;
    e->error = ibv_post_send(p->bulk, &wr, &bad);
    if (e->error)
        return e->error == ENOMEM ? NBCOLL_POST_NOT_NOW : NBCOLL_POST_FAILED;
    work->scratch[0] = (uintptr_t)p;
    work->scratch[1] = 0;
    p->bulk_posts++;
    return said;
}

static nbcoll_posted nbcolli_verbs_put(nbcoll_endpoint *ep, int peer, const nbcoll_key *key, size_t offset,
                                       const nbcoll_registration *local, const void *from, size_t bytes,
                                       const nbcoll_header *notice, nbcoll_work *work)
{
    nbcolli_verbs_end *e = nbcolli_verbs_end_of(ep);
    struct ibv_sge part = {(uintptr_t)from, (uint32_t)bytes, (uint32_t)local->word[1]};
    struct ibv_send_wr wr = nbcolli_verbs_move(IBV_WR_RDMA_WRITE, &part, key, offset);

    if (!key->word[1])
        return NBCOLL_POST_FAILED;
    if (peer == ep->rank) {
        nbcoll_posted own = nbcolli_verbs_post(ep, peer, notice, NULL, 0, work);
        if (own == NBCOLL_POST_DONE)
            memcpy((char *)(uintptr_t)key->word[0] + offset, from, bytes);
        return own;
    }
    nbcolli_verbs_peer *p = nbcolli_verbs_know(e, peer);
    nbcoll_posted said = nbcolli_verbs_may_move(e, p, bytes);
    if (said != NBCOLL_POST_LENT)
        return said;
    wr.wr_id = nbcolli_verbs_wr_id(p, NBCOLLI_VERBS_OF_QUIET); /* completes if it fails */
    said = nbcolli_verbs_send(e, p, p->bulk, &wr, notice, NULL, 0, work);
    p->bulk_posts += said == NBCOLL_POST_LENT;
    return said;
}

void nbcolli_verbs_give_up(nbcoll_endpoint *ep, int peer)
{
    nbcolli_verbs_end *e = nbcolli_verbs_end_of(ep);
    nbcolli_verbs_peer *p = peer == ep->rank ? NULL : nbcolli_verbs_know(e, peer);
    struct ibv_qp_attr to = {.qp_state = IBV_QPS_ERR};

    if (!p)
        return;
    p->is_given_up = true; /* one that is not connected yet will have no such queue pair */
    if (p->bulk)
        ibv_modify_qp(p->bulk, &to, IBV_QP_STATE);
}

const nbcoll_bulk nbcolli_verbs_bulk = {.size = sizeof nbcolli_verbs_bulk,
                                        .register_memory = nbcolli_verbs_register,
                                        .deregister_memory = nbcolli_verbs_deregister,
                                        .get = nbcolli_verbs_get,
                                        .put = nbcolli_verbs_put};
