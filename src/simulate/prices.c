/* SPDX-License-Identifier: BSD-3-Clause
 * What selection is told of a machine in the simulator. */
#include "nbcoll/select.h"
#include "simulate.h"

static uint32_t nbcolli_clip(uint64_t number)
{
    return number < UINT32_MAX ? (uint32_t)number : UINT32_MAX;
}

static uint32_t nbcolli_prices_post(const nbcoll_sim_model *model, const nbcoll_sim_link *link)
{
    return nbcolli_clip((link->o_send + link->o_recv) / 2 + model->step);
}

/* How many ranks of the largest node take turns on a core when all are at work. Progress cores work beside them. */
static uint32_t nbcolli_prices_turns(const nbcoll_sim_model *model, const nbcoll_nodes *nodes)
{
    uint32_t most = 1;
    for (int i = 0; i < nodes->count; i++)
        most = (uint32_t)nbcoll_node_size(nodes, i) > most ? (uint32_t)nbcoll_node_size(nodes, i) : most;
    return model->cores && !model->progress ? (most + model->cores - 1) / model->cores : 1;
}

static nbcoll_level nbcolli_prices_level(const nbcoll_sim_model *model, const nbcoll_sim_link *link, size_t eager,
                                         uint32_t turns)
{
    return (nbcoll_level){.alpha_ns = nbcolli_clip(link->latency),
                          .overhead_ns = nbcolli_clip((uint64_t)nbcolli_prices_post(model, link) * turns),
                          .beta_ps = nbcolli_clip(link->byte * turns),
                          .gamma_ps = nbcolli_clip(model->reduce * turns),
                          .copy_ps = nbcolli_clip(model->copy * turns),
                          .fetch_ns = nbcolli_clip(link->latency),
                          .gap_ns = nbcolli_clip(link->gap),
                          .eager_ps = nbcolli_clip(model->copy * turns), /* into its memory; `byte` is out of it */
                          .eager = eager};
}

/* An interface that is shared serves others between a rank's messages; one of its own keeps the rank waiting. */
static void nbcolli_prices_set(const nbcoll_sim_model *model, const nbcoll_nodes *nodes, nbcoll_terms *terms)
{
    const nbcoll_sim_link *inside = &model->inside, *link = nodes->count == 1 ? inside : &model->between;
    int is_shared = nodes->count > 1 && model->interfaces;
    uint32_t turns = nbcolli_prices_turns(model, nodes), gap = nbcolli_clip(link->gap);
    uint32_t post = nbcolli_clip((uint64_t)nbcolli_prices_post(model, link) * turns);
    size_t eager = model->eager ? (size_t)model->eager : SIZE_MAX;
    terms->between = nbcolli_prices_level(model, link, eager, turns);
    if (nodes->count > 1) { /* no core moves bytes between them */
        terms->between.beta_ps = nbcolli_clip(link->byte);
        terms->between.eager_ps = 0;
    }
    terms->between.overhead_ns = is_shared || post > gap ? post : gap;
    terms->between.fetch_ns = nbcolli_clip(inside->latency);
    terms->between.gap_ns = is_shared ? gap : 0;
    terms->credits = terms->staging = 0; /* the simulator knows none of them, and no gets */
    terms->ranks_per_core = turns;
    terms->table_ns = model->table ? nbcolli_clip(model->table * turns) : 1; /* 0 would be five posts */
    terms->nodes = nodes;
    terms->shared = nodes->count == 1;
    terms->nodes_share = 1;
    terms->interfaces = nodes->count > 1 ? model->interfaces : 0;
    terms->progress_cores = model->pool ? model->progress : 0;
    terms->inside = nbcolli_prices_level(model, inside, eager, turns);
    if (model->domain.latency || model->domain.byte)
        terms->domain = nbcolli_prices_level(model, &model->domain, eager, turns);
}

nbcoll_status nbcoll_sim_prices(const nbcoll_sim_model *model, const nbcoll_nodes *nodes, nbcoll_terms *terms)
{
    nbcoll_sim_model m;
    nbcoll_terms t;
    if (!model || !nodes || !terms)
        return NBCOLL_ERR_NULL;
    if (nbcolli_copy_tagged(&m, model, sizeof m) != NBCOLL_OK || nbcolli_copy_tagged(&t, terms, sizeof t) != NBCOLL_OK)
        return NBCOLL_ERR_CONFIG;
    nbcolli_prices_set(&m, nodes, &t);
    return nbcolli_give_tagged(terms, &t, sizeof t);
}
