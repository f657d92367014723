/* SPDX-License-Identifier: BSD-3-Clause
 * What became of the calls, and how long those took that block: counted on each rank and summed up at the end. */
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "door.h"

enum { TIMED = DOOR_CALL_COUNT * DOOR_FATE_COUNT, CELLS = DOOR_FORM_COUNT * TIMED };

static atomic_ullong took[TIMED]; /* ns */
static bool is_compared;

bool door_threads, door_is_timed;
atomic_ullong door_counted[DOOR_FORM_COUNT][DOOR_CALL_COUNT][DOOR_FATE_COUNT];

void door_forget(void)
{
    memset(door_counted, 0, sizeof door_counted);
}

void door_report_start(bool compares)
{
    door_is_timed = true;
    is_compared = compares;
}

/* Which ones must not go by the program's own periods. */
bool door_compares(atomic_uint *calls)
{
    return is_compared && atomic_fetch_add_explicit(calls, 1, memory_order_relaxed) * 2654435769u >> 29 == 0;
}

uint64_t door_clock(void)
{
    struct timespec t;
    if (!door_is_timed)
        return 0;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

void door_took(const door_operation *o, uint64_t since)
{
    if (o->fate != DOOR_FATE_COUNT)
        atomic_fetch_add_explicit(&took[(int)o->call * DOOR_FATE_COUNT + (int)o->fate], door_clock() - since,
                                  memory_order_relaxed);
}

/* of[i], summed up over all ranks, on rank 0. */
static bool sum_up(const atomic_ullong of[], int n, unsigned long long all[])
{
    unsigned long long mine[CELLS];
    for (int i = 0; i < n; i++)
        mine[i] = atomic_load_explicit(&of[i], memory_order_relaxed);
    return PMPI_Reduce(mine, all, n, MPI_UNSIGNED_LONG_LONG, MPI_SUM, 0, MPI_COMM_WORLD) == MPI_SUCCESS;
}

void door_report(void)
{
#define DOOR_CALL(name, lower) {"MPI_" #name, "MPI_I" #lower, "MPI_" #name "_init"},
    static const char *const calls[][DOOR_FORM_COUNT] = {DOOR_CALLS(DOOR_CALL)};
#undef DOOR_CALL
#define DOOR_FATE(name, text) text,
    static const char *const fates[] = {DOOR_FATES(DOOR_FATE)};
#undef DOOR_FATE
    unsigned long long all[CELLS], ns[TIMED];
    int rank;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (!sum_up(&door_counted[0][0][0], CELLS, all) || !sum_up(took, TIMED, ns) || rank != 0)
        return;
    fprintf(stderr, "nbcoll: collective calls of all ranks, on %d node%s\n", door_nodes(), door_nodes() > 1 ? "s" : "");
    for (int i = 0; i < CELLS; i++) {
        if (!all[i])
            continue;
        fprintf(stderr, "nbcoll: %-33s %10llu %s", calls[i / DOOR_FATE_COUNT % DOOR_CALL_COUNT][i / TIMED], all[i],
                fates[i % DOOR_FATE_COUNT]);
        if (i < TIMED)
            fprintf(stderr, ", %.2f us each", (double)ns[i] * 1e-3 / (double)all[i]);
        fputc('\n', stderr);
    }
}
