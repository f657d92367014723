/* SPDX-License-Identifier: BSD-3-Clause
 * One allgather, or another operation, by the host's engine and by the NICs, and what is free beside it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nics.h"

void expect(nbcoll_status status, const char *what)
{
    if (status == NBCOLL_OK)
        return;
    fprintf(stderr, "NICs: %s: %s\n", what, nbcoll_status_text(status));
    exit(EXIT_FAILURE);
}

nbcoll_sim_model machine_of(const char *name)
{
    nbcoll_sim_model m = {.size = sizeof m};
    expect(nbcoll_sim_model_find(name, &m), name);
    return m;
}

const nbcoll_algorithm *allgather(const char *name)
{
    return nbcoll_algorithm_find(NBCOLL_OPERATION_ALLGATHER, name);
}

static nbcoll_schedule *schedule_of(const play *p, int rank)
{
    nbcoll_case c = {.size = sizeof c,
                     .operation = p->algorithm->operation,
                     .ranks = p->ranks,
                     .count = p->bytes,
                     .reduction = {NBCOLL_BYTE, NBCOLL_MAX},
                     .in_place = p->in_place,
                     .ports = p->ports};
    nbcoll_schedule *s = NULL;
    expect(nbcoll_build_case(p->algorithm, &c, rank, NULL, &s), p->algorithm->name);
    return s;
}

int wants_last;

static double mean(const double *of, int n)
{
    double sum = 0, last = 0;
    for (int i = 0; i < n; i++) {
        sum += of[i];
        last = of[i] > last ? of[i] : last;
    }
    return wants_last ? last : sum / n;
}

double free_of(double alone, double computed, double with)
{
    return 100 * (1 - (with - computed) / alone);
}

size_t eager_of(int ranks, size_t bytes)
{
    return bytes < 16384 ? (size_t)ranks * bytes : 1;
}

void take(play *p, const char *algorithm)
{
    int is_bruck = !strcmp(algorithm, "bruck") || !strcmp(algorithm, "bruck_ports");
    p->algorithm = is_bruck ? &unrotated : allgather(algorithm);
    p->in_place = 1;
    p->is_rotated = is_bruck && p->eager == 1;
    p->copies_own = !is_bruck;
}

double offloaded_us(const char *machine, int ranks, int node, const char *algorithm, unsigned ports,
                    const dealing *deals, size_t bytes)
{
    nbcoll_sim_model m = machine_of(machine);
    play p = {.machine = &m, .ranks = ranks, .node = node, .bytes = bytes, .eager = eager_of(ranks, bytes),
              .ports = ports, .used = ports == 1, .deals = deals};
    take(&p, algorithm);
    return offloaded(p).alone / 1e3;
}

/* ---- the host's engine ------------------------------------------------------------------------------------------- */

nbcoll_status build(void *user, uint32_t operation, int rank, nbcoll_schedule **out)
{
    (void)operation;
    *out = schedule_of(user, rank);
    return NBCOLL_OK;
}

/* When each rank's wait returns. */
void engine_ends(play *p, uint64_t compute, double end[MOST])
{
    const uint64_t tests = p->test_bytes ? p->bytes / p->test_bytes : 0;
    const nbcoll_sim_action action[] = {
        {.act = NBCOLL_SIM_START},
        {.act = NBCOLL_SIM_COMPUTE, .compute = compute, .test_every = tests ? compute / tests : 0}};
    nbcoll_sim_model m = *p->machine;
    nbcoll_sim_rank rank[MOST];
    nbcoll_sim_config config = {
        .size = sizeof config, .ranks = p->ranks, .model = &m, .program = {action, 2}, .user = p};
    nbcoll_sim_result result = {.size = sizeof result, .rank = rank};
    m.node = (uint32_t)p->node;
    config.nodes = p->nodes;
    expect(nbcoll_simulate(&config, build, p, &result), p->algorithm->name);
    for (int i = 0; i < p->ranks; i++)
        end[i] = (double)rank[i].waited;
}

outcome engine(play p)
{
    double end[MOST];
    outcome o;
    engine_ends(&p, 0, end);
    o.alone = mean(end, p.ranks);
    engine_ends(&p, (uint64_t)o.alone, end);
    o.free = free_of(o.alone, o.alone, mean(end, p.ranks));
    return o;
}

/* ---- the baseline ------------------------------------------------------------------------------------------------ */

int ends_by_receives;
static size_t eager_most; /* bytes of the longest message that is not announced */

/* That an announced message has left its sender learns by an empty one, which its peer sends when it has it. */
static void build_in_rounds(nbcoll_builder *b, const nbcoll_args *a)
{
    size_t n = a->bytes;
    nbcoll_step sent = NBCOLL_START;
    nbcoll_step have = nbcoll_add_copy(b, nbcoll_at(a->recv, (size_t)b->rank * n), a->send, n);
    for (int d = 1; d < b->ranks; d *= 2) {
        int peer = b->rank ^ d;
        size_t mine = (size_t)(b->rank / d * d) * n, theirs = (size_t)(peer / d * d) * n, bytes = (size_t)d * n;
        nbcoll_step send = nbcoll_add_send(b, peer, nbcoll_at(a->recv, mine), bytes);
        nbcoll_step recv = nbcoll_add_recv(b, peer, nbcoll_at(a->recv, theirs), bytes);
        nbcoll_after(b, send, have);
        nbcoll_after(b, send, sent);
        nbcoll_after(b, recv, have);
        nbcoll_after(b, recv, sent);
        have = recv;
        if (ends_by_receives || bytes <= eager_most)
            continue;
        nbcoll_after(b, nbcoll_add_send(b, peer, a->recv, 0), recv);
        sent = nbcoll_add_recv(b, peer, a->recv, 0);
        nbcoll_after(b, sent, send);
    }
}

const nbcoll_algorithm in_rounds = {
    .size = sizeof in_rounds, .name = "rounds", .operation = NBCOLL_OPERATION_ALLGATHER, .build = build_in_rounds};

nbcoll_sim_model baseline_machine(const nbcoll_sim_model *m)
{
    nbcoll_sim_model one = *m;
    one.interfaces = one.interfaces ? 1 : 0;
    eager_most = one.eager;
    return one;
}

outcome baseline(play p)
{
    nbcoll_sim_model one = baseline_machine(p.machine);
    p.machine = &one;
    p.algorithm = &in_rounds;
    p.in_place = 0;
    return engine(p);
}

/* ---- the NIC ----------------------------------------------------------------------------------------------------- */

void compile_all(const play *p, nbcoll_program *program[MOST])
{
    nbcoll_program_config config = {.size = sizeof config, .threshold = p->eager};
    nbcoll_schedule *schedule[MOST];
    for (int i = 0; i < p->ranks; i++)
        schedule[i] = schedule_of(p, i);
    expect(nbcoll_compile((const nbcoll_schedule *const *)schedule, p->ranks, &config, 0, p->ranks, program, NULL),
           p->algorithm->name);
    for (int i = 0; i < p->ranks; i++)
        nbcoll_schedule_free(schedule[i]);
}

void free_all(const play *p, nbcoll_program *program[MOST])
{
    for (int i = 0; i < p->ranks; i++)
        nbcoll_program_free(program[i]);
}

void (*change_nic)(nbcoll_nic_model *nic);

nbcoll_nic_model nic_of(const nbcoll_sim_model *machine)
{
    nbcoll_nic_model nic = {.size = sizeof nic};
    expect(nbcoll_nic_of(machine, &nic), "nic");
    if (change_nic)
        change_nic(&nic);
    return nic;
}

void play_all(const play *p, nbcoll_program *program[MOST], uint64_t start, uint64_t compute,
              nbcoll_nic_rank rank[MOST])
{
    nbcoll_nic_model nic = nic_of(p->machine);
    uint64_t starts[MOST], computes[MOST];
    nbcoll_nic_config config = {
        .size = sizeof config, .ranks = p->ranks, .model = &nic, .start = starts, .compute = computes};
    nbcoll_nic_result result = {.size = sizeof result, .rank = rank};
    nic.node = (uint32_t)p->node;
    nic.nics = p->nics ? p->nics : nic.nics;
    nic.ports = p->used ? p->used : nic.ports;
    config.port = nic.ports > 1 ? deal(p) : NULL;
    for (int i = 0; i < p->ranks; i++) {
        starts[i] = start;
        computes[i] = compute;
    }
    expect(nbcoll_nic_play(&config, (const nbcoll_program *const *)program, &result), p->algorithm->name);
}

static double mean_finished(const play *p, const nbcoll_nic_rank *rank)
{
    double end[MOST], copied = p->is_rotated ? p->ranks : p->copies_own;
    for (int i = 0; i < p->ranks; i++)
        end[i] = (double)rank[i].finished + copied * (double)p->bytes * (double)p->machine->copy / 1e3;
    return mean(end, p->ranks);
}

/* With a computation of `compute`, or, if that is 0, one as long as the operation: *with is when that has ended. */
outcome offloaded_beside(play p, double compute, double *with)
{
    nbcoll_program *program[MOST];
    nbcoll_nic_rank rank[MOST];
    outcome o;
    compile_all(&p, program);
    play_all(&p, program, 0, 0, rank);
    o.alone = mean_finished(&p, rank);
    compute = compute > 0 ? compute : o.alone;
    play_all(&p, program, 0, (uint64_t)compute, rank);
    *with = mean_finished(&p, rank);
    o.free = free_of(o.alone, compute, *with);
    free_all(&p, program);
    return o;
}

outcome offloaded(play p)
{
    double with;
    return offloaded_beside(p, 0, &with);
}
