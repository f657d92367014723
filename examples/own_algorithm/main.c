/* SPDX-License-Identifier: BSD-3-Clause
 * An algorithm of your own: an allgather in which blocks go round a ring both ways, so that none goes farther than half
 * of it. Proved for 1 to 12 ranks, drawn (own_algorithm | dot -Tsvg), simulated for 1000, run on five of one thread.
 * Linked with -shared, it is for the command: nbcoll --algorithms ./own.so verify allgather two_ways */
#include <stdio.h>
#include <nbcoll/loopback.h>
#include <nbcoll/show.h>
#include <nbcoll/simulate.h>
#include <nbcoll/verify.h>

/* One way: blocks of `hops` ranks come from the one `from` above; own and others but the last go to `to` above. */
static void round_the_ring(nbcoll_builder *b, const nbcoll_args *a, int from, int to, int hops)
{
    nbcoll_region block = nbcoll_send_block(b, a, b->rank);
    nbcoll_step have = NBCOLL_START;
    for (int hop = 1; hop <= hops; hop++) {
        nbcoll_after(b, nbcoll_add_send(b, (b->rank + to) % b->ranks, block.at, block.bytes), have);
        block = nbcoll_recv_block(b, a, (b->rank + hop * from) % b->ranks);
        have = nbcoll_add_recv(b, (b->rank + from) % b->ranks, block.at, block.bytes);
    }
}

static void two_ways(nbcoll_builder *b, const nbcoll_args *a)
{
    if (!a->in_place)
        nbcoll_add_copy(b, nbcoll_recv_block(b, a, b->rank).at, a->send, a->bytes);
    round_the_ring(b, a, b->ranks - 1, 1, b->ranks / 2);
    round_the_ring(b, a, 1, b->ranks - 1, (b->ranks - 1) / 2);
}

enum { RANKS = 5 };
static const nbcoll_algorithm algorithm = {sizeof algorithm, "two_ways", NBCOLL_OPERATION_ALLGATHER, two_ways, 0, NULL};
NBCOLL_ALGORITHMS(&algorithm);
static nbcoll_case five = {sizeof five, NBCOLL_OPERATION_ALLGATHER, RANKS, .count = 1, .reduction.type = NBCOLL_BYTE};

static int print(void *file, const char *text, size_t bytes)
{
    return fwrite(text, 1, bytes, file) != bytes;
}

static int prove(nbcoll_case c)
{
    nbcoll_grid grid = {.size = sizeof grid, .fewest = 1, .most = 12, .counts = 3, .count = (size_t[]){0, 1, 7}};
    nbcoll_refutation why = {.size = sizeof why};
    nbcoll_status s = nbcoll_verify_grid(&algorithm, &grid, &c, &why);
    return fprintf(stderr, "up to %d ranks: %s\n", grid.most, s ? why.text : "proved") < 0 || s != NBCOLL_OK;
}

static int simulate(nbcoll_case c)
{
    nbcoll_sim_model model = {.size = sizeof model, .between = {900, 99, 99, 50, 99}};
    nbcoll_sim_config config = {.size = sizeof config, .ranks = c.ranks = 1000, .model = &model};
    nbcoll_sim_result result = {.size = sizeof result};
    nbcoll_status s = nbcoll_simulate_cases(&config, &(nbcoll_sim_case){&algorithm, &c}, &result);
    return fprintf(stderr, "%d ranks: %.1f us\n", c.ranks, (double)result.last / 1000) < 0 || s != NBCOLL_OK;
}

static int run(nbcoll_schedule *schedule[])
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
        while (nbcoll_context_free(context[r]) == NBCOLL_ERR_BUSY) nbcoll_progress(context[r]); /* it still sends */
        nbcoll_schedule_free(schedule[r]);
    }
    nbcoll_loopback_free(world);
    return s != NBCOLL_OK;
}

int main(void)
{
    nbcoll_schedule *schedule[RANKS];
    for (int r = 0; r < RANKS; r++)
        if (nbcoll_build_case(&algorithm, &five, r, NULL, &schedule[r]) != NBCOLL_OK)
            return 1;
    return nbcoll_show_dot((const nbcoll_schedule *const *)schedule, RANKS, print, stdout) != NBCOLL_OK ||
           prove(five) || simulate(five) || run(schedule);
}
