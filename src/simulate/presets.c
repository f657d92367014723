/* SPDX-License-Identifier: BSD-3-Clause
 * The presets: machines and noises by name. */
#include "simulate.h"

static const struct nbcolli_presets_model {
    const char *name;
    nbcoll_sim_model model;
} nbcolli_presets_models[] = {
    {"cluster",
     {.inside = {300, 50, 50, 20, 100},
      .between = {1200, 200, 200, 150, 100},
      .step = 20,
      .copy = 100,
      .reduce = 250,
      .eager = 16384,
      .node = 16,
      .cell = 80,
      .table = 250,
      .interfaces = 1}},
    {"cluster_a",
     {.inside = {350, 60, 60, 20, 200},
      .between = {1300, 300, 300, 120, 310},
      .step = 30,
      .copy = 200,
      .reduce = 350,
      .eager = 16384,
      .node = 8,
      .cell = 80,
      .table = 300,
      .interfaces = 1}},
    {"cluster_b",
     {.inside = {700, 150, 150, 50, 800},
      .between = {2500, 700, 700, 300, 700},
      .step = 80,
      .copy = 800,
      .reduce = 1200,
      .eager = 16384,
      .node = 4,
      .cell = 80,
      .table = 750,
      .interfaces = 2}},
    {"das4",
     {.inside = {400, 70, 70, 20, 250},
      .between = {1500, 350, 350, 150, 500},
      .step = 35,
      .copy = 250,
      .reduce = 420,
      .eager = 16384,
      .node = 8,
      .cell = 80,
      .table = 350,
      .interfaces = 1}},
    {"ethernet",
     {.inside = {300, 50, 50, 20, 100},
      .between = {15000, 2500, 2500, 2000, 800},
      .step = 20,
      .copy = 100,
      .reduce = 250,
      .eager = 65536,
      .node = 1,
      .cell = 80,
      .table = 250}},
    {"node",
     {.inside = {300, 50, 50, 20, 100},
      .between = {300, 50, 50, 20, 100},
      .step = 20,
      .copy = 100,
      .reduce = 250,
      .eager = 4096,
      .node = 65536,
      .cell = 80,
      .table = 250}},
    {"unit", {.inside = {.latency = 1000}, .between = {.latency = 1000}, .node = 1}},
};

#define NBCOLLI_PRESETS_MS UINT64_C(1000000)

static const struct nbcolli_presets_noise {
    const char *name;
    nbcoll_sim_noise noise;
} nbcolli_presets_noises[] = {
    {"daemon", {1000 * NBCOLLI_PRESETS_MS, NBCOLLI_PRESETS_MS, 100, NBCOLL_SIM_RANDOM}},
    {"pulses", {500 * NBCOLLI_PRESETS_MS, 100 * NBCOLLI_PRESETS_MS, 1000, NBCOLL_SIM_RANDOM}},
    {"tick", {NBCOLLI_PRESETS_MS, 2000, 1000, NBCOLL_SIM_APART}},
};

#define NBCOLLI_PRESETS_COUNT(table) (sizeof(table) / sizeof *(table))

const char *nbcoll_sim_model_name(unsigned i)
{
    return i < NBCOLLI_PRESETS_COUNT(nbcolli_presets_models) ? nbcolli_presets_models[i].name : NULL;
}

const char *nbcoll_sim_noise_name(unsigned i)
{
    return i < NBCOLLI_PRESETS_COUNT(nbcolli_presets_noises) ? nbcolli_presets_noises[i].name : NULL;
}

nbcoll_status nbcoll_sim_model_find(const char *name, nbcoll_sim_model *out)
{
    nbcoll_sim_model model;
    size_t size;
    if (!name || !out)
        return NBCOLL_ERR_NULL;
    size = out->size;
    if (nbcolli_copy_tagged(&model, out, sizeof model) != NBCOLL_OK)
        return NBCOLL_ERR_CONFIG;
    for (unsigned i = 0; i < NBCOLLI_PRESETS_COUNT(nbcolli_presets_models); i++)
        if (!strcmp(name, nbcolli_presets_models[i].name)) {
            model = nbcolli_presets_models[i].model;
            model.size = size;
            memcpy(out, &model, size < sizeof model ? size : sizeof model);
            return NBCOLL_OK;
        }
    return NBCOLL_ERR_ARGUMENT;
}

nbcoll_status nbcoll_sim_noise_find(const char *name, nbcoll_sim_noise *out)
{
    if (!name || !out)
        return NBCOLL_ERR_NULL;
    for (unsigned i = 0; i < NBCOLLI_PRESETS_COUNT(nbcolli_presets_noises); i++)
        if (!strcmp(name, nbcolli_presets_noises[i].name)) {
            *out = nbcolli_presets_noises[i].noise;
            return NBCOLL_OK;
        }
    return NBCOLL_ERR_ARGUMENT;
}
