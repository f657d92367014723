/* SPDX-License-Identifier: BSD-3-Clause
 * Sleeping on descriptors until a deadline of the host's clock: the one sleep of contexts that wait and of endpoints
 * that open. */
#ifndef NBCOLLI_HOST_SLEEP_H
#define NBCOLLI_HOST_SLEEP_H

#include <poll.h>

#include "nbcoll/nbcoll.h"

/* How long a wait that may last until `deadline` (UINT64_MAX: for ever) may go on, at most `longest`; in nanoseconds.
 * 0: it is over. */
uint64_t nbcolli_time_left(const nbcoll_host *host, uint64_t deadline, uint64_t longest);

/* When a wait of `timeout` that begins now is over. */
uint64_t nbcolli_deadline(const nbcoll_host *host, uint64_t timeout);

/* Sleeps until one of the descriptors is ready (none of them: for that time), at most `longest` nanoseconds. Where the
 * host has a pause of its own it looks at them and calls that instead, with the number of this look, counted in *looks.
 * OK: one is ready. PENDING: the time is over, or a signal came. ERR_TRANSPORT: errno says why. */
nbcoll_status nbcolli_sleep(const nbcoll_host *host, struct pollfd *fds, size_t n, uint64_t longest, uint64_t *looks);

#endif
