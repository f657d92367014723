/* SPDX-License-Identifier: BSD-3-Clause
 * Scenes for tests of the simulator. */
#include "scene.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

scene scene_of(nbcoll_operation operation, const char *algorithm, int ranks, size_t count)
{
    scene s = {.algorithm = nbcoll_algorithm_find(operation, algorithm)};
    s.c = (nbcoll_case){.size = sizeof s.c, .operation = operation, .ranks = ranks, .count = count,
                        .reduction = {NBCOLL_BYTE, NBCOLL_BXOR}, .known = 1};
    s.config = (nbcoll_sim_config){.size = sizeof s.config, .ranks = ranks, .seed = 1};
    s.model.size = sizeof s.model;
    s.result.size = sizeof s.result;
    assert_non_null(s.algorithm);
    return s;
}

void scene_loggp(scene *s, uint64_t L, uint64_t o, uint64_t g, uint64_t G)
{
    s->model.between = s->model.inside = (nbcoll_sim_link){L, o, o, g, 1000 * G};
}

void scene_program(scene *s, uint64_t before, uint64_t compute, uint64_t test_every)
{
    s->action[0] = (nbcoll_sim_action){NBCOLL_SIM_COMPUTE, 0, before, 0};
    s->action[1] = (nbcoll_sim_action){.act = NBCOLL_SIM_START};
    s->action[2] = (nbcoll_sim_action){NBCOLL_SIM_COMPUTE, 0, compute, test_every};
    s->config.program = (nbcoll_sim_program){s->action, 3};
}

nbcoll_status scene_build(void *user, uint32_t operation, int rank, nbcoll_schedule **out)
{
    (void)operation;
    scene *s = user;
    return nbcoll_build_case(s->algorithm, &s->c, rank, NULL, out);
}

nbcoll_status scene_simulate(scene *s, nbcoll_sim_build *build, void *user)
{
    s->config.model = &s->model;
    return nbcoll_simulate(&s->config, build, user, &s->result);
}

uint64_t scene_play(scene *s)
{
    assert_int_equal(scene_simulate(s, scene_build, s), NBCOLL_OK);
    return s->result.last;
}
