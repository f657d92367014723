/* SPDX-License-Identifier: BSD-3-Clause
 * `nbcoll sim --nic`: programs on the NICs of a machine that is described, beside the host's engine. */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim.h"

#define NIC_NUMBER(name, most) {#name, "N", "", COMMAND_IN(nbcoll_nic_model, name), 0, most}

static const command_option names[] = {
    NIC_NUMBER(post, NBCOLL_SIM_MOST_NS),     NIC_NUMBER(task, NBCOLL_SIM_MOST_NS),
    NIC_NUMBER(miss, NBCOLL_SIM_MOST_NS),     NIC_NUMBER(latency, NBCOLL_SIM_MOST_NS),
    NIC_NUMBER(gap, NBCOLL_SIM_MOST_NS),      NIC_NUMBER(byte, NBCOLL_SIM_MOST_PS),
    NIC_NUMBER(calc, NBCOLL_SIM_MOST_PS),     NIC_NUMBER(copy, NBCOLL_SIM_MOST_PS),
    NIC_NUMBER(memory, NBCOLL_SIM_MOST_PS),   NIC_NUMBER(cached, UINT32_MAX),
    NIC_NUMBER(ports, 65536),                 NIC_NUMBER(nics, 65536),
    NIC_NUMBER(cache, NBCOLL_SIM_MOST_BYTES), {0},
};

/* What both did, in ns; cpu: of a rank, on average. */
typedef struct outcome {
    uint64_t time, with; /* alone; and beside a computation as long as that */
    uint64_t cpu;
} outcome;

typedef struct played {
    outcome engine, nic;
    uint64_t tasks, queue_pairs;
    nbcoll_refusal why;
} played;

/* ---- the NIC ----------------------------------------------------------------------------------------------------- */

void sim_take_nic(const command *self, const char *words, const nbcoll_sim_model *machine, nbcoll_nic_model *out)
{
    char word[COMMAND_WORD];
    *out = (nbcoll_nic_model){.size = sizeof *out};
    command_fail_status(self, nbcoll_nic_of(machine, out));
    while (words && *words) {
        words = command_next_name(words, word);
        char *value = strchr(word, '=');
        if (value)
            *value++ = '\0';
        sim_take_named(self, "--nic", names, word, value, out);
    }
}

/* ---- playing ----------------------------------------------------------------------------------------------------- */

/* 1 - (with - computed) / alone, as NBCBench does, where the computation takes as long as the operation alone. */
static double overlap_of(const outcome *o)
{
    return o->time ? 100 * (1 - ((double)o->with - (double)o->time) / (double)o->time) : 100;
}

static nbcoll_status play_engine(const sim_nic *nic, const nbcoll_sim_case *of, const nbcoll_sim_config *given,
                                 outcome *out)
{
    nbcoll_sim_action action[] = {{.act = NBCOLL_SIM_START}, {.act = NBCOLL_SIM_COMPUTE}};
    nbcoll_sim_config config = *given;
    nbcoll_sim_result result = {.size = sizeof result};
    uint64_t tests = nic->test_bytes ? of->at->count * nbcoll_type_size(of->at->reduction.type) / nic->test_bytes : 0;
    config.operations = 1;
    config.program = (nbcoll_sim_program){action, 2};
    config.progress = NULL;
    nbcoll_status status = nbcoll_simulate_cases(&config, of, &result);
    if (status != NBCOLL_OK)
        return status;
    out->time = action[1].compute = result.waited;
    out->cpu = result.cpu / (uint64_t)config.ranks;
    action[1].test_every = tests ? result.waited / tests : nic->test_every;
    status = nbcoll_simulate_cases(&config, of, &result);
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
    nbcoll_nic_rank *rank;
    uint64_t *compute;
    bound *bound;
    void **bind_user;
} cast;

static void play_programs(const sim_nic *nic, const cast *c, int ranks, nbcoll_bind *bind, played *out)
{
    nbcoll_nic_config config = {.size = sizeof config,
                                 .ranks = ranks,
                                 .model = &nic->model,
                                 .compute = c->compute,
                                 .bind = bind,
                                 .bind_user = c->bind_user};
    nbcoll_nic_result result = {.size = sizeof result, .rank = c->rank};
    const nbcoll_program *const *program = (const nbcoll_program *const *)c->program;
    uint64_t cpu = 0;
    command_fail_status(&command_sim, nbcoll_nic_play(&config, program, &result));
    out->nic.time = result.last;
    out->tasks = result.tasks;
    out->queue_pairs = result.queue_pairs;
    for (int i = 0; i < ranks; i++) {
        c->compute[i] = result.last;
        cpu += c->rank[i].cpu;
    }
    out->nic.cpu = cpu / (uint64_t)ranks;
    command_fail_status(&command_sim, nbcoll_nic_play(&config, program, &result));
    out->nic.with = result.last;
}

static nbcoll_status play_nic(const sim_nic *nic, const nbcoll_sim_case *of, const nbcoll_sim_config *given,
                              played *out)
{
    nbcoll_case lowered = *of->at, *at = &lowered;
    size_t ranks = (size_t)at->ranks;
    at->node = 0;
    nbcoll_meaning meaning = {.size = sizeof meaning};
    cast c = {command_alloc(ranks, sizeof *c.program), command_alloc(ranks, sizeof *c.rank),
              command_alloc(ranks, sizeof *c.compute), command_alloc(ranks, sizeof *c.bound),
              command_alloc(ranks, sizeof *c.bind_user)};
    nbcoll_status status = nbcoll_meaning_of(at, of->algorithm->flags, &meaning);
    for (size_t i = 0; i < ranks; i++) {
        c.bound[i] = (bound){&meaning, (int)i};
        c.bind_user[i] = &c.bound[i];
    }
    if (status == NBCOLL_OK)
        status = nbcoll_compile_case(of->algorithm, at, given->host, NULL, 0, at->ranks, c.program, &out->why);
    if (status == NBCOLL_OK)
        play_programs(nic, &c, at->ranks, meaning.block ? bind_block : NULL, out);
    for (size_t i = 0; i < ranks; i++)
        nbcoll_program_free(c.program[i]);
    free(c.bind_user);
    free(c.bound);
    free(c.compute);
    free(c.rank);
    free(c.program);
    return status;
}

/* ---- telling ----------------------------------------------------------------------------------------------------- */

static json_t *row_of(const nbcoll_algorithm *algorithm, const nbcoll_case *at, const played *p)
{
    json_t *row = json_pack("{s:s, s:I, s:I, s:f, s:I}", "algorithm", algorithm->name, "count", (json_int_t)at->count,
                            "engine", (json_int_t)p->engine.time, "engine_overlap", overlap_of(&p->engine),
                            "engine_cpu", (json_int_t)p->engine.cpu);
    if (p->why.reason != NBCOLL_REFUSAL_NONE)
        json_object_set_new(row, "refused", json_string(p->why.text));
    else
        json_object_update_new(row, json_pack("{s:I, s:f, s:I, s:I, s:I}", "nic", (json_int_t)p->nic.time,
                                              "nic_overlap", overlap_of(&p->nic), "nic_cpu",
                                              (json_int_t)p->nic.cpu, "tasks", (json_int_t)p->tasks, "queue_pairs",
                                              (json_int_t)p->queue_pairs));
    return row;
}

nbcoll_status sim_nic_row(const sim_nic *nic, const nbcoll_sim_case *of, const nbcoll_sim_config *host, int is_first,
                          json_t *rows)
{
    played p = {.why.size = sizeof p.why};
    nbcoll_status status = play_engine(nic, of, host, &p.engine);
    if (status == NBCOLL_OK)
        status = play_nic(nic, of, host, &p);
    if (status != NBCOLL_OK && p.why.reason == NBCOLL_REFUSAL_NONE)
        return status;
    int is_refused = p.why.reason != NBCOLL_REFUSAL_NONE;
    sim_add_row(rows, row_of(of->algorithm, of->at, &p),
                is_first ? "algorithm              count       us  free us core  us NIC  free us core pairs" : NULL,
                is_refused ? "%-20n{algorithm} %7d{count} %8u{engine} %4.0f{engine_overlap}%% %7u{engine_cpu}\n"
                           : "%-20n{algorithm} %7d{count} %8u{engine} %4.0f{engine_overlap}%% %7u{engine_cpu} "
                             "%8u{nic} %4.0f{nic_overlap}%% %7u{nic_cpu} %5d{queue_pairs}\n");
    if (is_refused && !rows)
        command_print_words(stdout, "", "", 2, COMMAND_COLUMNS, p.why.text);
    return NBCOLL_OK;
}
