/* SPDX-License-Identifier: BSD-3-Clause
 * What differs between the MPIs: what they call while they wait, and how their launchers name a process before
 * MPI_Init. */
#include <ctype.h>
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "door.h"

/* Later versions of a series, which has two numbers, have the same handles, and the same hook. */
static door_fit compare(const char *begin, int major, int minor)
{
    enum { ROOM = 1 << 14 }; /* another MPI may say more than this one */
    char number[32], said[ROOM] = "";
    int length;
    if (PMPI_Get_library_version(said, &length) != MPI_SUCCESS || strncmp(said, begin, strlen(begin)) != 0)
        return DOOR_OTHER_MPI;
    int n = snprintf(number, sizeof number, "%d.%d", major, minor);
    const char *is = said + strlen(begin);
    is += strspn(is, " \t");
    return strncmp(is, number, (size_t)n) == 0 && !isdigit((unsigned char)is[n]) ? DOOR_FITS : DOOR_OTHER_VERSION;
}

#ifdef OPEN_MPI

const bool door_only_blocks = false;

door_fit door_fits(void)
{
    return compare("Open MPI v", OMPI_MAJOR_VERSION, OMPI_MINOR_VERSION);
}

/* Open MPI's progress calls the functions that are registered with it. They return the number of events. */
bool door_hook(int (*move)(void), bool on)
{
    int (*change)(int (*)(void)) = NULL;
    *(void **)&change = dlsym(RTLD_DEFAULT, on ? "opal_progress_register" : "opal_progress_unregister");
    return change && change(move) == 0;
}

bool door_job(char job[DOOR_JOB], int *rank)
{
    static const char *const variables[][2] = {{"PMIX_NAMESPACE", "PMIX_RANK"},
                                               {"OMPI_MCA_ess_base_jobid", "OMPI_COMM_WORLD_RANK"}};
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) {
        const char *name = getenv(variables[i][0]), *number = getenv(variables[i][1]);
        if (!name || !number)
            continue;
        *rank = atoi(number);
        snprintf(job, DOOR_JOB, "%s", name);
        return true;
    }
    return false;
}

#else

/* Its calls hold a lock while they call UCX's, in which no other call may be made: nothing is ended there. */
const bool door_only_blocks = true;

door_fit door_fits(void)
{
    return compare("MPICH Version:", MPICH_NUMVERSION / 10000000, MPICH_NUMVERSION / 100000 % 100);
}

static int (*_Atomic moved)(void);
static atomic_bool has_moved;

/* MPICH has no hook, but in builds over UCX each turn of a wait calls this function of UCX's, through the dynamic
 * linker, which finds this one before that. */
unsigned ucp_worker_progress(void *worker)
{
    static unsigned (*_Atomic next)(void *);
    unsigned (*call)(void *) = next;
    int (*move)(void) = moved;
    if (!call) {
        *(void **)&call = dlsym(RTLD_NEXT, "ucp_worker_progress");
        next = call;
    }
    has_moved = true;
    if (move)
        move();
    return call(worker);
}

/* MPI_Init has waited before: whether it came by here says what later waits do. */
bool door_hook(int (*move)(void), bool on)
{
    moved = on ? move : NULL;
    return has_moved;
}

/* Hydra gives each process one end of a pair of sockets that its proxy has made, one proxy for the job's ranks of a
 * machine. */
bool door_job(char job[DOOR_JOB], int *rank)
{
    const char *number = getenv("PMI_RANK"), *descriptor = getenv("PMI_FD");
    struct ucred proxy;
    socklen_t bytes = sizeof proxy;
    if (!number || !descriptor ||
        getsockopt(atoi(descriptor), SOL_SOCKET, SO_PEERCRED, &proxy, &bytes) < 0 || proxy.pid <= 0)
        return false;
    *rank = atoi(number);
    snprintf(job, DOOR_JOB, "hydra-%d", (int)proxy.pid);
    return true;
}

#endif
