/* SPDX-License-Identifier: BSD-3-Clause
 * Ranks that die: see mortal.h. */
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

#include "crew.h"
#include "mortal.h"

enum { COUNT = 3000 };

static void may_die(uint64_t *left)
{
    if (*left && --*left == 0)
        kill(getpid(), SIGKILL);
}

static nbcoll_status finish(nbcoll_request *q, uint64_t *left)
{
    uint64_t begin = clock_ns();
    nbcoll_status s;
    while ((s = nbcoll_test(q)) == NBCOLL_PENDING) {
        CHECK(clock_ns() - begin < 20 * SECOND);
        may_die(left);
    }
    return s;
}

/* PEER_LOST, or each rank's bit once: of those that live on, and perhaps of some that die later. */
static nbcoll_status sum_up(nbcoll_comm *comm, int64_t bit, int64_t survivors, int64_t sum[], uint64_t *left)
{
    nbcoll_request q;

    for (int i = 0; i < COUNT; i++)
        sum[i] = bit;
    nbcoll_status s = nbcoll_iallreduce(NBCOLL_IN_PLACE, sum, COUNT, NBCOLL_INT64, NBCOLL_SUM, comm, &q);
    s = s == NBCOLL_OK ? finish(&q, left) : s;
    if (s == NBCOLL_OK) {
        CHECK((sum[0] & survivors) == survivors && sum[COUNT - 1] == sum[0]);
        CHECK(__builtin_popcountll((unsigned long long)sum[0]) == nbcoll_comm_size(comm));
    }
    return s;
}

void mortal_work(nbcoll_comm *comm, const uint64_t left[])
{
    int rank = nbcoll_comm_rank(comm), ranks = nbcoll_comm_size(comm), living = 0;
    int64_t *sum = malloc(COUNT * sizeof *sum), survivors = 0;
    uint64_t own = left[rank];

    CHECK(sum);
    for (int r = 0; r < ranks; r++)
        if (!left[r]) {
            survivors |= INT64_C(1) << r;
            living++;
        }
    while (nbcoll_comm_size(comm) > living) {
        nbcoll_status s = sum_up(comm, INT64_C(1) << rank, survivors, sum, &own);
        if (s == NBCOLL_OK) {
            may_die(&own);
            continue;
        }
        nbcoll_comm *old = comm;
        nbcoll_request q;
        CHECK_STATUS(NBCOLL_ERR_PEER_LOST, s);
        CHECK_STATUS(NBCOLL_OK, nbcoll_comm_ishrink(old, &comm, &q));
        CHECK_STATUS(NBCOLL_OK, finish(&q, &own));
        CHECK_STATUS(NBCOLL_OK, nbcoll_comm_free(old));
    }
    free(sum);
}
