/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a rank does: rank 0 deals out blocks of text by scatter, every rank counts its own, and the totals are reduced.
 */
#ifndef LINESCAN_SCAN_H
#define LINESCAN_SCAN_H

#include "count.h"
#include "options.h"
#include "reader.h"
#include "report.h"
#include "waits.h"

#include <nbcoll/nbcoll.h>

/* What a rank gets from one scatter: `buffer` bytes, of which the first `used` behind the head are whole lines.
 *
 * The end. A rank may have started as many scatters ahead as are in flight, not knowing that there is no more text. So
 * rank 0 ends with that many final ones, each of which tells how many scatters there are in all; whichever of them a
 * rank sees first, it then knows how many are left to start. */
typedef struct block {
    uint64_t used;
    uint64_t rounds; /* final block: all scatters, the final ones included; else 0 */
    unsigned char text[];
} block;

typedef struct scan {
    const options *options;
    nbcoll_context *context;
    nbcoll_comm *comm;
    int ranks;
    counter count;
    bool blocking;               /* this job scatters with the blocking call */
    unsigned grams;              /* bytes of the longest sequence that is counted */
    waits waits;                 /* calls that waited for another rank, in this job */
    size_t in_flight;            /* scatters of this job: options->concurrent, or 1 */
    block *blocks[16];           /* one send (rank 0: the blocks of all ranks) or receive buffer a scatter in flight */
    nbcoll_request requests[16]; /* null: that buffer is free */
} scan;

/* rank_main of ranks.h; `user` is the options. */
int scan_main(nbcoll_context *context, nbcoll_comm *comm, const void *user);

/* One job, on every rank: the text is dealt out, counted, and added up. `files` are rank 0's, and so is what is found.
 */
void scan_run(scan *s, const list *files, bool blocking, outcome *out);

/* Deals out all that the reader gives, and counts this rank's part. */
void scan_root(scan *s, reader *r);
/* Counts what it is dealt. */
void scan_worker(scan *s);

/* Counts a block's text; the library progresses meanwhile. */
void scan_block(scan *s, const block *b);
/* Scatters: starts it as request i, or, with the blocking call, does it (buffer i stays free). */
void scan_scatter(scan *s, size_t i, const void *send, void *recv);
/* Waits until a started scatter ends, whose buffer is free then; in_flight when none is started. */
size_t scan_wait(scan *s);
/* A free buffer, or in_flight when there is none. */
size_t scan_free_buffer(const scan *s);

#endif
