/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Peer arithmetic for the authors of algorithms: who talks to whom, and about which part. Pure functions of ranks,
 * rounds and lengths; nothing here knows of schedules. Throughout, 0 <= rank, root < ranks, and ranks >= 1.
 */
#include "nbcoll.h"

#ifndef NBCOLL_PATTERN_H
#define NBCOLL_PATTERN_H

NBCOLLI_BEGIN

/* ---- relative ranks -------------------------------------------------------------------------------------------- */

/* The distance from `root` up to `rank`, past the last rank to 0: the root's own is 0. Trees are built over these. */
static inline int nbcoll_relative(int rank, int root, int ranks)
{
    return rank >= root ? rank - root : rank + (ranks - root);
}

/* The rank at distance `relative` (0 <= relative < ranks) from `root`. */
static inline int nbcoll_absolute(int relative, int root, int ranks)
{
    return relative < ranks - root ? relative + root : relative - (ranks - root);
}

/* ---- powers of two --------------------------------------------------------------------------------------------- */

#define NBCOLL_ROUNDS_MAX 31 /* no number of ranks has more rounds */

/* The smallest k with 2^k >= ranks. */
static inline int nbcoll_rounds(int ranks)
{
    int k = 0;
    while ((UINT32_C(1) << k) < (uint32_t)ranks)
        k++;
    return k;
}

/* The largest power of two that is not above `ranks`. */
static inline int nbcoll_power(int ranks)
{
    int power = 1;
    while (power <= ranks / 2)
        power *= 2;
    return power;
}

/* ---- binomial tree --------------------------------------------------------------------------------------------- */

/* The tree over relative ranks in which the subtree below any one is a run of consecutive ranks that begins with it:
 * the parent of r is r without its lowest set bit, its children are r + 2^k for all 2^k below that bit (any 2^k, for
 * the root 0). Source: Chan, Heimlich, Purkayastha, van de Geijn, "Collective communication: theory, practice, and
 * experience" (2007), the minimum spanning tree. */

/* The parent of `relative` > 0. */
static inline int nbcoll_binomial_parent(int relative)
{
    return relative & (relative - 1);
}

/* The ranks in the subtree of `relative`, itself included: [relative, relative + size). */
static inline int nbcoll_binomial_size(int relative, int ranks)
{
    int lowest = relative & -relative;
    return relative && lowest < ranks - relative ? lowest : ranks - relative;
}

/* The children of `relative` from the highest rank down, which is largest subtree first (but that ranks may be missing
 * in the last one):
 *
 *     for (int child = nbcoll_binomial_first(me, ranks); child > me; child = nbcoll_binomial_next(me, child))
 *
 * Both give `relative` itself when there is no (further) child. */
static inline int nbcoll_binomial_first(int relative, int ranks)
{
    int size = nbcoll_binomial_size(relative, ranks);
    return size > 1 ? relative + nbcoll_power(size - 1) : relative;
}

static inline int nbcoll_binomial_next(int relative, int child)
{
    return relative + (child - relative) / 2;
}

/* Blocks that lie in rank order, and not in relative order, wrap: of the subtree of `relative`, this many come from its
 * first rank on before rank 0 is reached; the rest, if any, begin at rank 0. */
static inline int nbcoll_binomial_unwrapped(int relative, int root, int ranks)
{
    int size = nbcoll_binomial_size(relative, ranks), room = ranks - nbcoll_absolute(relative, root, ranks);
    return size < room ? size : room;
}

/* ---- minimum spanning tree ------------------------------------------------------------------------------------- */

/* The ranks low .. high - 1, and who stands for them. The tree over ranks, whatever the root's number: a group is
 * halved again and again, and each time its root stands for its half, and the end farthest from it for the other half;
 * a message joins these two. Source: as above; MST in Ramos et al., "Nonblocking collectives for scalable Java
 * communications", 3.3. */
typedef struct nbcoll_group {
    int low, high, root;
} nbcoll_group;

/* Makes `mine`, of two ranks or more, the half that has `rank`, and returns the other one. The upper one is no
 * smaller. */
static inline nbcoll_group nbcoll_group_halve(nbcoll_group *mine, int rank)
{
    int middle = mine->low + (mine->high - mine->low) / 2;
    nbcoll_group lower = {mine->low, middle, mine->low}, upper = {middle, mine->high, mine->high - 1};

    (mine->root < middle ? &lower : &upper)->root = mine->root;
    *mine = rank < middle ? lower : upper;
    return rank < middle ? upper : lower;
}

/* ---- dissemination --------------------------------------------------------------------------------------------- */

/* In round k = 0 .. nbcoll_rounds(ranks) - 1 each rank sends to the one 2^k above it, and receives from the one 2^k
 * below, past the ends. After round k it has heard, directly or not, of the 2^(k+1) - 1 ranks below it. Source:
 * Hensgen, Finkel, Manber, "Two algorithms for barrier synchronization" (1988). */
static inline int nbcoll_dissemination_to(int rank, int round, int ranks)
{
    return nbcoll_absolute((int)(UINT32_C(1) << round), rank, ranks);
}

static inline int nbcoll_dissemination_from(int rank, int round, int ranks)
{
    return nbcoll_relative(rank, (int)(UINT32_C(1) << round), ranks);
}

/* ---- recursive doubling ---------------------------------------------------------------------------------------- */

/* Needs a power of two. The ranks in excess of the largest one, 2^k, are folded in beforehand: of the first
 * 2 * (ranks - 2^k) ranks, each odd one gives its data to the even one just below it. Those that stay are numbered
 * 0 .. 2^k - 1, and as only neighbours were joined, still in rank order; in round r, the one numbered i exchanges with
 * i ^ 2^r. Source: Thakur, Rabenseifner, Gropp, "Optimization of collective communication operations in MPICH" (2005),
 * which folds towards the odd ranks. */

/* The other rank of the folded pair of `rank`; -1 for one without. */
static inline int nbcoll_fold_peer(int rank, int ranks)
{
    return rank / 2 < ranks - nbcoll_power(ranks) ? rank ^ 1 : -1;
}

/* The number of `rank` among those that stay; -1 for one that was folded into the rank below. */
static inline int nbcoll_fold(int rank, int ranks)
{
    int excess = ranks - nbcoll_power(ranks);
    if (rank / 2 >= excess)
        return rank - excess;
    return rank % 2 ? -1 : rank / 2;
}

/* The rank whose number is `folded`: the inverse of nbcoll_fold. */
static inline int nbcoll_unfold(int folded, int ranks)
{
    int excess = ranks - nbcoll_power(ranks);
    return folded < excess ? 2 * folded : folded + excess;
}

/* ---- blocks and segments --------------------------------------------------------------------------------------- */

/* `n` elements in `parts` consecutive blocks as equal as can be: the first n % parts have one more than the others.
 * Some are empty when there are fewer elements than blocks. Where block i begins, and how long it is. */
static inline size_t nbcoll_block_offset(size_t n, int parts, int i)
{
    size_t p = (size_t)parts, k = (size_t)i;
    return k * (n / p) + (k < n % p ? k : n % p);
}

static inline size_t nbcoll_block_length(size_t n, int parts, int i)
{
    return n / (size_t)parts + ((size_t)i < n % (size_t)parts);
}

/* The block that element `at` < n lies in. */
static inline int nbcoll_block_holding(size_t n, int parts, size_t at)
{
    size_t p = (size_t)parts, length = n / p, longer = n % p;
    return (int)(at < longer * (length + 1) ? at / (length + 1) : (at - longer) / length);
}

/* Of blocks with different lengths: the sum of `blocks` of them, from that of rank `first` on, past the last rank to 0.
 */
static inline size_t nbcoll_block_sum(const size_t length[], int first, int blocks, int ranks)
{
    size_t sum = 0;
    for (int i = 0; i < blocks; i++)
        sum += length[nbcoll_absolute(i, first, ranks)];
    return sum;
}

/* How many segments to cut `n` elements into, so that none has more than `segment`; but at most NBCOLL_SEGMENTS_MAX,
 * which bounds the steps of a schedule: beyond it segments grow. At least one, also of nothing; one when `segment` is
 * 0. The segments are the blocks above. */
#define NBCOLL_SEGMENTS_MAX 256

static inline int nbcoll_segments(size_t n, size_t segment)
{
    if (!segment || n <= segment)
        return 1;
    size_t parts = n / segment + (n % segment != 0);
    return parts < NBCOLL_SEGMENTS_MAX ? (int)parts : NBCOLL_SEGMENTS_MAX;
}

/* Elements of a size in so many bytes; none where they have no bytes. */
static inline size_t nbcoll_elements(size_t bytes, size_t element)
{
    return element ? bytes / element : 0;
}

/* How many elements a piece has where a vector of `count` elements goes in pieces of `segment` bytes, the last one of
 * what is left: one at least, and so many that there are no more than NBCOLL_SEGMENTS_MAX pieces. All, when `segment`
 * is 0. */
static inline size_t nbcoll_piece(size_t count, size_t element, size_t segment)
{
    size_t piece = element ? segment / element : count, least = count / NBCOLL_SEGMENTS_MAX + 1;
    return !segment ? count : piece < least ? least : piece;
}

NBCOLLI_END
#endif
