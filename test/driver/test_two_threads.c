/* SPDX-License-Identifier: BSD-3-Clause
 * Two threads on one run: the caller's executes the lanes ANY and CALLER, a driver's the lane PROGRESS, over random
 * schedules with edges across the lanes. Each cell of a schedule is computed from earlier ones, and compared with what
 * plain serial code makes of it. */
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "scene.h"

enum { CELLS = 50, WIDTH = 16, INPUTS = 2, RUNS = 100, BYTES = WIDTH * 8 };

static const nbcoll_reduction sum = {NBCOLL_INT64, NBCOLL_SUM};

/* How a cell is made of two earlier ones. */
typedef struct cell {
    enum { COPY, COMBINE, EXCHANGE } how; /* EXCHANGE: the other rank's cell `from[0]` */
    int from[2];
    nbcoll_lane lane, sends;
} cell;

typedef struct plan {
    cell cell[CELLS];
    int ranks, of_progress; /* steps on that lane */
} plan;

static nbcoll_lane lane_random(plan *p, uint64_t *random)
{
    nbcoll_lane lane = (nbcoll_lane)(world_random(random) % 3);
    p->of_progress += lane == NBCOLL_LANE_PROGRESS;
    return lane;
}

static plan plan_random(uint64_t *random, int ranks)
{
    plan p = {.ranks = ranks};
    for (int i = INPUTS; i < CELLS; i++) {
        cell *c = &p.cell[i];
        c->how = world_random(random) % (ranks > 1 ? 3 : 2);
        for (int k = 0; k < 2; k++) {
            int near = i > 6 && world_random(random) % 2 ? i - 6 : 0; /* long chains, and wide ones */
            c->from[k] = near + (int)(world_random(random) % (uint64_t)(i - near));
        }
        c->lane = lane_random(&p, random);
        if (c->how == EXCHANGE)
            c->sends = lane_random(&p, random);
    }
    return p;
}

static nbcoll_addr at(int i)
{
    return (nbcoll_addr){NBCOLL_BUFFER_RECV, (size_t)i * BYTES};
}

static nbcoll_schedule *plan_build(const plan *p, int rank)
{
    nbcoll_builder_config config = {.size = sizeof config, .rank = rank, .ranks = p->ranks};
    nbcoll_step step[CELLS] = {NBCOLL_START, NBCOLL_START};
    nbcoll_schedule *s;
    nbcoll_builder *b;

    EXPECT(OK, nbcoll_builder_open(&config, &b));
    for (int i = INPUTS; i < CELLS; i++) {
        const cell *c = &p->cell[i];
        int left = c->from[0], right = c->from[1];
        if (c->how == EXCHANGE) {
            nbcoll_step send = nbcoll_add_send(b, 1 - rank, at(left), BYTES);
            nbcoll_after(b, send, step[left]);
            nbcoll_set_lane(b, send, c->sends);
            step[i] = nbcoll_add_recv(b, 1 - rank, at(i), BYTES);
            nbcoll_after(b, step[i], step[right]);
        } else {
            step[i] = c->how == COPY ? nbcoll_add_copy(b, at(i), at(left), BYTES)
                                     : nbcoll_add_combine(b, at(i), at(left), at(right), WIDTH, sum);
            nbcoll_after(b, step[i], step[left]);
            if (c->how == COMBINE)
                nbcoll_after(b, step[i], step[right]);
        }
        nbcoll_set_lane(b, step[i], c->lane);
    }
    EXPECT(OK, nbcoll_builder_finish(b, &s));
    return s;
}

typedef uint64_t memory[CELLS][WIDTH];

static void inputs_write(memory m, int rank, uint64_t seed)
{
    memset(m, 0xee, sizeof(memory));
    for (int i = 0; i < INPUTS; i++)
        for (int k = 0; k < WIDTH; k++)
            m[i][k] = (uint64_t)(rank * 1000 + i * 100 + k) + (seed & 0xffff);
}

static void outputs_check(const plan *p, memory is[], uint64_t seed)
{
    memory wanted[2];
    for (int r = 0; r < p->ranks; r++)
        inputs_write(wanted[r], r, seed);
    for (int i = INPUTS; i < CELLS; i++)
        for (int r = 0; r < p->ranks; r++)
            for (int k = 0; k < WIDTH; k++) {
                const cell *c = &p->cell[i];
                uint64_t left = wanted[r][c->from[0]][k], right = wanted[r][c->from[1]][k];
                wanted[r][i][k] = c->how == COPY      ? left
                                  : c->how == COMBINE ? left + right
                                                      : wanted[1 - r][c->from[0]][k];
            }
    for (int r = 0; r < p->ranks; r++)
        assert_memory_equal(is[r], wanted[r], sizeof(memory));
}

static void play(world *w, uint64_t *random)
{
    plan p = plan_random(random, 2);
    nbcoll_schedule *s[2];
    nbcoll_request q[2];
    memory m[2];
    uint64_t seed = *random;

    for (int r = 0; r < 2; r++) {
        s[r] = plan_build(&p, r);
        inputs_write(m[r], r, seed);
        EXPECT(OK, nbcoll_schedule_start(s[r], NULL, m[r], w->comm[r], &q[r]));
    }
    for (uint64_t rounds = 0; nbcoll_test_all(2, q, NULL) == NBCOLL_PENDING; rounds++) {
        world_watchdog(w, rounds < 100000000);
        sched_yield();
    }
    outputs_check(&p, m, seed);
    for (int r = 0; r < 2; r++)
        EXPECT(OK, nbcoll_schedule_free(s[r]));
}

static void ignore(void *user, const nbcoll_event *e)
{
    (void)user, (void)e;
}

static void caller_and_driver_share_a_run(void **state)
{
    const nbcoll_observer observer = {.size = sizeof observer, .event = ignore};
    uint64_t random = seed_of_test();
    world w;

    (void)state;
    scene_open(&w, 2, &observer);
    nbcoll_driver *driver = scene_drive(&w, 0, 2);
    for (int i = 0; i < RUNS; i++)
        play(&w, &random);
    scene_close(&w, driver);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(caller_and_driver_share_a_run),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
