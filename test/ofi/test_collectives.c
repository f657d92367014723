/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Collectives over ofi and TCP. See net.h.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include <nbcoll/ofi.h>

#include "board.h"
#include "crew.h"
#include "operation.h"
#include "../stress/stress.h"

enum { NET_MOST = 4, NET_AT_ONCE = 40 };

static void *net_make(void)
{
    return board_make();
}

static void net_free(void *meeting)
{
    board_free(meeting);
}

static nbcoll_endpoint *net_open(void *meeting, int way, int rank, int ranks)
{
    static const nbcoll_ofi_config ways[] = {{.size = 0}, {.credits = 16}, {.credits = 2, .payload = 256}};
    nbcoll_ofi_config config = ways[way];

    config.size = sizeof config;
    config.address = "127.0.0.1";
    config.rank = rank;
    config.ranks = ranks;
    return board_open(meeting, &config);
}

#include "../stress/net.h"
