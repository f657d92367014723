/* SPDX-License-Identifier: BSD-3-Clause
 * Stress over loopback: see stress.h. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "stress.h"
#include "world.h"

typedef struct body {
    const stress *stress;
    int rank;
    nbcoll_endpoint *ep;
} body;

static void *body_main(void *argument)
{
    body *b = argument;
    stress_run(b->stress, b->rank, b->ep);
    return NULL;
}

void stress_over_loopback(const stress *s, uint32_t flags)
{
    body bodies[STRESS_RANKS];
    pthread_t thread[STRESS_RANKS];
    nbcoll_loopback *all;
    nbcoll_loopback_config config = {.size = sizeof config, .ranks = s->ranks, .seed = s->seed, .flags = flags,
                                     .depth = (uint32_t)(1 + s->seed % 16)};

    print_message("flags %u\n", flags);
    EXPECT(OK, nbcoll_loopback_create(&config, &all));
    for (int r = 0; r < s->ranks; r++) {
        bodies[r] = (body){s, r, NULL};
        EXPECT(OK, nbcoll_loopback_open(all, r, &bodies[r].ep));
    }
    for (int r = 0; r < s->ranks; r++)
        assert_int_equal(pthread_create(&thread[r], NULL, body_main, &bodies[r]), 0);
    for (int r = 0; r < s->ranks; r++)
        pthread_join(thread[r], NULL);
    EXPECT(OK, nbcoll_loopback_free(all));
}
