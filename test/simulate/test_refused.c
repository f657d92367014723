/* SPDX-License-Identifier: BSD-3-Clause
 * What cannot be simulated is refused, with nothing changed: bad configurations, schedules of other ranks, of shared
 * memory or bound blocks, that do not match or do not end, and too little memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "scene.h"

static scene four(void)
{
    return scene_of(NBCOLL_OPERATION_BCAST, "binomial", 4, 100);
}

static void refused(scene *s, nbcoll_sim_build *build, nbcoll_status why)
{
    nbcoll_sim_result before = s->result;
    assert_int_equal(scene_simulate(s, build, s), why);
    assert_memory_equal(&before, &s->result, sizeof before);
}

#define REFUSED(change, why)                                                                                           \
    do {                                                                                                               \
        scene s = four();                                                                                              \
        change;                                                                                                        \
        refused(&s, scene_build, NBCOLL_ERR_##why);                                                                    \
    } while (0)

static void bad_configurations(void **state)
{
    (void)state;
    scene good = four();
    assert_int_equal(nbcoll_simulate(NULL, scene_build, &good, &good.result), NBCOLL_ERR_NULL);
    assert_int_equal(nbcoll_simulate(&good.config, scene_build, &good, &good.result), NBCOLL_ERR_NULL); /* no model */
    good.config.model = &good.model;
    assert_int_equal(nbcoll_simulate(&good.config, NULL, &good, &good.result), NBCOLL_ERR_NULL);
    assert_int_equal(nbcoll_simulate(&good.config, scene_build, &good, NULL), NBCOLL_ERR_NULL);
    REFUSED(s.config.size = 4, CONFIG);
    REFUSED(s.model.size = 0, CONFIG);
    REFUSED(s.model.size = sizeof s.model.size - 1, CONFIG);
    REFUSED(s.result.size = 4, CONFIG);
    REFUSED(s.config.ranks = 0, RANK);
    REFUSED(s.config.ranks = 5, RANK);
    REFUSED((s.config.arrival = (nbcoll_sim_arrival){NBCOLL_SIM_ONE_LATE, 4, 1}), RANK);
    REFUSED(s.config.arrival.pattern = (nbcoll_sim_pattern)4, ARGUMENT);
    REFUSED(s.config.noise.phase = (nbcoll_sim_phase)3, ARGUMENT);
    REFUSED(s.config.noise.share = 1001, ARGUMENT);
    REFUSED((s.config.noise = (nbcoll_sim_noise){5, 5, 1000, NBCOLL_SIM_APART}), ARGUMENT);
    REFUSED(s.model.cores = s.model.progress = 2, ARGUMENT);
    REFUSED(s.model.lanes = 2, ARGUMENT);
    REFUSED(s.model.tick = s.model.tick_cost = 5, ARGUMENT);
    REFUSED(s.model.tick = NBCOLL_SIM_MOST_NS + 1, LIMIT);
    REFUSED(s.model.wake = NBCOLL_SIM_MOST_NS + 1, LIMIT);
    REFUSED(s.model.contention = NBCOLL_SIM_MOST_NS + 1, LIMIT);
    REFUSED(s.model.between.latency = NBCOLL_SIM_MOST_NS + 1, LIMIT);
    REFUSED(s.model.inside.byte = NBCOLL_SIM_MOST_PS + 1, LIMIT);
    REFUSED(s.model.node = 65537, LIMIT);
    REFUSED(s.model.interfaces = 65537, LIMIT);
    REFUSED(s.model.unexpected = NBCOLL_SIM_MOST_NS + 1, LIMIT);
    REFUSED(s.model.unexpected_byte = NBCOLL_SIM_MOST_PS + 1, LIMIT);
    REFUSED((s.config.nodes = &(nbcoll_nodes){.size = sizeof(nbcoll_nodes), .ranks = 5, .count = 1}), RANK);
    REFUSED(scene_program(&s, NBCOLL_SIM_MOST_NS + 1, 0, 0), LIMIT);
    REFUSED(scene_program(&s, 0, 0, NBCOLL_SIM_MOST_NS + 1), LIMIT);
    REFUSED((scene_program(&s, 0, 0, 0), s.action[2].act = NBCOLL_SIM_START), ARGUMENT);
    REFUSED((scene_program(&s, 0, 0, 0), s.config.program.actions = 1), ARGUMENT);
    REFUSED((scene_program(&s, 0, 0, 0), s.action[0].act = NBCOLL_SIM_WAIT), ARGUMENT);
    REFUSED((scene_program(&s, 0, 0, 0), s.action[0].act = NBCOLL_SIM_WAIT_STARTED), ARGUMENT);
    REFUSED((scene_program(&s, 0, 0, 0), s.action[2].act = (nbcoll_sim_act)4), ARGUMENT);
    REFUSED(s.config.operations = UINT32_MAX / 4 + 1, LIMIT);
    REFUSED(s.c.count = NBCOLL_SIM_MOST_BYTES + 1, LIMIT);
}

static void presets_that_do_not_exist(void **state)
{
    (void)state;
    nbcoll_sim_model model = {.size = sizeof model}, unsized = {.size = 0};
    nbcoll_sim_noise noise;
    const char *name;
    assert_int_equal(nbcoll_sim_model_find("x", &model), NBCOLL_ERR_ARGUMENT);
    assert_int_equal(nbcoll_sim_noise_find("x", &noise), NBCOLL_ERR_ARGUMENT);
    assert_int_equal(nbcoll_sim_model_find(NULL, &model), NBCOLL_ERR_NULL);
    assert_int_equal(nbcoll_sim_model_find("node", &unsized), NBCOLL_ERR_CONFIG);
    assert_int_equal(nbcoll_sim_noise_find("tick", NULL), NBCOLL_ERR_NULL);
    for (unsigned i = 0; (name = nbcoll_sim_model_name(i)); i++)
        assert_int_equal(nbcoll_sim_model_find(name, &model), NBCOLL_OK);
    for (unsigned i = 0; (name = nbcoll_sim_noise_name(i)); i++)
        assert_int_equal(nbcoll_sim_noise_find(name, &noise), NBCOLL_OK);
}

static nbcoll_status build_shared(void *user, uint32_t operation, int rank, nbcoll_schedule **out)
{
    (void)operation;
    scene *s = user;
    s->c.node = s->c.ranks;
    return nbcoll_build_case(nbcoll_algorithm_find(NBCOLL_OPERATION_BCAST, "slots"), &s->c, rank, NULL, out);
}

static nbcoll_status build_bound(void *user, uint32_t operation, int rank, nbcoll_schedule **out)
{
    (void)operation;
    scene *s = user;
    s->c.operation = NBCOLL_OPERATION_ALLTOALLV;
    return nbcoll_build_case(nbcoll_algorithm_find(NBCOLL_OPERATION_ALLTOALLV, "flat"), &s->c, rank, NULL, out);
}

static nbcoll_status build_another(void *user, uint32_t operation, int rank, nbcoll_schedule **out)
{
    return scene_build(user, operation, rank ^ 1, out);
}

static nbcoll_status build_nothing(void *user, uint32_t operation, int rank, nbcoll_schedule **out)
{
    (void)operation;
    (void)user, (void)rank, (void)out;
    return NBCOLL_ERR_CALL;
}

/* Rank 0's SEND, or RECV, of so many bytes; nothing elsewhere but a RECV of 8 bytes on rank 1. */
typedef struct odd {
    int has_send, has_recv;
    size_t bytes;
} odd;

static nbcoll_status build_odd(void *user, uint32_t operation, int rank, nbcoll_schedule **out)
{
    (void)operation;
    const odd *o = user;
    nbcoll_builder *b;
    nbcoll_builder_config config = {.size = sizeof config, .rank = rank, .ranks = 4};
    nbcoll_addr at = {NBCOLL_BUFFER_RECV, 0};
    assert_int_equal(nbcoll_builder_open(&config, &b), NBCOLL_OK);
    if (rank == 0 && o->has_send)
        nbcoll_add_send(b, 1, at, o->bytes);
    if (rank == 1 && o->has_recv)
        nbcoll_add_recv(b, 0, at, 8);
    return nbcoll_builder_finish(b, out);
}

static nbcoll_status play_odd(odd o)
{
    scene s = four();
    return scene_simulate(&s, build_odd, &o);
}

static void schedules_that_cannot_be_played(void **state)
{
    (void)state;
    scene s[4] = {four(), four(), four(), four()};
    refused(&s[0], build_shared, NBCOLL_ERR_UNSUPPORTED);
    refused(&s[1], build_bound, NBCOLL_ERR_UNSUPPORTED);
    refused(&s[2], build_another, NBCOLL_ERR_RANK);
    refused(&s[3], build_nothing, NBCOLL_ERR_CALL);
    assert_int_equal(play_odd((odd){1, 1, 8}), NBCOLL_OK);
    assert_int_equal(play_odd((odd){1, 1, 7}), NBCOLL_ERR_VERIFY);
    assert_int_equal(play_odd((odd){1, 0, 8}), NBCOLL_ERR_VERIFY);
    assert_int_equal(play_odd((odd){0, 1, 8}), NBCOLL_ERR_VERIFY);
}

/* ---- memory ---------------------------------------------------------------------------------------------------- */

typedef struct ration {
    size_t left, held; /* allocations; bytes */
} ration;

static void *ration_alloc(void *user, size_t bytes, size_t align)
{
    ration *r = user;
    if (!r->left)
        return NULL;
    r->left--;
    r->held += bytes;
    return aligned_alloc(align, (bytes + align - 1) / align * align);
}

static void ration_free(void *user, void *memory, size_t bytes)
{
    ((ration *)user)->held -= bytes;
    free(memory);
}

static void too_little_memory(void **state)
{
    (void)state;
    nbcoll_status status = NBCOLL_ERR_MEMORY;
    size_t given;
    for (given = 0; status == NBCOLL_ERR_MEMORY; given++) {
        ration r = {given, 0};
        nbcoll_host host = {.size = sizeof host, .user = &r, .alloc = ration_alloc, .free = ration_free};
        scene s = four();
        s.config.host = &host;
        status = scene_simulate(&s, scene_build, &s);
        assert_int_equal(r.held, 0);
    }
    assert_int_equal(status, NBCOLL_OK);
    assert_true(given > 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bad_configurations),
        cmocka_unit_test(presets_that_do_not_exist),
        cmocka_unit_test(schedules_that_cannot_be_played),
        cmocka_unit_test(too_little_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
