/* SPDX-License-Identifier: BSD-3-Clause
 * Reading a finished schedule, and freeing it. */
#include "../host/host.h"
#include "schedule.h"

nbcoll_status nbcoll_schedule_query(const nbcoll_schedule *s, nbcoll_schedule_info *out)
{
    if (!s || !out)
        return NBCOLL_ERR_NULL;
    nbcoll_schedule_info info = {.name = s->name,
                                 .rank = s->rank,
                                 .ranks = s->ranks,
                                 .steps = s->steps,
                                 .edges = s->edges,
                                 .fingerprint = s->fingerprint};
    memcpy(info.extent, s->extent, sizeof info.extent);
    return nbcolli_give_tagged(out, &info, sizeof info);
}

const nbcoll_step_view *nbcoll_schedule_step(const nbcoll_schedule *s, nbcoll_step step)
{
    return s && step < s->steps ? &s->step[step] : NULL;
}

const char *nbcoll_kind_name(nbcoll_kind kind)
{
#define NBCOLLI_KIND_TEXT(name) #name,
    static const char *const names[] = {NBCOLL_KIND_LIST(NBCOLLI_KIND_TEXT)};
#undef NBCOLLI_KIND_TEXT
    return (unsigned)kind < NBCOLL_KIND_COUNT ? names[kind] : "?";
}

void nbcolli_schedule_delete(nbcoll_schedule *s)
{
    nbcoll_host host = s->host;
    if (s->program)
        s->free_program(s->program);
    if (s->stand_in)
        nbcolli_free(&host, s->stand_in, sizeof *s->stand_in);
    nbcolli_free(&host, s, s->memory);
}
