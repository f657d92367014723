/* SPDX-License-Identifier: BSD-3-Clause
 * Looks at carriers: see carriers.h. */
#include "carriers.h"

#include "../run/queue.h"

int nbcolli_carriers_look(nbcoll_context *c, int poller)
{
    int moves = 0;
    c->is_unheard = 0;
    if (poller < 0)
        c->driven.looked = 1; /* from here on none wakes a driver that sleeps */
    for (nbcolli_carrier *carrier = c->carriers; carrier; carrier = carrier->next) {
        nbcolli_carrier_sight sight = carrier->look(carrier, poller);
        c->is_unheard |= sight == NBCOLLI_CARRIER_UNHEARD;
        moves |= sight >= NBCOLLI_CARRIER_MOVED;
        if (sight == NBCOLLI_CARRIER_MOVES)
            nbcolli_request_end(c, carrier->notice);
    }
    return moves;
}
