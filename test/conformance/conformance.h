/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The conformance suite: what transport.h asks of a transport, asked of any. A transport's test says how its endpoints
 * are made, calls nbcoll_conformance_run, and is done (test_conformance_loopback.c is one). Every rank lives in this
 * process; or, for a transport between processes, each in one of its own, for those tests that need no more than that
 * all ranks run at once, and those where a rank is killed, calls exec, or leaves and ends. The seed of the random parts
 * is printed; the environment variable NBCOLL_TEST_SEED sets another.
 */
#ifndef NBCOLL_TEST_CONFORMANCE_H
#define NBCOLL_TEST_CONFORMANCE_H

#include "nbcoll/transport.h"

/* What this transport promises beyond the contract; the suite then holds it to that, and never skips it. */
#define NBCOLL_CONFORMANCE_ORDERED 1u  /* the messages of one sender arrive in the order of the posts */
#define NBCOLL_CONFORMANCE_BULK 2u     /* it has the bulk group */
#define NBCOLL_CONFORMANCE_DOORBELL 4u /* it has the wakeup group */
#define NBCOLL_CONFORMANCE_LENDS 8u    /* some posts are answered LENT */
#define NBCOLL_CONFORMANCE_REFUSES 16u /* a post is answered NOT_NOW at the latest after 10000 that nobody received */
/* Each rank is a process, forked after `make`, which opens no end; `user` points to an nbcoll_conformance_process. */
#define NBCOLL_CONFORMANCE_PROCESSES 32u
#define NBCOLL_CONFORMANCE_SHARED 64u /* it has the shared group */

typedef struct nbcoll_conformance nbcoll_conformance;
struct nbcoll_conformance {
    const char *name;
    uint32_t promises;
    /* Opens the ends of `ranks` ranks (1 to 9) and returns what they share, or null when that failed. */
    void *(*make)(const nbcoll_conformance *c, int ranks, uint64_t seed, nbcoll_endpoint *end[]);
    /* Ends it; all endpoints have been closed. */
    void (*destroy)(const nbcoll_conformance *c, void *made);
    const void *user;
};

typedef struct nbcoll_conformance_process {
    /* Opens the end of a rank in its process; null when that failed. */
    nbcoll_endpoint *(*open)(const nbcoll_conformance *c, void *made, int rank, int ranks);
    size_t payload;   /* the ends' limits.payload */
    uint32_t lost_ms; /* a rank that is killed, or calls exec, is reported lost to all others within that */
    const void *user;
} nbcoll_conformance_process;

/* Runs the suite and returns how many of its tests failed. */
int nbcoll_conformance_run(const nbcoll_conformance *c);

#endif
