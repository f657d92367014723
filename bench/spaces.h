/* SPDX-License-Identifier: BSD-3-Clause
 * Ranks in network namespaces of this host, SPACE0 and SPACE1 (bench/hosts.py makes them). */
#ifndef BENCH_SPACES_H
#define BENCH_SPACES_H

#include <fcntl.h>

#include "nbcoll/cluster.h"

#include "ranks.h"

static inline void enter(const char *space, int number)
{
    char name[256];

    snprintf(name, sizeof name, "/run/netns/%s%d", space, number);
    int fd = open(name, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || setns(fd, CLONE_NEWNET) != 0) {
        perror(name);
        exit(1);
    }
    close(fd);
}

/* Opens end[0..result), where all of m's ranks meet, by the id, which they share. */
static inline int open_cluster(meeting *m, nbcoll_tcp_id *id, int rank, const nbcoll_ofi_config *ofi,
                               nbcoll_endpoint *end[2])
{
    const nbcoll_tcp_config way = {.size = sizeof way, .rank = rank, .ranks = (int)m->ranks};
    nbcoll_cluster_config config = {.size = sizeof config,
                                    .rank = rank,
                                    .ranks = (int)m->ranks,
                                    .exchange = nbcoll_tcp_exchange,
                                    .flags = NBCOLL_CLUSTER_NO_VERBS,
                                    .ofi = ofi};
    nbcoll_tcp *tcp;
    int n;

    if (rank == 0)
        must(nbcoll_tcp_create(&way, id, &tcp));
    meet(m);
    if (rank != 0)
        must(nbcoll_tcp_join(&way, id, &tcp));
    config.user = tcp;
    must(nbcoll_cluster_open(&config, end, &n));
    nbcoll_tcp_close(tcp);
    return n;
}

#endif
