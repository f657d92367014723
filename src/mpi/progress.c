/* SPDX-License-Identifier: BSD-3-Clause
 * Two engines of progress. While nbcoll waits, the test of a receive that nothing ever matches moves the MPI. While
 * the MPI waits it calls nbcoll_progress. */
#include <sched.h>
#include <stdatomic.h>

#include "door.h"

enum { EACH = 64 };

static nbcoll_context *moved;
static MPI_Comm own = MPI_COMM_NULL;
static MPI_Request never = MPI_REQUEST_NULL;
static atomic_flag testing = ATOMIC_FLAG_INIT; /* one thread at a time may test a request */
static DOOR_THREAD int inside;                 /* the thread is in nbcoll already */
static bool crowded;                           /* the ranks of the node have fewer processors than they are */
static bool is_called;
static unsigned char nothing;

void door_pause(void *user, uint64_t looks)
{
    (void)user;
    if ((crowded || looks % EACH == 0) && !atomic_flag_test_and_set(&testing)) {
        int flag;
        inside++;
        PMPI_Test(&never, &flag, MPI_STATUS_IGNORE);
        inside--;
        atomic_flag_clear(&testing);
    }
    if (crowded)
        sched_yield();
}

bool door_progress_prepare(MPI_Comm node)
{
    int ranks;
    cpu_set_t mine, all; /* a launcher may have bound each rank to one */
    CPU_ZERO(&mine);
    CPU_ZERO(&all);
    sched_getaffinity(0, sizeof mine, &mine);
    PMPI_Comm_size(node, &ranks);
    PMPI_Allreduce(&mine, &all, sizeof mine, MPI_BYTE, MPI_BOR, node);
    crowded = CPU_COUNT(&all) < ranks;
    return PMPI_Comm_dup(MPI_COMM_SELF, &own) == MPI_SUCCESS &&
           PMPI_Irecv(&nothing, 1, MPI_BYTE, 0, 0, own, &never) == MPI_SUCCESS;
}

void door_enter(void)
{
    inside++;
}

void door_leave(void)
{
    inside--;
}

void door_progress(void)
{
    if (!inside && moved) {
        inside++;
        nbcoll_progress(moved);
        inside--;
    }
}

bool door_crowded(void)
{
    return crowded;
}

MPI_Comm door_self(void)
{
    return own;
}

bool door_is_called(void)
{
    return is_called;
}

static int hook(void)
{
    is_called = door_only_blocks;
    door_progress();
    is_called = false;
    return 0;
}

bool door_progress_start(nbcoll_context *context)
{
    moved = context;
    return door_hook(hook, true);
}

void door_progress_stop(void)
{
    door_hook(hook, false);
    moved = NULL;
}

void door_progress_end(void)
{
    if (never != MPI_REQUEST_NULL) {
        PMPI_Cancel(&never);
        PMPI_Wait(&never, MPI_STATUS_IGNORE);
    }
    if (own != MPI_COMM_NULL)
        PMPI_Comm_free(&own);
}
