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

void sim_take_named(const command *self, const char *where, const command_option names[], const char *name,
                    const char *value, void *out)
{
    unsigned long long number;
    while (names->name && strcmp(names->name, name) != 0)
        names++;
    if (!names->name)
        command_refuse(self, "%s: unknown name '%s'; see nbcoll help sim", where, name);
    if (!value || !command_number(value, 0, names->high, &number))
        command_refuse(self, "%s: %s takes a number of 0..%llu", where, name, names->high);
    command_store(names, out, number);
}

json_t *sim_numbers(const command_option names[], const void *of, int with_zeros)
{
    json_t *all = json_object();
    for (; names->name; names++)
        if (with_zeros || command_stored(names, of))
            json_object_set_new(all, names->name, json_integer((json_int_t)command_stored(names, of)));
    return all;
}

static void take_line(const command *self, const char *where, char *line, nbcoll_sim_model *model)
{
    char *rest, *name, *word;
    line[strcspn(line, "#\n")] = '\0';
    name = strtok_r(line, " \t\r", &rest);
    word = name ? strtok_r(NULL, " \t\r", &rest) : NULL;
    int is_right = word && !strtok_r(NULL, " \t\r", &rest);
    if (name)
        sim_take_named(self, where, sim_model_names, name, is_right ? word : NULL, model);
}

void sim_take_model(const command *self, const char *value, nbcoll_sim_model *out)
{
    char *line = NULL, where[160];
    size_t room = 0;
    int number = 0;
    if (nbcoll_sim_model_find(value, out) == NBCOLL_OK)
        return;
    FILE *file = fopen(value, "r");
    if (!file)
        command_refuse(self, "--model '%s' is no preset, and as a file: %s", value, strerror(errno));
    while (getline(&line, &room, file) >= 0) {
        snprintf(where, sizeof where, "%s:%d", value, ++number);
        take_line(self, where, line, out);
    }
    if (ferror(file))
        command_refuse(self, "--model %s: it cannot be read", value);
    free(line);
    fclose(file);
}
