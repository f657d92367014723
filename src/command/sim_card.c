/* SPDX-License-Identifier: BSD-3-Clause
 * `nbcoll sim --card`: programs on the cards of a machine that is described, beside the host's engine. */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim.h"

#define CARD_NUMBER(name, most) {#name, "N", "", COMMAND_IN(nbcoll_card_model, name), 0, most}

static const command_option names[] = {
    CARD_NUMBER(post, NBCOLL_SIM_MOST_NS),     CARD_NUMBER(task, NBCOLL_SIM_MOST_NS),
    CARD_NUMBER(miss, NBCOLL_SIM_MOST_NS),     CARD_NUMBER(latency, NBCOLL_SIM_MOST_NS),
    CARD_NUMBER(gap, NBCOLL_SIM_MOST_NS),      CARD_NUMBER(byte, NBCOLL_SIM_MOST_PS),
    CARD_NUMBER(calc, NBCOLL_SIM_MOST_PS),     CARD_NUMBER(copy, NBCOLL_SIM_MOST_PS),
    CARD_NUMBER(memory, NBCOLL_SIM_MOST_PS),   CARD_NUMBER(cached, UINT32_MAX),
    CARD_NUMBER(ports, 65536),                 CARD_NUMBER(cards, 65536),
    CARD_NUMBER(cache, NBCOLL_SIM_MOST_BYTES), {0},
};

/* What both did, in ns; cpu: of a rank, on average. */
typedef struct outcome {
    uint64_t time, with; /* alone; and beside a computation as long as that */
    uint64_t cpu;
} outcome;

typedef struct played {
    outcome engine, card;
    uint64_t tasks, queue_pairs;
    nbcoll_refusal why;
} played;

/* ---- the card -------------------------------------------------------------------------------------------------- */

int sim_take_card(const command *self, const char *words, const nbcoll_sim_model *machine, nbcoll_card_model *out)
{
    char word[COMMAND_WORD];
    *out = (nbcoll_card_model){.size = sizeof *out};
    int status = command_fail_status(self, nbcoll_card_of(machine, out));
    while (words && *words && !status) {
        words = command_next_name(words, word);
        char *value = strchr(word, '=');
        if (value)
            *value++ = '\0';
        status = sim_take_named(self, "--card", names, word, value, out);
    }
    return status;
}

/* ---- playing --------------------------------------------------------------------------------------------------- */

/* 1 - (with - computed) / alone, as NBCBench does, where the computation takes as long as the operation alone. */
static double overlap_of(const outcome *o)
{
    return o->time ? 100 * (1 - ((double)o->with - (double)o->time) / (double)o->time) : 100;
}

static nbcoll_status play_engine(const sim_card *card, const sim_case *of, const nbcoll_sim_config *given, outcome *out)
{
    nbcoll_sim_action action[] = {{.act = NBCOLL_SIM_START}, {.act = NBCOLL_SIM_COMPUTE}};
    nbcoll_sim_config config = *given;
    nbcoll_sim_result result = {.size = sizeof result};
    uint64_t tests = card->test_bytes ? of->at.count * nbcoll_type_size(of->at.reduction.type) / card->test_bytes : 0;
    config.operations = 1;
    config.program = (nbcoll_sim_program){action, 2};
    config.progress = NULL;
    nbcoll_status status = sim_play(of, &config, &result);
    if (status != NBCOLL_OK)
        return status;
    out->time = action[1].compute = result.waited;
    out->cpu = result.cpu / (uint64_t)config.ranks;
    action[1].test_every = tests ? result.waited / tests : card->test_every;
    status = sim_play(of, &config, &result);
    out->with = result.waited;
    return status;
}

/* A rank's blocks, by the meaning of the case. */
typedef struct bound {
    const nbcoll_meaning *meaning;
    int rank;
} bound;

static nbcoll_region bind_block(void *user, int is_recv, int index)
{
    const bound *b = user;
    return b->meaning->block(b->meaning, b->rank, is_recv, index);
}

/* What is there for each rank. */
typedef struct cast {
    nbcoll_program **program;
    nbcoll_card_rank *rank;
    uint64_t *compute;
    bound *bound;
    void **bind_user;
} cast;

static nbcoll_status play_programs(const sim_card *card, const cast *c, int ranks, nbcoll_bind *bind, played *out)
{
    nbcoll_card_config config = {.size = sizeof config,
                                 .ranks = ranks,
                                 .model = &card->model,
                                 .compute = c->compute,
                                 .bind = bind,
                                 .bind_user = c->bind_user};
    nbcoll_card_result result = {.size = sizeof result, .rank = c->rank};
    const nbcoll_program *const *program = (const nbcoll_program *const *)c->program;
    uint64_t cpu = 0;
    nbcoll_status status = nbcoll_card_play(&config, program, &result);
    if (status != NBCOLL_OK)
        return status;
    out->card.time = result.last;
    out->tasks = result.tasks;
    out->queue_pairs = result.queue_pairs;
    for (int i = 0; i < ranks; i++) {
        c->compute[i] = result.last;
        cpu += c->rank[i].cpu;
    }
    out->card.cpu = cpu / (uint64_t)ranks;
    status = nbcoll_card_play(&config, program, &result);
    out->card.with = result.last;
    return status;
}

static nbcoll_status play_card(const sim_card *card, const sim_case *of, played *out)
{
    nbcoll_case lowered = of->at, *at = &lowered;
    size_t ranks = (size_t)at->ranks;
    at->node = 0;
    nbcoll_meaning meaning = {.size = sizeof meaning};
    cast c = {calloc(ranks, sizeof *c.program), calloc(ranks, sizeof *c.rank), calloc(ranks, sizeof *c.compute),
              calloc(ranks, sizeof *c.bound), calloc(ranks, sizeof *c.bind_user)};
    int is_whole = c.program && c.rank && c.compute && c.bound && c.bind_user;
    nbcoll_status status = is_whole ? nbcoll_meaning_of(at, of->algorithm->flags, &meaning) : NBCOLL_ERR_MEMORY;
    for (size_t i = 0; is_whole && i < ranks; i++) {
        c.bound[i] = (bound){&meaning, (int)i};
        c.bind_user[i] = &c.bound[i];
    }
    if (status == NBCOLL_OK)
        status = command_programs(of->self, of->algorithm, at, NULL, 0, at->ranks, c.program, &out->why);
    if (status == NBCOLL_OK)
        status = play_programs(card, &c, at->ranks, meaning.block ? bind_block : NULL, out);
    for (size_t i = 0; c.program && i < ranks; i++)
        nbcoll_program_free(c.program[i]);
    free(c.bind_user);
    free(c.bound);
    free(c.compute);
    free(c.rank);
    free(c.program);
    return status;
}

/* ---- telling --------------------------------------------------------------------------------------------------- */

static json_t *row_of(const nbcoll_algorithm *algorithm, const nbcoll_case *at, const played *p)
{
    json_t *row = json_pack("{s:s, s:I, s:I, s:f, s:I}", "algorithm", algorithm->name, "count", (json_int_t)at->count,
                            "engine", (json_int_t)p->engine.time, "engine_overlap", overlap_of(&p->engine),
                            "engine_cpu", (json_int_t)p->engine.cpu);
    if (p->why.reason != NBCOLL_REFUSAL_NONE)
        json_object_set_new(row, "refused", json_string(p->why.text));
    else
        json_object_update_new(row, json_pack("{s:I, s:f, s:I, s:I, s:I}", "card", (json_int_t)p->card.time,
                                              "card_overlap", overlap_of(&p->card), "card_cpu",
                                              (json_int_t)p->card.cpu, "tasks", (json_int_t)p->tasks, "queue_pairs",
                                              (json_int_t)p->queue_pairs));
    return row;
}

nbcoll_status sim_card_row(const sim_card *card, const sim_case *of, const nbcoll_sim_config *host, int is_first,
                           json_t *rows)
{
    played p = {.why.size = sizeof p.why};
    nbcoll_status status = play_engine(card, of, host, &p.engine);
    if (status == NBCOLL_OK)
        status = play_card(card, of, &p);
    if (status != NBCOLL_OK && p.why.reason == NBCOLL_REFUSAL_NONE)
        return status;
    int is_refused = p.why.reason != NBCOLL_REFUSAL_NONE;
    sim_add_row(rows, row_of(of->algorithm, &of->at, &p),
                is_first ? "algorithm              count       us  free us core  us card  free us core pairs" : NULL,
                is_refused ? "%-20n{algorithm} %7d{count} %8u{engine} %4.0f{engine_overlap}%% %7u{engine_cpu}\n"
                           : "%-20n{algorithm} %7d{count} %8u{engine} %4.0f{engine_overlap}%% %7u{engine_cpu} "
                             "%8u{card} %4.0f{card_overlap}%% %7u{card_cpu} %5d{queue_pairs}\n");
    if (is_refused && !rows)
        command_print_words(stdout, "", "", 2, COMMAND_COLUMNS, p.why.text);
    return NBCOLL_OK;
}
