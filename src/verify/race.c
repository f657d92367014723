/* SPDX-License-Identifier: BSD-3-Clause
 * Two steps of a rank that touch the same bytes, one of them writing, must be ordered by a path of the rank's edges. */
#include "proof.h"
#include "../schedule/sort.h"

typedef struct nbcolli_race_access {
    size_t begin, end;
    nbcoll_step step;
    nbcoll_buffer buffer;
    int writes;
} nbcolli_race_access;

/* What is known of one rank; the arrays serve all ranks in turn. */
typedef struct nbcolli_race_rank {
    const nbcoll_schedule *s;
    nbcolli_race_access *access;
    nbcolli_entry *entries; /* [2 * accesses]: to sort them by where they begin */
    uint32_t accesses;
    nbcolli_earlier earlier; /* made when first asked for */
    int is_ordered;
} nbcolli_race_rank;

static void nbcolli_race_add(nbcolli_race_rank *r, nbcoll_step step, nbcoll_region region, int writes)
{
    /* The send buffer is never written. */
    if (region.bytes && region.at.buffer != NBCOLL_BUFFER_SEND)
        r->access[r->accesses++] =
            (nbcolli_race_access){region.at.offset, region.at.offset + region.bytes, step, region.at.buffer, writes};
}

static void nbcolli_race_gather(nbcolli_race_rank *r)
{
    r->accesses = 0;
    for (nbcoll_step step = 0; step < r->s->steps; step++) {
        const nbcoll_step_view *v = &r->s->step[step];
        nbcolli_race_add(r, step, v->write, 1);
        nbcolli_race_add(r, step, v->read[0], 0);
        nbcolli_race_add(r, step, v->read[1], 0);
        for (uint32_t i = 0; i < v->part_count; i++)
            nbcolli_race_add(r, step, v->parts[i].region, v->kind == NBCOLL_CALL && v->parts[i].number);
    }
}

int nbcolli_earlier_open(nbcolli_arena *arena, nbcolli_earlier *e, size_t steps)
{
    e->rows = nbcolli_arena_take(arena, steps * ((steps + 63) / 64), sizeof *e->rows);
    e->order = nbcolli_arena_take(arena, steps, sizeof *e->order);
    e->left = nbcolli_arena_take(arena, steps, sizeof *e->left);
    return e->rows && e->order && e->left;
}

void nbcolli_earlier_fill(nbcolli_earlier *e, const nbcoll_schedule *s)
{
    uint32_t ready = 0;
    e->words = (s->steps + 63) / 64;
    memset(e->rows, 0, s->steps * e->words * sizeof *e->rows);
    memcpy(e->left, s->before, s->steps * sizeof *e->left);
    for (nbcoll_step step = 0; step < s->steps; step++)
        if (!e->left[step])
            e->order[ready++] = step;
    for (uint32_t i = 0; i < ready; i++) {
        nbcoll_step step = e->order[i];
        for (uint32_t k = 0; k < s->step[step].after_count; k++) {
            nbcoll_step after = s->step[step].after[k];
            uint64_t *row = &e->rows[after * e->words];
            row[step / 64] |= UINT64_C(1) << step % 64;
            for (size_t word = 0; word < e->words; word++)
                row[word] |= e->rows[step * e->words + word];
            if (!--e->left[after])
                e->order[ready++] = after;
        }
    }
}

static nbcoll_status nbcolli_race_refute(nbcolli_proof *p, int rank, const nbcolli_race_access *a,
                                         const nbcolli_race_access *b)
{
    size_t begin = a->begin > b->begin ? a->begin : b->begin, end = a->end < b->end ? a->end : b->end;
    nbcoll_region both = {{a->buffer, begin}, end - begin};
    if (a->step > b->step) {
        const nbcolli_race_access *other = a;
        a = b;
        b = other;
    }
    nbcoll_place places[] = {nbcolli_place(rank, a->step, both), nbcolli_place(rank, b->step, both)};
    return nbcolli_refute(p, NBCOLL_FLAW_RACE, 2, places);
}

/* Looks at each access together with those that begin before it ends. */
static nbcoll_status nbcolli_race_sweep(nbcolli_proof *p, int rank, nbcolli_race_rank *r, nbcoll_buffer buffer)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < r->accesses; i++)
        if (r->access[i].buffer == buffer)
            r->entries[n++] = (nbcolli_entry){r->access[i].begin, i};
    nbcolli_sort(r->entries, r->entries + n, n);
    for (uint32_t i = 0; i < n; i++) {
        const nbcolli_race_access *a = &r->access[r->entries[i].value];
        for (uint32_t j = i + 1; j < n && r->entries[j].key < a->end; j++) {
            const nbcolli_race_access *b = &r->access[r->entries[j].value];
            if ((!a->writes && !b->writes) || a->step == b->step)
                continue;
            if (!r->is_ordered)
                nbcolli_earlier_fill(&r->earlier, r->s);
            r->is_ordered = 1;
            if (!nbcolli_is_earlier(&r->earlier, a->step, b->step) &&
                !nbcolli_is_earlier(&r->earlier, b->step, a->step))
                return nbcolli_race_refute(p, rank, a, b);
        }
    }
    return NBCOLL_OK;
}

/* Room for the rank that needs most. */
static nbcoll_status nbcolli_race_open(nbcolli_proof *p, nbcolli_race_rank *r)
{
    size_t steps = 0, accesses = 0;
    for (int rank = 0; rank < p->ranks; rank++) {
        const nbcoll_schedule *s = p->schedules[rank];
        size_t n = 0;
        for (nbcoll_step step = 0; step < s->steps; step++)
            n += (s->step[step].write.bytes != 0) + (s->step[step].read[0].bytes != 0) +
                 (s->step[step].read[1].bytes != 0) + (size_t)s->step[step].part_count;
        accesses = n > accesses ? n : accesses;
        steps = s->steps > steps ? s->steps : steps;
    }
    if (accesses > UINT32_MAX)
        return NBCOLL_ERR_LIMIT;
    r->access = nbcolli_take(p, accesses, sizeof *r->access);
    r->entries = nbcolli_take(p, 2 * accesses, sizeof *r->entries);
    return nbcolli_earlier_open(&p->arena, &r->earlier, steps) && r->access && r->entries ? NBCOLL_OK
                                                                                         : NBCOLL_ERR_MEMORY;
}

nbcoll_status nbcolli_prove_no_race(nbcolli_proof *p)
{
    nbcolli_race_rank r = {0};
    nbcoll_status status = nbcolli_race_open(p, &r);
    for (int rank = 0; rank < p->ranks && status == NBCOLL_OK; rank++) {
        r.s = p->schedules[rank];
        r.is_ordered = 0;
        nbcolli_race_gather(&r);
        status = nbcolli_race_sweep(p, rank, &r, NBCOLL_BUFFER_RECV);
        if (status == NBCOLL_OK)
            status = nbcolli_race_sweep(p, rank, &r, NBCOLL_BUFFER_SCRATCH);
    }
    return status;
}
