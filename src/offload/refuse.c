/* SPDX-License-Identifier: BSD-3-Clause
 * Why an operation is not offloaded, in words. */
#include <inttypes.h>
#include <stdio.h>

#include "offload.h"

NBCOLLI_TELLS(nbcoll_refusal_name, nbcoll_refusal_reason, NBCOLL_REFUSAL_LIST, NBCOLLI_NAME_OF, "?")

NBCOLLI_TELLS(nbcoll_refusal_text, nbcoll_refusal_reason, NBCOLL_REFUSAL_LIST, NBCOLLI_TEXT_OF, "unknown reason")

nbcoll_status nbcolli_compile_refuse(nbcolli_compile *c, nbcoll_refusal_reason reason, int rank, nbcoll_step step)
{
    c->why.reason = reason;
    c->why.rank = rank;
    c->why.step = step;
    if (step == NBCOLL_START) /* it is nobody's alone */
        snprintf(c->why.text, sizeof c->why.text, "%s: %s", c->schedules[rank]->name, nbcoll_refusal_text(reason));
    else
        snprintf(c->why.text, sizeof c->why.text, "%s: rank %d, step %lu: %s", c->schedules[rank]->name, rank,
                 (unsigned long)step, nbcoll_refusal_text(reason));
    return NBCOLL_ERR_UNSUPPORTED;
}

nbcoll_status nbcolli_compile_refuse_number(nbcolli_compile *c, nbcoll_refusal_reason reason, int rank, uint64_t needed,
                                            uint64_t allowed)
{
    c->why.reason = reason;
    c->why.rank = rank;
    c->why.needed = needed;
    c->why.allowed = allowed;
    snprintf(c->why.text, sizeof c->why.text, "%s: rank %d: %s: %" PRIu64 ", and %" PRIu64 " are allowed",
             c->schedules[rank]->name, rank, nbcoll_refusal_text(reason), needed, allowed);
    return NBCOLL_ERR_UNSUPPORTED;
}
