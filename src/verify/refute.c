/* SPDX-License-Identifier: BSD-3-Clause
 * Refutations in words: the flaw, and the places concerned, written as the printers write steps. */
#include <stdarg.h>
#include <stdio.h>

#include "proof.h"

NBCOLLI_TELLS(nbcoll_flaw_name, nbcoll_flaw, NBCOLL_FLAW_LIST, NBCOLLI_NAME_OF, "?")

NBCOLLI_TELLS(nbcoll_flaw_text, nbcoll_flaw, NBCOLL_FLAW_LIST, NBCOLLI_TEXT_OF, "?")

/* What does not fit is cut off. */
static void nbcolli_refute_write(nbcoll_refutation *why, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void nbcolli_refute_write(nbcoll_refutation *why, const char *format, ...)
{
    size_t used = strlen(why->text);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(why->text + used, sizeof why->text - used, format, arguments);
    va_end(arguments);
}

static void nbcolli_refute_write_place(nbcoll_refutation *why, const nbcolli_proof *p, const nbcoll_place *place)
{
    static const char *const buffers[] = {"send", "recv", "scratch"};
    const nbcoll_step_view *v = nbcolli_view(p, place->rank, place->step);
    nbcolli_refute_write(why, "rank %d ", place->rank);
    if (place->step == NBCOLL_START || place->step == NBCOLL_END)
        nbcolli_refute_write(why, "%s", place->step == NBCOLL_START ? "start" : "end");
    else
        nbcolli_refute_write(why, "step %u %s", place->step, nbcoll_kind_name(v->kind));
    if (place->bytes.bytes)
        nbcolli_refute_write(why, " %s[%zu,%zu)", buffers[place->bytes.at.buffer], place->bytes.at.offset,
                             place->bytes.at.offset + place->bytes.bytes);
    if (v->peer < 0)
        return;
    int is_message = (v->kind == NBCOLL_SEND || v->kind == NBCOLL_RECV) && v->number <= INT32_MAX;
    nbcolli_refute_write(why, " %s rank %d %s%u", v->kind == NBCOLL_SEND ? "->" : "<-", v->peer,
                         is_message ? "#" : "part ", v->number & INT32_MAX);
}

nbcoll_status nbcolli_refute(nbcolli_proof *p, nbcoll_flaw flaw, uint32_t n, const nbcoll_place *places)
{
    nbcoll_refutation *why = &p->why;
    *why = (nbcoll_refutation){.size = sizeof *why, .flaw = flaw, .places = n};
    nbcolli_refute_write(why, "%s", nbcoll_flaw_text(flaw));
    for (uint32_t i = 0; i < n && i < NBCOLL_PLACES; i++) {
        why->place[i] = places[i];
        nbcolli_refute_write(why, "%s", i ? "; " : ": ");
        nbcolli_refute_write_place(why, p, &places[i]);
    }
    return NBCOLL_ERR_VERIFY;
}

void nbcolli_refutation_give(const nbcoll_refutation *why, nbcoll_refutation *out)
{
    if (out)
        nbcolli_give_tagged(out, why, sizeof *why);
}
