/* SPDX-License-Identifier: BSD-3-Clause
 * Cases as nbcoll_simulate plays them: their schedules, and the blocks of bound ones. */
#include "rules.h"
#include "sim.h"

typedef struct player {
    const sim_case *cases;
    const nbcoll_sim_config *config;
} player;

nbcoll_status sim_case_set(sim_case *c, const command *self, const nbcoll_algorithm *algorithm, const nbcoll_case *at)
{
    *c = (sim_case){self, algorithm, *at, {.size = sizeof c->meaning}};
    return nbcoll_meaning_of(at, algorithm->flags, &c->meaning);
}

static nbcoll_status build(void *user, uint32_t operation, int rank, nbcoll_schedule **out)
{
    const sim_case *c = &((player *)user)->cases[operation];
    nbcoll_host host = command_host(c->self);
    return nbcoll_build_case(c->algorithm, &c->at, rank, c->self ? &host : NULL, out);
}

static uint64_t see_block(void *user, uint32_t operation, int rank, int is_recv, int index)
{
    const nbcoll_meaning *m = &((player *)user)->cases[operation].meaning;
    return m->block ? m->block(m, rank, is_recv, index).bytes : 0;
}

static void tell_event(void *user, const nbcoll_sim_event *event)
{
    const player *p = user;
    p->config->event(p->config->user, event);
}

static void tell_progress(void *user, nbcoll_sim_part part, uint64_t done, uint64_t total)
{
    const player *p = user;
    p->config->progress(p->config->user, part, done, total);
}

nbcoll_status sim_play(const sim_case cases[], const nbcoll_sim_config *given, nbcoll_sim_result *out)
{
    player p = {cases, given};
    nbcoll_sim_config config = *given;
    config.user = &p;
    config.block = see_block;
    config.event = given->event ? tell_event : NULL;
    config.progress = given->progress ? tell_progress : NULL;
    return nbcoll_simulate(&config, build, &p, out);
}

nbcoll_status sim_play_rounds(const nbcoll_algorithm *algorithm, const nbcoll_case *at, int node,
                              void (*event)(void *user, const nbcoll_sim_event *event), void *user,
                              nbcoll_sim_result *out)
{
    nbcoll_sim_model model = {.size = sizeof model};
    nbcoll_sim_config config = {.size = sizeof config, .ranks = at->ranks, .model = &model, .user = user,
                                .event = event};
    sim_case one;
    nbcoll_status status = sim_case_set(&one, NULL, algorithm, at);
    nbcoll_sim_model_find("unit", &model);
    model.node = (uint32_t)node;
    return status == NBCOLL_OK ? sim_play(&one, &config, out) : status;
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
