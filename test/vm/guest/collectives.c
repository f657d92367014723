/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Collectives over verbs. Runs in a guest. See net.h.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "board.h"
#include "crew.h"
#include "operation.h"
#include "../../stress/stress.h"

enum { NET_MOST = STRESS_RANKS, NET_AT_ONCE = 100 };

static void *net_make(void)
{
    return shared_memory(sizeof(board));
}

static void net_free(void *meeting)
{
    (void)meeting;
}

/* The device sends again after 134 ms, six times. */
static nbcoll_endpoint *net_open(void *meeting, int way, int rank, int ranks)
{
    static const nbcoll_verbs_config ways[] = {
        {.timeout = 15, .probe_ms = 200}, {.registrations = 32}, {.credits = 2, .payload = 256}};
    nbcoll_verbs_config config = ways[way];

    config.size = sizeof config;
    config.rank = rank;
    config.ranks = ranks;
    return board_open(meeting, &config);
}

#include "../../stress/net.h"
