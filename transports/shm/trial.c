/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Which way large data goes is measured, once, while the ranks open: the first rank of another process than rank 0's
 * gets from rank 0 by process_vm_readv, by pieces, and from both sides, at two sizes. It takes about a millisecond, and
 * writes its results to the segment; all ranks choose by them, also what to copy to a staging buffer. If one of the two
 * does not come in time nothing is measured, and pieces serve from 32 KiB on. Ranks that take turns on a core measure
 * nothing either: they take process_vm_readv, since each piece would cost a switch between them. */
#include "shm.h"

#define NBCOLLI_SHM_TRIAL_WAIT_NS 1000000u /* for the other rank */
#define NBCOLLI_SHM_TRIAL_NS 1500000u      /* then */
#define NBCOLLI_SHM_TRIAL_LOOKS 1000000u   /* in case the host's clock stands still */
#define NBCOLLI_SHM_TRIAL_ROUNDS 6
#define NBCOLLI_SHM_TRIAL_MOST 131072u
#define NBCOLLI_SHM_PATIENCE_NS 5000u

static const size_t nbcolli_shm_trial_sizes[NBCOLLI_SHM_TRIAL_SIZES] = {16384, NBCOLLI_SHM_TRIAL_MOST};

static struct nbcolli_shm_trial *nbcolli_shm_trial(const struct nbcolli_shm_end *e)
{
    return &((struct nbcolli_shm_front *)(void *)e->home->segment)->trial;
}

/* The rank that gets; 0: there is none. */
static int nbcolli_shm_trial_receiver(const struct nbcolli_shm_end *e)
{
    const struct nbcolli_shm_home *h = e->home;
    int rank = 1;

    while (rank < e->base.ranks && h->place[rank].pid == h->place[0].pid)
        rank++;
    if (rank == e->base.ranks || h->layout.quota < NBCOLLI_SHM_TRIAL_MOST || nbcolli_shm_ranks_per_core(e, 0) > 1 ||
        nbcolli_shm_ranks_per_core(e, rank) > 1)
        return 0;
    return rank;
}

/* Memory that nobody else uses yet: it is zeroed when it is reserved. */
static unsigned char *nbcolli_shm_trial_memory(const struct nbcolli_shm_end *e)
{
    const struct nbcolli_shm_layout *l = &e->home->layout;
    return e->home->segment + l->quotas + (size_t)e->base.rank * l->quota;
}

/* ---- the owner --------------------------------------------------------------------------------------------------- */

static void nbcolli_shm_trial_own(struct nbcolli_shm_end *e, bool takes_part)
{
    struct nbcolli_shm_trial *t = nbcolli_shm_trial(e);
    unsigned char *memory = nbcolli_shm_trial_memory(e);
    uint64_t start = nbcolli_now(&e->host), most = NBCOLLI_SHM_TRIAL_WAIT_NS;

    if (!takes_part) {
        atomic_store_explicit(&t->owner, NBCOLLI_SHM_TRIAL_OVER, memory_order_release);
        return;
    }
    memset(memory, 1, NBCOLLI_SHM_TRIAL_MOST);
    atomic_store_explicit(&t->from, (uintptr_t)memory, memory_order_relaxed); /* the next store publishes it */
    atomic_store_explicit(&t->owner, NBCOLLI_SHM_TRIAL_HERE, memory_order_release);
    for (uint32_t looks = 0; looks < NBCOLLI_SHM_TRIAL_LOOKS && nbcolli_now(&e->host) - start < most; looks++) {
        uint32_t receiver = atomic_load_explicit(&t->receiver, memory_order_acquire); /* acquire: its results */
        if (receiver == NBCOLLI_SHM_TRIAL_OVER)
            break;
        if (receiver == NBCOLLI_SHM_TRIAL_HERE)
            most = 2 * NBCOLLI_SHM_TRIAL_WAIT_NS + NBCOLLI_SHM_TRIAL_NS;
        nbcolli_shm_serve(e);
    }
    atomic_store_explicit(&t->owner, NBCOLLI_SHM_TRIAL_OVER, memory_order_release);
}

/* ---- the receiver ------------------------------------------------------------------------------------------------ */

/* The time of one get, in ns; 0: it did not end in time, or failed. */
static uint64_t nbcolli_shm_trial_get(struct nbcolli_shm_end *e, enum nbcolli_shm_way way, size_t bytes,
                                      uint64_t deadline)
{
    nbcoll_work work = {0};
    unsigned char *to = nbcolli_shm_trial_memory(e);
    uint64_t from = atomic_load_explicit(&nbcolli_shm_trial(e)->from, memory_order_relaxed); /* the address is there */
    uint64_t start = nbcolli_now(&e->host);
    nbcoll_status s = NBCOLL_PENDING;

    if (way == NBCOLLI_SHM_WAY_CMA)
        s = e->peer[0].error ? NBCOLL_AGAIN : nbcolli_shm_fetch(e, 0, from, to, bytes);
    e->peer[0].cma = way == NBCOLLI_SHM_WAY_BOTH && e->peer[0].error == 0;
    e->meets_from = way == NBCOLLI_SHM_WAY_BOTH ? 1 : SIZE_MAX;
    work.scratch[NBCOLLI_SHM_GET_FROM] = from;
    work.scratch[NBCOLLI_SHM_GET_TO] = (uintptr_t)to;
    work.scratch[NBCOLLI_SHM_GET_LEFT] = bytes;
    for (uint32_t looks = 0; s == NBCOLL_PENDING && looks < NBCOLLI_SHM_TRIAL_LOOKS; looks++) {
        e->copied = 0;
        if (nbcolli_shm_pieces_ask(e, &work))
            s = nbcolli_shm_pieces_go_on(e, &work);
        if (looks % 64 == 63 && nbcolli_now(&e->host) > deadline)
            break;
    }
    nbcolli_shm_pieces_close(e, &work);
    e->copied = 0;
    e->short_of_windows = false;
    uint64_t end = nbcolli_now(&e->host);
    return s == NBCOLL_OK && end > start ? end - start : 0;
}

static void nbcolli_shm_trial_measure(struct nbcolli_shm_end *e)
{
    struct nbcolli_shm_trial *t = nbcolli_shm_trial(e);
    uint64_t deadline = nbcolli_now(&e->host) + NBCOLLI_SHM_TRIAL_NS;
    uint64_t least[NBCOLLI_SHM_WAYS][NBCOLLI_SHM_TRIAL_SIZES];

    memset(nbcolli_shm_trial_memory(e), 0, NBCOLLI_SHM_TRIAL_MOST);
    memset(least, 0xff, sizeof least);
    for (int round = 0; round < NBCOLLI_SHM_TRIAL_ROUNDS; round++)
        for (int way = 0; way < NBCOLLI_SHM_WAYS; way++)
            for (int i = 0; i < NBCOLLI_SHM_TRIAL_SIZES; i++) {
                uint64_t ns = nbcolli_shm_trial_get(e, way, nbcolli_shm_trial_sizes[i], deadline);
                if (ns && ns < least[way][i])
                    least[way][i] = ns;
            }
    for (int way = 0; way < NBCOLLI_SHM_WAYS; way++)
        for (int i = 0; i < NBCOLLI_SHM_TRIAL_SIZES; i++) /* published when this rank says that it has tried */
            atomic_store_explicit(&t->ns[way][i], least[way][i] < UINT32_MAX ? (uint32_t)least[way][i] : 0,
                                  memory_order_relaxed);
}

static void nbcolli_shm_trial_take(struct nbcolli_shm_end *e, bool takes_part)
{
    struct nbcolli_shm_trial *t = nbcolli_shm_trial(e);
    uint64_t start = nbcolli_now(&e->host);
    uint32_t owner = NBCOLLI_SHM_TRIAL_ABSENT;

    for (uint32_t looks = 0; takes_part && looks < NBCOLLI_SHM_TRIAL_LOOKS && owner == NBCOLLI_SHM_TRIAL_ABSENT &&
                             nbcolli_now(&e->host) - start < NBCOLLI_SHM_TRIAL_WAIT_NS;
         looks++)
        owner = atomic_load_explicit(&t->owner, memory_order_acquire); /* acquire: its address */
    if (owner == NBCOLLI_SHM_TRIAL_HERE) {
        atomic_store_explicit(&t->receiver, NBCOLLI_SHM_TRIAL_HERE, memory_order_relaxed);
        nbcolli_shm_trial_measure(e);
    }
    atomic_store_explicit(&t->receiver, NBCOLLI_SHM_TRIAL_OVER, memory_order_release);
}

void nbcolli_shm_measure(struct nbcolli_shm_end *e)
{
    int receiver = nbcolli_shm_trial_receiver(e);
    bool takes_part = !(e->flags & (NBCOLL_SHM_NO_BULK | NBCOLL_SHM_NO_PIECES));

    if (receiver && e->base.rank == 0)
        nbcolli_shm_trial_own(e, takes_part);
    else if (receiver && e->base.rank == receiver)
        nbcolli_shm_trial_take(e, takes_part);
}

/* ---- the choice -------------------------------------------------------------------------------------------------- */

/* The line through the two measurements, in ns. */
static uint64_t nbcolli_shm_trial_at(const uint64_t ns[NBCOLLI_SHM_TRIAL_SIZES], uint64_t bytes)
{
    uint64_t apart = nbcolli_shm_trial_sizes[1] - nbcolli_shm_trial_sizes[0];
    uint64_t rise = ns[1] > ns[0] ? ns[1] - ns[0] : 0;
    uint64_t part = rise * bytes / apart, offset = rise * nbcolli_shm_trial_sizes[0] / apart;
    return ns[0] + part > offset ? ns[0] + part - offset : 0;
}

#define NBCOLLI_SHM_LEAST_CHOICE ((size_t)8192)
#define NBCOLLI_SHM_MOST_CHOICE ((size_t)4 << 20)

/* The range of bytes in which pieces are faster by a twentieth; pieces from both sides, if the ranks meet. */
static void nbcolli_shm_choose_sizes(struct nbcolli_shm_end *e, const uint64_t cma[], const uint64_t pieces[],
                                     const uint64_t both[])
{
    e->by_pieces = e->by_cma = SIZE_MAX;
    for (size_t bytes = NBCOLLI_SHM_LEAST_CHOICE; bytes <= NBCOLLI_SHM_MOST_CHOICE; bytes *= 2) {
        uint64_t ns = nbcolli_shm_trial_at(bytes < e->meets_from ? pieces : both, bytes);
        if (ns * 20 >= nbcolli_shm_trial_at(cma, bytes) * 19)
            continue;
        if (e->by_pieces == SIZE_MAX)
            e->by_pieces = bytes == NBCOLLI_SHM_LEAST_CHOICE ? 1 : bytes;
        e->by_cma = bytes == NBCOLLI_SHM_MOST_CHOICE ? SIZE_MAX : 2 * bytes;
    }
}

/* A copy into the staging buffer and one out of it take as long as those of pieces, without a request. A part goes
 * there unless process_vm_readv, with its call, is faster by a twentieth. */
static void nbcolli_shm_choose_staging(struct nbcolli_shm_end *e, const uint64_t cma[], const uint64_t pieces[])
{
    size_t bytes = NBCOLLI_SHM_MOST_CHOICE;

    while (bytes >= NBCOLLI_SHM_LEAST_CHOICE &&
           nbcolli_shm_trial_at(cma, bytes) * 20 <
               (nbcolli_shm_trial_at(pieces, bytes) - nbcolli_shm_trial_at(pieces, 0)) * 19)
        bytes /= 2;
    e->staging_part = bytes == NBCOLLI_SHM_MOST_CHOICE ? 0 : bytes;
}

static void nbcolli_shm_choose_defaults(struct nbcolli_shm_end *e)
{
    e->by_pieces = nbcolli_shm_turns(e) > 1 ? SIZE_MAX : 32768;
    e->by_cma = e->meets_from = SIZE_MAX;
    e->staging_part = 0;
    e->patience = NBCOLLI_SHM_PATIENCE_NS;
}

/* The results, if all were measured. */
static bool nbcolli_shm_trial_read(const struct nbcolli_shm_end *e, uint64_t ns[][NBCOLLI_SHM_TRIAL_SIZES])
{
    struct nbcolli_shm_trial *t = nbcolli_shm_trial(e);
    bool all = true;

    for (int way = 0; way < NBCOLLI_SHM_WAYS; way++)
        for (int i = 0; i < NBCOLLI_SHM_TRIAL_SIZES; i++) {
            ns[way][i] = atomic_load_explicit(&t->ns[way][i], memory_order_relaxed); /* written before the verdict */
            all &= ns[way][i] != 0 || way == NBCOLLI_SHM_WAY_CMA;
        }
    return all;
}

static uint32_t nbcolli_shm_within(uint64_t value, uint32_t least, uint32_t most)
{
    return value < least ? least : value > most ? most : (uint32_t)value;
}

static void nbcolli_shm_choose_prices(struct nbcolli_shm_end *e, const uint64_t ns[])
{
    uint64_t start = nbcolli_shm_trial_at(ns, 0), whole = nbcolli_shm_trial_at(ns, 1 << 20);

    e->base.limits.price.beta_ps = nbcolli_shm_within((whole - start) * 1000 >> 20, 10, 1000);
    e->base.limits.price.get_ns = nbcolli_shm_within(start, 100, 10000);
}

void nbcolli_shm_choose(struct nbcolli_shm_end *e)
{
    uint64_t ns[NBCOLLI_SHM_WAYS][NBCOLLI_SHM_TRIAL_SIZES];
    bool found = nbcolli_shm_trial_read(e, ns);
    uint64_t *cma = ns[NBCOLLI_SHM_WAY_CMA], *pieces = ns[NBCOLLI_SHM_WAY_PIECES], *both = ns[NBCOLLI_SHM_WAY_BOTH];

    nbcolli_shm_choose_defaults(e);
    if (found) {
        if (cma[1] && both[1] * 10 < pieces[1] * 9)
            e->meets_from = NBCOLLI_SHM_TRIAL_MOST;
        if (cma[1]) {
            nbcolli_shm_choose_sizes(e, cma, pieces, both);
            nbcolli_shm_choose_staging(e, cma, pieces);
        }
        const uint64_t *of_pieces = e->meets_from == SIZE_MAX ? pieces : both;
        if (e->flags & NBCOLL_SHM_NO_PIECES ? cma[1] != 0 : true)
            nbcolli_shm_choose_prices(e, e->by_pieces == SIZE_MAX || e->flags & NBCOLL_SHM_NO_PIECES ? cma : of_pieces);
    }
    if (e->flags & (NBCOLL_SHM_PIECES | NBCOLL_SHM_BOTH_SIDES)) {
        e->by_pieces = 1;
        e->by_cma = SIZE_MAX;
        e->meets_from = e->flags & NBCOLL_SHM_BOTH_SIDES ? 1 : SIZE_MAX;
    }
}
