/* SPDX-License-Identifier: BSD-3-Clause
 * What the agent of `nbcoll run --agent=verbs` has of RDMA devices: an end for each rank. */
#include <stdlib.h>

#include <nbcoll/verbs.h>

#include "run.h"

nbcoll_status run_agent_verbs(int ranks, const char *devices, const nbcoll_host *host, nbcoll_endpoint *end[])
{
    nbcoll_verbs_address *all = calloc((size_t)ranks, sizeof *all);
    nbcoll_verbs_config config = {.size = sizeof config, .ranks = ranks, .device = devices, .host = *host};
    nbcoll_status status = all ? NBCOLL_OK : NBCOLL_ERR_MEMORY;
    for (; config.rank < ranks && status == NBCOLL_OK; config.rank++) {
        status = nbcoll_verbs_open(&config, &all[config.rank], &end[config.rank]);
        config.beside = end[0];
    }
    for (int i = 0; i < ranks && status == NBCOLL_OK; i++)
        status = nbcoll_verbs_meet(end[i], all);
    free(all);
    if (status == NBCOLL_OK)
        return status;
    if (status != NBCOLL_ERR_UNSUPPORTED) /* which the transport explains */
        host->log(host->user, status, nbcoll_status_text(status));
    for (int i = 0; i < ranks; i++)
        nbcoll_endpoint_close(end[i]);
    return status;
}
