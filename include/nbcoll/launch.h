/* SPDX-License-Identifier: BSD-3-Clause
 *
 * For programs started by `nbcoll run`: a rank learns from its environment who it is, and finds the others by shared
 * memory. This file and launch_agent.h alone read environment variables; they are compiled into the program, not the
 * library.
 *
 *     status = nbcoll_launch_join(&context, &comm);
 *     ...                                                work with the communicator of all ranks
 *     nbcoll_launch_leave(context, status);
 *
 * Rank 0 has the launcher's standard input, and, where that is a terminal and no prefix is asked for, its standard
 * error: it may draw there. Whatever else the ranks write passes through the launcher, a whole line at a time.
 *
 * When a rank fails, `nbcoll run` ends the others. A program whose survivors are to go on (nbcoll_comm_shrink) starts
 * its processes itself, and gives each the id (nbcoll_shm_id_make) and its rank, for nbcoll_shm_open.
 *
 * The variables: NBCOLL_RANK and NBCOLL_RANKS, decimal numbers; NBCOLL_ID, an nbcoll_shm_id as text; perhaps
 * NBCOLL_TUNING, the path of a tuning file, NBCOLL_TIMELINE, that of a recording (timeline.h), NBCOLL_WAITS, that of
 * one into which ranks note for whom they wait long, and NBCOLL_AGENT, the number of a socket (launch_agent.h).
 */
#include "shm.h"
#include "timeline.h"
#include "transport.h"

#ifndef NBCOLL_LAUNCH_H
#define NBCOLL_LAUNCH_H

#include <stdlib.h>
#include <string.h>

NBCOLLI_BEGIN

/* A decimal number of low..high, without sign or blanks. */
static inline nbcoll_status nbcolli_launch_number(const char *text, int low, int high, int *out)
{
    int number = 0;

    for (const char *c = text; *c; c++) {
        if (*c < '0' || *c > '9' || number > high / 10)
            return NBCOLL_ERR_CONFIG;
        number = 10 * number + (*c - '0');
    }
    if (!*text || number < low || number > high)
        return NBCOLL_ERR_CONFIG;
    *out = number;
    return NBCOLL_OK;
}

/* Sets rank, ranks and id of a configuration for nbcoll_shm_open, and leaves its other members. Errors, which leave all
 * of it: ERR_NULL, ERR_LAUNCH (none of the variables is set: not started by `nbcoll run`, as its text says), ERR_CONFIG
 * (one is missing or malformed), ERR_UNSUPPORTED (several machines). Not while a thread changes the environment. */
static inline nbcoll_status nbcoll_launch_read(nbcoll_shm_config *config)
{
    const char *rank_text = getenv("NBCOLL_RANK"), *ranks_text = getenv("NBCOLL_RANKS"), *id = getenv("NBCOLL_ID");
    int rank, ranks;

    if (!config)
        return NBCOLL_ERR_NULL;
    if (!rank_text && !ranks_text && !id)
        return NBCOLL_ERR_LAUNCH;
    if (!rank_text || !ranks_text || !id || !*id || strlen(id) >= sizeof config->id.text ||
        nbcolli_launch_number(ranks_text, 1, NBCOLL_SHM_RANKS, &ranks) != NBCOLL_OK ||
        nbcolli_launch_number(rank_text, 0, ranks - 1, &rank) != NBCOLL_OK) /* an nbcoll_tcp_id: several machines */
        return id && strlen(id) > 40 && id[32] == '-' ? NBCOLL_ERR_UNSUPPORTED : NBCOLL_ERR_CONFIG;
    config->rank = rank;
    config->ranks = ranks;
    memset(&config->id, 0, sizeof config->id);
    memcpy(config->id.text, id, strlen(id));
    return NBCOLL_OK;
}

/* Opens this rank's endpoint with what nbcoll_launch_read finds, and defaults for the rest. A program that was started
 * without the launcher is refused: four such programs would each compute alone, and nobody would notice. Errors: those
 * of nbcoll_launch_read and of nbcoll_shm_open. */
static inline nbcoll_status nbcoll_launch_open(nbcoll_endpoint **out)
{
    nbcoll_shm_config config;
    nbcoll_status status;

    memset(&config, 0, sizeof config);
    config.size = sizeof config;
    status = nbcoll_launch_read(&config);
    return status != NBCOLL_OK ? status : nbcoll_shm_open(&config, out);
}

/* As nbcoll_launch_open, for a program that makes sense alone: without the launcher it is the one rank, 0 of 1, and the
 * size of its communicator tells. Variables that are malformed are refused all the same. Errors: those of
 * nbcoll_launch_open but ERR_LAUNCH, and of nbcoll_shm_id_make. */
static inline nbcoll_status nbcoll_launch_open_or_alone(nbcoll_endpoint **out)
{
    nbcoll_shm_config config;
    nbcoll_status status;

    memset(&config, 0, sizeof config);
    config.size = sizeof config;
    status = nbcoll_launch_read(&config);
    if (status == NBCOLL_ERR_LAUNCH) {
        config.ranks = 1;
        status = nbcoll_shm_id_make(&config.id);
    }
    return status != NBCOLL_OK ? status : nbcoll_shm_open(&config, out);
}

/* The watcher for contexts of a program under `nbcoll run --timeout`, whose launcher then says at the timeout which
 * ranks were late; the two functions below pass it. Null without that, or where the recording cannot be opened. Each
 * source file that calls this has its own, which is never closed; those of a process record together. Not on two
 * threads at once. */
static inline const nbcoll_observer *nbcoll_launch_watcher(void)
{
    static nbcoll_observer watcher;
    const char *timeline = getenv("NBCOLL_TIMELINE"), *file = timeline ? timeline : getenv("NBCOLL_WAITS");
    const char *rank = getenv("NBCOLL_RANK");
    int number;

    if (!watcher.event && file && rank && nbcolli_launch_number(rank, 0, NBCOLL_SHM_RANKS - 1, &number) == NBCOLL_OK)
        (void)nbcoll_timeline_open(file, number, &watcher);
    return watcher.event ? &watcher : NULL;
}

/* The observer for contexts of a program under `nbcoll run --timeline`: the same one. Null without that. */
static inline const nbcoll_observer *nbcoll_launch_observer(void)
{
    return getenv("NBCOLL_TIMELINE") ? nbcoll_launch_watcher() : NULL;
}

/* What both of the following do. The recording is opened before the rank waits for others. */
static inline nbcoll_status nbcolli_launch_join(nbcoll_status (*opens)(nbcoll_endpoint **), nbcoll_context **context,
                                                nbcoll_comm **comm)
{
    const nbcoll_observer *observer = nbcoll_launch_observer(), *watcher = nbcoll_launch_watcher();
    nbcoll_endpoint *end[2] = {NULL, NULL}; /* the second one between machines */
    nbcoll_status opened = opens(end), status = opened;
    nbcoll_context_config config;

    memset(&config, 0, sizeof config);
    config.size = sizeof config;
    config.observer = observer;
    config.watcher = watcher;
    *context = NULL;
    *comm = NULL;
    if (status == NBCOLL_OK && (status = nbcoll_context_create(NBCOLL_ABI, &config, context)) == NBCOLL_OK)
        status = nbcoll_comm_create_over(*context, end[1] ? 2 : 1, end, NULL, comm, NBCOLL_FOREVER);
    if (status == NBCOLL_OK)
        return status;
    for (int i = 0; opened == NBCOLL_OK && i < 2; i++)
        nbcoll_endpoint_close(end[i]); /* unless the context has it */
    if (nbcoll_context_free(*context) == NBCOLL_ERR_BUSY)
        nbcoll_context_abandon(*context, NULL, NULL); /* nobody waits for what is still on its way */
    *context = NULL;
    *comm = NULL;
    return status;
}

/* All that a program needs to begin: opens this rank's end, and makes a context and in it the communicator of all
 * ranks, which waits until they have come or one is lost. The program ends with nbcoll_launch_leave. After an error
 * both are null and nothing is left. A program with hooks, rules or a deadline of its own calls the three by itself.
 * Errors: those of nbcoll_launch_open, nbcoll_context_create and nbcoll_comm_create. */
static inline nbcoll_status nbcoll_launch_join(nbcoll_context **context, nbcoll_comm **comm)
{
    return nbcolli_launch_join(nbcoll_launch_open, context, comm);
}

/* The same for a program that makes sense alone: see nbcoll_launch_open_or_alone. */
static inline nbcoll_status nbcoll_launch_join_or_alone(nbcoll_context **context, nbcoll_comm **comm)
{
    return nbcolli_launch_join(nbcoll_launch_open_or_alone, context, comm);
}

/* Ends what the two above began. Call it when all requests have ended: it hands over the messages that are still under
 * way and frees the context. Before, close relays and agents of the context, take it out of its driver, and stop its
 * ticks: it waits for these, perhaps for ever. After an error (`status`) it does not wait: it abandons the context
 * (nbcoll_context_abandon), or, if that is refused, leaves it as it is, since the program ends. A null context is
 * accepted. */
static inline void nbcoll_launch_leave(nbcoll_context *context, nbcoll_status status)
{
    nbcoll_status freed;

    while ((freed = nbcoll_context_free(context)) == NBCOLL_ERR_BUSY && status == NBCOLL_OK)
        status = nbcoll_progress(context);
    if (freed == NBCOLL_ERR_BUSY)
        nbcoll_context_abandon(context, NULL, NULL);
}

/* The path of the file that `nbcoll run --tuning` was given, for nbcoll_tuning_read (tuning.h), whose rules the program
 * then puts into the configuration of its communicators; null when there is none. Never fails. It lives as long as the
 * environment is not changed. */
static inline const char *nbcoll_launch_tuning(void)
{
    return getenv("NBCOLL_TUNING");
}

NBCOLLI_END
#endif
