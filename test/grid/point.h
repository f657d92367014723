/* SPDX-License-Identifier: BSD-3-Clause
 * The grid of calls: its dimensions, which of its points are calls that the manual allows, and how a point is written
 * on a line. */
#ifndef POINT_H
#define POINT_H

#include "nbcoll/select.h"
#include "nbcoll/verify.h"
#include "pairs.h"

enum { POINT_RANKS_MOST = 16, POINT_TEXT = 200 };

/* Outermost first what makes another world. */
typedef enum dimension {
    OPERATION, RANKS, TRANSPORT, FLAGS, FORM, TYPE, OP, ROOT, COUNT, PLACE, DIMENSIONS
} dimension;

typedef enum form { STARTED, BLOCKING, PERSISTENT, MIXED, FORMS } form; /* MIXED: another one at each rank */
typedef enum root { ROOT_FIRST, ROOT_MIDDLE, ROOT_LAST, ROOTS } root;
typedef enum place { NOT_IN_PLACE, IN_PLACE, IN_PLACE_AT_SOME, PLACES } place;

/* Loopback, stepped by one thread or by a thread a rank, without and with memory that all ranks share, or one on each
 * of several nodes that another one joins; shm where communicators share nothing, by threads or processes, and where
 * they do, and on several nodes, by threads that a loopback joins, by threads or processes that sockets join. */
typedef enum transport {
    STEPPED, STEPPED_SHARED, LOOPBACK_THREADS, LOOPBACK_SHARED, STEPPED_NODES, LOOPBACK_NODES,
    SHM_MESSAGES, SHM_THREADS, SHM_PROCESSES, SHM_NODES, SHM_SOCKETS, TRANSPORTS
} transport;

/* Elements of a block or vector: none, one, few; of as many bytes as travel with the header, and one more; just too few
 * for the algorithms for large data, and enough; enough for several pieces. In the v and w forms, also blocks of
 * different lengths. */
typedef enum count {
    ZERO, ONE, FEW, TO_EAGER, OVER_EAGER, BELOW_LARGE, FROM_LARGE, PIECES, HOLES, RISING, ONE_LARGE, COUNTS
} count;

typedef struct point {
    int v[DIMENSIONS];
    uint64_t seed;
    nbcoll_rule rule; /* of the communicator, for this operation; without an algorithm: none. Not a dimension */
} point;

extern const grid point_grid;
/* The configuration of every communicator, but for flags. Its limits are low, so that small counts cross them; and so
 * are the credits of every context: one. */
extern const nbcoll_comm_config point_limits;

int point_ranks(const point *p);
int point_is_stepped(const point *p);
int point_is_shared(const point *p); /* with memory in common */
int point_has_nodes(const point *p); /* over two endpoints; these: */
int point_nodes(const point *p);     /* 1 to 5, but not more than ranks */
nbcoll_numbering point_numbering(const point *p);
int point_root(const point *p);
uint32_t point_flags(const point *p);
/* Of this rank's call; never MIXED. */
form point_form(const point *p, int rank);
/* Does this rank pass NBCOLL_IN_PLACE? */
int point_in_place(const point *p, int rank);
/* Elements of the block from one rank to another; where blocks belong to one rank each, of that rank's. */
size_t point_block(const point *p, int from, int to);

int operation_has_root(nbcoll_operation what);
int operation_reduces(nbcoll_operation what);
int operation_has_counts(nbcoll_operation what);

/* "reduce/5/stepped/plain/started/INT32/SUM/middle/few/out/17", and back; with a rule also its algorithm, segment,
 * arity and ports. parse returns 0 for what is none. */
void point_print(const point *p, char text[POINT_TEXT]);
int point_parse(point *p, const char *text);

#endif
