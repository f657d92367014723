/* SPDX-License-Identifier: BSD-3-Clause
 * Ranks that open their endpoints together: memory that they share serves as their allgather. */
#ifndef TEST_CLUSTER_SEATS_H
#define TEST_CLUSTER_SEATS_H

#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <nbcoll/cluster.h>

#include "crew.h"

enum { RANKS = 3 };

typedef struct table {
    unsigned char all[RANKS * 1024];
    atomic_int come;
    uint64_t part[RANKS];
    uint32_t flags;
    bool fails;
    nbcoll_status verbs[RANKS]; /* what opening them says, where a stand-in opens them */
    nbcoll_status status;       /* expected, */
    const char *said;           /* and in the host's log; null: anything */
} table;

typedef struct seat {
    table *table;
    int rank, exchanges;
    char said[240];
} seat;

static nbcoll_status exchange(void *user, const void *mine, void *all, size_t bytes)
{
    seat *s = user;

    CHECK(bytes <= 1024);
    if (s->table->fails)
        return NBCOLL_ERR_PEER_LOST;
    memcpy(s->table->all + (size_t)s->rank * bytes, mine, bytes);
    for (atomic_fetch_add(&s->table->come, 1); atomic_load(&s->table->come) < (2 * s->exchanges + 1) * RANKS;)
        sched_yield();
    memcpy(all, s->table->all, RANKS * bytes);
    s->exchanges++;
    for (atomic_fetch_add(&s->table->come, 1); atomic_load(&s->table->come) < 2 * s->exchanges * RANKS;)
        sched_yield();
    return NBCOLL_OK;
}

static void hear(void *user, nbcoll_status why, const char *text)
{
    seat *s = user;

    (void)why;
    if (strncmp(text, "cluster: ", 9) == 0)
        snprintf(s->said, sizeof s->said, "%s", text + 9);
}

static nbcoll_status open_ends(int rank, table *t, nbcoll_endpoint *end[2], int *n)
{
    seat s = {.table = t, .rank = rank};
    const nbcoll_cluster_config config = {.size = sizeof config,
                                          .rank = rank,
                                          .ranks = RANKS,
                                          .exchange = exchange,
                                          .user = &s,
                                          .part = t->part[rank],
                                          .flags = t->flags,
                                          .host = {.size = sizeof(nbcoll_host), .log = hear, .user = &s}};
    nbcoll_status status = nbcoll_cluster_open(&config, end, n);

    if (t->said && strcmp(s.said, t->said) != 0)
        printf("rank %d: '%s' instead of '%s'\n", rank, s.said, t->said);
    CHECK(!t->said || strcmp(s.said, t->said) == 0);
    return status;
}

/* Skips the test where nothing joins machines without RDMA devices. */
static void needs_a_network(void)
{
    const nbcoll_ofi_config config = {.size = sizeof config, .ranks = 1};
    nbcoll_endpoint *ep = NULL;
    nbcoll_ofi_address mine;

    if (nbcoll_ofi_open(&config, &mine, &ep) != NBCOLL_OK)
        skip();
    nbcoll_endpoint_close(ep);
}

#endif
