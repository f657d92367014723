/* SPDX-License-Identifier: BSD-3-Clause
 * For tests of the simulator: an algorithm of the library, on ranks with one integer-friendly machine. */
#ifndef TEST_SIMULATE_SCENE_H
#define TEST_SIMULATE_SCENE_H

#include <nbcoll/simulate.h>
#include <nbcoll/verify.h>

typedef struct scene {
    const nbcoll_algorithm *algorithm;
    nbcoll_case c;
    nbcoll_sim_config config; /* its model is set when it is played */
    nbcoll_sim_model model;
    nbcoll_sim_result result;
    nbcoll_sim_action action[3];
} scene;

/* Bytes of `count` BYTEs; a machine on which all costs nothing: one rank a node. */
scene scene_of(nbcoll_operation operation, const char *algorithm, int ranks, size_t count);

/* The costs of LogGP, G in ns a byte. */
void scene_loggp(scene *s, uint64_t L, uint64_t o, uint64_t g, uint64_t G);

/* Ranks compute, start, and compute with tests; then they wait. The scene must not move any more. */
void scene_program(scene *s, uint64_t before, uint64_t compute, uint64_t test_every);

/* As an nbcoll_sim_build; `user` is the scene. */
nbcoll_status scene_build(void *user, uint32_t operation, int rank, nbcoll_schedule **out);

/* Plays it with the schedules of `build`, whose `user` is given. */
nbcoll_status scene_simulate(scene *s, nbcoll_sim_build *build, void *user);

/* Plays it, which must succeed, and gives the latest end. */
uint64_t scene_play(scene *s);

#endif
