/* SPDX-License-Identifier: BSD-3-Clause
 * Ranks that a test steps, by a clock that it moves: see scene.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "scene.h"

static uint64_t clock_now(void *user)
{
    return ((scene *)user)->clock;
}

void scene_pass(scene *s)
{
    s->clock += SCENE_MS;
    for (int r = 0; r < s->w.ranks; r++)
        if (r != s->silent && s->w.context[r])
            nbcoll_progress(s->w.context[r]);
}

void scene_passes(scene *s, int n)
{
    for (int i = 0; i < n; i++)
        scene_pass(s);
}

static void pause_for(void *user, uint64_t looks)
{
    (void)looks;
    scene_pass(user);
}

void scene_set(scene *s)
{
    s->clock = 1;
    s->silent = -1;
    s->config = (nbcoll_context_config){.size = sizeof s->config,
                                        .host = {.size = sizeof s->config.host, .user = s, .now = clock_now,
                                                 .pause = pause_for}};
}

void scene_open(scene *s, int ranks, int variant, const nbcoll_comm_config *comm)
{
    nbcoll_loopback_config loopback = world_variant(variant, 5);

    scene_set(s);
    world_open(&s->w, ranks, &loopback, &s->config, comm);
}

int scene_settle(scene *s, size_t n, nbcoll_request q[], nbcoll_status status[], int limit)
{
    for (size_t i = 0; i < n; i++)
        status[i] = NBCOLL_PENDING;
    for (int ms = 0;; ms++) {
        size_t left = 0;
        for (size_t i = 0; i < n; i++) {
            if (status[i] == NBCOLL_PENDING)
                status[i] = nbcoll_test(&q[i]);
            left += status[i] == NBCOLL_PENDING;
        }
        if (!left)
            return ms;
        world_watchdog(&s->w, ms < limit);
        scene_pass(s);
    }
}

void failure_says(const nbcoll_failure *failure, const char *wanted)
{
    char text[200], cut[5];
    size_t length = nbcoll_failure_text(failure, text, sizeof text);

    assert_string_equal(text, wanted);
    assert_int_equal(length, strlen(wanted));
    assert_int_equal(nbcoll_failure_text(failure, cut, sizeof cut), length);
    assert_int_equal(strlen(cut), sizeof cut - 1);
    assert_int_equal(nbcoll_failure_text(failure, NULL, 0), length);
}

void scene_says(scene *s, int rank, nbcoll_status status, const char *wanted)
{
    nbcoll_failure failure;

    EXPECT(OK, nbcoll_comm_failure(s->w.comm[rank], &failure));
    assert_int_equal(failure.status, status);
    failure_says(&failure, wanted);
}
