/* SPDX-License-Identifier: BSD-3-Clause
 * Which algorithm is chosen: peers where ranks share memory. On simulated networks, over grids with all their
 * neighbours, what is chosen takes hardly longer than the faster one, message combining or peers; and each of them is
 * chosen somewhere, combining for short blocks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "../../src/neighbor/neighbor.h"
#include "nbcoll/simulate.h"

enum { OFFSETS = 26 };

static const nbcoll_host host = {.size = sizeof host};

typedef struct scene {
    nbcoll_neighbor_grid grid;
    int ranks;
    nbcolli_neighbor_call call;
    nbcolli_neighbor_choice choice;
} scene;

static nbcoll_status build(void *user, uint32_t operation, int rank, nbcoll_schedule **out)
{
    const scene *s = user;
    nbcoll_builder_config config = {.size = sizeof config, .rank = rank, .ranks = s->ranks};
    nbcolli_around *a;
    nbcoll_status status = nbcolli_grid_open(&s->grid, &host, rank, s->ranks, &a);
    (void)operation;
    if (status == NBCOLL_OK)
        status = nbcolli_neighbor_build(a, &s->call, s->choice, &config, out);
    nbcolli_around_close(&host, a);
    return status;
}

static double time_of(scene *s, const nbcoll_sim_model *model, nbcolli_neighbor_algorithm *algorithm)
{
    nbcoll_sim_config config = {.size = sizeof config, .ranks = s->ranks, .model = model};
    nbcoll_sim_result result = {.size = sizeof result};
    s->choice.algorithm = algorithm;
    assert_int_equal(nbcoll_simulate(&config, build, s, &result), NBCOLL_OK);
    return (double)result.last;
}

static nbcolli_neighbor_choice chosen(scene *s, const nbcoll_sim_model *model, int is_shared)
{
    static int node[64];
    nbcoll_terms terms = {.size = sizeof terms, .ranks = s->ranks, .shared = is_shared, .large = NBCOLL_BY_COST};
    nbcoll_nodes *nodes;
    nbcolli_around *a;
    for (int r = 0; r < s->ranks; r++)
        node[r] = is_shared ? 0 : r;
    assert_int_equal(nbcoll_nodes_make(node, s->ranks, NULL, &nodes), NBCOLL_OK);
    assert_int_equal(nbcoll_sim_prices(model, nodes, &terms), NBCOLL_OK);
    terms.shared = is_shared;
    assert_int_equal(nbcolli_grid_open(&s->grid, &host, 0, s->ranks, &a), NBCOLL_OK);
    nbcolli_neighbor_choice choice = nbcolli_neighbor_choose(a, &s->call, &terms, 8);
    nbcolli_around_close(&host, a);
    nbcoll_nodes_free(nodes);
    return choice;
}

static void the_faster_one(void **state)
{
    static const char *const names[] = {"ethernet", "cluster_a", "das4"};
    static const size_t sizes[] = {8, 64, 256, 1024, 4096, 16384, 65536};
    int offset[OFFSETS * 3], cube[] = {4, 4, 4}, plane[] = {8, 8}, combining = 0, peers = 0;
    double sum = 0, worst = 0;
    (void)state;
    for (int cases = 0; cases < 3 * 7 * 4; cases++) {
        int dims = cases & 1 ? 3 : 2, gathers = cases >> 1 & 1, n = 0;
        nbcoll_sim_model model = {.size = sizeof model};
        size_t bytes = sizes[cases / 4 % 7];
        for (int i = 0, all = dims == 3 ? 27 : 9; i < all; i++)
            for (int k = 0, left = i; i != all / 2 && k < dims; k++, left /= 3)
                offset[n++] = left % 3 - 1;
        scene s = {.grid = {.size = sizeof s.grid,
                            .dims = dims,
                            .extent = dims == 3 ? cube : plane,
                            .periodic = (int[]){1, 1, 1},
                            .neighbors = n / dims,
                            .offset = offset},
                   .ranks = 64,
                   .call = {gathers ? NBCOLLI_NEIGHBOR_ALLGATHER : NBCOLLI_NEIGHBOR_ALLTOALL,
                            {{.count = bytes}, {.count = bytes}}}};
        assert_int_equal(nbcoll_sim_model_find(names[cases / 28], &model), NBCOLL_OK);
        model.node = 1;
        model.interfaces = 0;
        nbcolli_neighbor_algorithm *is = (s.choice = chosen(&s, &model, 0)).algorithm;
        double one = time_of(&s, &model, nbcolli_neighbor_combining),
               other = time_of(&s, &model, nbcolli_neighbor_peers);
        double mine = is == nbcolli_neighbor_combining ? one : other, ratio = mine / (one < other ? one : other);
        print_message("%-9s %dD %s %6zu B: combining %9.1f us, peers %9.1f us%s\n", names[cases / 28], dims,
                      gathers ? "allgather" : "alltoall ", bytes, one / 1000, other / 1000, ratio > 1.01 ? " *" : "");
        *(is == nbcolli_neighbor_combining ? &combining : &peers) += 1;
        sum += ratio;
        worst = ratio > worst ? ratio : worst;
        assert_true(bytes < 65536 || gathers || is == nbcolli_neighbor_peers);
    }
    print_message("%d combining, %d peers; %.3f times the faster one, at worst %.2f\n", combining, peers,
                  sum / (3 * 7 * 4), worst);
    assert_true(combining > 10 && peers > 10);
    assert_true(sum / (3 * 7 * 4) < 1.05 && worst < 1.5);
}

static void peers_in_shared_memory(void **state)
{
    nbcoll_sim_model model = {.size = sizeof model};
    scene s = {.grid = {.size = sizeof s.grid, .dims = 2, .extent = (int[]){8, 8}},
               .ranks = 64,
               .call = {NBCOLLI_NEIGHBOR_ALLTOALL, {{.count = 8}, {.count = 8}}}};
    (void)state;
    assert_int_equal(nbcoll_sim_model_find("node", &model), NBCOLL_OK);
    assert_true(chosen(&s, &model, 1).algorithm == nbcolli_neighbor_peers);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_faster_one), cmocka_unit_test(peers_in_shared_memory)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
