/* SPDX-License-Identifier: BSD-3-Clause
 *
 * conformance: tests whether a transport, yours or one of ours, keeps the contract of transport.h. It is a library of
 * its own (libnbcoll_conformance; nbcoll_conformance.pc; the CMake component `conformance`, target
 * nbcoll::conformance), for test programs. A table says how endpoints are opened; each case opens a small world of
 * them, plays the core of every rank, and checks all that comes out. The test of a transport `wire` whose ranks may
 * live in one process:
 *
 *     static void *make(const nbcoll_conformance *c, int ranks, nbcoll_endpoint *end[])
 *     {
 *         wire_world *world = wire_world_make(ranks);
 *         for (int rank = 0; world && rank < ranks; rank++)
 *             wire_open(world, rank, &end[rank]);
 *         return world;
 *     }
 *
 *     static void destroy(const nbcoll_conformance *c, void *world)
 *     {
 *         wire_world_free(world);
 *     }
 *
 *     int main(void)
 *     {
 *         const nbcoll_conformance wire = {.size = sizeof wire, .name = "wire", .make = make, .destroy = destroy,
 *                                          .promises = NBCOLL_CONFORMANCE_ORDERED, .result = nbcoll_conformance_print};
 *         return nbcoll_conformance_run(&wire) != 0;
 *     }
 *
 * If ranks are processes the table has `open`, too. Run a transport that can do both with two tables. Ranks of one
 * process are stepped one after the other, which finds most faults; only processes can be killed or call exec.
 *
 * Each case runs in a process of its own, forked from the caller's. A transport that crashes, spins or blocks fails
 * that case, and the next one begins afresh: a case ends at its deadline, whatever the transport does. Linux only. To
 * look at one case, name it in `only` and tell the debugger to follow the child (gdb: set follow-fork-mode child).
 */
#ifndef NBCOLL_CONFORMANCE_H
#define NBCOLL_CONFORMANCE_H

#include "transport.h"

NBCOLLI_BEGIN

/* What a transport promises beyond the contract, or which optional groups it has. With a promise the suite fails if the
 * transport breaks it; without, it skips cases for what the transport does not have. */
#define NBCOLL_CONFORMANCE_ORDERED 1u    /* the messages of one sender arrive in the order of the posts */
#define NBCOLL_CONFORMANCE_BULK 2u       /* it has the bulk group */
#define NBCOLL_CONFORMANCE_WAKEUP 4u     /* it has the wakeup group; where ranks are processes, nobody sleeps without */
#define NBCOLL_CONFORMANCE_KEEPS 8u      /* some posts are answered IN_FLIGHT */
#define NBCOLL_CONFORMANCE_REFUSES 16u   /* a post is answered NOT_NOW at the latest after 10000 that nobody received */
#define NBCOLL_CONFORMANCE_SHARED 32u    /* it has the shared group */
#define NBCOLL_CONFORMANCE_QUEUES 64u    /* it has the group of queue pairs; asked of where ranks live in one process */
#define NBCOLL_CONFORMANCE_RECEIVES 128u /* its queue pairs may share receives; likewise */

typedef enum nbcoll_conformance_verdict {
    NBCOLL_CONFORMANCE_PASSED,
    NBCOLL_CONFORMANCE_SKIPPED, /* it needs what this transport neither has nor promises */
    NBCOLL_CONFORMANCE_FAILED
} nbcoll_conformance_verdict;

/* How one case ended. Valid during the call that tells it. */
typedef struct nbcoll_conformance_result {
    size_t size;
    const char *name; /* of the case, in words: "a_cancelled_get_writes_nothing_more" */
    nbcoll_conformance_verdict verdict;
    const char *why; /* what was wrong, or why it was skipped; "" when it passed */
    uint64_t ns;     /* how long it took */
} nbcoll_conformance_result;

/* Each function is given a copy of the table, whose deadline and seed are those used. */
typedef struct nbcoll_conformance nbcoll_conformance;
struct nbcoll_conformance {
    size_t size;
    const char *name;     /* of what is tested */
    const void *user;     /* the caller's own */
    uint32_t promises;    /* NBCOLL_CONFORMANCE_*: of all endpoints */
    uint32_t deadline_ms; /* of each case; 0: 60000. The longest takes some seconds on a machine that is not busy */
    uint64_t seed;        /* of the random parts; 0: always the same */
    const char *only;     /* the name of the one case to run; null: all */
    /* Makes what `ranks` ranks (1 to 9) share, and opens their ends in end[], all in this process; null when that
     * failed. Where `open` is there, it opens no end: each process does that for itself. */
    void *(*make)(const nbcoll_conformance *c, int ranks, nbcoll_endpoint *end[]);
    /* Ends it. All ends have been closed, or their processes have ended. */
    void (*destroy)(const nbcoll_conformance *c, void *made);
    /* Null: the ranks live in one process. Else each is a process, forked after `make`; this is called in it, once, and
     * opens the end of its rank, perhaps together with the others; null when that failed. */
    nbcoll_endpoint *(*open)(const nbcoll_conformance *c, void *made, int rank, int ranks);
    size_t payload;   /* with open: limits.payload of the ends */
    uint32_t lost_ms; /* with open: a rank that is killed, or calls exec, is reported lost within this time */
    /* Told of each case as it ends; null: nobody is. 0: go on; else no further case is run. */
    int (*result)(const nbcoll_conformance *c, const nbcoll_conformance_result *r);
    /* Optional, without open: makes `ep` lose `peer`, which lives, as a link between the two would that has failed:
     * soon a progress of `ep` reports that. No call of transport.h does so. Null: whether the loss is mutual is not
     * tested. */
    void (*lose)(const nbcoll_conformance *c, void *made, nbcoll_endpoint *ep, int peer);
};

/* Runs the cases, in a fixed order, and returns how many of them failed; -1, with nothing run, when the table is not
 * valid: its size, a null name, make or destroy, an unknown promise, a payload below 256 with open, or no case named as
 * `only` says. Call it with one thread in the process, which is forked. What atexit has registered runs in each of the
 * forked processes, too. */
NBCOLL_API int nbcoll_conformance_run(const nbcoll_conformance *c);

/* A `result` that prints a line for each case to standard output, with the seed where it failed, and goes on. */
NBCOLL_API int nbcoll_conformance_print(const nbcoll_conformance *c, const nbcoll_conformance_result *r);

NBCOLLI_END
#endif
