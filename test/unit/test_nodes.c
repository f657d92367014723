/* SPDX-License-Identifier: BSD-3-Clause
 * Tables of nodes: what they answer is what the definition says, for ranks of 1 to 40 on nodes of any sizes, numbered
 * by block, round robin and at random; so do those of their domains; and what cannot be a table is refused. A table of
 * many ranks is made in as many looks, nearly. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <nbcoll/schedule.h>
#include <nbcoll/verify.h>

#include "../../src/schedule/nodes.h"

#define LENGTH(a) (sizeof(a) / sizeof((a)[0]))

/* All answers about a table, against its nodes counted one by one. */
static void check(const nbcoll_nodes *t)
{
    int first_of_last = -1, ranks = 0, are_blocks = 1;
    for (int node = 0; node < t->count; node++) {
        int place = 0;
        for (int rank = 0; rank < t->ranks; rank++) {
            if (nbcoll_node_of(t, rank) != node)
                continue;
            assert_int_equal(nbcoll_node_place(t, rank), place);
            assert_int_equal(nbcoll_node_rank(t, node, place), rank);
            if (nbcoll_node_ranks(t, node))
                assert_int_equal(nbcoll_node_ranks(t, node)[place], rank);
            assert_int_equal(nbcoll_node_leader(t, node, rank), rank);
            place++;
        }
        assert_true(place > 0);
        assert_int_equal(nbcoll_node_size(t, node), place);
        int first = nbcoll_node_rank(t, node, 0);
        assert_true(first > first_of_last); /* nodes are numbered by their first ranks */
        assert_int_equal(nbcoll_node_leader(t, node, -1), first);
        assert_int_equal(nbcoll_node_leader(t, node, nbcoll_node_rank(t, (node + 1) % t->count, 0)), first);
        first_of_last = first;
        ranks += place;
    }
    for (int rank = 1; rank < t->ranks; rank++)
        are_blocks &= nbcoll_node_of(t, rank) >= nbcoll_node_of(t, rank - 1);
    assert_int_equal(ranks, t->ranks);
    assert_int_equal(t->are_blocks, are_blocks);
}

static void a_table_says_what_it_was_made_of(void **state)
{
    (void)state;
    static const int node[] = {4, 1, 4, 4, 0, 1};
    nbcoll_nodes *t;
    assert_int_equal(nbcoll_nodes_make(node, LENGTH(node), NULL, &t), NBCOLL_OK);
    check(t);
    assert_int_equal(t->count, 3);
    for (int i = 0; i < (int)LENGTH(node); i++)
        for (int k = 0; k < i; k++)
            assert_int_equal(node[i] == node[k], nbcoll_node_of(t, i) == nbcoll_node_of(t, k));
    nbcoll_nodes_free(t);
    nbcoll_nodes_free(NULL);
}

/* Sizes of the nodes in the order of their first ranks, in one number: 3, 1, 4 is 314. */
static long sizes_of(const nbcoll_nodes *t)
{
    long sizes = 0;
    for (int i = 0; i < t->count; i++)
        sizes = 10 * sizes + nbcoll_node_size(t, i);
    return sizes;
}

static nbcoll_nodes *placed(nbcoll_numbering numbering, int ranks, uint64_t seed)
{
    static const int room[] = {3, 1, 4};
    nbcoll_placement p = {sizeof p, room, LENGTH(room), numbering, seed, 0};
    nbcoll_nodes *t;
    assert_int_equal(nbcoll_nodes_place(&p, ranks, NULL, &t), NBCOLL_OK);
    return t;
}

static void ranks_are_placed_as_asked(void **state)
{
    (void)state;
    static const int dealt[] = {0, 1, 2, 0, 2, 0, 2, 2};
    nbcoll_nodes *t = placed(NBCOLL_NUMBERING_BLOCK, 8, 0);
    assert_int_equal(sizes_of(t), 314);
    assert_true(t->are_blocks);
    nbcoll_nodes_free(t);
    t = placed(NBCOLL_NUMBERING_BLOCK, 14, 0); /* the sizes again from the first; the last node has no more ranks */
    assert_int_equal(sizes_of(t), 314312);
    nbcoll_nodes_free(t);
    t = placed(NBCOLL_NUMBERING_ROUND_ROBIN, 8, 0);
    for (int rank = 0; rank < 8; rank++)
        assert_int_equal(nbcoll_node_of(t, rank), dealt[rank]);
    nbcoll_nodes_free(t);
}

static void any_placement_is_a_table(void **state)
{
    (void)state;
    for (int numbering = 0; numbering <= NBCOLL_NUMBERING_RANDOM; numbering++)
        for (int ranks = 1; ranks <= 40; ranks++)
            for (uint64_t seed = 0; seed < 3; seed++) {
                nbcoll_nodes *t = placed((nbcoll_numbering)numbering, ranks, seed);
                assert_int_equal(t->ranks, ranks);
                check(t);
                nbcoll_nodes_free(t);
            }
}

/* Domains are parts of nodes. */
static void check_domains(const nbcoll_nodes *t, const int domain[])
{
    const nbcoll_nodes *domains = nbcoll_nodes_domains(t);
    check(domains);
    assert_null(nbcoll_nodes_domains(domains));
    for (int a = 0; a < t->ranks; a++)
        for (int b = 0; b < a; b++) {
            int is_one = nbcoll_node_of(domains, a) == nbcoll_node_of(domains, b);
            int is_one_node = nbcoll_node_of(t, a) == nbcoll_node_of(t, b);
            assert_true(is_one_node || !is_one);
            if (domain)
                assert_int_equal(is_one, is_one_node && domain[a] == domain[b]);
        }
}

static void domains_are_the_ranks_of_a_node_with_one_number(void **state)
{
    static const int node[] = {2, 0, 2, 0, 2, 0, 2}, domain[] = {6, 6, 1, 1, 6, 1, 1};
    nbcoll_nodes *t;
    (void)state;
    assert_int_equal(nbcoll_nodes_make_with_domains(node, domain, LENGTH(node), NULL, &t), NBCOLL_OK);
    check(t);
    check_domains(t, domain);
    nbcoll_nodes_free(t);
    assert_int_equal(nbcoll_nodes_make_with_domains(node, NULL, LENGTH(node), NULL, &t), NBCOLL_OK);
    assert_null(nbcoll_nodes_domains(t));
    nbcoll_nodes_free(t);
    assert_int_equal(nbcoll_nodes_make_with_domains(node, (const int[]){0, 0, 7, 0, 0, 0, 0}, 7, NULL, &t),
                     NBCOLL_ERR_ARGUMENT);
}

static void domains_are_placed_as_asked(void **state)
{
    static const int room[] = {5, 2};
    (void)state;
    for (int numbering = 0; numbering <= NBCOLL_NUMBERING_RANDOM; numbering++)
        for (int ranks = 1; ranks <= 20; ranks++) {
            nbcoll_placement p = {sizeof p, room, 2, (nbcoll_numbering)numbering, 5, 2};
            nbcoll_nodes *t;
            assert_int_equal(nbcoll_nodes_place(&p, ranks, NULL, &t), NBCOLL_OK);
            check_domains(t, NULL);
            for (int rank = 0; numbering != NBCOLL_NUMBERING_RANDOM && rank < ranks; rank++) {
                const nbcoll_nodes *d = nbcoll_nodes_domains(t);
                assert_in_range(nbcoll_node_size(d, nbcoll_node_of(d, rank)), 1, 2);
            }
            nbcoll_nodes_free(t);
        }
    nbcoll_placement p = {sizeof p, room, 2, NBCOLL_NUMBERING_BLOCK, 0, -1};
    nbcoll_nodes *t;
    assert_int_equal(nbcoll_nodes_place(&p, 4, NULL, &t), NBCOLL_ERR_ARGUMENT);
}

/* ---- of many ranks ----------------------------------------------------------------------------------------------- */

enum { MANY = 4096 };

typedef struct names {
    uint64_t number[MANY];
    size_t looks;
} names;

static uint64_t look(const void *user, int rank)
{
    names *n = (names *)(uintptr_t)user;
    n->looks++;
    return n->number[rank];
}

/* As hosts number nodes: one by one, by their addresses, by ranks, all alike, or each rank by itself; node after node
 * and dealt. */
static void many_ranks_are_numbered_in_as_many_looks_nearly(void **state)
{
    static const uint64_t factors[] = {1, 16, 4096, 8191, 1 << 20, UINT64_C(1) << 32, UINT64_C(0x1000100010001)};
    static int node[MANY], table[2 * MANY];
    static names n;
    (void)state;
    for (size_t f = 0; f < LENGTH(factors); f++)
        for (int nodes = 1; nodes <= MANY; nodes *= 4)
            for (int is_dealt = 0; is_dealt < 2; is_dealt++) {
                n.looks = 0;
                for (int rank = 0; rank < MANY; rank++)
                    n.number[rank] = factors[f] * (uint64_t)(1 + (is_dealt ? rank % nodes : rank / (MANY / nodes)));
                nbcolli_nodes_number(MANY, look, &n, node, table);
                assert_in_range(n.looks, MANY, 4 * MANY);
                for (int rank = 0; rank < MANY; rank++)
                    assert_int_equal(node[rank], is_dealt ? rank % nodes : rank / (MANY / nodes) * (MANY / nodes));
            }
}

static void the_seed_says_how_ranks_are_numbered_at_random(void **state)
{
    (void)state;
    nbcoll_nodes *a = placed(NBCOLL_NUMBERING_RANDOM, 40, 7), *b = placed(NBCOLL_NUMBERING_RANDOM, 40, 7);
    nbcoll_nodes *c = placed(NBCOLL_NUMBERING_RANDOM, 40, 8);
    assert_memory_equal(a->node, b->node, 40 * sizeof *a->node);
    assert_memory_not_equal(a->node, c->node, 40 * sizeof *a->node);
    nbcoll_nodes_free(a);
    nbcoll_nodes_free(b);
    nbcoll_nodes_free(c);
}

static void what_is_no_table_is_refused(void **state)
{
    (void)state;
    static const int node[] = {0, 3, -1}, room[] = {2, 0};
    nbcoll_placement p = {sizeof p, room, 2, NBCOLL_NUMBERING_BLOCK, 0, 0};
    nbcoll_nodes *t;
    assert_int_equal(nbcoll_nodes_make(NULL, 1, NULL, &t), NBCOLL_ERR_NULL);
    assert_int_equal(nbcoll_nodes_make(node, 1, NULL, NULL), NBCOLL_ERR_NULL);
    assert_int_equal(nbcoll_nodes_make(node, 0, NULL, &t), NBCOLL_ERR_RANK);
    assert_int_equal(nbcoll_nodes_make(node, 2, NULL, &t), NBCOLL_ERR_ARGUMENT);
    assert_int_equal(nbcoll_nodes_make(node + 2, 1, NULL, &t), NBCOLL_ERR_ARGUMENT);
    assert_int_equal(nbcoll_nodes_place(NULL, 1, NULL, &t), NBCOLL_ERR_NULL);
    assert_int_equal(nbcoll_nodes_place(&p, 1, NULL, &t), NBCOLL_ERR_ARGUMENT); /* a node without room */
    p.rooms = 1;
    assert_int_equal(nbcoll_nodes_place(&p, 0, NULL, &t), NBCOLL_ERR_RANK);
    p.numbering = (nbcoll_numbering)3;
    assert_int_equal(nbcoll_nodes_place(&p, 1, NULL, &t), NBCOLL_ERR_ARGUMENT);
    p = (nbcoll_placement){1, room, 1, NBCOLL_NUMBERING_BLOCK, 0, 0};
    assert_int_equal(nbcoll_nodes_place(&p, 1, NULL, &t), NBCOLL_ERR_CONFIG);
}

static void builders_are_told_of_one_node_or_of_the_table(void **state)
{
    (void)state;
    nbcoll_builder_config c = {.size = sizeof c, .rank = 2, .ranks = 8};
    nbcoll_builder *b;
    assert_int_equal(nbcoll_builder_open(&c, &b), NBCOLL_OK);
    check(b->nodes);
    assert_int_equal(b->nodes->count, 1);
    assert_int_equal(b->nodes->ranks, 8);
    assert_int_equal(nbcoll_builder_finish(b, NULL), NBCOLL_OK);
    nbcoll_nodes *t = placed(NBCOLL_NUMBERING_RANDOM, 8, 1);
    c.nodes = t;
    assert_int_equal(nbcoll_builder_open(&c, &b), NBCOLL_OK);
    assert_ptr_equal(b->nodes, t);
    const int *leaders = nbcoll_node_leaders(b, t, 5);
    for (int i = 0; i < t->count; i++)
        assert_int_equal(leaders[i], i == nbcoll_node_of(t, 5) ? 5 : nbcoll_node_rank(t, i, 0));
    assert_int_equal(nbcoll_builder_finish(b, NULL), NBCOLL_OK);
    c.ranks = 9;
    assert_int_equal(nbcoll_builder_open(&c, &b), NBCOLL_ERR_RANK);
    nbcoll_nodes_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_table_says_what_it_was_made_of),
        cmocka_unit_test(ranks_are_placed_as_asked),
        cmocka_unit_test(domains_are_the_ranks_of_a_node_with_one_number),
        cmocka_unit_test(domains_are_placed_as_asked),
        cmocka_unit_test(many_ranks_are_numbered_in_as_many_looks_nearly),
        cmocka_unit_test(any_placement_is_a_table),
        cmocka_unit_test(the_seed_says_how_ranks_are_numbered_at_random),
        cmocka_unit_test(what_is_no_table_is_refused),
        cmocka_unit_test(builders_are_told_of_one_node_or_of_the_table),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
