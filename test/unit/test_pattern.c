/* SPDX-License-Identifier: BSD-3-Clause
 * Peer arithmetic, each function compared with its definition spelt out the slow way, for 1 to 130 ranks; and the
 * largest numbers of ranks, where a careless sum would overflow. */
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "nbcoll/pattern.h"

enum { MOST = 130 };

/* ---- relative ranks -------------------------------------------------------------------------------------------- */

static void relative_ranks_count_up_from_the_root_and_round_the_end(void **state)
{
    (void)state;
    for (int ranks = 1; ranks <= MOST; ranks++)
        for (int root = 0; root < ranks; root++)
            for (int i = 0, rank = root; i < ranks; i++, rank = rank + 1 < ranks ? rank + 1 : 0) {
                assert_int_equal(nbcoll_relative(rank, root, ranks), i);
                assert_int_equal(nbcoll_absolute(i, root, ranks), rank);
            }
}

/* ---- powers of two --------------------------------------------------------------------------------------------- */

static void rounds_are_the_doublings_that_reach_all_ranks(void **state)
{
    (void)state;
    for (int ranks = 1; ranks <= MOST; ranks++) {
        int doublings = 0;
        for (int reached = 1; reached < ranks; reached += reached)
            doublings++;
        assert_int_equal(nbcoll_rounds(ranks), doublings);
    }
    assert_int_equal(nbcoll_rounds(INT_MAX), NBCOLL_ROUNDS_MAX);
}

static void power_is_the_largest_power_of_two_not_above(void **state)
{
    (void)state;
    for (int ranks = 1; ranks <= MOST; ranks++) {
        int largest = 0;
        for (int n = 1; n <= ranks; n++)
            if (!(n & (n - 1)))
                largest = n;
        assert_int_equal(nbcoll_power(ranks), largest);
    }
    assert_int_equal(nbcoll_power(INT_MAX), INT_MAX / 2 + 1);
}

/* ---- binomial tree --------------------------------------------------------------------------------------------- */

/* The definition: r without its lowest set bit. */
static int slow_parent(int relative)
{
    int bit = 1;
    while (relative % (2 * bit) == 0)
        bit *= 2;
    return relative - bit;
}

static int is_below(int relative, int ancestor)
{
    while (relative > ancestor)
        relative = slow_parent(relative);
    return relative == ancestor;
}

static void a_binomial_parent_lacks_the_lowest_bit(void **state)
{
    (void)state;
    for (int r = 1; r < MOST; r++)
        assert_int_equal(nbcoll_binomial_parent(r), slow_parent(r));
}

static void a_binomial_tree_is_as_deep_as_there_are_rounds(void **state)
{
    (void)state;
    for (int ranks = 1; ranks <= MOST; ranks++) {
        int deepest = 0;
        for (int r = 0; r < ranks; r++) {
            int depth = 0;
            for (int up = r; up; up = nbcoll_binomial_parent(up))
                depth++;
            deepest = depth > deepest ? depth : deepest;
        }
        assert_true(deepest <= nbcoll_rounds(ranks));
    }
}

static void a_binomial_subtree_is_a_run_of_ranks(void **state)
{
    (void)state;
    for (int ranks = 1; ranks <= MOST; ranks++)
        for (int r = 0; r < ranks; r++) {
            int size = nbcoll_binomial_size(r, ranks);
            for (int other = 0; other < ranks; other++)
                assert_int_equal(is_below(other, r), other >= r && other < r + size);
        }
}

static void binomial_children_come_from_the_highest_rank_down(void **state)
{
    (void)state;
    for (int ranks = 1; ranks <= MOST; ranks++)
        for (int r = 0; r < ranks; r++) {
            int child = nbcoll_binomial_first(r, ranks);
            for (int candidate = ranks - 1; candidate > r; candidate--) {
                if (slow_parent(candidate) != r)
                    continue;
                assert_int_equal(child, candidate);
                child = nbcoll_binomial_next(r, child);
            }
            assert_int_equal(child, r);
        }
}

static void unwrapped_blocks_are_those_up_to_the_last_rank(void **state)
{
    (void)state;
    for (int ranks = 1; ranks <= 40; ranks++)
        for (int root = 0; root < ranks; root++)
            for (int r = 0; r < ranks; r++) {
                int n = 0, first = nbcoll_absolute(r, root, ranks);
                for (int i = r; i < r + nbcoll_binomial_size(r, ranks); i++)
                    n += nbcoll_absolute(i, root, ranks) >= first;
                assert_int_equal(nbcoll_binomial_unwrapped(r, root, ranks), n);
            }
}

static void binomial_trees_of_the_most_ranks_do_not_overflow(void **state)
{
    int top = INT_MAX / 2 + 1, n = 0;
    (void)state;
    assert_int_equal(nbcoll_binomial_size(0, INT_MAX), INT_MAX);
    assert_int_equal(nbcoll_binomial_size(top, INT_MAX), INT_MAX - top);
    assert_int_equal(nbcoll_binomial_first(0, INT_MAX), top);
    for (int child = nbcoll_binomial_first(0, INT_MAX); child > 0; child = nbcoll_binomial_next(0, child))
        n++;
    assert_int_equal(n, NBCOLL_ROUNDS_MAX);
    assert_int_equal(nbcoll_binomial_unwrapped(top, INT_MAX - 1, INT_MAX), INT_MAX - top);
    assert_int_equal(nbcoll_binomial_unwrapped(0, INT_MAX - 1, INT_MAX), 1);
}

/* ---- minimum spanning tree ------------------------------------------------------------------------------------- */

/* The groups of `rank`, down to itself: each is half of the one before, is in one piece with the other half, and has
 * the root of the whole, or the end that is farther off. */
static void check_groups_of(int rank, int root, int ranks)
{
    nbcoll_group mine = {0, ranks, root};
    while (mine.high - mine.low > 1) {
        nbcoll_group whole = mine, other = nbcoll_group_halve(&mine, rank);
        nbcoll_group lower = mine.low < other.low ? mine : other, upper = mine.low < other.low ? other : mine;
        assert_int_equal(lower.low, whole.low);
        assert_int_equal(lower.high, upper.low);
        assert_int_equal(upper.high, whole.high);
        assert_in_range((upper.high - upper.low) - (lower.high - lower.low), 0, 1);
        assert_in_range(rank, mine.low, mine.high - 1);
        assert_int_equal(lower.root, whole.root < lower.high ? whole.root : lower.low);
        assert_int_equal(upper.root, whole.root < lower.high ? upper.high - 1 : whole.root);
    }
    assert_int_equal(mine.low, rank);
    assert_int_equal(mine.root, rank);
}

static void halves_of_a_group_have_its_root_and_the_end_that_is_farther_off(void **state)
{
    (void)state;
    for (int ranks = 1; ranks <= 40; ranks++)
        for (int root = 0; root < ranks; root++)
            for (int rank = 0; rank < ranks; rank++)
                check_groups_of(rank, root, ranks);
    check_groups_of(INT_MAX - 1, 0, INT_MAX);
}

/* ---- dissemination --------------------------------------------------------------------------------------------- */

/* Whom each rank has heard of, round by round. */
static int heard[MOST][MOST], before[MOST][MOST];

static int all_heard(int ranks)
{
    int all = 1;
    for (int r = 0; r < ranks; r++)
        for (int other = 0; other < ranks; other++)
            all &= heard[r][other];
    return all;
}

static void dissemination_reaches_everyone_in_its_last_round_and_not_earlier(void **state)
{
    (void)state;
    for (int ranks = 1; ranks <= MOST; ranks++) {
        memset(heard, 0, sizeof heard);
        for (int r = 0; r < ranks; r++)
            heard[r][r] = 1;
        for (int k = 0; k < nbcoll_rounds(ranks); k++) {
            assert_false(all_heard(ranks));
            memcpy(before, heard, sizeof before);
            for (int r = 0; r < ranks; r++)
                for (int other = 0; other < ranks; other++)
                    heard[nbcoll_dissemination_to(r, k, ranks)][other] |= before[r][other];
        }
        assert_true(all_heard(ranks));
    }
}

static void dissemination_peers_are_powers_of_two_away(void **state)
{
    (void)state;
    for (int ranks = 1; ranks <= MOST; ranks++)
        for (int k = 0, distance = 1; k < nbcoll_rounds(ranks); k++, distance *= 2)
            for (int r = 0; r < ranks; r++) {
                int to = nbcoll_dissemination_to(r, k, ranks);
                assert_int_equal(to, (r + distance) % ranks);
                assert_int_equal(nbcoll_dissemination_from(to, k, ranks), r);
            }
    assert_int_equal(nbcoll_dissemination_to(INT_MAX - 1, 30, INT_MAX), (1 << 30) - 1);
    assert_int_equal(nbcoll_dissemination_from((1 << 30) - 1, 30, INT_MAX), INT_MAX - 1);
}

/* ---- recursive doubling ---------------------------------------------------------------------------------------- */

static void folding_leaves_a_power_of_two_in_rank_order(void **state)
{
    (void)state;
    for (int ranks = 1; ranks <= MOST; ranks++) {
        int next = 0;
        for (int r = 0; r < ranks; r++) {
            int folded = nbcoll_fold(r, ranks);
            if (folded < 0)
                continue;
            assert_int_equal(folded, next++);
            assert_int_equal(nbcoll_unfold(folded, ranks), r);
        }
        assert_int_equal(next, nbcoll_power(ranks));
    }
}

static void whoever_is_folded_goes_to_the_rank_below(void **state)
{
    (void)state;
    for (int ranks = 1; ranks <= MOST; ranks++)
        for (int r = 0; r < ranks; r++) {
            int is_folded = nbcoll_fold(r, ranks) < 0;
            int takes_one = r + 1 < ranks && nbcoll_fold(r + 1, ranks) < 0;
            assert_false(is_folded && takes_one);
            assert_int_equal(nbcoll_fold_peer(r, ranks), is_folded ? r - 1 : takes_one ? r + 1 : -1);
        }
}

static void folding_the_most_ranks_does_not_overflow(void **state)
{
    (void)state;
    assert_int_equal(nbcoll_fold(INT_MAX - 1, INT_MAX), INT_MAX / 2);
    assert_int_equal(nbcoll_unfold(INT_MAX / 2, INT_MAX), INT_MAX - 1);
    assert_int_equal(nbcoll_fold_peer(INT_MAX - 1, INT_MAX), -1);
    assert_int_equal(nbcoll_fold_peer(INT_MAX - 2, INT_MAX), INT_MAX - 3);
}

/* ---- blocks and segments --------------------------------------------------------------------------------------- */

static void blocks_cover_all_elements_and_the_first_have_the_odd_ones(void **state)
{
    (void)state;
    for (int parts = 1; parts <= MOST; parts++)
        for (size_t n = 0; n <= 300; n++) {
            /* Dealing out the elements one by one, in turn. */
            size_t dealt[MOST] = {0}, offset = 0;
            for (size_t i = 0; i < n; i++)
                dealt[i % (size_t)parts]++;
            for (int i = 0; i < parts; i++) {
                assert_int_equal(nbcoll_block_offset(n, parts, i), offset);
                assert_int_equal(nbcoll_block_length(n, parts, i), dealt[i]);
                offset += dealt[i];
            }
            assert_int_equal(offset, n);
        }
}

static void each_element_is_in_the_block_that_holds_it(void **state)
{
    (void)state;
    for (int parts = 1; parts <= MOST; parts++)
        for (size_t n = 1; n <= 100; n++)
            for (size_t at = 0; at < n; at++) {
                int i = nbcoll_block_holding(n, parts, at);
                size_t first = nbcoll_block_offset(n, parts, i);
                assert_true(i >= 0 && i < parts && first <= at && at < first + nbcoll_block_length(n, parts, i));
            }
}

static void blocks_of_the_largest_vector_do_not_overflow(void **state)
{
    int last = MOST - 1;
    (void)state;
    assert_true(nbcoll_block_offset(SIZE_MAX, MOST, last) + nbcoll_block_length(SIZE_MAX, MOST, last) == SIZE_MAX);
}

static void blocks_of_different_lengths_are_summed_round_the_end(void **state)
{
    static const size_t lengths[] = {1, 0, 20, 300, 4000};
    (void)state;
    assert_int_equal(nbcoll_block_sum(lengths, 2, 0, 5), 0);
    assert_int_equal(nbcoll_block_sum(lengths, 1, 3, 5), 320);
    assert_int_equal(nbcoll_block_sum(lengths, 4, 3, 5), 4001);
    for (int first = 0; first < 5; first++)
        assert_int_equal(nbcoll_block_sum(lengths, first, 5, 5), 4321);
}

static void segments_are_as_few_as_keep_their_size(void **state)
{
    (void)state;
    for (size_t n = 0; n <= 600; n++)
        for (size_t segment = 1; segment <= 20; segment++) {
            int fewest = 1;
            while (fewest < NBCOLL_SEGMENTS_MAX && nbcoll_block_length(n, fewest, 0) > segment)
                fewest++;
            assert_int_equal(nbcoll_segments(n, segment), fewest);
        }
}

static void segments_grow_when_there_would_be_too_many(void **state)
{
    (void)state;
    assert_int_equal(nbcoll_segments(256 * 10, 10), 256);
    assert_int_equal(nbcoll_segments(256 * 10 + 1, 10), 256);
    assert_int_equal(nbcoll_segments(SIZE_MAX, 1), 256);
}

static void without_a_segment_size_there_is_one_segment(void **state)
{
    (void)state;
    assert_int_equal(nbcoll_segments(1000, 0), 1);
    assert_int_equal(nbcoll_segments(0, 0), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(relative_ranks_count_up_from_the_root_and_round_the_end),
        cmocka_unit_test(rounds_are_the_doublings_that_reach_all_ranks),
        cmocka_unit_test(power_is_the_largest_power_of_two_not_above),
        cmocka_unit_test(a_binomial_parent_lacks_the_lowest_bit),
        cmocka_unit_test(a_binomial_tree_is_as_deep_as_there_are_rounds),
        cmocka_unit_test(a_binomial_subtree_is_a_run_of_ranks),
        cmocka_unit_test(binomial_children_come_from_the_highest_rank_down),
        cmocka_unit_test(unwrapped_blocks_are_those_up_to_the_last_rank),
        cmocka_unit_test(binomial_trees_of_the_most_ranks_do_not_overflow),
        cmocka_unit_test(halves_of_a_group_have_its_root_and_the_end_that_is_farther_off),
        cmocka_unit_test(dissemination_reaches_everyone_in_its_last_round_and_not_earlier),
        cmocka_unit_test(dissemination_peers_are_powers_of_two_away),
        cmocka_unit_test(folding_leaves_a_power_of_two_in_rank_order),
        cmocka_unit_test(whoever_is_folded_goes_to_the_rank_below),
        cmocka_unit_test(folding_the_most_ranks_does_not_overflow),
        cmocka_unit_test(blocks_cover_all_elements_and_the_first_have_the_odd_ones),
        cmocka_unit_test(each_element_is_in_the_block_that_holds_it),
        cmocka_unit_test(blocks_of_the_largest_vector_do_not_overflow),
        cmocka_unit_test(blocks_of_different_lengths_are_summed_round_the_end),
        cmocka_unit_test(segments_are_as_few_as_keep_their_size),
        cmocka_unit_test(segments_grow_when_there_would_be_too_many),
        cmocka_unit_test(without_a_segment_size_there_is_one_segment),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
