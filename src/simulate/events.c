/* SPDX-License-Identifier: BSD-3-Clause
 * The events one after another: programs go on, and messages arrive. */
#include "simulate.h"

static nbcoll_status nbcolli_events_arrival(nbcolli_sim *s, nbcolli_happening h)
{
    int is_over;
    nbcoll_status status = nbcolli_play_arrival(s, h, &is_over);
    return status == NBCOLL_OK && is_over ? nbcolli_program_look(s, nbcolli_rank_of(s, h.run)) : status;
}

static nbcoll_status nbcolli_events_opening(nbcolli_sim *s, nbcolli_happening h)
{
    nbcoll_status status = nbcolli_play_open(s, h.run, h.time);
    return status == NBCOLL_OK ? nbcolli_program_look(s, nbcolli_rank_of(s, h.run)) : status;
}

nbcoll_status nbcolli_play(nbcolli_sim *s)
{
    nbcolli_happening h;
    int more;
    nbcoll_status status = nbcolli_programs_begin(s);
    while (status == NBCOLL_OK && (more = nbcolli_queue_take(&s->queue, &h))) {
        if (more < 0)
            return NBCOLL_ERR_MEMORY;
        int is_program = h.what % NBCOLLI_KINDS == NBCOLLI_GO_ON;
        if (is_program && h.what & NBCOLLI_LEAVES)
            status = nbcolli_events_opening(s, h);
        else if (is_program)
            status = nbcolli_program_go_on(s, nbcolli_rank_of(s, h.run), h.time);
        else
            status = nbcolli_events_arrival(s, h);
        if (s->config.progress && !is_program && !(s->result.arrivals % 65536))
            s->config.progress(s->config.user, NBCOLL_SIM_PLAYING, s->result.arrivals,
                               s->result.messages + s->result.fetches);
    }
    return status != NBCOLL_OK || !s->unended ? status : NBCOLL_ERR_VERIFY;
}
