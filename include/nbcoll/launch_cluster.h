/* SPDX-License-Identifier: BSD-3-Clause
 *
 * For programs started by `nbcoll run --hosts`, in a batch system's allocation by `nbcoll run`, or by Slurm's srun or
 * Kubernetes: a rank finds the others on its own and on other machines. Else all is as launch.h has it. Like that it is
 * compiled into the program, not the library; the program is linked with nbcoll_cluster.
 *
 *     status = nbcoll_launch_cluster_join(&context, &comm);
 *     ...                                                work with the communicator of all ranks
 *     nbcoll_launch_leave(context, status);
 *
 * The variables: NBCOLL_RANK and NBCOLL_RANKS; NBCOLL_ID, an nbcoll_tcp_id as text; and, for rank 0, NBCOLL_LISTENER,
 * the number of a descriptor that listens there.
 *
 * Ranks that something else has started meet as nbcoll_tcp_meet says: tasks of `srun`, and any where NBCOLL_HOST names
 * rank 0's machine and there is no NBCOLL_ID. Whatever a variable on the left says goes before those on its right:
 *
 *     rank      NBCOLL_RANK, JOB_COMPLETION_INDEX (Kubernetes), SLURM_PROCID
 *     ranks     NBCOLL_RANKS, SLURM_STEP_NUM_TASKS
 *     host      NBCOLL_HOST, the first one of SLURM_STEP_NODELIST
 *     port      NBCOLL_PORT, one of 20000..29999 by SLURM_JOB_ID and SLURM_STEP_ID, 20000
 *     secret    NBCOLL_SECRET_FILE, $HOME/.nbcoll/secret: paths
 *
 * They wait for each other for ten minutes. Slurm's do not count where a starter within the step, such as mpirun, says
 * by OMPI_COMM_WORLD_RANK, PMIX_RANK or PMI_RANK that this is another rank.
 */
#include "cluster.h"
#include "launch.h"

#ifndef NBCOLL_LAUNCH_CLUSTER_H
#define NBCOLL_LAUNCH_CLUSTER_H

#include <unistd.h>

NBCOLLI_BEGIN

/* The first of these variables that is set; null: none. */
static inline const char *nbcolli_launch_first(const char *one, const char *other, const char *third)
{
    const char *text = getenv(one);

    if (!text && other)
        text = getenv(other);
    return text || !third ? text : getenv(third);
}

static inline nbcoll_status nbcolli_launch_numbers(const char *rank, const char *ranks, nbcoll_cluster_config *config,
                                                   nbcoll_tcp_config *tcp)
{
    if (!rank || !ranks || nbcolli_launch_number(ranks, 1, 1 << 30, &config->ranks) != NBCOLL_OK ||
        nbcolli_launch_number(rank, 0, config->ranks - 1, &config->rank) != NBCOLL_OK)
        return NBCOLL_ERR_CONFIG;
    memset(tcp, 0, sizeof *tcp);
    tcp->size = sizeof *tcp;
    tcp->rank = config->rank;
    tcp->ranks = config->ranks;
    return NBCOLL_OK;
}

/* Is this a task of srun, and not a child of one that numbers its children itself? */
static inline int nbcolli_launch_is_task(void)
{
    static const char *const names[] = {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK"};
    const char *task = getenv("SLURM_PROCID");

    for (size_t i = 0; task && i < sizeof names / sizeof *names; i++) {
        const char *other = getenv(names[i]);
        if (other && strcmp(other, task) != 0)
            return 0;
    }
    return task && getenv("SLURM_STEP_NUM_TASKS") && getenv("SLURM_STEP_NODELIST");
}

/* Where tasks of srun meet: *host becomes the first host of the step; the port is this step's own. */
static inline nbcoll_status nbcolli_launch_task(nbcoll_cluster_place *host, char job[64], int *port)
{
    const char *id = getenv("SLURM_JOB_ID"), *step = getenv("SLURM_STEP_ID"), *again = getenv("SLURM_RESTART_COUNT");
    const char *part[3] = {id ? id : "", step ? step : "", again ? again : ""};
    size_t length = 0;
    int sum = 0, n;
    nbcoll_status status = nbcoll_cluster_read(getenv("SLURM_STEP_NODELIST"), NULL, 0, host, 1, &n, NULL);

    for (int i = 0; i < 3; i++) {
        for (const char *c = part[i]; *c && length < 62; c++) {
            sum = (10 * sum + *c % 128) % 10000;
            job[length++] = *c;
        }
        job[length++] = '.';
    }
    job[length - 1] = 0;
    *port = 20000 + sum;
    return status == NBCOLL_ERR_LIMIT ? NBCOLL_OK : status; /* there are more hosts */
}

/* For ranks that `nbcoll run` has not started. Errors: ERR_LAUNCH (nothing that is known here has started them, or they
 * have no secret), ERR_CONFIG, and those of nbcoll_tcp_meet. */
static inline nbcoll_status nbcolli_launch_meet(nbcoll_cluster_config *config, nbcoll_tcp **tcp)
{
    const char *own = getenv("NBCOLL_HOST"), *file = getenv("NBCOLL_SECRET_FILE"), *home = getenv("HOME");
    int task = nbcolli_launch_is_task(), port = 20000;
    const char *rank = nbcolli_launch_first("NBCOLL_RANK", "JOB_COMPLETION_INDEX", task ? "SLURM_PROCID" : NULL);
    const char *ranks = nbcolli_launch_first("NBCOLL_RANKS", task ? "SLURM_STEP_NUM_TASKS" : NULL, NULL);
    const char *at = getenv("NBCOLL_PORT");
    nbcoll_cluster_place first;
    nbcoll_tcp_config tcp_config;
    nbcoll_tcp_place place;
    char path[1024] = "", job[64] = "";

    if (!own && !task)
        return NBCOLL_ERR_LAUNCH;
    if (!file && home && strlen(home) + sizeof "/.nbcoll/secret" <= sizeof path)
        file = strcat(strcpy(path, home), "/.nbcoll/secret");
    if (!file || (file == path && access(file, F_OK) != 0))
        return NBCOLL_ERR_LAUNCH;
    if (nbcolli_launch_numbers(rank, ranks, config, &tcp_config) != NBCOLL_OK ||
        (task && nbcolli_launch_task(&first, job, &port) != NBCOLL_OK) ||
        (at && nbcolli_launch_number(at, 1, 65535, &port) != NBCOLL_OK))
        return NBCOLL_ERR_CONFIG;
    memset(&place, 0, sizeof place);
    tcp_config.port = (uint32_t)port;
    tcp_config.timeout = UINT64_C(600000000000);
    place.size = sizeof place;
    place.host = own ? own : first.name;
    place.secret = file;
    place.job = job;
    nbcoll_status status = nbcoll_tcp_meet(&tcp_config, &place, tcp);
    return status == NBCOLL_ERR_ARGUMENT ? NBCOLL_ERR_CONFIG : status; /* of the secret's file */
}

/* For ranks that it has started. */
static inline nbcoll_status nbcolli_launch_join_id(nbcoll_cluster_config *config, const char *text, nbcoll_tcp **tcp)
{
    const char *rank = getenv("NBCOLL_RANK"), *ranks = getenv("NBCOLL_RANKS"), *listener = getenv("NBCOLL_LISTENER");
    nbcoll_tcp_config tcp_config;
    nbcoll_tcp_id id;

    memset(&id, 0, sizeof id);
    if (strlen(text) >= sizeof id.text || nbcolli_launch_numbers(rank, ranks, config, &tcp_config) != NBCOLL_OK ||
        (listener && nbcolli_launch_number(listener, 3, 1 << 30, &tcp_config.listener) != NBCOLL_OK))
        return NBCOLL_ERR_CONFIG;
    memcpy(id.text, text, strlen(text));
    return nbcoll_tcp_join(&tcp_config, &id, tcp);
}

/* Opens this rank's endpoints, and sets those that it does not need to null: as nbcoll_cluster_open does for ranks that
 * `nbcoll run --hosts` or, as said above, something else has started, as nbcoll_launch_open does for those of
 * `nbcoll run -n`. `config` may be null; its ranks and exchange are not read. Collective. Call it once: the first rank
 * stops listening when all have come. Errors: those of nbcoll_launch_open, nbcoll_tcp_join, nbcoll_tcp_meet (its
 * ARGUMENT is ERR_CONFIG) and nbcoll_cluster_open. */
static inline nbcoll_status nbcoll_launch_cluster_open(const nbcoll_cluster_config *config, nbcoll_endpoint *end[2])
{
    const char *text = getenv("NBCOLL_ID");
    nbcoll_cluster_config own;
    nbcoll_shm_config near;
    nbcoll_tcp *tcp = NULL;
    int n;

    if (!end)
        return NBCOLL_ERR_NULL;
    end[0] = end[1] = NULL;
    memset(&own, 0, sizeof own);
    if (config)
        memcpy(&own, config, config->size < sizeof own ? config->size : sizeof own);
    own.size = sizeof own;
    nbcoll_status status = text ? nbcoll_launch_read(&near) : nbcolli_launch_meet(&own, &tcp);
    if (text && status == NBCOLL_ERR_UNSUPPORTED)
        status = nbcolli_launch_join_id(&own, text, &tcp);
    else if (text || status == NBCOLL_ERR_LAUNCH)
        return nbcoll_launch_open(end);
    if (status != NBCOLL_OK)
        return status;
    own.exchange = nbcoll_tcp_exchange;
    own.user = tcp;
    status = nbcoll_cluster_open(&own, end, &n);
    nbcoll_tcp_close(tcp);
    return status;
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
