/* SPDX-License-Identifier: BSD-3-Clause
 * What the device takes for a write, a read and a registration, found when the endpoint is opened, between two queue
 * pairs of its own; and the prices of all ranks: the highest of each, so that all get or all put, and all send eagerly
 * up to the same length. A device that does not answer at once keeps the prices that it had. See verbs.h. */
#include <string.h>

#include "verbs.h"

static const nbcoll_host nbcolli_verbs_clock = {0}; /* its clock, also where the host has one of its own */

enum { NBCOLLI_VERBS_TRIAL_BYTES = 16384, NBCOLLI_VERBS_TRIALS = 3 };

typedef struct nbcolli_verbs_trial {
    const nbcolli_verbs_rail *rail;
    const nbcolli_verbs_port *port;
    struct ibv_cq *cq;
    struct ibv_qp *qp[2];
    struct ibv_mr *mr;
    char *memory; /* read, and written behind that */
} nbcolli_verbs_trial;

static bool nbcolli_verbs_trial_join(const nbcolli_verbs_end *e, const nbcolli_verbs_trial *t, struct ibv_qp *qp,
                                     const struct ibv_qp *other)
{
    int access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE;

    return nbcolli_verbs_begin(t->rail, qp, access) &&
           nbcolli_verbs_join(e, t->rail, t->port, qp, other->qp_num, 0);
}

static bool nbcolli_verbs_trial_make(nbcolli_verbs_end *e, nbcolli_verbs_trial *t)
{
    int access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE;

    t->memory = nbcolli_alloc(&e->host, 2 * NBCOLLI_VERBS_TRIAL_BYTES, 4096);
    t->cq = t->memory ? ibv_create_cq(t->rail->device, 8, NULL, NULL, 0) : NULL;
    if (!t->cq)
        return false;
    memset(t->memory, 0, 2 * NBCOLLI_VERBS_TRIAL_BYTES);
    struct ibv_qp_init_attr how = {.send_cq = t->cq, .recv_cq = t->cq, .qp_type = IBV_QPT_RC, .cap = {2, 1, 1, 1, 0}};
    t->mr = ibv_reg_mr(t->rail->pd, t->memory, 2 * NBCOLLI_VERBS_TRIAL_BYTES, access);
    t->qp[0] = t->mr ? ibv_create_qp(t->rail->pd, &how) : NULL;
    t->qp[1] = t->qp[0] ? ibv_create_qp(t->rail->pd, &how) : NULL;
    return t->qp[1] && nbcolli_verbs_trial_join(e, t, t->qp[0], t->qp[1]) &&
           nbcolli_verbs_trial_join(e, t, t->qp[1], t->qp[0]);
}

static void nbcolli_verbs_trial_free(nbcolli_verbs_end *e, nbcolli_verbs_trial *t)
{
    for (int i = 0; i < 2; i++)
        if (t->qp[i])
            ibv_destroy_qp(t->qp[i]);
    if (t->mr)
        ibv_dereg_mr(t->mr);
    if (t->cq)
        ibv_destroy_cq(t->cq);
    nbcolli_free(&e->host, t->memory, 2 * NBCOLLI_VERBS_TRIAL_BYTES);
}

/* ---- one look at the clock and back -------------------------------------------------------------------------------
 */

/* The shortest time of some, in ns; 0: it failed, or took more than the device's first retry. */
static uint64_t nbcolli_verbs_trial_move(nbcolli_verbs_end *e, const nbcolli_verbs_trial *t, enum ibv_wr_opcode opcode,
                                         uint32_t bytes)
{
    uint64_t patience = UINT64_C(4096) << e->timeout, best = 0;
    struct ibv_sge part = {(uintptr_t)t->memory, bytes, t->mr->lkey};
    struct ibv_send_wr wr = {.sg_list = &part, .num_sge = 1, .opcode = opcode, .send_flags = IBV_SEND_SIGNALED}, *bad;
    struct ibv_wc wc;

    wr.wr.rdma.remote_addr = (uintptr_t)t->memory + NBCOLLI_VERBS_TRIAL_BYTES;
    wr.wr.rdma.rkey = t->mr->rkey;
    for (int i = 0; i < NBCOLLI_VERBS_TRIALS; i++) {
        uint64_t since = nbcolli_now(&nbcolli_verbs_clock), ns = 0;
        int n = ibv_post_send(t->qp[0], &wr, &bad) == 0 ? 0 : -1;
        while (n == 0 && ns <= patience) {
            n = ibv_poll_cq(t->cq, 1, &wc);
            ns = nbcolli_now(&nbcolli_verbs_clock) - since + 1;
        }
        if (n != 1 || wc.status != IBV_WC_SUCCESS)
            return 0;
        best = !best || ns < best ? ns : best;
    }
    return best;
}

static uint64_t nbcolli_verbs_trial_register(const nbcolli_verbs_trial *t)
{
    uint64_t best = UINT64_MAX;

    for (int i = 0; i < NBCOLLI_VERBS_TRIALS; i++) {
        uint64_t since = nbcolli_now(&nbcolli_verbs_clock);
        struct ibv_mr *mr = ibv_reg_mr(t->rail->pd, t->memory, NBCOLLI_VERBS_TRIAL_BYTES, IBV_ACCESS_LOCAL_WRITE);
        if (!mr)
            return 0;
        ibv_dereg_mr(mr);
        uint64_t ns = nbcolli_now(&nbcolli_verbs_clock) - since;
        best = ns < best ? ns : best;
    }
    return best;
}

/* ---- prices ------------------------------------------------------------------------------------------------------ */

static uint32_t nbcolli_verbs_price(uint64_t value, uint32_t most)
{
    return value < 1 ? 1 : value > most ? most : (uint32_t)value;
}

/* Both ends register, at the same time. A byte has the cheaper way's price; the dearer one's excess counts as its
 * start. */
static nbcolli_verbs_prices nbcolli_verbs_trial_prices(nbcolli_verbs_end *e, const nbcolli_verbs_trial *t)
{
    const uint32_t bytes = NBCOLLI_VERBS_TRIAL_BYTES, second = 1000000000;
    uint64_t write = nbcolli_verbs_trial_move(e, t, IBV_WR_RDMA_WRITE, 8);
    uint64_t read = write ? nbcolli_verbs_trial_move(e, t, IBV_WR_RDMA_READ, 8) : 0;
    uint64_t writes = read ? nbcolli_verbs_trial_move(e, t, IBV_WR_RDMA_WRITE, bytes) : 0;
    uint64_t reads = writes ? nbcolli_verbs_trial_move(e, t, IBV_WR_RDMA_READ, bytes) : 0;
    uint64_t registering = reads ? nbcolli_verbs_trial_register(t) : 0;

    if (!registering)
        return (nbcolli_verbs_prices){0};
    uint64_t rise = writes > write ? writes - write : 0, other = reads > read ? reads - read : 0;
    rise = other < rise ? other : rise;
    return (nbcolli_verbs_prices){
        .alpha_ns = nbcolli_verbs_price(write / 2, second), /* till it is acknowledged: there and back */
        .beta_ps = nbcolli_verbs_price(rise * 1000 / bytes, second),
        .get_ns = nbcolli_verbs_price(registering + (reads > rise ? reads - rise : 0), second),
        .put_ns = nbcolli_verbs_price(registering + (writes > rise ? writes - rise : 0), second)};
}

static uint32_t nbcolli_verbs_dearer(uint32_t a, uint32_t b)
{
    return a > b ? a : b;
}

static nbcolli_verbs_prices nbcolli_verbs_dearest(nbcolli_verbs_prices a, nbcolli_verbs_prices b)
{
    return (nbcolli_verbs_prices){.alpha_ns = nbcolli_verbs_dearer(a.alpha_ns, b.alpha_ns),
                                  .beta_ps = nbcolli_verbs_dearer(a.beta_ps, b.beta_ps),
                                  .get_ns = nbcolli_verbs_dearer(a.get_ns, b.get_ns),
                                  .put_ns = nbcolli_verbs_dearer(a.put_ns, b.put_ns)};
}

nbcolli_verbs_prices nbcolli_verbs_try(nbcolli_verbs_end *e, const nbcolli_verbs_place *mine)
{
    nbcolli_verbs_prices prices = {0};

    for (uint32_t i = 0; i < e->rails; i++) {
        nbcolli_verbs_trial t = {.rail = &e->rail[i], .port = &mine->port[i]};
        if (nbcolli_verbs_trial_make(e, &t))
            prices = nbcolli_verbs_dearest(prices, nbcolli_verbs_trial_prices(e, &t));
        nbcolli_verbs_trial_free(e, &t);
    }
    return prices;
}

/* A message is eager up to the length at which its copies cost more than announcing it: one more exchange, and the
 * cheaper way of moving it; but its buffers bound that. */
void nbcolli_verbs_agree(nbcolli_verbs_end *e, const nbcolli_verbs_place *all)
{
    nbcoll_limits *limits = &e->base.limits;
    nbcolli_verbs_prices agreed = {0};

    for (int rank = 0; rank < e->base.ranks; rank++)
        agreed = nbcolli_verbs_dearest(agreed, all[rank].prices);
    if (!agreed.get_ns)
        return;
    limits->price.alpha_ns = agreed.alpha_ns;
    limits->price.beta_ps = agreed.beta_ps;
    limits->price.get_ns = agreed.get_ns;
    limits->price.put_ns = agreed.put_ns;
    uint64_t start = (uint64_t)agreed.alpha_ns + (agreed.get_ns < agreed.put_ns ? agreed.get_ns : agreed.put_ns);
    uint64_t eager = start * 1000 / limits->price.eager_ps / 8 * 8;
    limits->payload = eager < 256 ? 256 : eager < e->payload ? eager : e->payload;
}
