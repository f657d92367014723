/* SPDX-License-Identifier: BSD-3-Clause
 * A crowd: the schedules of all ranks of one operation, of 64-bit elements, with each message's two ends found; and how
 * the ranks' buffers lie. Blocks that may differ in length do, and some are empty. */
#ifndef TEST_UNIT_CROWD_H
#define TEST_UNIT_CROWD_H

#include <stddef.h>
#include <stdint.h>

#include "algorithms.h"

/* Ranks are in place: never, always, or the odd ones. */
enum { NOT_IN_PLACE, IN_PLACE, ODD_IN_PLACE };

enum { CROWD_MOST = 130 };

/* Steps of all ranks in one array: step s of rank r is number base[r] + s. */
typedef struct crowd {
    const nbcoll_algorithm *algorithm;
    nbcoll_args args; /* what is common to all ranks; how they are in place */
    int ranks;
    int is_bound; /* counts are not known, where that can be */
    nbcoll_schedule **schedule;
    uint32_t *base;  /* [ranks + 1] */
    int *rank;       /* of a step */
    uint32_t *other; /* the other end of a SEND or RECV; else UINT32_MAX */
} crowd;

/* Fails the test where a message has not its two ends, of the same length. */
crowd crowd_open(const nbcoll_algorithm *algorithm, nbcoll_args args, int ranks);
void crowd_close(crowd *all);

/* The i-th root to try: all of a few ranks; of many the ends and the middle. -1 when there is none left. */
int crowd_root(nbcoll_operation operation, int ranks, int i);
/* Calls `body` for each root, with a crowd of that algorithm, count and number of ranks. */
void crowd_for_each_root(const nbcoll_algorithm *algorithm, size_t count, int in_place, int ranks,
                         void (*body)(const crowd *all));

const nbcoll_step_view *crowd_step(const crowd *all, uint32_t i);
int crowd_is_in_place(const crowd *all, int r);
/* How many blocks the send or receive buffer of a rank has when it is not in place; a vector is one. */
int crowd_blocks(const crowd *all, int r, int is_recv);
/* The elements of block i of such a buffer, how many come before it in all, and where it lies: where blocks can be
 * anywhere, one element apart, and not alike on all ranks. And where the last one ends. */
size_t crowd_length(const crowd *all, int r, int is_recv, int i);
size_t crowd_before(const crowd *all, int r, int is_recv, int i);
size_t crowd_place(const crowd *all, int r, int is_recv, int i);
size_t crowd_end(const crowd *all, int r, int is_recv);
/* A region with the place and length that the run would look up. */
nbcoll_region crowd_region(const crowd *all, int r, nbcoll_region region);

/* Memory full of a byte. */
void *filled(size_t n, size_t bytes, int byte);

#endif
