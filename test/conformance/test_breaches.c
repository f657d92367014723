/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The conformance suite finds what it is there to find: transports that each break one clause of the contract fail
 * in the cases that ask for it, for the reason they give; the same transport without the breach passes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "nbcoll/conformance.h"
#include "nbcoll/fault.h"
#include "nbcoll/shm.h"

#include "crew.h"
#include "ends.h"

/* A breach, where it is played, and which case says what of it. */
struct breach {
    nbcoll_fault_breach breach;
    enum { KIND, LENDS, PROCESSES } where; /* loopback, one that lends, shm */
    const char *name, *why;
};

static nbcoll_endpoint *broken(const struct breach *b, nbcoll_endpoint *inner)
{
    nbcoll_fault_config config = {.size = sizeof config, .breach = b->breach};
    nbcoll_endpoint *ep = NULL;
    nbcoll_fault_open(&config, inner, &ep);
    return ep;
}

static nbcoll_endpoint *second; /* the end of rank 1 */

static void *make(const nbcoll_conformance *c, int ranks, nbcoll_endpoint *end[])
{
    const struct breach *b = c->user;
    uint32_t flags = b->where == LENDS ? NBCOLL_LOOPBACK_LEND : 0;
    nbcoll_loopback *world = loopback_ends(LOOPBACK(.flags = flags), ranks, 0, end);
    for (int i = 0; world && i < ranks; i++)
        end[i] = broken(b, end[i]);
    second = ranks > 1 ? end[1] : NULL;
    return world;
}

/* The peer breaks the clause, if there is a breach. */
static void lose(const nbcoll_conformance *c, void *made, nbcoll_endpoint *ep, int peer)
{
    nbcoll_fault_config here = {.size = sizeof here, .lost_at = 1, .lost = peer}, there = here;

    (void)made;
    there.lost = ep->rank;
    there.breach = ((const struct breach *)c->user)->breach;
    nbcoll_fault_set(ep, &here);
    nbcoll_fault_set(second, &there);
}

static void destroy(const nbcoll_conformance *c, void *world)
{
    (void)c;
    nbcoll_loopback_free(world);
}

static void *make_id(const nbcoll_conformance *c, int ranks, nbcoll_endpoint *end[])
{
    nbcoll_shm_id *id = malloc(sizeof *id);
    (void)c;
    (void)ranks;
    (void)end;
    return nbcoll_shm_id_make(id) == NBCOLL_OK ? id : NULL;
}

static nbcoll_endpoint *open_end(const nbcoll_conformance *c, void *id, int rank, int ranks)
{
    nbcoll_shm_config config = {.size = sizeof config, .id = *(nbcoll_shm_id *)id, .rank = rank, .ranks = ranks};
    nbcoll_endpoint *inner;
    return nbcoll_shm_open(&config, &inner) == NBCOLL_OK ? broken(c->user, inner) : NULL;
}

static void destroy_id(const nbcoll_conformance *c, void *id)
{
    (void)c;
    free(id);
}

static char said[500];

static int keep(const nbcoll_conformance *c, const nbcoll_conformance_result *r)
{
    (void)c;
    snprintf(said, sizeof said, "%d %s: %s", (int)r->verdict, r->name, r->why);
    return 0;
}

/* Runs the one case; a hang costs its deadline. */
static int run(const struct breach *b, uint32_t deadline_ms)
{
    nbcoll_conformance c = {.size = sizeof c,
                            .name = "broken",
                            .user = b,
                            .only = b->name,
                            .make = make,
                            .destroy = destroy,
                            .deadline_ms = deadline_ms,
                            .seed = seed_of_test(),
                            .result = keep,
                            .lose = lose};
    if (b->where == PROCESSES) {
        c.make = make_id;
        c.open = open_end;
        c.destroy = destroy_id;
        c.payload = 4096;
        c.lost_ms = 200;
        c.promises = NBCOLL_CONFORMANCE_WAKEUP;
    }
    return nbcoll_conformance_run(&c);
}

static void is_found(const struct breach *b)
{
    struct breach without = *b;
    char wanted[500];

    assert_int_equal(run(b, b->where == PROCESSES ? 0 : 1000), 1);
    snprintf(wanted, sizeof wanted, "%d %s: ", (int)NBCOLL_CONFORMANCE_FAILED, b->name);
    assert_memory_equal(said, wanted, strlen(wanted));
    if (!strstr(said, b->why))
        fail_msg("it says: %s", said);
    without.breach = NBCOLL_FAULT_KEEPS_ALL;
    assert_int_equal(run(&without, 0), 0);
    snprintf(wanted, sizeof wanted, "%d %s: ", (int)NBCOLL_CONFORMANCE_PASSED, b->name);
    assert_string_equal(said, wanted);
}

#define FINDS(clause, ...)                                                                                             \
    static void clause(void **state)                                                                                   \
    {                                                                                                                  \
        (void)state;                                                                                                   \
        is_found(&(const struct breach){__VA_ARGS__});                                                                 \
    }

FINDS(a_lost_peer_that_is_not_reported, NBCOLL_FAULT_LOSS_UNREPORTED, KIND, "an_end_that_is_abandoned_is_reported_lost",
      "waited for the report that rank 0 is lost")
FINDS(a_loss_of_which_the_peer_does_not_hear, NBCOLL_FAULT_LOSS_UNREPORTED, KIND,
      "who_is_lost_and_lives_loses_the_other_one", "waited for both ranks to report the loss")
FINDS(a_killed_peer_that_is_not_reported, NBCOLL_FAULT_LOSS_UNREPORTED, PROCESSES,
      "a_killed_rank_is_reported_lost_to_all", "the loss of rank 1 is not reported in time")
FINDS(a_leave_that_is_not_reported, NBCOLL_FAULT_LEAVE_UNREPORTED, KIND,
      "a_leave_is_reported_once_after_the_last_message", "waited for the report that rank 0 has left")
FINDS(an_arm_that_is_always_ok, NBCOLL_FAULT_ARM_ALWAYS_OK, KIND, "arm_tells_what_waits",
      "waited for a message to wake a rank")
FINDS(a_work_request_that_does_not_come_back, NBCOLL_FAULT_WORK_DROPPED, LENDS,
      "a_lent_work_request_comes_back_once_with_everything_intact", "work requests do not come back")
FINDS(a_work_request_that_comes_back_twice, NBCOLL_FAULT_WORK_TWICE, LENDS,
      "a_lent_work_request_comes_back_once_with_everything_intact", "a work request came back that was not lent")
FINDS(a_message_that_arrives_twice, NBCOLL_FAULT_MESSAGE_TWICE, KIND, "many_random_messages_arrive_exactly_once",
      "arrived twice")
FINDS(a_payload_that_is_truncated, NBCOLL_FAULT_PAYLOAD_TRUNCATED, KIND, "every_length_arrives_whole",
      "0 of 1 bytes arrived")
FINDS(a_cancelled_get_that_writes_later, NBCOLL_FAULT_CANCEL_WRITES, LENDS, "a_cancelled_get_writes_nothing_more",
      "memcmp(to, blank, ")
FINDS(messages_that_a_close_drops, NBCOLL_FAULT_CLOSE_DROPS, KIND, "messages_posted_before_a_close_are_delivered",
      "rank 0 was reported to have left before its message")
FINDS(a_refusal_that_never_ends, NBCOLL_FAULT_NOT_NOW_FOREVER, KIND,
      "a_refused_post_leaves_nothing_behind_and_later_succeeds", "messages do not arrive")
FINDS(a_line_that_arrives_twice, NBCOLL_FAULT_MESSAGE_TWICE, KIND, "lines_reach_their_own_rank", "s->arrived[n]++ is 1")
FINDS(a_line_that_is_truncated, NBCOLL_FAULT_PAYLOAD_TRUNCATED, KIND, "lines_reach_their_own_rank", "l->bytes is 0")
FINDS(lines_that_a_close_drops, NBCOLL_FAULT_CLOSE_DROPS, KIND, "lines_posted_before_a_close_are_delivered",
      "stream_arrived(&s) is 0")
FINDS(a_refusal_of_lines_that_never_ends, NBCOLL_FAULT_NOT_NOW_FOREVER, KIND,
      "a_rank_without_room_for_lines_sleeps_until_there_is_some", "waited for a rank that made room for lines to wake")

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_lost_peer_that_is_not_reported),
        cmocka_unit_test(a_loss_of_which_the_peer_does_not_hear),
        cmocka_unit_test(a_killed_peer_that_is_not_reported),
        cmocka_unit_test(a_leave_that_is_not_reported),
        cmocka_unit_test(an_arm_that_is_always_ok),
        cmocka_unit_test(a_work_request_that_does_not_come_back),
        cmocka_unit_test(a_work_request_that_comes_back_twice),
        cmocka_unit_test(a_message_that_arrives_twice),
        cmocka_unit_test(a_payload_that_is_truncated),
        cmocka_unit_test(a_cancelled_get_that_writes_later),
        cmocka_unit_test(messages_that_a_close_drops),
        cmocka_unit_test(a_refusal_that_never_ends),
        cmocka_unit_test(a_line_that_arrives_twice),
        cmocka_unit_test(a_line_that_is_truncated),
        cmocka_unit_test(lines_that_a_close_drops),
        cmocka_unit_test(a_refusal_of_lines_that_never_ends),
    };
    return cmocka_run_group_tests_name("breaches", tests, NULL, NULL);
}
