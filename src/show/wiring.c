/* SPDX-License-Identifier: BSD-3-Clause
 * A wiring as text. */
#include "print.h"

static void nbcolli_show_ends(nbcolli_printer *p, const char *word, const nbcoll_relay_end *end, uint32_t count)
{
    nbcolli_print(p, " %s%s", word, count ? "" : " nobody");
    for (uint32_t i = 0; i < count && !p->is_stopped; i++)
        nbcolli_print(p, " %d_%lu", end[i].rank, (unsigned long)end[i].relay);
}

nbcoll_status nbcoll_show_wiring(const nbcoll_wiring *wiring, nbcoll_write *write, void *user)
{
    if (!wiring || !write)
        return NBCOLL_ERR_NULL;
    if (wiring->size < sizeof *wiring)
        return NBCOLL_ERR_CONFIG;
    nbcolli_printer p = {.write = write, .user = user};
    nbcolli_print(&p, "wiring ");
    nbcolli_print_name(&p, wiring->name, 0);
    nbcolli_print(&p, ": rank %d of %d, %lu relays, %lu connections\n", wiring->rank, wiring->ranks,
                  (unsigned long)wiring->relays, (unsigned long)wiring->connections);
    for (uint32_t i = 0; i < wiring->relays && !p.is_stopped; i++) {
        const nbcoll_relay *relay = &wiring->relay[i];
        nbcolli_print(&p, "relay %lu:", (unsigned long)i);
        nbcolli_show_ends(&p, "from", relay->source, relay->sources);
        nbcolli_show_ends(&p, "to", relay->destination, relay->destinations);
        nbcolli_print(&p, "\n");
    }
    return nbcolli_print_end(&p);
}
