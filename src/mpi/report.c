/* SPDX-License-Identifier: BSD-3-Clause
 * What became of the calls, counted on each rank and summed up at the end. */
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "door.h"

static atomic_ullong counted[DOOR_FORM_COUNT][DOOR_CALL_COUNT][DOOR_FATE_COUNT];

bool door_threads;

void door_count(door_form form, door_call call, door_fate fate)
{
    atomic_ullong *n = &counted[form][call][fate];
    if (door_threads)
        atomic_fetch_add_explicit(n, 1, memory_order_relaxed);
    else
        atomic_store_explicit(n, atomic_load_explicit(n, memory_order_relaxed) + 1, memory_order_relaxed);
}

void door_forget(void)
{
    memset(counted, 0, sizeof counted);
}

void door_report(void)
{
#define DOOR_CALL(name, lower) {"MPI_" #name, "MPI_I" #lower, "MPI_" #name "_init"},
    static const char *const calls[][DOOR_FORM_COUNT] = {DOOR_CALLS(DOOR_CALL)};
#undef DOOR_CALL
#define DOOR_FATE(name, text) text,
    static const char *const fates[] = {DOOR_FATES(DOOR_FATE)};
#undef DOOR_FATE
    enum { CELLS = DOOR_FORM_COUNT * DOOR_CALL_COUNT * DOOR_FATE_COUNT };
    unsigned long long mine[CELLS], all[CELLS];
    int rank;
    for (int i = 0; i < CELLS; i++)
        mine[i] = atomic_load_explicit(&counted[0][0][0] + i, memory_order_relaxed);
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (PMPI_Reduce(mine, all, CELLS, MPI_UNSIGNED_LONG_LONG, MPI_SUM, 0, MPI_COMM_WORLD) || rank != 0)
        return;
    fputs("nbcoll: collective calls of all ranks\n", stderr);
    for (int i = 0; i < CELLS; i++)
        if (all[i])
            fprintf(stderr, "nbcoll: %-33s %10llu %s\n",
                    calls[i / DOOR_FATE_COUNT % DOOR_CALL_COUNT][i / (DOOR_CALL_COUNT * DOOR_FATE_COUNT)], all[i],
                    fates[i % DOOR_FATE_COUNT]);
}
