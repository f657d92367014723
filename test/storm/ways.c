/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Which ways parts and questions take, where nothing depends on it but time. */
#include "../../src/engine/state/context.h"
#include "counters.h"
#include "rank.h"
#include "wire.h"

/* ---- parts ------------------------------------------------------------------------------------------------------- */

/* All items of the plan before that are over on this rank; 0: not known. */
static int first_open(const rank *r)
{
    int first = r->chains ? 0 : r->item;
    for (int k = 0; k < r->opened; k++)
        first = r->open[k]->item < first ? r->open[k]->item : first;
    return first;
}

int ways_first_open(const storm *s)
{
    int first = ITEMS_MOST;
    for (int q = 0; q < s->plan.ranks; q++) {
        const rank *r = s->actor[q].program;
        int its = r && !s->actor[q].is_over ? first_open(r) : 0;
        first = its < first ? its : first;
    }
    return first;
}

/* Copies that no open call of the rank's can have met in its staging buffer are forgotten. */
static void forget(actor *a)
{
    const rank *r = a->program;
    int since = ways_first_open(a->storm), left = 0;
    if (r->now && r->now->since < since)
        since = r->now->since;
    for (int k = 0; k < r->opened; k++)
        if (r->open[k]->buffers && r->open[k]->buffers->since < since)
            since = r->open[k]->buffers->since;
    for (int n = 0; n < a->n_copies; n++)
        if (a->copy[n].item >= since)
            a->copy[left++] = a->copy[n];
    a->n_copies = left;
}

/* Who shows different parts, and has nothing to do but copy them, lends them: their readers would wait for it, one for
 * the other's copy. In a scatter the root does. */
static void judge_scattered(const actor *a, int reader, const void *from)
{
    const buffers *b = rank_buffers_at(a, from);
    if (b && reader >= 0 && b->o.what == NBCOLL_OPERATION_SCATTER && b->ranks > 2 && b->o.count &&
        a->storm->plan.nets == 1 && !a->storm->plan.has_agents) /* not where it goes by nodes */
        storm_find(a->storm,
                   "rank %d copies parts of its own for %d readers of a scatter, each of which could get its own",
                   a->rank, b->ranks - 1);
}

void ways_copied(actor *a, int reader, const void *from, size_t bytes)
{
    const rank *r = a->program;
    judge_scattered(a, reader, from);
    if (a->n_copies == COPIES_MOST)
        forget(a);
    if (a->n_copies < COPIES_MOST)
        a->copy[a->n_copies++] = (copied){r->item, bytes + 256}; /* on lines of their own */
}

void ways_freed(actor *a)
{
    int first = ways_first_open(a->storm);
    for (int n = 0; n < a->n_copies; n++)
        if (a->copy[n].item >= first)
            a->copy[n].item = ((const rank *)a->program)->item;
}

/* The bytes of all copies that may have lain there when it was shown; SIZE_MAX: more copies than the engine keeps, or
 * some whose bytes are copied in parts. */
static size_t lying(const actor *owner, const buffers *b)
{
    const rank *r = owner->program;
    const plan *p = &owner->storm->plan;
    size_t all = 0, n_lying = 0;
    for (int n = b->since; n <= r->item; n++)
        if (p->item[n].o.count > 400)
            return SIZE_MAX;
    for (int n = 0; n < owner->n_copies; n++)
        if (owner->copy[n].item >= b->since) {
            all += owner->copy[n].bytes;
            n_lying++;
        }
    return owner->n_copies < COPIES_MOST && n_lying < 12 ? all : SIZE_MAX;
}

/* Is that of its send buffer, which others read whole, or whose readers show as much? */
static bool is_worth_copies(const buffers *b, const void *from)
{
    bool reads = b->o.what == NBCOLL_OPERATION_ALLGATHER || b->o.what == NBCOLL_OPERATION_ALLGATHERV ||
                 b->o.what == NBCOLL_OPERATION_ALLTOALL || b->o.what == NBCOLL_OPERATION_GATHER ||
                 b->o.what == NBCOLL_OPERATION_GATHERV || combines(b->o.what);
    return reads && !b->lender[0] && (uintptr_t)from - (uintptr_t)b->memory[0] < b->bytes[0] + 128;
}

/* By cells, not by messages, which are got, too, where they are long. */
static bool exposes(const nbcoll_comm *comm, const buffers *b)
{
    for (uint32_t i = 0; i < comm->config.slots; i++) {
        const nbcolli_run *run = comm->slot[i].active;
        if (run && run->base[NBCOLL_BUFFER_SEND] == b->share.send)
            return run->schedule->cells > 0;
    }
    return false;
}

/* What a communicator leaves in the staging buffer lies there until all its ranks have freed it, and what came later
 * lies behind it (staging.h). */
static bool lies_behind_freed(const actor *owner)
{
    const storm *s = owner->storm;
    for (int c = 0; c < COMMS_MOST; c++)
        for (int q = 0; q < s->plan.ranks && s->freed[owner->rank] >> c & 1; q++) {
            const rank *r = s->actor[q].program;
            if (r && !s->actor[q].is_over && r->comm[c])
                return true;
        }
    return false;
}

void ways_got(const actor *a, const actor *owner, const void *from)
{
    const storm *s = a->storm;
    const plan *p = &s->plan;
    const buffers *b = rank_buffers_at(owner, from);
    if (!b || p->nets > 1 || p->is_mixed || p->has_agents || p->has_drivers || s->bad_anywhere ||
        !is_worth_copies(b, from) || lies_behind_freed(owner))
        return;
    const nbcoll_comm *comm = ((const rank *)owner->program)->comm[p->item[b->item].comm];
    size_t room = comm && comm->agreed.staging ? p->net[HOME].staging : 0, most = p->net[HOME].part;
    size_t whole = b->bytes[0], there = lying(owner, b);
    if (room && exposes(comm, b) && (!most || whole <= most) && whole * 16 <= room && there <= room / 3)
        storm_find(a->storm, "rank %d gets %zu bytes from rank %d, whose staging buffer had room for them (%s)",
                   a->rank, whole, owner->rank, nbcoll_operation_name(b->o.what));
}

/* ---- questions --------------------------------------------------------------------------------------------------- */

void ways_asked(const actor *a, const nbcoll_header *header)
{
    const rank *r = a->program;
    for (int c = 0; r && c < COMMS_MOST; c++)
        if (r->comm[c] && counters_asks_early(r->comm[c], header))
            storm_find(a->storm, "rank %d asks where another one is in an operation that it has not started itself",
                       a->rank);
}
