/* SPDX-License-Identifier: BSD-3-Clause
 * Crossing messages: see crossing.h. */
#include <string.h>

#include "crossing.h"
#include "world.h"

/* None, small, more than a small limit of eager ones, more than a usual one. */
static size_t length(int message)
{
    static const size_t lengths[] = {0, 8, 300, CROSSING_LARGE};
    return lengths[message % 4];
}

static nbcoll_addr place(nbcoll_buffer buffer, int message)
{
    return (nbcoll_addr){buffer, (size_t)message * CROSSING_LARGE};
}

nbcoll_schedule *crossing_make(int rank, uint64_t seed)
{
    nbcoll_builder_config config = {.size = sizeof config, .rank = rank, .ranks = 2};
    nbcoll_step recv[CROSSING_MESSAGES], before = NBCOLL_START;
    uint64_t random = seed + (uint64_t)rank;
    int order[CROSSING_MESSAGES];
    nbcoll_schedule *s;
    nbcoll_builder *b;

    EXPECT(OK, nbcoll_builder_open(&config, &b));
    for (int i = 0; i < CROSSING_MESSAGES; i++) {
        int k = (int)(world_random(&random) % (uint64_t)(i + 1));
        order[i] = order[k];
        order[k] = i;
        nbcoll_add_send(b, 1 - rank, place(NBCOLL_BUFFER_SEND, i), length(i));
        recv[i] = nbcoll_add_recv(b, 1 - rank, place(NBCOLL_BUFFER_RECV, i), length(i));
    }
    for (int i = 0; i < CROSSING_MESSAGES; i++) {
        nbcoll_after(b, recv[order[i]], before);
        before = recv[order[i]];
    }
    EXPECT(OK, nbcoll_builder_finish(b, &s));
    return s;
}

static unsigned char value(int rank, int message)
{
    return (unsigned char)(1 + rank * 100 + message);
}

void crossing_fill(unsigned char *send, int rank)
{
    for (int i = 0; i < CROSSING_MESSAGES; i++)
        memset(send + (size_t)i * CROSSING_LARGE, value(rank, i), CROSSING_LARGE);
}

int crossing_is_right(const unsigned char *recv, int rank)
{
    for (int i = 0; i < CROSSING_MESSAGES; i++)
        for (size_t k = 0; k < CROSSING_LARGE; k++)
            if (recv[(size_t)i * CROSSING_LARGE + k] != (k < length(i) ? value(1 - rank, i) : 0))
                return 0;
    return 1;
}
