/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the cases of the suite are written with. A player stands for the core of one rank: it posts its messages, makes
 * progress, and checks everything that comes out of it. What a message must look like follows from the seed, its sender
 * and its index, so a receiver knows it without having seen it.
 */
#ifndef NBCOLLI_CONFORMANCE_PLAYER_H
#define NBCOLLI_CONFORMANCE_PLAYER_H

#include <stdatomic.h>

#include "case.h"

#define MAX_RANKS 9
#define OWNER 0x6c6f616eu /* what the core wrote into a work request must come back */

/* A work request and what it was lent for. */
struct loan {
    nbcoll_work work; /* first: a returned work request is its loan */
    struct message *message;
    bool lent, cancelled; /* now; asked for */
    bool is_in_vain;      /* it must not end well */
};

struct message {
    struct loan loan;
    size_t index; /* of the sender's messages */
    int to;
    size_t bytes;
    enum { MESSAGE_READY, MESSAGE_POSTED, MESSAGE_REVOKED } state;
    unsigned arrived; /* times; the receiver counts */
    nbcoll_header header;
    unsigned char *payload;
};

struct player {
    struct world *world;
    nbcoll_endpoint *ep; /* null once closed */
    int rank;
    struct message **message;
    size_t messages, posted; /* in the order of the messages */
    size_t lent;            /* work requests now lent */
    size_t arrived, expected;
    unsigned left[MAX_RANKS]; /* how often that rank was reported to have left */
    bool knows_lost;          /* the rank that is doomed has been reported lost */
    bool must_order;
    size_t next[MAX_RANKS]; /* must_order: no earlier message may come from there */
};

struct world {
    const nbcoll_conformance *c;
    void *made;
    bool in_processes; /* each rank is a process; else all live here */
    int ranks;
    size_t payload; /* limits.payload of the ends */
    uint64_t seed, random;
    int doomed; /* the rank that will be reported lost; -1: none */
    int killed; /* the rank whose process will be killed; -1: none */
    struct player player[MAX_RANKS];
};

static uint64_t random_next(uint64_t *state);

/* A world of players without messages; without ends too where processes open them. */
static struct world *world_open(const nbcoll_conformance *c, int ranks);
/* Closes the world and skips the case unless its transport has what that needs; which it may not have promised. */
static void world_needs(struct world *w, bool has, const char *lack, uint32_t promise);
/* A world whose transport has the wakeup group; skips the case if it has not, and did not promise it. */
static struct world *world_with_wakeups(const nbcoll_conformance *c, int ranks);
/* Checks that every message not revoked has arrived once; closes and frees. */
static void world_close(struct world *w);
/* Closes one endpoint early: its player no longer takes part. */
static void world_close_end(struct world *w, int rank);
/* Runs main for each player at once, on threads or in processes. */
static void world_run(struct world *w, void (*main)(struct player *p));
/* For world_run: sends and receives until its messages have arrived and its work requests are back. */
static void player_talk(struct player *p);
/* One progress of each player that has an end. True when it brought something. */
static bool world_progress(struct world *w);
/* Steps all players until their messages have arrived and their work requests are back. */
static void world_settle(struct world *w);
static void world_write(struct world *w, size_t bytes); /* one message from each to each */
static void world_write_random(struct world *w, int each);
/* One from each to each, sent: a transport that connects two ranks when they first talk has done so. */
static void world_meet(struct world *w);

static struct message *player_write(struct player *p, int to, size_t bytes);
/* Posts one message, which becomes POSTED unless it was refused. */
static nbcoll_posted player_post(struct player *p, struct message *l);
/* Posts it when there is room: all go on meanwhile. */
static void player_post_at_last(struct player *p, struct message *l);
static void player_cancel(struct player *p, struct loan *loan);
/* Posts what is still ready, up to the first refusal. */
static void player_send(struct player *p);
/* One progress, everything that it brought checked. True when it brought something. */
static bool player_progress(struct player *p);
/* True when it has been told that this rank has left, or that all others have (-1). */
static bool player_knows_left(const struct player *p, int rank);
/* True when all messages are posted and arrived, and no work request is lent. */
static bool player_is_done(const struct player *p);
/* Ends the case, naming the player. */
static _Noreturn void player_is_wrong(const struct player *p, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Arms its wakeup. */
static nbcoll_status player_arm(struct player *p);
/* Waits so long for a descriptor; for its wakeup's. */
static bool is_rung(int fd, int timeout_ms);
static bool player_is_rung(const struct player *p, int timeout_ms);
/* Ends the case when the arrival is not the message that its header names; player_receive counts it too. */
static struct message *player_check_arrival(struct player *p, const nbcoll_arrival *a);
static void player_receive(struct player *p, const nbcoll_arrival *a);
/* This message need not arrive. */
static void player_revoke(struct player *p, struct message *l);
/* Progresses until none of its work requests is lent, and everyone now and then, since room may be needed elsewhere. */
static void player_await_works(struct player *p);
/* The same where the others are threads or processes: it alone. */
static void player_await_own_works(struct player *p);

/* A get or put under way, with the key as it has travelled, and this rank's end. */
struct transfer {
    struct loan loan;
    nbcoll_key key;
    nbcoll_registration mine;
};
/* One with what is registered as `r` at `peer`: only so much of its key travels as is used. */
static void transfer_open(struct player *p, int peer, const nbcoll_registration *r, void *memory, size_t bytes,
                          struct transfer *out);
/* A get or put was answered so, and was lent this. */
static void transfer_begins(struct player *p, struct loan *loan, nbcoll_posted said);
static bool player_reaches(const struct player *p, int peer);
/* Registers; nothing, where the transport needs nothing for a local end: then player_local gives null. */
static void player_register(struct player *p, int peer, void *memory, size_t bytes, uint32_t access,
                            nbcoll_registration *out);
static const nbcoll_registration *player_local(const struct player *p, const nbcoll_registration *r);
static void player_deregister(struct player *p, nbcoll_registration *r);

/* What bytes come at `offset` in the payload of message `index` of `from`. */
static void expected_payload(const struct world *w, int from, uint64_t index, unsigned char *out, size_t bytes);

/* The cases, each a file's. Those of one process, where ranks are stepped or are threads: */
#define SUITE(X)                                                                                                       \
    X(the_table_and_the_endpoint_are_valid)                                                                            \
    X(an_idle_progress_reports_nothing)                                                                                \
    X(every_pair_exchanges_every_length_of_interest)                                                                   \
    X(every_length_arrives_whole)                                                                                      \
    X(many_random_messages_arrive_exactly_once)                                                                        \
    X(receive_buffers_take_what_they_promise)                                                                          \
    X(promised_order_is_kept)                                                                                          \
    X(arrivals_stay_readable_until_the_next_progress)                                                                  \
    X(a_refused_post_leaves_nothing_behind_and_later_succeeds)                                                         \
    X(a_lent_work_request_comes_back_once_with_everything_intact)                                                      \
    X(a_cancelled_work_request_comes_back_once)                                                                        \
    X(messages_posted_before_a_close_are_delivered)                                                                    \
    X(a_leave_is_reported_once_after_the_last_message)                                                                 \
    X(what_is_posted_to_one_who_has_left_goes_nowhere)                                                                 \
    X(a_leave_needs_no_room)                                                                                           \
    X(an_end_that_is_abandoned_is_reported_lost)                                                                       \
    X(who_is_lost_and_lives_loses_the_other_one)                                                                       \
    X(a_world_with_undelivered_messages_can_be_closed)                                                                 \
    X(both_ranks_say_the_same_of_their_reach)                                                                          \
    X(get_copies_any_part_of_what_is_registered)                                                                       \
    X(one_key_serves_every_peer_where_the_transport_says_so)                                                           \
    X(registrations_have_keys_of_their_own_and_end)                                                                    \
    X(a_cancelled_get_writes_nothing_more)                                                                             \
    X(put_writes_any_part_and_then_its_notice_arrives)                                                                 \
    X(a_cancelled_put_writes_nothing_more)                                                                             \
    X(who_is_given_up_writes_nothing_more)                                                                             \
    X(who_is_given_up_gets_nothing_that_counts)                                                                        \
    X(lines_of_every_length_arrive_once_and_whole_beside_messages)                                                     \
    X(a_line_that_cannot_be_fails)                                                                                     \
    X(lines_reach_their_own_rank)                                                                                      \
    X(lines_stay_readable_until_the_next_progress)                                                                     \
    X(a_rank_without_room_for_lines_sleeps_until_there_is_some)                                                        \
    X(a_line_ends_a_sleep)                                                                                             \
    X(an_awaited_line_is_taken_and_no_other_one)                                                                       \
    X(lines_posted_before_a_close_are_delivered)                                                                       \
    X(lines_to_one_who_has_left_go_nowhere)                                                                            \
    X(why_an_abandoned_rank_is_lost_is_told)                                                                           \
    X(reserved_memory_is_zeroed_aligned_and_nobody_elses)                                                              \
    X(all_ranks_find_what_one_has_reserved)                                                                            \
    X(memory_that_is_used_up_comes_back)                                                                               \
    X(a_change_of_shared_memory_ends_a_sleep)                                                                          \
    X(arm_tells_what_waits)                                                                                            \
    X(an_armed_rank_sleeps_until_something_comes)                                                                      \
    X(a_sleeper_leaves_room_to_be_woken)                                                                               \
    X(a_sleeper_is_woken_by_another_thread)                                                                            \
    X(a_leave_ends_a_sleep)                                                                                            \
    X(a_rank_without_room_sleeps_until_there_is_some)                                                                  \
    X(what_is_promised_so_works_in_a_signal_handler)                                                                   \
    X(a_send_on_a_queue_pair_waits_for_its_receive)                                                                    \
    X(held_sends_go_as_many_as_are_enabled)                                                                            \
    X(a_wait_in_a_queue_holds_back_what_stands_behind_it)                                                              \
    X(a_full_queue_and_a_second_pair_are_refused)                                                                      \
    X(queue_pairs_that_are_open_are_admitted)                                                                          \
    X(a_message_that_does_not_fit_its_receive_is_an_error)                                                             \
    X(a_closed_queue_pair_is_news_to_its_peer)                                                                         \
    X(a_message_takes_the_shared_receive_that_was_posted_first)                                                        \
    X(a_send_waits_for_a_shared_receive)                                                                               \
    X(messages_of_pairs_that_share_receives_come_once_and_in_order)                                                    \
    X(a_pair_with_shared_receives_sends_to_one_without)                                                                \
    X(no_more_shared_receives_are_posted_than_there_is_room_for)                                                       \
    X(a_message_too_long_for_a_shared_receive_ends_its_pair_alone)                                                     \
    X(a_lost_pair_leaves_shared_receives_to_the_others)                                                                \
    X(who_watches_shared_receives_is_woken_when_few_are_left)                                                          \
    CONCURRENT(X)
/* Those whose ranks may be processes. */
#define CONCURRENT(X)                                                                                                  \
    X(no_ring_is_lost_between_two_sleepers)                                                                            \
    X(no_room_is_missed_between_two_sleepers)                                                                          \
    X(ranks_at_once_exchange_random_messages)                                                                          \
    X(ranks_at_once_read_what_is_exposed)                                                                              \
    X(an_end_closes_while_others_still_talk)                                                                           \
    X(who_stays_is_told_once_of_all_who_leave)
/* Those whose ranks must be processes. */
#define PROCESSES(X)                                                                                                   \
    X(a_killed_rank_is_reported_lost_to_all)                                                                           \
    X(a_rank_killed_amid_lines_leaves_none_in_part)                                                                    \
    X(a_killed_rank_ends_a_sleep)                                                                                      \
    X(a_rank_that_calls_exec_is_reported_lost_to_all)                                                                  \
    X(a_rank_that_has_left_is_not_lost_when_its_process_ends)

#endif
