/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Verbs keeps the transport contract between processes, and between ends of one process, which two devices join as
 * well. Runs in a guest with two devices.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <nbcoll/conformance.h>
#include <nbcoll/verbs.h>

#include "board.h"

enum { RANKS = 9, LOST_MS = 3000 };

/* The device sends again after 134 ms, six times; then a peer is lost. */
static nbcoll_verbs_config config_of(const nbcoll_conformance *c, int rank, int ranks)
{
    nbcoll_verbs_config config = *(const nbcoll_verbs_config *)c->user;
    config.rank = rank;
    config.ranks = ranks;
    config.timeout = 15;
    config.probe_ms = c->open ? 100 : 0; /* ranks of one process do not die; each probe ends a sleep */
    return config;
}

/* ---- one process ------------------------------------------------------------------------------------------------- */

static void *make_here(const nbcoll_conformance *c, int ranks, nbcoll_endpoint *end[])
{
    nbcoll_verbs_address all[RANKS];
    int opened = 0;

    for (; opened < ranks; opened++) {
        nbcoll_verbs_config config = config_of(c, opened, ranks);
        if (nbcoll_verbs_open(&config, &all[opened], &end[opened]) != NBCOLL_OK)
            return NULL;
    }
    for (int rank = 0; rank < ranks; rank++)
        if (nbcoll_verbs_meet(end[rank], all) != NBCOLL_OK)
            return NULL;
    return malloc(1);
}

static void destroy_here(const nbcoll_conformance *c, void *made)
{
    (void)c;
    free(made);
}

/* ---- processes --------------------------------------------------------------------------------------------------- */

static void *make_board(const nbcoll_conformance *c, int ranks, nbcoll_endpoint *end[])
{
    (void)c, (void)ranks, (void)end;
    void *b = mmap(NULL, sizeof(board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return b == MAP_FAILED ? NULL : b;
}

static nbcoll_endpoint *open_end(const nbcoll_conformance *c, void *made, int rank, int ranks)
{
    nbcoll_verbs_config config = config_of(c, rank, ranks);
    return board_open(made, &config);
}

static void destroy_board(const nbcoll_conformance *c, void *made)
{
    (void)c;
    munmap(made, sizeof(board));
}

/* ---- both -------------------------------------------------------------------------------------------------------- */

int main(int argc, char **argv)
{
    const uint32_t promises = NBCOLL_CONFORMANCE_ORDERED | NBCOLL_CONFORMANCE_BULK | NBCOLL_CONFORMANCE_WAKEUP |
                              NBCOLL_CONFORMANCE_KEEPS | NBCOLL_CONFORMANCE_REFUSES | NBCOLL_CONFORMANCE_QUEUES |
                              NBCOLL_CONFORMANCE_RECEIVES;
    const nbcoll_verbs_config usual = {.size = sizeof usual},
                              narrow = {.size = sizeof narrow, .device = "rxe0,rxe1", .credits = 2, .payload = 256};
    nbcoll_conformance here = {.size = sizeof here,
                               .name = "verbs",
                               .promises = promises,
                               .user = &usual,
                               .make = make_here,
                               .destroy = destroy_here,
                               .result = nbcoll_conformance_print};
    nbcoll_conformance processes = here;
    processes.name = "verbs, processes";
    processes.make = make_board;
    processes.destroy = destroy_board;
    processes.open = open_end;
    processes.payload = 4096;
    processes.lost_ms = LOST_MS;
    nbcoll_conformance small = here;
    small.name = "verbs, two devices, two credits, payload 256";
    small.user = &narrow;
    here.only = small.only = processes.only = argc > 2 ? argv[2] : NULL;
    int failed = 0;
    if (argc < 2 || strcmp(argv[1], "processes") != 0)
        failed += nbcoll_conformance_run(&here) + (argc < 2 ? nbcoll_conformance_run(&small) : 0);
    if (argc < 2 || strcmp(argv[1], "here") != 0)
        failed += nbcoll_conformance_run(&processes);
    return failed != 0;
}
