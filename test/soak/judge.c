/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What ended well was right (work.c has looked); an error is one that what happened to the job may bring; who is called
 * lost has died, or has left, before; nobody else has ended otherwise than by leaving. */
#include <stdio.h>
#include <sys/wait.h>

#include "soak.h"

static bool is_bad(const run *r, int rank)
{
    return r->bad >> rank & 1;
}

/* Had that happened to it by then? One that left before, without what failed, is as good as lost. */
static bool was_gone(const run *r, int rank, uint64_t by)
{
    uint64_t left = atomic_load(&r->board->of[rank].left_at);
    return (is_bad(r, rank) && r->bad_at[rank] <= by) || (r->bad && left && left <= by);
}

/* Then it has freed all communicators, also those where nothing had failed, and others may wait for it there. Rank -1:
 * one of the others than `self` (a later failure of the communicator has taken the place of the one that names it). */
static bool failed_before(const run *r, int self, int rank, uint64_t by)
{
    bool has_failed = false;
    for (int i = 0; i < r->board->job.ranks; i++) {
        uint64_t at = atomic_load(&r->board->of[i].failed_at);
        has_failed |= (i == rank || (rank < 0 && i != self)) && at && at <= by;
    }
    return has_failed;
}

static const char *wrong_status(const run *r, const kind *k, const report *of)
{
    uint64_t failed_at = atomic_load(&of->failed_at);
    if (k->may_end >> of->status & 1)
        return NULL;
    if (of->status == NBCOLL_ERR_MISMATCH && failed_before(r, (int)(of - r->board->of), of->named, failed_at))
        return NULL;
    if (of->status == NBCOLL_ERR_TIMEOUT && of->at_opening)
        return r->bad ? NULL : "but all have come";
    if (of->status != NBCOLL_ERR_PEER_LOST)
        return "but nothing that happened ends so";
    if (of->at_opening)
        return r->bad || k->may_end ? NULL : "but nobody was lost";
    if (r->board->job.has_agent) /* who is named is the agent's rank */
        return r->bad ? NULL : "but nobody was lost";
    if (of->named < 0)
        return r->bad || k->may_end ? NULL : "but nobody was lost";
    if (k->may_end && (atomic_load(&r->board->of[of->named].left_at) <= failed_at ||
                       of->named == r->board->job.victim || /* without memory for what it must say it gives itself up */
                       failed_before(r, -1, of->named, failed_at))) /* and has freed that communicator */
        return NULL;
    return was_gone(r, of->named, failed_at) ? NULL : "but to that one nothing had happened";
}

static const char *wrong_end(const run *r, const kind *k, int seat)
{
    const report *of = &r->board->of[seat];
    bool was_killed = k->dies && seat < AGENT && is_bad(r, seat);
    if (of->found[0])
        return "finds";
    if (was_killed || (seat == AGENT && r->bad >> AGENT & 1))
        return NULL;
    if (!WIFEXITED(r->status[seat]) || WEXITSTATUS(r->status[seat]) != 0 || !of->is_over)
        return "has not ended by itself";
    if (k->is_refused && !(k->may_end >> of->status & 1))
        return "was not refused";
    return of->status == NBCOLL_OK ? NULL : wrong_status(r, k, of);
}

const char *soak_judge(const run *r, const kind *k, char text[600])
{
    for (int seat = 0; seat < SEATS; seat++) {
        const report *of = &r->board->of[seat];
        const char *wrong = r->has_begun[seat] ? wrong_end(r, k, seat) : NULL;
        if (!wrong)
            continue;
        snprintf(text, 600, "%s %d %s: %s%s%s (status 0x%x, after %u calls; it names rank %d)",
                 seat == AGENT ? "agent" : "rank", seat, wrong, of->found, of->found[0] && of->text[0] ? "; " : "",
                 of->text, (unsigned)r->status[seat], (unsigned)of->calls, of->status ? of->named : -1);
        return text;
    }
    return NULL;
}
