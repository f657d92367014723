/* SPDX-License-Identifier: BSD-3-Clause
 * Cases of this library's operations in the simulator: their schedules, and the blocks of bound ones. */
#include "../verify/case.h"
#include "simulate.h"

typedef struct nbcolli_sim_cases {
    const nbcoll_sim_case *cases;
    const nbcoll_host *host;
} nbcolli_sim_cases;

static nbcoll_status nbcolli_cases_build(void *user, uint32_t operation, int rank, nbcoll_schedule **out)
{
    const nbcolli_sim_cases *all = user;
    const nbcoll_sim_case *one = &all->cases[operation];
    return nbcoll_build_case(one->algorithm, one->at, rank, all->host, out);
}

static uint64_t nbcolli_cases_block(void *user, uint32_t operation, int rank, int is_recv, int index)
{
    nbcoll_case at;
    nbcoll_status status = nbcolli_case_take(((const nbcolli_sim_cases *)user)->cases[operation].at, &at);
    return status == NBCOLL_OK ? nbcolli_case_block(&at, rank, is_recv, index).bytes : 0;
}

nbcoll_status nbcoll_simulate_cases(const nbcoll_sim_config *config, const nbcoll_sim_case cases[],
                                    nbcoll_sim_result *out)
{
    nbcoll_sim_config mine;
    if (!config || !cases)
        return NBCOLL_ERR_NULL;
    if (nbcolli_copy_tagged(&mine, config, sizeof mine) != NBCOLL_OK)
        return NBCOLL_ERR_CONFIG;
    mine.block = nbcolli_cases_block;
    return nbcoll_simulate(&mine, nbcolli_cases_build, &(nbcolli_sim_cases){cases, mine.host}, out);
}
