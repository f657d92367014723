/* SPDX-License-Identifier: BSD-3-Clause
 * All seventeen collectives while drivers run their contexts: four ranks, as threads, in two drivers. The operations
 * are random, in flight together, and waited for in each way that there is: by calls, and by none until they have
 * ended. Now and then a context changes its driver. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "operation.h"
#include "scene.h"

enum { ROUNDS = 12, AT_ONCE = 5, KINDS = 17, FEW = 40, MANY = 20000 };

typedef struct plan {
    operation operation[ROUNDS * AT_ONCE];
    nbcoll_driver *driver[2];
    uint64_t seed;
} plan;

static void wait_for(nbcoll_request q[], int n, uint64_t *random)
{
    size_t index;

    switch (world_random(random) % 5) {
    case 0:
        EXPECT(OK, nbcoll_wait_all((size_t)n, q, NULL, deadline));
        break;
    case 1:
        for (int i = n; i-- > 0;)
            EXPECT(OK, nbcoll_wait(&q[i], deadline));
        break;
    case 2:
        for (int i = 0; i < n; i++)
            EXPECT(OK, nbcoll_wait_any((size_t)n, q, &index, deadline));
        break;
    case 3:
        for (int i = 0; i < n; i++)
            scene_watch(q[i]);
        EXPECT(OK, nbcoll_test_all((size_t)n, q, NULL));
        break;
    default:
        for (int i = 0; i < n; i++)
            while (nbcoll_wait(&q[i], 1000) == NBCOLL_ERR_TIMEOUT)
                ;
    }
}

static void change_driver(world *w, const plan *p, int rank, int *mine, uint64_t *random)
{
    if (world_random(random) % 3)
        return;
    EXPECT(OK, nbcoll_driver_remove(p->driver[*mine], w->context[rank]));
    *mine = (int)(world_random(random) % 2);
    EXPECT(OK, nbcoll_driver_add(p->driver[*mine], w->context[rank]));
}

static void run_rank(world *w, int rank, void *user)
{
    const plan *p = user;
    uint64_t random = p->seed + (uint64_t)rank;
    nbcoll_request q[AT_ONCE];
    share s[AT_ONCE];
    int mine = rank / 2;

    for (int round = 0; round < ROUNDS; round++) {
        const operation *o = &p->operation[round * AT_ONCE];
        for (int i = 0; i < AT_ONCE; i++) {
            s[i] = share_make(&o[i], rank, SCENE_RANKS);
            EXPECT(OK, operation_start(&o[i], &s[i], w->comm[rank], &q[i]));
        }
        change_driver(w, p, rank, &mine, &random);
        wait_for(q, AT_ONCE, &random);
        for (int i = 0; i < AT_ONCE; i++) {
            operation_check(&o[i], &s[i], rank, SCENE_RANKS);
            share_free(&s[i]);
        }
        EXPECT(OK, nbcoll_barrier(w->comm[rank], deadline));
    }
}

static void play(int variant, uint64_t *random)
{
    nbcoll_context_config config = {.size = sizeof config, .flags = NBCOLL_ANY_THREAD};
    nbcoll_loopback_config loopback = world_variant(variant, *random);
    static plan p;
    world w;

    p.seed = world_random(random);
    for (int i = 0; i < ROUNDS * AT_ONCE; i++)
        do
            p.operation[i] = operation_random(random, SCENE_RANKS, i % 4 ? FEW : MANY);
        while ((int)p.operation[i].what % KINDS != i % KINDS);
    world_open(&w, SCENE_RANKS, &loopback, &config, NULL);
    for (int i = 0; i < 2; i++)
        p.driver[i] = scene_drive(&w, 2 * i, 2 * i + 2);
    world_threads(&w, run_rank, &p);
    EXPECT(OK, nbcoll_driver_free(p.driver[0]));
    scene_close(&w, p.driver[1]);
}

static void all_collectives_end_with_the_right_values(void **state)
{
    uint64_t random = seed_of_test();
    (void)state;
    for (int variant = 0; variant < WORLD_VARIANTS; variant++)
        play(variant, &random);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(all_collectives_end_with_the_right_values)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
