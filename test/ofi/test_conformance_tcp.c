/* SPDX-License-Identifier: BSD-3-Clause
 *
 * ofi keeps the transport contract over TCP, by the provider that it prefers there. An argument: one case's name; a
 * second one: another provider.
 */
#include "conform.h"

int main(int argc, char **argv)
{
    const nbcoll_ofi_config usual = {
        .size = sizeof usual, .provider = argc > 2 ? argv[2] : "tcp;ofi_rxm", .address = "127.0.0.1", .lost_ms = 2000};
    return conform(&usual,
                   NBCOLL_CONFORMANCE_ORDERED | NBCOLL_CONFORMANCE_BULK | NBCOLL_CONFORMANCE_WAKEUP |
                       NBCOLL_CONFORMANCE_REFUSES,
                   true, argc > 1 && argv[1][0] ? argv[1] : NULL);
}
