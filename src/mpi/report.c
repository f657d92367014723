/* SPDX-License-Identifier: BSD-3-Clause
 * What became of the calls, counted on each rank and summed up at the end. */
#include <stdatomic.h>
#include <stdio.h>

#include "door.h"

static atomic_ullong counted[DOOR_CALL_COUNT][DOOR_FATE_COUNT];

void door_count(door_call call, door_fate fate)
{
    atomic_fetch_add_explicit(&counted[call][fate], 1, memory_order_relaxed);
}

void door_report(void)
{
#define DOOR_CALL(name) "MPI_" #name,
    static const char *const calls[] = {DOOR_CALLS(DOOR_CALL)};
#undef DOOR_CALL
#define DOOR_FATE(name, text) text,
    static const char *const fates[] = {DOOR_FATES(DOOR_FATE)};
#undef DOOR_FATE
    unsigned long long mine[DOOR_CALL_COUNT][DOOR_FATE_COUNT], all[DOOR_CALL_COUNT][DOOR_FATE_COUNT];
    int rank;
    for (int c = 0; c < DOOR_CALL_COUNT; c++)
        for (int f = 0; f < DOOR_FATE_COUNT; f++)
            mine[c][f] = atomic_load_explicit(&counted[c][f], memory_order_relaxed);
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (PMPI_Reduce(mine, all, DOOR_CALL_COUNT * DOOR_FATE_COUNT, MPI_UNSIGNED_LONG_LONG, MPI_SUM, 0, MPI_COMM_WORLD) ||
        rank != 0)
        return;
    fputs("nbcoll: collective calls of all ranks\n", stderr);
    for (int c = 0; c < DOOR_CALL_COUNT; c++)
        for (int f = 0; f < DOOR_FATE_COUNT; f++)
            if (all[c][f])
                fprintf(stderr, "nbcoll: %-24s %10llu %s\n", calls[c], all[c][f], fates[f]);
}
