/* SPDX-License-Identifier: BSD-3-Clause
 * See world.h. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <cmocka.h>

#include "native.h"
#include "nbcoll/offload.h"
#include "world.h"

uint64_t world_random(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

void world_expect(nbcoll_status wanted, nbcoll_status is, const char *call, const char *file, int line)
{
    if (is == wanted)
        return;
    fprintf(stderr, "%s:%d: %s is %s, not %s\n", file, line, call, nbcoll_status_name(is), nbcoll_status_name(wanted));
    _fail(file, line);
}

nbcoll_loopback_config world_variant(int variant, uint64_t seed)
{
    static const nbcoll_loopback_config variants[WORLD_VARIANTS] = {
        {.flags = 0},
        {.flags = NBCOLL_LOOPBACK_NO_BULK},
        {.flags = NBCOLL_LOOPBACK_LEND},
        {.flags = NBCOLL_LOOPBACK_LEND | NBCOLL_LOOPBACK_NO_BULK},
        {.seed = 1},
        {.seed = 1, .flags = NBCOLL_LOOPBACK_LEND | NBCOLL_LOOPBACK_NO_BULK, .depth = 2, .payload = 512},
        {.depth = 1, .payload = 256},
        {.flags = NBCOLL_LOOPBACK_NO_GET},
        {.seed = 1, .flags = NBCOLL_LOOPBACK_LEND | NBCOLL_LOOPBACK_NO_GET, .depth = 2, .payload = 512},
        {.flags = NBCOLL_LOOPBACK_SHARED},
        {.flags = NBCOLL_LOOPBACK_SHARED | NBCOLL_LOOPBACK_LEND},
        {.seed = 1, .flags = NBCOLL_LOOPBACK_SHARED, .depth = 2, .payload = 512},
    };
    nbcoll_loopback_config config = variants[variant];
    config.size = sizeof config;
    config.seed = config.seed ? seed | 1 : 0;
    return config;
}

void world_open_contexts(world *w, int ranks, const nbcoll_loopback_config *loopback,
                         const nbcoll_context_config *context)
{
    /* Every other one has no observer: runs that are observed never take the short way. Half of these, and of the
     * others, have a staging buffer, if their ranks share memory. */
    static unsigned worlds;
    nbcoll_loopback_config config = {.size = sizeof config};
    int is_watched = worlds % 2, is_staged = worlds++ / 2 % 2;

    if (loopback)
        config = *loopback;
    config.ranks = ranks;
    config.pairs = nbcoll_loopback_pairs();
    *w = (world){.ranks = ranks, .random = config.seed};
    assert_int_equal(nbcoll_loopback_create(&config, &w->loopback), NBCOLL_OK);
    for (int r = 0; r < ranks; r++) {
        nbcoll_context_config watched = {.size = sizeof watched};
        if (context)
            watched = *context;
        watch_init(&w->watch[r], r);
        if (!watched.observer && is_watched)
            watched.observer = &w->watch[r].observer;
        assert_int_equal(nbcoll_loopback_open(w->loopback, r, &w->endpoint[r]), NBCOLL_OK);
        w->endpoint[r]->limits.staging = is_staged ? WORLD_STAGING : 0;
        assert_int_equal(nbcoll_context_create(NBCOLL_ABI, &watched, &w->context[r]), NBCOLL_OK);
    }
}

void world_open(world *w, int ranks, const nbcoll_loopback_config *loopback, const nbcoll_context_config *context,
                const nbcoll_comm_config *comm)
{
    nbcoll_request request[WORLD_MOST];
    native n;

    native_init(&n, comm);
    world_open_contexts(w, ranks, loopback, context);
    for (int r = 0; r < ranks; r++)
        assert_int_equal(nbcoll_comm_icreate(w->context[r], w->endpoint[r], &n.config, &w->comm[r], &request[r]),
                         NBCOLL_OK);
    world_finish(w, (size_t)ranks, request);
}

/* Frees what is left; contexts may need a few more steps to hand over their last messages. */
void world_close(world *w)
{
    for (int r = 0; r < w->ranks; r++) {
        nbcoll_status s = NBCOLL_ERR_BUSY;
        for (int tries = 0; tries < 1000 && (s = nbcoll_context_free(w->context[r])) == NBCOLL_ERR_BUSY; tries++)
            for (int other = r; other < w->ranks; other++)
                nbcoll_progress(w->context[other]);
        assert_int_equal(s, NBCOLL_OK);
        w->context[r] = NULL;
        watch_free(&w->watch[r]);
    }
    assert_int_equal(nbcoll_loopback_free(w->loopback), NBCOLL_OK);
}

void world_step(world *w)
{
    int first = (int)(world_random(&w->random) % (uint64_t)w->ranks);
    int stride = (int)(world_random(&w->random) % (uint64_t)w->ranks);

    for (int i = 0; i < w->ranks; i++)
        nbcoll_progress(w->context[(first + i) % w->ranks]);
    nbcoll_progress(w->context[stride]);
}

void world_watchdog(const world *w, int is_in_time)
{
    for (int r = 0; r < w->ranks && !is_in_time; r++)
        watch_dump(&w->watch[r], stderr);
    assert_true(is_in_time);
}

nbcoll_status world_arm(const world *w, int rank)
{
    nbcoll_arm(w->context[rank]);
    return nbcoll_arm(w->context[rank]);
}

void world_settle(world *w, size_t n, nbcoll_request requests[], nbcoll_status statuses[])
{
    size_t left = n;

    for (size_t i = 0; i < n; i++)
        if (statuses)
            statuses[i] = NBCOLL_PENDING;
    for (int rounds = 0; left; rounds++) {
        world_watchdog(w, rounds < 10000000); /* 0.7 s at least: more than a few rounds of asking, of 40 ms each */
        left = 0;
        for (size_t k = 0, at = (size_t)(world_random(&w->random) % n); k < n; k++, at = (at + 1) % n) {
            if (!requests[at].at)
                continue;
            nbcoll_status s = nbcoll_test(&requests[at]);
            if (s == NBCOLL_PENDING)
                left++;
            else if (statuses)
                statuses[at] = s;
            else
                assert_int_equal(s, NBCOLL_OK);
        }
        world_step(w);
    }
}

void world_finish(world *w, size_t n, nbcoll_request requests[])
{
    world_settle(w, n, requests, NULL);
}

typedef struct body {
    world *w;
    int rank;
    void (*main)(world *w, int rank, void *user);
    void *user;
} body;

static void *thread_main(void *argument)
{
    body *b = argument;
    b->main(b->w, b->rank, b->user);
    return NULL;
}

void world_threads(world *w, void (*main)(world *w, int rank, void *user), void *user)
{
    pthread_t thread[WORLD_MOST];
    body bodies[WORLD_MOST];

    for (int r = 0; r < w->ranks; r++) {
        bodies[r] = (body){w, r, main, user};
        assert_int_equal(pthread_create(&thread[r], NULL, thread_main, &bodies[r]), 0);
    }
    for (int r = 0; r < w->ranks; r++)
        pthread_join(thread[r], NULL);
}
