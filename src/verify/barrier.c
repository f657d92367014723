/* SPDX-License-Identifier: BSD-3-Clause
 * A barrier ends on no rank before all have started: each rank hears, through chains of edges and messages, from every
 * other. That a SEND ends tells nothing about its receiver, so only receivers hear. */
#include "proof.h"

static int nbcolli_barrier_is_taker(const nbcoll_step_view *v)
{
    return v->kind == NBCOLL_RECV || v->kind == NBCOLL_FETCH || v->kind == NBCOLL_FETCH_REDUCE;
}

static void nbcolli_barrier_hear(uint64_t *row, const uint64_t *from, size_t words)
{
    for (size_t i = 0; i < words; i++)
        row[i] |= from[i];
}

/* The steps in the order in which they end; heard[step]: the ranks which have started when it ends. */
static void nbcolli_barrier_listen(const nbcolli_proof *p, uint64_t *heard, uint64_t *at_end, size_t words)
{
    for (size_t i = 0; i < p->first[p->ranks]; i++) {
        nbcolli_item item = p->ended[i];
        const nbcoll_step_view *v = nbcolli_view(p, item.rank, item.step);
        size_t index = nbcolli_index(p, item.rank, item.step);
        uint64_t *row = &heard[index * words];
        row[item.rank / 64] |= UINT64_C(1) << item.rank % 64;
        if (nbcolli_barrier_is_taker(v)) { /* the giver has started, though it may end later */
            row[v->peer / 64] |= UINT64_C(1) << v->peer % 64;
            nbcolli_barrier_hear(row, &heard[nbcolli_index(p, v->peer, p->mate[index]) * words], words);
        }
        for (uint32_t after = 0; after < v->after_count; after++)
            nbcolli_barrier_hear(&heard[nbcolli_index(p, item.rank, v->after[after]) * words], row, words);
        nbcolli_barrier_hear(&at_end[(size_t)item.rank * words], row, words);
    }
}

nbcoll_status nbcolli_prove_barrier(nbcolli_proof *p)
{
    size_t ranks = (size_t)p->ranks, words = (ranks + 63) / 64;
    if (!p->meaning.is_barrier)
        return NBCOLL_OK;
    uint64_t *heard = nbcolli_take(p, p->first[ranks] * words, sizeof *heard);
    uint64_t *at_end = nbcolli_take(p, ranks * words, sizeof *at_end);
    if (!heard || !at_end)
        return NBCOLL_ERR_MEMORY;
    nbcolli_barrier_listen(p, heard, at_end, words);
    for (int rank = 0; rank < p->ranks; rank++)
        for (int other = 0; other < p->ranks; other++)
            if (!(at_end[(size_t)rank * words + (size_t)other / 64] >> other % 64 & 1)) {
                nbcoll_place places[] = {nbcolli_moment(rank, NBCOLL_END), nbcolli_moment(other, NBCOLL_START)};
                return nbcolli_refute(p, NBCOLL_FLAW_EARLY, 2, places);
            }
    return NBCOLL_OK;
}
