/* SPDX-License-Identifier: BSD-3-Clause
 * A topology as text. */
#include "print.h"

static void nbcolli_show_ends(nbcolli_printer *p, const char *word, const nbcoll_relay_end *end, uint32_t count)
{
    nbcolli_print(p, " %s%s", word, count ? "" : " nobody");
    for (uint32_t i = 0; i < count && !p->is_stopped; i++)
        nbcolli_print(p, " %d_%lu", end[i].rank, (unsigned long)end[i].relay);
}

nbcoll_status nbcoll_show_topology(const nbcoll_topology *topology, nbcoll_write *write, void *user)
{
    if (!topology || !write)
        return NBCOLL_ERR_NULL;
    if (topology->size < sizeof *topology)
        return NBCOLL_ERR_CONFIG;
    nbcolli_printer p = {.write = write, .user = user};
    nbcolli_print(&p, "topology ");
    nbcolli_print_name(&p, topology->name, 0);
    nbcolli_print(&p, ": rank %d of %d, %lu relays, %lu connections\n", topology->rank, topology->ranks,
                  (unsigned long)topology->relays, (unsigned long)topology->connections);
    for (uint32_t i = 0; i < topology->relays && !p.is_stopped; i++) {
        const nbcoll_relay *relay = &topology->relay[i];
        nbcolli_print(&p, "relay %lu:", (unsigned long)i);
        nbcolli_show_ends(&p, "from", relay->source, relay->sources);
        nbcolli_show_ends(&p, "to", relay->destination, relay->destinations);
        nbcolli_print(&p, "\n");
    }
    return nbcolli_print_end(&p);
}
