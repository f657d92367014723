/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Ranks on one machine or on many: over shared memory within a machine and RDMA devices between them. They are started
 * by a launcher that speaks PMIx, or by hand; then rank 0 prints an id, which the others are given.
 *
 *     mpirun -n 4 cluster                         or: srun --mpi=pmix -n 4 cluster
 *     cluster 0 4                                 prints ID, and waits for
 *     cluster 1 4 ID                              ... and so on, on any machine that reaches the first one
 */
#include <nbcoll/cluster.h>
#include <nbcoll/pmix.h>
#include <nbcoll/transport.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int fails(const char *what, nbcoll_status status)
{
    fprintf(stderr, "%s: %s\n", what, nbcoll_status_text(status));
    return 1;
}

/* By hand: RANK RANKS [ID]. */
static nbcoll_status find_by_tcp(int argc, char **argv, nbcoll_cluster_config *cluster)
{
    nbcoll_tcp_config config = {.size = sizeof config, .rank = cluster->rank, .ranks = cluster->ranks};
    nbcoll_tcp_id id = {""};
    nbcoll_tcp *tcp;

    if (argc > 3)
        strncpy(id.text, argv[3], sizeof id.text - 1);
    nbcoll_status status = argc > 3 ? nbcoll_tcp_join(&config, &id, &tcp) : nbcoll_tcp_create(&config, &id, &tcp);
    if (status != NBCOLL_OK)
        return status;
    if (argc == 3) {
        printf("%s\n", id.text);
        fflush(stdout);
    }
    cluster->exchange = nbcoll_tcp_exchange;
    cluster->user = tcp;
    return NBCOLL_OK;
}

static nbcoll_status find_by_pmix(nbcoll_cluster_config *cluster)
{
    const nbcoll_pmix_config config = {.size = sizeof config};
    nbcoll_pmix *pmix;
    nbcoll_status status = nbcoll_pmix_create(&config, &cluster->rank, &cluster->ranks, &pmix);

    cluster->exchange = nbcoll_pmix_exchange;
    cluster->user = status == NBCOLL_OK ? pmix : NULL;
    return status;
}

int main(int argc, char **argv)
{
    nbcoll_cluster_config cluster = {.size = sizeof cluster};
    nbcoll_endpoint *end[2];
    nbcoll_context *context;
    nbcoll_comm *comm;
    int n, one = 1, sum = 0;

    if (argc > 2) {
        cluster.rank = atoi(argv[1]);
        cluster.ranks = atoi(argv[2]);
    }
    nbcoll_status status = argc > 2 ? find_by_tcp(argc, argv, &cluster) : find_by_pmix(&cluster);
    if (status == NBCOLL_OK)
        status = nbcoll_cluster_open(&cluster, end, &n);
    if (status != NBCOLL_OK)
        return fails("finding the others", status);

    status = nbcoll_context_create(NBCOLL_ABI, NULL, &context);
    if (status == NBCOLL_OK)
        status = nbcoll_comm_create_over(context, n, end, NULL, &comm, NBCOLL_FOREVER);
    if (status == NBCOLL_OK)
        status = nbcoll_allreduce(&one, &sum, 1, NBCOLL_INT32, NBCOLL_SUM, comm, NBCOLL_FOREVER);
    if (status != NBCOLL_OK)
        return fails("summing", status);
    if (cluster.rank == 0)
        printf("%d ranks over %s%s\n", sum, end[0]->transport->name, n > 1 ? " and verbs" : "");
    while (nbcoll_context_free(context) == NBCOLL_ERR_BUSY && status == NBCOLL_OK)
        nbcoll_progress(context); /* the last messages are on their way */
    if (argc > 2)
        nbcoll_tcp_close(cluster.user);
    else
        nbcoll_pmix_close(cluster.user);
    return 0;
}
