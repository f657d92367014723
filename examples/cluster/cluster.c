/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Ranks on one machine or on many: over shared memory within a machine, and RDMA devices or any network between them.
 * They are started by `nbcoll run`, for which nbcoll_launch_cluster_join would be all that a program needs; by a
 * launcher that speaks PMIx; or by hand: then rank 0 prints an id, which the others are given.
 *
 *     nbcoll run --hosts a:2,b:2 cluster
 *     mpirun -n 4 cluster                         or: srun --mpi=pmix -n 4 cluster
 *     cluster 0 4                                 prints ID, and waits for
 *     cluster 1 4 ID                              ... and so on, on any machine that reaches the first one
 */
#include <nbcoll/cluster.h>
#include <nbcoll/launch_cluster.h>
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

/* By whatever has started this program. */
static nbcoll_status open_all(int argc, char **argv, nbcoll_cluster_config *cluster, nbcoll_endpoint *end[2], int *n)
{
    nbcoll_status status = argc > 2 ? NBCOLL_ERR_LAUNCH : nbcoll_launch_cluster_open(NULL, end);

    *n = status == NBCOLL_OK && end[1] ? 2 : 1;
    if (status != NBCOLL_ERR_LAUNCH)
        return status;
    if (argc > 2) {
        cluster->rank = atoi(argv[1]);
        cluster->ranks = atoi(argv[2]);
    }
    status = argc > 2 ? find_by_tcp(argc, argv, cluster) : find_by_pmix(cluster);
    return status == NBCOLL_OK ? nbcoll_cluster_open(cluster, end, n) : status;
}

int main(int argc, char **argv)
{
    nbcoll_cluster_config cluster = {.size = sizeof cluster};
    nbcoll_endpoint *end[2];
    nbcoll_context *context;
    nbcoll_comm *comm;
    int n, one = 1, sum = 0;

    nbcoll_status status = open_all(argc, argv, &cluster, end, &n);
    if (status != NBCOLL_OK)
        return fails("finding the others", status);

    status = nbcoll_context_create(NBCOLL_ABI, NULL, &context);
    if (status == NBCOLL_OK)
        status = nbcoll_comm_create_over(context, n, end, NULL, &comm, NBCOLL_FOREVER);
    if (status == NBCOLL_OK)
        status = nbcoll_allreduce(&one, &sum, 1, NBCOLL_INT32, NBCOLL_SUM, comm, NBCOLL_FOREVER);
    if (status != NBCOLL_OK)
        return fails("summing", status);
    if (nbcoll_comm_rank(comm) == 0)
        printf("%d ranks over %s%s%s\n", sum, end[0]->transport->name, n > 1 ? " and " : "",
               n > 1 ? end[1]->transport->name : "");
    while (nbcoll_context_free(context) == NBCOLL_ERR_BUSY && status == NBCOLL_OK)
        nbcoll_progress(context); /* the last messages are on their way */
    if (argc > 2)
        nbcoll_tcp_close(cluster.user);
    else
        nbcoll_pmix_close(cluster.user); /* null if `nbcoll run` has started this */
    return 0;
}
