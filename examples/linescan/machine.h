/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The processors that the ranks may run on, and how much of them other programs take.
 */
#ifndef LINESCAN_MACHINE_H
#define LINESCAN_MACHINE_H

#include <nbcoll/nbcoll.h>
#include <sched.h>

typedef struct machine {
    cpu_set_t processors; /* that one rank at least may run on */
    int count;            /* of them */
    double at;            /* since when others are measured */
    double busy, own;     /* seconds of all processors until then: what was busy, and what of it was the ranks' */
} machine;

/* Every rank. Measures from now on. */
void machine_begin(machine *m, nbcoll_comm *comm);

/* Every rank: the share of the processors, 0 to 1, that other programs, the system, and other virtual machines have
 * taken since machine_begin; below 0 where the system does not tell (/proc/stat). */
double machine_others(const machine *m, nbcoll_comm *comm);

#endif
