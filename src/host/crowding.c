/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Places for ranks on cores, each core with as many places: a bipartite matching by augmenting paths. The cores that a
 * search has seen when it finds no place have too few places for the ranks confined to them, and no later search can
 * gain one there; so whose mask lies in these is crowded, and nobody else. */
#include <sched.h>
#include <stdbool.h>
#include <string.h>

#include "crowding.h"

typedef struct nbcolli_places {
    const nbcolli_cores *of; /* the ranks' masks */
    int ranks;
    uint32_t most;                 /* ranks on a core */
    nbcolli_cores full;            /* those with too few places */
    int core[NBCOLLI_CROWD_RANKS]; /* of each rank; -1: it has no place */
    uint32_t used[NBCOLLI_CORES];  /* places of each core */
} nbcolli_places;

/* A search: the ranks that would have to move, and on whose behalf each core was looked at. */
typedef struct nbcolli_search {
    int queue[NBCOLLI_CROWD_RANKS], queued;
    nbcolli_cores seen;
    int by[NBCOLLI_CORES];
} nbcolli_search;

nbcolli_cores nbcolli_cores_allowed(void)
{
    nbcolli_cores set = {{0}};
    cpu_set_t mask;

    if (sched_getaffinity(0, sizeof mask, &mask) == 0) /* fails where the machine has more cores than these */
        for (int core = 0; core < NBCOLLI_CORES && core < CPU_SETSIZE; core++)
            if (CPU_ISSET(core, &mask))
                set.word[core / 64] |= UINT64_C(1) << core % 64;
    return set;
}

int nbcolli_cores_count(const nbcolli_cores *set)
{
    int n = 0;

    for (int i = 0; i < NBCOLLI_CORES / 64; i++)
        n += __builtin_popcountll(set->word[i]);
    return n;
}

static bool nbcolli_cores_within(const nbcolli_cores *part, const nbcolli_cores *whole)
{
    for (int i = 0; i < NBCOLLI_CORES / 64; i++)
        if (part->word[i] & ~whole->word[i])
            return false;
    return true;
}

/* The next core of the mask that was not looked at yet, now or in a search that found nothing; -1: none. */
static int nbcolli_search_core(nbcolli_search *s, const nbcolli_cores *mask, const nbcolli_cores *full)
{
    for (int i = 0; i < NBCOLLI_CORES / 64; i++) {
        uint64_t rest = mask->word[i] & ~full->word[i] & ~s->seen.word[i];
        if (rest) {
            s->seen.word[i] |= rest & -rest;
            return 64 * i + __builtin_ctzll(rest);
        }
    }
    return -1;
}

/* The last core of a path has a free place: each rank of the path moves to the core that was looked at for it. */
static void nbcolli_places_move(nbcolli_places *p, const nbcolli_search *s, int core)
{
    p->used[core]++;
    while (core >= 0) {
        int rank = s->by[core], before = p->core[rank];
        p->core[rank] = core;
        core = before;
    }
}

static void nbcolli_places_find(nbcolli_places *p, int rank)
{
    nbcolli_search s;

    s.queue[0] = rank;
    s.queued = 1;
    memset(&s.seen, 0, sizeof s.seen);
    for (int i = 0; i < s.queued; i++)
        for (int core; (core = nbcolli_search_core(&s, &p->of[s.queue[i]], &p->full)) >= 0;) {
            s.by[core] = s.queue[i];
            if (p->used[core] < p->most) {
                nbcolli_places_move(p, &s, core);
                return;
            }
            for (int other = 0; other < p->ranks; other++)
                if (p->core[other] == core)
                    s.queue[s.queued++] = other;
        }
    for (int i = 0; i < NBCOLLI_CORES / 64; i++)
        p->full.word[i] |= s.seen.word[i];
}

/* Does this rank have a place where each core has so many, and nobody who competes with it has none? */
static bool nbcolli_places_are_enough(const nbcolli_cores of[], int ranks, int rank, uint32_t most)
{
    nbcolli_places p = {.of = of, .ranks = ranks, .most = most};

    for (int r = 0; r < ranks; r++)
        p.core[r] = -1;
    for (int r = 0; r < ranks; r++)
        nbcolli_places_find(&p, r);
    return !nbcolli_cores_within(&of[rank], &p.full);
}

uint32_t nbcolli_ranks_per_core(const nbcolli_cores of[], int ranks, int rank)
{
    uint32_t cores = (uint32_t)nbcolli_cores_count(&of[rank]), alike = 0;

    if (cores == 0)
        return 0;
    for (int r = 0; r < ranks; r++)
        alike += memcmp(&of[r], &of[rank], sizeof of[r]) == 0;
    for (uint32_t most = (alike + cores - 1) / cores;;
         most++) /* ends: with as many places as ranks nobody is left without */
        if (nbcolli_places_are_enough(of, ranks, rank, most))
            return most;
}
