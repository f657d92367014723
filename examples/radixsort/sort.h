/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A parallel radix sort after Zagha and Blelloch, as Inozemtsev's thesis "Overlapping Computation and Communication
 * through Offloading in MPI over InfiniBand" describes it (4.5.3): a round for each digit, the lowest first, of six
 * steps. The histograms of all ranks are on their way (step 4) while each moves its keys (steps 2 and 3).
 */
#ifndef RADIXSORT_SORT_H
#define RADIXSORT_SORT_H

#include <stddef.h>
#include <stdint.h>

#include <nbcoll/nbcoll.h>

typedef struct sorter {
    nbcoll_comm *comm;
    int rank, ranks, overlaps; /* else each rank waits for the histograms before it moves anything */
    size_t buckets;            /* digits are 0..buckets - 1 */
    size_t count, total;       /* keys here, and on all ranks */
    void *memory;              /* has the following */
    int is_shared;             /* ranks share it, on each of them, so that an agent's process can name it */
    uint64_t *keys, *moved;    /* two rooms for keys, which change places with each round */
    uint64_t *own, *all;       /* histograms: [buckets], [ranks][buckets] */
    size_t *begin;             /* [buckets]: of a bucket, here */
    size_t *sends, *send_at, *receives, *receive_at; /* [ranks] */
} sorter;

/* Copies the keys. Collective. Errors: ERR_MEMORY and those of an allreduce; it is to be closed all the same. */
nbcoll_status sorter_open(sorter *s, nbcoll_comm *comm, const uint64_t *keys, size_t count, size_t buckets);
void sorter_close(sorter *s);

/* Afterwards rank r has the keys total * r / ranks to total * (r + 1) / ranks - 1 of all in order, in s->keys.
 * Collective. */
nbcoll_status sorter_run(sorter *s);

#endif
