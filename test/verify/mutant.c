/* SPDX-License-Identifier: BSD-3-Clause
 * Mutants are counted and built by the same walk over steps and edges: the i-th place where the mistake fits has it. */
#include "mutant.h"

typedef struct mutant_walk {
    mutation kind;
    size_t at;   /* the mistake to make */
    size_t seen; /* places passed where it fits */
    int rank, ranks;
} mutant_walk;

const char *mutation_name(mutation kind)
{
#define MUTATION_NAME(name, text) #name,
    static const char *const names[] = {MUTATION_LIST(MUTATION_NAME) "?"};
#undef MUTATION_NAME
    return names[kind];
}

/* Is this the place? */
static int mutant_here(mutant_walk *w, mutation kind)
{
    return w->kind == kind && w->seen++ == w->at;
}

static int mutant_peer(mutant_walk *w, int peer)
{
    /* With two ranks there is no other peer. */
    if (peer < 0 || w->ranks < 3 || !mutant_here(w, MUTATION_PEER))
        return peer;
    int other = (peer + 1) % w->ranks;
    return other == w->rank ? (other + 1) % w->ranks : other;
}

static size_t mutant_bytes(mutant_walk *w, size_t bytes, size_t element)
{
    if (!mutant_here(w, MUTATION_LENGTH))
        return bytes;
    return bytes ? bytes - element : element;
}

static nbcoll_addr mutant_block(mutant_walk *w, nbcoll_addr at)
{
    if (at.buffer >= NBCOLL_BUFFER_SEND_BLOCK && mutant_here(w, MUTATION_BLOCK))
        at.offset = (at.offset + 1) % (size_t)w->ranks;
    return at;
}

static nbcoll_step mutant_expose(mutant_walk *w, nbcoll_builder *b, const nbcoll_step_view *v)
{
    nbcoll_part parts[64];
    uint32_t n = v->part_count < 64 ? v->part_count : 64;
    for (uint32_t i = 0; i < n; i++) {
        parts[i] = v->parts[i];
        parts[i].peer = mutant_peer(w, parts[i].peer);
        parts[i].region.bytes = mutant_bytes(w, parts[i].region.bytes, 1);
    }
    return nbcoll_add_expose(b, n, parts);
}

static nbcoll_step mutant_reduce(mutant_walk *w, nbcoll_builder *b, const nbcoll_step_view *v, int peer)
{
    size_t size = nbcoll_type_size(v->reduction.type);
    size_t count = mutant_bytes(w, v->write.bytes, size) / size;
    int swaps = mutant_here(w, MUTATION_OPERANDS);
    if (v->kind == NBCOLL_REDUCE)
        return nbcoll_add_combine(b, v->write.at, v->read[swaps].at, v->read[!swaps].at, count, v->reduction);
    return nbcoll_add_fetch_reduce(b, peer, v->write.at, (nbcoll_side)(v->side ^ swaps), count, v->reduction);
}

/* Adds the step, with what the mistake makes of it. `is_copy`: it gets no number of its own. */
static nbcoll_step mutant_add(mutant_walk *w, nbcoll_builder *b, const nbcoll_step_view *v, int is_copy)
{
    nbcoll_step step;
    if (v->kind == NBCOLL_JOIN)
        return nbcoll_add_join(b);
    if (!is_copy && mutant_here(w, MUTATION_OMISSION))
        return nbcoll_add_join(b);
    if (v->kind == NBCOLL_EXPOSE)
        return mutant_expose(w, b, v);
    int peer = mutant_peer(w, v->peer);
    if (v->kind == NBCOLL_REDUCE || v->kind == NBCOLL_FETCH_REDUCE)
        return mutant_reduce(w, b, v, peer);
    nbcoll_region from = v->kind == NBCOLL_CALL ? v->parts[0].region : v->read[0];
    nbcoll_region to = v->kind == NBCOLL_CALL ? v->parts[1].region : v->write;
    size_t bytes = mutant_bytes(w, v->kind == NBCOLL_SEND ? from.bytes : to.bytes, 1);
    from.at = mutant_block(w, from.at);
    to.at = mutant_block(w, to.at);
    if (v->kind == NBCOLL_COPY || v->kind == NBCOLL_CALL)
        return nbcoll_add_copy(b, to.at, from.at, bytes);
    if (v->kind == NBCOLL_FETCH)
        return nbcoll_add_fetch(b, peer, to.at, bytes);
    if (v->kind == NBCOLL_SEND)
        step = nbcoll_add_send(b, peer, from.at, bytes);
    else
        step = nbcoll_add_recv(b, peer, to.at, bytes);
    if (!is_copy && peer == v->peer) /* the numbers of another peer may be taken */
        nbcoll_set_number(b, step, v->number);
    return step;
}

/* Before a join for which nothing waits but the end, an edge says nothing. */
static int mutant_is_idle(const nbcoll_schedule *s, nbcoll_step step)
{
    const nbcoll_step_view *v = nbcoll_schedule_step(s, step);
    return v->kind == NBCOLL_JOIN && !v->after_count;
}

static void mutant_add_edges(mutant_walk *w, nbcoll_builder *b, const nbcoll_schedule *s, uint32_t steps)
{
    for (nbcoll_step step = 2; step < steps; step++) {
        const nbcoll_step_view *v = nbcoll_schedule_step(s, step);
        for (uint32_t i = 0; i < v->after_count; i++)
            if (mutant_is_idle(s, v->after[i]) || !mutant_here(w, MUTATION_EDGE))
                nbcoll_after(b, v->after[i], step);
    }
}

/* One more of the step, with the same edges before and after. */
static void mutant_add_copy(mutant_walk *w, nbcoll_builder *b, const nbcoll_schedule *s, uint32_t steps,
                            nbcoll_step original)
{
    const nbcoll_step_view *v = nbcoll_schedule_step(s, original);
    nbcoll_step copy = mutant_add(w, b, v, 1);
    for (uint32_t i = 0; i < v->after_count; i++)
        nbcoll_after(b, v->after[i], copy);
    for (nbcoll_step step = 2; step < steps; step++) {
        const nbcoll_step_view *earlier = nbcoll_schedule_step(s, step);
        for (uint32_t i = 0; i < earlier->after_count; i++)
            if (earlier->after[i] == original)
                nbcoll_after(b, copy, step);
    }
}

static int mutant_shares(void *user, int peer)
{
    (void)user;
    (void)peer;
    return 1;
}

static nbcoll_status mutant_run(mutant_walk *w, const nbcoll_schedule *s, nbcoll_schedule **out)
{
    nbcoll_schedule_info info = {.size = sizeof info};
    nbcoll_schedule_query(s, &info);
    w->rank = info.rank;
    w->ranks = info.ranks;
    nbcoll_builder_config config = {
        .size = sizeof config, .rank = info.rank, .ranks = info.ranks, .shares = mutant_shares};
    nbcoll_builder *b;
    nbcoll_status status = nbcoll_builder_open(&config, &b);
    if (status != NBCOLL_OK)
        return status;
    nbcoll_set_fingerprint(b, info.fingerprint);
    for (nbcoll_step step = 2; step < info.steps; step++)
        if (mutant_add(w, b, nbcoll_schedule_step(s, step), 0) != step)
            nbcoll_builder_fail(b, NBCOLL_ERR_ARGUMENT);
    mutant_add_edges(w, b, s, info.steps);
    for (nbcoll_step step = 2; step < info.steps; step++)
        if (nbcoll_schedule_step(s, step)->kind != NBCOLL_JOIN && mutant_here(w, MUTATION_DUPLICATE))
            mutant_add_copy(w, b, s, info.steps, step);
    return nbcoll_builder_finish(b, out);
}

size_t mutant_count(const nbcoll_schedule *s, mutation kind)
{
    mutant_walk w = {.kind = kind, .at = SIZE_MAX};
    nbcoll_schedule *same;
    if (mutant_run(&w, s, &same) == NBCOLL_OK)
        nbcoll_schedule_free(same);
    return w.seen;
}

nbcoll_status mutant_build(const nbcoll_schedule *s, mutation kind, size_t i, nbcoll_schedule **out)
{
    mutant_walk w = {.kind = kind, .at = i};
    return mutant_run(&w, s, out);
}
