/* SPDX-License-Identifier: BSD-3-Clause
 * An algorithm in a group is the algorithm alone: for every algorithm of the library and groups of up to 6 ranks (every
 * set of them, in several orders), the steps that nbcoll_within adds are those of the schedule of a group that is all
 * ranks, but for the names of the ranks; and ranks that are not in the group get none. */
#include "schedules.h"

#include <stdio.h>

#include "../../src/select/select.h"
#include <nbcoll/verify.h>

#define MOST 6

/* ---- groups ---------------------------------------------------------------------------------------------------- */

typedef struct group {
    int n, rank[MOST];
} group;

/* The ranks of a set, rising; turned by `turn`, and backwards. */
static group group_of(unsigned set, int turn, int is_backwards)
{
    group all = {0}, g;
    for (int rank = 0; rank < MOST; rank++)
        if (set >> rank & 1)
            all.rank[all.n++] = rank;
    g = all;
    for (int i = 0; i < g.n; i++)
        g.rank[i] = all.rank[((is_backwards ? g.n - 1 - i : i) + turn) % g.n];
    return g;
}

static int place_in(const group *g, int rank)
{
    for (int i = 0; i < g->n; i++)
        if (g->rank[i] == rank)
            return i;
    return -1;
}

/* ---- building alone and in a group ----------------------------------------------------------------------------- */

/* What the algorithm is asked for; blocks of one length, but where counts are always known. */
static nbcoll_args asked(const nbcoll_algorithm *algorithm, int place, int n)
{
    static const size_t counts[MOST] = {3, 0, 5, 1, 2, 4};
    nbcoll_args a = {.size = sizeof a,
                     .operation = algorithm->operation,
                     .count = 5,
                     .reduction = sum_i32,
                     .counts = counts,
                     .segment = 8,
                     .arity = 2,
                     .ports = 2};
    if (nbcolli_kind_of(algorithm->operation)->has_root)
        a.root = n - 1;
    assert_int_equal(nbcoll_args_complete(&a, place, n), NBCOLL_OK);
    return a;
}

static nbcoll_builder *opened_for(int rank, int ranks, nbcoll_shares *shares)
{
    nbcoll_builder_config c = {.size = sizeof c, .rank = rank, .ranks = ranks, .shares = shares};
    nbcoll_builder *b;
    assert_int_equal(nbcoll_builder_open(&c, &b), NBCOLL_OK);
    return b;
}

static nbcoll_schedule *alone(const nbcoll_algorithm *algorithm, int place, int n, nbcoll_shares *shares)
{
    nbcoll_builder *b = opened_for(place, n, shares);
    nbcoll_args a = asked(algorithm, place, n);
    algorithm->build(b, &a);
    return finished(b);
}

static nbcoll_schedule *grouped(const nbcoll_algorithm *algorithm, const group *g, int rank, nbcoll_shares *shares)
{
    nbcoll_builder *b = opened_for(rank, MOST, shares);
    int place = place_in(g, rank);
    nbcoll_args a = asked(algorithm, place < 0 ? 0 : place, g->n);
    nbcoll_step end = nbcoll_within(b, g->rank, g->n, &a, algorithm->build, NBCOLL_START);
    if (place < 0)
        assert_int_equal(end, NBCOLL_START);
    return finished(b);
}

/* ---- comparing ------------------------------------------------------------------------------------------------- */

/* How many messages of the same kind, peer and family have a smaller number: what it is numbered in a group. */
static uint32_t packed_number(const nbcoll_schedule *s, const nbcoll_step_view *v)
{
    const uint32_t lowered = UINT32_C(1) << 31;
    uint32_t n = 0;
    for (nbcoll_step i = 0; i < info_of(s).steps; i++) {
        const nbcoll_step_view *w = view(s, i);
        int is_fetch = w->kind == NBCOLL_FETCH || w->kind == NBCOLL_FETCH_REDUCE;
        int are_alike = is_fetch ? v->kind == NBCOLL_FETCH || v->kind == NBCOLL_FETCH_REDUCE : w->kind == v->kind;
        n += are_alike && w->peer == v->peer && (w->number & lowered) == (v->number & lowered) && w->number < v->number;
    }
    return n | (v->number & lowered);
}

static void compare_parts(const nbcoll_step_view *v, const nbcoll_step_view *w, const group *g)
{
    assert_int_equal(v->part_count, w->part_count);
    for (uint32_t p = 0; p < v->part_count; p++) {
        assert_int_equal(w->parts[p].peer, v->kind == NBCOLL_CALL ? -1 : g->rank[v->parts[p].peer]);
        assert_int_equal(w->parts[p].number, v->parts[p].number);
        assert_region(w->parts[p].region, v->parts[p].region.at, v->parts[p].region.bytes);
    }
    assert_int_equal(v->grows, w->grows);
}

/* `in` has the steps of `s`, and perhaps one that waits for the last of them. */
static void compare(const nbcoll_schedule *s, const nbcoll_schedule *in, const group *g)
{
    uint32_t steps = info_of(s).steps;
    assert_in_range(info_of(in).steps, steps, steps + 1);
    if (info_of(in).steps > steps)
        assert_int_equal(view(in, steps)->kind, NBCOLL_JOIN);
    for (nbcoll_step i = NBCOLL_END + 1; i < steps; i++) {
        const nbcoll_step_view *v = view(s, i), *w = view(in, i);
        assert_int_equal(w->kind, v->kind);
        assert_int_equal(w->peer, v->peer < 0 ? -1 : g->rank[v->peer]);
        if (v->peer >= 0)
            assert_int_equal(w->number, packed_number(s, v));
        assert_region(w->write, v->write.at, v->write.bytes);
        assert_region(w->read[0], v->read[0].at, v->read[0].bytes);
        assert_region(w->read[1], v->read[1].at, v->read[1].bytes);
        assert_int_equal(w->before, v->before);
        int is_last = !v->after_count && info_of(in).steps > steps;
        assert_int_equal(w->after_count, v->after_count + (uint32_t)is_last);
        for (uint32_t k = 0; k < v->after_count; k++)
            assert_int_equal(w->after[k], v->after[k]);
        compare_parts(v, w, g);
    }
    assert_int_equal(info_of(in).extent[NBCOLL_BUFFER_SCRATCH], info_of(s).extent[NBCOLL_BUFFER_SCRATCH]);
}

static void check_group(const nbcoll_algorithm *algorithm, const group *g, nbcoll_shares *shares)
{
    for (int rank = 0; rank < MOST; rank++) {
        nbcoll_schedule *in = grouped(algorithm, g, rank, shares);
        int place = place_in(g, rank);
        if (place < 0)
            assert_int_equal(info_of(in).steps, 2);
        else {
            nbcoll_schedule *s = alone(algorithm, place, g->n, shares);
            compare(s, in, g);
            nbcoll_schedule_free(s);
        }
        nbcoll_schedule_free(in);
    }
}

/* Bound blocks have no place in a group: algorithms of these operations are left out, unless counts are known. */
static int is_left_out(nbcoll_operation operation)
{
    return operation == NBCOLL_OPERATION_ALLTOALLV || operation == NBCOLL_OPERATION_ALLTOALLW;
}

static void an_algorithm_in_a_group_is_the_algorithm_alone(void **state)
{
    (void)state;
    unsigned long groups = 0;
    for (int operation = 0; operation < NBCOLL_OPERATION_COUNT; operation++) {
        const nbcoll_algorithm *algorithm;
        for (unsigned i = 0; (algorithm = nbcoll_algorithm_at((nbcoll_operation)operation, i)); i++)
            for (unsigned set = 1; set < 1u << MOST && !is_left_out((nbcoll_operation)operation); set++)
                for (int form = 0; form < 3; form++, groups++) {
                    group g = group_of(set, form, form == 1);
                    check_group(algorithm, &g, NULL);
                    if (algorithm->flags >> 16)
                        check_group(algorithm, &g, with_all);
                }
    }
    print_message("%lu groups\n", groups);
}

/* ---- where groups end ------------------------------------------------------------------------------------------ */

static void nothing(nbcoll_builder *b, const nbcoll_args *a)
{
    (void)b;
    (void)a;
}

/* Sends a block to the next of the group, and takes one from the one before: no step waits for another. */
static void ring(nbcoll_builder *b, const nbcoll_args *a)
{
    nbcoll_add_send(b, (b->rank + 1) % b->ranks, a->send, a->bytes);
    nbcoll_add_recv(b, (b->rank + b->ranks - 1) % b->ranks, a->recv, a->bytes);
}

static const nbcoll_args eight = {
    .size = sizeof eight, .send = {NBCOLL_BUFFER_SEND, 0}, .recv = {NBCOLL_BUFFER_RECV, 0}, .bytes = 8};

static void a_group_waits_and_is_waited_for_as_one_step(void **state)
{
    (void)state;
    static const int pair[] = {1, 4};
    nbcoll_builder *b = opened(NULL); /* rank 1 of 8 */
    nbcoll_step before = nbcoll_add_recv(b, 3, in_recv(64), 8);
    nbcoll_step end = nbcoll_within(b, pair, 2, &eight, ring, before);
    nbcoll_step later = nbcoll_add_send(b, 3, in_recv(0), 8);
    nbcoll_after(b, later, end);
    nbcoll_schedule *s = finished(b);
    assert_int_equal(view(s, end)->kind, NBCOLL_JOIN);
    for (nbcoll_step step = before + 1; step < end; step++) {
        assert_true(waits_for(s, step, before));
        assert_true(waits_for(s, end, step));
    }
    nbcoll_schedule_free(s);
}

static void an_algorithm_that_adds_nothing_ends_when_it_begins(void **state)
{
    (void)state;
    nbcoll_builder *b = opened(NULL);
    nbcoll_step before = nbcoll_add_recv(b, 3, in_recv(64), 8);
    assert_int_equal(nbcoll_within(b, NULL, 8, &eight, nothing, before), before);
    assert_int_equal(nbcoll_within(b, NULL, 1, &eight, ring, before), before); /* rank 0 alone */
    assert_int_equal(nbcoll_within(b, NULL, 0, &eight, ring, before), before);
    nbcoll_schedule_free(finished(b));
}

/* Takes eight bytes into memory of its own in one stage, and copies them out in the next. */
static void staged(nbcoll_builder *b, const nbcoll_args *a)
{
    nbcoll_addr own = nbcoll_add_scratch(b, a->bytes);
    nbcoll_add_recv(b, 0, own, a->bytes);
    nbcoll_end_stage(b, NBCOLL_DEPENDENT);
    nbcoll_add_copy(b, a->recv, own, a->bytes);
}

static void a_receive_into_the_groups_own_memory_waits_for_nothing(void **state)
{
    (void)state;
    static const int pair[] = {4, 1};
    nbcoll_builder *b = opened(NULL);
    nbcoll_step before = nbcoll_add_send(b, 3, in_recv(0), 8);
    nbcoll_step end = nbcoll_within(b, pair, 2, &eight, staged, before);
    nbcoll_schedule *s = finished(b);
    nbcoll_step receive = before + 1;
    assert_int_equal(view(s, receive)->kind, NBCOLL_RECV);
    assert_int_equal(view(s, receive)->before, 0);
    assert_int_equal(view(s, end)->kind, NBCOLL_COPY);
    nbcoll_step gate = receive + 1; /* the copy overwrites what `before` sends: it must not overtake it */
    assert_true(waits_for(s, gate, before) && waits_for(s, gate, receive) && waits_for(s, end, gate));
    nbcoll_schedule_free(s);
}

static void stages_stay_on_their_side(void **state)
{
    (void)state;
    static const int pair[] = {4, 1};
    nbcoll_builder *b = opened(NULL);
    nbcoll_step first = nbcoll_add_send(b, 0, in_send(0), 8);
    nbcoll_step inside = (nbcoll_step)(first + 1);
    nbcoll_within(b, pair, 2, &eight, staged, NBCOLL_START);
    nbcoll_within(b, pair, 2, &eight, ring, NBCOLL_START);
    nbcoll_step second = nbcoll_add_send(b, 0, in_send(8), 8);
    nbcoll_end_stage(b, NBCOLL_DEPENDENT);
    nbcoll_step last = nbcoll_add_copy(b, in_recv(0), in_send(0), 8);
    nbcoll_schedule *s = finished(b);
    assert_int_equal(view(s, second)->before, 0);
    assert_int_equal(view(s, last)->before, 1);
    nbcoll_step gate = last - 1;
    for (nbcoll_step step = inside; step < gate; step++)
        assert_true(waits_for(s, gate, step));
    nbcoll_schedule_free(s);
}

/* ---- numbers --------------------------------------------------------------------------------------------------- */

/* A group inside a group, between sends of the outer one. */
static void ring_in_ring(nbcoll_builder *b, const nbcoll_args *a)
{
    nbcoll_add_send(b, 0, a->send, 1);
    nbcoll_within(b, NULL, 2, a, ring, NBCOLL_START);
    nbcoll_add_send(b, 0, a->send, 2);
}

static void messages_of_groups_are_numbered_behind_all_others(void **state)
{
    (void)state;
    static const int group_a[] = {4, 1}, group_b[] = {1, 4, 0};
    static const size_t bytes[] = {3, 4, 1, 2, 8, 8}; /* of the sends to rank 4, by number */
    nbcoll_builder *b = opened(NULL);
    nbcoll_add_send(b, 4, in_send(0), 3);
    nbcoll_within(b, group_a, 2, &eight, ring_in_ring, NBCOLL_START);
    nbcoll_within(b, group_b, 3, &eight, ring, NBCOLL_START);
    nbcoll_add_send(b, 4, in_send(0), 4);
    nbcoll_schedule *s = finished(b);
    unsigned seen = 0;
    for (nbcoll_step i = 2; i < info_of(s).steps; i++) {
        const nbcoll_step_view *v = view(s, i);
        if (v->kind != NBCOLL_SEND || v->peer != 4)
            continue;
        assert_int_equal(v->read[0].bytes, bytes[v->number]);
        seen |= 1u << v->number;
    }
    assert_int_equal(seen, (1u << LENGTH(bytes)) - 1);
    nbcoll_schedule_free(s);
}

/* ---- what a group sees ----------------------------------------------------------------------------------------- */

static void sees_its_nodes(nbcoll_builder *b, const nbcoll_args *a)
{
    (void)a;
    assert_int_equal(b->rank, 2);
    assert_int_equal(b->ranks, 3);
    assert_int_equal(b->nodes->ranks, 3);
    assert_int_equal(b->nodes->count, 2);
    assert_int_equal(nbcoll_node_of(b->nodes, 0), 0);
    assert_int_equal(nbcoll_node_of(b->nodes, 1), 1);
    assert_int_equal(nbcoll_node_of(b->nodes, 2), 0);
}

static void a_group_has_the_nodes_of_its_ranks(void **state)
{
    (void)state;
    static const int node[] = {0, 2, 1, 2, 1, 0}, members[] = {3, 5, 1};
    nbcoll_builder_config c = {.size = sizeof c, .rank = 1, .ranks = 6};
    nbcoll_nodes *t;
    nbcoll_builder *b;
    assert_int_equal(nbcoll_nodes_make(node, 6, NULL, &t), NBCOLL_OK);
    c.nodes = t;
    assert_int_equal(nbcoll_builder_open(&c, &b), NBCOLL_OK);
    nbcoll_within(b, members, 3, &eight, sees_its_nodes, NBCOLL_START);
    assert_int_equal(b->rank, 1);
    assert_int_equal(b->ranks, 6);
    assert_ptr_equal(b->nodes, t);
    assert_int_equal(nbcoll_builder_finish(b, NULL), NBCOLL_OK);
    nbcoll_nodes_free(t);
}

/* ---- what is refused ------------------------------------------------------------------------------------------- */

static void bound(nbcoll_builder *b, const nbcoll_args *a)
{
    nbcoll_addr block = {NBCOLL_BUFFER_SEND_BLOCK, 0};
    (void)a;
    nbcoll_add_send(b, b->rank ? 0 : 1, block, 0);
}

static void too_far(nbcoll_builder *b, const nbcoll_args *a)
{
    nbcoll_add_send(b, b->ranks, a->send, 8); /* a rank of the whole, none of the group */
}

static void what_is_no_group_is_refused(void **state)
{
    (void)state;
    static const struct {
        int n, group[3];
        int is_null_args, is_null_build;
        nbcoll_build *build;
        nbcoll_step after;
        nbcoll_status why;
    } cases[] = {
        {2, {1, 1}, 0, 0, ring, 0, NBCOLL_ERR_RANK},     {2, {1, 8}, 0, 0, ring, 0, NBCOLL_ERR_RANK},
        {2, {-1, 1}, 0, 0, ring, 0, NBCOLL_ERR_RANK},    {9, {1}, 0, 0, ring, 0, NBCOLL_ERR_RANK},
        {-1, {1}, 0, 0, ring, 0, NBCOLL_ERR_RANK},       {2, {1, 2}, 1, 0, ring, 0, NBCOLL_ERR_NULL},
        {2, {1, 2}, 0, 0, NULL, 0, NBCOLL_ERR_NULL},     {2, {1, 2}, 0, 0, ring, 2, NBCOLL_ERR_ARGUMENT},
        {2, {1, 2}, 0, 0, ring, 1, NBCOLL_ERR_ARGUMENT}, {2, {1, 2}, 0, 0, bound, 0, NBCOLL_ERR_ARGUMENT},
        {2, {1, 2}, 0, 0, too_far, 0, NBCOLL_ERR_RANK},
    };
    for (size_t i = 0; i < LENGTH(cases); i++) {
        nbcoll_builder *b = opened(NULL);
        nbcoll_within(b, cases[i].group, cases[i].n, cases[i].is_null_args ? NULL : &eight, cases[i].build,
                      cases[i].after);
        assert_refused(b, cases[i].why);
    }
}

static void keep_text(void *user, nbcoll_status status, const char *text)
{
    (void)status;
    snprintf(user, 256, "%s", text);
}

static void an_error_inside_names_the_group(void **state)
{
    (void)state;
    static const int pair[] = {4, 1};
    char text[256] = "";
    nbcoll_host host = {.size = sizeof host, .user = text, .log = keep_text};
    nbcoll_builder_config c = {.size = sizeof c, .host = &host, .rank = 1, .ranks = 8};
    nbcoll_builder *b;
    assert_int_equal(nbcoll_builder_open(&c, &b), NBCOLL_OK);
    nbcoll_within(b, pair, 2, &eight, too_far, NBCOLL_START);
    assert_int_equal(nbcoll_builder_finish(b, NULL), NBCOLL_ERR_RANK);
    assert_string_equal(text, "schedule: rank 1 of 8, 1 of 2 of a group, step 2, nbcoll_add_send: peer 2 is outside "
                              "0..1");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_algorithm_in_a_group_is_the_algorithm_alone),
        cmocka_unit_test(a_group_waits_and_is_waited_for_as_one_step),
        cmocka_unit_test(an_algorithm_that_adds_nothing_ends_when_it_begins),
        cmocka_unit_test(a_receive_into_the_groups_own_memory_waits_for_nothing),
        cmocka_unit_test(stages_stay_on_their_side),
        cmocka_unit_test(messages_of_groups_are_numbered_behind_all_others),
        cmocka_unit_test(a_group_has_the_nodes_of_its_ranks),
        cmocka_unit_test(what_is_no_group_is_refused),
        cmocka_unit_test(an_error_inside_names_the_group),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
