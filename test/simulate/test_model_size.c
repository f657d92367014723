/* SPDX-License-Identifier: BSD-3-Clause
 * Machines described by callers of other versions: a model that ends earlier than the library's has 0 in the members
 * that it lacks, and gives the same figures to the bit; one that ends later is read as far as the library knows it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "scene.h"

#define RANKS 24

typedef struct figures {
    nbcoll_sim_rank rank[RANKS];
    nbcoll_sim_result result;
} figures;

static void play(const nbcoll_sim_model *model, figures *out)
{
    scene s = scene_of(NBCOLL_OPERATION_ALLREDUCE, "ring", RANKS, 10000);
    s.result.rank = out->rank;
    s.config.model = model;
    assert_int_equal(nbcoll_simulate(&s.config, scene_build, &s, &s.result), NBCOLL_OK);
    out->result = s.result;
    out->result.rank = NULL;
}

static void assert_same_figures(const nbcoll_sim_model *a, const nbcoll_sim_model *b)
{
    figures x, y;
    play(a, &x);
    play(b, &y);
    assert_memory_equal(x.rank, y.rank, sizeof x.rank);
    assert_memory_equal(&x.result, &y.result, sizeof x.result);
}

static nbcoll_sim_model cluster(void)
{
    nbcoll_sim_model model = {.size = sizeof model};
    assert_int_equal(nbcoll_sim_model_find("cluster", &model), NBCOLL_OK);
    return model;
}

static void a_shorter_model_gives_the_figures_of_zeros(void **state)
{
    (void)state;
    nbcoll_sim_model zeros = cluster(), shorter = zeros;
    shorter.size = offsetof(nbcoll_sim_model, node); /* the 16 ranks of a node are not read */
    zeros.node = zeros.cores = zeros.progress = zeros.cell = zeros.interfaces = 0;
    assert_same_figures(&zeros, &shorter);
}

static void a_longer_model_gives_the_figures_of_what_is_known(void **state)
{
    (void)state;
    struct {
        nbcoll_sim_model known;
        uint64_t unknown;
    } longer = {cluster(), 7};
    nbcoll_sim_model known = longer.known;
    longer.known.size = sizeof longer;
    assert_same_figures(&known, &longer.known);
}

static void a_preset_fills_no_more_than_the_model_has(void **state)
{
    (void)state;
    nbcoll_sim_model whole = cluster(), shorter = {.size = offsetof(nbcoll_sim_model, node), .node = 99};
    assert_int_equal(nbcoll_sim_model_find("cluster", &shorter), NBCOLL_OK);
    assert_int_equal(shorter.size, offsetof(nbcoll_sim_model, node));
    assert_int_equal(shorter.eager, whole.eager);
    assert_int_equal(shorter.node, 99);
    assert_int_equal(whole.size, sizeof whole);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_shorter_model_gives_the_figures_of_zeros),
        cmocka_unit_test(a_longer_model_gives_the_figures_of_what_is_known),
        cmocka_unit_test(a_preset_fills_no_more_than_the_model_has),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
