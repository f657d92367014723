/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Conformance with each rank a thread: what the transport shares between endpoints it synchronises itself.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "player.h"

#define TOO_LONG_NS 60000000000u

static void *talk(void *argument)
{
    struct player *p = argument;
    uint64_t start = now_ns();
    while (!player_is_done(p) && !p->world->wrong) {
        player_send(p);
        if (!player_progress(p)) {
            if (now_ns() - start > TOO_LONG_NS)
                player_is_wrong(p, "%zu of %zu messages arrived, %zu records are out", p->arrived, p->expected,
                                p->lent);
            sched_yield();
        }
    }
    return NULL;
}

static void *talk_and_close(void *argument)
{
    struct player *p = argument;
    talk(p);
    if (!p->world->wrong) {
        nbcoll_endpoint_close(p->ep);
        p->ep = NULL;
    }
    return NULL;
}

static void run_threads(struct world *w, void *(*run)(void *))
{
    pthread_t thread[MAX_RANKS];
    for (int i = 0; i < w->ranks; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, run, &w->player[i]), 0);
    for (int i = 0; i < w->ranks; i++)
        pthread_join(thread[i], NULL);
    world_check(w);
}

static void write_random_letters(struct world *w, struct player *p, int letters)
{
    size_t most = p->ep->limits.payload;
    for (int k = 0; k < letters; k++) {
        uint64_t random = random_next(&w->random);
        size_t bytes = random >> 32 & 15 ? random >> 40 & 127 : (random >> 40) % (most + 1);
        player_write(p, (int)((random & 0xffff) % (unsigned)w->ranks), bytes);
    }
}

void threads_exchange_random_messages(void **state)
{
    static const struct {
        int ranks, letters;
    } runs[] = {{2, 3000}, {4, 1000}, {9, 200}};
    for (size_t i = 0; i < sizeof runs / sizeof runs[0]; i++) {
        struct world *w = world_open(state, runs[i].ranks);
        for (int rank = 0; rank < w->ranks; rank++)
            write_random_letters(w, &w->player[rank], runs[i].letters);
        run_threads(w, talk);
        world_close(w);
    }
}

void an_end_closes_while_others_still_talk(void **state)
{
    for (int round = 0; round < 20; round++) {
        struct world *w = world_open(state, 4);
        for (int rank = 0; rank < w->ranks; rank++)
            for (int k = 0; k < 10 + 30 * rank; k++) /* the first ones are done early */
                player_write(&w->player[rank], 1 + (rank + k) % 3, (size_t)k);
        run_threads(w, talk_and_close);
        world_close(w);
    }
}
