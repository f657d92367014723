/* SPDX-License-Identifier: BSD-3-Clause
 * Moves: the steps of a small schedule (schedule.h), made with each of its runs. They stand in an order in which none
 * comes before one that it waits for, and each that waits for no peer comes as early as it can. The place of a move is
 * a bit: one word says which have not ended, another one which have begun. */
#ifndef NBCOLLI_ENGINE_RUN_MOVES_H
#define NBCOLLI_ENGINE_RUN_MOVES_H

#include "../state/context.h"

/* Makes them in the memory at run->move; for a schedule that is not small, the end mark alone. */
void nbcolli_moves_make(nbcolli_run *run);

/* Binds them to these buffers. */
void nbcolli_moves_aim(nbcolli_run *run, const void *send, void *recv);

/* Can the next start replay this small run, which is over? Only if every message was a line, and no owner showed it
 * more than one part. */
int nbcolli_moves_can_replay(const nbcolli_run *run);

/* Has the step ended? */
static inline int nbcolli_is_step_over(const nbcolli_run *run, nbcoll_step step)
{
    const nbcolli_move *m = run->move;

    if (!run->is_small)
        return run->before[step] == NBCOLLI_STEP_OVER;
    while (m->step != step)
        m++;
    return !(run->left & m->bit);
}

#endif
