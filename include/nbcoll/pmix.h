/* SPDX-License-Identifier: BSD-3-Clause
 *
 * pmix: programs started by a launcher that speaks PMIx (Open MPI's mpirun, PRRTE's prterun, Slurm's srun --mpi=pmix)
 * learn who they are, and find each other. They need not be MPI's.
 *
 *     nbcoll_pmix_config config = {.size = sizeof config};
 *     nbcoll_pmix_create(&config, &rank, &ranks, &pmix);
 *     nbcoll_cluster_config cluster = {.size = sizeof cluster, .rank = rank, .ranks = ranks,
 *                                      .exchange = nbcoll_pmix_exchange, .user = pmix};
 *     nbcoll_cluster_open(&cluster, endpoints, &n);
 *     nbcoll_comm_create_over(context, n, endpoints, NULL, &comm, NBCOLL_FOREVER);
 *     ...
 *     nbcoll_context_free(context);
 *     nbcoll_pmix_close(pmix);
 *
 * This part of nbcoll is optional: a library of its own that needs libpmix (pkg-config: nbcoll_pmix; CMake: the
 * component `pmix`, target nbcoll::pmix). libpmix reads the environment, and has threads and memory of its own.
 */
#include "nbcoll.h"

#ifndef NBCOLL_PMIX_H
#define NBCOLL_PMIX_H

#ifdef NBCOLL_PREFIX /* not among the names of every copy */
#define nbcoll_pmix_create NBCOLLI_PREFIXED(NBCOLL_PREFIX, nbcoll_pmix_create)
#define nbcoll_pmix_exchange NBCOLLI_PREFIXED(NBCOLL_PREFIX, nbcoll_pmix_exchange)
#define nbcoll_pmix_close NBCOLLI_PREFIXED(NBCOLL_PREFIX, nbcoll_pmix_close)
#endif

NBCOLLI_BEGIN

typedef struct nbcoll_pmix nbcoll_pmix;

typedef struct nbcoll_pmix_config {
    size_t size;
    /* Of what the ranks publish: the same on all ranks, another one for each nbcoll_pmix of a process ["nbcoll"]. At
     * most 64 characters. Read in the call. */
    const char *name;
    uint64_t timeout; /* ns for an exchange, where the launcher keeps to it [a minute]; NBCOLL_FOREVER */
    nbcoll_host host; /* may be all 0; copied */
} nbcoll_pmix_config;

/* Joins the job. From one thread of each process at a time, as all calls here. Errors: NULL, CONFIG (size, name),
 * MEMORY, LAUNCH (no launcher that speaks PMIx has started this process), TRANSPORT (it does not say how many ranks
 * there are). */
NBCOLL_API nbcoll_status nbcoll_pmix_create(const nbcoll_pmix_config *config, int *rank, int *ranks, nbcoll_pmix **out);

/* all[r * bytes ..) becomes rank r's mine[0..bytes), bytes > 0. Collective over all ranks of the job; blocks; may be
 * called again. `pmix` is an nbcoll_pmix. Errors: NULL, ARGUMENT (bytes 0), TIMEOUT, MISMATCH (a rank's bytes differ),
 * PEER_LOST (a rank has ended, where the launcher says so), MEMORY, TRANSPORT (another error of libpmix). */
NBCOLL_API nbcoll_status nbcoll_pmix_exchange(void *pmix, const void *mine, void *all, size_t bytes);

/* Leaves the job, unless something else in the process, like an MPI, is in it. A launcher takes a process that ends
 * without this call for crashed. Null is accepted. */
NBCOLL_API void nbcoll_pmix_close(nbcoll_pmix *pmix);

NBCOLLI_END
#endif
