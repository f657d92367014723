/* SPDX-License-Identifier: BSD-3-Clause
 * The conformance test of transports/mpi: all ranks of a case lie in its one process, which is an MPI job of its own.
 * Whatever the suite asks of ranks that are processes concerns their deaths, of which MPI says nothing. */
#include <mpi.h>
#include <stdlib.h>

#include <nbcoll/conformance.h>
#include <nbcoll/mpi.h>

enum { RANKS = 9 };

static void finalize(void)
{
    MPI_Finalize();
}

static void *make(const nbcoll_conformance *c, int ranks, nbcoll_endpoint *end[])
{
    static const int process[RANKS];
    static MPI_Comm comm;
    int is_initialized = 0, level;
    nbcoll_mpi_config config = *(const nbcoll_mpi_config *)c->user;

    MPI_Initialized(&is_initialized);
    if (!is_initialized && MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &level) == MPI_SUCCESS)
        atexit(finalize);
    if (MPI_Comm_dup(MPI_COMM_SELF, &comm) != MPI_SUCCESS)
        return NULL;
    config.size = sizeof config;
    config.comm = &comm;
    config.process = process;
    config.ranks = ranks;
    for (config.rank = 0; config.rank < ranks; config.rank++)
        if (nbcoll_mpi_open(&config, &end[config.rank]) != NBCOLL_OK)
            return NULL;
    return &comm;
}

static void destroy(const nbcoll_conformance *c, void *made)
{
    (void)c;
    MPI_Comm_free(made);
}

/* An argument: the one case to run. */
int main(int argc, char **argv)
{
    static const nbcoll_mpi_config ways[] = {{.size = 0}, {.credits = 2, .receives = 1, .payload = 256}};
    int failed = 0;

    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        const nbcoll_conformance mpi = {.size = sizeof mpi,
                                        .name = i ? "mpi, as little as may be" : "mpi",
                                        .user = &ways[i],
                                        .promises = NBCOLL_CONFORMANCE_REFUSES,
                                        .only = argc > 1 ? argv[1] : NULL,
                                        .make = make,
                                        .destroy = destroy,
                                        .result = nbcoll_conformance_print};
        failed += nbcoll_conformance_run(&mpi) != 0;
    }
    return failed != 0;
}
