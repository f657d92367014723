/* SPDX-License-Identifier: BSD-3-Clause
 * A rank that leaves: it frees its context, as it may once its own operations have ended. What it took part in ends
 * well for the others, too, whenever they look; what still needs it ends with its name; nothing waits for it for ever.
 * Buffers are freed the moment their operation has ended, so that the address sanitizer sees whoever comes too late. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "nbcoll/fault.h"
#include "alone.h"
#include "operation.h"
#include "world.h"

enum { RANKS = 3, LEAVER = 2 };

/* Small limits, so that small data crosses them. */
static const nbcoll_context_config contexts = {.size = sizeof contexts, .credits = 2};
static const nbcoll_comm_config limits = {.size = sizeof limits, .slots = 2, .cells = 8, .schedules = 16,
                                          .eager = 256, .large = 2048};

static void open_world(world *w, int variant, uint64_t seed)
{
    nbcoll_loopback_config loopback = world_variant(variant, seed);
    world_open(w, RANKS, &loopback, &contexts, &limits);
}

/* The same with transports that hold, reorder and refuse. */
static void open_unkind_world(world *w, int variant, uint64_t seed)
{
    const nbcoll_fault_config fault = {.size = sizeof fault, .seed = seed, .flags = NBCOLL_FAULT_REORDER,
                                       .not_now = 300, .hold = 300, .longest = 5};
    nbcoll_loopback_config loopback = world_variant(variant, seed);
    nbcoll_request q[RANKS];

    world_open_contexts(w, RANKS, &loopback, &contexts);
    for (int r = 0; r < RANKS; r++) {
        nbcoll_endpoint *inner = w->endpoint[r];
        EXPECT(OK, nbcoll_fault_open(&fault, inner, &w->endpoint[r]));
        EXPECT(OK, nbcoll_comm_icreate(w->context[r], w->endpoint[r], &limits, &w->comm[r], &q[r]));
    }
    world_finish(w, RANKS, q);
}

/* It may have to hand over what it has posted; the others do nothing meanwhile, unless that needs room. */
static void leave(world *w, int rank)
{
    for (int tries = 0; nbcoll_context_free(w->context[rank]) == NBCOLL_ERR_BUSY; tries++) {
        world_watchdog(w, tries < 1000);
        if (tries > 100)
            world_step(w);
    }
    w->context[rank] = NULL;
}

/* How the request of a rank ends; the others take part. An operation may have been lost to the leaver only. */
static nbcoll_status end_of(world *w, int rank, nbcoll_request *q)
{
    nbcoll_status s;
    for (int rounds = 0; (s = nbcoll_test(q)) == NBCOLL_PENDING; rounds++) {
        world_watchdog(w, rounds < 5000);
        world_step(w);
    }
    if (s == NBCOLL_ERR_PEER_LOST) {
        nbcoll_failure failure;
        EXPECT(OK, nbcoll_last_failure(w->context[rank], &failure));
        EXPECT(ERR_PEER_LOST, failure.status);
        assert_int_equal(failure.rank, LEAVER);
    }
    return s;
}

/* ---- one that takes no part ------------------------------------------------------------------------------------ */

static int needs_all(nbcoll_operation what)
{
    return what == NBCOLL_OPERATION_BARRIER || what == NBCOLL_OPERATION_ALLGATHER ||
           what == NBCOLL_OPERATION_ALLREDUCE || what == NBCOLL_OPERATION_ALLTOALL;
}

/* It leaves after the others have looked so many times. */
static void take_no_part(int variant, const operation *o, int looks)
{
    nbcoll_request q[RANKS];
    share s[RANKS];
    world w;

    open_world(&w, variant, 3);
    for (int r = 0; r < LEAVER; r++) {
        s[r] = share_make(o, r, RANKS);
        EXPECT(OK, operation_start(o, &s[r], w.comm[r], &q[r]));
    }
    for (int i = 0; i < looks; i++)
        nbcoll_progress(w.context[i % LEAVER]);
    leave(&w, LEAVER);
    for (int r = 0; r < LEAVER; r++) {
        nbcoll_status status = end_of(&w, r, &q[r]);
        if (status == NBCOLL_OK && !needs_all(o->what))
            operation_check(o, &s[r], r, RANKS);
        else
            EXPECT(ERR_PEER_LOST, status);
        share_free(&s[r]);
    }
    world_close(&w);
}

static void what_waits_for_one_who_has_left_ends_with_its_name(void **state)
{
    (void)state;
    for (int variant = 0; variant < WORLD_VARIANTS; variant++)
        for (int what = 0; what < NBCOLL_OPERATION_COUNT; what++)
            for (size_t count = 1; count <= 400; count += 399)
                for (int looks = 0; looks < 5; looks += 2) {
                    operation o = {.what = (nbcoll_operation)what, .root = what % 2 ? 0 : LEAVER, .count = count,
                                   .how = {NBCOLL_INT64, NBCOLL_SUM}, .seed = 1};
                    take_no_part(variant, &o, looks);
                }
}

/* Small ones, which the root need not wait for: credits and cells are used up, and then it does. */
static void nobody_sends_for_ever_to_one_who_has_left(void **state)
{
    (void)state;
    for (int variant = 0; variant < WORLD_VARIANTS; variant++) {
        int value[2] = {0}, rounds = 0;
        nbcoll_request q[2];
        nbcoll_status s = NBCOLL_OK;
        world w;
        open_world(&w, variant, 5);
        leave(&w, LEAVER);
        for (; s == NBCOLL_OK; rounds++) {
            assert_in_range(rounds, 0, 20);
            for (int r = 0; r < LEAVER; r++)
                EXPECT(OK, nbcoll_ibcast(&value[r], 1, NBCOLL_INT32, 0, w.comm[r], &q[r]));
            s = end_of(&w, 0, &q[0]);
            end_of(&w, 1, &q[1]);
        }
        EXPECT(ERR_PEER_LOST, s);
        world_close(&w);
    }
}

/* ---- some of its operations are its last ----------------------------------------------------------------------- */

enum { OPERATIONS = 6 };

typedef struct plan {
    operation operation[OPERATIONS];
    int last; /* so many the leaver takes part in */
    uint64_t random;
    int started[RANKS];
    nbcoll_request request[RANKS][OPERATIONS];
    share share[RANKS][OPERATIONS];
    int ended[RANKS]; /* how many */
    int lost;         /* ends with PEER_LOST */
} plan;

static void look_at(plan *p, world *w, int r, int k)
{
    nbcoll_status s = p->request[r][k].at ? nbcoll_test(&p->request[r][k]) : NBCOLL_PENDING;
    if (s == NBCOLL_PENDING)
        return;
    if (s == NBCOLL_OK)
        operation_check(&p->operation[k], &p->share[r][k], r, RANKS);
    else {
        EXPECT(ERR_PEER_LOST, s);
        assert_true(k >= p->last);
        p->lost++;
    }
    share_free(&p->share[r][k]);
    p->ended[r]++;
    if (r == LEAVER && p->ended[r] == p->last)
        leave(w, r);
}

/* One thing that a random rank does. */
static void act(plan *p, world *w)
{
    int r = (int)(world_random(&p->random) % RANKS), k = p->started[r];

    if (!w->context[r])
        return;
    switch (world_random(&p->random) % 4) {
    case 0:
        if (k < (r == LEAVER ? p->last : OPERATIONS)) {
            p->share[r][k] = share_make(&p->operation[k], r, RANKS);
            EXPECT(OK, operation_start(&p->operation[k], &p->share[r][k], w->comm[r], &p->request[r][k]));
            p->started[r]++;
        }
        break;
    case 1:
        look_at(p, w, r, (int)(world_random(&p->random) % OPERATIONS));
        break;
    default:
        nbcoll_progress(w->context[r]);
    }
}

static int run_plan(int variant, int is_unkind, uint64_t seed)
{
    plan p = {.random = seed, .last = (int)(seed % OPERATIONS)};
    world w;

    for (int k = 0; k < OPERATIONS; k++)
        p.operation[k] = operation_random(&p.random, RANKS, 300);
    if (is_unkind)
        open_unkind_world(&w, variant, seed);
    else
        open_world(&w, variant, seed);
    if (!p.last)
        leave(&w, LEAVER);
    for (int acts = 0; p.ended[0] + p.ended[1] + p.ended[LEAVER] < 2 * OPERATIONS + p.last; acts++) {
        if (acts == 200000)
            fprintf(stderr, "variant %d, unkind %d, seed %llu\n", variant, is_unkind, (unsigned long long)seed);
        world_watchdog(&w, acts < 200000);
        act(&p, &w);
    }
    world_close(&w);
    return p.lost;
}

static void what_it_took_part_in_ends_well_and_all_else_ends(void **state)
{
    const char *chosen = getenv("NBCOLL_TEST_SEED");
    uint64_t seed = chosen ? strtoull(chosen, NULL, 10) : 20261121;
    int lost = 0;
    (void)state;
    printf("seed %llu\n", (unsigned long long)seed);
    for (int variant = 0; variant < WORLD_VARIANTS; variant++)
        for (int i = 0; i < 200; i++)
            lost += run_plan(variant, i % 2, seed + (uint64_t)i);
    printf("%d ends were lost\n", lost);
    assert_true(lost > 1000);
}

/* Rank 0 receives from rank 1, then from the leaver, whose message has long been there. */
static nbcoll_schedule *one_after_the_other(int rank)
{
    const nbcoll_builder_config config = {.size = sizeof config, .rank = rank, .ranks = RANKS};
    nbcoll_builder *b;
    nbcoll_schedule *s;

    EXPECT(OK, nbcoll_builder_open(&config, &b));
    if (rank)
        nbcoll_add_send(b, 0, (nbcoll_addr){NBCOLL_BUFFER_SEND, 0}, 4);
    else {
        nbcoll_step first = nbcoll_add_recv(b, 1, (nbcoll_addr){NBCOLL_BUFFER_RECV, 0}, 4);
        nbcoll_after(b, nbcoll_add_recv(b, LEAVER, (nbcoll_addr){NBCOLL_BUFFER_RECV, 4}, 4), first);
    }
    EXPECT(OK, nbcoll_builder_finish(b, &s));
    return s;
}

static void a_message_that_came_before_its_receive_was_ready_is_no_missing_one(void **state)
{
    (void)state;
    for (int variant = 0; variant < WORLD_VARIANTS; variant++) {
        nbcoll_schedule *s[RANKS];
        nbcoll_request q[RANKS];
        const int sent[RANKS] = {0, 11, 22};
        int received[2] = {0};
        world w;
        open_world(&w, variant, 15);
        for (int r = 0; r < RANKS; r++)
            s[r] = one_after_the_other(r);
        EXPECT(OK, nbcoll_schedule_start(s[0], NULL, received, w.comm[0], &q[0]));
        EXPECT(OK, nbcoll_schedule_start(s[LEAVER], &sent[LEAVER], NULL, w.comm[LEAVER], &q[LEAVER]));
        EXPECT(OK, end_of(&w, LEAVER, &q[LEAVER]));
        leave(&w, LEAVER);
        for (int i = 0; i < 10; i++)
            EXPECT(PENDING, nbcoll_test(&q[0]));
        EXPECT(OK, nbcoll_schedule_start(s[1], &sent[1], NULL, w.comm[1], &q[1]));
        for (int r = 0; r < LEAVER; r++)
            EXPECT(OK, end_of(&w, r, &q[r]));
        assert_int_equal(received[0], 11);
        assert_int_equal(received[1], 22);
        world_close(&w);
        for (int r = 0; r < RANKS; r++)
            nbcoll_schedule_free(s[r]);
    }
}

/* Rank 0 shows four bytes to its readers, in cells where it can. */
static nbcoll_schedule *shown(nbcoll_comm *comm, int readers)
{
    const nbcoll_builder_config config = {.size = sizeof config, .rank = nbcoll_comm_rank(comm), .ranks = RANKS,
                                          .shares = nbcoll_comm_shares, .shares_user = comm};
    nbcoll_part part[RANKS];
    nbcoll_builder *b;
    nbcoll_schedule *s;

    EXPECT(OK, nbcoll_builder_open(&config, &b));
    for (int i = 0; i < readers; i++)
        part[i] = (nbcoll_part){.peer = i + 1, .region = {{NBCOLL_BUFFER_SEND, 0}, 4}};
    if (config.rank == 0)
        nbcoll_add_expose(b, (size_t)readers, part);
    else if (config.rank <= readers)
        nbcoll_add_fetch(b, 0, (nbcoll_addr){NBCOLL_BUFFER_RECV, 0}, 4);
    EXPECT(OK, nbcoll_builder_finish(b, &s));
    return s;
}

/* An operation for all, which the leaver never comes to; then some for the others, in the same slots. */
static void what_does_without_it_goes_on_in_cells_that_it_was_to_read(void **state)
{
    (void)state;
    for (int variant = 0; variant < WORLD_VARIANTS; variant++) {
        nbcoll_schedule *all[LEAVER], *others[LEAVER];
        nbcoll_request q[LEAVER];
        world w;
        open_world(&w, variant, 17);
        for (int r = 0; r < LEAVER; r++) {
            all[r] = shown(w.comm[r], 2);
            others[r] = shown(w.comm[r], 1);
        }
        for (uint32_t round = 0; round < 3 * limits.slots; round++) {
            int sent = 100 + (int)round, received = 0;
            nbcoll_schedule **s = round < limits.slots ? all : others;
            for (int r = 0; r < LEAVER; r++)
                EXPECT(OK, nbcoll_schedule_start(s[r], &sent, &received, w.comm[r], &q[r]));
            if (round == 0)
                leave(&w, LEAVER);
            for (int r = 0; r < LEAVER; r++) {
                nbcoll_status status = end_of(&w, r, &q[r]);
                if (s == others)
                    EXPECT(OK, status);
            }
            assert_true(s == all || received == sent);
        }
        world_close(&w);
        for (int r = 0; r < LEAVER; r++) {
            nbcoll_schedule_free(all[r]);
            nbcoll_schedule_free(others[r]);
        }
    }
}

/* ---- cancelling ------------------------------------------------------------------------------------------------ */

/* What a rank has lent to one who leaves is its own again: `when` it leaves after the cancel or before. */
static void cancel_with_one_away(int variant, const operation *o, int looks, int is_before)
{
    nbcoll_request q;
    share s = share_make(o, 0, RANKS);
    world w;

    open_world(&w, variant, 7);
    EXPECT(OK, operation_start(o, &s, w.comm[0], &q));
    if (is_before)
        leave(&w, LEAVER);
    for (int i = 0; i < looks && q.at; i++)
        nbcoll_progress(w.context[0]);
    EXPECT(OK, nbcoll_cancel(q));
    for (int i = 0; i < looks; i++)
        nbcoll_progress(w.context[1]);
    if (!is_before)
        leave(&w, LEAVER);
    nbcoll_status status = end_of(&w, 0, &q);
    if (status != NBCOLL_OK && !(is_before && status == NBCOLL_ERR_PEER_LOST))
        EXPECT(ERR_CANCELLED, status);
    share_free(&s);
    world_close(&w);
}

static void a_cancel_needs_no_answer_of_one_who_has_left(void **state)
{
    static const nbcoll_operation what[] = {NBCOLL_OPERATION_BCAST, NBCOLL_OPERATION_SCATTER, NBCOLL_OPERATION_GATHER,
                                            NBCOLL_OPERATION_ALLTOALL, NBCOLL_OPERATION_ALLREDUCE};
    (void)state;
    for (int variant = 0; variant < WORLD_VARIANTS; variant++)
        for (size_t k = 0; k < sizeof what / sizeof *what; k++)
            for (int looks = 0; looks < 4; looks++)
                for (int is_before = 0; is_before < 2; is_before++) {
                    operation o = {.what = what[k], .count = 400, .how = {NBCOLL_INT64, NBCOLL_SUM}, .seed = 5};
                    cancel_with_one_away(variant, &o, looks, is_before);
                }
}

/* ---- communicators --------------------------------------------------------------------------------------------- */

static void a_communicator_is_not_made_without_its_members(void **state)
{
    (void)state;
    for (int variant = 0; variant < WORLD_VARIANTS; variant++) {
        nbcoll_loopback_config loopback = world_variant(variant, 9);
        nbcoll_request q[2];
        world w;
        world_open_contexts(&w, RANKS, &loopback, &contexts);
        nbcoll_endpoint_close(w.endpoint[LEAVER]); /* it never votes */
        for (int r = 0; r < LEAVER; r++)
            EXPECT(OK, nbcoll_comm_icreate(w.context[r], w.endpoint[r], &limits, &w.comm[r], &q[r]));
        for (int r = 0; r < LEAVER; r++)
            EXPECT(ERR_PEER_LOST, end_of(&w, r, &q[r]));
        world_close(&w);
    }
}

static void a_communicator_made_before_one_leaves_knows_of_it(void **state)
{
    (void)state;
    for (int variant = 0; variant < WORLD_VARIANTS; variant++) {
        nbcoll_comm *dup[RANKS];
        nbcoll_request q[RANKS];
        world w;
        open_world(&w, variant, 11);
        for (int r = RANKS - 1; r >= 0; r--)
            EXPECT(OK, nbcoll_comm_idup(w.comm[r], &dup[r], &q[r]));
        EXPECT(OK, end_of(&w, LEAVER, &q[LEAVER]));
        leave(&w, LEAVER);
        for (int r = 0; r < LEAVER; r++)
            EXPECT(OK, end_of(&w, r, &q[r]));
        for (int r = 0; r < LEAVER; r++)
            EXPECT(OK, nbcoll_ibarrier(dup[r], &q[r]));
        for (int r = 0; r < LEAVER; r++)
            EXPECT(ERR_PEER_LOST, end_of(&w, r, &q[r]));
        for (int r = 0; r < LEAVER; r++)
            EXPECT(OK, nbcoll_comm_idup(w.comm[r], &dup[r], &q[r])); /* and a later one is not made */
        for (int r = 0; r < LEAVER; r++)
            EXPECT(ERR_PEER_LOST, end_of(&w, r, &q[r]));
        world_close(&w);
    }
}

static void those_without_it_go_on(void **state)
{
    (void)state;
    for (int variant = 0; variant < WORLD_VARIANTS; variant++) {
        nbcoll_comm *part[RANKS];
        nbcoll_request q[RANKS];
        world w;
        open_world(&w, variant, 13);
        for (int r = 0; r < RANKS; r++)
            EXPECT(OK, nbcoll_comm_isplit(w.comm[r], r == LEAVER, 0, &part[r], &q[r]));
        world_finish(&w, RANKS, q);
        leave(&w, LEAVER);
        for (int i = 0; i < 20; i++) {
            for (int r = 0; r < LEAVER; r++)
                EXPECT(OK, nbcoll_ibarrier(part[r], &q[r]));
            world_finish(&w, LEAVER, q);
        }
        world_close(&w);
    }
}

/* Rank 0 learns of it by the first operation and shrinks, with the second under way. Rank 1 waits for the third one,
 * which rank 0 will not start, before it looks at the first. */
static void who_shrinks_without_it_is_waited_for_nowhere_else(void **state)
{
    (void)state;
    for (int variant = 0; variant < WORLD_VARIANTS; variant++) {
        static const int64_t from[3 * RANKS] = {5, 6, 7, 8, 9, 10, 11, 12, 13};
        int64_t all[LEAVER] = {0}, parts[LEAVER] = {0}, later = 0;
        nbcoll_request first[LEAVER], second[LEAVER], third;
        nbcoll_comm *made[LEAVER];
        world w;
        open_world(&w, variant, 21);
        for (int r = 0; r < LEAVER; r++) {
            EXPECT(OK, nbcoll_iallreduce(&from[r], &all[r], 1, NBCOLL_INT64, NBCOLL_SUM, w.comm[r], &first[r]));
            EXPECT(OK, nbcoll_iscatter(from, &parts[r], 1, NBCOLL_INT64, 0, w.comm[r], &second[r]));
        }
        EXPECT(OK, nbcoll_iscatter(NULL, &later, 1, NBCOLL_INT64, 0, w.comm[1], &third));
        leave(&w, LEAVER);
        EXPECT(ERR_PEER_LOST, end_of(&w, 0, &first[0]));
        EXPECT(OK, nbcoll_comm_ishrink(w.comm[0], &made[0], &first[0]));
        EXPECT(ERR_PEER_LOST, end_of(&w, 1, &third));
        EXPECT(ERR_PEER_LOST, end_of(&w, 1, &first[1]));
        EXPECT(OK, nbcoll_comm_ishrink(w.comm[1], &made[1], &first[1]));
        world_finish(&w, LEAVER, first);
        for (int r = 0; r < LEAVER; r++)
            assert_int_equal(nbcoll_comm_size(made[r]), LEAVER);
        world_settle(&w, LEAVER, second, NULL);
        world_close(&w);
    }
}

static uint64_t no_time_passes(void *user)
{
    (void)user;
    return 1;
}

/* The first two are out of step. Rank 0 hears that, what rank 1 has called, and at last that the third one has left. It
 * would wait a little for that one's word, by a clock at which nobody looks who sleeps. */
static void nobody_waits_for_what_it_would_have_said(void **state)
{
    (void)state;
    for (int variant = 0; variant < WORLD_VARIANTS; variant++) {
        nbcoll_context_config still = contexts;
        nbcoll_loopback_config loopback = world_variant(variant, 22);
        int64_t from[RANKS] = {5, 6, 7}, all[LEAVER] = {0};
        nbcoll_request q[LEAVER];
        world w;
        still.host = (nbcoll_host){.size = sizeof still.host, .now = no_time_passes};
        world_open(&w, RANKS, &loopback, &still, &limits);
        EXPECT(OK, nbcoll_iallreduce(&from[0], &all[0], 1, NBCOLL_INT64, NBCOLL_SUM, w.comm[0], &q[0]));
        EXPECT(OK, nbcoll_iallreduce(&from[1], &all[1], 1, NBCOLL_INT64, NBCOLL_MAX, w.comm[1], &q[1]));
        leave(&w, LEAVER);
        for (int i = 0; i < 20; i++)
            EXPECT(OK, nbcoll_progress(w.context[1]));
        for (int r = 0; r < LEAVER; r++) {
            nbcoll_status s = end_of(&w, r, &q[r]);
            assert_true(s == NBCOLL_ERR_MISMATCH || s == NBCOLL_ERR_PEER_LOST);
        }
        world_close(&w);
    }
}

/* ---- asleep ---------------------------------------------------------------------------------------------------- */

static void wait_or_leave(world *w, int rank, void *user)
{
    (void)user;
    if (rank == LEAVER)
        EXPECT(OK, nbcoll_context_free(w->context[rank]));
    else
        EXPECT(ERR_PEER_LOST, nbcoll_barrier(w->comm[rank], NBCOLL_FOREVER));
}

static void who_waits_for_ever_learns_of_it(void **state)
{
    (void)state;
    for (int i = 0; i < 20; i++) {
        world w;
        open_world(&w, i % 2 ? WORLD_SHARED : 0, 0);
        world_threads(&w, wait_or_leave, NULL);
        w.context[LEAVER] = NULL;
        world_close(&w);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        unit_test_alone(what_waits_for_one_who_has_left_ends_with_its_name),
        unit_test_alone(nobody_sends_for_ever_to_one_who_has_left),
        unit_test_alone(what_it_took_part_in_ends_well_and_all_else_ends),
        unit_test_alone(a_message_that_came_before_its_receive_was_ready_is_no_missing_one),
        unit_test_alone(what_does_without_it_goes_on_in_cells_that_it_was_to_read),
        unit_test_alone(a_cancel_needs_no_answer_of_one_who_has_left),
        unit_test_alone(a_communicator_is_not_made_without_its_members),
        unit_test_alone(a_communicator_made_before_one_leaves_knows_of_it),
        unit_test_alone(those_without_it_go_on),
        unit_test_alone(who_shrinks_without_it_is_waited_for_nowhere_else),
        unit_test_alone(nobody_waits_for_what_it_would_have_said),
        cmocka_unit_test(who_waits_for_ever_learns_of_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
