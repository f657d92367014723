/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Recordings of what ranks do and when, by an observer that writes into a file all ranks share.
 *
 *     nbcoll_timeline_create(descriptor, ranks);                 once, by who starts the ranks
 *     nbcoll_timeline_open(file, rank, &observer);               in each rank
 *     config.observer = &observer;                               of its contexts (nbcoll_context_config), to record all
 *     config.watcher = &observer;                                and for whom operations wait long, or only that
 *     nbcoll_timeline_read(descriptor, rank, &told, note, user); afterwards, whatever became of the ranks
 *
 * `nbcoll run --timeline` does the first and the last, nbcoll_launch_join (launch.h) the second. Each rank has room for
 * its last NBCOLL_TIMELINE_EVENTS events, 2.75 MiB of the file; later ones overwrite the first. The file is mapped: a
 * rank's notes survive when it is killed. Operations of a context with an observer take no fast path (replays, small
 * runs), so that small ones take longer than without: docs/figures.md says how much.
 *
 * Times are those of the contexts' clock (nbcoll_host.now, or CLOCK_MONOTONIC), which is one for all ranks of a
 * machine; ranks on several machines cannot be compared.
 */
#ifndef NBCOLL_TIMELINE_H
#define NBCOLL_TIMELINE_H

#include "schedule.h"

NBCOLLI_BEGIN

#define NBCOLL_TIMELINE_EVENTS 32768u /* of a rank that are kept */

typedef enum nbcoll_noted {
    NBCOLL_NOTED_BEGIN,   /* an operation has its slot; `name` says its schedule */
    NBCOLL_NOTED_STARTED, /* a step: a receive waits from here on */
    NBCOLL_NOTED_ENDED,   /* a step */
    NBCOLL_NOTED_END,     /* of an operation, well or badly */
    NBCOLL_NOTED_OPENED,  /* nbcoll_timeline_open; the rest of this event is 0 */
    NBCOLL_NOTED_WAITS    /* an operation has long waited for `peer`, or such a one is over (-1); `name` as of BEGIN */
} nbcoll_noted;

typedef struct nbcoll_timeline_event {
    uint64_t ns;
    uint64_t comm;      /* the same on all its ranks; UINT64_MAX: of the first one, as it is made */
    uint64_t tag;       /* of the operation: the same on all ranks of the communicator */
    uint32_t step;      /* NBCOLL_START and NBCOLL_END: of the operation as a whole */
    uint8_t noted;      /* nbcoll_noted */
    uint8_t kind;       /* of steps: nbcoll_kind */
    uint16_t unused;
    uint64_t bytes;     /* of steps */
    int32_t peer;       /* a rank of the endpoint; -1: none */
    uint32_t number;    /* as in nbcoll_step_view */
    char name[32];      /* of BEGIN and WAITS; ended by a zero */
} nbcoll_timeline_event;

/* Makes the open, empty file of this descriptor one for 1..65536 ranks. It stays the caller's.
 * Errors: ERR_CONFIG (ranks), ERR_MEMORY (it cannot be made so large). */
NBCOLL_API nbcoll_status nbcoll_timeline_create(int descriptor, int ranks);

/* Opens a rank's part of such a file, notes there that it has, and makes *out an observer that writes there. It may
 * serve several contexts, on any threads, and outlives them; nbcoll_timeline_close then ends it. One that is never
 * closed costs its address space only. Errors: ERR_NULL, ERR_CONFIG (no such file that may be written; the rank is none
 * of its ranks), ERR_MEMORY. */
NBCOLL_API nbcoll_status nbcoll_timeline_open(const char *file, int rank, nbcoll_observer *out);

/* Of what nbcoll_timeline_open has made. One that is zeroed is accepted. */
NBCOLL_API void nbcoll_timeline_close(nbcoll_observer *observer);

/* Calls `note` for each event of a rank that is still there, the oldest first; *told (may be null) becomes the number
 * of all events. It leaves out events that are being written, and bytes that are no event: a rank may have overwritten
 * them. Errors: as those of nbcoll_timeline_open. */
NBCOLL_API nbcoll_status nbcoll_timeline_read(int descriptor, int rank, uint64_t *told,
                                              void (*note)(void *user, const nbcoll_timeline_event *event), void *user);

NBCOLLI_END
#endif
