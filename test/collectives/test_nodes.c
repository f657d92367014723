/* SPDX-License-Identifier: BSD-3-Clause
 * Algorithms that go by nodes, run: on communicators of 7 and 12 ranks, whose memory is shared or not, schedules are
 * built with a table of nodes of 3, 1 and 4 ranks, numbered at random, and the data is that of serial C. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "nbcoll/verify.h"
#include "world.h"

enum { MOST = 12, COUNT = 300 }; /* more bytes than a cell holds */

static const int room[] = {3, 1, 4};

typedef struct buffers {
    int32_t send[MOST * COUNT], recv[MOST * COUNT];
} buffers;

static int32_t value(int rank, size_t i)
{
    return (int32_t)(1000 * (size_t)(rank + 1) + i);
}

/* What the i-th element of the result of `rank` must be, if there is one. */
static int expected(nbcoll_operation operation, int ranks, int rank, size_t i, int32_t *out)
{
    int32_t sum = 0;
    switch (operation) {
    case NBCOLL_OPERATION_BCAST:
        *out = value(2, i);
        return i < COUNT;
    case NBCOLL_OPERATION_ALLGATHER:
        *out = value((int)(i / COUNT), i % COUNT);
        return i < (size_t)ranks * COUNT;
    case NBCOLL_OPERATION_ALLTOALL:
        *out = value((int)(i / COUNT), (size_t)rank * COUNT + i % COUNT);
        return i < (size_t)ranks * COUNT;
    case NBCOLL_OPERATION_ALLREDUCE:
        for (int r = 0; r < ranks; r++)
            sum += value(r, i);
        *out = sum;
        return i < COUNT;
    default:
        return 0;
    }
}

static void run(world *w, const nbcoll_algorithm *algorithm, const nbcoll_nodes *nodes, unsigned leaders)
{
    static buffers all[MOST];
    nbcoll_schedule *schedule[MOST];
    nbcoll_request request[MOST];
    int root = algorithm->operation == NBCOLL_OPERATION_BCAST ? 2 : 0;
    for (int rank = 0; rank < w->ranks; rank++) {
        nbcoll_builder_config c = {.size = sizeof c,
                                   .rank = rank,
                                   .ranks = w->ranks,
                                   .shares = nbcoll_comm_shares,
                                   .shares_user = w->comm[rank],
                                   .nodes = nodes};
        nbcoll_args a = {.size = sizeof a,
                         .operation = algorithm->operation,
                         .root = root,
                         .count = COUNT,
                         .reduction = {NBCOLL_INT32, NBCOLL_SUM},
                         .segment = 256,
                         .leaders = leaders};
        for (size_t i = 0; i < MOST * COUNT; i++)
            all[rank].send[i] = value(rank, i);
        memset(all[rank].recv, 0, sizeof all[rank].recv);
        if (algorithm->operation == NBCOLL_OPERATION_BCAST && rank == root)
            memcpy(all[rank].recv, all[rank].send, sizeof all[rank].recv);
        EXPECT(OK, nbcoll_build_schedule(algorithm, &a, &c, &schedule[rank]));
        EXPECT(OK,
               nbcoll_schedule_start(schedule[rank], all[rank].send, all[rank].recv, w->comm[rank], &request[rank]));
    }
    world_finish(w, (size_t)w->ranks, request);
    for (int rank = 0; rank < w->ranks; rank++) {
        int32_t right;
        for (size_t i = 0; expected(algorithm->operation, w->ranks, rank, i, &right); i++)
            if (all[rank].recv[i] != right)
                fail_msg("%s/%s, %d ranks, %u leaders: rank %d has %d instead of %d at %zu",
                         nbcoll_operation_name(algorithm->operation), algorithm->name, w->ranks, leaders, rank,
                         all[rank].recv[i], right, i);
        EXPECT(OK, nbcoll_schedule_free(schedule[rank]));
    }
}

static void hierarchical_algorithms_move_and_combine_what_they_should(void **state)
{
    static const nbcoll_operation operations[] = {NBCOLL_OPERATION_BARRIER, NBCOLL_OPERATION_BCAST,
                                                  NBCOLL_OPERATION_ALLGATHER, NBCOLL_OPERATION_ALLTOALL,
                                                  NBCOLL_OPERATION_ALLREDUCE};
    static const int variants[] = {0, 3, WORLD_SHARED};
    (void)state;
    for (int ranks = 7; ranks <= MOST; ranks += MOST - 7)
        for (int v = 0; v < 3; v++) {
            nbcoll_loopback_config loopback = world_variant(variants[v], 1);
            nbcoll_placement placement = {sizeof placement, room, 3, NBCOLL_NUMBERING_RANDOM, (uint64_t)v, 0};
            nbcoll_nodes *nodes;
            world w;
            EXPECT(OK, nbcoll_nodes_place(&placement, ranks, NULL, &nodes));
            world_open(&w, ranks, &loopback, NULL, NULL);
            for (size_t o = 0; o < sizeof operations / sizeof *operations; o++) {
                const nbcoll_algorithm *algorithm;
                for (unsigned i = 0; (algorithm = nbcoll_algorithm_at(operations[o], i)); i++)
                    for (unsigned leaders = 1; leaders < 3 && algorithm->flags & NBCOLL_ALGORITHM_NODES; leaders++)
                        run(&w, algorithm, nodes, leaders);
            }
            world_close(&w);
            nbcoll_nodes_free(nodes);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hierarchical_algorithms_move_and_combine_what_they_should),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
