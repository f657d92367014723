/* SPDX-License-Identifier: BSD-3-Clause
 * The host's memory: whichever piece of it there is not, the call says so and leaves nothing; and all of it comes back.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "nbcoll/neighbor.h"
#include "world.h"

typedef struct heap_of {
    int left;  /* pieces that are given until one is refused; negative: all are */
    long held; /* bytes */
} heap_of;

static void *take(void *user, size_t bytes, size_t align)
{
    heap_of *h = user;
    if (h->left == 0)
        return NULL;
    h->left--;
    h->held += (long)bytes;
    return aligned_alloc(align, (bytes + align - 1) / align * align);
}

static void give(void *user, void *memory, size_t bytes)
{
    ((heap_of *)user)->held -= (long)bytes;
    free(memory);
}

/* One rank, its own neighbour to all sides. */
static nbcoll_status make(nbcoll_comm *comm, int is_graph, const nbcoll_host *host, nbcoll_neighbors **out)
{
    nbcoll_neighbor_graph graph = {.size = sizeof graph,
                                   .sources = 4,
                                   .source = (int[4]){0},
                                   .destinations = 4,
                                   .destination = (int[4]){0},
                                   .host = host};
    nbcoll_neighbor_grid grid = {
        .size = sizeof grid, .dims = 2, .extent = (int[]){1, 1}, .periodic = (int[]){1, 1}, .reorder = 1, .host = host};
    return is_graph ? nbcoll_neighbors_of_graph(comm, &graph, out, NBCOLL_FOREVER)
                    : nbcoll_neighbors_of_grid(comm, &grid, out, NBCOLL_FOREVER);
}

static nbcoll_status call(nbcoll_neighbors *n)
{
    int send[4] = {1, 2, 3, 4}, recv[4];
    size_t ones[4] = {1, 1, 1, 1}, at[4] = {0, 4, 8, 12};
    nbcoll_type types[4] = {NBCOLL_INT32, NBCOLL_INT32, NBCOLL_INT32, NBCOLL_INT32};
    return nbcoll_neighbor_alltoallw(send, ones, at, types, recv, ones, at, types, n, NBCOLL_FOREVER);
}

static void each_piece_that_there_is_not(void **state)
{
    world w;
    (void)state;
    world_open(&w, 1, NULL, NULL, NULL);
    for (int is_graph = 0; is_graph < 2; is_graph++) {
        nbcoll_status made = NBCOLL_ERR_MEMORY, called = NBCOLL_ERR_MEMORY;
        int refused = 0;
        for (int pieces = 0; called != NBCOLL_OK; pieces++) {
            heap_of h = {.left = pieces};
            nbcoll_host host = {.size = sizeof host, .user = &h, .alloc = take, .free = give};
            nbcoll_neighbors *n;
            if ((made = make(w.comm[0], is_graph, &host, &n)) == NBCOLL_OK) {
                called = call(n);
                refused += called == NBCOLL_ERR_MEMORY;
                assert_true(called == NBCOLL_OK || called == NBCOLL_ERR_MEMORY);
                EXPECT(OK, nbcoll_neighbors_free(n));
            } else
                assert_int_equal(made, NBCOLL_ERR_MEMORY);
            assert_int_equal(h.held, 0);
            assert_true(pieces < 100);
        }
        assert_true(refused >= 3); /* the call's copy, the builder's pieces, the schedule */
    }
    world_close(&w);
}

/* ---- refused on one rank ----------------------------------------------------------------------------------------- */

enum { RANKS = 3 };

typedef struct making {
    int kind; /* a graph, a grid, a reordered one */
    int pieces;
    uint32_t flags;     /* of the context */
    int refused;        /* was rank 0? */
    atomic_int through; /* ranks */
    nbcoll_status ended[RANKS];
} making;

static _Thread_local int left_here = -1; /* pieces that this thread gets; negative: all */
static _Thread_local int refused_here;

static void *take_here(void *user, size_t bytes, size_t align)
{
    (void)user;
    if (left_here == 0)
        return refused_here = 1, NULL;
    left_here -= left_here > 0;
    return aligned_alloc(align, (bytes + align - 1) / align * align);
}

static void give_here(void *user, void *memory, size_t bytes)
{
    (void)user, (void)bytes;
    free(memory);
}

static nbcoll_status make_ring(nbcoll_comm *comm, int kind, const nbcoll_host *host, nbcoll_neighbors **out)
{
    const uint64_t timeout = UINT64_C(20000000000);
    int rank = nbcoll_comm_rank(comm);
    nbcoll_neighbor_graph graph = {.size = sizeof graph,
                                   .sources = 1,
                                   .source = (int[]){(rank + RANKS - 1) % RANKS},
                                   .destinations = 1,
                                   .destination = (int[]){(rank + 1) % RANKS},
                                   .host = host};
    nbcoll_neighbor_grid grid = {.size = sizeof grid,
                                 .dims = 1,
                                 .extent = (int[]){RANKS},
                                 .periodic = (int[]){1},
                                 .reorder = kind == 2,
                                 .host = host};
    return kind ? nbcoll_neighbors_of_grid(comm, &grid, out, timeout)
                : nbcoll_neighbors_of_graph(comm, &graph, out, timeout);
}

static void make_once(world *w, int rank, void *user)
{
    static const nbcoll_host host = {.size = sizeof host, .alloc = take_here, .free = give_here};
    making *m = user;
    nbcoll_neighbors *n = NULL;

    left_here = rank == 0 ? m->pieces : -1;
    refused_here = 0;
    m->ended[rank] = make_ring(w->comm[rank], m->kind, &host, &n);
    left_here = -1;
    if (rank == 0)
        m->refused = refused_here;
    if (m->ended[rank] == NBCOLL_OK)
        EXPECT(OK, nbcoll_neighbors_free(n));
    for (atomic_fetch_add(&m->through, 1); atomic_load(&m->through) < RANKS;) /* others may ask where this one is */
        nbcoll_progress(w->context[rank]);
    EXPECT(OK, nbcoll_barrier(w->comm[rank], UINT64_C(20000000000)));
}

/* Who lacks memory behind the split leaves it: of a grid others may have their neighbours then. */
static int may_end(int kind, nbcoll_status first, nbcoll_status other)
{
    if (first == NBCOLL_OK || other == NBCOLL_OK)
        return other == NBCOLL_OK && (first == NBCOLL_OK || kind);
    return other == NBCOLL_ERR_MEMORY || other == NBCOLL_ERR_CANCELLED || other == NBCOLL_ERR_PEER_LOST ||
           other == NBCOLL_ERR_MISMATCH;
}

static void the_making_ends_on_all_ranks(void **state)
{
    (void)state;
    for (int which = 0; which < 6; which++) {
        nbcoll_host host = {.size = sizeof host, .alloc = take_here, .free = give_here};
        making m = {.kind = which / 2, .flags = which % 2 ? NBCOLL_ANY_THREAD : 0, .refused = 1};
        nbcoll_context_config config = {.size = sizeof config, .host = host, .flags = m.flags};
        int together = 0;
        for (; m.refused; m.pieces++) {
            world w;
            m.through = 0;
            world_open(&w, RANKS, NULL, &config, NULL);
            world_threads(&w, make_once, &m);
            for (int r = 0; r < RANKS; r++)
                assert_true(may_end(m.kind, m.ended[0], m.ended[r]));
            together += m.ended[0] == NBCOLL_ERR_MEMORY && m.ended[1] == m.ended[0] && m.ended[2] == m.ended[0];
            world_close(&w);
        }
        assert_true(together >= 5); /* the neighbours' two pieces, the split's communicator, votes and schedule */
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_piece_that_there_is_not),
                                       cmocka_unit_test(the_making_ends_on_all_ranks)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
