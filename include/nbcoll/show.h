/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Printers: a schedule as text for people and golden tests, or as a drawing for Graphviz. The same schedules give the
 * same bytes, in every run and on every machine.
 *
 *     static int to_file(void *user, const char *text, size_t bytes)
 *     {
 *         return fwrite(text, 1, bytes, user) != bytes;
 *     }
 *
 *     nbcoll_show_text(schedule, to_file, stdout);
 *
 * Any thread. The printers allocate nothing.
 */
#include "schedule.h"

#ifndef NBCOLL_SHOW_H
#define NBCOLL_SHOW_H

#ifdef __cplusplus
extern "C" {
#endif

/* Takes the next `bytes` bytes of the output, which are not terminated and need not end where a line does. Non-zero
 * stops the printer. */
typedef int nbcoll_write(void *user, const char *text, size_t bytes);

/* One schedule as text: a line about all of it, and a line for each step.
 *
 *     schedule ring: rank 1 of 3, 6 steps, 2 edges, fingerprint 0x00000007, send 0, recv 96, scratch 0
 *        0 JOIN start
 *        1 JOIN end
 *        2 RECV recv[0,64) <- rank 0 #0 then 4 5
 *        3 RECV recv[64,96) <- rank 0 #1
 *        4 SEND recv[0,64) -> rank 2 #0
 *        5 COPY recv[64,96) <- recv[0,32) on progress
 *
 * The first line ends with the bytes that the schedule touches of each buffer. In the others stand: the step; its kind;
 * the bytes it reads and writes, from the first offset up to and without the second; the peer and the number of the
 * message (`part 0` instead of `#0`: the first part exposed to this reader, also where it travels as a message); of a
 * growing exposure that is not lowered, `as piece 1 of step 3`, where step 3 is its first piece; the lane, unless it is
 * ANY; `then`, the steps that wait for it. Not printed: that all steps wait for START, and END for all.
 * Control characters in a name become '?'.
 * Errors: ERR_NULL, ERR_CALL (write stopped it). */
NBCOLL_API nbcoll_status nbcoll_show_text(const nbcoll_schedule *schedule, nbcoll_write *write, void *user);

/* The schedules of one, some or all ranks of an operation, in any order, as a directed graph in Graphviz's language:
 * a cluster for each rank, a node for each step, an edge where a step waits for another, and a dashed edge for each
 * message or part whose two ends are both drawn. END is left out, START too unless a rank has no other steps.
 * Errors: ERR_NULL, ERR_ARGUMENT (a rank occurs twice, or the schedules are for different numbers of ranks), ERR_CALL
 * (write stopped it; the arguments are checked before anything is written). */
NBCOLL_API nbcoll_status nbcoll_show_dot(const nbcoll_schedule *const schedules[], size_t n, nbcoll_write *write,
                                         void *user);

#ifdef __cplusplus
}
#endif
#endif
