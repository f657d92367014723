/* SPDX-License-Identifier: BSD-3-Clause
 * The proof as a whole: its arguments, and its parts one after another. */
#include "proof.h"

static nbcoll_status nbcolli_proof_check(nbcolli_proof *p)
{
    if (p->ranks < 1)
        return NBCOLL_ERR_RANK;
    for (int rank = 0; rank < p->ranks; rank++) {
        const nbcoll_schedule *s = p->schedules[rank];
        if (!s)
            return NBCOLL_ERR_NULL;
        if (s->rank != rank || s->ranks != p->ranks)
            return NBCOLL_ERR_RANK;
    }
    return NBCOLL_OK;
}

static nbcoll_status nbcolli_proof_open(nbcolli_proof *p)
{
    size_t ranks = (size_t)p->ranks;
    p->first = nbcolli_take(p, ranks + 1, sizeof *p->first);
    p->memory = nbcolli_take(p, ranks, sizeof *p->memory);
    p->claimed = nbcolli_take(p, ranks, sizeof *p->claimed);
    if (!p->first || !p->memory || !p->claimed)
        return NBCOLL_ERR_MEMORY;
    for (size_t rank = 0; rank < ranks; rank++)
        p->first[rank + 1] = p->first[rank] + p->schedules[rank]->steps;
    p->mate = nbcolli_take(p, p->first[ranks], sizeof *p->mate);
    p->ended = nbcolli_take(p, p->first[ranks], sizeof *p->ended);
    return p->mate && p->ended ? nbcolli_values_open(p) : NBCOLL_ERR_MEMORY;
}

static nbcoll_status nbcolli_proof_fingerprints(nbcolli_proof *p)
{
    for (int rank = 1; rank < p->ranks; rank++)
        if (p->schedules[rank]->fingerprint != p->schedules[0]->fingerprint) {
            nbcoll_place places[] = {nbcolli_moment(0, NBCOLL_START), nbcolli_moment(rank, NBCOLL_START)};
            return nbcolli_refute(p, NBCOLL_FLAW_FINGERPRINT, 2, places);
        }
    return NBCOLL_OK;
}

static nbcoll_status nbcolli_proof_prove(nbcolli_proof *p)
{
    static nbcoll_status (*const parts[])(nbcolli_proof *) = {
        nbcolli_proof_check,        nbcolli_bind,           nbcolli_proof_open,     nbcolli_lay_out,
        nbcolli_proof_fingerprints, nbcolli_prove_matching, nbcolli_prove_no_stray, nbcolli_prove_no_race,
        nbcolli_prove_end,          nbcolli_prove_result,   nbcolli_prove_barrier,
    };
    nbcoll_status status = NBCOLL_OK;
    for (size_t i = 0; i < sizeof parts / sizeof *parts && status == NBCOLL_OK; i++)
        status = parts[i](p);
    return status;
}

nbcoll_status nbcoll_verify(const nbcoll_schedule *const schedules[], const nbcoll_meaning *meaning,
                            const nbcoll_host *host, nbcoll_refutation *out)
{
    nbcolli_proof p = {.schedules = schedules, .theirs = meaning};
    if (!schedules || !meaning)
        return NBCOLL_ERR_NULL;
    if (out && out->size < sizeof out->size)
        return NBCOLL_ERR_CONFIG;
    if (nbcolli_copy_tagged(&p.meaning, meaning, sizeof p.meaning) != NBCOLL_OK)
        return NBCOLL_ERR_CONFIG;
    /* A host of size 0 is one that sets nothing. */
    if (host && host->size && nbcolli_copy_tagged(&p.arena.host, host, sizeof p.arena.host) != NBCOLL_OK)
        return NBCOLL_ERR_CONFIG;
    if (!p.meaning.input || !p.meaning.claim)
        return NBCOLL_ERR_NULL;
    p.ranks = p.meaning.ranks;
    nbcoll_status status = nbcolli_proof_prove(&p);
    nbcolli_arena_close(&p.arena);
    if (status == NBCOLL_OK || status == NBCOLL_ERR_VERIFY)
        nbcolli_refutation_give(&p.why, out);
    return status;
}
