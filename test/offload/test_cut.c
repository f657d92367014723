/* SPDX-License-Identifier: BSD-3-Clause
 * Schedules of algorithms that go by nodes are cut in an inner part, of which programs are made, and what is around it,
 * where memory is shared: put together again, with the programs in place of the inner part, they are proved. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../../src/offload/cut.h"
#include "nbcoll/show.h"
#include "compiled.h"

enum { MOST = 9, PLACES = 5, CONFIGS = 3 };

static const int rooms[PLACES][3] = {{3, 1, 2}, {1, 1, 1}, {2, 2, 2}, {4, 1, 4}, {9, 9, 9}};

static const nbcoll_program_config configs[CONFIGS] = {
    {.size = sizeof configs[0], .keeps_scratch = 1},                               /* whole eager messages */
    {.size = sizeof configs[0], .keeps_scratch = 1, .threshold = 1},               /* rendezvous */
    {.size = sizeof configs[0], .keeps_scratch = 1, .eager = 16, .threshold = 64}, /* both */
};

typedef struct pieces {
    nbcolli_arena arena;
    int ranks, exposes; /* the rank that was refused, or -1 */
    nbcoll_step step;   /* of that */
    nbcolli_cut cut[MOST];
    nbcoll_schedule *whole[MOST], *inner[MOST], *again[MOST];
    nbcoll_program *program[MOST];
} pieces;

/* Builds, and cuts as far as that is possible. */
static void pieces_open(pieces *p, const nbcoll_algorithm *algorithm, const nbcoll_case *c)
{
    *p = (pieces){.ranks = c->ranks, .exposes = -1};
    for (int r = 0; r < p->ranks; r++)
        assert_int_equal(nbcoll_build_case(algorithm, c, r, NULL, &p->whole[r]), NBCOLL_OK);
    for (int r = 0; r < p->ranks && p->exposes < 0; r++) {
        nbcoll_status status = nbcolli_cut_make(&p->arena, p->whole[r], &p->cut[r], &p->step);
        if (status == NBCOLL_ERR_UNSUPPORTED)
            p->exposes = r;
        else
            assert_int_equal(status, NBCOLL_OK);
    }
    for (int r = 0; r < p->ranks && p->exposes < 0; r++)
        assert_int_equal(nbcolli_cut_inner(&p->cut[r], &p->arena, &p->inner[r]), NBCOLL_OK);
}

static void pieces_close(pieces *p)
{
    for (int r = 0; r < p->ranks; r++) {
        nbcoll_schedule_free(p->whole[r]);
        nbcoll_schedule_free(p->inner[r]);
        nbcoll_schedule_free(p->again[r]);
        nbcoll_program_free(p->program[r]);
    }
    nbcolli_arena_close(&p->arena);
}

/* What compiling the inner parts says. */
static nbcoll_status pieces_join(pieces *p, const nbcoll_program_config *config)
{
    nbcoll_refusal why = {.size = sizeof why};
    nbcoll_status status =
        nbcoll_compile((const nbcoll_schedule *const *)p->inner, p->ranks, config, 0, p->ranks, p->program, &why);
    for (int r = 0; r < p->ranks && status == NBCOLL_OK; r++) {
        nbcoll_program_info info = {.size = sizeof info};
        nbcoll_schedule *inner;
        assert_int_equal(nbcoll_program_query(p->program[r], &info), NBCOLL_OK);
        assert_int_equal(nbcoll_program_schedule(p->program[r], NULL, &inner), NBCOLL_OK);
        assert_int_equal(
            nbcolli_cut_join(&p->cut[r], inner, info.extent[NBCOLL_BUFFER_SCRATCH], &p->arena, &p->again[r]),
            NBCOLL_OK);
        nbcoll_schedule_free(inner);
    }
    return status;
}

static unsigned long proved, refused, with_memory;

static int shares_memory(const pieces *p)
{
    for (int r = 0; r < p->ranks; r++)
        if (p->whole[r]->shared && p->whole[r]->sends)
            return 1;
    return 0;
}

static void prove(const nbcoll_algorithm *algorithm, const nbcoll_case *c, const nbcoll_program_config *config)
{
    nbcoll_refutation why = {.size = sizeof why};
    nbcoll_meaning meaning = {.size = sizeof meaning};
    pieces p;
    assert_int_equal(nbcoll_meaning_of(c, algorithm->flags, &meaning), NBCOLL_OK);
    pieces_open(&p, algorithm, c);
    nbcoll_status status = p.exposes < 0 ? pieces_join(&p, config) : NBCOLL_ERR_UNSUPPORTED;
    if (status == NBCOLL_OK) {
        status = nbcoll_verify((const nbcoll_schedule *const *)p.again, &meaning, NULL, &why);
        if (status != NBCOLL_OK)
            fail_msg("%s/%s of %d, root %d, count %zu, %u leaders: %s: %s", nbcoll_operation_name(c->operation),
                     algorithm->name, c->ranks, c->root, c->count, c->leaders, nbcoll_status_name(status), why.text);
        proved++;
        with_memory += (unsigned long)shares_memory(&p);
    } else {
        assert_int_equal(status, NBCOLL_ERR_UNSUPPORTED);
        assert_true(c->segment); /* whole vectors are all cut */
        refused++;
    }
    pieces_close(&p);
}

static int has_root(nbcoll_operation operation)
{
    return operation == NBCOLL_OPERATION_BCAST || operation == NBCOLL_OPERATION_REDUCE ||
           operation == NBCOLL_OPERATION_GATHER || operation == NBCOLL_OPERATION_SCATTER ||
           operation == NBCOLL_OPERATION_GATHERV || operation == NBCOLL_OPERATION_SCATTERV;
}

static void prove_ranks(const nbcoll_algorithm *algorithm, int ranks, int place, unsigned leaders)
{
    static const size_t counts[] = {13, 1, 40};
    nbcoll_placement placement = {.size = sizeof placement, .room = rooms[place], .rooms = 3};
    nbcoll_nodes *nodes = NULL;
    placement.domain = place == 3 ? 2 : 0;
    placement.numbering = place % 2 ? NBCOLL_NUMBERING_ROUND_ROBIN : NBCOLL_NUMBERING_BLOCK;
    assert_int_equal(nbcoll_nodes_place(&placement, ranks, NULL, &nodes), NBCOLL_OK);
    for (int i = 0; i < CONFIGS; i++) {
        nbcoll_case c = compiled_case(algorithm->operation, ranks, counts[i]);
        c.nodes = nodes;
        c.node = NBCOLL_CASE_BY_NODE;
        c.leaders = leaders;
        c.segment = i == 2 ? 32 : 0;
        c.known = 1;
        c.root = has_root(algorithm->operation) ? (place + i) % ranks : 0;
        c.in_place = (ranks + i) % 2;
        c.spread = (nbcoll_spread)((ranks + i) % NBCOLL_SPREAD_COUNT);
        prove(algorithm, &c, &configs[i]);
    }
    nbcoll_nodes_free(nodes);
}

static void what_is_put_together_again_is_proved(void **state)
{
    (void)state;
    for (int operation = 0; operation < NBCOLL_OPERATION_COUNT; operation++) {
        const nbcoll_algorithm *algorithm;
        for (unsigned i = 0; (algorithm = nbcoll_algorithm_at((nbcoll_operation)operation, i)); i++) {
            unsigned long had = proved, shared = with_memory, not = refused;
            if (!(algorithm->flags & NBCOLL_ALGORITHM_NODES))
                continue;
            for (int ranks = 1; ranks <= MOST; ranks++)
                for (int place = 0; place < PLACES; place++)
                    for (unsigned leaders = 1; leaders <= 2; leaders++)
                        prove_ranks(algorithm, ranks, place, leaders);
            print_message("%s/%s: %lu proved, %lu of them with shared memory, %lu refused\n",
                          nbcoll_operation_name(algorithm->operation), algorithm->name, proved - had,
                          with_memory - shared, refused - not );
        }
    }
    assert_true(with_memory > 1000);
}

/* Two nodes of three ranks. */
static nbcoll_case of_two_nodes(nbcoll_operation operation, nbcoll_nodes **nodes)
{
    static const int room[] = {3};
    nbcoll_placement placement = {.size = sizeof placement, .room = room, .rooms = 1};
    nbcoll_case c = compiled_case(operation, 6, 13);
    assert_int_equal(nbcoll_nodes_place(&placement, 6, NULL, nodes), NBCOLL_OK);
    c.nodes = *nodes;
    c.node = NBCOLL_CASE_BY_NODE;
    return c;
}

static nbcoll_flaw flaw_of(const pieces *p, const nbcoll_case *c, const nbcoll_algorithm *algorithm)
{
    nbcoll_refutation why = {.size = sizeof why};
    nbcoll_meaning meaning = {.size = sizeof meaning};
    assert_int_equal(nbcoll_meaning_of(c, algorithm->flags, &meaning), NBCOLL_OK);
    assert_int_equal(nbcoll_verify((const nbcoll_schedule *const *)p->again, &meaning, NULL, &why), NBCOLL_ERR_VERIFY);
    return why.flaw;
}

static void without_its_inner_part_it_is_refuted(void **state)
{
    const nbcoll_algorithm *algorithm = nbcoll_algorithm_find(NBCOLL_OPERATION_BCAST, "hierarchical");
    nbcoll_nodes *nodes;
    nbcoll_case c = of_two_nodes(NBCOLL_OPERATION_BCAST, &nodes);
    pieces p;
    (void)state;
    pieces_open(&p, algorithm, &c);
    for (int r = 0; r < p.ranks; r++) {
        nbcoll_builder_config config = {.size = sizeof config, .rank = r, .ranks = p.ranks};
        nbcoll_builder *b;
        nbcoll_schedule *nothing;
        assert_int_equal(nbcoll_builder_open(&config, &b), NBCOLL_OK);
        assert_int_equal(nbcoll_builder_finish(b, &nothing), NBCOLL_OK);
        assert_int_equal(nbcolli_cut_join(&p.cut[r], nothing, 0, &p.arena, &p.again[r]), NBCOLL_OK);
        nbcoll_schedule_free(nothing);
    }
    assert_int_equal(flaw_of(&p, &c, algorithm), NBCOLL_FLAW_UNDEFINED);
    pieces_close(&p);
    nbcoll_nodes_free(nodes);
}

static void a_program_that_leaves_its_scratch_memory_elsewhere_is_refuted(void **state)
{
    const nbcoll_algorithm *algorithm = nbcoll_algorithm_find(NBCOLL_OPERATION_SCATTER, "hierarchical");
    nbcoll_program_config config = {.size = sizeof config};
    nbcoll_nodes *nodes;
    nbcoll_case c = of_two_nodes(NBCOLL_OPERATION_SCATTER, &nodes);
    pieces p;
    (void)state;
    pieces_open(&p, algorithm, &c);
    assert_int_equal(pieces_join(&p, &config), NBCOLL_OK);
    assert_int_equal(flaw_of(&p, &c, algorithm), NBCOLL_FLAW_UNDEFINED);
    pieces_close(&p);
    nbcoll_nodes_free(nodes);
}

static int grow(void *user, const char *text, size_t length)
{
    char *shown = user;
    strncat(shown, text, length);
    return 0;
}

/* *why: the reason. */
static nbcoll_status compile_parts(const pieces *p, nbcoll_program *out[], nbcoll_refusal *why)
{
    const nbcoll_program_config config = {.size = sizeof config, .in_parts = 1};
    *why = (nbcoll_refusal){.size = sizeof *why};
    return nbcoll_compile((const nbcoll_schedule *const *)p->whole, p->ranks, &config, 0, p->ranks, out, why);
}

static void programs_of_schedules_in_parts_are_those_of_their_inner_parts(void **state)
{
    static char shown[2][1 << 14];
    const nbcoll_algorithm *algorithm = nbcoll_algorithm_find(NBCOLL_OPERATION_ALLREDUCE, "hierarchical");
    nbcoll_program *parts[MOST];
    nbcoll_refusal why;
    nbcoll_nodes *nodes;
    nbcoll_case c = of_two_nodes(NBCOLL_OPERATION_ALLREDUCE, &nodes);
    pieces p;
    (void)state;
    pieces_open(&p, algorithm, &c);
    assert_int_equal(pieces_join(&p, &configs[0]), NBCOLL_OK);
    assert_int_equal(compile_parts(&p, parts, &why), NBCOLL_OK);
    for (int r = 0; r < p.ranks; r++) {
        shown[0][0] = shown[1][0] = 0;
        assert_int_equal(nbcoll_show_program(p.program[r], grow, shown[0]), NBCOLL_OK);
        assert_int_equal(nbcoll_show_program(parts[r], grow, shown[1]), NBCOLL_OK);
        assert_string_equal(shown[0], shown[1]);
        nbcoll_program_free(parts[r]);
    }
    assert_non_null(strstr(shown[1], " 0 tasks")); /* the last rank leads no node */
    pieces_close(&p);
    nbcoll_nodes_free(nodes);
}

static nbcoll_refusal_reason refused_in_parts(const nbcoll_algorithm *algorithm, const nbcoll_case *c)
{
    nbcoll_program *parts[MOST];
    nbcoll_refusal why;
    pieces p;
    pieces_open(&p, algorithm, c);
    assert_int_equal(compile_parts(&p, parts, &why), NBCOLL_ERR_UNSUPPORTED);
    if (why.reason == NBCOLL_REFUSAL_BETWEEN) {
        assert_int_equal(why.rank, p.exposes);
        assert_int_equal(why.step, p.step);
    }
    pieces_close(&p);
    return why.reason;
}

static void what_has_no_parts_is_refused_with_the_reason(void **state)
{
    nbcoll_nodes *nodes;
    nbcoll_case c = of_two_nodes(NBCOLL_OPERATION_BCAST, &nodes);
    (void)state;
    c.segment = 16;
    assert_int_equal(refused_in_parts(nbcoll_algorithm_find(c.operation, "hierarchical"), &c), NBCOLL_REFUSAL_BETWEEN);
    c.segment = 0;
    c.leaders = 3;
    assert_int_equal(refused_in_parts(nbcoll_algorithm_find(c.operation, "hierarchical"), &c), NBCOLL_REFUSAL_ONE_PART);
    nbcoll_nodes_free(nodes);
}

static int shares(void *user, int peer)
{
    (void)user;
    return peer == 1;
}

static void what_is_fetched_between_messages_is_not_cut(void **state)
{
    nbcoll_builder_config config = {.size = sizeof config, .ranks = 3, .shares = shares};
    nbcoll_addr at = {NBCOLL_BUFFER_RECV, 0};
    nbcolli_arena arena = {0};
    nbcolli_cut cut;
    (void)state;
    for (int is_between = 0; is_between < 2; is_between++) {
        nbcoll_step exposes = NBCOLL_START;
        nbcoll_schedule *s;
        nbcoll_builder *b;
        assert_int_equal(nbcoll_builder_open(&config, &b), NBCOLL_OK);
        nbcoll_step recv = nbcoll_add_recv(b, 2, nbcoll_at(at, 8), 8);
        nbcoll_step fetch = nbcoll_add_fetch(b, 1, at, 8);
        nbcoll_after(b, nbcoll_add_send(b, 2, at, 8), fetch);
        if (is_between)
            nbcoll_after(b, fetch, recv);
        assert_int_equal(nbcoll_builder_finish(b, &s), NBCOLL_OK);
        assert_int_equal(nbcolli_cut_make(&arena, s, &cut, &exposes), is_between ? NBCOLL_ERR_UNSUPPORTED : NBCOLL_OK);
        assert_int_equal(exposes, is_between ? fetch : NBCOLL_START);
        nbcoll_schedule_free(s);
    }
    nbcolli_arena_close(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_put_together_again_is_proved),
        cmocka_unit_test(without_its_inner_part_it_is_refuted),
        cmocka_unit_test(a_program_that_leaves_its_scratch_memory_elsewhere_is_refuted),
        cmocka_unit_test(programs_of_schedules_in_parts_are_those_of_their_inner_parts),
        cmocka_unit_test(what_has_no_parts_is_refused_with_the_reason),
        cmocka_unit_test(what_is_fetched_between_messages_is_not_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
