/* SPDX-License-Identifier: BSD-3-Clause
 * An algorithm of your own for an operation that the library knows: an allgather in which blocks go round a ring both
 * ways at once, so that none goes farther than half of it. Proved for 1 to 12 ranks, drawn (own_algorithm | dot
 * -Tsvg), and run on five ranks of one thread. */
#include <stdio.h>

#include <nbcoll/loopback.h>
#include <nbcoll/pattern.h>
#include <nbcoll/show.h>
#include <nbcoll/verify.h>

enum { RANKS = 5 };

/* One way: this rank's block goes to the neighbour `to` ranks above, and then, as they come from the one `from` ranks
 * above, those of `hops` ranks, but for the last. */
static void round_the_ring(nbcoll_builder *b, const nbcoll_args *a, int from, int to, int hops)
{
    nbcoll_region block = nbcoll_send_block(b, a, b->rank);
    nbcoll_step have = NBCOLL_START;

    for (int hop = 1; hop <= hops; hop++) {
        int owner = (b->rank + hop * from) % b->ranks;
        nbcoll_after(b, nbcoll_send(b, (b->rank + to) % b->ranks, block.at, block.bytes), have);
        block = nbcoll_recv_block(b, a, owner);
        have = nbcoll_recv(b, (b->rank + from) % b->ranks, block.at, block.bytes);
    }
}

static void two_ways(nbcoll_builder *b, const nbcoll_args *a)
{
    nbcoll_region own = nbcoll_send_block(b, a, b->rank);

    if (!a->in_place)
        nbcoll_copy(b, nbcoll_recv_block(b, a, b->rank).at, own.at, own.bytes);
    round_the_ring(b, a, b->ranks - 1, 1, b->ranks / 2);
    round_the_ring(b, a, 1, b->ranks - 1, (b->ranks - 1) / 2);
}

static const nbcoll_algorithm algorithm = {sizeof algorithm, "two_ways", NBCOLL_OPERATION_ALLGATHER, two_ways, 0};

static int print(void *file, const char *text, size_t bytes)
{
    return fwrite(text, 1, bytes, file) != bytes;
}

static nbcoll_status prove(void)
{
    const size_t counts[] = {0, 1, 7};
    nbcoll_grid grid = {.size = sizeof grid, .fewest = 1, .most = 12, .root = -1, .counts = 3, .count = counts};
    nbcoll_case what = {.size = sizeof what, .operation = algorithm.operation, .reduction = {NBCOLL_INT32, NBCOLL_SUM}};
    nbcoll_refutation why = {.size = sizeof why};

    nbcoll_status s = nbcoll_verify_grid(&algorithm, &grid, &what, &why);
    fprintf(stderr, "up to %d ranks: %s\n", grid.most, s == NBCOLL_OK ? "proved" : why.text);
    return s;
}

static nbcoll_status run(nbcoll_schedule *schedule[])
{
    nbcoll_loopback_config config = {.size = sizeof config, .ranks = RANKS};
    nbcoll_loopback *world;
    nbcoll_endpoint *endpoint;
    nbcoll_context *context[RANKS] = {0};
    nbcoll_comm *comm[RANKS];
    nbcoll_request request[RANKS];
    char all[RANKS][RANKS + 1] = {{0}};

    nbcoll_status s = nbcoll_loopback_create(&config, &world);
    for (int r = 0; r < RANKS && s == NBCOLL_OK; r++)
        if ((s = nbcoll_loopback_open(world, r, &endpoint)) == NBCOLL_OK &&
            (s = nbcoll_context_create(NBCOLL_ABI, NULL, &context[r])) == NBCOLL_OK)
            s = nbcoll_comm_icreate(context[r], endpoint, NULL, &comm[r], &request[r]);
    for (int start = 1; start >= 0 && s == NBCOLL_OK; start--) { /* first the communicator, then the operation */
        while ((s = nbcoll_test_all(RANKS, request, NULL)) == NBCOLL_PENDING)
            ;
        for (int r = 0; r < RANKS && start && s == NBCOLL_OK; r++)
            s = nbcoll_schedule_start(schedule[r], &"ABCDE"[r], all[r], comm[r], &request[r]);
    }
    for (int r = 0; r < RANKS && s == NBCOLL_OK; r++) {
        fprintf(stderr, "rank %d has %s\n", r, all[r]);
        nbcoll_context_free(context[r]);
        nbcoll_schedule_free(schedule[r]);
    }
    nbcoll_loopback_free(world);
    return s;
}

int main(void)
{
    nbcoll_case what = {.size = sizeof what, .operation = NBCOLL_OPERATION_ALLGATHER, .ranks = RANKS, .count = 1,
                        .reduction = {NBCOLL_BYTE, NBCOLL_SUM}};
    nbcoll_schedule *schedule[RANKS];

    nbcoll_status s = prove();
    for (int r = 0; r < RANKS && s == NBCOLL_OK; r++)
        s = nbcoll_build_case(&algorithm, &what, r, NULL, &schedule[r]);
    if (s == NBCOLL_OK)
        s = nbcoll_show_dot((const nbcoll_schedule *const *)schedule, RANKS, print, stdout);
    return s != NBCOLL_OK || run(schedule) != NBCOLL_OK;
}
