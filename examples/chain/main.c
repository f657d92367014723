/* SPDX-License-Identifier: BSD-3-Clause
 * An operation of your own: a pipelined chain broadcast written as a graph and as rounds, proved by the verifier,
 * printed, and run on three ranks of one thread. The builders are in chain.h. */
#include <stdio.h>
#include <string.h>

#include "chain.h"
#include "nbcoll/loopback.h"
#include "nbcoll/show.h"
#include "nbcoll/verify.h"

enum { RANKS = 3, BYTES = 64 };

static int print(void *user, const char *text, size_t bytes)
{
    (void)user;
    return fwrite(text, 1, bytes, stdout) != bytes;
}

/* Builds the schedule of each rank and starts it there; steps all ranks until everyone has ended. */
static nbcoll_status run(const nbcoll_algorithm *algorithm, const nbcoll_case *what, nbcoll_comm *comm[],
                         char data[][BYTES])
{
    nbcoll_schedule *schedule[RANKS];
    nbcoll_request request[RANKS];
    nbcoll_status s = NBCOLL_OK;

    for (int r = 0; r < RANKS && s == NBCOLL_OK; r++) {
        s = nbcoll_build_case(algorithm, what, r, NULL, &schedule[r]);
        if (s == NBCOLL_OK)
            s = nbcoll_schedule_start(schedule[r], NULL, data[r], comm[r], &request[r]);
    }
    if (s != NBCOLL_OK)
        return s;
    nbcoll_show_text(schedule[1], print, NULL);
    do
        s = nbcoll_test_all(RANKS, request, NULL);
    while (s == NBCOLL_PENDING);
    for (int r = 0; r < RANKS; r++)
        nbcoll_schedule_free(schedule[r]);
    return s;
}

static int demonstrate(const nbcoll_algorithm *algorithm, nbcoll_comm *comm[])
{
    nbcoll_case what = {.size = sizeof what, .operation = NBCOLL_OPERATION_BCAST, .ranks = RANKS, .count = BYTES,
                        .reduction = {NBCOLL_BYTE, NBCOLL_SUM}, .segment = 16};
    nbcoll_refutation why = {.size = sizeof why};
    char data[RANKS][BYTES] = {"down the chain, piece by piece, each sent on when it has come"};

    if (nbcoll_verify_algorithm(algorithm, &what, NULL, &why) != NBCOLL_OK) {
        printf("%s is wrong: %s\n", algorithm->name, why.text);
        return 1;
    }
    printf("%s is proved for %d ranks; rank 1 of it:\n", algorithm->name, RANKS);
    if (run(algorithm, &what, comm, data) != NBCOLL_OK)
        return 1;
    printf("rank 2 got: %.*s\n\n", BYTES, data[2]);
    return memcmp(data[2], data[0], BYTES) != 0;
}

int main(void)
{
    nbcoll_loopback_config config = {.size = sizeof config, .ranks = RANKS};
    nbcoll_loopback *world;
    nbcoll_endpoint *endpoint;
    nbcoll_context *context[RANKS];
    nbcoll_comm *comm[RANKS];
    nbcoll_request request[RANKS];

    if (nbcoll_loopback_create(&config, &world) != NBCOLL_OK)
        return 1;
    for (int r = 0; r < RANKS; r++)
        if (nbcoll_loopback_open(world, r, &endpoint) != NBCOLL_OK ||
            nbcoll_context_create(NBCOLL_ABI, NULL, &context[r]) != NBCOLL_OK ||
            nbcoll_comm_icreate(context[r], endpoint, NULL, &comm[r], &request[r]) != NBCOLL_OK)
            return 1;
    while (nbcoll_test_all(RANKS, request, NULL) == NBCOLL_PENDING)
        ;
    int wrong = demonstrate(&chain_algorithms[0], comm) | demonstrate(&chain_algorithms[1], comm);
    for (int r = 0; r < RANKS; r++)
        while (nbcoll_context_free(context[r]) == NBCOLL_ERR_BUSY)
            nbcoll_progress(context[r]); /* the last messages are on their way */
    nbcoll_loopback_free(world);
    return wrong;
}
