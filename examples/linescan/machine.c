/* SPDX-License-Identifier: BSD-3-Clause
 *
 * /proc/stat tells how long each processor was busy, whoever made it so.
 */
#include "machine.h"
#include "clock.h"
#include "options.h"
#include "ranks.h"

#include <stdint.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

/* Seconds since the system began, of these processors together. Time that the host of a virtual machine gave to others
 * (steal) is busy, too. 0: unknown. */
static double busy_seconds(const cpu_set_t *processors)
{
    FILE *stat = fopen("/proc/stat", "r");
    char line[1024];
    double ticks = 0;
    while (stat && fgets(line, sizeof line, stat)) {
        int number;
        unsigned long long user, nice, system, irq, softirq, steal;
        if (sscanf(line, "cpu%d %llu %llu %llu %*u %*u %llu %llu %llu", &number, &user, &nice, &system, &irq, &softirq,
                   &steal) == 7 &&
            number < CPU_SETSIZE && CPU_ISSET(number, processors))
            ticks += (double)(user + nice + system + irq + softirq + steal);
    }
    if (stat)
        fclose(stat);
    return ticks / (double)sysconf(_SC_CLK_TCK);
}

/* Processor time of all ranks so far; as threads they are one process. */
static double own_seconds(nbcoll_comm *comm)
{
    double mine = ranks_are_launched() || nbcoll_comm_rank(comm) == 0 ? (double)clock() / CLOCKS_PER_SEC : 0, all = 0;
    must(nbcoll_allreduce(&mine, &all, 1, NBCOLL_DOUBLE, NBCOLL_SUM, comm, NBCOLL_FOREVER), "allreduce");
    return all;
}

void machine_begin(machine *m, nbcoll_comm *comm)
{
    cpu_set_t mine;
    if (sched_getaffinity(0, sizeof mine, &mine))
        fatal("processors", "not known");
    must(nbcoll_allreduce(&mine, &m->processors, sizeof mine / sizeof(uint64_t), NBCOLL_UINT64, NBCOLL_BOR, comm,
                          NBCOLL_FOREVER),
         "allreduce");
    m->count = CPU_COUNT(&m->processors);
    m->own = own_seconds(comm);
    m->busy = busy_seconds(&m->processors);
    m->at = seconds_now();
}

double machine_others(const machine *m, nbcoll_comm *comm)
{
    double passed = seconds_now() - m->at, busy = busy_seconds(&m->processors) - m->busy;
    double own = own_seconds(comm) - m->own, share = (busy - own) / (passed * m->count);
    return m->busy <= 0 ? -1 : share < 0 ? 0 : share;
}
