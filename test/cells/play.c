/* SPDX-License-Identifier: BSD-3-Clause
 * See play.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../verify/native.h"
#include "nbcoll/verify.h"
#include "play.h"
#include "world.h"

/* ---- algorithms ------------------------------------------------------------------------------------------------ */

static int is_exposing(const nbcoll_algorithm *a)
{
    int has_counts = a->flags & NBCOLL_ALGORITHM_COUNTS || a->operation == NBCOLL_OPERATION_REDUCE_SCATTER;
    return !has_counts && (a->flags >> 16 || !strncmp(a->name, "native", 6)); /* operations here have none */
}

const nbcoll_algorithm *exposing_algorithm(unsigned i)
{
    const nbcoll_algorithm *a;
    for (unsigned k = 0; (a = any_algorithm(k)); k++)
        if (is_exposing(a) && !i--)
            return a;
    return NULL;
}

nbcoll_schedule *play_schedule(const nbcoll_algorithm *algorithm, const operation *o, const share *s,
                               nbcoll_comm *comm, size_t segment)
{
    nbcoll_args a = {.size = sizeof a, .operation = o->what, .root = o->root, .count = o->count, .reduction = o->how,
                     .in_place = s->send == NBCOLL_IN_PLACE || s->recv == NBCOLL_IN_PLACE, .segment = segment};
    nbcoll_builder_config config = {.size = sizeof config, .rank = nbcoll_comm_rank(comm),
                                    .ranks = nbcoll_comm_size(comm), .shares = nbcoll_comm_shares,
                                    .shares_user = comm};
    const int room = 2; /* those that go by nodes have some, of two ranks each */
    const nbcoll_placement placement = {.size = sizeof placement, .room = &room, .rooms = 1};
    nbcoll_nodes *nodes;
    nbcoll_schedule *schedule = NULL;
    EXPECT(OK, nbcoll_nodes_place(&placement, config.ranks, NULL, &nodes));
    config.nodes = nodes;
    EXPECT(OK, nbcoll_build_schedule(algorithm, &a, &config, &schedule));
    nbcoll_nodes_free(nodes);
    return schedule;
}

static void *buffer_of(void *memory)
{
    return memory == NBCOLL_IN_PLACE ? NULL : memory;
}

nbcoll_status play_start(nbcoll_schedule *schedule, const share *s, nbcoll_comm *comm, nbcoll_request *request)
{
    return nbcoll_schedule_start(schedule, buffer_of(s->send), buffer_of(s->recv), comm, request);
}

demand demand_of(const nbcoll_schedule *schedule)
{
    const nbcoll_step_view *v;
    demand d = {0, 0, 0};
    for (nbcoll_step i = NBCOLL_END + 1; (v = nbcoll_schedule_step(schedule, i)); i++) {
        d.is_native |= v->kind == NBCOLL_EXPOSE || v->kind == NBCOLL_FETCH || v->kind == NBCOLL_FETCH_REDUCE;
        if (v->kind != NBCOLL_EXPOSE || (v->grows != NBCOLL_START && v->grows != i))
            continue;
        d.cells++;
        d.parts += v->part_count;
    }
    return d;
}

/* ---- boards ---------------------------------------------------------------------------------------------------- */

static uint32_t word_at(const board *b, int rank, size_t i)
{
    uint64_t state = b->seed * 31 + (uint64_t)rank * 0x100000001u + i;
    return (uint32_t)world_random(&state);
}

static size_t lengths(uint64_t *random, size_t most)
{
    static const size_t words[] = {0, 1, 4, 5, 20, 21, 300, 5000, 70000};
    size_t n = words[world_random(random) % (sizeof words / sizeof words[0])];
    return n < most ? n : most;
}

board board_make(uint64_t seed, int ranks, int cells, size_t most_words)
{
    board b = {.ranks = ranks, .seed = seed};
    size_t sent[WORLD_MOST] = {0}, received[WORLD_MOST] = {0};
    uint64_t random = seed;

    for (int owner = 0; owner < ranks; owner++) {
        int exposure = 0, parts = (int)(world_random(&random) % (uint64_t)(ranks + 1));
        for (int i = 0; i < parts && b.transfers < BOARD_MOST; i++) {
            struct transfer *t = &b.transfer[b.transfers++];
            exposure += i && exposure + 1 < cells && world_random(&random) % 2;
            *t = (struct transfer){.owner = owner, .exposure = exposure, .words = lengths(&random, most_words)};
            t->reader = (owner + 1 + (int)(world_random(&random) % (uint64_t)(ranks - 1))) % ranks;
            t->is_reduced = world_random(&random) % 3 == 0;
            t->turn = (int)(world_random(&random) % 1000);
            t->from = sent[owner] - (sent[owner] && world_random(&random) % 4 == 0); /* some overlap */
            t->to = received[t->reader];
            sent[owner] = t->from + t->words;
            received[t->reader] += t->words;
        }
    }
    return b;
}

static nbcoll_step board_fetch(nbcoll_builder *b, const struct transfer *t)
{
    nbcoll_addr to = {NBCOLL_BUFFER_RECV, 4 * t->to};
    return t->is_reduced ? nbcoll_add_fetch_reduce(b, t->owner, to, t->turn % 2 ? NBCOLL_LEFT : NBCOLL_RIGHT, t->words,
                                               (nbcoll_reduction){NBCOLL_UINT32, NBCOLL_SUM})
                         : nbcoll_add_fetch(b, t->owner, to, 4 * t->words);
}

/* Edges from each fetch to the one of the next turn. */
static void board_order(const board *b, nbcoll_builder *builder, const nbcoll_step fetch[])
{
    for (int i = 0; i < b->transfers; i++) {
        int last = -1;
        for (int k = 0; k < b->transfers; k++) {
            const struct transfer *t = &b->transfer[k], *me = &b->transfer[i];
            int is_earlier = t->turn < me->turn || (t->turn == me->turn && k < i);
            if (t->reader == me->reader && is_earlier &&
                (last < 0 || t->turn > b->transfer[last].turn || (t->turn == b->transfer[last].turn && k > last)))
                last = k;
        }
        if (fetch[i] != NBCOLL_START && last >= 0)
            nbcoll_after(builder, fetch[i], fetch[last]);
    }
}

nbcoll_schedule *board_schedule(const board *b, nbcoll_comm *comm)
{
    int rank = nbcoll_comm_rank(comm);
    nbcoll_builder_config config = {.size = sizeof config, .rank = rank, .ranks = b->ranks,
                                    .shares = nbcoll_comm_shares, .shares_user = comm};
    nbcoll_step fetch[BOARD_MOST] = {NBCOLL_START};
    nbcoll_part parts[BOARD_MOST];
    nbcoll_builder *builder;
    nbcoll_schedule *schedule;
    size_t n = 0;

    EXPECT(OK, nbcoll_builder_open(&config, &builder));
    for (int i = 0; i < b->transfers; i++) {
        const struct transfer *t = &b->transfer[i];
        if (t->reader == rank)
            fetch[i] = board_fetch(builder, t);
        if (t->owner != rank)
            continue;
        parts[n++] = (nbcoll_part){t->reader, 0, {{NBCOLL_BUFFER_SEND, 4 * t->from}, 4 * t->words}};
        if (i + 1 < b->transfers && t[1].owner == rank && t[1].exposure == t->exposure)
            continue;
        nbcoll_add_expose(builder, n, parts);
        n = 0;
    }
    board_order(b, builder, fetch);
    EXPECT(OK, nbcoll_builder_finish(builder, &schedule));
    return schedule;
}

static uint32_t board_before(const board *b, int rank, size_t i)
{
    return word_at(b, rank + 1000, i);
}

share board_share(const board *b, int rank)
{
    size_t sent = 1, received = 1;
    for (int i = 0; i < b->transfers; i++) {
        const struct transfer *t = &b->transfer[i];
        if (t->owner == rank && sent < t->from + t->words)
            sent = t->from + t->words;
        if (t->reader == rank && received < t->to + t->words)
            received = t->to + t->words;
    }
    share s = {.send = malloc(4 * sent), .recv = malloc(4 * received)};
    for (size_t i = 0; i < sent; i++)
        ((uint32_t *)s.send)[i] = word_at(b, rank, i);
    for (size_t i = 0; i < received; i++)
        ((uint32_t *)s.recv)[i] = board_before(b, rank, i);
    return s;
}

void board_check(const board *b, const share *s, int rank)
{
    for (int i = 0; i < b->transfers; i++) {
        const struct transfer *t = &b->transfer[i];
        for (size_t k = 0; t->reader == rank && k < t->words; k++) {
            uint32_t sent = word_at(b, t->owner, t->from + k);
            uint32_t wanted = t->is_reduced ? sent + board_before(b, rank, t->to + k) : sent;
            if (((uint32_t *)s->recv)[t->to + k] == wanted)
                continue;
            fprintf(stderr, "board %llu: word %zu of transfer %d, from %d to %d, is wrong\n",
                    (unsigned long long)b->seed, k, i, t->owner, rank);
            fail();
        }
    }
}
