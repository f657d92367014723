/* SPDX-License-Identifier: BSD-3-Clause
 * A schedule as text, a line for each step. */
#include "print.h"

nbcoll_status nbcoll_show_text(const nbcoll_schedule *schedule, nbcoll_write *write, void *user)
{
    if (!schedule || !write)
        return NBCOLL_ERR_NULL;
    nbcolli_printer p = {.write = write, .user = user, .gap = ","};
    nbcoll_schedule_info info = {.size = sizeof info};
    nbcoll_schedule_query(schedule, &info);
    nbcolli_print(&p, "schedule ");
    nbcolli_print_name(&p, info.name, 0);
    nbcolli_print(&p, ": rank %d of %d, %lu steps, %lu edges, fingerprint 0x%08lx, send %zu, recv %zu, scratch %zu\n",
                  info.rank, info.ranks, (unsigned long)info.steps, (unsigned long)info.edges,
                  (unsigned long)info.fingerprint, info.extent[NBCOLL_BUFFER_SEND], info.extent[NBCOLL_BUFFER_RECV],
                  info.extent[NBCOLL_BUFFER_SCRATCH]);
    for (nbcoll_step step = 0; step < info.steps && !p.is_stopped; step++) {
        const nbcoll_step_view *v = nbcoll_schedule_step(schedule, step);
        nbcolli_print(&p, "%4lu %s", (unsigned long)step, nbcoll_kind_name(v->kind));
        nbcolli_print_step(&p, schedule, step);
        for (uint32_t i = 0; i < v->after_count; i++)
            nbcolli_print(&p, i ? " %lu" : " then %lu", (unsigned long)v->after[i]);
        nbcolli_print(&p, "\n");
    }
    return nbcolli_print_end(&p);
}
