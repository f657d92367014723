/* SPDX-License-Identifier: BSD-3-Clause
 *
 * For programs started by `nbcoll run --hosts`: a rank finds the others on its own and on other machines. Without that
 * option all is as launch.h has it. Like launch.h it is compiled into the program, not the library; the program is
 * linked with nbcoll_cluster.
 *
 *     status = nbcoll_launch_cluster_join(&context, &comm);
 *     ...                                                work with the communicator of all ranks
 *     nbcoll_launch_leave(context, status);
 *
 * The variables: NBCOLL_RANK and NBCOLL_RANKS; NBCOLL_ID, an nbcoll_tcp_id as text; and, for rank 0, NBCOLL_LISTENER,
 * the number of a descriptor that listens there.
 */
#include "cluster.h"
#include "launch.h"

#ifndef NBCOLL_LAUNCH_CLUSTER_H
#define NBCOLL_LAUNCH_CLUSTER_H

NBCOLLI_BEGIN

static inline nbcoll_status nbcolli_launch_cluster_open(nbcoll_cluster_config *config, nbcoll_tcp_id *id,
                                                        nbcoll_endpoint *end[2])
{
    const char *rank = getenv("NBCOLL_RANK"), *ranks = getenv("NBCOLL_RANKS"), *listener = getenv("NBCOLL_LISTENER");
    nbcoll_tcp_config tcp_config;
    nbcoll_tcp *tcp;
    int n;

    memset(&tcp_config, 0, sizeof tcp_config);
    tcp_config.size = sizeof tcp_config;
    if (!rank || !ranks || nbcolli_launch_number(ranks, 1, 1 << 30, &config->ranks) != NBCOLL_OK ||
        nbcolli_launch_number(rank, 0, config->ranks - 1, &config->rank) != NBCOLL_OK ||
        (listener && nbcolli_launch_number(listener, 3, 1 << 30, &tcp_config.listener) != NBCOLL_OK))
        return NBCOLL_ERR_CONFIG;
    tcp_config.rank = config->rank;
    tcp_config.ranks = config->ranks;
    nbcoll_status status = nbcoll_tcp_join(&tcp_config, id, &tcp);
    if (status != NBCOLL_OK)
        return status;
    config->exchange = nbcoll_tcp_exchange;
    config->user = tcp;
    status = nbcoll_cluster_open(config, end, &n);
    nbcoll_tcp_close(tcp);
    return status;
}

/* Opens this rank's endpoints, and sets those that it does not need to null: as nbcoll_cluster_open does for ranks that
 * `nbcoll run --hosts` has started, else as nbcoll_launch_open does. `config` may be null; its ranks and exchange are
 * not read. Collective. Once: the first rank listens no more when all have come. Errors: those of
 * nbcoll_launch_open, nbcoll_tcp_join and nbcoll_cluster_open. */
static inline nbcoll_status nbcoll_launch_cluster_open(const nbcoll_cluster_config *config, nbcoll_endpoint *end[2])
{
    const char *text = getenv("NBCOLL_ID");
    nbcoll_cluster_config own;
    nbcoll_shm_config near;
    nbcoll_tcp_id id;

    if (!end)
        return NBCOLL_ERR_NULL;
    end[0] = end[1] = NULL;
    if (nbcoll_launch_read(&near) != NBCOLL_ERR_UNSUPPORTED)
        return nbcoll_launch_open(end);
    if (strlen(text) >= sizeof id.text)
        return NBCOLL_ERR_CONFIG;
    memset(&own, 0, sizeof own);
    if (config)
        memcpy(&own, config, config->size < sizeof own ? config->size : sizeof own);
    own.size = sizeof own;
    memset(&id, 0, sizeof id);
    memcpy(id.text, text, strlen(text));
    return nbcolli_launch_cluster_open(&own, &id, end);
}

static inline nbcoll_status nbcolli_launch_cluster_default(nbcoll_endpoint *end[2])
{
    return nbcoll_launch_cluster_open(NULL, end);
}

/* As nbcoll_launch_join (launch.h), on one machine or several: shared memory within each, and between them RDMA
 * devices, or any network. Errors: those of nbcoll_launch_cluster_open, nbcoll_context_create and
 * nbcoll_comm_create_over. */
static inline nbcoll_status nbcoll_launch_cluster_join(nbcoll_context **context, nbcoll_comm **comm)
{
    return nbcolli_launch_join(nbcolli_launch_cluster_default, context, comm);
}

NBCOLLI_END
#endif
