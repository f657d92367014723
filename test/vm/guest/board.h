/* SPDX-License-Identifier: BSD-3-Clause
 * How ranks that are processes of one machine learn each other's addresses: from memory that they share. */
#ifndef TEST_VM_BOARD_H
#define TEST_VM_BOARD_H

#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include <nbcoll/verbs.h>

enum { BOARD_RANKS = 16 };

typedef struct board {
    nbcoll_verbs_address all[BOARD_RANKS];
    atomic_int written;
} board;

/* Opens this rank's endpoint, and waits for the others to do so. Null: the device refused. */
static inline nbcoll_endpoint *board_open(board *b, const nbcoll_verbs_config *config)
{
    nbcoll_endpoint *ep = NULL;

    if (nbcoll_verbs_open(config, &b->all[config->rank], &ep) != NBCOLL_OK)
        return NULL;
    for (atomic_fetch_add(&b->written, 1); atomic_load(&b->written) < config->ranks;)
        sched_yield();
    return nbcoll_verbs_meet(ep, b->all) == NBCOLL_OK ? ep : NULL;
}

/* Packets that a device has sent; -1: there is no such device. */
static inline long packets_sent_by(const char *device)
{
    char path[128];
    long packets = -1;

    snprintf(path, sizeof path, "/sys/class/infiniband/%s/ports/1/hw_counters/sent_pkts", device);
    FILE *file = fopen(path, "r");
    if (!file || fscanf(file, "%ld", &packets) != 1)
        packets = -1;
    if (file)
        fclose(file);
    return packets;
}

/* Whether a process of the guest has a queue pair, as `rdma` says; the kernel's own ones have no process. */
static inline bool a_queue_pair_is_left(void)
{
    char line[256];
    int left = 0, lines = 0;
    FILE *said = popen("rdma resource show qp", "r");

    while (said && fgets(line, sizeof line, said)) {
        lines++;
        left += strstr(line, " pid ") != NULL;
    }
    return !said || pclose(said) != 0 || lines == 0 || left > 0;
}

#endif
