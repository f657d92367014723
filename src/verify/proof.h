/* SPDX-License-Identifier: BSD-3-Clause
 * A proof under way: what the parts of the verifier share. Each part is one function that returns NBCOLL_OK, or
 * NBCOLL_ERR_VERIFY through nbcolli_refute, or an error of the call. Private to this folder. */
#ifndef NBCOLLI_VERIFY_PROOF_H
#define NBCOLLI_VERIFY_PROOF_H

#include "../offload/arena.h"
#include "../schedule/schedule.h"
#include "nbcoll/verify.h"

/* A step of a rank. */
typedef struct nbcolli_item {
    int rank;
    nbcoll_step step;
} nbcolli_item;

/* Bytes [begin, end) hold the bytes of `value` from `from` on. */
typedef struct nbcolli_piece {
    size_t begin, end, from;
    uint32_t value;
} nbcolli_piece;

/* What a stretch of memory holds: pieces that rise and do not overlap, as few as possible. Gaps are undefined. */
typedef struct nbcolli_map {
    nbcolli_piece *pieces;
    size_t used, room;
} nbcolli_map;

/* The inputs of ranks first, first + 1, ... last. */
typedef struct nbcolli_ranks {
    int first, last;
} nbcolli_ranks;

/* A symbolic vector, reduced element by element: an input, a reduction of two values, or opaque (no inputs). Equal
 * bracketings of equal inputs have equal indices. */
typedef struct nbcolli_value {
    uint32_t left, right; /* of a reduction; else 0 */
    nbcoll_reduction how;
    uint32_t phase; /* offset of the first whole element */
    uint32_t groups;
    nbcolli_ranks *group; /* [groups]: the inputs in the order in which they are combined */
    nbcoll_place maker;   /* the first step that made it */
    uint32_t next;        /* in its chain of the hash table */
} nbcolli_value;

typedef struct nbcolli_values {
    nbcolli_value *value; /* value[1 + rank] is an input; 0 is none */
    uint32_t used, room;
    uint32_t *chain; /* [room] */
} nbcolli_values;

typedef struct nbcolli_proof {
    nbcolli_arena arena;
    const nbcoll_schedule *const *schedules; /* as passed, then with bound blocks in their places */
    const nbcoll_meaning *theirs;            /* as passed, for its functions */
    nbcoll_meaning meaning;
    int ranks;
    nbcoll_refutation why;
    size_t *first;       /* [ranks + 1]: index of a rank's first step among all steps */
    nbcoll_step *mate;   /* [all steps]: a SEND's RECV and the reverse; a FETCH's EXPOSE; else START */
    nbcolli_item *ended; /* [all steps], in an order in which they may end */
    nbcolli_map (*memory)[NBCOLL_BUFFER_COUNT]; /* [ranks] */
    nbcolli_map *claimed; /* [ranks]: the claimed bytes of the receive buffer, as values that say nothing */
    nbcolli_map splice;   /* of nbcolli_map_put */
    nbcolli_values values;
} nbcolli_proof;

/* What must have ended before each step of a schedule. */
typedef struct nbcolli_earlier {
    uint64_t *rows; /* [steps][words] */
    size_t words;
    nbcoll_step *order; /* [steps]: in which they may end */
    uint32_t *left;     /* [steps] */
} nbcolli_earlier;

/* race.c: room for so many steps, until the arena is closed; then of a schedule that has no more. */
int nbcolli_earlier_open(nbcolli_arena *arena, nbcolli_earlier *e, size_t steps);
void nbcolli_earlier_fill(nbcolli_earlier *e, const nbcoll_schedule *s);
static inline int nbcolli_is_earlier(const nbcolli_earlier *e, nbcoll_step earlier, nbcoll_step step)
{
    return (int)(e->rows[step * e->words + earlier / 64] >> earlier % 64 & 1);
}

/* Memory that lives as long as the proof, zeroed; null when there is none. */
static inline void *nbcolli_take(nbcolli_proof *p, size_t n, size_t bytes)
{
    return nbcolli_arena_take(&p->arena, n, bytes);
}

static inline const nbcoll_step_view *nbcolli_view(const nbcolli_proof *p, int rank, nbcoll_step step)
{
    return &p->schedules[rank]->step[step];
}

/* The i-th claim about a rank. */
static inline int nbcolli_claim(const nbcolli_proof *p, int rank, size_t i, nbcoll_claim *out)
{
    memset(out, 0, sizeof *out);
    return p->theirs->claim(p->theirs, rank, i, out);
}

/* Its index among all steps. */
static inline size_t nbcolli_index(const nbcolli_proof *p, int rank, nbcoll_step step)
{
    return p->first[rank] + step;
}

/* refute.c */
/* Fills in the refutation; returns NBCOLL_ERR_VERIFY. `n` may exceed NBCOLL_PLACES, `places` need not. */
nbcoll_status nbcolli_refute(nbcolli_proof *p, nbcoll_flaw flaw, uint32_t n, const nbcoll_place *places);

/* Copies as much as the caller's struct holds; `out` may be null. */
void nbcolli_refutation_give(const nbcoll_refutation *why, nbcoll_refutation *out);

static inline nbcoll_place nbcolli_place(int rank, nbcoll_step step, nbcoll_region bytes)
{
    nbcoll_place place = {rank, step, bytes};
    return place;
}

/* A place without bytes. */
static inline nbcoll_place nbcolli_moment(int rank, nbcoll_step step)
{
    nbcoll_region none = {{NBCOLL_BUFFER_SEND, 0}, 0};
    return nbcolli_place(rank, step, none);
}

/* map.c */
/* to[0, bytes) becomes from[begin, begin + bytes). */
nbcoll_status nbcolli_map_cut(nbcolli_proof *p, const nbcolli_map *from, size_t begin, size_t bytes, nbcolli_map *to);
/* map[at, at + bytes) becomes from[0, bytes). */
nbcoll_status nbcolli_map_put(nbcolli_proof *p, nbcolli_map *map, size_t at, size_t bytes, const nbcolli_map *from);
/* Appends a piece behind all others. */
nbcoll_status nbcolli_map_push(nbcolli_proof *p, nbcolli_map *map, nbcolli_piece piece);
/* Of the first gap in [0, bytes): its offset, and bytes in *length. `bytes` when there is none. */
size_t nbcolli_map_gap(const nbcolli_map *map, size_t bytes, size_t *length);

/* value.c */
nbcoll_status nbcolli_values_open(nbcolli_proof *p);
/* A value equal to no other. */
nbcoll_status nbcolli_value_opaque(nbcolli_proof *p, nbcoll_place maker, uint32_t *out);
/* left `how` right, elements beginning at `phase`; opaque where that means nothing. */
nbcoll_status nbcolli_value_reduce(nbcolli_proof *p, nbcoll_place maker, nbcoll_reduction how, uint32_t phase,
                                   uint32_t left, uint32_t right, uint32_t *out);

/* The parts of the proof, in this order, in which verify.c calls them; each relies on those before. */
nbcoll_status nbcolli_bind(nbcolli_proof *p);    /* bound blocks get their places */
nbcoll_status nbcolli_lay_out(nbcolli_proof *p); /* inputs and claims */
nbcoll_status nbcolli_prove_matching(nbcolli_proof *p);
nbcoll_status nbcolli_prove_no_stray(nbcolli_proof *p);
nbcoll_status nbcolli_prove_no_race(nbcolli_proof *p);
nbcoll_status nbcolli_prove_end(nbcolli_proof *p);
nbcoll_status nbcolli_prove_result(nbcolli_proof *p);
nbcoll_status nbcolli_prove_barrier(nbcolli_proof *p);

/* circle.c: names steps that wait for each other, when not all have ended. Held: only its peer keeps it waiting. */
typedef enum nbcolli_state { NBCOLLI_WAITS, NBCOLLI_HELD, NBCOLLI_ENDED } nbcolli_state;
nbcoll_status nbcolli_refute_circle(nbcolli_proof *p, const uint8_t *state);

/* matching.c: the bytes that a SEND sends, or that an EXPOSE exposes to `taker` as the part of that number. */
nbcoll_region nbcolli_given(const nbcoll_step_view *giver, int taker, uint32_t number);

#endif
