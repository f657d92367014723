/* SPDX-License-Identifier: BSD-3-Clause
 * `nbcoll sim --fixed-work`: the benchmark of Denis et al. on a machine that is described. */
#include <nbcoll/split.h>
#include <nbcoll/verify.h>

#include "sim.h"

#define SPLITS 4

static const char head[] = "ranks drivers'  us comp.  blocking     S = 0     S = 1     S = 2     S = 3 best model";

typedef struct fixed {
    const nbcoll_sim_config *config;
    int cores;
    const nbcoll_algorithm *algorithm;
    nbcoll_case at;
    nbcoll_sim_model model;
} fixed;

/* When the last wait returns. `drivers`: the cores that the ranks leave progress; else the operation blocks, and what
 * is computed is added by whoever asks. */
static uint64_t play(fixed *f, int ranks, unsigned split, int drivers, uint64_t compute)
{
    const nbcoll_sim_action action[] = {{.act = NBCOLL_SIM_START},
                                        {.act = NBCOLL_SIM_WAIT_STARTED}, /* their blocking calls do that */
                                        {.act = NBCOLL_SIM_COMPUTE, .compute = compute}};
    nbcoll_sim_config config = *f->config;
    nbcoll_sim_result result = {.size = sizeof result};
    f->at.ranks = ranks;
    f->at.split = split;
    f->model.node = (uint32_t)ranks;
    f->model.progress = drivers ? (uint32_t)(f->cores - ranks) : 0;
    config.ranks = ranks;
    config.nodes = NULL;
    config.progress = NULL;
    config.model = &f->model;
    config.program = (nbcoll_sim_program){action, 3};
    command_fail_status(&command_sim,
                        nbcoll_simulate_cases(&config, &(nbcoll_sim_case){f->algorithm, &f->at}, &result));
    return result.waited;
}

/* A row: what so many ranks take. */
static void add_row(fixed *f, int ranks, uint64_t work, json_t *rows)
{
    uint64_t compute = work / (uint64_t)ranks, blocking = play(f, ranks, 0, 0, 0), split[SPLITS];
    unsigned best = 0, model = nbcoll_split_levels(f->at.operation, ranks, f->cores);
    for (unsigned i = 0; i < SPLITS; i++) {
        split[i] = play(f, ranks, i, 1, compute);
        best = split[i] < split[best] ? i : best;
    }
    json_t *row = json_pack("{s:i, s:I, s:I, s:[I, I, I, I], s:i, s:i, s:i}", "ranks", ranks, "compute",
                            (json_int_t)compute, "blocking", (json_int_t)(compute + blocking), "split",
                            (json_int_t)split[0], (json_int_t)split[1], (json_int_t)split[2], (json_int_t)split[3],
                            "best", (int)best, "model", (int)model, "drivers", f->cores - ranks);
    sim_add_row(rows, row, ranks == (f->cores + 1) / 2 ? head : NULL,
                "%5d{ranks} %7d{drivers} %9.1u{compute} %9.1u{blocking} %9.1u{split.0} %9.1u{split.1} %9.1u{split.2} "
                "%9.1u{split.3} %4d{best} %5d{model}\n");
}

void sim_fixed_work(const nbcoll_sim_case *of, const nbcoll_sim_config *config, int cores, json_t *rows)
{
    fixed f = {config, cores, of->algorithm, *of->at, *config->model};

    f.at.nodes = NULL;
    f.at.node = 0;
    f.model.cores = 0;
    f.model.lanes = f.model.pool = 1;
    uint64_t work = play(&f, cores, 0, 0, 0) * (uint64_t)cores;
    for (int ranks = (cores + 1) / 2; ranks < cores; ranks++)
        add_row(&f, ranks, work, rows);
}
