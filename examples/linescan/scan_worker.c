/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Every rank but 0: keeps scatters started into all its buffers and counts whichever ends, in any order.
 */
#include "scan.h"

static void worker_blocking(scan *s)
{
    do {
        scan_scatter(s, 0, NULL, s->blocks[0]);
        scan_block(s, s->blocks[0]);
    } while (s->blocks[0]->rounds == 0);
}

static void worker_nonblocking(scan *s)
{
    uint64_t rounds = UINT64_MAX; /* until a final block tells */
    for (uint64_t started = 0, ended = 0; ended < rounds; ended++) {
        for (size_t i; started < rounds && (i = scan_free_buffer(s)) < s->in_flight; started++)
            scan_scatter(s, i, NULL, s->blocks[i]);
        const block *b = s->blocks[scan_wait(s)];
        if (b->rounds > 0)
            rounds = b->rounds;
        scan_block(s, b);
    }
}

void scan_worker(scan *s)
{
    if (s->blocking)
        worker_blocking(s);
    else
        worker_nonblocking(s);
}
