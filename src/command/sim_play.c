/* SPDX-License-Identifier: BSD-3-Clause
 * What the subcommands that simulate share. */
#include "rules.h"
#include "sim.h"

nbcoll_status sim_play_rounds(const nbcoll_algorithm *algorithm, const nbcoll_case *at, int node,
                              void (*event)(void *user, const nbcoll_sim_event *event), void *user,
                              nbcoll_sim_result *out)
{
    nbcoll_sim_model model = {.size = sizeof model};
    nbcoll_sim_config config = {.size = sizeof config, .ranks = at->ranks, .model = &model, .user = user,
                                .event = event};
    nbcoll_sim_model_find("unit", &model);
    model.node = (uint32_t)node;
    return nbcoll_simulate_cases(&config, &(nbcoll_sim_case){algorithm, at}, out);
}

void sim_entitle(timeline *t, const nbcoll_case *c, const nbcoll_choice *choice)
{
    char name[COMMAND_NAME];
    t->ranks = c->ranks;
    snprintf(t->title, sizeof t->title, "%s %s", nbcoll_operation_name(choice->algorithm->operation),
             command_algorithm_text(choice, name));
    snprintf(t->terms, sizeof t->terms, "%d ranks", c->ranks);
    if (c->count)
        command_add(t->terms, sizeof t->terms, ", %zu %s (%zu bytes)", c->count, nbcoll_type_name(c->reduction.type),
                    c->count * nbcoll_type_size(c->reduction.type));
}

void sim_add_row(json_t *rows, json_t *row, const char *head, const char *format)
{
    if (!rows && head)
        puts(head);
    if (!rows)
        row_print(row, format);
    json_array_append_new(rows, row);
}
