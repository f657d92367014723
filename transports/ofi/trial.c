/* SPDX-License-Identifier: BSD-3-Clause
 * What the provider takes for a write, found when the endpoint is opened, by writes to its own endpoint for large data;
 * and the prices of all ranks: the highest of each, so that all choose alike. A provider that does not answer soon, or
 * does not write, keeps assumed prices. See ofi.h. */
#include <string.h>

#include "ofi.h"

static const nbcoll_host nbcolli_ofi_clock = {0}; /* its clock, also where the host has one of its own */

enum { NBCOLLI_OFI_TRIAL_BYTES = 65536, NBCOLLI_OFI_TRIALS = 8, NBCOLLI_OFI_TRIAL_MS = 300 };

typedef struct nbcolli_ofi_trial {
    char *memory; /* written, and read behind that */
    struct fid_mr *mr, *local;
    fi_addr_t to;
    uint64_t at, key;
    uint64_t call; /* the shortest time of fi_write */
} nbcolli_ofi_trial;

static bool nbcolli_ofi_trial_make(nbcolli_ofi_end *e, const nbcolli_ofi_place *mine, nbcolli_ofi_trial *t)
{
    uint64_t mode = (uint64_t)e->info->domain_attr->mr_mode;
    nbcoll_key key = {{0}};

    t->memory = nbcolli_alloc(&e->host, 2 * NBCOLLI_OFI_TRIAL_BYTES, 4096);
    if (!t->memory)
        return false;
    memset(t->memory, 0, 2 * NBCOLLI_OFI_TRIAL_BYTES);
    if (nbcolli_ofi_register(e, t->memory, NBCOLLI_OFI_TRIAL_BYTES, FI_REMOTE_WRITE, &t->mr) != 0 ||
        (mode & FI_MR_LOCAL && nbcolli_ofi_register(e, t->memory + NBCOLLI_OFI_TRIAL_BYTES, NBCOLLI_OFI_TRIAL_BYTES,
                                                    FI_WRITE, &t->local) != 0))
        return false;
    t->call = UINT64_MAX;
    if (nbcolli_ofi_tell_key(e, t->mr, t->memory, &key) != 0 || nbcolli_ofi_map_key(e, &key, &t->key) != 0)
        return false;
    t->at = key.word[0];
    return fi_av_insert(e->av, mine->bulk.at, 1, &t->to, 0, NULL) == 1;
}

static void nbcolli_ofi_trial_free(nbcolli_ofi_end *e, nbcolli_ofi_trial *t)
{
    nbcolli_ofi_unmap_key(e, t->key);
    if (t->mr)
        fi_close(&t->mr->fid);
    if (t->local)
        fi_close(&t->local->fid);
    nbcolli_free(&e->host, t->memory, 2 * NBCOLLI_OFI_TRIAL_BYTES);
}

/* One write, till it is acknowledged; 0: it is not. The buffer is one for messages to this rank itself, still unused;
 * without an acknowledgement it stays out. */
static uint64_t nbcolli_ofi_trial_write(nbcolli_ofi_end *e, nbcolli_ofi_trial *t, size_t bytes)
{
    uint64_t since = nbcolli_now(&nbcolli_ofi_clock), now = since;
    uint64_t until = since + NBCOLLI_OFI_TRIAL_MS * NBCOLLI_OFI_MS;
    void *desc = t->local ? fi_mr_desc(t->local) : NULL;
    struct fi_cq_msg_entry c = {0};
    int said = -FI_EAGAIN;

    while (said == -FI_EAGAIN && now < until) {
        since = nbcolli_now(&nbcolli_ofi_clock);
        said = nbcolli_ofi_write(e, t->memory + NBCOLLI_OFI_TRIAL_BYTES, bytes, desc, t->to, t->at, t->key,
                                 &e->own->context);
        now = nbcolli_now(&nbcolli_ofi_clock);
        if (said == -FI_EAGAIN) /* it connects */
            (void)fi_cq_read(e->cq, &c, 1);
    }
    if (said == 0 && now - since < t->call)
        t->call = now - since;
    for (ssize_t n = -FI_EAGAIN; said == 0 && now < until && n == -FI_EAGAIN;) {
        n = fi_cq_read(e->cq, &c, 1);
        now = nbcolli_now(&nbcolli_ofi_clock);
        if (n == 1)
            return now - since + 1;
    }
    return 0;
}

/* The shortest of some. */
static uint64_t nbcolli_ofi_trial_of(nbcolli_ofi_end *e, nbcolli_ofi_trial *t, size_t bytes)
{
    uint64_t best = UINT64_MAX;

    for (int i = 0; i < NBCOLLI_OFI_TRIALS; i++) {
        uint64_t ns = nbcolli_ofi_trial_write(e, t, bytes);
        if (!ns)
            return 0;
        best = ns < best ? ns : best;
    }
    return best;
}

static uint32_t nbcolli_ofi_price(uint64_t value)
{
    return value < 1 ? 1 : value > 1000000000 ? 1000000000 : (uint32_t)value;
}

nbcolli_ofi_prices nbcolli_ofi_try(nbcolli_ofi_end *e, const nbcolli_ofi_place *mine)
{
    size_t most = e->info->ep_attr->max_msg_size;
    nbcolli_ofi_prices prices = {0};
    nbcolli_ofi_trial t = {.key = FI_KEY_NOTAVAIL};

    most = most < NBCOLLI_OFI_TRIAL_BYTES ? most : NBCOLLI_OFI_TRIAL_BYTES;
    if (e->bulk && nbcolli_ofi_trial_make(e, mine, &t)) {
        uint64_t shortest = nbcolli_ofi_trial_of(e, &t, 8);
        uint64_t longest = shortest ? nbcolli_ofi_trial_of(e, &t, most) : 0;
        uint64_t rise = longest > shortest ? longest - shortest : 0;
        if (longest) {
            prices.alpha_ns = nbcolli_ofi_price(shortest / 2); /* till it is acknowledged: there and back */
            prices.beta_ps = nbcolli_ofi_price(rise * 1000 / most);
            prices.put_ns = nbcolli_ofi_price(shortest);
            prices.overhead_ns = nbcolli_ofi_price(t.call);
        }
    }
    nbcolli_ofi_trial_free(e, &t);
    return prices;
}

static uint32_t nbcolli_ofi_dearer(uint32_t *most, uint32_t price)
{
    return *most = price > *most ? price : *most;
}

void nbcolli_ofi_agree(nbcolli_ofi_end *e, const nbcolli_ofi_place *place)
{
    nbcoll_level *price = &e->base.limits.price;

    if (!place->prices.put_ns)
        return;
    price->alpha_ns = nbcolli_ofi_dearer(&e->agreed.alpha_ns, place->prices.alpha_ns);
    price->beta_ps = nbcolli_ofi_dearer(&e->agreed.beta_ps, place->prices.beta_ps);
    price->put_ns = nbcolli_ofi_dearer(&e->agreed.put_ns, place->prices.put_ns);
    price->overhead_ns = nbcolli_ofi_dearer(&e->agreed.overhead_ns, place->prices.overhead_ns);
}
