/* SPDX-License-Identifier: BSD-3-Clause
 *
 * rdma_like: loopback with the limits of RDMA. Memory must be registered at both ends; keys have 48 bytes, travel whole
 * and are compared whole; there is neither shared memory nor a view; each rank has few posts under way to each other
 * one, and all are lent; payload and prices differ by peer. A get, put or deregistration that breaks the contract is
 * counted, so that a test sees what the core did wrong.
 */
#ifndef NBCOLL_TEST_RDMA_LIKE_H
#define NBCOLL_TEST_RDMA_LIKE_H

#include "nbcoll/transport.h"

typedef struct rdma_like rdma_like; /* what the ranks of a world share */

/* Variants, or-ed. */
#define RDMA_LIKE_NO_GET 1u
#define RDMA_LIKE_NO_PUT 2u
#define RDMA_LIKE_LINES 4u /* inline sends of at most so many lines between two of its progress calls */

/* What they did wrong; in the end `registered` is 0. */
typedef struct rdma_like_count {
    int bad_key, bad_local, bad_deregister, registered;
    int gets, puts;
} rdma_like_count;

rdma_like *rdma_like_make(uint32_t variant);
/* Of the ends that are opened from now on. */
void rdma_like_vary(rdma_like *world, uint32_t variant);
rdma_like_count rdma_like_counted(rdma_like *world);
void rdma_like_free(rdma_like *world);
/* Wraps the end of a loopback, which must not lend. Null without memory. */
nbcoll_endpoint *rdma_like_open(rdma_like *world, nbcoll_endpoint *inner);

#endif
