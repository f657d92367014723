/* SPDX-License-Identifier: BSD-3-Clause
 * See board.h. */
#include <semaphore.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

#include <nbcoll/ofi.h>

#include "board.h"

/* libfabric leaves what belongs to a connection that was being made when its endpoint was closed: for the leak checker,
 * which looks at ours. */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
    return "leak:libfabric.so";
}

struct board {
    nbcoll_ofi_address all[BOARD_RANKS];
    atomic_int written;
    sem_t all_have; /* for each rank once */
};

board *board_make(void)
{
    board *b = mmap(NULL, sizeof *b, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return b == MAP_FAILED || sem_init(&b->all_have, 1, 0) != 0 ? NULL : b;
}

void board_free(board *b)
{
    munmap(b, sizeof *b);
}

void board_exchange(board *b, int rank, int ranks, nbcoll_ofi_address all[])
{
    b->all[rank] = all[rank];
    if (atomic_fetch_add(&b->written, 1) + 1 == ranks)
        for (int i = 0; i < ranks; i++)
            sem_post(&b->all_have);
    while (sem_wait(&b->all_have) != 0) /* a signal */
        ;
    memcpy(all, b->all, (size_t)ranks * sizeof *all);
}

nbcoll_endpoint *board_open(board *b, const nbcoll_ofi_config *config)
{
    nbcoll_ofi_address all[BOARD_RANKS];
    nbcoll_endpoint *ep = NULL;

    if (nbcoll_ofi_open(config, &all[config->rank], &ep) != NBCOLL_OK)
        return NULL;
    board_exchange(b, config->rank, config->ranks, all);
    return nbcoll_ofi_meet(ep, all) == NBCOLL_OK ? ep : NULL;
}
