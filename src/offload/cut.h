/* SPDX-License-Identifier: BSD-3-Clause
 * A schedule in two parts: its *inner part*, messages and the steps on paths between them, of which a program can be
 * made, and what is around it, where ranks share memory. Private to this folder. */
#ifndef NBCOLLI_OFFLOAD_CUT_H
#define NBCOLLI_OFFLOAD_CUT_H

#include "offload.h"

#define NBCOLLI_CUT_AHEAD 1u  /* a message, or a message waits for it */
#define NBCOLLI_CUT_BEHIND 2u /* a message, or it waits for one */

typedef struct nbcolli_cut {
    const nbcoll_schedule *s;
    uint8_t *side; /* [s->steps], of START and END 0: NBCOLLI_CUT_*; those of the inner part have both */
} nbcolli_cut;

static inline int nbcolli_cut_is_inner(const nbcolli_cut *c, nbcoll_step step)
{
    return c->side[step] == (NBCOLLI_CUT_AHEAD | NBCOLLI_CUT_BEHIND);
}

/* Cuts the schedule of one rank, which must outlive *out, as must the arena. ERR_UNSUPPORTED: step *exposes stands
 * between messages and exposes or fetches, or exposes memory piece by piece. ERR_MEMORY. */
nbcoll_status nbcolli_cut_make(nbcolli_arena *arena, const nbcoll_schedule *s, nbcolli_cut *out, nbcoll_step *exposes);

/* What is around the inner part, and step *inner, a JOIN, in its place; and another one before all, *room, unless that
 * is null. Its extents are without those of the inner part. ERR_MEMORY, ERR_LIMIT. */
nbcoll_status nbcolli_cut_around(const nbcolli_cut *c, nbcolli_arena *arena, nbcoll_schedule **out,
                                 nbcoll_step *inner, nbcoll_step *room);

/* The inner part as a schedule. Its scratch memory is that of all of it. ERR_MEMORY, ERR_LIMIT. */
nbcoll_status nbcolli_cut_inner(const nbcolli_cut *c, nbcolli_arena *arena, nbcoll_schedule **out);

/* What is around the inner part, and in its place `inner`, which begins as a whole when all that the inner part waits
 * for has ended, and ends as a whole: what the cut schedule does when a program carries out its inner part. The first
 * `common` bytes of scratch memory of `inner` are those of the cut schedule. ERR_MEMORY, ERR_LIMIT. */
nbcoll_status nbcolli_cut_join(const nbcolli_cut *c, const nbcoll_schedule *inner, size_t common, nbcolli_arena *arena,
                               nbcoll_schedule **out);

/* Of all ranks: so all of them know alike whether they are cut. */
struct nbcolli_inners {
    nbcolli_arena arena;
    int ranks;
    nbcolli_cut *cut;           /* [ranks] */
    nbcoll_schedule **schedule; /* [ranks]; null: there are none */
};

/* inners.c: c->schedules become their inner parts. ERR_UNSUPPORTED: c->why says the reason; ERR_NULL, ERR_MEMORY,
 * ERR_LIMIT. To be closed in any case, when nobody reads them any more; or where there are none, all of it 0. */
nbcoll_status nbcolli_inners_open(nbcolli_inners *m, nbcolli_compile *c);
void nbcolli_inners_close(nbcolli_inners *m);

/* rank.c: nbcoll_compile. Inner parts that are made for it (in_parts) are *m, all 0 before, to be closed by the caller.
 */
nbcoll_status nbcolli_compile_keeping(const nbcoll_schedule *const schedules[], int ranks,
                                      const nbcoll_program_config *config, int first, int count, nbcoll_program *out[],
                                      nbcoll_refusal *why, nbcolli_inners *m);

#endif
