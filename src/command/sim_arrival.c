/* SPDX-License-Identifier: BSD-3-Clause
 * `nbcoll sim --arrival, --preposted`: ranks that come late, and what that costs the others. */
#include <stdlib.h>

#include "sim.h"

#define MOST_RANKS (1 << 24)
#define MOST_US (NBCOLL_SIM_MOST_NS / 1000)

/* late:RANK:US, rising:US or scattered:US */
void sim_take_arrival(const command *self, const char *value, nbcoll_sim_arrival *a)
{
    char rank[16] = "0", after[16] = "";
    unsigned long long number, us;
    int end = 0;
    if (sscanf(value, "late:%15[0-9]:%15[0-9]%n", rank, after, &end) == 2)
        a->pattern = NBCOLL_SIM_ONE_LATE;
    else if (sscanf(value, "rising:%15[0-9]%n", after, &end) == 1)
        a->pattern = NBCOLL_SIM_RISING;
    else if (sscanf(value, "scattered:%15[0-9]%n", after, &end) == 1)
        a->pattern = NBCOLL_SIM_SCATTERED;
    int is_right = end && !value[end] && command_number(rank, 0, MOST_RANKS, &number) &&
                   command_number(after, 0, MOST_US, &us);
    if (!is_right)
        command_refuse(self, "--arrival is late:RANK:US, rising:US or scattered:US, not '%s'", value);
    a->rank = (int)number;
    a->spread = us * 1000;
}

static void hear(void *user, const nbcoll_sim_event *e)
{
    sim_arrivals *told = user;
    if (e->what != NBCOLL_SIM_MESSAGE)
        return;
    const nbcoll_sim_rank *rank = told->rank + (size_t)e->operation * (size_t)told->ranks;
    if (rank[e->peer].started == told->last[e->operation])
        return;
    for (int by_then = 0; by_then <= (e->end <= told->last[e->operation]); by_then++) {
        told->messages[by_then]++;
        told->bytes[by_then] += e->bytes;
    }
}

/* From what all ranks did. */
static void tell(sim_arrivals *told, uint32_t operations)
{
    for (uint32_t i = 0; i < operations; i++) {
        const nbcoll_sim_rank *rank = told->rank + (size_t)i * (size_t)told->ranks;
        uint64_t ended = 0;
        for (int k = 0; k < told->ranks; k++) {
            told->last[i] = told->last[i] > rank[k].started ? told->last[i] : rank[k].started;
            ended = ended > rank[k].ended ? ended : rank[k].ended;
            told->mean += (double)(rank[k].ended - rank[k].started) / told->ranks / operations;
        }
        uint64_t after = ended > told->last[i] ? ended - told->last[i] : 0;
        told->after = told->after > after ? told->after : after;
    }
}

nbcoll_status sim_play_arrivals(const nbcoll_sim_config *config, const nbcoll_sim_case cases[], nbcoll_sim_result *out,
                                sim_arrivals *told)
{
    nbcoll_sim_config again = *config;
    *told = (sim_arrivals){.ranks = config->ranks};
    told->rank = out->rank = command_alloc((size_t)config->ranks * config->operations, sizeof *out->rank);
    told->last = command_alloc(config->operations, sizeof *told->last);
    nbcoll_status status = nbcoll_simulate_cases(config, cases, out);
    if (status == NBCOLL_OK) {
        nbcoll_sim_result same = {.size = sizeof same};
        tell(told, config->operations);
        again.event = hear;
        again.user = told;
        again.progress = NULL;
        status = nbcoll_simulate_cases(&again, cases, &same);
    }
    free(told->last);
    free(out->rank);
    told->last = NULL;
    told->rank = out->rank = NULL;
    return status;
}

int sim_came(const sim_arrivals *told)
{
    const uint64_t *of = told->bytes[0] ? told->bytes : told->messages;
    return of[0] ? (int)(100 * (double)of[1] / (double)of[0]) : -1;
}
