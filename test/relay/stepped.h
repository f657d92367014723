/* SPDX-License-Identifier: BSD-3-Clause
 * Relays of ranks that the test's thread steps. */
#ifndef TEST_RELAY_STEPPED_H
#define TEST_RELAY_STEPPED_H

#include "nbcoll/relay.h"
#include "world.h"

/* Closes the relays of all ranks, which the ranks' engines move. */
void stepped_close(world *w, nbcoll_relays *relays[]);

#endif
