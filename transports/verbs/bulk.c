/* SPDX-License-Identifier: BSD-3-Clause
 * Large data, by the device: registration, gets, and puts with their notices. They have a queue pair of their own for
 * each peer, so that a peer that is given up can be kept from this rank's memory and still be told so. A failure there
 * is no death: the other queue pair finds out. See verbs.h. */
#include <errno.h>
#include <string.h>

#include "verbs.h"

#define NBCOLLI_VERBS_KEY_IS_THERE (UINT64_C(1) << 32) /* beside the remote key: no key is all zero */
#define NBCOLLI_VERBS_PIECES (NBCOLLI_VERBS_BULK - 4u) /* of one get or put, at most */

/* ---- registration ------------------------------------------------------------------------------------------------ */

/* Where the remote key for a rail stands in a key: behind the address, then two a word. */
static uint32_t nbcolli_verbs_rkey(const nbcoll_key *key, uint32_t rail)
{
    return (uint32_t)(rail ? key->word[2 + (rail - 1) / 2] >> 32 * ((rail - 1) % 2) : key->word[1]);
}

static void nbcolli_verbs_set_rkey(nbcoll_key *key, uint32_t rail, uint32_t rkey)
{
    if (rail == 0)
        key->word[1] = NBCOLLI_VERBS_KEY_IS_THERE | rkey;
    else
        key->word[2 + (rail - 1) / 2] |= (uint64_t)rkey << 32 * ((rail - 1) % 2);
}

/* Memory that can only be read is registered for that, if it is not to be written by a peer: tried second. The first
 * and the second try's flags; -1: there is no such try. */
static int nbcolli_verbs_flags(uint32_t access, int is_second)
{
    int flags = access & NBCOLL_PEER_READS ? IBV_ACCESS_REMOTE_READ : 0;

    if (access & NBCOLL_PEER_WRITES)
        flags |= IBV_ACCESS_REMOTE_WRITE;
    if (is_second)
        return access & NBCOLL_PEER_WRITES ? -1 : flags;
    return access & (NBCOLL_PEER_WRITES | NBCOLL_LOCAL_END) ? flags | IBV_ACCESS_LOCAL_WRITE : -1;
}

/* For every rank, hence with every rail, and for as long as the host wants. Any thread. */
static bool nbcolli_verbs_register_all(nbcolli_verbs_end *e, void *memory, size_t bytes, uint32_t access,
                                       nbcoll_registration *out)
{
    nbcolli_verbs_for_all *all = NULL;

    for (int try = 0; try < 2 && !all; try++)
        if (nbcolli_verbs_flags(access, try) >= 0)
            all = nbcolli_verbs_register_for_all(e, memory, bytes, nbcolli_verbs_flags(access, try));
    if (!all)
        return false;
    for (uint32_t i = 0; i < e->rails; i++)
        nbcolli_verbs_set_rkey(&out->key, i, all->mr[i]->rkey);
    out->word[0] = (uintptr_t)all;
    out->word[1] = NBCOLLI_VERBS_IS_FOR_ALL;
    return true;
}

static bool nbcolli_verbs_register_for(nbcolli_verbs_end *e, int peer, void *memory, size_t bytes, uint32_t access,
                                       nbcoll_registration *out)
{
    uint32_t rail = nbcolli_verbs_rail_to(e, peer);
    nbcolli_verbs_kept *kept = NULL;
    struct ibv_mr *mr = NULL;

    for (int try = 0; try < 2 && !mr; try++)
        if (nbcolli_verbs_flags(access, try) >= 0)
            mr = nbcolli_verbs_memory(e, &e->rail[rail], memory, bytes, nbcolli_verbs_flags(access, try), &kept);
    if (!mr) {
        e->error = errno;
        return false;
    }
    out->word[0] = kept ? (uintptr_t)kept : (uintptr_t)mr;
    out->word[1] = mr->lkey | (kept ? NBCOLLI_VERBS_IS_KEPT : 0);
    out->key.word[1] = NBCOLLI_VERBS_KEY_IS_THERE;
    nbcolli_verbs_set_rkey(&out->key, rail, mr->rkey);
    return true;
}

static nbcoll_status nbcolli_verbs_register(nbcoll_endpoint *ep, int peer, void *memory, size_t bytes, uint32_t access,
                                            nbcoll_registration *out)
{
    nbcolli_verbs_end *e = nbcolli_verbs_end_of(ep);

    *out = (nbcoll_registration){.key = {{(uintptr_t)memory}}};
    if (bytes / NBCOLLI_VERBS_PIECES >= e->piece)
        return NBCOLL_ERR_MEMORY;
    if (!(peer < 0 ? nbcolli_verbs_register_all(e, memory, bytes, access, out)
                   : nbcolli_verbs_register_for(e, peer, memory, bytes, access, out)))
        return errno == ENOMEM ? NBCOLL_ERR_MEMORY : NBCOLL_ERR_TRANSPORT;
    if (!(access & (NBCOLL_PEER_READS | NBCOLL_PEER_WRITES)))
        out->key = (nbcoll_key){{0}};
    return NBCOLL_OK;
}

static void nbcolli_verbs_deregister(nbcoll_endpoint *ep, nbcoll_registration *registration)
{
    void *what = (void *)(uintptr_t)registration->word[0];

    if (registration->word[1] & NBCOLLI_VERBS_IS_KEPT)
        nbcolli_verbs_let_go(nbcolli_verbs_end_of(ep), what);
    else if (registration->word[1] & NBCOLLI_VERBS_IS_FOR_ALL)
        nbcolli_verbs_deregister_for_all(nbcolli_verbs_end_of(ep), what);
    else
        ibv_dereg_mr(what);
}

/* ---- gets and puts ----------------------------------------------------------------------------------------------- */

/* A get or put as work requests: one for each piece, of which only the last one completes, but for failures. */
typedef struct nbcolli_verbs_moves {
    struct ibv_send_wr wr[NBCOLLI_VERBS_PIECES];
    struct ibv_sge part[NBCOLLI_VERBS_PIECES];
    uint32_t count;
} nbcolli_verbs_moves;

static void nbcolli_verbs_cut_up(const nbcolli_verbs_end *e, nbcolli_verbs_peer *p, enum ibv_wr_opcode opcode,
                                 const nbcoll_key *key, size_t offset, const nbcoll_registration *local,
                                 const void *memory, size_t bytes, nbcolli_verbs_moves *m)
{
    size_t done = 0;

    for (m->count = 0; done < bytes || m->count == 0; m->count++) {
        struct ibv_send_wr *wr = &m->wr[m->count];
        size_t piece = bytes - done < e->piece ? bytes - done : e->piece;

        m->part[m->count] =
            (struct ibv_sge){(uintptr_t)memory + done, (uint32_t)piece, nbcolli_verbs_lkey(e, p->rank, local)};
        *wr = (struct ibv_send_wr){.wr_id = nbcolli_verbs_wr_id(p, NBCOLLI_VERBS_OF_QUIET),
                                   .sg_list = &m->part[m->count],
                                   .num_sge = 1,
                                   .opcode = opcode};
        wr->wr.rdma.remote_addr = key->word[0] + offset + done;
        wr->wr.rdma.rkey = nbcolli_verbs_rkey(key, nbcolli_verbs_rail_to(e, p->rank));
        if (m->count)
            wr[-1].next = wr;
        done += piece;
    }
}

/* What to answer of a get or put of so many bytes, if it cannot be posted; else IN_FLIGHT. */
static nbcoll_posted nbcolli_verbs_may_move(nbcolli_verbs_end *e, nbcolli_verbs_peer *p, size_t bytes)
{
    size_t slots = bytes / e->piece + 2; /* a notice's, too */

    if (p->state == NBCOLLI_VERBS_LOST || p->state == NBCOLLI_VERBS_LEFT)
        return NBCOLL_POST_LOST;
    if (slots > NBCOLLI_VERBS_PIECES + 1)
        return NBCOLL_POST_FAILED;
    if (p->state != NBCOLLI_VERBS_CONNECTED)
        return nbcolli_verbs_want(e, p) || e->error == ENOMEM ? NBCOLL_POST_NOT_NOW : NBCOLL_POST_FAILED;
    if (p->is_given_up || p->bulk_is_over || p->bulk_slots + slots > NBCOLLI_VERBS_BULK)
        return NBCOLL_POST_NOT_NOW;
    return NBCOLL_POST_IN_FLIGHT;
}

static nbcoll_posted nbcolli_verbs_get(nbcoll_endpoint *ep, int peer, const nbcoll_key *key, size_t offset,
                                       const nbcoll_registration *local, void *to, size_t bytes, nbcoll_work *work)
{
    nbcolli_verbs_end *e = nbcolli_verbs_end_of(ep);
    nbcolli_verbs_moves m;
    struct ibv_send_wr *bad;

    if (!key->word[1])
        return NBCOLL_POST_FAILED;
    if (peer == ep->rank) {
        memcpy(to, (const char *)(uintptr_t)key->word[0] + offset, bytes);
        return NBCOLL_POST_DONE;
    }
    nbcolli_verbs_peer *p = nbcolli_verbs_know(e, peer);
    nbcoll_posted said = nbcolli_verbs_may_move(e, p, bytes);
    if (said != NBCOLL_POST_IN_FLIGHT)
        return said;
    nbcolli_verbs_cut_up(e, p, IBV_WR_RDMA_READ, key, offset, local, to, bytes, &m);
    m.wr[m.count - 1].wr_id = nbcolli_verbs_wr_id(work, NBCOLLI_VERBS_OF_GET);
    m.wr[m.count - 1].send_flags = IBV_SEND_SIGNALED;
    e->error = ibv_post_send(p->bulk, m.wr, &bad);
    if (e->error)
        return e->error == ENOMEM ? NBCOLL_POST_NOT_NOW : NBCOLL_POST_FAILED;
    work->scratch[0] = (uintptr_t)p;
    work->scratch[1] = 0;
    work->scratch[2] = m.count;
    p->bulk_slots += m.count;
    return said;
}

static nbcoll_posted nbcolli_verbs_put(nbcoll_endpoint *ep, int peer, const nbcoll_key *key, size_t offset,
                                       const nbcoll_registration *local, const void *from, size_t bytes,
                                       const nbcoll_header *notice, nbcoll_work *work)
{
    nbcolli_verbs_end *e = nbcolli_verbs_end_of(ep);
    nbcolli_verbs_moves m;

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
    if (said != NBCOLL_POST_IN_FLIGHT)
        return said;
    nbcolli_verbs_cut_up(e, p, IBV_WR_RDMA_WRITE, key, offset, local, from, bytes, &m);
    return nbcolli_verbs_send(e, p, p->bulk, m.wr, m.count, notice, NULL, 0, work);
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
