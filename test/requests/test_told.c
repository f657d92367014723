/* SPDX-License-Identifier: BSD-3-Clause
 * What a rank concludes from messages that come late, or through others: written here by hand, on behalf of rank 1. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "../../src/engine/wire/giveup.h"
#include "../../src/engine/comm/area.h"
#include "../../src/engine/calls/create.h"
#include "../../src/relay/relays.h"
#include "crew.h"
#include "works.h"
#include "world.h"

enum { RANKS = 3 };

/* Rank 1 sends it to rank 0, with so many bytes, and that takes it. */
static void tell_with(world *w, nbcolli_header h, size_t bytes)
{
    static const unsigned char payload[1024];
    h.source = 1;
    const nbcoll_header wire = nbcolli_pack(&h);
    nbcoll_work work = {0};

    assert_int_equal(w->endpoint[1]->transport->post(w->endpoint[1], 0, &wire, payload, bytes, &work),
                     NBCOLL_POST_DONE);
    for (int i = 0; i < 3; i++)
        nbcoll_progress(w->context[0]);
}

static void tell(world *w, nbcolli_header h)
{
    tell_with(w, h, 0);
}

static void step(world *w, int times)
{
    for (int i = 0; i < times; i++)
        world_step(w);
}

static void fails_with(nbcoll_comm *comm, nbcoll_status status, int rank)
{
    nbcoll_failure failure;
    EXPECT(OK, nbcoll_comm_failure(comm, &failure));
    assert_int_equal(failure.status, status);
    assert_int_equal(failure.rank, rank);
}

static void split(world *w, nbcoll_comm *made[RANKS])
{
    nbcoll_request q[RANKS];
    for (int r = 0; r < RANKS; r++)
        EXPECT(OK, nbcoll_comm_isplit(w->comm[r], r == 2, 0, &made[r], &q[r]));
    world_finish(w, RANKS, q);
}

static void who_is_lost_to_others_names_itself_whoever_says_so(void **state)
{
    world w;
    (void)state;
    world_open(&w, RANKS, NULL, NULL, NULL);
    tell(&w, (nbcolli_header){
                 .comm = w.comm[0]->id, .type = NBCOLLI_LOST, .number = 0, .status = NBCOLL_ERR_PEER_LOST});
    step(&w, 20);
    for (int r = 0; r < RANKS; r++) /* and all others name it, too */
        fails_with(w.comm[r], NBCOLL_ERR_PEER_LOST, 0);
    world_close(&w);
}

static void a_stall_that_comes_late_to_a_freed_communicator_breaks_nothing(void **state)
{
    world w;
    nbcoll_comm *made[RANKS];
    (void)state;
    world_open(&w, RANKS, NULL, NULL, NULL);
    split(&w, made);
    const uint64_t id = made[0]->id;
    EXPECT(OK, nbcoll_comm_free(made[0]));
    tell(&w, (nbcolli_header){.comm = id, .type = NBCOLLI_STALLED, .bytes = 8, .count = 1});
    step(&w, 20);
    fails_with(made[1], NBCOLL_OK, -1);
    works(&w);
    world_close(&w);
}

/* Of a loss that ended a creation. */
static void half_made(uint32_t lost, int named)
{
    world w;
    nbcoll_comm *made[RANKS];
    world_open(&w, RANKS, NULL, NULL, NULL);
    const uint64_t tag = w.comm[0]->taken;
    split(&w, made);
    tell(&w, (nbcolli_header){.comm = w.comm[0]->id,
                              .type = NBCOLLI_REVOKE,
                              .tag = tag,
                              .number = lost,
                              .status = NBCOLL_ERR_PEER_LOST});
    fails_with(made[0], NBCOLL_ERR_PEER_LOST, named);
    world_close(&w);
}

/* Rank 1 has had no memory for it. */
static void what_a_shrink_has_made_breaks_where_a_member_has_not_made_it(void **state)
{
    world w;
    nbcoll_comm *made[RANKS];
    nbcoll_request q[RANKS];
    (void)state;
    world_open(&w, RANKS, NULL, NULL, NULL);
    for (int r = 0; r < RANKS; r++)
        EXPECT(OK, nbcoll_comm_ishrink(w.comm[r], &made[r], &q[r]));
    world_finish(&w, RANKS, q);
    tell_with(&w, (nbcolli_header){.comm = w.comm[0]->id,
                                   .type = NBCOLLI_AGREE,
                                   .tag = made[0]->vote_tag,
                                   .number = 1,
                                   .status = NBCOLL_ERR_CANCELLED},
              sizeof(nbcolli_vote) + RANKS * (sizeof(uint64_t) + 1));
    fails_with(made[0], NBCOLL_ERR_CANCELLED, 1);
    fails_with(w.comm[0], NBCOLL_OK, -1);
    world_close(&w);
}

static void who_has_not_made_a_communicator_since_a_rank_outside_was_lost_is_not_lost_itself(void **state)
{
    (void)state;
    half_made(2, -1);
    half_made(1, 1);
}

static void a_freed_communicator_is_not_taken_for_one_that_was_never_made(void **state)
{
    world w;
    nbcoll_comm *made[RANKS], *other[RANKS] = {0};
    nbcoll_request q[RANKS];
    nbcoll_status status[RANKS];
    (void)state;
    world_open(&w, RANKS, NULL, NULL, NULL);
    split(&w, made);
    for (int r = 0; r < 2; r++)
        EXPECT(OK, nbcoll_ibarrier(made[r], &q[r]));
    EXPECT(OK, nbcoll_cancel(q[0])); /* something has failed there */
    world_settle(&w, 2, q, status);
    for (int r = 0; r < RANKS; r++)
        EXPECT(OK, nbcoll_comm_idup(w.comm[r], &other[r], &q[r]));
    EXPECT(OK, nbcoll_cancel(q[0])); /* and one was not made */
    world_settle(&w, RANKS, q, status);
    EXPECT(OK, nbcoll_comm_free(made[0]));
    EXPECT(OK, nbcoll_ibarrier(made[1], q)); /* which says something to rank 0, that has left it after a failure */
    world_settle(&w, 1, q, status);
    EXPECT(ERR_PEER_LOST, status[0]);
    fails_with(made[1], NBCOLL_ERR_PEER_LOST, 0);
    world_close(&w);
}

/* Rank 0 has freed a communicator, and has not made another one. Returns the tag of that. */
static uint64_t free_and_cancel(world *w, nbcoll_comm *freed)
{
    nbcoll_comm *other = NULL;
    nbcoll_request q;
    nbcoll_status status;

    EXPECT(OK, nbcoll_comm_free(freed));
    EXPECT(OK, nbcoll_comm_idup(w->comm[0], &other, &q));
    EXPECT(OK, nbcoll_cancel(q));
    world_settle(w, 1, &q, &status);
    EXPECT(ERR_CANCELLED, status);
    return w->comm[0]->taken - 1;
}

/* Whether what waits for it has a message, or a long one under way. */
static void what_is_freed_before_its_time_is_a_mismatch_whatever_was_not_made_since(void **state)
{
    static unsigned char data[20000];
    (void)state;
    for (int sends = 0; sends < 2; sends++) {
        const nbcoll_comm_config short_ones = {.size = sizeof short_ones, .cells = 8, .slots = 16, .schedules = 16,
                                               .eager = 256, .large = 2048};
        world w;
        nbcoll_comm *made[RANKS];
        nbcoll_request q;
        nbcoll_status status;
        nbcoll_failure failure;
        world_open(&w, RANKS, NULL, NULL, &short_ones);
        split(&w, made);
        free_and_cancel(&w, made[0]);
        EXPECT(OK, nbcoll_ibcast(data, sizeof data, NBCOLL_BYTE, sends, made[1], &q));
        world_settle(&w, 1, &q, &status);
        EXPECT(ERR_MISMATCH, status);
        fails_with(made[1], NBCOLL_ERR_MISMATCH, 0);
        EXPECT(OK, nbcoll_comm_failure(made[1], &failure));
        assert_int_equal(failure.position, NBCOLL_POSITION_FREED);
        world_close(&w);
    }
}

/* As if the communicator were the one that was not made. */
static void what_was_not_made_is_no_mismatch_for_who_asks(void **state)
{
    world w;
    nbcoll_comm *made[RANKS];
    nbcoll_request q;
    nbcoll_status status;
    (void)state;
    world_open(&w, RANKS, NULL, NULL, NULL);
    split(&w, made);
    made[1]->vote_tag = free_and_cancel(&w, made[0]);
    EXPECT(OK, nbcoll_ibarrier(made[1], &q));
    for (uint64_t end = clock_ns() + 200000000; clock_ns() < end;)
        step(&w, 1);
    EXPECT(OK, nbcoll_cancel(q));
    world_settle(&w, 1, &q, &status);
    EXPECT(ERR_CANCELLED, status);
    world_close(&w);
}

/* A message waits there, so that it breaks when it is freed. */
static void who_has_sent_to_a_communicator_that_is_freed_is_out_of_step(void **state)
{
    world w;
    nbcoll_comm *made[RANKS];
    (void)state;
    world_open(&w, RANKS, NULL, NULL, NULL);
    split(&w, made);
    made[1]->peer[0].pair->credits--; /* of what it has sent: */
    tell(&w, (nbcolli_header){.comm = made[0]->id, .type = NBCOLLI_RTS, .tag = made[0]->taken, .bytes = 8});
    EXPECT(OK, nbcoll_comm_free(made[0]));
    step(&w, 20);
    fails_with(made[1], NBCOLL_ERR_MISMATCH, 0);
    world_close(&w);
}

static void whom_a_revoke_names_is_named_though_it_is_nobody(void **state)
{
    world w;
    nbcoll_request q[RANKS];
    nbcoll_status status[RANKS];
    nbcoll_failure failure;
    (void)state;
    world_open(&w, RANKS, NULL, NULL, NULL);
    for (int r = 0; r < RANKS; r++)
        EXPECT(OK, nbcoll_ibarrier(w.comm[r], &q[r]));
    EXPECT(OK, nbcoll_cancel(q[0])); /* an earlier failure, which names rank 0 */
    world_settle(&w, RANKS, q, status);
    tell(&w, (nbcolli_header){.comm = w.comm[0]->id,
                              .type = NBCOLLI_REVOKE,
                              .tag = w.comm[0]->taken,
                              .number = UINT32_MAX,
                              .status = NBCOLL_ERR_PEER_LOST});
    EXPECT(OK, nbcoll_ibarrier(w.comm[0], &q[0]));
    world_settle(&w, 1, q, status);
    EXPECT(ERR_PEER_LOST, status[0]);
    EXPECT(OK, nbcoll_last_failure(w.context[0], &failure));
    EXPECT(ERR_PEER_LOST, failure.status);
    assert_int_equal(failure.rank, -1);
    world_close(&w);
}

/* That it is withdrawn is no failure; what is found meanwhile is one. */
static void a_loss_that_is_found_while_a_communicator_is_withdrawn_is_its_failure(void **state)
{
    world w;
    nbcoll_comm *made[RANKS];
    nbcoll_request q;
    nbcoll_status status;
    nbcoll_failure failure;
    (void)state;
    world_open(&w, RANKS, NULL, NULL, NULL);
    split(&w, made);
    EXPECT(OK, nbcoll_ibarrier(made[0], &q));
    nbcolli_give_up(made[0]->link, 1);
    EXPECT(OK, nbcolli_relays_withdraw(made[0]));
    world_settle(&w, 1, &q, &status);
    EXPECT(ERR_CANCELLED, status);
    fails_with(made[0], NBCOLL_ERR_PEER_LOST, 1);
    EXPECT(OK, nbcoll_last_failure(w.context[0], &failure));
    EXPECT(ERR_PEER_LOST, failure.status);
    world_close(&w);
}

/* Damaged votes say so, or that it has offered another part. */
static void who_has_offered_no_cells_takes_none_whatever_it_is_told(void **state)
{
    const nbcoll_loopback_config shared = world_variant(WORLD_SHARED, 1);
    nbcoll_comm *made[RANKS];
    world w;
    (void)state;
    world_open(&w, RANKS, &shared, NULL, NULL);
    split(&w, made);
    nbcolli_area *offered = made[0]->offered;
    made[0]->parts[0] = made[0]->parts[1]; /* as the votes have it */
    made[0]->area = NULL;
    made[0]->offered = NULL;
    nbcolli_area_take(made[0]);
    assert_null(made[0]->area);
    made[0]->offered = offered;
    nbcolli_area_take(made[0]);
    assert_ptr_equal(made[0]->area[0], offered->base);
    world_close(&w);
}

static nbcoll_posted (*post_of_transport)(nbcoll_endpoint *, int, const nbcoll_header *, const void *, size_t,
                                          nbcoll_work *);
static int posts_to_fail;

static nbcoll_posted post_or_fail(nbcoll_endpoint *ep, int peer, const nbcoll_header *header, const void *payload,
                                  size_t bytes, nbcoll_work *work)
{
    return posts_to_fail-- > 0 ? NBCOLL_POST_FAILED : post_of_transport(ep, peer, header, payload, bytes, work);
}

/* The operation's post, the news that its sender is lost, and that once more, each fail. */
static void who_cannot_be_told_a_loss_is_given_up_and_hears_that(void **state)
{
    nbcoll_request q[2];
    nbcoll_status status[2];
    world w;
    (void)state;
    world_open(&w, 2, NULL, NULL, NULL);
    nbcolli_link *link = w.comm[1]->link;
    post_of_transport = link->transport.post;
    link->transport.post = post_or_fail;
    posts_to_fail = 3;
    EXPECT(OK, nbcoll_ibarrier(w.comm[1], &q[1]));
    EXPECT(OK, nbcoll_ibarrier(w.comm[0], &q[0]));
    world_settle(&w, 2, q, status);
    EXPECT(ERR_PEER_LOST, status[0]);
    EXPECT(ERR_PEER_LOST, status[1]);
    assert_true(nbcolli_is_given_up(link, 0));
    world_close(&w);
}

/* The farewell is one of these messages. No pass tries again what a broken transport has refused twice. */
static void a_farewell_that_fails_twice_is_dropped(void **state)
{
    enum { PASSES = 100, MOST = 1000 };
    nbcoll_request q;
    world w;
    (void)state;
    world_open(&w, 2, NULL, NULL, NULL);
    nbcolli_link *link = w.comm[1]->link;
    post_of_transport = link->transport.post;
    link->transport.post = post_or_fail;
    posts_to_fail = MOST;
    EXPECT(OK, nbcoll_ibarrier(w.comm[1], &q));
    for (int i = 0; i < PASSES; i++)
        nbcoll_progress(w.context[1]);
    EXPECT(ERR_PEER_LOST, nbcoll_test(&q));
    assert_true(nbcolli_is_given_up(link, 0));
    assert_int_equal(link->untold, 0);
    assert_in_range(MOST - posts_to_fail, 3, 5); /* the barrier's, the news of the loss and the farewell, each twice */
    world_close(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_is_lost_to_others_names_itself_whoever_says_so),
        cmocka_unit_test(a_stall_that_comes_late_to_a_freed_communicator_breaks_nothing),
        cmocka_unit_test(who_has_not_made_a_communicator_since_a_rank_outside_was_lost_is_not_lost_itself),
        cmocka_unit_test(what_a_shrink_has_made_breaks_where_a_member_has_not_made_it),
        cmocka_unit_test(what_is_freed_before_its_time_is_a_mismatch_whatever_was_not_made_since),
        cmocka_unit_test(what_was_not_made_is_no_mismatch_for_who_asks),
        cmocka_unit_test(a_freed_communicator_is_not_taken_for_one_that_was_never_made),
        cmocka_unit_test(who_has_sent_to_a_communicator_that_is_freed_is_out_of_step),
        cmocka_unit_test(whom_a_revoke_names_is_named_though_it_is_nobody),
        cmocka_unit_test(a_loss_that_is_found_while_a_communicator_is_withdrawn_is_its_failure),
        cmocka_unit_test(who_has_offered_no_cells_takes_none_whatever_it_is_told),
        cmocka_unit_test(who_cannot_be_told_a_loss_is_given_up_and_hears_that),
        cmocka_unit_test(a_farewell_that_fails_twice_is_dropped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
