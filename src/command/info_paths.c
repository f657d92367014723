/* SPDX-License-Identifier: BSD-3-Clause
 * The copy paths of this machine, found by trial: three ranks open shared memory and tell what each found out about the
 * others. Two of them are threads of one process, the third is another one beside it, as those of `nbcoll run` are: a
 * parent and its child may be allowed more. The third also takes some of the memory that all can read. */
#include <stdio.h>
#include <string.h>

#include <nbcoll/shm.h>

#include "command.h"
#include "crew.h"
#include "info.h"

#define TIMEOUT UINT64_C(5000000000) /* ns to find each other: for a machine under load */

enum { RANKS = 3, APART = 2 }; /* the last rank is a process of its own */

/* What can be found out: between threads, between processes, and with memory of nbcoll_mem_alloc. */
enum { THREADS, PROCESSES, ALLOCATED, MATTERS };

/* What one rank found out. */
typedef struct finding {
    /* Of what several ranks say, the most telling: a rank that failed, rather than those that then lack it; a rank that
     * could not read, rather than the one that it could not read. 0: nothing yet. */
    int weight;
    char path[32], why[256]; /* without a path: why there is none */
} finding;

typedef struct trial {
    nbcoll_shm_id id;
    finding found[RANKS][RANKS]; /* [rank][peer]; the last rank's own: ALLOCATED */
} trial;

/* ---- in the ranks ---------------------------------------------------------------------------------------------- */

static finding failed(nbcoll_status status)
{
    finding f = {.weight = status == NBCOLL_ERR_PEER_LOST || status == NBCOLL_ERR_TIMEOUT ? 3 : 4};
    snprintf(f.why, sizeof f.why, "%s: %s", nbcoll_status_name(status), nbcoll_status_text(status));
    return f;
}

static finding look(const nbcoll_endpoint *end, int peer)
{
    static const char *const names[] = {
        [NBCOLL_SHM_BY_REFERENCE] = "by reference",
        [NBCOLL_SHM_BY_CMA] = "process_vm_readv",
        [NBCOLL_SHM_BY_FRAGMENTS] = "fragments",
        [NBCOLL_SHM_BY_PIECES] = "pieces",
        [NBCOLL_SHM_BY_EITHER] = "pieces or process_vm_readv",
    };
    nbcoll_shm_peer is = {.size = sizeof is};
    nbcoll_status status = nbcoll_shm_describe(end, peer, &is);
    finding f = {.weight = is.error ? 2 : 1};
    if (status != NBCOLL_OK)
        return failed(status);
    snprintf(f.path, sizeof f.path, "%s", names[is.path]);
    snprintf(f.why, sizeof f.why, "%s", is.why);
    if (is.error)
        command_add(f.why, sizeof f.why, " (%s)", strerror(is.error));
    return f;
}

static finding reserve(nbcoll_endpoint *end)
{
    const nbcoll_shared *shared = end->transport->shared;
    uint64_t at;
    nbcoll_status status = shared ? shared->reserve(end, 1, &at) : NBCOLL_ERR_UNSUPPORTED;
    if (status != NBCOLL_OK)
        return failed(status);
    shared->release(end, at);
    return (finding){.weight = 1, .path = "in place"};
}

/* Notes what this rank finds, or, by an error, why it does not. */
static void live(void *user, int rank)
{
    trial *t = user;
    nbcoll_shm_config config = {.size = sizeof config, .id = t->id, .rank = rank, .ranks = RANKS, .timeout = TIMEOUT};
    nbcoll_endpoint *end = NULL;
    nbcoll_status status = nbcoll_shm_open(&config, &end);
    for (int peer = 0; peer < RANKS; peer++) {
        if (status != NBCOLL_OK)
            t->found[rank][peer] = failed(status);
        else if (peer != rank)
            t->found[rank][peer] = look(end, peer);
        else if (rank == APART)
            t->found[rank][peer] = reserve(end);
    }
    if (end)
        nbcoll_endpoint_close(end);
}

/* ---- around them ----------------------------------------------------------------------------------------------- */

/* The most telling finding about a matter, or how the ranks ended without one. */
static finding tell(const trial *t, int matter, nbcoll_status ended)
{
    finding told = {.why = "the ranks ended before they could tell"};
    if (ended != NBCOLL_OK)
        told = failed(ended);
    told.weight = 0;
    for (int rank = 0; rank < RANKS; rank++)
        for (int peer = 0; peer < RANKS; peer++) {
            const finding *f = &t->found[rank][peer];
            int is_pair = (rank == APART) != (peer == APART);
            int about = rank != peer ? is_pair ? PROCESSES : THREADS : rank == APART ? ALLOCATED : MATTERS;
            if (about == matter && f->weight > told.weight)
                told = *f;
        }
    return told;
}

json_t *info_paths(void)
{
    static const char *const names[] = {[THREADS] = "threads", [PROCESSES] = "processes", [ALLOCATED] = "mem_alloc"};
    static const trial nothing;
    trial *t = crew_share(sizeof *t);
    crew ranks = {.ranks = RANKS, .together = APART, .live = live, .user = t};
    nbcoll_status status = t ? nbcoll_shm_id_make(&t->id) : NBCOLL_ERR_MEMORY;
    if (status == NBCOLL_OK)
        status = crew_run(&ranks);
    json_t *all = json_object();
    for (int i = 0; i < MATTERS; i++) {
        finding f = tell(t ? t : &nothing, i, status);
        json_object_set_new(all, names[i], json_pack("{s:s?, s:s}", "path", *f.path ? f.path : NULL, "why", f.why));
    }
    crew_unshare(t, sizeof *t);
    return all;
}
