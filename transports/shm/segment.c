/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The segment: its layout, and the homes, by which processes see it. It is a memfd that can neither shrink nor grow,
 * all of it reserved, so that touching it never fails.
 */
#include <errno.h>

#include "shm.h"

/* For each rank, by default: bytes of areas beside its rings. From 65 ranks on the rings count, too. */
#define NBCOLLI_SHM_RECEIVER (1u << 20)
#define NBCOLLI_SHM_USUAL_DEPTH 128u /* entries of a ring, up to 64 ranks: room for 64 credits each way, and answers */
#define NBCOLLI_SHM_USUAL_AREAS 64u
#define NBCOLLI_SHM_QUOTA (1u << 20)
#define NBCOLLI_SHM_QUOTAS (224u << 20) /* of all ranks: with their rings a segment of 512 MiB, where they are most */
#define NBCOLLI_SHM_STAGING (4u << 20)
#define NBCOLLI_SHM_ALL_STAGING (32u << 20)  /* of all ranks */
#define NBCOLLI_SHM_LEAST_STAGING (1u << 19)
#define NBCOLLI_SHM_POOL (1u << 20)
#define NBCOLLI_SHM_LEAST_POOL (1u << 15)
#define NBCOLLI_SHM_MOST_POOL (1u << 26)
#define NBCOLLI_SHM_SEGMENT (512u << 20) /* with the defaults of all */
#define NBCOLLI_SHM_COMMS 3u            /* communicators whose cells a quota has room for, at least */
#define NBCOLLI_SHM_MOST_QUOTA (1u << 30)
#define NBCOLLI_SHM_MOST_DEPTH 4096u

/* ---- layout ------------------------------------------------------------------------------------------------------ */

static size_t nbcolli_shm_up(size_t n, size_t to)
{
    return (n + to - 1) / to * to;
}

/* A page apart, the areas' first lines would share one set of a cache. */
static size_t nbcolli_shm_stride(uint32_t payload)
{
    size_t stride = nbcolli_shm_up(payload, 64);
    return stride % NBCOLLI_SHM_PAGE ? stride : stride + 64;
}

static uint32_t nbcolli_shm_power_of_two(size_t most)
{
    uint32_t n = 1;

    while (2 * (size_t)n <= most)
        n *= 2;
    return n;
}

/* Depth, areas and payload: as the host says, or so that a receiver's take about NBCOLLI_SHM_RECEIVER. The host's depth
 * is that of messages with payload, too, and rounded up. */
static void nbcolli_shm_layout_ring(struct nbcolli_shm_layout *l)
{
    size_t share = NBCOLLI_SHM_RECEIVER / l->ranks, usual = share / (2 * sizeof(struct nbcolli_shm_line));
    uint32_t wanted = l->depth;

    l->depth = nbcolli_shm_power_of_two(wanted                              ? 2 * (size_t)wanted - 1
                                        : usual > NBCOLLI_SHM_USUAL_DEPTH ? NBCOLLI_SHM_USUAL_DEPTH
                                                                            : usual);
    if (l->depth < NBCOLLI_SHM_USUAL_DEPTH)
        share -= l->depth * sizeof(struct nbcolli_shm_line);
    if (!l->payload) /* room for eight areas beside each ring */
        l->payload = share / 8 >= 4096 ? 4096 : (uint32_t)(share / 8 / 64 * 64);
    l->stride = nbcolli_shm_stride(l->payload);
    l->areas = l->depth;
    if (!wanted && l->areas > NBCOLLI_SHM_USUAL_AREAS)
        l->areas = NBCOLLI_SHM_USUAL_AREAS;
    if (!wanted && l->areas > share / l->payload)
        l->areas = nbcolli_shm_power_of_two(share / l->payload > 4 ? share / l->payload : 4);
    l->ring = nbcolli_shm_up(sizeof(struct nbcolli_shm_ring) + l->depth * sizeof(struct nbcolli_shm_line) +
                                 l->areas * l->stride,
                             NBCOLLI_SHM_LINE);
}

uint32_t nbcolli_shm_staging(int ranks)
{
    uint32_t share = NBCOLLI_SHM_ALL_STAGING / (uint32_t)ranks / NBCOLLI_SHM_PAGE * NBCOLLI_SHM_PAGE;

    if (ranks < 2 || share < NBCOLLI_SHM_LEAST_STAGING)
        return 0;
    return share < NBCOLLI_SHM_STAGING ? share : NBCOLLI_SHM_STAGING;
}

size_t nbcoll_shm_quota(int ranks)
{
    if (ranks < 1 || ranks > NBCOLL_SHM_RANKS)
        return 0;
    size_t least = NBCOLLI_SHM_COMMS * nbcoll_cells_bytes(NULL, ranks), usual = NBCOLLI_SHM_QUOTAS / (size_t)ranks;
    usual = usual < NBCOLLI_SHM_QUOTA ? usual : NBCOLLI_SHM_QUOTA;
    return nbcolli_shm_up(usual > least ? usual : least, NBCOLLI_SHM_PAGE);
}

/* The pools, as the host asks, or as large as the segment has room for; and their windows. */
static void nbcolli_shm_layout_pools(const nbcoll_shm_config *c, struct nbcolli_shm_layout *l)
{
    size_t rings = l->ranks * l->ring, words = nbcolli_shm_pool_bytes(0) + 2 * NBCOLLI_SHM_PAGE;
    size_t share = NBCOLLI_SHM_SEGMENT / l->ranks, others = rings + nbcoll_shm_quota(c->ranks) + words;
    size_t pool = c->pool ? c->pool : share > others ? share - others : 0;

    pool = pool > NBCOLLI_SHM_POOL && !c->pool ? NBCOLLI_SHM_POOL : pool;
    pool = pool < NBCOLLI_SHM_LEAST_POOL ? NBCOLLI_SHM_LEAST_POOL : pool;
    l->windows = (uint32_t)(pool / NBCOLLI_SHM_LEAST_POOL);
    if (l->windows > NBCOLLI_SHM_WINDOWS)
        l->windows = NBCOLLI_SHM_WINDOWS;
    for (l->window = NBCOLLI_SHM_LEAST_POOL; 2 * l->window * l->windows <= pool; l->window *= 2)
        ;
    l->pool = l->windows * l->window;
    l->pool_stride = nbcolli_shm_pool_bytes(l->pool);
}

/* Cannot overflow: 2^16 rings of 2^12 entries and areas of less than 2^17 bytes, 2^8 quotas of 2^31 and pools of
 * 2^26. */
nbcoll_status nbcolli_shm_layout(const nbcoll_shm_config *c, struct nbcolli_shm_layout *out)
{
    struct nbcolli_shm_layout l = {.magic = NBCOLLI_SHM_MAGIC, .abi = NBCOLL_ABI, .version = NBCOLLI_SHM_VERSION,
                                   .ranks = (uint32_t)c->ranks, .payload = c->payload, .depth = c->depth};

    if ((l.payload && (l.payload < 256 || l.payload > 65536)) || l.depth > NBCOLLI_SHM_MOST_DEPTH ||
        c->quota > NBCOLLI_SHM_MOST_QUOTA || c->pool > NBCOLLI_SHM_MOST_POOL)
        return NBCOLL_ERR_CONFIG;
    nbcolli_shm_layout_ring(&l);
    l.quota = c->quota ? nbcolli_shm_up(c->quota, NBCOLLI_SHM_PAGE) : nbcoll_shm_quota(c->ranks);
    l.quota += nbcolli_shm_staging(c->ranks);
    l.rows_used = l.ranks > NBCOLLI_SHM_POLLED && l.depth <= UINT8_MAX; /* else a byte cannot tell full from empty */
    l.seats = NBCOLLI_SHM_PAGE; /* after the front */
    l.reach = l.seats + l.ranks * sizeof(struct nbcolli_shm_seat);
    l.rows = nbcolli_shm_up(l.reach + (size_t)l.ranks * l.ranks, NBCOLLI_SHM_LINE);
    l.rings = nbcolli_shm_up(l.rows + (l.rows_used ? (size_t)l.ranks * NBCOLL_SHM_RANKS : 0), NBCOLLI_SHM_PAGE);
    l.pools = nbcolli_shm_up(l.rings + (size_t)l.ranks * l.ranks * l.ring, NBCOLLI_SHM_PAGE);
    nbcolli_shm_layout_pools(c, &l);
    l.quotas = l.pools + l.ranks * l.pool_stride;
    l.bytes = l.quotas + l.ranks * l.quota;
    *out = l;
    return NBCOLL_OK;
}

struct nbcolli_shm_seat *nbcolli_shm_seat(const struct nbcolli_shm_home *h, int rank)
{
    return (struct nbcolli_shm_seat *)(void *)(h->segment + h->layout.seats) + rank;
}

_Atomic uint8_t *nbcolli_shm_reach(const struct nbcolli_shm_home *h, int rank, int of)
{
    return (_Atomic uint8_t *)(h->segment + h->layout.reach) + (size_t)rank * h->layout.ranks + (size_t)of;
}

_Atomic uint64_t *nbcolli_shm_row(const struct nbcolli_shm_home *h, int rank)
{
    return (_Atomic uint64_t *)(void *)(h->segment + h->layout.rows + (size_t)rank * NBCOLL_SHM_RANKS);
}

/* The rings of one receiver lie together. */
struct nbcolli_shm_ring *nbcolli_shm_ring(const struct nbcolli_shm_home *h, int from, int to)
{
    size_t i = (size_t)to * h->layout.ranks + (size_t)from;
    return (struct nbcolli_shm_ring *)(void *)(h->segment + h->layout.rings + i * h->layout.ring);
}

/* ---- homes ------------------------------------------------------------------------------------------------------- */

/* Behind it lies the page of the token. */
static size_t nbcolli_shm_home_bytes(uint32_t ranks)
{
    return nbcolli_shm_up(sizeof(struct nbcolli_shm_home) + ranks * sizeof(struct nbcolli_shm_place), NBCOLLI_SHM_PAGE);
}

static struct nbcolli_shm_home *nbcolli_shm_home_map(const struct nbcolli_shm_system *os,
                                                     const struct nbcolli_shm_layout *l, int fd)
{
    size_t bytes = nbcolli_shm_home_bytes(l->ranks);
    struct nbcolli_shm_home *h = os->map(-1, bytes + NBCOLLI_SHM_PAGE, NBCOLLI_SHM_PAGE);

    if (!h)
        return NULL;
    h->segment = os->map(fd, l->bytes, 0);
    if (!h->segment) {
        os->unmap(h, bytes + NBCOLLI_SHM_PAGE);
        return NULL;
    }
    h->os = os;
    h->token = (uint64_t *)(void *)((unsigned char *)h + bytes);
    return h;
}

nbcoll_status nbcolli_shm_home_make(const struct nbcolli_shm_system *os, const struct nbcolli_shm_layout *l, int fd,
                                    bool fresh, struct nbcolli_shm_home **out)
{
    struct nbcolli_shm_home *h;

    if (!fresh && !os->is_whole(fd, l->bytes)) /* before mapping it */
        return NBCOLL_ERR_ABI;
    h = nbcolli_shm_home_map(os, l, fd);
    if (!h)
        return nbcolli_shm_status(errno);
    h->memory = -1;
    h->layout = *l;
    h->pid = os->pid();
    for (uint32_t r = 0; r < l->ranks; r++)
        h->place[r] = (struct nbcolli_shm_place){.event = -1, .watch = -1};
    if (fresh)
        memcpy(h->segment, l, sizeof *l);
    atomic_init(&h->users, 1);
    if (!fresh && memcmp(h->segment, l, sizeof *l) != 0) {
        nbcolli_shm_home_leave(h);
        return NBCOLL_ERR_ABI;
    }
    h->memory = fd;
    *out = h;
    return NBCOLL_OK;
}

nbcoll_status nbcolli_shm_home_show(struct nbcolli_shm_home *h, int rank)
{
    int ranks = (int)h->layout.ranks;

    if (h->os->lock(h->memory, rank) != 0)
        return nbcolli_shm_status(errno);
    for (int r = 0; r < ranks; r++)
        for (h->place[r].first = 0; h->place[h->place[r].first].pid != h->place[r].pid;)
            h->place[r].first++;
    *h->token = nbcolli_shm_token(h, h->pid);
    atomic_store_explicit(&h->users, 1, memory_order_release); /* publishes the whole home */
    return NBCOLL_OK;
}

void nbcolli_shm_home_join(struct nbcolli_shm_home *h)
{
    atomic_fetch_add_explicit(&h->users, 1, memory_order_acq_rel); /* acquire: sees it complete */
}

void nbcolli_shm_home_leave(struct nbcolli_shm_home *h)
{
    const struct nbcolli_shm_system *os = h->os;
    uint32_t ranks = h->layout.ranks;

    if (atomic_fetch_sub_explicit(&h->users, 1, memory_order_acq_rel) != 1) /* all accesses come before the end */
        return;
    for (uint32_t r = 0; r < ranks; r++) {
        nbcolli_shm_close(os, &h->place[r].event);
        nbcolli_shm_close(os, &h->place[r].watch);
    }
    nbcolli_shm_close(os, &h->memory); /* after its ranks' states: a rank that finds the lock gone reads these */
    os->unmap(h->segment, h->layout.bytes);
    os->unmap(h, nbcolli_shm_home_bytes(ranks) + NBCOLLI_SHM_PAGE);
}
