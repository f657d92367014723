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
#include "offload.h"
#include "relay.h"
#include "schedule.h"

#ifndef NBCOLL_SHOW_H
#define NBCOLL_SHOW_H

#if defined NBCOLL_WITH_LAB && !NBCOLL_WITH_LAB
#error "nbcoll/show.h is of the component lab: define NBCOLL_WITH_LAB=1, or link nbcoll_lab"
#endif

NBCOLLI_BEGIN

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

/* ---- programs ---------------------------------------------------------------------------------------------------- */

/* A program as text: a line about all of it, and for each queue a line, with what it holds and its completion queues,
 * and below it a line for each task.
 *
 *     program barrier/recursive_doubling: rank 0 of 4, 8 tasks, 2 connections, 6 queue pairs, 2 eager buffers, 0 copies
 *     queue 0: eager, rank 1 both ways, holds sends, receives to cq 0
 *       recv eager 0[0,0)
 *       send
 *     queue 1: eager, rank 2 both ways, holds sends, receives to cq 1
 *       recv eager 1[0,0)
 *       send
 *     queue 2: management
 *       send_enable (1) queue 0
 *       wait (1) cq 0
 *       send_enable (1) queue 1
 *       wait (1) cq 1, signal
 *
 * Nothing is allocated. The same program gives the same bytes. Errors: ERR_NULL, ERR_CALL (write stopped it). */
NBCOLL_API nbcoll_status nbcoll_show_program(const nbcoll_program *program, nbcoll_write *write, void *user);

/* The programs of one, some or all ranks of an operation, in any order, as a directed graph in Graphviz's language:
 * a cluster for each rank, in it one for each queue pair and management queue, and in these a column for the sends, the
 * receives, the entries of each completion queue and the tasks of a management queue, each in order from above. A black
 * edge leads from a task to the one behind it, and to the entry that its end is; a dashed one from a wait to each entry
 * that it consumes; a blue one from an enable to each message that it enables. The copies of the end are a column, too.
 * Nothing is allocated. The same programs give the same bytes. Errors: ERR_NULL, ERR_ARGUMENT (a rank occurs twice),
 * ERR_CALL (write stopped it; the arguments are checked before anything is written). */
NBCOLL_API nbcoll_status nbcoll_show_programs_dot(const nbcoll_program *const programs[], size_t n,
                                                  nbcoll_write *write, void *user);

/* ---- topologies -------------------------------------------------------------------------------------------------- */

/* A topology as text: a line about all of it, and one for each relay. 7_0 is relay 0 of rank 7.
 *
 *     topology bruck: rank 0 of 9, 3 relays, 12 connections
 *     relay 0: from nobody to 1_1 2_1 3_2 6_2
 *     relay 1: from 7_0 8_0 to 3_2 6_2
 *     relay 2: from 3_0 3_1 6_0 6_1 to nobody
 *
 * Nothing is allocated. Errors: ERR_NULL, ERR_CONFIG (the topology's size), ERR_CALL (write stopped it). */
NBCOLL_API nbcoll_status nbcoll_show_topology(const nbcoll_topology *topology, nbcoll_write *write, void *user);

NBCOLLI_END
#endif
