/* SPDX-License-Identifier: BSD-3-Clause
 *
 * fault: wraps the endpoint of any transport and makes it as unkind as the contract allows: refuses, delays and
 * reorders messages at random (seeded), fails one call, loses a rank. With nothing configured it is transparent. It
 * also plays transports that break the contract, so that the conformance suite can show that it finds them. A test that
 * wants every failure once fails the first call, then the second, and so on until a run makes fewer calls:
 *
 *     do {
 *         nbcoll_fault_set(ep, &(nbcoll_fault_config){.size = sizeof(nbcoll_fault_config), .fail_at = ++n, ...});
 *         run();
 *     } while (nbcoll_fault_calls(ep) >= n);
 */
#include "transport.h"

#ifndef NBCOLL_FAULT_H
#define NBCOLL_FAULT_H

#if defined NBCOLL_WITH_LAB && !NBCOLL_WITH_LAB
#error "nbcoll/fault.h is of the component lab: define NBCOLL_WITH_LAB=1, or link nbcoll_lab"
#endif

NBCOLLI_BEGIN

/* Calls that can be made to fail. */
#define NBCOLL_FAULT_POST 1u
#define NBCOLL_FAULT_GET 2u
#define NBCOLL_FAULT_REGISTER 4u
#define NBCOLL_FAULT_PUT 8u
#define NBCOLL_FAULT_LINE 16u

/* Fault flags. */
#define NBCOLL_FAULT_REORDER 1u /* a held message does not hold back the ones after it */

/* A clause of the contract that the endpoint breaks, whenever it comes to that. */
typedef enum nbcoll_fault_breach {
    NBCOLL_FAULT_KEEPS_ALL,
    NBCOLL_FAULT_LOSS_UNREPORTED,   /* a rank that is lost is not reported */
    NBCOLL_FAULT_LEAVE_UNREPORTED,  /* a rank that has left is not reported */
    NBCOLL_FAULT_ARM_ALWAYS_OK,     /* arm answers OK although something waits */
    NBCOLL_FAULT_WORK_DROPPED,      /* a work request that should come back does not */
    NBCOLL_FAULT_WORK_TWICE,        /* a work request that has come back does so again in the next progress */
    NBCOLL_FAULT_MESSAGE_TWICE,     /* a message or a line arrives twice */
    NBCOLL_FAULT_PAYLOAD_TRUNCATED, /* a payload arrives without its last byte: a message's or a line's */
    NBCOLL_FAULT_CANCEL_WRITES,     /* a cancelled get writes after its work request has come back */
    NBCOLL_FAULT_CLOSE_DROPS,       /* a rank's close drops what it has posted and has not arrived */
    NBCOLL_FAULT_NOT_NOW_FOREVER    /* when one post to a peer was refused, all are, of messages and lines */
} nbcoll_fault_breach;

typedef struct nbcoll_fault_config {
    size_t size;
    const nbcoll_host *host; /* memory; may be null; copied. Read by open only */
    uint64_t seed;
    uint32_t flags;
    uint32_t not_now; /* of 1000 posts, gets, puts and lines, how many are answered NOT_NOW; at most 999 */
    uint32_t hold;    /* of 1000 posts, how many are answered IN_FLIGHT and held; at most 1000 */
    uint32_t longest; /* a held message leaves in one of the next so many progresses; 0: 1 */

    uint32_t fail;           /* which calls count: POST, GET, PUT, LINE, REGISTER */
    uint64_t fail_at;        /* the number of the one that fails, counted from 1; 0: none */
    nbcoll_posted fail_with; /* FAILED: only that call. LOST: its peer is lost from then on (register: as FAILED) */

    /* The number of the progress, counted from 1, that reports rank `lost`; 0: none. Posts, gets and puts to it then
     * answer LOST; what it has sent may still arrive. Neither this nor fail_with LOST tells that rank: set the same at
     * its end, or it breaks the rule that a loss is mutual. */
    uint64_t lost_at;
    int lost;

    nbcoll_fault_breach breach;
} nbcoll_fault_config;

/* Wraps `inner`, which from then on is the new endpoint's: closed with it, and not to be used. On an error it stays the
 * caller's. `config` may be null. Errors: ERR_NULL, ERR_CONFIG, ERR_RANK (lost), ERR_ABI (inner's table), ERR_BUSY (a
 * context has it), ERR_MEMORY. */
NBCOLL_API nbcoll_status nbcoll_fault_open(const nbcoll_fault_config *config, nbcoll_endpoint *inner,
                                           nbcoll_endpoint **out);

/* Takes another configuration, and counts from the start again. Messages already held and ranks already lost stay so.
 * For the thread that may call the endpoint. Errors: ERR_NULL, ERR_FOREIGN (not an endpoint of fault), ERR_CONFIG,
 * ERR_RANK. */
NBCOLL_API nbcoll_status nbcoll_fault_set(nbcoll_endpoint *ep, const nbcoll_fault_config *config);

/* How many calls that count have been made since the last open or set: the one numbered fail_at failed if this is not
 * smaller. 0 for an endpoint that is not fault's. */
NBCOLL_API uint64_t nbcoll_fault_calls(const nbcoll_endpoint *ep);

NBCOLLI_END
#endif
