/* SPDX-License-Identifier: BSD-3-Clause
 *
 * refusing: wraps any end, and refuses what the contract lets a transport refuse: registrations by what they are for,
 * gets and puts; the first ones, one, or all from one on; at once, or by the work request.
 */
#ifndef NBCOLL_TEST_REFUSING_H
#define NBCOLL_TEST_REFUSING_H

#include "nbcoll/transport.h"

typedef enum refusing_what {
    REFUSING_NOTHING,
    REFUSING_READ_BY_PEER,    /* a sender's registration for a get, or what is exposed */
    REFUSING_WRITTEN_BY_PEER, /* a receiver's for a put */
    REFUSING_OWN_END,         /* this rank's end of a get or put */
    REFUSING_GET,
    REFUSING_PUT,
    REFUSING_VIEW,
    REFUSING_BULK /* the end is opened without that group */
} refusing_what;

typedef struct refusing_plan {
    refusing_what what;
    int from, to;       /* the calls of this kind that are refused, counted from 1; to included */
    int late;           /* a get or put: its work request comes back as ERR_TRANSPORT */
    nbcoll_status with; /* a registration */
} refusing_plan;

/* `plan` may change while nothing is under way, and lives as long as the end; *refused counts. Fails the test without
 * memory. */
nbcoll_endpoint *refusing_open(nbcoll_endpoint *inner, const refusing_plan *plan, int *refused);
/* Counts the calls of the plan's kind from 0 again. */
void refusing_restart(nbcoll_endpoint *ep);

#endif
