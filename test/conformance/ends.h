/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What tests of the transports themselves share: loopback ends to wrap, and a host that counts its memory.
 */
#ifndef NBCOLL_TEST_ENDS_H
#define NBCOLL_TEST_ENDS_H

#include "nbcoll/loopback.h"

/* A host whose memory is counted, and whose allocation number `fail_at` (from 1; 0: none) finds none. */
struct counted {
    nbcoll_host host;
    size_t bytes, allocations, fail_at;
};
void counted_host(struct counted *counted);

/* A loopback configuration, by designated initialisers. */
#define LOOPBACK(...) (&(const nbcoll_loopback_config){.size = sizeof(nbcoll_loopback_config), __VA_ARGS__})

/* A world of `ranks` ranks, all ends open; or null. */
nbcoll_loopback *loopback_ends(const nbcoll_loopback_config *config, int ranks, uint64_t seed, nbcoll_endpoint *end[]);

/* Shorthands for the calls of a table, for tests that look at one call. */
nbcoll_posted post_word(nbcoll_endpoint *ep, int peer, uint64_t word, nbcoll_work *work);
nbcoll_completions progress(nbcoll_endpoint *ep);
/* Progresses until nothing comes, and writes the first words of what arrived, at most `most`; returns how many came. */
size_t receive_words(nbcoll_endpoint *ep, size_t most, uint64_t words[]);

#endif
