/* SPDX-License-Identifier: BSD-3-Clause
 *
 * ofi keeps the transport contract over TCP by tcp;ofi_rxm, which every libfabric has. An argument: one case's name.
 */
#include "conform.h"

int main(int argc, char **argv)
{
    const nbcoll_ofi_config usual = {
        .size = sizeof usual, .provider = "tcp;ofi_rxm", .address = "127.0.0.1", .lost_ms = 2000};
    return conform(&usual,
                   NBCOLL_CONFORMANCE_ORDERED | NBCOLL_CONFORMANCE_BULK | NBCOLL_CONFORMANCE_WAKEUP |
                       NBCOLL_CONFORMANCE_REFUSES,
                   true, argc > 1 ? argv[1] : NULL);
}
