/* SPDX-License-Identifier: BSD-3-Clause
 * What the tests of cells play: a collective by a named algorithm, native where the communicator shares memory; and
 * boards, schedules of many random exposures and fetches that no algorithm would make. */
#ifndef TEST_CELLS_PLAY_H
#define TEST_CELLS_PLAY_H

#include "operation.h"

/* ---- algorithms ------------------------------------------------------------------------------------------------ */

/* The i-th algorithm with exposures, of the library and of the verifier's tests; null beyond the last. */
const nbcoll_algorithm *exposing_algorithm(unsigned i);

/* Of those that such algorithms are for. */
static inline int play_has_root(nbcoll_operation what)
{
    return what == NBCOLL_OPERATION_BCAST || what == NBCOLL_OPERATION_SCATTER || what == NBCOLL_OPERATION_GATHER ||
           what == NBCOLL_OPERATION_REDUCE;
}

/* The operation's schedule for this rank of the communicator, whose buffers are like the share's. */
nbcoll_schedule *play_schedule(const nbcoll_algorithm *algorithm, const operation *o, const share *s,
                               nbcoll_comm *comm, size_t segment);
nbcoll_status play_start(nbcoll_schedule *schedule, const share *s, nbcoll_comm *comm, nbcoll_request *request);

/* How many cells a rank's schedule writes, with how many parts; and does it run any step in shared memory? */
typedef struct demand {
    uint32_t cells, parts;
    int is_native;
} demand;
demand demand_of(const nbcoll_schedule *schedule);

/* ---- boards ---------------------------------------------------------------------------------------------------- */

enum { BOARD_MOST = 64 };

/* Each rank makes up to `cells` exposures, with at most as many parts in all as there are ranks; several may be for one
 * reader. All fetches of a rank run in an order of their own, one after the other, some of them reductions. */
typedef struct board {
    int ranks, transfers;
    struct transfer {
        int owner, reader, exposure; /* of the owner: transfers of one exposure follow each other */
        int turn;                    /* in which the reader fetches it */
        int is_reduced;              /* 32-bit integers are added to what is there, else replaced */
        size_t words, from, to;      /* 32-bit words; places in the owner's send and the reader's receive buffer */
    } transfer[BOARD_MOST];
    uint64_t seed;
} board;

board board_make(uint64_t seed, int ranks, int cells, size_t most_words);
nbcoll_schedule *board_schedule(const board *b, nbcoll_comm *comm);
share board_share(const board *b, int rank);
/* Fails the test unless the rank has all it fetched. */
void board_check(const board *b, const share *s, int rank);

#endif
