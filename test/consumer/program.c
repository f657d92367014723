/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A program that uses nbcoll from outside: two ranks on loopback, stepped by one thread, sum a vector. Succeeds when
 * the sums are right. As a library (PLUGIN) it gives the same under a name of its own.
 */
#include <nbcoll/loopback.h>
#include <nbcoll/nbcoll.h>

#ifndef PLUGIN
#define PLUGIN main
#endif

enum { RANKS = 2, COUNT = 1000 };

static nbcoll_context *context[RANKS];
static nbcoll_comm *comm[RANKS];
static nbcoll_request request[RANKS];
static int64_t mine[RANKS][COUNT], sum[RANKS][COUNT];

/* Tests both ranks in turn until both requests have ended. */
static nbcoll_status finish(void)
{
    nbcoll_status status[RANKS];
    do {
        for (int rank = 0; rank < RANKS; rank++)
            status[rank] = nbcoll_test(&request[rank]);
    } while (status[0] == NBCOLL_PENDING || status[1] == NBCOLL_PENDING);
    return status[0] != NBCOLL_OK ? status[0] : status[1];
}

static int open_ranks(nbcoll_loopback *world)
{
    for (int rank = 0; rank < RANKS; rank++) {
        nbcoll_endpoint *end;
        if (nbcoll_loopback_open(world, rank, &end) || nbcoll_context_create(NBCOLL_ABI, NULL, &context[rank]) ||
            nbcoll_comm_icreate(context[rank], end, NULL, &comm[rank], &request[rank]))
            return 1;
    }
    return finish() != NBCOLL_OK;
}

static int sum_vectors(void)
{
    for (int rank = 0; rank < RANKS; rank++) {
        for (int i = 0; i < COUNT; i++)
            mine[rank][i] = rank * COUNT + i;
        if (nbcoll_iallreduce(mine[rank], sum[rank], COUNT, NBCOLL_INT64, NBCOLL_SUM, comm[rank], &request[rank]))
            return 1;
    }
    if (finish() != NBCOLL_OK)
        return 1;
    for (int rank = 0; rank < RANKS; rank++)
        for (int i = 0; i < COUNT; i++)
            if (sum[rank][i] != COUNT + 2 * i)
                return 1;
    return 0;
}

int PLUGIN(void);
int PLUGIN(void)
{
    nbcoll_loopback_config config = {.size = sizeof config, .ranks = RANKS};
    nbcoll_loopback *world;
    if (nbcoll_loopback_create(&config, &world) || open_ranks(world) || sum_vectors())
        return 1;
    for (int rank = 0; rank < RANKS; rank++)
        while (nbcoll_context_free(context[rank]) == NBCOLL_ERR_BUSY)
            nbcoll_progress(context[rank]);
    return nbcoll_loopback_free(world) != NBCOLL_OK;
}
