/* SPDX-License-Identifier: BSD-3-Clause
 * How large data moves between two processes over shm: a get of the transport's, a broadcast and an allreduce of 16 KiB
 * to 4 MiB, with each path forced (process_vm_readv, pieces, both sides at once) and as shm chooses. All four are open
 * in the same two processes; their batches are interleaved. Microseconds, the least of the batches' means. The roots of
 * the broadcasts take turns; buffers are reused. With the argument `apart` each process is bound to a core. */
#include "ranks.h"

enum { PATHS = 4, SIZES = 6, ROUNDS = 40, MOST = 4 << 20, BATCH_BYTES = 8 << 20, KINDS = 3 };

static const struct {
    const char *name;
    uint32_t flags;
} paths[PATHS] = {{"readv", NBCOLL_SHM_NO_PIECES},
                  {"pieces", NBCOLL_SHM_PIECES | NBCOLL_SHM_NO_CMA},
                  {"both", NBCOLL_SHM_BOTH_SIDES},
                  {"chosen", 0}};
static const char *const kinds[KINDS] = {"get", "bcast", "allreduce"};
static const size_t sizes[SIZES] = {16 << 10, 32 << 10, 64 << 10, 256 << 10, 1 << 20, 4 << 20};

/* One path as one rank has it open: an endpoint to get by, and another one under a communicator. */
typedef struct way {
    nbcoll_endpoint *ep;
    nbcoll_context *context;
    nbcoll_comm *comm;
    nbcoll_key key; /* of the peer's memory */
} way;

typedef struct shared {
    int is_apart;
    nbcoll_shm_id id[PATHS][2];
    atomic_uint here;
} shared;

typedef struct side {
    int rank;
    shared *s;
    meeting meets; /* in which none of the paths has a part */
    way way[PATHS];
    float *from, *to;
} side;

/* ---- opening --------------------------------------------------------------------------------------------------- */

static nbcoll_endpoint *open_end(const side *me, int path, int which)
{
    nbcoll_shm_config config = {.size = sizeof config, .id = me->s->id[path][which], .rank = me->rank, .ranks = 2,
                                .flags = paths[path].flags};
    nbcoll_endpoint *ep;
    must(nbcoll_shm_open(&config, &ep));
    return ep;
}

static void progress(nbcoll_endpoint *ep, nbcoll_completions *found)
{
    *found = (nbcoll_completions)NBCOLL_COMPLETIONS_EMPTY;
    ep->transport->progress(ep, found);
}

static void tell(nbcoll_endpoint *ep, int peer, const nbcoll_key *key)
{
    nbcoll_header header = {{0}};
    nbcoll_work work = {0};
    ep->transport->post(ep, peer, &header, key, sizeof *key, &work);
}

static void await(nbcoll_endpoint *ep, nbcoll_key *key)
{
    nbcoll_completions found;
    do
        progress(ep, &found);
    while (!found.arrived);
    memcpy(key, found.arrived->payload, sizeof *key);
}

static void open_way(side *me, int path)
{
    way *w = &me->way[path];
    nbcoll_registration r;

    w->ep = open_end(me, path, 0);
    must(w->ep->transport->bulk->register_memory(w->ep, 1 - me->rank, me->from, MOST, NBCOLL_PEER_READS, &r));
    tell(w->ep, 1 - me->rank, &r.key);
    await(w->ep, &w->key);
    must(nbcoll_context_create(NBCOLL_ABI, NULL, &w->context));
    must(nbcoll_comm_create(w->context, open_end(me, path, 1), NULL, &w->comm, NBCOLL_FOREVER));
}

/* ---- measuring ------------------------------------------------------------------------------------------------- */

static void get(side *me, way *w, size_t bytes)
{
    nbcoll_work work = {0};
    nbcoll_completions found;
    nbcoll_posted posted = w->ep->transport->bulk->get(w->ep, 0, &w->key, 0, NULL, me->to, bytes, &work);

    if (posted == NBCOLL_POST_DONE)
        return;
    do
        progress(w->ep, &found);
    while (!found.completed);
    must(work.status);
}

/* Rank 1 gets; rank 0 is inside the library meanwhile. */
static void gets(side *me, way *w, size_t bytes, int n)
{
    nbcoll_key over = {{1}};

    if (me->rank == 0) {
        await(w->ep, &over);
        return;
    }
    for (int i = 0; i < n; i++)
        get(me, w, bytes);
    tell(w->ep, 0, &over);
}

static void batch(side *me, int kind, int path, size_t bytes, int n)
{
    way *w = &me->way[path];
    size_t count = bytes / sizeof(float);

    if (kind == 0)
        gets(me, w, bytes, n);
    for (int i = 0; i < n && kind == 1; i++)
        must(nbcoll_bcast(me->to, count, NBCOLL_FLOAT, i % 2, w->comm, NBCOLL_FOREVER));
    for (int i = 0; i < n && kind == 2; i++)
        must(nbcoll_allreduce(me->from, me->to, count, NBCOLL_FLOAT, NBCOLL_SUM, w->comm, NBCOLL_FOREVER));
}

static void row(side *me, int kind, size_t bytes)
{
    double least[PATHS];
    int n = (int)(BATCH_BYTES / bytes) < 100 ? (int)(BATCH_BYTES / bytes) : 100;

    for (int path = 0; path < PATHS; path++)
        least[path] = 1e9;
    for (int round = 0; round < ROUNDS; round++)
        for (int path = 0; path < PATHS; path++) {
            meet(&me->meets);
            double at = now();
            batch(me, kind, path, bytes, n);
            double t = (now() - at) / n / 1e3;
            least[path] = t < least[path] ? t : least[path];
        }
    if (me->rank == 0)
        return;
    printf("%-10s %8zu", kinds[kind], bytes);
    for (int path = 0; path < PATHS; path++)
        printf("%10.2f", least[path]);
    printf("\n");
    fflush(stdout);
}

static void live(void *memory, int rank)
{
    shared *s = memory;
    side one = {.rank = rank, .s = s, .meets = {&s->here, 2, 0, 0}}, *me = &one;

    if (s->is_apart)
        bind_to(rank);
    me->from = aligned_alloc(4096, MOST);
    me->to = aligned_alloc(4096, MOST);
    memset(me->from, 0, MOST);
    memset(me->to, 0, MOST);
    for (int path = 0; path < PATHS; path++)
        open_way(me, path);
    if (me->rank == 1) {
        nbcoll_shm_peer is = {.size = sizeof is};
        must(nbcoll_shm_describe(me->way[PATHS - 1].ep, 0, &is));
        printf("chosen: by pieces from %zu bytes on\n%-10s %8s", is.by_pieces, "", "bytes");
        for (int path = 0; path < PATHS; path++)
            printf("%10s", paths[path].name);
        printf("\n");
    }
    for (int kind = 0; kind < KINDS; kind++)
        for (int i = 0; i < SIZES; i++)
            row(me, kind, sizes[i]);
    meet(&me->meets);
}

int main(int argc, char **argv)
{
    shared *s = share(sizeof *s);

    s->is_apart = argc > 1 && strcmp(argv[1], "apart") == 0;
    for (int path = 0; path < PATHS; path++)
        for (int which = 0; which < 2; which++)
            must(nbcoll_shm_id_make(&s->id[path][which]));
    return run_ranks(2, live, s);
}
