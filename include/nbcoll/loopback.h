/* SPDX-License-Identifier: BSD-3-Clause
 *
 * loopback: all ranks in one process, in real time. Ranks may be threads, or one thread may step them all (test,
 * progress and arm of each in turn). The smallest transport, and the one to copy from.
 */
#include "transport.h"

#ifndef NBCOLL_LOOPBACK_H
#define NBCOLL_LOOPBACK_H

NBCOLLI_BEGIN

typedef struct nbcoll_loopback nbcoll_loopback; /* what the ranks share */
typedef struct nbcoll_loopback_queues nbcoll_loopback_queues;

/* Loopback flags: each makes it a less comfortable transport, for tests. */
#define NBCOLL_LOOPBACK_NO_BULK 1u /* offer no bulk group: large data travels in fragments */
#define NBCOLL_LOOPBACK_LEND 2u    /* answer posts and gets with IN_FLIGHT, and finish them in progress */
#define NBCOLL_LOOPBACK_NO_GET 8u  /* large data is put */
/* And one more comfortable: */
#define NBCOLL_LOOPBACK_SHARED 4u /* offer the shared group: exposures run in place */

typedef struct nbcoll_loopback_config {
    size_t size;
    const nbcoll_host *host; /* memory; may be null; must outlive the world */
    int ranks;               /* 1..1024 */
    uint64_t seed;           /* orders delivery, between senders and of each one's; 0: in order of arrival */
    uint32_t depth;          /* messages in flight from one rank to another; 0: 16 */
    uint32_t payload;        /* bytes a message may carry, 256..65536; 0: 4096 */
    uint32_t flags;
    const nbcoll_loopback_queues *pairs; /* queue pairs for agents and relays: nbcoll_loopback_pairs() of offload.h;
                                            null: the transport has none */
} nbcoll_loopback_config;

/* Errors: ERR_NULL, ERR_CONFIG, ERR_MEMORY. */
NBCOLL_API nbcoll_status nbcoll_loopback_create(const nbcoll_loopback_config *config, nbcoll_loopback **out);

/* The end of `rank`, which is opened once. Any thread, once for each rank. Errors: ERR_NULL, ERR_RANK, ERR_BUSY (open),
 * ERR_MEMORY, ERR_TRANSPORT (no descriptor). */
NBCOLL_API nbcoll_status nbcoll_loopback_open(nbcoll_loopback *world, int rank, nbcoll_endpoint **out);

/* Null is accepted. Errors: ERR_BUSY (an endpoint is open). */
NBCOLL_API nbcoll_status nbcoll_loopback_free(nbcoll_loopback *world);

NBCOLLI_END
#endif
