/* SPDX-License-Identifier: BSD-3-Clause
 * Of one process: below MPI_THREAD_MULTIPLE another thread's calls of an endpoint find nothing, and a configuration
 * that is wrong is refused. */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include <nbcoll/mpi.h>

#define CHECK(condition) ((condition) ? (void)0 : fails(__LINE__, #condition))

static void fails(int line, const char *what)
{
    fprintf(stderr, "calls.c:%d: %s\n", line, what);
    exit(1);
}

static nbcoll_posted post(nbcoll_endpoint *ep)
{
    static nbcoll_work work;
    return ep->transport->post(ep, 0, &(nbcoll_header){{1}}, NULL, 0, &work);
}

static int arrives(nbcoll_endpoint *ep)
{
    nbcoll_completions found = NBCOLL_COMPLETIONS_EMPTY;
    ep->transport->progress(ep, &found);
    return found.arrived != NULL;
}

static void *call_from_another_thread(void *ep)
{
    CHECK(post(ep) == NBCOLL_POST_NOT_NOW);
    for (int i = 0; i < 1000; i++)
        CHECK(!arrives(ep));
    return NULL;
}

static void another_thread_finds_nothing(MPI_Comm *comm)
{
    nbcoll_mpi_config config = {.size = sizeof config, .comm = comm};
    nbcoll_endpoint *ep;
    pthread_t other;

    CHECK(nbcoll_mpi_open(&config, &ep) == NBCOLL_OK);
    CHECK(post(ep) == NBCOLL_POST_DONE);
    CHECK(pthread_create(&other, NULL, call_from_another_thread, ep) == 0);
    pthread_join(other, NULL);
    while (!arrives(ep))
        ;
    nbcoll_endpoint_close(ep);
}

static void refuses(nbcoll_mpi_config config, nbcoll_status why)
{
    nbcoll_endpoint *ep = NULL;
    CHECK(nbcoll_mpi_open(&config, &ep) == why && !ep);
}

static void what_is_wrong_is_refused(MPI_Comm *comm)
{
    static const int process[] = {0, 1}, own[] = {0, 0};
    nbcoll_mpi_config good = {.size = sizeof good, .comm = comm}, c;
    nbcoll_endpoint *ep;

    CHECK(nbcoll_mpi_open(NULL, &ep) == NBCOLL_ERR_NULL && nbcoll_mpi_open(&good, NULL) == NBCOLL_ERR_NULL);
    refuses((c = good, c.size--, c), NBCOLL_ERR_CONFIG);
    refuses((c = good, c.comm = NULL, c), NBCOLL_ERR_NULL);
    refuses((c = good, c.credits = 1, c), NBCOLL_ERR_CONFIG);
    refuses((c = good, c.receives = 1025, c), NBCOLL_ERR_CONFIG);
    refuses((c = good, c.payload = 257, c), NBCOLL_ERR_CONFIG);
    refuses((c = good, c.first_tag = -1, c), NBCOLL_ERR_CONFIG);
    refuses((c = good, c.process = process, c.ranks = 2, c), NBCOLL_ERR_RANK);
    refuses((c = good, c.process = own, c.ranks = 2, c.rank = 2, c), NBCOLL_ERR_RANK);
}

int main(void)
{
    int level;
    MPI_Comm comm;

    MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &level);
    if (level == MPI_THREAD_MULTIPLE)
        return 77; /* this MPI has no other */
    MPI_Comm_dup(MPI_COMM_SELF, &comm);
    another_thread_finds_nothing(&comm);
    what_is_wrong_is_refused(&comm);
    MPI_Comm_free(&comm);
    MPI_Finalize();
    return 0;
}
