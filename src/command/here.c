/* SPDX-License-Identifier: BSD-3-Clause
 * What ranks that `nbcoll run` starts on this machine agree on: as many as there would be open shared memory, where
 * they would be bound, and make a communicator with the library's defaults. */
#include "rules.h"

#ifdef NBCOLL_WITH_SHM

#include <nbcoll/shm.h>

#include "crew.h"
#include "run.h"

#define TIMEOUT UINT64_C(20000000000) /* ns to find each other: for a machine under load */

/* What the ranks tell the command. */
typedef struct told {
    nbcoll_status status; /* of rank 0 */
    nbcoll_terms terms;   /* its communicator's; what they point to is gone */
} told;

typedef struct meeting {
    nbcoll_shm_id id;
    int ranks;
    const run_binding *binding;
    told *told;
} meeting;

static void live(void *user, int rank)
{
    const meeting *m = user;
    nbcoll_shm_config config = {.size = sizeof config, .id = m->id, .rank = rank, .ranks = m->ranks,
                                .timeout = TIMEOUT};
    nbcoll_terms terms = {.size = sizeof terms};
    nbcoll_endpoint *end;
    nbcoll_context *context;
    nbcoll_comm *comm;

    run_bind_here(m->binding, rank);
    nbcoll_status status = nbcoll_shm_open(&config, &end);
    if (status == NBCOLL_OK)
        status = nbcoll_context_create(NBCOLL_ABI, NULL, &context);
    if (status == NBCOLL_OK)
        status = nbcoll_comm_create(context, end, NULL, &comm, TIMEOUT);
    if (status == NBCOLL_OK)
        status = nbcoll_comm_terms(comm, &terms);
    if (rank == 0)
        *m->told = (told){status, terms};
    if (status == NBCOLL_OK)
        nbcoll_barrier(comm, TIMEOUT); /* nobody is gone before rank 0 has its communicator */
}

static nbcoll_status meet(meeting *m)
{
    crew ranks = {.ranks = m->ranks, .together = 1, .live = live, .user = m};
    nbcoll_status status = m->told ? nbcoll_shm_id_make(&m->id) : NBCOLL_ERR_MEMORY;

    if (status == NBCOLL_OK)
        status = crew_run(&ranks);
    return status == NBCOLL_OK ? m->told->status : status;
}

nbcoll_status command_terms_here(const command *self, int ranks, nbcoll_terms *out)
{
    run_binding *binding = NULL;

    if (ranks > NBCOLL_SHM_RANKS)
        return NBCOLL_ERR_LIMIT;
    if (run_bind_find(self, NULL, ranks, &binding))
        return NBCOLL_ERR_MEMORY;
    meeting m = {.ranks = ranks, .binding = binding, .told = crew_share(sizeof *m.told)};
    nbcoll_status status = meet(&m);
    if (status == NBCOLL_OK) {
        *out = m.told->terms;
        out->nodes = NULL; /* one */
        out->rules = NULL;
        out->rule_count = 0;
    }
    crew_unshare(m.told, sizeof *m.told);
    run_bind_free(binding);
    return status;
}

#else

nbcoll_status command_terms_here(const command *self, int ranks, nbcoll_terms *out)
{
    (void)self;
    (void)ranks;
    (void)out;
    return NBCOLL_ERR_UNSUPPORTED;
}

#endif
