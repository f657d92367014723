/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The agent of a node's leader where there is one node: over an endpoint without neighbours, and moved by a thread.
 */
#ifndef TEST_SHM_LONE_H
#define TEST_SHM_LONE_H

#include <pthread.h>
#include <stdatomic.h>

#include "nbcoll/loopback.h"
#include "nbcoll/offload.h"

typedef struct lone {
    nbcoll_loopback *world;
    nbcoll_endpoint *end;
    nbcoll_agent *agent;
    pthread_t thread;
    atomic_int is_over;
} lone;

void lone_open(lone *l, int rank, int ranks);
void lone_close(lone *l);

#endif
