/* SPDX-License-Identifier: BSD-3-Clause
 * What `nbcoll sim` has tables of its own for: ranks that come late (--arrival, --preposted) and what that costs the
 * others; the benchmark of Denis et al. (--fixed-work); programs on NICs, beside the host's engine (--nic). */
#include <nbcoll/split.h>

#include "sim.h"

/* ---- ranks that come late ---------------------------------------------------------------------------------------- */

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

/* ---- fixed work -------------------------------------------------------------------------------------------------- */

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
