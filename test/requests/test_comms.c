/* SPDX-License-Identifier: BSD-3-Clause
 * Making communicators: the first of an endpoint, dup and split, as the requests that they are; and what their ranks
 * agree on, whatever each of them asked for. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "../../src/engine/state/communicator.h" /* the length of a vote */
#include "native.h"
#include "works.h"

enum { MOST = 16 };

/* ---- dup and split --------------------------------------------------------------------------------------------- */

static void a_dup_has_the_same_ranks_and_messages_of_its_own(void **state)
{
    nbcoll_request q[8];
    nbcoll_comm *dup[4] = {NULL};
    int a[4] = {1}, b[4] = {2};
    world w;
    (void)state;
    world_open(&w, 4, NULL, NULL, NULL);
    for (int r = 0; r < 4; r++)
        EXPECT(OK, nbcoll_comm_idup(w.comm[r], &dup[r], &q[r]));
    world_finish(&w, 4, q);
    works_over(&w, dup, 4);
    for (int r = 0; r < 4; r++) { /* each rank in an order of its own */
        nbcoll_comm *first = r % 2 ? dup[r] : w.comm[r], *second = r % 2 ? w.comm[r] : dup[r];
        EXPECT(OK, nbcoll_ibcast(r % 2 ? &b[r] : &a[r], 1, NBCOLL_INT32, 0, first, &q[2 * r]));
        EXPECT(OK, nbcoll_ibcast(r % 2 ? &a[r] : &b[r], 1, NBCOLL_INT32, 0, second, &q[2 * r + 1]));
    }
    world_finish(&w, 8, q);
    for (int r = 0; r < 4; r++) {
        assert_int_equal(a[r], 1);
        assert_int_equal(b[r], 2);
        EXPECT(OK, nbcoll_comm_free(dup[r]));
    }
    works_over(&w, w.comm, 4);
    world_close(&w);
}

static void split_groups_by_colour_and_orders_by_key_then_rank(void **state)
{
    /*                        rank     0  1  2   3  4  5   6  7  8 */
    static const int colour[9] = {1, 0, 1, -1, 0, 1, -5, 0, 1};
    static const int key[9] = {5, 3, -2, 0, 3, 5, 0, -7, 5};
    static const int zero[3] = {7, 1, 4}, one[4] = {2, 0, 5, 8};
    nbcoll_comm *part[9], *group[4];
    nbcoll_request q[9];
    world w;
    (void)state;
    world_open(&w, 9, NULL, NULL, NULL);
    for (int r = 0; r < 9; r++) {
        part[r] = w.comm[r];
        EXPECT(OK, nbcoll_comm_isplit(w.comm[r], colour[r], key[r], &part[r], &q[r]));
        assert_ptr_equal(part[r], w.comm[r]); /* nothing is written before the end */
    }
    world_finish(&w, 9, q);
    assert_null(part[3]);
    assert_null(part[6]);
    for (int i = 0; i < 3; i++)
        group[i] = part[zero[i]];
    works_over(&w, group, 3);
    for (int i = 0; i < 4; i++)
        group[i] = part[one[i]];
    works_over(&w, group, 4);
    works_over(&w, w.comm, 9);
    world_close(&w);
}

static void all_ranks_may_stay_out_of_a_split(void **state)
{
    nbcoll_comm *part[3];
    nbcoll_request q[3];
    world w;
    (void)state;
    world_open(&w, 3, NULL, NULL, NULL);
    for (int r = 0; r < 3; r++)
        EXPECT(OK, nbcoll_comm_isplit(w.comm[r], -1, 0, &part[r], &q[r]));
    world_finish(&w, 3, q);
    for (int r = 0; r < 3; r++)
        assert_null(part[r]);
    works_over(&w, w.comm, 3);
    world_close(&w);
}

static void split_shared_keeps_those_together_that_have_memory_in_common(void **state)
{
    (void)state;
    for (int shared = 0; shared < 2; shared++) {
        nbcoll_loopback_config loopback = world_variant(shared ? WORLD_SHARED : 0, 1);
        nbcoll_comm *part[4], *together[4];
        nbcoll_request q[4];
        world w;
        world_open(&w, 4, &loopback, NULL, NULL);
        for (int r = 0; r < 4; r++)
            EXPECT(OK, nbcoll_comm_isplit_shared(w.comm[r], -r, &part[r], &q[r]));
        world_finish(&w, 4, q);
        for (int r = 0; r < 4; r++)
            together[3 - r] = part[r];
        if (shared)
            works_over(&w, together, 4);
        for (int r = 0; r < 4; r++) {
            if (!shared)
                works_over(&w, &part[r], 1);
            EXPECT(OK, nbcoll_comm_free(part[r]));
        }
        world_close(&w);
    }
}

/* Ranks of one endpoint may differ in that. */
static void split_shared_leaves_a_rank_alone_that_shares_no_memory(void **state)
{
    const nbcoll_loopback_config loopback = world_variant(WORLD_SHARED, 1);
    nbcoll_transport without;
    (void)state;

    for (int alone = 0; alone < 3; alone++) {
        nbcoll_comm *part[3], *together[2];
        nbcoll_request q[3];
        world w;
        world_open_contexts(&w, 3, &loopback, NULL);
        without = *w.endpoint[alone]->transport;
        without.shared = NULL;
        w.endpoint[alone]->transport = &without;
        for (int r = 0; r < 3; r++)
            EXPECT(OK, nbcoll_comm_icreate(w.context[r], w.endpoint[r], NULL, &w.comm[r], &q[r]));
        world_finish(&w, 3, q);
        for (int r = 0; r < 3; r++)
            EXPECT(OK, nbcoll_comm_isplit_shared(w.comm[r], 0, &part[r], &q[r]));
        world_finish(&w, 3, q);
        for (int r = 0, n = 0; r < 3; r++)
            if (r != alone)
                together[n++] = part[r];
        works_over(&w, together, 2);
        works_over(&w, &part[alone], 1);
        world_close(&w);
    }
}

static void a_split_of_a_split_down_to_single_ranks_works(void **state)
{
    nbcoll_comm *level[5][MOST];
    nbcoll_request q[MOST];
    world w;
    (void)state;
    world_open(&w, MOST, NULL, NULL, NULL);
    memcpy(level[0], w.comm, sizeof level[0]);
    for (int d = 1; d <= 4; d++) { /* halves, each in reverse order */
        int size = MOST >> d;
        nbcoll_comm *group[MOST];
        for (int r = 0; r < MOST; r++) {
            int rank = nbcoll_comm_rank(level[d - 1][r]);
            EXPECT(OK, nbcoll_comm_isplit(level[d - 1][r], rank / size, -rank, &level[d][r], &q[r]));
        }
        world_finish(&w, MOST, q);
        for (int first = 0; first < MOST; first++) {
            if (nbcoll_comm_rank(level[d][first]))
                continue;
            for (int i = 0; i < size; i++) /* the same half of the same group, from the other end */
                for (int r = 0; r < MOST; r++)
                    if (r / (2 * size) == first / (2 * size) && nbcoll_comm_rank(level[d][r]) == i &&
                        nbcoll_comm_rank(level[d - 1][r]) / size == nbcoll_comm_rank(level[d - 1][first]) / size)
                        group[i] = level[d][r];
            works_over(&w, group, size);
        }
    }
    world_close(&w);
}

static void a_dup_may_be_made_while_operations_run_on_the_parent(void **state)
{
    enum { RANKS = 3, BEFORE = 10, AFTER = 10, ALL = BEFORE + 1 + AFTER };
    (void)state;
    for (int variant = 0; variant < WORLD_VARIANTS; variant++) {
        nbcoll_loopback_config loopback = world_variant(variant, 37);
        nbcoll_request q[RANKS * ALL];
        operation o[ALL];
        share s[RANKS][ALL];
        nbcoll_comm *dup[RANKS] = {NULL};
        uint64_t random = 4;
        world w;
        world_open(&w, RANKS, &loopback, NULL, NULL);
        for (int i = 0; i < ALL; i++)
            o[i] = operation_random(&random, RANKS, 2000);
        for (int r = 0; r < RANKS; r++)
            for (int i = 0; i < ALL; i++) {
                s[r][i] = share_make(&o[i], r, RANKS);
                if (i == BEFORE)
                    EXPECT(OK, nbcoll_comm_idup(w.comm[r], &dup[r], &q[r * ALL + i]));
                else
                    EXPECT(OK, operation_start(&o[i], &s[r][i], w.comm[r], &q[r * ALL + i]));
            }
        world_finish(&w, RANKS * ALL, q);
        for (int r = 0; r < RANKS; r++)
            for (int i = 0; i < ALL; i++) {
                if (i != BEFORE)
                    operation_check(&o[i], &s[r][i], r, RANKS);
                share_free(&s[r][i]);
            }
        works_over(&w, dup, RANKS);
        world_close(&w);
    }
}

static void dups_of_two_communicators_may_cross(void **state)
{
    (void)state;
    for (int variant = 0; variant < WORLD_VARIANTS; variant++) {
        nbcoll_loopback_config loopback = world_variant(variant, 41);
        nbcoll_comm *second[3], *a[3], *b[3];
        nbcoll_request q[6];
        world w;
        world_open(&w, 3, &loopback, NULL, NULL);
        for (int r = 0; r < 3; r++)
            EXPECT(OK, nbcoll_comm_idup(w.comm[r], &second[r], &q[r]));
        world_finish(&w, 3, q);
        for (int r = 0; r < 3; r++) {
            if (r % 2)
                EXPECT(OK, nbcoll_comm_idup(w.comm[r], &a[r], &q[2 * r]));
            EXPECT(OK, nbcoll_comm_idup(second[r], &b[r], &q[2 * r + 1]));
            if (r % 2 == 0)
                EXPECT(OK, nbcoll_comm_idup(w.comm[r], &a[r], &q[2 * r]));
        }
        world_finish(&w, 6, q);
        works_over(&w, a, 3);
        works_over(&w, b, 3);
        world_close(&w);
    }
}

static void a_new_communicator_may_be_used_before_others_know_it(void **state)
{
    enum { BYTES = 20000 };
    static unsigned char data[2][BYTES];
    (void)state;
    for (int variant = 0; variant < WORLD_VARIANTS; variant++) {
        nbcoll_loopback_config loopback = world_variant(variant, 43);
        nbcoll_comm *dup[2];
        nbcoll_request q[2], use[4];
        world w;
        world_open(&w, 2, &loopback, NULL, NULL);
        memset(data, variant, BYTES);
        memset(data[1], 0xff, BYTES);
        for (int r = 0; r < 2; r++)
            EXPECT(OK, nbcoll_comm_idup(w.comm[r], &dup[r], &q[r]));
        while (nbcoll_test(&q[0]) == NBCOLL_PENDING) /* over a transport that lends, rank 1 has messages to hand on */
            if (variant)
                nbcoll_progress(w.context[1]);
        EXPECT(OK, nbcoll_ibcast(data[0], 1, NBCOLL_BYTE, 0, dup[0], &use[0]));
        EXPECT(OK, nbcoll_ibcast(data[0], BYTES, NBCOLL_BYTE, 0, dup[0], &use[1]));
        for (int i = 0; i < 10; i++)
            nbcoll_progress(w.context[0]);
        world_finish(&w, 1, &q[1]);
        EXPECT(OK, nbcoll_ibcast(data[1], 1, NBCOLL_BYTE, 0, dup[1], &use[2]));
        EXPECT(OK, nbcoll_ibcast(data[1], BYTES, NBCOLL_BYTE, 0, dup[1], &use[3]));
        world_finish(&w, 4, use);
        assert_memory_equal(data[0], data[1], BYTES);
        world_close(&w);
    }
}

static void many_communicators_come_and_go(void **state)
{
    enum { MANY = 300 };
    static nbcoll_comm *comm[MANY][2];
    nbcoll_request q[2];
    world w;
    (void)state;
    world_open(&w, 2, NULL, NULL, NULL);
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < MANY; i++) {
            for (int r = 0; r < 2; r++)
                EXPECT(OK, nbcoll_comm_idup(w.comm[r], &comm[i][r], &q[r]));
            world_finish(&w, 2, q);
        }
        for (int i = 0; i < MANY; i += 7)
            works_over(&w, comm[i], 2);
        for (int i = 0; i < MANY; i++)
            for (int r = 0; r < 2; r++)
                EXPECT(OK, nbcoll_comm_free(comm[i][r]));
    }
    world_close(&w);
}

/* ---- as requests ----------------------------------------------------------------------------------------------- */

static void a_cancelled_creation_makes_nothing(void **state)
{
    nbcoll_comm *dup[3], *before = (nbcoll_comm *)&dup;
    nbcoll_request q[3];
    nbcoll_status s[3];
    world w;
    (void)state;
    world_open(&w, 3, NULL, NULL, NULL);
    for (int r = 0; r < 3; r++)
        dup[r] = before;
    EXPECT(OK, nbcoll_comm_idup(w.comm[0], &dup[0], &q[0]));
    EXPECT(OK, nbcoll_cancel(q[0]));
    for (int r = 1; r < 3; r++) {
        for (int i = 0; i < 10; i++)
            nbcoll_progress(w.context[r]);
        EXPECT(OK, nbcoll_comm_idup(w.comm[r], &dup[r], &q[r]));
    }
    world_settle(&w, 3, q, s);
    for (int r = 0; r < 3; r++) {
        EXPECT(ERR_CANCELLED, s[r]);
        assert_ptr_equal(dup[r], before);
    }
    works_over(&w, w.comm, 3);
    world_close(&w);
}

static void a_creation_that_times_out_is_cancelled(void **state)
{
    nbcoll_comm *dup[2] = {NULL};
    nbcoll_request q;
    world w;
    (void)state;
    world_open(&w, 2, NULL, NULL, NULL);
    EXPECT(ERR_TIMEOUT, nbcoll_comm_dup(w.comm[0], &dup[0], 1000));
    for (int i = 0; i < 10; i++)
        world_step(&w);
    assert_int_equal(nbcoll_comm_active(w.comm[0]), 0);
    EXPECT(ERR_CANCELLED, nbcoll_comm_dup(w.comm[1], &dup[1], NBCOLL_FOREVER));
    assert_null(dup[0]);
    assert_null(dup[1]);
    EXPECT(OK, nbcoll_ibarrier(w.comm[0], &q)); /* the first communicator is not concerned */
    EXPECT(OK, nbcoll_barrier(w.comm[1], 0));
    world_finish(&w, 1, &q);
    world_close(&w);
}

static void the_first_communicator_that_times_out_leaves_a_context_that_can_be_freed(void **state)
{
    nbcoll_comm *comm = NULL;
    world w;
    (void)state;
    world_open_contexts(&w, 2, NULL, NULL);
    EXPECT(ERR_TIMEOUT, nbcoll_comm_create(w.context[0], w.endpoint[0], NULL, &comm, 1000));
    assert_null(comm);
    nbcoll_endpoint_close(w.endpoint[1]); /* rank 1 never came */
    world_close(&w);
}

static void blocking_creations_return_the_communicator(void **state)
{
    nbcoll_comm *comm, *dup, *part;
    world w;
    (void)state;
    world_open_contexts(&w, 1, NULL, NULL);
    EXPECT(OK, nbcoll_comm_create(w.context[0], w.endpoint[0], NULL, &comm, NBCOLL_FOREVER));
    EXPECT(OK, nbcoll_comm_dup(comm, &dup, NBCOLL_FOREVER));
    EXPECT(OK, nbcoll_comm_split(dup, 3, 0, &part, NBCOLL_FOREVER));
    works_over(&w, &part, 1);
    EXPECT(OK, nbcoll_comm_split(dup, -1, 0, &part, NBCOLL_FOREVER));
    assert_null(part);
    EXPECT(OK, nbcoll_comm_free(NULL));
    world_close(&w);
}

static void null_arguments_are_refused(void **state)
{
    nbcoll_comm *out;
    nbcoll_request q;
    world w;
    (void)state;
    world_open(&w, 1, NULL, NULL, NULL);
    EXPECT(ERR_NULL, nbcoll_comm_icreate(NULL, w.endpoint[0], NULL, &out, &q));
    EXPECT(ERR_NULL, nbcoll_comm_icreate(w.context[0], NULL, NULL, &out, &q));
    EXPECT(ERR_NULL, nbcoll_comm_icreate(w.context[0], w.endpoint[0], NULL, NULL, &q));
    EXPECT(ERR_NULL, nbcoll_comm_icreate(w.context[0], w.endpoint[0], NULL, &out, NULL));
    EXPECT(ERR_NULL, nbcoll_comm_idup(NULL, &out, &q));
    EXPECT(ERR_NULL, nbcoll_comm_idup(w.comm[0], NULL, &q));
    EXPECT(ERR_NULL, nbcoll_comm_idup(w.comm[0], &out, NULL));
    EXPECT(ERR_NULL, nbcoll_comm_dup(NULL, &out, 0));
    EXPECT(ERR_NULL, nbcoll_comm_idup_with(NULL, NULL, &out, &q));
    EXPECT(ERR_NULL, nbcoll_comm_idup_with(w.comm[0], NULL, NULL, &q));
    EXPECT(ERR_NULL, nbcoll_comm_idup_with(w.comm[0], NULL, &out, NULL));
    EXPECT(ERR_NULL, nbcoll_comm_dup_with(NULL, NULL, &out, 0));
    EXPECT(ERR_CONFIG, nbcoll_comm_dup_with(w.comm[0], &(nbcoll_comm_config){.size = 1}, &out, 0));
    EXPECT(ERR_NULL, nbcoll_comm_isplit(NULL, 0, 0, &out, &q));
    EXPECT(ERR_NULL, nbcoll_comm_split(NULL, 0, 0, &out, 0));
    world_close(&w);
}

/* ---- out of step ----------------------------------------------------------------------------------------------- */

/* Of which each rank makes another: those that make a communicator, then a collective. */
typedef enum making { DUP, DUP_WITH, SPLIT, SPLIT_SHARED, MAKINGS, ALLGATHER = MAKINGS } making;

static nbcoll_status make(making how, nbcoll_comm *parent, nbcoll_comm **out, char data[], nbcoll_request *q)
{
    native n; /* the parent's configuration */

    native_init(&n, NULL);
    switch (how) {
    case DUP: return nbcoll_comm_idup(parent, out, q);
    case DUP_WITH: return nbcoll_comm_idup_with(parent, &n.config, out, q);
    case SPLIT: return nbcoll_comm_isplit(parent, 0, 0, out, q);
    case SPLIT_SHARED: return nbcoll_comm_isplit_shared(parent, 0, out, q);
    default: return nbcoll_iallgather(NBCOLL_IN_PLACE, data, sizeof(nbcolli_vote), NBCOLL_BYTE, parent, q);
    }
}

/* Duplicates may be asked for with and without a configuration. */
static int may_meet(making a, making b)
{
    return a == b || a + b == DUP + DUP_WITH;
}

static void ranks_that_make_communicators_by_different_calls_make_none(void **state)
{
    enum { RANKS = 3 };
    (void)state;
    for (int variant = 0; variant < WORLD_VARIANTS; variant++)
        for (int common = DUP; common < MAKINGS; common++)
            for (int other = DUP; other < MAKINGS; other++) {
                nbcoll_loopback_config loopback = world_variant(variant, 47);
                nbcoll_comm *untouched, *made[RANKS];
                nbcoll_request q[RANKS];
                nbcoll_status s[RANKS];
                world w;
                world_open(&w, RANKS, &loopback, NULL, NULL);
                untouched = w.comm[0];
                for (int r = 0; r < RANKS; r++) {
                    made[r] = untouched;
                    EXPECT(OK, make((making)(r == 1 ? other : common), w.comm[r], &made[r], NULL, &q[r]));
                }
                world_settle(&w, RANKS, q, s);
                for (int r = 0; r < RANKS; r++) {
                    assert_int_equal(s[r], may_meet((making)common, (making)other) ? NBCOLL_OK : NBCOLL_ERR_MISMATCH);
                    assert_int_equal(made[r] == untouched, s[r] != NBCOLL_OK);
                }
                works_over(&w, w.comm, RANKS); /* the parent is in step */
                world_close(&w);
            }
}

static void a_vote_is_not_taken_for_an_allgather_of_its_length(void **state)
{
    enum { RANKS = 3 };
    static char data[RANKS][RANKS * sizeof(nbcolli_vote)];
    (void)state;
    for (int variant = 0; variant < WORLD_VARIANTS; variant++)
        for (int how = DUP; how < MAKINGS; how++) {
            nbcoll_loopback_config loopback = world_variant(variant, 53);
            nbcoll_comm *made[RANKS] = {NULL};
            nbcoll_request q[RANKS];
            nbcoll_status s[RANKS];
            world w;
            world_open(&w, RANKS, &loopback, NULL, NULL);
            for (int r = 0; r < RANKS; r++)
                EXPECT(OK, make((making)(r == 1 ? ALLGATHER : how), w.comm[r], &made[r], data[r], &q[r]));
            world_settle(&w, RANKS, q, s);
            for (int r = 0; r < RANKS; r++) {
                assert_int_equal(s[r], NBCOLL_ERR_MISMATCH);
                assert_null(made[r]);
            }
            world_close(&w);
        }
}

/* ---- agreement ------------------------------------------------------------------------------------------------- */

typedef struct seen {
    char name[64]; /* of the last schedule */
} seen;

static void on_event(void *user, const nbcoll_event *e)
{
    nbcoll_schedule_info info = {.size = sizeof info};
    EXPECT(OK, nbcoll_schedule_query(e->schedule, &info));
    strncpy(((seen *)user)->name, info.name, sizeof((seen *)user)->name - 1);
}

/* A world whose every rank asks for something else, and is observed. */
static void open_disagreeing(world *w, int ranks, seen seen_by[], nbcoll_observer observer[])
{
    nbcoll_request q[MOST];

    world_open_contexts(w, ranks, NULL, NULL);
    for (int r = 0; r < ranks; r++) {
        nbcoll_context_config context = {.size = sizeof context, .observer = &observer[r]};
        nbcoll_comm_config comm = {.size = sizeof comm, .slots = (uint32_t)(ranks - r), .cells = (uint32_t)(1 + r),
                                   .schedules = (uint32_t)(1 + r),
                                   .eager = (size_t)(r * 100), .large = (size_t)(1000 * (1 + (r * 3 + 1) % ranks))};
        observer[r] = (nbcoll_observer){sizeof observer[r], &seen_by[r], on_event};
        EXPECT(OK, nbcoll_context_free(w->context[r]));
        EXPECT(OK, nbcoll_context_create(NBCOLL_ABI, &context, &w->context[r]));
        EXPECT(OK, nbcoll_comm_icreate(w->context[r], w->endpoint[r], &comm, &w->comm[r], &q[r]));
    }
    world_finish(w, (size_t)ranks, q);
}

static void ranks_that_ask_for_different_limits_choose_the_same_algorithm(void **state)
{
    enum { RANKS = 5 };
    static const size_t bytes[] = {1, 1500, 3500, 4999, 5000, 9000};
    seen seen_by[RANKS];
    nbcoll_observer observer[RANKS];
    world w;
    (void)state;
    open_disagreeing(&w, RANKS, seen_by, observer);
    for (int what = 0; what < NBCOLL_OPERATION_COUNT; what++)
        for (size_t i = 0; i < sizeof bytes / sizeof *bytes; i++) {
            operation o = {.what = (nbcoll_operation)what, .count = bytes[i], .how = {NBCOLL_UINT8, NBCOLL_SUM}};
            all_perform(&w, &o, w.comm, RANKS);
            for (int r = 1; r < RANKS; r++)
                assert_string_equal(seen_by[r].name, seen_by[0].name);
            if (what == NBCOLL_OPERATION_BCAST) /* the largest `large` that any rank asked for is 5000 */
                assert_int_equal(strcmp(seen_by[0].name, "bcast/binomial") == 0, bytes[i] < 5000);
        }
    world_close(&w);
}

static void the_smallest_number_of_slots_counts_for_all(void **state)
{
    enum { RANKS = 3 };
    seen seen_by[RANKS];
    nbcoll_observer observer[RANKS];
    nbcoll_request q[2];
    world w;
    (void)state;
    open_disagreeing(&w, RANKS, seen_by, observer); /* rank 2 asked for one, rank 0 for three */
    for (int i = 0; i < 2; i++)
        EXPECT(OK, nbcoll_ibarrier(w.comm[0], &q[i]));
    EXPECT(ERR_TIMEOUT, nbcoll_wait(&q[0], 0));
    EXPECT(ERR_NO_SLOT, nbcoll_wait(&q[1], 0));
    for (int i = 0; i < 2; i++)
        EXPECT(OK, nbcoll_cancel(q[i]));
    world_close(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_dup_has_the_same_ranks_and_messages_of_its_own),
        cmocka_unit_test(split_groups_by_colour_and_orders_by_key_then_rank),
        cmocka_unit_test(all_ranks_may_stay_out_of_a_split),
        cmocka_unit_test(split_shared_keeps_those_together_that_have_memory_in_common),
        cmocka_unit_test(split_shared_leaves_a_rank_alone_that_shares_no_memory),
        cmocka_unit_test(a_split_of_a_split_down_to_single_ranks_works),
        cmocka_unit_test(a_dup_may_be_made_while_operations_run_on_the_parent),
        cmocka_unit_test(dups_of_two_communicators_may_cross),
        cmocka_unit_test(a_new_communicator_may_be_used_before_others_know_it),
        cmocka_unit_test(many_communicators_come_and_go),
        cmocka_unit_test(a_cancelled_creation_makes_nothing),
        cmocka_unit_test(a_creation_that_times_out_is_cancelled),
        cmocka_unit_test(the_first_communicator_that_times_out_leaves_a_context_that_can_be_freed),
        cmocka_unit_test(blocking_creations_return_the_communicator),
        cmocka_unit_test(null_arguments_are_refused),
        cmocka_unit_test(ranks_that_make_communicators_by_different_calls_make_none),
        cmocka_unit_test(a_vote_is_not_taken_for_an_allgather_of_its_length),
        cmocka_unit_test(ranks_that_ask_for_different_limits_choose_the_same_algorithm),
        cmocka_unit_test(the_smallest_number_of_slots_counts_for_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
