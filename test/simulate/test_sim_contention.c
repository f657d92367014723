/* SPDX-License-Identifier: BSD-3-Clause
 * Contention: drivers that are gathered on a progress core look in turn. With it the benchmark of Denis et al.
 * (split.h) has the shape of their figures 5 to 7: the work is fixed, sized for perfect overlap on all cores; fewer
 * ranks compute for longer and leave more cores to drivers. A transfer takes a core one unit, and a look of another
 * driver 6% of it, with which the best numbers of ranks are those that were measured, 50 of 64 cores and 38 of 48. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <nbcoll/split.h>

#include "scene.h"

enum { UNIT = 1000, LOOK = 60, SPLITS = 4, FEWEST = 32, MOST = 64 };

static scene machine(nbcoll_operation operation, int ranks, int cores)
{
    scene s = scene_of(operation, "binomial", ranks, 8);
    s.model.node = (uint32_t)ranks;
    s.model.progress = (uint32_t)(cores - ranks);
    s.model.lanes = s.model.pool = 1;
    s.model.inside.o_send = UNIT;
    s.model.contention = LOOK;
    return s;
}

/* ---- the term ---------------------------------------------------------------------------------------------------- */

/* Rank 0, from which all comes, starts last: then all have something under way. */
static uint64_t takes_from_the_last(scene *s)
{
    s->config.arrival = (nbcoll_sim_arrival){NBCOLL_SIM_ONE_LATE, 0, 1};
    return scene_play(s) - 1;
}

static void each_work_waits_for_a_look_of_every_other_driver_on_the_core(void **state)
{
    (void)state;
    scene s = machine(NBCOLL_OPERATION_BCAST, 2, 3);
    assert_int_equal(takes_from_the_last(&s), UNIT + LOOK); /* of the receiver's */
    s = machine(NBCOLL_OPERATION_BCAST, 4, 5);
    uint64_t pooled = takes_from_the_last(&s);
    assert_in_range(pooled, 3 * UNIT + (3 + 2 + 1) * LOOK, 3 * UNIT + (3 + 3 + 2) * LOOK); /* who has ended is gone */
    s.model.pool = 0;
    assert_int_equal(takes_from_the_last(&s), pooled);
}

static void a_driver_with_a_core_of_its_own_loses_nothing(void **state)
{
    (void)state;
    scene s = machine(NBCOLL_OPERATION_BCAST, 4, 8);
    assert_int_equal(takes_from_the_last(&s), 2 * UNIT);
    s.model.pool = 0;
    assert_int_equal(takes_from_the_last(&s), 2 * UNIT);
}

/* The leaves' only level is their own: above it there is one transfer, between two ranks. */
static void ranks_whose_steps_are_their_own_do_not_contend(void **state)
{
    (void)state;
    scene s = machine(NBCOLL_OPERATION_BCAST, 4, 5);
    s.c.split = 1;
    assert_int_equal(takes_from_the_last(&s), 2 * UNIT + LOOK);
    s.model.lanes = 0; /* all steps are the drivers' */
    assert_true(takes_from_the_last(&s) >= 3 * UNIT + (3 + 2 + 1) * LOOK);
}

static void without_progress_cores_there_is_none(void **state)
{
    (void)state;
    scene s = machine(NBCOLL_OPERATION_BCAST, 4, 4);
    assert_int_equal(takes_from_the_last(&s), 2 * UNIT);
}

/* ---- the benchmark ----------------------------------------------------------------------------------------------- */

/* All-to-one as the paper runs it: the ranks' levels by calls that block, before the others are started. */
static nbcoll_status build_reduce(void *user, uint32_t operation, int rank, nbcoll_schedule **out)
{
    const scene *s = user;
    nbcoll_builder_config config = {.size = sizeof config, .rank = rank, .ranks = s->c.ranks};
    nbcoll_step last = NBCOLL_START;
    nbcoll_addr recv = {NBCOLL_BUFFER_RECV, 0};
    nbcoll_builder *b;

    assert_int_equal(nbcoll_builder_open(&config, &b), NBCOLL_OK);
    for (int level = 0, apart = 1; apart < s->c.ranks && rank % apart == 0; level++, apart *= 2) {
        int is_sender = rank % (2 * apart) != 0;
        nbcoll_step step;
        if ((level < (int)s->c.split) != (operation == 0) || (!is_sender && rank + apart >= s->c.ranks))
            continue;
        step = is_sender ? nbcoll_add_send(b, rank - apart, recv, 8) : nbcoll_add_recv(b, rank + apart, recv, 8);
        nbcoll_after(b, step, last);
        nbcoll_set_lane(b, step, operation ? NBCOLL_LANE_PROGRESS : NBCOLL_LANE_CALLER);
        last = step;
    }
    return nbcoll_builder_finish(b, out);
}

static uint64_t blocking(nbcoll_operation operation, int ranks)
{
    scene s = machine(operation, ranks, ranks);
    return scene_play(&s);
}

/* The work of all ranks is as much as all cores do while the operation blocks them. */
static uint64_t computation(nbcoll_operation operation, int ranks, int cores)
{
    return blocking(operation, cores) * (uint64_t)cores / (uint64_t)ranks;
}

static uint64_t takes(nbcoll_operation operation, int ranks, int cores, unsigned split)
{
    scene s = machine(operation, ranks, cores);
    uint64_t compute = computation(operation, ranks, cores);
    const nbcoll_sim_action waits_in_start[] = {{.act = NBCOLL_SIM_START},
                                                {.act = NBCOLL_SIM_WAIT},
                                                {.act = NBCOLL_SIM_START},
                                                {.act = NBCOLL_SIM_COMPUTE, .compute = compute}};

    s.c.split = split;
    if (operation == NBCOLL_OPERATION_BCAST) {
        scene_program(&s, 0, compute, 0);
        scene_play(&s);
    } else {
        s.config.operations = 2;
        s.config.program = (nbcoll_sim_program){waits_in_start, 4};
        assert_int_equal(scene_simulate(&s, build_reduce, &s), NBCOLL_OK);
    }
    return s.result.waited;
}

typedef struct figure {
    uint64_t blocking[MOST], split[SPLITS][MOST]; /* by ranks, with the computation */
} figure;

static figure draw(nbcoll_operation operation, int cores)
{
    figure f;
    for (int ranks = FEWEST; ranks < cores; ranks++) {
        f.blocking[ranks] = blocking(operation, ranks) + computation(operation, ranks, cores);
        for (unsigned split = 0; split < SPLITS; split++)
            f.split[split][ranks] = takes(operation, ranks, cores, split);
    }
    return f;
}

/* The first number of ranks with which it takes longer than the blocking operation; `cores`: there is none. */
static int drop(const figure *f, unsigned split, int cores)
{
    int ranks = FEWEST;
    while (ranks < cores && f->split[split][ranks] <= f->blocking[ranks])
        ranks++;
    return ranks;
}

static unsigned best_split(const figure *f, int ranks)
{
    unsigned best = 0;
    for (unsigned split = 1; split < SPLITS; split++)
        best = f->split[split][ranks] < f->split[best][ranks] ? split : best;
    return best;
}

/* The first number of ranks with which so many levels are best. */
static int switches(const figure *f, unsigned split, int cores)
{
    int ranks = FEWEST;
    while (ranks < cores && best_split(f, ranks) < split)
        ranks++;
    return ranks;
}

/* Few ranks: the fewer levels are split off the better. Then each S drops, the later the larger it is; and with a
 * single core for all drivers, only S = 3 is better than the blocking operation. */
static void assert_shape(const figure *f, int cores)
{
    for (unsigned split = 1; split < SPLITS; split++) {
        assert_true(f->split[split][FEWEST] > f->split[split - 1][FEWEST]);
        assert_true(f->split[split][cores - 1] < f->split[split - 1][cores - 1]);
        assert_true(drop(f, split, cores) > drop(f, split - 1, cores));
        print_message("%d cores: S = %u is best from %d ranks on\n", cores, split, switches(f, split, cores));
    }
    assert_int_equal(drop(f, SPLITS - 1, cores), cores);
    assert_true(f->split[0][cores - 1] > 5 * f->blocking[cores - 1]);
}

static int best_ranks(const figure *f, int cores)
{
    int best = FEWEST;
    for (int ranks = FEWEST; ranks < cores; ranks++)
        if (f->split[best_split(f, ranks)][ranks] < f->split[best_split(f, best)][best])
            best = ranks;
    return best;
}

static void a_broadcast_has_the_shape_of_figure_5(void **state)
{
    (void)state;
    figure f = draw(NBCOLL_OPERATION_BCAST, 64);
    assert_shape(&f, 64);
    assert_int_equal(switches(&f, 1, 64), 53); /* the paper: 52, 58, 62 */
    assert_int_equal(switches(&f, 2, 64), 58);
    assert_int_equal(switches(&f, 3, 64), 62);
}

static void a_reduce_has_the_shape_of_figure_6(void **state)
{
    (void)state;
    for (int cores = 64; cores >= 48; cores -= 16) {
        figure f = draw(NBCOLL_OPERATION_REDUCE, cores);
        assert_shape(&f, cores);
    }
}

/* Without the term the drop with a single core is that of figure 3. */
static void contention_makes_the_drop_sudden(void **state)
{
    (void)state;
    scene s = machine(NBCOLL_OPERATION_BCAST, 63, 64);
    uint64_t with = scene_play(&s);
    s.model.contention = 0;
    assert_int_equal(scene_play(&s), 62 * UNIT);
    assert_true(with > 2 * 62 * UNIT);
}

/* Figure 7: S as split.h says it is always better than blocking; the best of all is far from all cores. */
static void split_by_the_model_is_always_better_than_blocking(void **state)
{
    static const struct {
        int cores, best;
    } measured[] = {{64, 50}, {48, 38}};
    (void)state;
    for (int i = 0; i < 2; i++) {
        int cores = measured[i].cores;
        figure f = draw(NBCOLL_OPERATION_BCAST, cores);
        for (int ranks = FEWEST; ranks < cores; ranks++) {
            unsigned split = nbcoll_split_levels(NBCOLL_OPERATION_BCAST, ranks, cores);
            assert_true(f.split[split < SPLITS ? split : SPLITS - 1][ranks] < f.blocking[ranks]);
        }
        assert_int_equal(best_ranks(&f, cores), measured[i].best);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_work_waits_for_a_look_of_every_other_driver_on_the_core),
        cmocka_unit_test(a_driver_with_a_core_of_its_own_loses_nothing),
        cmocka_unit_test(ranks_whose_steps_are_their_own_do_not_contend),
        cmocka_unit_test(without_progress_cores_there_is_none),
        cmocka_unit_test(a_broadcast_has_the_shape_of_figure_5),
        cmocka_unit_test(a_reduce_has_the_shape_of_figure_6),
        cmocka_unit_test(contention_makes_the_drop_sudden),
        cmocka_unit_test(split_by_the_model_is_always_better_than_blocking),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
