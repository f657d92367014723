/* SPDX-License-Identifier: BSD-3-Clause
 * A rank leaves while the others go on with boards, stepped in a seeded order: those that it took part in have their
 * values, whenever the others come to them; those without it too, also in cells that it never looked at; all others
 * end. Buffers are freed the moment their board has ended. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "play.h"
#include "world.h"

enum { RANKS = 3, LEAVER = 2, BOARDS = 8, RUNS = 150, ACTS_MOST = 100000 };

typedef struct plan {
    world w;
    board board[BOARDS];
    int is_without[BOARDS]; /* the leaver neither owns nor reads anything of it */
    int last;               /* so many boards the leaver takes part in */
    nbcoll_schedule *schedule[RANKS][BOARDS];
    nbcoll_request request[RANKS][BOARDS];
    share share[RANKS][BOARDS];
    int started[RANKS], ended[RANKS]; /* how many */
    int lost;                         /* ends with PEER_LOST */
} plan;

static void leave_out(board *b, int rank)
{
    int kept = 0;
    for (int i = 0; i < b->transfers; i++)
        if (b->transfer[i].owner != rank && b->transfer[i].reader != rank)
            b->transfer[kept++] = b->transfer[i];
    b->transfers = kept;
}

static void open_plan(plan *p, int variant, uint64_t seed)
{
    nbcoll_loopback_config loopback = world_variant(variant, seed);
    nbcoll_comm_config config = NBCOLL_COMM_DEFAULTS;
    config.slots = 1 + (uint32_t)(seed % 3);
    *p = (plan){.last = (int)(seed % (BOARDS / 2))};
    world_open(&p->w, RANKS, &loopback, NULL, &config);
    for (int k = 0; k < BOARDS; k++) {
        p->board[k] = board_make(world_random(&p->w.random), RANKS, 8, 300);
        p->is_without[k] = k >= p->last && world_random(&p->w.random) % 2;
        if (p->is_without[k])
            leave_out(&p->board[k], LEAVER);
        for (int r = 0; r < RANKS; r++) {
            p->schedule[r][k] = board_schedule(&p->board[k], p->w.comm[r]);
            p->share[r][k] = board_share(&p->board[k], r);
        }
    }
}

static void leave_when_done(plan *p)
{
    if (p->ended[LEAVER] == p->last && nbcoll_context_free(p->w.context[LEAVER]) == NBCOLL_OK)
        p->w.context[LEAVER] = NULL;
}

static void look_at(plan *p, int r, int k)
{
    nbcoll_status s = p->request[r][k].at ? nbcoll_test(&p->request[r][k]) : NBCOLL_PENDING;
    if (s == NBCOLL_PENDING)
        return;
    if (s == NBCOLL_OK)
        board_check(&p->board[k], &p->share[r][k], r);
    else {
        EXPECT(ERR_PEER_LOST, s);
        assert_true(k >= p->last && !p->is_without[k]);
        p->lost++;
    }
    share_free(&p->share[r][k]);
    p->ended[r]++;
}

/* One thing that a random rank does. */
static void act(plan *p)
{
    int r = (int)(world_random(&p->w.random) % RANKS), k = p->started[r];

    if (!p->w.context[r])
        return;
    switch (world_random(&p->w.random) % 4) {
    case 0:
        if (k < (r == LEAVER ? p->last : BOARDS)) {
            EXPECT(OK, play_start(p->schedule[r][k], &p->share[r][k], p->w.comm[r], &p->request[r][k]));
            p->started[r]++;
        }
        break;
    case 1:
        look_at(p, r, (int)(world_random(&p->w.random) % BOARDS));
        break;
    default:
        nbcoll_progress(p->w.context[r]);
    }
    if (r == LEAVER)
        leave_when_done(p);
}

static int run_plan(int variant, uint64_t seed)
{
    plan p;

    open_plan(&p, variant, seed);
    for (int acts = 0; p.ended[0] + p.ended[1] + p.ended[LEAVER] < 2 * BOARDS + p.last; acts++) {
        if (acts == ACTS_MOST)
            fprintf(stderr, "variant %d, seed %llu\n", variant, (unsigned long long)seed);
        world_watchdog(&p.w, acts < ACTS_MOST);
        act(&p);
    }
    world_close(&p.w);
    for (int k = 0; k < BOARDS; k++)
        for (int r = 0; r < RANKS; r++) {
            if (r == LEAVER && k >= p.last)
                share_free(&p.share[r][k]);
            EXPECT(OK, nbcoll_schedule_free(p.schedule[r][k]));
        }
    return p.lost;
}

static void boards_with_it_and_without_it_end_well(void **state)
{
    const char *chosen = getenv("NBCOLL_TEST_SEED");
    uint64_t seed = chosen ? strtoull(chosen, NULL, 10) : 20261121;
    int lost = 0;
    (void)state;
    printf("seed %llu\n", (unsigned long long)seed);
    for (int variant = WORLD_SHARED; variant < WORLD_VARIANTS; variant++)
        for (int i = 0; i < RUNS; i++)
            lost += run_plan(variant, seed + (uint64_t)i);
    printf("%d ends were lost\n", lost);
    assert_true(lost > 200);
}

/* A leaf of a gather ends and leaves before another one, which has shown its part of earlier ones, shows that of this
 * one. */
static void what_is_shown_after_another_has_left_is_found(void **state)
{
    enum { TIMES = 3 };
    nbcoll_request q[RANKS];
    (void)state;

    for (int variant = WORLD_SHARED; variant < WORLD_VARIANTS; variant++) {
        nbcoll_loopback_config loopback = world_variant(variant, 1);
        world w;
        world_open(&w, RANKS, &loopback, NULL, NULL);
        for (int i = 0; i < TIMES; i++) {
            int own[RANKS], all[RANKS] = {0};
            for (int r = RANKS - 1; r >= 0; r--) { /* the leaver first, the root last */
                nbcoll_status s = NBCOLL_PENDING;
                own[r] = 10 * i + r;
                EXPECT(OK, nbcoll_igather(&own[r], all, 1, NBCOLL_INT, 0, w.comm[r], &q[r]));
                for (int looks = 0; s == NBCOLL_PENDING; looks++) {
                    world_watchdog(&w, looks < 1000);
                    s = nbcoll_test(&q[r]);
                }
                EXPECT(OK, s);
                if (r == LEAVER && i == TIMES - 1) {
                    EXPECT(OK, nbcoll_context_free(w.context[LEAVER]));
                    w.context[LEAVER] = NULL;
                    nbcoll_progress(w.context[1]);
                }
            }
            for (int r = 0; r < RANKS; r++)
                assert_int_equal(all[r], own[r]);
        }
        world_close(&w);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_shown_after_another_has_left_is_found),
        cmocka_unit_test(boards_with_it_and_without_it_end_well),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
