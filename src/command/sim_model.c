/* SPDX-License-Identifier: BSD-3-Clause
 * Machines for `nbcoll sim`: presets by name, or files. */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "sim.h"

#define MODEL_NUMBER(name, member, most) {name, "N", "", COMMAND_IN(nbcoll_sim_model, member), 0, most}
#define MODEL_TIME(name, member) MODEL_NUMBER(name, member, NBCOLL_SIM_MOST_NS)
#define MODEL_PRICE(name, member) MODEL_NUMBER(name, member, NBCOLL_SIM_MOST_PS)
#define MODEL_COUNT(name, member) MODEL_NUMBER(name, member, 65536)
#define MODEL_LINK(name, member)                                                                                       \
    MODEL_TIME(name ".latency", member.latency), MODEL_TIME(name ".o_send", member.o_send),                            \
        MODEL_TIME(name ".o_recv", member.o_recv), MODEL_TIME(name ".gap", member.gap),                                \
        MODEL_PRICE(name ".byte", member.byte)

const command_option sim_model_names[] = {
    MODEL_LINK("inside", inside),
    MODEL_LINK("between", between),
    MODEL_LINK("domain", domain),
    MODEL_TIME("step", step),
    MODEL_PRICE("copy", copy),
    MODEL_PRICE("reduce", reduce),
    MODEL_NUMBER("eager", eager, UINT64_MAX),
    MODEL_COUNT("node", node),
    MODEL_COUNT("cores", cores),
    MODEL_COUNT("progress", progress),
    MODEL_NUMBER("cell", cell, UINT32_MAX),
    MODEL_NUMBER("lanes", lanes, 1),
    MODEL_NUMBER("pool", pool, 1),
    MODEL_TIME("wake", wake),
    MODEL_TIME("unexpected", unexpected),
    MODEL_PRICE("unexpected_byte", unexpected_byte),
    MODEL_COUNT("interfaces", interfaces),
    MODEL_TIME("tick", tick),
    MODEL_TIME("tick_cost", tick_cost),
    MODEL_TIME("contention", contention),
    MODEL_TIME("table", table),
    {0},
};

int sim_take_named(const command *self, const char *where, const command_option names[], const char *name,
                   const char *value, void *out)
{
    unsigned long long number;
    while (names->name && strcmp(names->name, name) != 0)
        names++;
    if (!names->name)
        return command_refuse(self, "%s: unknown name '%s'; see nbcoll help sim", where, name);
    if (!value || !command_number(value, 0, names->high, &number))
        return command_refuse(self, "%s: %s takes a number of 0..%llu", where, name, names->high);
    command_store(names, out, number);
    return 0;
}

json_t *sim_numbers(const command_option names[], const void *of, int with_zeros)
{
    json_t *all = json_object();
    for (; names->name; names++)
        if (with_zeros || command_stored(names, of))
            json_object_set_new(all, names->name, json_integer((json_int_t)command_stored(names, of)));
    return all;
}

static int take_line(const command *self, const char *where, char *line, nbcoll_sim_model *model)
{
    char *rest, *name, *word;
    line[strcspn(line, "#\n")] = '\0';
    name = strtok_r(line, " \t\r", &rest);
    word = name ? strtok_r(NULL, " \t\r", &rest) : NULL;
    int is_right = word && !strtok_r(NULL, " \t\r", &rest);
    return name ? sim_take_named(self, where, sim_model_names, name, is_right ? word : NULL, model) : 0;
}

int sim_take_model(const command *self, const char *value, nbcoll_sim_model *out)
{
    char *line = NULL, where[160];
    size_t room = 0;
    int number = 0, status = 0;
    nbcoll_sim_model model = {.size = sizeof model};
    if (nbcoll_sim_model_find(value, out) == NBCOLL_OK)
        return 0;
    FILE *file = fopen(value, "r");
    if (!file)
        return command_refuse(self, "--model '%s' is no preset, and as a file: %s", value, strerror(errno));
    while (!status && getline(&line, &room, file) >= 0) {
        snprintf(where, sizeof where, "%s:%d", value, ++number);
        status = take_line(self, where, line, &model);
    }
    if (!status && ferror(file))
        status = command_refuse(self, "--model %s: it cannot be read", value);
    free(line);
    fclose(file);
    if (!status)
        *out = model;
    return status;
}

static uint32_t clip(uint64_t number)
{
    return number < UINT32_MAX ? (uint32_t)number : UINT32_MAX;
}

static uint32_t post_of(const nbcoll_sim_model *model, const nbcoll_sim_link *link)
{
    return clip((link->o_send + link->o_recv) / 2 + model->step);
}

/* How many ranks of the largest node take turns on a core when all are at work. Progress cores work beside them. */
static uint32_t turns_of(const nbcoll_sim_model *model, const nbcoll_nodes *nodes)
{
    uint32_t most = 1;

    for (int i = 0; i < nodes->count; i++)
        most = (uint32_t)nbcoll_node_size(nodes, i) > most ? (uint32_t)nbcoll_node_size(nodes, i) : most;
    return model->cores && !model->progress ? (most + model->cores - 1) / model->cores : 1;
}

static nbcoll_level level_of(const nbcoll_sim_model *model, const nbcoll_sim_link *link, size_t eager, uint32_t turns)
{
    return (nbcoll_level){.alpha_ns = clip(link->latency),
                          .overhead_ns = clip((uint64_t)post_of(model, link) * turns),
                          .beta_ps = clip(link->byte * turns),
                          .gamma_ps = clip(model->reduce * turns),
                          .copy_ps = clip(model->copy * turns),
                          .fetch_ns = clip(link->latency),
                          .gap_ns = clip(link->gap),
                          .eager_ps = clip(model->copy * turns), /* into the node's memory; `byte` is out of it */
                          .eager = eager};
}

/* An interface that is shared serves others between a rank's messages; one of its own keeps the rank waiting. */
void sim_price(const nbcoll_sim_model *model, const nbcoll_nodes *nodes, nbcoll_terms *terms)
{
    const nbcoll_sim_link *inside = &model->inside, *link = nodes->count == 1 ? inside : &model->between;
    int is_shared = nodes->count > 1 && model->interfaces;
    uint32_t turns = turns_of(model, nodes), gap = clip(link->gap);
    uint32_t post = clip((uint64_t)post_of(model, link) * turns);
    size_t eager = model->eager ? (size_t)model->eager : SIZE_MAX;
    terms->between = level_of(model, link, eager, turns);
    if (nodes->count > 1) { /* no core moves bytes between them */
        terms->between.beta_ps = clip(link->byte);
        terms->between.eager_ps = 0;
    }
    terms->between.overhead_ns = is_shared || post > gap ? post : gap;
    terms->between.fetch_ns = clip(inside->latency);
    terms->between.gap_ns = is_shared ? gap : 0;
    terms->credits = terms->staging = 0; /* the simulator knows none of them, and no gets */
    terms->ranks_per_core = turns;
    terms->table_ns = model->table ? clip(model->table * turns) : 1; /* 0 would not be nothing, but five posts */
    terms->nodes = nodes;
    terms->interfaces = nodes->count > 1 ? model->interfaces : 0;
    terms->progress_cores = model->pool ? model->progress : 0;
    terms->inside = level_of(model, inside, eager, turns);
    if (model->domain.latency || model->domain.byte)
        terms->domain = level_of(model, &model->domain, eager, turns);
}
