/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The algorithms, from the table to the result. Their schedules are counted (messages after each other, bytes sent,
 * receives posted early), and played for all ranks together over real buffers, with the steps in every order that a
 * seeded dice makes of their edges: a step that should wait but does not is noticed by what it does to the data.
 */
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "algorithms.h"
#include "nbcoll/pattern.h"

#define SEED UINT64_C(20251)

enum { GARBAGE = 0xa5 };

static uint64_t dice_state;

static uint64_t dice(void)
{
    uint64_t z = dice_state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

static int throw_dice(void **state)
{
    (void)state;
    dice_state = SEED;
    print_message("seed %llu\n", (unsigned long long)SEED);
    return 0;
}

/* The elements of what goes between two ranks (alltoallv, alltoallw: as many both ways, as in place needs it), or of
 * the block of rank `to`. Some are none. */
static size_t length_of(nbcoll_operation operation, size_t n, int from, int to)
{
    size_t f = (size_t)from, t = (size_t)to;
    if (n && is_one_of(operation, known))
        return (n * (t + 2) + t) % (n + 3);
    if (n && is_one_of(operation, rows))
        return (n * (f + t + 1) + f * t) % (n + 3);
    return n;
}

/* Ranks are in place: never, always, or the odd ones. */
enum { NOT_IN_PLACE, IN_PLACE, ODD_IN_PLACE };

enum { MOST_RANKS = 130 };

/* ---- schedules of all ranks ------------------------------------------------------------------------------------ */

/* Steps of all ranks in one array: step s of rank r is number base[r] + s. */
typedef struct world {
    const nbcoll_algorithm *algorithm;
    nbcoll_args args; /* what is common to all ranks; how they are in place */
    int ranks;
    int is_bound; /* counts are not known, where that can be */
    nbcoll_schedule **schedule;
    uint32_t *base;  /* [ranks + 1] */
    int *rank;       /* of a step */
    uint32_t *other; /* the other end of a SEND or RECV; else UINT32_MAX */
} world;

static void *filled(size_t n, size_t bytes, int byte)
{
    void *memory = malloc(n ? n * bytes : 1);
    assert_non_null(memory);
    memset(memory, byte, n * bytes);
    return memory;
}

static const nbcoll_step_view *view_of(const world *w, uint32_t i)
{
    return nbcoll_schedule_step(w->schedule[w->rank[i]], i - w->base[w->rank[i]]);
}

static int is_in_place(const world *w, int r)
{
    int can = !has_root(w->args.operation) || r == w->args.root;
    return can && w->args.operation != NBCOLL_OPERATION_BCAST && w->args.operation != NBCOLL_OPERATION_BARRIER &&
           (w->args.in_place == IN_PLACE || (w->args.in_place == ODD_IN_PLACE && r % 2));
}

/* How many blocks the send or receive buffer of a rank has when it is not in place; a vector is one. */
static int blocks_of(const world *w, int r, int is_recv)
{
    nbcoll_operation operation = w->args.operation;
    int is_root = r == w->args.root;
    if (operation == NBCOLL_OPERATION_BARRIER)
        return 0;
    if (operation == NBCOLL_OPERATION_BCAST)
        return is_recv;
    if (operation == NBCOLL_OPERATION_EXSCAN)
        return !is_recv || r > 0;
    if (is_one_of(operation, alltoalls) || is_one_of(operation, is_recv ? allgathers : reduce_scatters))
        return w->ranks;
    if (is_one_of(operation, is_recv ? gathers : scatters))
        return is_root ? w->ranks : 0;
    return !(is_recv && operation == NBCOLL_OPERATION_REDUCE) || is_root;
}

/* The elements of block i of such a buffer, how many come before it in all, and where it lies: where blocks can be
 * anywhere, one element apart, and not alike on all ranks. */
static size_t length_at(const world *w, int r, int is_recv, int i)
{
    return length_of(w->args.operation, w->args.count, r, blocks_of(w, r, is_recv) > 1 ? i : r);
}

static size_t length_before(const world *w, int r, int is_recv, int i)
{
    size_t sum = 0;
    while (i-- > 0)
        sum += length_at(w, r, is_recv, i);
    return sum;
}

static size_t place_of(const world *w, int r, int is_recv, int i)
{
    int is_apart = is_one_of(w->args.operation, placed) && blocks_of(w, r, is_recv) > 1;
    return length_before(w, r, is_recv, i) + (is_apart ? (size_t)i + (size_t)(r % 2) : 0);
}

static size_t end_of(const world *w, int r, int is_recv)
{
    int last = blocks_of(w, r, is_recv) - 1;
    return last < 0 ? 0 : place_of(w, r, is_recv, last) + length_at(w, r, is_recv, last);
}

/* A region with the place and length that the run would look up. */
static nbcoll_region bound(const world *w, int r, nbcoll_region region)
{
    int is_recv = region.at.buffer == NBCOLL_BUFFER_RECV_BLOCK, i = (int)region.at.offset;
    if (region.at.buffer < NBCOLL_BUFFER_SEND_BLOCK)
        return region;
    i = blocks_of(w, r, is_recv) > 1 ? i : 0;
    return nbcoll_span((nbcoll_addr){is_recv ? NBCOLL_BUFFER_RECV : NBCOLL_BUFFER_SEND, 8 * place_of(w, r, is_recv, i)},
                       8 * length_at(w, r, is_recv, i));
}

/* Each SEND has one RECV, each RECV one SEND, of the same length. RECVs are chained by the pair of ranks. */
static void world_match(world *w)
{
    uint32_t steps = w->base[w->ranks];
    uint32_t *first = filled((size_t)w->ranks * (size_t)w->ranks, sizeof *first, 0xff);
    uint32_t *next = filled(steps, sizeof *next, 0xff);
    for (uint32_t i = steps; i-- > 0;) {
        const nbcoll_step_view *v = view_of(w, i);
        if (v->kind != NBCOLL_RECV)
            continue;
        uint32_t *pair = &first[v->peer * w->ranks + w->rank[i]];
        next[i] = *pair;
        *pair = i;
    }
    for (uint32_t i = 0; i < steps; i++) {
        const nbcoll_step_view *v = view_of(w, i);
        if (v->kind != NBCOLL_SEND)
            continue;
        uint32_t k = first[w->rank[i] * w->ranks + v->peer];
        while (k != UINT32_MAX && view_of(w, k)->number != v->number)
            k = next[k];
        assert_int_not_equal(k, UINT32_MAX);
        assert_int_equal(bound(w, w->rank[k], view_of(w, k)->write).bytes, bound(w, w->rank[i], v->read[0]).bytes);
        assert_int_equal(w->other[k], UINT32_MAX);
        w->other[i] = k;
        w->other[k] = i;
    }
    for (uint32_t i = 0; i < steps; i++)
        if (view_of(w, i)->kind == NBCOLL_RECV)
            assert_int_not_equal(w->other[i], UINT32_MAX);
    free(first);
    free(next);
}

/* Builds the schedule of a rank, which gets the arrays of its own. */
static nbcoll_schedule *build_rank(const world *w, int r)
{
    size_t counts[MOST_RANKS], displs[MOST_RANKS];
    nbcoll_type types[MOST_RANKS];
    nbcoll_builder_config config = {.size = sizeof config, .rank = r, .ranks = w->ranks};
    nbcoll_args args = w->args;
    nbcoll_schedule *s;
    int is_w = args.operation == NBCOLL_OPERATION_ALLTOALLW;
    int is_recv = !is_one_of(args.operation, scatters);
    for (int i = 0; i < w->ranks; i++) {
        counts[i] = length_of(args.operation, args.count, r, i);
        displs[i] = blocks_of(w, r, is_recv) > 1 ? place_of(w, r, is_recv, i) * (is_w ? 8 : 1) : 0;
        types[i] = i % 2 ? NBCOLL_INT64 : NBCOLL_UINT64;
    }
    args.in_place = is_in_place(w, r);
    args.counts = w->is_bound ? NULL : counts;
    if (is_one_of(args.operation, rows))
        args.counts = args.in_place ? counts : NULL;
    args.displs = is_one_of(args.operation, placed) ? displs : NULL;
    args.types = is_w ? types : NULL;
    assert_int_equal(nbcoll_build_schedule(w->algorithm, &args, &config, &s), NBCOLL_OK);
    return s;
}

static world world_open(const nbcoll_algorithm *algorithm, nbcoll_args args, int ranks)
{
    world w = {.algorithm = algorithm, .args = args, .ranks = ranks};
    int has_counts = (algorithm->flags & NBCOLL_ALGORITHM_COUNTS) != 0;
    w.is_bound = !has_counts && is_one_of(args.operation, BIT(SCATTERV) | BIT(GATHERV));
    w.schedule = filled((size_t)ranks, sizeof *w.schedule, 0);
    w.base = filled((size_t)ranks + 1, sizeof *w.base, 0);
    for (int r = 0; r < ranks; r++) {
        nbcoll_schedule_info info = {.size = sizeof info};
        w.schedule[r] = build_rank(&w, r);
        assert_int_equal(nbcoll_schedule_query(w.schedule[r], &info), NBCOLL_OK);
        w.base[r + 1] = w.base[r] + info.steps;
    }
    w.rank = filled(w.base[ranks], sizeof *w.rank, 0);
    w.other = filled(w.base[ranks], sizeof *w.other, 0xff);
    for (int r = 0; r < ranks; r++)
        for (uint32_t i = w.base[r]; i < w.base[r + 1]; i++)
            w.rank[i] = r;
    world_match(&w);
    return w;
}

static void world_close(world *w)
{
    for (int r = 0; r < w->ranks; r++)
        assert_int_equal(nbcoll_schedule_free(w->schedule[r]), NBCOLL_OK);
    free(w->schedule);
    free(w->base);
    free(w->rank);
    free(w->other);
}

/* The i-th root to try: all of a few ranks; of many the ends and the middle. -1 when there is none left. */
static int root_of(nbcoll_operation operation, int ranks, int i)
{
    const int some[] = {0, 1, ranks / 2, ranks - 1};
    if (!has_root(operation))
        return i ? -1 : 0;
    if (ranks <= 9)
        return i < ranks ? i : -1;
    return i < (int)LENGTH(some) ? some[i] : -1;
}

/* Calls `body` for each root, with a world of that algorithm, count and number of ranks. */
static void for_each_root(const nbcoll_algorithm *algorithm, size_t count, int in_place, int ranks,
                          void (*body)(const world *w))
{
    for (int i = 0, root; (root = root_of(algorithm->operation, ranks, i)) >= 0; i++) {
        nbcoll_args args = args_of(algorithm, count, root);
        args.in_place = in_place;
        world w = world_open(algorithm, args, ranks);
        body(&w);
        world_close(&w);
    }
}

/* ---- counting -------------------------------------------------------------------------------------------------- */

/* What is carried along local edges and messages: messages on the longest way here, and the ranks (below 64) whose
 * start is before the step's. */
typedef struct carried {
    int messages;
    uint64_t started;
} carried;

static void carry(carried *to, carried from, int is_message)
{
    int messages = from.messages + is_message;
    to->messages = to->messages > messages ? to->messages : messages;
    to->started |= from.started;
}

/* Follows the graph of all ranks; one entry for each rank: what reaches its end. */
static carried *follow(const world *w)
{
    uint32_t steps = w->base[w->ranks], first = 0, last = 0;
    carried *at = filled(steps, sizeof *at, 0), *end = filled((size_t)w->ranks, sizeof *end, 0);
    uint32_t *before = filled(steps, sizeof *before, 0), *queue = filled(steps, sizeof *queue, 0);
    for (uint32_t i = 0; i < steps; i++) {
        before[i] = view_of(w, i)->before + (view_of(w, i)->kind == NBCOLL_RECV);
        at[i].started = UINT64_C(1) << w->rank[i] % 64;
        if (!before[i])
            queue[last++] = i;
    }
    while (first < last) {
        uint32_t i = queue[first++];
        const nbcoll_step_view *v = view_of(w, i);
        carry(&end[w->rank[i]], at[i], 0);
        for (uint32_t k = 0; k < v->after_count; k++) {
            uint32_t next = w->base[w->rank[i]] + v->after[k];
            carry(&at[next], at[i], 0);
            if (!--before[next])
                queue[last++] = next;
        }
        if (v->kind == NBCOLL_SEND) {
            carry(&at[w->other[i]], at[i], 1);
            if (!--before[w->other[i]])
                queue[last++] = w->other[i];
        }
    }
    assert_int_equal(last, steps);
    free(at);
    free(before);
    free(queue);
    return end;
}

static void has_few_messages_after_each_other(const world *w)
{
    carried *end = follow(w);
    for (int r = 0; r < w->ranks; r++)
        assert_true(end[r].messages <= nbcoll_rounds(w->ranks) + 1);
    free(end);
}

static void has_messages_after_each_other_twice(const world *w)
{
    carried *end = follow(w);
    for (int r = 0; r < w->ranks; r++)
        assert_true(end[r].messages <= 2 * nbcoll_rounds(w->ranks));
    free(end);
}

static void has_no_more_messages_after_each_other_than_rounds(const world *w)
{
    carried *end = follow(w);
    for (int r = 0; r < w->ranks; r++)
        assert_true(end[r].messages <= nbcoll_rounds(w->ranks));
    free(end);
}

static void small_algorithms_have_at_most_rounds_plus_one_messages_after_each_other(void **state)
{
    (void)state;
    for (int ranks = 1; ranks <= 130; ranks += ranks < 66 ? 1 : 16)
        for (int operation = 0; operation < NBCOLL_OPERATION_COUNT; operation++)
            for (int in_place = 0; in_place < 2; in_place++)
                for_each_root(small_one(operation), 5, in_place, ranks,
                              is_one_of((nbcoll_operation)operation, reduce_scatters)
                                  ? has_messages_after_each_other_twice
                                  : has_few_messages_after_each_other);
}

static void logarithmic_algorithms_need_no_round_more_for_any_number_of_ranks(void **state)
{
    static const struct {
        nbcoll_operation operation;
        const char *name;
    } algorithms[] = {{NBCOLL_OPERATION_ALLREDUCE, "aligned"},         {NBCOLL_OPERATION_SCAN, "recursive_doubling"},
                      {NBCOLL_OPERATION_EXSCAN, "recursive_doubling"}, {NBCOLL_OPERATION_ALLTOALL, "bruck"},
                      {NBCOLL_OPERATION_ALLGATHERV, "bruck"},          {NBCOLL_OPERATION_GATHERV, "binomial"},
                      {NBCOLL_OPERATION_SCATTERV, "binomial"}};
    (void)state;
    for (int ranks = 1; ranks <= 130; ranks += ranks < 66 ? 1 : 16)
        for (size_t i = 0; i < LENGTH(algorithms); i++)
            for_each_root(nbcoll_algorithm_find(algorithms[i].operation, algorithms[i].name), 5, 0, ranks,
                          has_no_more_messages_after_each_other_than_rounds);
}

static size_t most_bytes_sent(const world *w)
{
    size_t most = 0;
    for (int r = 0; r < w->ranks; r++) {
        size_t sent = 0;
        for (uint32_t i = w->base[r]; i < w->base[r + 1]; i++)
            if (view_of(w, i)->kind == NBCOLL_SEND)
                sent += bound(w, r, view_of(w, i)->read[0]).bytes;
        most = most > sent ? most : sent;
    }
    return most;
}

static void sends_at_most_the_vector_twice(const world *w)
{
    assert_true(most_bytes_sent(w) <= 2 * w->args.count * sizeof(int64_t));
}

static void sends_at_most_the_vector_once(const world *w)
{
    assert_true(most_bytes_sent(w) <= w->args.count * sizeof(int64_t));
}

static void for_large_data(nbcoll_operation operation, void (*body)(const world *w))
{
    static const size_t counts[] = {0, 1, 33, 1001};
    for (int ranks = 1; ranks <= 130; ranks += ranks < 33 ? 1 : 97)
        for (size_t i = 0; i < LENGTH(counts); i++)
            for_each_root(large_one((int)operation), counts[i], (int)i % 2, ranks, body);
}

static void large_bcast_sends_at_most_the_vector_twice(void **state)
{
    (void)state;
    for_large_data(NBCOLL_OPERATION_BCAST, sends_at_most_the_vector_twice);
}

static void large_allreduce_sends_at_most_the_vector_twice(void **state)
{
    (void)state;
    for_large_data(NBCOLL_OPERATION_ALLREDUCE, sends_at_most_the_vector_twice);
}

static void large_reduce_sends_at_most_the_vector_once(void **state)
{
    (void)state;
    for_large_data(NBCOLL_OPERATION_REDUCE, sends_at_most_the_vector_once);
}

static void direct_reductions_send_no_more_than_other_large_ones(void **state)
{
    (void)state;
    for (int ranks = 1; ranks <= 33; ranks++) {
        for_each_root(nbcoll_algorithm_find(NBCOLL_OPERATION_ALLREDUCE, "direct"), 1001, 0, ranks,
                      sends_at_most_the_vector_twice);
        for_each_root(nbcoll_algorithm_find(NBCOLL_OPERATION_REDUCE, "direct"), 1001, 0, ranks,
                      sends_at_most_the_vector_once);
    }
}

/* All sends of a rank but its first wait. */
static void sends_one_block_at_a_time(const world *w)
{
    for (int r = 0; r < w->ranks; r++) {
        int at_once = 0;
        for (uint32_t i = w->base[r]; i < w->base[r + 1]; i++)
            at_once += view_of(w, i)->kind == NBCOLL_SEND && !view_of(w, i)->before;
        assert_true(at_once <= 1);
    }
}

static void pairwise_exchanges_send_one_block_at_a_time(void **state)
{
    static const nbcoll_operation operations[] = {NBCOLL_OPERATION_ALLTOALL, NBCOLL_OPERATION_ALLTOALLV,
                                                  NBCOLL_OPERATION_ALLTOALLW};
    (void)state;
    for (int ranks = 1; ranks <= 17; ranks++)
        for (size_t i = 0; i < LENGTH(operations); i++)
            for_each_root(nbcoll_algorithm_find(operations[i], "pairwise"), 5, 0, ranks, sends_one_block_at_a_time);
}

/* The ring's second round arrives over what the first still sends; sequential algorithms wait by their nature. */
static void posts_receives_at_the_start(const world *w)
{
    if (strstr(w->algorithm->name, "sequential"))
        return;
    for (uint32_t i = 0; i < w->base[w->ranks]; i++) {
        const nbcoll_step_view *v = view_of(w, i);
        int is_second_round =
            w->algorithm == large_one(NBCOLL_OPERATION_ALLREDUCE) && v->number >= (uint32_t)w->ranks - 1;
        if (v->kind == NBCOLL_RECV && !is_second_round)
            assert_int_equal(v->before, 0);
    }
}

static void receives_are_posted_at_the_start_unless_in_place(void **state)
{
    (void)state;
    for (int ranks = 1; ranks <= 17; ranks++)
        for (int operation = 0; operation < NBCOLL_OPERATION_COUNT; operation++)
            for (unsigned i = 0; nbcoll_algorithm_at((nbcoll_operation)operation, i); i++)
                for_each_root(nbcoll_algorithm_at((nbcoll_operation)operation, i), 40, 0, ranks,
                              posts_receives_at_the_start);
}

static void ends_after_all_have_started(const world *w)
{
    carried *end = follow(w);
    for (int r = 0; r < w->ranks; r++)
        assert_true(end[r].started == UINT64_MAX >> (64 - w->ranks));
    free(end);
}

static void a_barrier_ends_nowhere_before_all_have_started(void **state)
{
    (void)state;
    for (int ranks = 1; ranks <= 64; ranks++)
        for_each_root(small_one(NBCOLL_OPERATION_BARRIER), 0, 0, ranks, ends_after_all_have_started);
}

/* ---- playing --------------------------------------------------------------------------------------------------- */

/* Elements are 64 bits. The player gives reductions meanings of its own:
 *
 *   SUM    the sum
 *   PROD   the composition of x -> a x + b, a and b being the halves of the element: associative, not commutative
 *   MAX    a mixture that is neither: equal only where the same elements were combined in the same way */
static uint64_t combined(nbcoll_op op, uint64_t left, uint64_t right)
{
    uint32_t a = (uint32_t)(left >> 32), b = (uint32_t)left, c = (uint32_t)(right >> 32), d = (uint32_t)right;
    if (op == NBCOLL_SUM)
        return left + right;
    if (op == NBCOLL_PROD)
        return (uint64_t)(a * c) << 32 | (uint32_t)(b + a * d);
    return (left * 3 ^ right * 5) * UINT64_C(0x9e3779b97f4a7c15) + 1;
}

/* Element i of what rank r has to give. An odd factor keeps compositions from all becoming alike. */
static uint64_t input(int r, size_t i)
{
    return ((uint64_t)r * 1000003 + i * 7919) * UINT64_C(0xd1342543de82ef95) | UINT64_C(1) << 32;
}

typedef struct player {
    const world *w;
    unsigned char *buffer[64][NBCOLL_BUFFER_COUNT];
    size_t bytes[64][NBCOLL_BUFFER_COUNT];
    uint32_t *before;
    unsigned char *is_posted; /* a RECV whose memory may be written, a SEND whose memory is being read */
    unsigned char **message;  /* what a SEND that ended has on its way */
    uint32_t *pool, pooled;   /* steps that may end next */
    int is_rendezvous;        /* a SEND ends only after its RECV was posted */
} player;

static unsigned char *memory(const player *p, int r, nbcoll_region region)
{
    region = bound(p->w, r, region);
    if (!region.bytes)
        return p->buffer[r][region.at.buffer];
    assert_true(region.at.offset + region.bytes <= p->bytes[r][region.at.buffer]);
    return p->buffer[r][region.at.buffer] + region.at.offset;
}

static void player_pool(player *p, uint32_t i)
{
    p->pool[p->pooled++] = i;
}

/* A step whose edges are satisfied. From now on a RECV may write, so that what was there is lost. */
static void player_ready(player *p, uint32_t i)
{
    const nbcoll_step_view *v = view_of(p->w, i);
    uint32_t other = p->w->other[i];
    p->is_posted[i] = 1;
    if (v->kind == NBCOLL_RECV) {
        memset(memory(p, p->w->rank[i], v->write), GARBAGE, bound(p->w, p->w->rank[i], v->write).bytes);
        if (p->message[other])
            player_pool(p, i);
        else if (p->is_rendezvous && p->is_posted[other])
            player_pool(p, other);
    } else if (v->kind != NBCOLL_SEND || !p->is_rendezvous || p->is_posted[other]) {
        player_pool(p, i);
    }
}

static void player_reduce(player *p, int r, const nbcoll_step_view *v)
{
    unsigned char *to = memory(p, r, v->write), *left = memory(p, r, v->read[0]), *right = memory(p, r, v->read[1]);
    for (size_t i = 0; i < v->write.bytes; i += 8) {
        uint64_t a, b;
        memcpy(&a, left + i, 8);
        memcpy(&b, right + i, 8);
        a = combined(v->reduction.op, a, b);
        memcpy(to + i, &a, 8);
    }
}

static void player_end(player *p, uint32_t i)
{
    const nbcoll_step_view *v = view_of(p->w, i);
    int r = p->w->rank[i];
    size_t written = bound(p->w, r, v->write).bytes, read = bound(p->w, r, v->read[0]).bytes;
    if (v->kind == NBCOLL_SEND) {
        p->message[i] = filled(read, 1, 0);
        memcpy(p->message[i], memory(p, r, v->read[0]), read);
        if (p->is_posted[p->w->other[i]])
            player_pool(p, p->w->other[i]);
    } else if (v->kind == NBCOLL_RECV) {
        memcpy(memory(p, r, v->write), p->message[p->w->other[i]], written);
    } else if (v->kind == NBCOLL_COPY) {
        assert_int_equal(written, read);
        memcpy(memory(p, r, v->write), memory(p, r, v->read[0]), written);
    } else if (v->kind == NBCOLL_REDUCE) {
        player_reduce(p, r, v);
    }
    for (uint32_t k = 0; k < v->after_count; k++) {
        uint32_t next = p->w->base[r] + v->after[k];
        if (!--p->before[next])
            player_ready(p, next);
    }
}

/* Runs all steps, each time any one of those that may end. How many ended. */
static uint32_t player_run(player *p)
{
    uint32_t steps = p->w->base[p->w->ranks], ended = 0;
    for (uint32_t i = 0; i < steps; i++)
        p->before[i] = view_of(p->w, i)->before;
    for (uint32_t i = 0; i < steps; i++)
        if (!view_of(p->w, i)->before)
            player_ready(p, i);
    for (; p->pooled; ended++) {
        uint32_t at = (uint32_t)(dice() % p->pooled), i = p->pool[at];
        p->pool[at] = p->pool[--p->pooled];
        player_end(p, i);
    }
    return ended;
}

/* The elements of a buffer of a rank: exactly those that the operation has. */
static size_t elements_of(const world *w, int r, int is_recv)
{
    int is_scatter = is_one_of(w->args.operation, scatters);
    if (!is_in_place(w, r))
        return end_of(w, r, is_recv);
    if (is_recv == is_scatter) /* the one that is not there */
        return 0;
    size_t send = end_of(w, r, 0), recv = end_of(w, r, 1);
    return is_scatter || send > recv ? send : recv;
}

static void put(unsigned char *buffer, size_t at, uint64_t x)
{
    memcpy(buffer + 8 * at, &x, 8);
}

/* What a rank contributes. */
static void put_input(const world *w, unsigned char *buffer[], int r)
{
    int at_recv = is_in_place(w, r) && !is_one_of(w->args.operation, scatters), blocks = blocks_of(w, r, 0);
    int is_gathered = is_one_of(w->args.operation, gathers | allgathers);
    if (w->args.operation == NBCOLL_OPERATION_BCAST && r == w->args.root)
        at_recv = blocks = 1;
    for (int i = 0; i < blocks; i++) {
        size_t place = at_recv && is_gathered ? place_of(w, r, 1, r) : place_of(w, r, 0, i);
        size_t before = length_before(w, r, 0, i);
        for (size_t k = 0; k < length_at(w, r, 0, i); k++)
            put(buffer[at_recv ? NBCOLL_BUFFER_RECV : NBCOLL_BUFFER_SEND], place + k, input(r, before + k));
    }
}

static void player_open(player *p, const world *w, int is_rendezvous)
{
    uint32_t steps = w->base[w->ranks];
    *p = (player){.w = w, .is_rendezvous = is_rendezvous};
    p->before = filled(steps, sizeof *p->before, 0);
    p->is_posted = filled(steps, 1, 0);
    p->message = calloc(steps, sizeof *p->message);
    p->pool = filled(steps, sizeof *p->pool, 0);
    assert_true(w->ranks <= 64 && p->message);
    for (int r = 0; r < w->ranks; r++) {
        nbcoll_schedule_info info = {.size = sizeof info};
        nbcoll_schedule_query(w->schedule[r], &info);
        p->bytes[r][NBCOLL_BUFFER_SEND] = elements_of(w, r, 0) * 8;
        p->bytes[r][NBCOLL_BUFFER_RECV] = elements_of(w, r, 1) * 8;
        p->bytes[r][NBCOLL_BUFFER_SCRATCH] = info.extent[NBCOLL_BUFFER_SCRATCH];
        for (int k = 0; k < NBCOLL_BUFFER_COUNT; k++)
            p->buffer[r][k] = filled(p->bytes[r][k], 1, GARBAGE);
        put_input(w, p->buffer[r], r);
    }
}

static void player_close(player *p)
{
    for (uint32_t i = 0; i < p->w->base[p->w->ranks]; i++)
        free(p->message[i]);
    for (int r = 0; r < p->w->ranks; r++)
        for (int k = 0; k < NBCOLL_BUFFER_COUNT; k++)
            free(p->buffer[r][k]);
    free(p->before);
    free(p->is_posted);
    free(p->message);
    free(p->pool);
}

/* Element i of what `ranks` ranks from `first` on give, combined along the tree of NBCOLL_REPRODUCIBLE. */
static uint64_t tree(nbcoll_op op, int first, int ranks, size_t i)
{
    int low = 1;
    if (ranks == 1)
        return input(first, i);
    while (2 * low < ranks)
        low *= 2;
    return combined(op, tree(op, first, low, i), tree(op, first + low, ranks - low, i));
}

/* What element k of block i of the receive buffer of rank r must be. */
static uint64_t output(const world *w, int r, int i, size_t k)
{
    nbcoll_operation operation = w->args.operation;
    nbcoll_op op = w->args.reduction.op;
    if (operation == NBCOLL_OPERATION_BCAST)
        return input(w->args.root, k);
    if (is_one_of(operation, scatters))
        return input(w->args.root, length_before(w, w->args.root, 0, r) + k);
    if (is_one_of(operation, gathers | allgathers))
        return input(i, k);
    if (is_one_of(operation, alltoalls))
        return input(i, length_before(w, i, 0, r) + k);
    if (is_one_of(operation, reduce_scatters))
        return tree(op, 0, w->ranks, length_before(w, r, 0, r) + k);
    if (operation == NBCOLL_OPERATION_SCAN || operation == NBCOLL_OPERATION_EXSCAN)
        return tree(op, 0, r + (operation == NBCOLL_OPERATION_SCAN), k);
    return tree(op, 0, w->ranks, k);
}

/* Are the buffers of a rank as they must be, and untouched where the operation has nothing? Of a mixture that is not
 * combined along the tree: only that it is the same as rank 0's. */
static int rank_is_right(const player *p, int r)
{
    const world *w = p->w;
    int is_mixed = reduces(w->args.operation) && w->args.reduction.op == NBCOLL_MAX &&
                   !(w->algorithm->flags & NBCOLL_ALGORITHM_REPRODUCIBLE);
    unsigned char *must[NBCOLL_BUFFER_COUNT];
    int is_right = 1;
    for (int k = 0; k < NBCOLL_BUFFER_COUNT; k++)
        must[k] = filled(p->bytes[r][k], 1, GARBAGE);
    put_input(w, must, r);
    for (int i = 0; p->bytes[r][NBCOLL_BUFFER_RECV] && i < blocks_of(w, r, 1); i++)
        for (size_t k = 0; k < length_at(w, r, 1, i); k++)
            put(must[NBCOLL_BUFFER_RECV], place_of(w, r, 1, i) + k, is_mixed ? 0 : output(w, r, i, k));
    if (is_mixed)
        memcpy(must[NBCOLL_BUFFER_RECV], p->buffer[0][NBCOLL_BUFFER_RECV], p->bytes[r][NBCOLL_BUFFER_RECV]);
    for (int k = NBCOLL_BUFFER_SEND; k <= NBCOLL_BUFFER_RECV; k++)
        is_right &= !memcmp(must[k], p->buffer[r][k], p->bytes[r][k]);
    for (int k = 0; k < NBCOLL_BUFFER_COUNT; k++)
        free(must[k]);
    return is_right;
}

static int player_is_right(const player *p)
{
    int is_right = 1;
    for (int r = 0; r < p->w->ranks; r++)
        is_right &= rank_is_right(p, r);
    return is_right;
}

/* Plays the schedules once. Did all steps end, and is the result right? */
static int plays(const world *w, int is_rendezvous)
{
    player p;
    player_open(&p, w, is_rendezvous);
    int is_right = player_run(&p) == w->base[w->ranks] && player_is_right(&p);
    player_close(&p);
    return is_right;
}

static void gives_the_right_result(const world *w)
{
    for (int is_rendezvous = 0; is_rendezvous < 2; is_rendezvous++) {
        uint64_t seed = dice_state;
        if (!plays(w, is_rendezvous))
            fail_msg("%s/%s, %d ranks, root %d, count %zu, op %s, in place %d, rendezvous %d, dice %llu",
                     nbcoll_operation_name(w->args.operation), w->algorithm->name, w->ranks, w->args.root,
                     w->args.count, nbcoll_op_name(w->args.reduction.op), w->args.in_place, is_rendezvous,
                     (unsigned long long)seed);
    }
}

static void play_all(const nbcoll_algorithm *algorithm, nbcoll_op op)
{
    static const size_t counts[] = {0, 1, 7, 37};
    int modes = algorithm->operation == NBCOLL_OPERATION_BARRIER ? 1 : has_root(algorithm->operation) ? 2 : 3;
    for (int ranks = 1; ranks <= 33; ranks += ranks < 17 ? 1 : ranks < 31 ? 14 : 1)
        for (int i = 0, root; (root = root_of(algorithm->operation, ranks, i)) >= 0; i++)
            for (int c = 0; c < modes * (int)LENGTH(counts); c++) {
                nbcoll_args args = args_of(algorithm, counts[c / modes], root);
                args.in_place = c % modes;
                args.reduction.op = op;
                world w = world_open(algorithm, args, ranks);
                gives_the_right_result(&w);
                world_close(&w);
            }
}

static void play_operation(nbcoll_operation operation)
{
    for (unsigned i = 0; nbcoll_algorithm_at(operation, i); i++)
        play_all(nbcoll_algorithm_at(operation, i), NBCOLL_SUM);
}

static void barrier_ends_on_all_ranks(void **state)
{
    (void)state;
    play_operation(NBCOLL_OPERATION_BARRIER);
}

static void bcast_gives_everyone_the_roots_vector(void **state)
{
    (void)state;
    play_operation(NBCOLL_OPERATION_BCAST);
}

static void scatter_gives_each_rank_its_block(void **state)
{
    (void)state;
    play_operation(NBCOLL_OPERATION_SCATTER);
}

static void gather_gives_the_root_all_blocks(void **state)
{
    (void)state;
    play_operation(NBCOLL_OPERATION_GATHER);
}

static void allgather_gives_everyone_all_blocks(void **state)
{
    (void)state;
    play_operation(NBCOLL_OPERATION_ALLGATHER);
}

static void reduce_gives_the_root_the_sum(void **state)
{
    (void)state;
    play_operation(NBCOLL_OPERATION_REDUCE);
}

static void allreduce_gives_everyone_the_sum(void **state)
{
    (void)state;
    play_operation(NBCOLL_OPERATION_ALLREDUCE);
}

static void scatterv_gives_each_rank_its_block(void **state)
{
    (void)state;
    play_operation(NBCOLL_OPERATION_SCATTERV);
}

static void gatherv_gives_the_root_all_blocks(void **state)
{
    (void)state;
    play_operation(NBCOLL_OPERATION_GATHERV);
}

static void allgatherv_gives_everyone_all_blocks(void **state)
{
    (void)state;
    play_operation(NBCOLL_OPERATION_ALLGATHERV);
}

static void alltoall_gives_each_rank_its_block_of_every_other(void **state)
{
    (void)state;
    play_operation(NBCOLL_OPERATION_ALLTOALL);
}

static void alltoallv_gives_each_rank_its_block_of_every_other(void **state)
{
    (void)state;
    play_operation(NBCOLL_OPERATION_ALLTOALLV);
}

static void alltoallw_gives_each_rank_its_block_of_every_other(void **state)
{
    (void)state;
    play_operation(NBCOLL_OPERATION_ALLTOALLW);
}

static void reduce_scatter_gives_each_rank_its_block_of_the_sum(void **state)
{
    (void)state;
    play_operation(NBCOLL_OPERATION_REDUCE_SCATTER);
}

static void reduce_scatter_block_gives_each_rank_its_block_of_the_sum(void **state)
{
    (void)state;
    play_operation(NBCOLL_OPERATION_REDUCE_SCATTER_BLOCK);
}

static void scan_gives_each_rank_the_sum_up_to_its_own(void **state)
{
    (void)state;
    play_operation(NBCOLL_OPERATION_SCAN);
}

static void exscan_gives_each_rank_the_sum_below_its_own(void **state)
{
    (void)state;
    play_operation(NBCOLL_OPERATION_EXSCAN);
}

/* Plays those algorithms that reduce, and have these of the flags. */
static void play_reductions(nbcoll_op op, uint32_t flags, uint32_t having)
{
    for (int operation = 0; operation < NBCOLL_OPERATION_COUNT; operation++) {
        const nbcoll_algorithm *algorithm;
        for (unsigned i = 0; (algorithm = nbcoll_algorithm_at((nbcoll_operation)operation, i)); i++)
            if (reduces((nbcoll_operation)operation) && (algorithm->flags & flags) == having)
                play_all(algorithm, op);
    }
}

static void reductions_keep_rank_order_unless_they_say_otherwise(void **state)
{
    (void)state;
    play_reductions(NBCOLL_PROD, NBCOLL_ALGORITHM_REORDERS, 0);
}

static void reproducible_reductions_are_combined_along_the_tree(void **state)
{
    (void)state;
    play_reductions(NBCOLL_MAX, NBCOLL_ALGORITHM_REPRODUCIBLE, NBCOLL_ALGORITHM_REPRODUCIBLE);
}

static void each_reduction_has_a_reproducible_algorithm(void **state)
{
    (void)state;
    for (int operation = 0; operation < NBCOLL_OPERATION_COUNT; operation++) {
        const nbcoll_algorithm *algorithm;
        unsigned found = 0;
        for (unsigned i = 0; (algorithm = nbcoll_algorithm_at((nbcoll_operation)operation, i)); i++)
            found += algorithm->flags & NBCOLL_ALGORITHM_REPRODUCIBLE;
        assert_int_equal(found > 0, reduces((nbcoll_operation)operation));
    }
}

static void allreduce_gives_all_ranks_the_same_bits(void **state)
{
    (void)state;
    for (unsigned i = 0; nbcoll_algorithm_at(NBCOLL_OPERATION_ALLREDUCE, i); i++)
        play_all(nbcoll_algorithm_at(NBCOLL_OPERATION_ALLREDUCE, i), NBCOLL_MAX);
}

/* ---- the player notices ---------------------------------------------------------------------------------------- */

/* A broadcast down a chain, right but for one thing. */
enum { NOTHING, NO_EDGE, WRONG_PEER_ORDER, WAITS_FOR_ITSELF };
static int broken;

static void chain(nbcoll_builder *b, const nbcoll_args *a)
{
    nbcoll_step data = NBCOLL_START, pass = NBCOLL_START;
    if (b->rank)
        data = nbcoll_recv(b, b->rank - 1, a->recv, a->bytes);
    if (b->rank + 1 < b->ranks)
        pass = nbcoll_send(b, b->rank + 1, a->recv, a->bytes);
    if (b->rank && b->rank + 1 < b->ranks && broken != NO_EDGE)
        nbcoll_after(b, broken == WRONG_PEER_ORDER ? data : pass, broken == WRONG_PEER_ORDER ? pass : data);
    if (broken == WAITS_FOR_ITSELF && b->ranks == 2) {
        nbcoll_step back = b->rank ? nbcoll_send(b, 0, a->recv, 0) : nbcoll_recv(b, 1, a->recv, 0);
        nbcoll_after(b, b->rank ? back : pass, b->rank ? data : back);
    }
}

static int plays_chain(int how, int ranks)
{
    static const nbcoll_algorithm algorithm = {sizeof algorithm, "chain", NBCOLL_OPERATION_BCAST, chain, 0};
    int is_right = 1;
    broken = how;
    world w = world_open(&algorithm, args_of(&algorithm, 3, 0), ranks);
    for (int i = 0; i < 20; i++)
        is_right &= plays(&w, i % 2);
    world_close(&w);
    return is_right;
}

static void the_player_accepts_what_is_right(void **state)
{
    (void)state;
    assert_true(plays_chain(NOTHING, 4));
}

static void the_player_notices_a_step_that_does_not_wait(void **state)
{
    (void)state;
    assert_false(plays_chain(NO_EDGE, 4));
    assert_false(plays_chain(WRONG_PEER_ORDER, 4));
}

static void the_player_notices_a_deadlock(void **state)
{
    (void)state;
    assert_false(plays_chain(WAITS_FOR_ITSELF, 2));
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(small_algorithms_have_at_most_rounds_plus_one_messages_after_each_other),
    cmocka_unit_test(logarithmic_algorithms_need_no_round_more_for_any_number_of_ranks),
    cmocka_unit_test(large_bcast_sends_at_most_the_vector_twice),
    cmocka_unit_test(large_allreduce_sends_at_most_the_vector_twice),
    cmocka_unit_test(large_reduce_sends_at_most_the_vector_once),
    cmocka_unit_test(direct_reductions_send_no_more_than_other_large_ones),
    cmocka_unit_test(pairwise_exchanges_send_one_block_at_a_time),
    cmocka_unit_test(receives_are_posted_at_the_start_unless_in_place),
    cmocka_unit_test(a_barrier_ends_nowhere_before_all_have_started),
    cmocka_unit_test(barrier_ends_on_all_ranks),
    cmocka_unit_test(bcast_gives_everyone_the_roots_vector),
    cmocka_unit_test(scatter_gives_each_rank_its_block),
    cmocka_unit_test(gather_gives_the_root_all_blocks),
    cmocka_unit_test(allgather_gives_everyone_all_blocks),
    cmocka_unit_test(reduce_gives_the_root_the_sum),
    cmocka_unit_test(allreduce_gives_everyone_the_sum),
    cmocka_unit_test(scatterv_gives_each_rank_its_block),
    cmocka_unit_test(gatherv_gives_the_root_all_blocks),
    cmocka_unit_test(allgatherv_gives_everyone_all_blocks),
    cmocka_unit_test(alltoall_gives_each_rank_its_block_of_every_other),
    cmocka_unit_test(alltoallv_gives_each_rank_its_block_of_every_other),
    cmocka_unit_test(alltoallw_gives_each_rank_its_block_of_every_other),
    cmocka_unit_test(reduce_scatter_gives_each_rank_its_block_of_the_sum),
    cmocka_unit_test(reduce_scatter_block_gives_each_rank_its_block_of_the_sum),
    cmocka_unit_test(scan_gives_each_rank_the_sum_up_to_its_own),
    cmocka_unit_test(exscan_gives_each_rank_the_sum_below_its_own),
    cmocka_unit_test(reductions_keep_rank_order_unless_they_say_otherwise),
    cmocka_unit_test(reproducible_reductions_are_combined_along_the_tree),
    cmocka_unit_test(each_reduction_has_a_reproducible_algorithm),
    cmocka_unit_test(allreduce_gives_all_ranks_the_same_bits),
    cmocka_unit_test(the_player_accepts_what_is_right),
    cmocka_unit_test(the_player_notices_a_step_that_does_not_wait),
    cmocka_unit_test(the_player_notices_a_deadlock),
};

int main(void)
{
    return cmocka_run_group_tests(tests, throw_dice, NULL);
}
