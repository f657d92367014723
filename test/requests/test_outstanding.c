/* SPDX-License-Identifier: BSD-3-Clause
 * What is outstanding costs little until it is looked at: a pass looks at no more than some of the operations that wait
 * for shared memory, which take turns, and does some of a round of asking; waits and tests of many requests look at all
 * of them now and then. Nothing is missed for that. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "../../src/engine/state/context.h"
#include "world.h"

enum { MANY = 200, A_PASS = 64 };

/* ---- waiting for shared memory --------------------------------------------------------------------------------- */

typedef struct reading {
    world w;
    int64_t got[MANY];
    nbcoll_request request[MANY], last;
} reading;

/* Rank 1 reads the cells of rank 0 in so many operations, which rank 0 has not started. */
static void open_reading(reading *o)
{
    const nbcoll_loopback_config loopback = world_variant(WORLD_SHARED, 0);
    const nbcoll_comm_config comm = {.size = sizeof comm, .slots = MANY, .cells = 1, .schedules = 16,
                                     .eager = 256, .large = 2048};
    nbcoll_cells cells = {.size = sizeof cells};

    world_open(&o->w, 2, &loopback, NULL, &comm);
    EXPECT(OK, nbcoll_comm_cells(o->w.comm[1], &cells));
    assert_true(cells.present);
    for (int i = 0; i < MANY; i++) {
        o->got[i] = -1;
        EXPECT(OK, nbcoll_ibcast(&o->got[i], 1, NBCOLL_INT64, 0, o->w.comm[1], &o->request[i]));
    }
}

static void show(reading *o, int from, int to)
{
    for (int i = from; i < to; i++) {
        int64_t sent = i;
        nbcoll_request request;
        EXPECT(OK, nbcoll_ibcast(&sent, 1, NBCOLL_INT64, 0, o->w.comm[0], &request));
        EXPECT(OK, nbcoll_test(&request)); /* what fits into a cell is shown at once */
    }
}

static int ended(const reading *o)
{
    int n = 0;
    for (int i = 0; i < MANY; i++)
        n += o->got[i] == i;
    return n;
}

static void those_that_wait_for_shared_memory_take_turns(void **state)
{
    static reading o;

    (void)state;
    open_reading(&o);
    show(&o, 0, MANY);
    for (int passes = 1; passes <= (MANY + A_PASS - 1) / A_PASS; passes++) {
        EXPECT(OK, nbcoll_progress(o.w.context[1]));
        assert_int_equal(ended(&o), passes * A_PASS < MANY ? passes * A_PASS : MANY);
    }
    EXPECT(OK, nbcoll_wait_all(MANY, o.request, NULL, 0));
    world_close(&o.w);
}

/* Before a sleep all are looked at: whichever could go on, and wherever the turns are. */
static void a_sleeper_misses_none_of_them(void **state)
{
    static reading o;

    (void)state;
    open_reading(&o);
    for (int i = 0; i < MANY; i++) {
        EXPECT(OK, world_arm(&o.w, 1));
        for (int passes = 0; passes < i % 5; passes++)
            EXPECT(OK, nbcoll_progress(o.w.context[1]));
        show(&o, i, i + 1);
        while (nbcoll_arm(o.w.context[1]) == NBCOLL_AGAIN)
            ;
        assert_int_equal(ended(&o), i + 1);
    }
    EXPECT(OK, nbcoll_wait_all(MANY, o.request, NULL, 0));
    world_close(&o.w);
}

/* ---- rounds of asking ------------------------------------------------------------------------------------------ */

enum { COMMS = 40, IDLE_EACH = 7, IDLE = COMMS * IDLE_EACH };

/* Frees the communicator at which a round has stopped, if it is an idle one. */
static void free_where_it_stands(nbcoll_context *c, nbcoll_comm *idle[])
{
    for (int i = 0; i < IDLE; i++)
        if (idle[i] && c->round == idle[i]) {
            EXPECT(OK, nbcoll_comm_free(idle[i]));
            idle[i] = NULL;
        }
}

static void duplicate(world *w, nbcoll_comm *out[2])
{
    nbcoll_request made[2];
    for (int r = 0; r < 2; r++)
        EXPECT(OK, nbcoll_comm_idup(w->comm[r], &out[r], &made[r]));
    world_finish(w, 2, made);
}

/* In the oldest communicator, which a round comes to last, both ranks wait for each other. */
static void a_round_over_many_communicators_comes_to_the_last_one(void **state)
{
    static world w;
    static nbcoll_comm *comm[2][COMMS], *idle[2][IDLE], *made[2];
    int64_t data[2][COMMS] = {{0}};
    nbcoll_request request[2][COMMS];
    nbcoll_status status[2] = {NBCOLL_PENDING, NBCOLL_PENDING};

    (void)state;
    world_open(&w, 2, NULL, NULL, NULL);
    for (int i = 0; i < COMMS + IDLE; i++) {
        duplicate(&w, made);
        for (int r = 0; r < 2; r++)
            *(i < COMMS ? &comm[r][i] : &idle[r][i - COMMS]) = made[r];
    }
    for (int i = 0; i < COMMS; i++)
        EXPECT(OK, nbcoll_ibcast(&data[0][i], 1, NBCOLL_INT64, 1, comm[0][i], &request[0][i]));
    EXPECT(OK, nbcoll_ibcast(&data[1][0], 1, NBCOLL_INT64, 0, comm[1][0], &request[1][0]));
    while (status[0] == NBCOLL_PENDING || status[1] == NBCOLL_PENDING)
        for (int r = 0; r < 2; r++) {
            if (status[r] == NBCOLL_PENDING)
                status[r] = nbcoll_test(&request[r][0]);
            free_where_it_stands(w.context[r], idle[r]);
        }
    assert_int_equal(status[0], NBCOLL_ERR_MISMATCH);
    assert_int_equal(status[1], NBCOLL_ERR_MISMATCH);
    for (int i = 1; i < COMMS; i++)
        EXPECT(OK, nbcoll_ibcast(&data[1][i], 1, NBCOLL_INT64, 1, comm[1][i], &request[1][i]));
    world_finish(&w, COMMS - 1, request[0] + 1);
    world_finish(&w, COMMS - 1, request[1] + 1);
    for (int r = 0; r < 2; r++) {
        for (int i = 0; i < COMMS; i++)
            EXPECT(OK, nbcoll_comm_free(comm[r][i]));
        for (int i = 0; i < IDLE; i++)
            EXPECT(OK, nbcoll_comm_free(idle[r][i]));
    }
    world_close(&w);
}

/* ---- several requests ------------------------------------------------------------------------------------------ */

enum { BARRIERS = 8 };

typedef struct partner {
    world *w;
    nbcoll_request request[BARRIERS + 1];
    int starts; /* of the partner */
    nbcoll_request *persistent;
} partner;

/* The persistent one ended before this one. */
static void start_again(nbcoll_request request, nbcoll_status s, void *user)
{
    partner *p = user;
    (void)request;
    EXPECT(OK, s);
    EXPECT(OK, nbcoll_test(p->persistent));
    EXPECT(OK, nbcoll_start(p->persistent));
}

/* While rank 1 waits, rank 0 starts one barrier more now and then. */
static void take_part(void *user, uint64_t looks)
{
    partner *p = user;
    if (looks % 3 == 0 && p->starts <= BARRIERS) {
        EXPECT(OK, nbcoll_ibarrier(p->w->comm[0], &p->request[p->starts]));
        p->starts++;
    }
    nbcoll_progress(p->w->context[0]);
}

static void a_wait_for_all_waits_for_what_a_callback_starts_again(void **state)
{
    static world w;
    partner p = {.w = &w, .starts = BARRIERS + 1};
    nbcoll_context_config config = {.size = sizeof config, .host = {.user = &p, .pause = take_part}};
    nbcoll_request request[BARRIERS];

    (void)state;
    world_open(&w, 2, NULL, &config, NULL);
    EXPECT(OK, nbcoll_barrier_init(w.comm[1], &request[0]));
    EXPECT(OK, nbcoll_start(&request[0]));
    for (int i = 1; i < BARRIERS; i++)
        EXPECT(OK, nbcoll_ibarrier(w.comm[1], &request[i]));
    EXPECT(OK, nbcoll_on_done(request[BARRIERS - 2], start_again, &p));
    p.persistent = &request[0];
    p.starts = 0;
    EXPECT(OK, nbcoll_wait_all(BARRIERS, request, NULL, NBCOLL_FOREVER));
    EXPECT(OK, nbcoll_request_free(&request[0])); /* its second run is over, too */
    world_finish(&w, BARRIERS + 1, p.request);
    world_close(&w);
}

/* ---- waiting for the first --------------------------------------------------------------------------------------- */

enum { WAITED = 12, LATE = 37 };

/* Rank 1 waits; rank 0 takes part in the next of its operations at this look, and no earlier. */
typedef struct late {
    world *w;
    nbcoll_comm *comm[2][WAITED];
    nbcoll_request own[WAITED], request[WAITED], more[2];
    int next, also; /* whose turn it is, an operation of a communicator each */
    uint64_t at, seen;
    size_t got[2];
} late;

static void come_late(void *user, uint64_t looks)
{
    late *o = user;
    o->seen++;
    assert_true(o->seen <= o->at); /* the wait ends with the look behind it */
    if (o->seen == o->at)
        EXPECT(OK, nbcoll_ibarrier(o->comm[0][o->next], &o->own[o->next]));
    if (o->seen == o->at && o->also != o->next)
        EXPECT(OK, nbcoll_ibarrier(o->comm[0][o->also], &o->own[o->also]));
    nbcoll_progress(o->w->context[0]);
    (void)looks;
}

/* As many operations are active after it as before: its own has ended, and one that it does not report. */
static void start_two(nbcoll_request request, nbcoll_status s, void *user)
{
    late *o = user;
    (void)request;
    EXPECT(OK, s);
    for (int i = 0; i < 2; i++)
        EXPECT(OK, nbcoll_ibcast(&o->got[i], 1, NBCOLL_SIZE, 0, o->comm[1][0], &o->more[i]));
}

static void open_late(late *o, world *w)
{
    nbcoll_context_config config = {.size = sizeof config, .host = {.user = o, .pause = come_late}};

    *o = (late){.w = w, .at = UINT64_MAX};
    world_open(w, 2, NULL, &config, NULL);
    for (int i = 0; i < WAITED; i++) {
        nbcoll_request made[2];
        for (int r = 0; r < 2; r++)
            EXPECT(OK, nbcoll_comm_idup(w->comm[r], &o->comm[r][i], &made[r]));
        world_finish(w, 2, made);
        EXPECT(OK, nbcoll_ibarrier(o->comm[1][i], &o->request[i]));
    }
}

static void close_late(late *o)
{
    for (int i = 0; i < WAITED; i++)
        for (int r = 0; r < 2; r++)
            EXPECT(OK, nbcoll_comm_free(o->comm[r][i]));
    world_close(o->w);
}

static void a_wait_for_any_ends_with_the_pass_in_which_one_ends(void **state)
{
    static world w;
    static late o;
    size_t index, indices[WAITED], ended;

    (void)state;
    open_late(&o, &w);
    for (int i = 0; i < WAITED; i++) {
        o.next = o.also = (i * 5 + 3) % WAITED;
        o.seen = 0;
        o.at = LATE;
        if (i % 2)
            EXPECT(OK, nbcoll_wait_any(WAITED, o.request, &index, NBCOLL_FOREVER));
        else {
            EXPECT(OK, nbcoll_wait_some(WAITED, o.request, &ended, indices, NULL, NBCOLL_FOREVER));
            assert_int_equal(ended, 1);
            index = indices[0];
        }
        assert_int_equal(index, o.next);
        assert_int_equal(o.seen, LATE);
    }
    world_finish(&w, WAITED, o.own);
    close_late(&o);
}

static void count_it(nbcoll_request request, nbcoll_status s, void *user)
{
    late *o = user;
    (void)request;
    EXPECT(OK, s);
    o->got[0]++;
}

/* Nothing is left to be waited for. Of few and of many. */
static void so_it_does_where_a_callback_has_told_of_the_last_one(void **state)
{
    static world w;
    static late o;
    size_t index, left[] = {1, WAITED};

    (void)state;
    for (int k = 0; k < 2; k++) {
        open_late(&o, &w);
        size_t n = left[k];
        o.next = o.also = 0;
        for (int i = 1; i < WAITED; i++)
            EXPECT(OK, nbcoll_ibarrier(o.comm[0][i], &o.own[i]));
        for (int i = 1; i < WAITED; i++)
            EXPECT(OK, nbcoll_wait(&o.request[i], NBCOLL_FOREVER));
        o.seen = 0;
        o.at = LATE;
        EXPECT(OK, nbcoll_on_done(o.request[0], count_it, &o));
        EXPECT(OK, nbcoll_wait_any(n, o.request, &index, NBCOLL_FOREVER));
        assert_int_equal(index, n);
        assert_int_equal(o.got[0], 1);
        assert_int_equal(o.seen, LATE);
        world_finish(&w, WAITED, o.own);
        close_late(&o);
    }
}

/* Those that end before it do not hold up its looks. */
static void so_does_a_wait_for_all_with_the_last_one(void **state)
{
    static world w;
    static late o;

    (void)state;
    open_late(&o, &w);
    for (int i = 1; i < WAITED; i++)
        EXPECT(OK, nbcoll_ibarrier(o.comm[0][i], &o.own[i]));
    o.at = LATE;
    EXPECT(OK, nbcoll_wait_all(WAITED, o.request, NULL, NBCOLL_FOREVER));
    assert_int_equal(o.seen, LATE);
    world_finish(&w, WAITED, o.own);
    close_late(&o);
}

static void so_it_does_where_a_callback_starts_others(void **state)
{
    static world w;
    static late o;
    size_t index, sent = 0;
    nbcoll_request sends[2];

    (void)state;
    open_late(&o, &w);
    o.next = 4;
    o.also = 2;
    o.at = LATE;
    EXPECT(OK, nbcoll_on_done(o.request[4], start_two, &o));
    EXPECT(OK, nbcoll_wait_any(WAITED, o.request, &index, NBCOLL_FOREVER));
    assert_int_equal(index, 2);
    for (int i = 0; i < WAITED; i++)
        if (i != 4 && i != 2)
            EXPECT(OK, nbcoll_ibarrier(o.comm[0][i], &o.own[i]));
    world_finish(&w, WAITED, o.own);
    world_finish(&w, WAITED, o.request);
    for (int i = 0; i < 2; i++)
        EXPECT(OK, nbcoll_ibcast(&sent, 1, NBCOLL_SIZE, 0, o.comm[0][0], &sends[i]));
    world_finish(&w, 2, sends);
    world_finish(&w, 2, o.more);
    close_late(&o);
}

/* The first request of the array stays what it was, and ends only when the context of a later one is progressed, which
 * comes into the array when it has been tested often. */
static void a_test_of_all_sees_what_comes_into_the_array(void **state)
{
    static world w;
    static char sent[100000], got[sizeof sent];
    nbcoll_request request[3] = {NBCOLL_REQUEST_NULL, NBCOLL_REQUEST_NULL, NBCOLL_REQUEST_NULL};

    (void)state;
    world_open(&w, 2, NULL, NULL, NULL);
    EXPECT(OK, nbcoll_ibcast(sent, sizeof sent, NBCOLL_INT8, 0, w.comm[0], &request[0]));
    for (int i = 0; i < 1500; i++)
        EXPECT(PENDING, nbcoll_test_all(3, request, NULL));
    EXPECT(OK, nbcoll_ibcast(got, sizeof got, NBCOLL_INT8, 0, w.comm[1], &request[2]));
    for (int i = 0; nbcoll_test_all(3, request, NULL) == NBCOLL_PENDING; i++)
        assert_true(i < 2000);
    world_close(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(those_that_wait_for_shared_memory_take_turns),
        cmocka_unit_test(a_sleeper_misses_none_of_them),
        cmocka_unit_test(a_round_over_many_communicators_comes_to_the_last_one),
        cmocka_unit_test(a_wait_for_all_waits_for_what_a_callback_starts_again),
        cmocka_unit_test(a_wait_for_any_ends_with_the_pass_in_which_one_ends),
        cmocka_unit_test(so_it_does_where_a_callback_has_told_of_the_last_one),
        cmocka_unit_test(so_does_a_wait_for_all_with_the_last_one),
        cmocka_unit_test(so_it_does_where_a_callback_starts_others),
        cmocka_unit_test(a_test_of_all_sees_what_comes_into_the_array),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
