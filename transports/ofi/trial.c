/* SPDX-License-Identifier: BSD-3-Clause
 * Prices, measured between machines. Ranks pair up, two of different machines if there are several. One of a pair
 * writes to the other one's memory and measures; the other one keeps its provider going until the last byte is there.
 * Where the provider does not write, the first one sends messages that are the transport's own, and gets an answer.
 * All ranks take the dearest prices of all pairs, so that they choose alike. A pair without an answer in time tells no
 * prices. See ofi.h. */
#include <string.h>

#include "ofi.h"

enum { NBCOLLI_OFI_TRIAL_BYTES = 1 << 18, NBCOLLI_OFI_TRIALS = 32 };
#define NBCOLLI_OFI_TRIAL_NS (500 * NBCOLLI_OFI_MS)

static const nbcoll_host nbcolli_ofi_clock = {0}; /* its clock, also where the host has one of its own */

typedef struct nbcolli_ofi_trial {
    fi_addr_t to;
    uint64_t at, key, until;
    uint64_t call; /* the shortest time of fi_writemsg */
} nbcolli_ofi_trial;

void nbcolli_ofi_trial_free(nbcolli_ofi_end *e)
{
    if (e->trial_local)
        fi_close(&e->trial_local->fid);
    if (e->trial.mr)
        fi_close(&e->trial.mr->fid);
    nbcolli_free(&e->host, e->trial.at, e->trial.bytes);
    e->trial = (nbcolli_ofi_slab){0};
    e->trial_local = NULL;
}

/* Memory that is written, behind it some that is read, and a key for the partner. Without them the key is all zero. */
static void nbcolli_ofi_trial_make(nbcolli_ofi_end *e, nbcoll_key *key)
{
    bool is_local = e->info->domain_attr->mr_mode & FI_MR_LOCAL;

    e->trial.bytes = 2 * NBCOLLI_OFI_TRIAL_BYTES;
    e->trial.at = nbcolli_alloc(&e->host, e->trial.bytes, 4096);
    if (!e->trial.at)
        return;
    memset(e->trial.at, 0, e->trial.bytes);
    char *from = (char *)e->trial.at + NBCOLLI_OFI_TRIAL_BYTES;
    key->word[2] = 1; /* there is memory */
    if (!e->bulk)
        return;
    if (nbcolli_ofi_register(e, e->trial.at, NBCOLLI_OFI_TRIAL_BYTES, FI_REMOTE_WRITE, &e->trial.mr) != 0 ||
        (is_local && nbcolli_ofi_register(e, from, NBCOLLI_OFI_TRIAL_BYTES, FI_WRITE, &e->trial_local) != 0) ||
        nbcolli_ofi_tell_key(e, e->trial.mr, e->trial.at, key) != 0)
        *key = (nbcoll_key){{0}};
}

/* Where the partner may need this core it gets it. */
static void nbcolli_ofi_trial_yield(const nbcolli_ofi_end *e)
{
    if (e->base.limits.ranks_per_core != 1)
        e->os->yield();
}

/* One write to offset 0 or to `at`, till it is acknowledged; 0: it is not. The buffer is one for messages to this rank
 * itself. */
static uint64_t nbcolli_ofi_trial_write(nbcolli_ofi_end *e, nbcolli_ofi_trial *t, size_t at, size_t bytes)
{
    const char *from = (const char *)e->trial.at + NBCOLLI_OFI_TRIAL_BYTES + at;
    void *desc = e->trial_local ? fi_mr_desc(e->trial_local) : NULL;
    uint64_t since = 0, now = nbcolli_now(&nbcolli_ofi_clock);
    struct fi_cq_msg_entry c = {0};
    int said = -FI_EAGAIN;

    while (said == -FI_EAGAIN && now < t->until) {
        since = nbcolli_now(&nbcolli_ofi_clock);
        said = nbcolli_ofi_write(e, from, bytes, desc, t->to, t->at + at, t->key, &e->own->context);
        now = nbcolli_now(&nbcolli_ofi_clock);
        if (said == -FI_EAGAIN) /* it connects */
            (void)fi_cq_read(e->cq, &c, 1);
    }
    if (said == 0 && now - since < t->call)
        t->call = now - since;
    for (ssize_t n = -FI_EAGAIN; said == 0 && now < t->until && n == -FI_EAGAIN;) {
        n = fi_cq_read(e->cq, &c, 1);
        nbcolli_ofi_trial_yield(e);
        now = nbcolli_now(&nbcolli_ofi_clock);
        if (n == 1)
            return now - since + 1;
    }
    return 0;
}

/* ---- by messages ------------------------------------------------------------------------------------------------- */

static void nbcolli_ofi_trial_poll(nbcolli_ofi_end *e)
{
    nbcoll_arrival *arrived = NULL, **last = &arrived; /* none arrives: nobody sends before all have measured */

    (void)nbcolli_ofi_poll(e, &last);
    nbcolli_ofi_trial_yield(e);
}

static bool nbcolli_ofi_trial_say(nbcolli_ofi_end *e, uint64_t until, int what, size_t bytes)
{
    nbcolli_ofi_peer *p = nbcolli_ofi_know(e, e->partner);
    char *payload = e->trial.at;

    for (*payload = (char)what; nbcolli_now(&nbcolli_ofi_clock) < until; nbcolli_ofi_trial_poll(e))
        if (p->slab.at && nbcolli_ofi_say(e, p, NBCOLLI_OFI_TRIAL, payload, bytes))
            return true;
    return false;
}

/* So many bytes in messages, till the last one is answered; 0: it is not. */
static uint64_t nbcolli_ofi_trial_ask(nbcolli_ofi_end *e, nbcolli_ofi_trial *t, size_t bytes)
{
    uint64_t since = nbcolli_now(&nbcolli_ofi_clock), now;
    size_t most = e->piece - sizeof(nbcolli_ofi_front);

    e->trial_heard = 0;
    for (size_t its; bytes; bytes -= its) {
        its = bytes < most ? bytes : most;
        if (!nbcolli_ofi_trial_say(e, t->until, its < bytes ? NBCOLLI_OFI_FILLS : NBCOLLI_OFI_ASKS, its))
            return 0;
    }
    now = nbcolli_now(&nbcolli_ofi_clock);
    t->call = now - since < t->call ? now - since : t->call;
    for (; now < t->until; now = nbcolli_now(&nbcolli_ofi_clock)) {
        if (e->trial_heard & 1u << NBCOLLI_OFI_ANSWERS)
            return now - since + 1;
        nbcolli_ofi_trial_poll(e);
    }
    return 0;
}

static bool nbcolli_ofi_trial_answer(nbcolli_ofi_end *e, uint64_t until)
{
    while (!(e->trial_heard & 1u << NBCOLLI_OFI_ENDS) && nbcolli_now(&nbcolli_ofi_clock) < until) {
        bool is_asked = e->trial_heard & 1u << NBCOLLI_OFI_ASKS;
        e->trial_heard &= ~(1u << NBCOLLI_OFI_ASKS);
        if (is_asked)
            (void)nbcolli_ofi_trial_say(e, until, NBCOLLI_OFI_ANSWERS, 1);
        nbcolli_ofi_trial_poll(e);
    }
    return true; /* nothing is read or written later */
}

/* ---- both -------------------------------------------------------------------------------------------------------- */

static uint64_t nbcolli_ofi_trial_once(nbcolli_ofi_end *e, nbcolli_ofi_trial *t, size_t bytes)
{
    return e->bulk ? nbcolli_ofi_trial_write(e, t, 0, bytes) : nbcolli_ofi_trial_ask(e, t, bytes);
}

static bool nbcolli_ofi_trial_end(nbcolli_ofi_end *e, nbcolli_ofi_trial *t)
{
    size_t last = NBCOLLI_OFI_TRIAL_BYTES - 1;

    if (!e->bulk) {
        (void)nbcolli_ofi_trial_say(e, t->until, NBCOLLI_OFI_ENDS, 1);
        return true; /* the transport has copied all */
    }
    ((char *)e->trial.at)[NBCOLLI_OFI_TRIAL_BYTES + last] = 1;
    return nbcolli_ofi_trial_write(e, t, last, 1) != 0;
}

/* The least times of so many bytes each, measured in turn, for which half of the time suffices: what else runs on a
 * machine only adds. False: one was not acknowledged; a first one takes at least the time until then. */
static bool nbcolli_ofi_trial_least(nbcolli_ofi_end *e, nbcolli_ofi_trial *t, const size_t bytes[2], uint64_t least[2])
{
    uint64_t now = nbcolli_now(&nbcolli_ofi_clock), enough = t->until - NBCOLLI_OFI_TRIAL_NS / 2;
    bool is_done = true;

    least[0] = least[1] = UINT64_MAX;
    for (int i = 0; is_done && i < 2 * NBCOLLI_OFI_TRIALS && (i < 2 || now < enough); i++) {
        uint64_t since = now, ns = nbcolli_ofi_trial_once(e, t, bytes[i % 2]);
        now = nbcolli_now(&nbcolli_ofi_clock);
        is_done = ns != 0;
        ns = is_done ? ns : now - since;
        if ((is_done || i < 2) && ns < least[i % 2])
            least[i % 2] = ns;
    }
    return is_done;
}

static uint32_t nbcolli_ofi_price(uint64_t value)
{
    return value < 1 ? 1 : value > 1000000000 ? 1000000000 : (uint32_t)value;
}

/* The partner's last byte becomes 1 when this rank has done. True: all was acknowledged. */
static bool nbcolli_ofi_trial_measure(nbcolli_ofi_end *e, nbcolli_ofi_trial *t, nbcolli_ofi_prices *prices)
{
    size_t last = NBCOLLI_OFI_TRIAL_BYTES - 1, most = e->info->ep_attr->max_msg_size;
    size_t bytes[2] = {8, most < last ? most : last};
    uint64_t least[2];

    (void)nbcolli_ofi_trial_once(e, t, bytes[0]); /* connects */
    bool is_done = nbcolli_ofi_trial_least(e, t, bytes, least);
    if (least[1] == UINT64_MAX)
        return false;
    prices->alpha_ns = nbcolli_ofi_price(least[0] / 2); /* till it is acknowledged: there and back */
    prices->beta_ps = nbcolli_ofi_price((least[1] > least[0] ? least[1] - least[0] : 0) * 1000 / bytes[1]);
    prices->put_ns = nbcolli_ofi_price(least[0]);
    prices->overhead_ns = nbcolli_ofi_price(t->call);
    bool has_ended = nbcolli_ofi_trial_end(e, t);
    return has_ended && (is_done || !e->bulk);
}

/* True: the partner has done. */
static bool nbcolli_ofi_trial_serve(nbcolli_ofi_end *e, uint64_t until)
{
    volatile char *last = (volatile char *)e->trial.at + NBCOLLI_OFI_TRIAL_BYTES - 1;
    struct fi_cq_msg_entry c;

    for (; !*last && nbcolli_now(&nbcolli_ofi_clock) < until; nbcolli_ofi_trial_yield(e))
        (void)fi_cq_read(e->cq, &c, 1);
    for (int i = 0; i < 16; i++) /* the provider acknowledges the last write */
        (void)fi_cq_read(e->cq, &c, 1);
    return *last;
}

/* With a partner whose key is here. Memory that may still be written or read stays until the endpoint is closed. */
static void nbcolli_ofi_trial_run(nbcolli_ofi_end *e, const nbcoll_key *its, nbcolli_ofi_prices *prices)
{
    nbcolli_ofi_trial t = {.to = e->peer[e->partner].bulk_to, .at = its->word[0], .key = FI_KEY_NOTAVAIL};
    bool has_ended = false;

    e->trial_heard = 0;
    t.call = UINT64_MAX;
    t.until = nbcolli_now(&nbcolli_ofi_clock) + NBCOLLI_OFI_TRIAL_NS;
    if (e->partner < e->base.rank)
        has_ended = e->bulk ? nbcolli_ofi_trial_serve(e, t.until) : nbcolli_ofi_trial_answer(e, t.until);
    else if (!e->bulk)
        has_ended = nbcolli_ofi_trial_measure(e, &t, prices);
    else if (nbcolli_ofi_map_key(e, its, &t.key) == 0) {
        has_ended = nbcolli_ofi_trial_measure(e, &t, prices);
        nbcolli_ofi_unmap_key(e, t.key);
    }
    if (has_ended)
        nbcolli_ofi_trial_free(e);
}

static void nbcolli_ofi_dearer(uint32_t *most, uint32_t price)
{
    *most = price > *most ? price : *most;
}

static void nbcolli_ofi_agree(nbcolli_ofi_end *e, const nbcolli_ofi_prices all[])
{
    nbcoll_level *price = &e->base.limits.price;
    nbcolli_ofi_prices most = {0};

    for (int rank = 0; rank < e->base.ranks; rank++) {
        nbcolli_ofi_dearer(&most.alpha_ns, all[rank].alpha_ns);
        nbcolli_ofi_dearer(&most.beta_ps, all[rank].beta_ps);
        nbcolli_ofi_dearer(&most.put_ns, all[rank].put_ns);
        nbcolli_ofi_dearer(&most.overhead_ns, all[rank].overhead_ns);
    }
    if (!most.put_ns)
        return;
    price->alpha_ns = most.alpha_ns;
    price->beta_ps = most.beta_ps;
    price->put_ns = most.put_ns;
    price->overhead_ns = most.overhead_ns;
    nbcolli_log(&e->host, NBCOLL_OK, "ofi: a message takes %u ns, a byte %u ps, as measured between machines",
                (unsigned)most.alpha_ns, (unsigned)most.beta_ps);
}

nbcoll_status nbcoll_ofi_measure(nbcoll_endpoint *endpoint, nbcoll_ofi_exchange *exchange, void *user)
{
    nbcolli_ofi_end *e = nbcolli_ofi_end_of(endpoint);
    nbcolli_ofi_prices mine = {0}, *prices;
    nbcoll_key key = {{0}}, *keys;

    if (!endpoint || !exchange)
        return NBCOLL_ERR_NULL;
    if (!nbcolli_ofi_is_one(endpoint) || !e->is_met)
        return NBCOLL_ERR_ARGUMENT;
    size_t bytes = (size_t)endpoint->ranks * (sizeof *keys + sizeof *prices);
    keys = nbcolli_alloc(&e->host, bytes, 64);
    if (!keys)
        return NBCOLL_ERR_MEMORY;
    prices = (nbcolli_ofi_prices *)(void *)(keys + endpoint->ranks);
    if (e->partner >= 0 && !e->trial.at)
        nbcolli_ofi_trial_make(e, &key);
    nbcoll_status status = exchange(user, &key, keys, sizeof key);
    if (status == NBCOLL_OK && key.word[2] && keys[e->partner].word[2])
        nbcolli_ofi_trial_run(e, &keys[e->partner], &mine);
    if (status == NBCOLL_OK)
        status = exchange(user, &mine, prices, sizeof mine);
    if (status == NBCOLL_OK)
        nbcolli_ofi_agree(e, prices);
    nbcolli_free(&e->host, keys, bytes);
    return status;
}
