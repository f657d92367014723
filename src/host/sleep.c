/* SPDX-License-Identifier: BSD-3-Clause
 * Sleeping on descriptors: see sleep.h. */
#include <errno.h>

#include "sleep.h"

#include "host.h"

uint64_t nbcolli_deadline(const nbcoll_host *host, uint64_t timeout)
{
    uint64_t now = nbcolli_now(host);
    return timeout < UINT64_MAX - now ? now + timeout : UINT64_MAX;
}

uint64_t nbcolli_time_left(const nbcoll_host *host, uint64_t deadline, uint64_t longest)
{
    if (deadline == UINT64_MAX)
        return longest;
    uint64_t now = nbcolli_now(host);
    uint64_t left = deadline > now ? deadline - now : 0;
    return left < longest ? left : longest;
}

nbcoll_status nbcolli_sleep(const nbcoll_host *host, struct pollfd *fds, size_t n, uint64_t longest, uint64_t *looks)
{
    uint64_t ns = host->pause ? 0 : longest;
    struct timespec t = {(time_t)(ns / 1000000000u), (long)(ns % 1000000000u)};
    int ready = ppoll(fds, (nfds_t)n, &t, NULL);

    if (ready > 0)
        return NBCOLL_OK;
    if (ready < 0 && errno != EINTR)
        return NBCOLL_ERR_TRANSPORT;
    if (host->pause)
        host->pause(host->user, ++*looks);
    return NBCOLL_PENDING;
}
