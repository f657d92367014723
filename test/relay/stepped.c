/* SPDX-License-Identifier: BSD-3-Clause */
#include "stepped.h"

enum { LOOKS = 4000 };

void stepped_close(world *w, nbcoll_relays *relays[])
{
    unsigned left = (1u << w->ranks) - 1;
    for (int looks = 0; left; looks++) {
        world_watchdog(w, looks < LOOKS);
        for (int r = 0; r < w->ranks; r++)
            if (left >> r & 1 && nbcoll_relays_close(relays[r], 0) == NBCOLL_OK)
                left &= ~(1u << r);
            else
                nbcoll_progress(w->context[r]);
    }
}
