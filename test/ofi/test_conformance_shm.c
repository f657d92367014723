/* SPDX-License-Identifier: BSD-3-Clause
 *
 * ofi keeps the transport contract over libfabric's provider shm, which has no descriptor to sleep on (a rank looks
 * now and then), between processes: within one, who closes its end leaves the others with memory that is no more. An
 * argument: one case's name.
 */
#include "conform.h"

int main(int argc, char **argv)
{
    const nbcoll_ofi_config usual = {.size = sizeof usual, .provider = "shm", .lost_ms = 2000};
    return conform(&usual,
                   NBCOLL_CONFORMANCE_ORDERED | NBCOLL_CONFORMANCE_BULK | NBCOLL_CONFORMANCE_REFUSES |
                       NBCOLL_CONFORMANCE_WAKEUP,
                   false, argc > 1 ? argv[1] : NULL);
}
