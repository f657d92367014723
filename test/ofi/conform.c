/* SPDX-License-Identifier: BSD-3-Clause
 * See conform.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <nbcoll/conformance.h>
#include <nbcoll/ofi.h>

#include "board.h"
#include "conform.h"

enum { RANKS = 9, LOST_MS = 2000 };

static nbcoll_ofi_config config_of(const nbcoll_conformance *c, int rank, int ranks)
{
    nbcoll_ofi_config config = *(const nbcoll_ofi_config *)c->user;
    config.rank = rank;
    config.ranks = ranks;
    return config;
}

/* ---- one process ------------------------------------------------------------------------------------------------- */

static void *make_here(const nbcoll_conformance *c, int ranks, nbcoll_endpoint *end[])
{
    nbcoll_ofi_address all[RANKS];

    for (int rank = 0; rank < ranks; rank++) {
        nbcoll_ofi_config config = config_of(c, rank, ranks);
        if (nbcoll_ofi_open(&config, &all[rank], &end[rank]) != NBCOLL_OK)
            return NULL;
    }
    for (int rank = 0; rank < ranks; rank++)
        if (nbcoll_ofi_meet(end[rank], all) != NBCOLL_OK)
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
    return board_make();
}

static nbcoll_endpoint *open_end(const nbcoll_conformance *c, void *made, int rank, int ranks)
{
    nbcoll_ofi_config config = config_of(c, rank, ranks);
    return board_open(made, &config);
}

static void destroy_board(const nbcoll_conformance *c, void *made)
{
    (void)c;
    board_free(made);
}

/* ---- both -------------------------------------------------------------------------------------------------------- */

int conform(const nbcoll_ofi_config *usual, uint32_t promises, bool in_one_process, const char *only)
{
    nbcoll_conformance here = {.size = sizeof here,
                               .name = usual->provider,
                               .promises = promises,
                               .user = usual,
                               .only = only,
                               .make = make_here,
                               .destroy = destroy_here,
                               .result = nbcoll_conformance_print};
    nbcoll_conformance processes = here;
    nbcoll_ofi_config config = *usual;
    nbcoll_ofi_address mine;
    nbcoll_endpoint *ep = NULL;
    char name[64];

    /* 8192 buffers for receives, as many as ofi_rxm has of its own accord, are 130 MB, which each opening clears: most
     * of the time of cases that open ends often. */
    setenv("FI_OFI_RXM_MSG_RX_SIZE", "64", 0);
    config.ranks = 1;
    nbcoll_status status = nbcoll_ofi_open(&config, &mine, &ep);
    nbcoll_endpoint_close(ep);
    if (status == NBCOLL_ERR_UNSUPPORTED)
        return 77;
    snprintf(name, sizeof name, "%s, processes", usual->provider);
    processes.name = name;
    processes.make = make_board;
    processes.destroy = destroy_board;
    processes.open = open_end;
    processes.payload = usual->payload                        ? usual->payload
                        : strstr(usual->provider, "ofi_rxm")  ? 32768
                        : strcmp(usual->provider, "net") == 0 ? 65536
                                                              : 16384;
    processes.lost_ms = LOST_MS;
    int failed_here = in_one_process ? nbcoll_conformance_run(&here) : 0, failed = nbcoll_conformance_run(&processes);
    return (failed_here > 0) + (failed > 0) + (failed_here < 0 && failed < 0);
}

int conform_side_by_side(const nbcoll_conformance all[], size_t n)
{
    int failed = 0, status;

    setvbuf(stdout, NULL, _IOLBF, 0);
    for (size_t i = 0; i < n; i++) {
        pid_t pid = fork();
        if (pid == 0)
            exit(nbcoll_conformance_run(&all[i]) != 0);
        failed += pid < 0;
    }
    while (wait(&status) > 0)
        failed += status != 0;
    return failed;
}
