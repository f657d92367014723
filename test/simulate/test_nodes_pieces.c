/* SPDX-License-Identifier: BSD-3-Clause
 * Reductions and scans by nodes go in pieces where sizes ask for it: on simulated clusters the cost model cuts long
 * vectors, which are done sooner than whole ones, and leaves short ones whole. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cluster.h"

#define LENGTH(array) (sizeof(array) / sizeof *(array))

static const struct place {
    const char *preset;
    int room, ranks;
    unsigned scan; /* pieces save one so-many-th of the time of a long scan: less where leaders of a large node have
                      more to copy for each other */
} places[] = {{"cluster", 16, 32, 20}, {"cluster", 16, 128, 20}, {"cluster_a", 8, 32, 8}, {"das4", 8, 64, 8}};

static nbcoll_choice chosen(const cluster *on, nbcoll_operation operation, size_t bytes)
{
    size_t counts[128];
    nbcoll_args a = cluster_args(on, operation, bytes, counts);
    return cluster_choose(&on->terms, &a);
}

/* `saved`: one so-many-th of the time; 0: as of a scan. */
static void goes_in_pieces(nbcoll_operation operation, unsigned saved)
{
    const size_t bytes = 2 << 20;
    for (size_t i = 0; i < LENGTH(places); i++) {
        cluster on = cluster_of(places[i].preset, places[i].room, places[i].ranks);
        nbcoll_choice cut = chosen(&on, operation, bytes), whole = cut;
        assert_string_equal(cut.algorithm->name, "hierarchical");
        assert_in_range(cut.segment, 1, bytes / 2);
        whole.segment = 0;
        uint64_t in_pieces = cluster_time(&on, &cut, bytes), at_once = cluster_time(&on, &whole, bytes);
        print_message("%s, %d ranks: %.0f us in pieces of %zu bytes, %.0f us whole\n", places[i].preset,
                      places[i].ranks, (double)in_pieces / 1e3, cut.segment, (double)at_once / 1e3);
        assert_in_range(in_pieces, 1, at_once - at_once / (saved ? saved : places[i].scan));
        nbcoll_nodes_free(on.nodes);
    }
}

static void a_long_reduction_goes_in_pieces_and_is_done_a_fifth_sooner(void **state)
{
    (void)state;
    goes_in_pieces(NBCOLL_OPERATION_REDUCE, 5);
}

static void a_long_scan_goes_in_pieces_and_is_done_sooner(void **state)
{
    (void)state;
    goes_in_pieces(NBCOLL_OPERATION_SCAN, 0);
    goes_in_pieces(NBCOLL_OPERATION_EXSCAN, 0);
}

/* The least time by nodes, in pieces of that length; 0: whole. */
static uint64_t hierarchical(const cluster *on, size_t bytes, size_t segment)
{
    uint64_t least = UINT64_MAX;
    for (unsigned leaders = 1; leaders <= 4; leaders *= 2) {
        nbcoll_choice c = {.algorithm = nbcoll_algorithm_find(NBCOLL_OPERATION_ALLREDUCE, "hierarchical"),
                           .segment = segment, .leaders = leaders};
        uint64_t time = cluster_time(on, &c, bytes);
        least = time < least ? time : least;
    }
    return least;
}

/* By nodes in pieces a long allreduction is done sooner than whole; but leaders copy for each other what the ring moves
 * between neighbours, and that is ahead. */
static void a_long_allreduction_is_done_sooner_by_nodes_in_pieces_and_by_the_ring_that_is_chosen(void **state)
{
    static const struct place small[] = {{"cluster_a", 8, 32, 0}, {"das4", 8, 64, 0}};
    const size_t bytes = 2 << 20;
    (void)state;
    for (size_t i = 0; i < LENGTH(small); i++) {
        cluster on = cluster_of(small[i].preset, small[i].room, small[i].ranks);
        nbcoll_choice c = chosen(&on, NBCOLL_OPERATION_ALLREDUCE, bytes);
        uint64_t in_pieces = hierarchical(&on, bytes, 65536), at_once = hierarchical(&on, bytes, 0);
        uint64_t takes = cluster_time(&on, &c, bytes);
        print_message("%s, %d ranks: %.0f us by nodes in pieces, %.0f us whole, %.0f us as chosen (%s)\n",
                      small[i].preset, small[i].ranks, (double)in_pieces / 1e3, (double)at_once / 1e3,
                      (double)takes / 1e3, c.algorithm->name);
        assert_in_range(in_pieces, 1, at_once - at_once / 10);
        assert_string_equal(c.algorithm->name, "ring");
        assert_true(takes < in_pieces);
        nbcoll_nodes_free(on.nodes);
    }
}

static void stays_whole(nbcoll_operation operation)
{
    const size_t bytes = 1000;
    for (size_t i = 0; i < LENGTH(places); i++) {
        cluster on = cluster_of(places[i].preset, places[i].room, places[i].ranks);
        nbcoll_choice c = chosen(&on, operation, bytes), whole = c;
        whole.segment = 0;
        assert_int_equal(cluster_time(&on, &c, bytes), cluster_time(&on, &whole, bytes));
        nbcoll_nodes_free(on.nodes);
    }
}

static void short_reductions_and_scans_stay_whole(void **state)
{
    (void)state;
    stays_whole(NBCOLL_OPERATION_REDUCE);
    stays_whole(NBCOLL_OPERATION_SCAN);
}

/* Whoever names a segment gets it, and formulas know what that costs. */
static void a_segment_that_is_asked_for_is_priced(void **state)
{
    const size_t bytes = 2 << 20;
    const nbcoll_algorithm *algorithm = nbcoll_algorithm_find(NBCOLL_OPERATION_REDUCE, "hierarchical");
    cluster on = cluster_of("cluster", 16, 64);
    uint64_t cost[2];
    (void)state;
    for (int i = 0; i < 2; i++) {
        size_t counts[128];
        nbcoll_args a = cluster_args(&on, NBCOLL_OPERATION_REDUCE, bytes, counts);
        a.leaders = 8;
        a.segment = i ? bytes / 8 : bytes;
        assert_int_equal(nbcoll_predict(&on.terms, &a, algorithm, &cost[i]), NBCOLL_OK);
    }
    assert_in_range(cost[1], 1, cost[0] * 4 / 5);
    nbcoll_nodes_free(on.nodes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_long_reduction_goes_in_pieces_and_is_done_a_fifth_sooner),
        cmocka_unit_test(a_long_scan_goes_in_pieces_and_is_done_sooner),
        cmocka_unit_test(short_reductions_and_scans_stay_whole),
        cmocka_unit_test(a_long_allreduction_is_done_sooner_by_nodes_in_pieces_and_by_the_ring_that_is_chosen),
        cmocka_unit_test(a_segment_that_is_asked_for_is_priced),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
