/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Cases of queue pairs, which programs are executed over: what is held, what waits, what counts, and how a pair ends.
 */
#include <string.h>

#include "player.h"

enum { QUEUE_DEPTH = 4, QUEUE_TURNS = 500, QUEUE_NUMBER = 5 };

/* What ranks have for queue pairs: completion queues and the bytes that travel there. */
struct queue_ends {
    struct world *w;
    const nbcoll_offload *call;
    nbcoll_completion_queue *sent[3], *received[3];
    nbcoll_registration local[3];
    char memory[3][64];
    nbcoll_queue_pair *pair[2];             /* between ranks 0 and 1 */
    nbcoll_shared_receives *shared;         /* of rank 0 */
    nbcoll_queue_pair *mine[3], *theirs[3]; /* which use them: of rank 0, and of the sender; by the sender */
};

static nbcoll_endpoint *queue_end(const struct queue_ends *e, int rank)
{
    return e->w->player[rank].ep;
}

static bool queue_needs_local(const struct queue_ends *e)
{
    const nbcoll_bulk *bulk = queue_end(e, 0)->transport->bulk;
    return bulk && !(bulk->flags & NBCOLL_BULK_ANY_LOCAL);
}

static void ends_open(const nbcoll_conformance *c, struct queue_ends *e, int ranks)
{
    memset(e, 0, sizeof *e);
    e->w = world_open(c, ranks);
    e->call = queue_end(e, 0)->transport->offload;
}

static void ends_equip(struct queue_ends *e, uint32_t depth)
{
    for (int rank = 0; rank < e->w->ranks; rank++) {
        if (queue_needs_local(e))
            player_register(&e->w->player[rank], -1, e->memory[rank], sizeof e->memory[rank], NBCOLL_LOCAL_END,
                            &e->local[rank]);
        CHECK_EQUAL(e->call->open_cq(queue_end(e, rank), depth, &e->sent[rank]), NBCOLL_OK);
        CHECK_EQUAL(e->call->open_cq(queue_end(e, rank), depth, &e->received[rank]), NBCOLL_OK);
    }
}

static void ends_close(struct queue_ends *e)
{
    for (int rank = 0; rank < e->w->ranks; rank++) {
        e->call->close(queue_end(e, rank), NULL, e->sent[rank]);
        e->call->close(queue_end(e, rank), NULL, e->received[rank]);
        if (queue_needs_local(e))
            player_deregister(&e->w->player[rank], &e->local[rank]);
    }
    world_close(e->w);
}

static void pair_close(struct queue_ends *e, nbcoll_queue_pair **pair, int rank)
{
    if (*pair)
        e->call->close(queue_end(e, rank), *pair, NULL);
    *pair = NULL;
}

static nbcoll_posting queue_posting(const struct queue_ends *e, int rank, nbcoll_posting_kind kind, char *at,
                                    size_t bytes)
{
    return (nbcoll_posting){.kind = kind,
                            .signal = 1,
                            .memory = bytes ? at : NULL,
                            .bytes = bytes,
                            .local = bytes && queue_needs_local(e) ? &e->local[rank] : NULL};
}

/* ---- a pair of its own ------------------------------------------------------------------------------------------- */

static nbcoll_queue_config queue_config(const struct queue_ends *e, int rank, uint32_t held)
{
    return (nbcoll_queue_config){.size = sizeof(nbcoll_queue_config),
                                 .peer = 1 - rank,
                                 .number = QUEUE_NUMBER,
                                 .depth = QUEUE_DEPTH,
                                 .held = held,
                                 .sent = e->sent[rank],
                                 .received = e->received[rank]};
}

static void queues_open(const nbcoll_conformance *c, struct queue_ends *e, uint32_t held0, uint32_t held1)
{
    ends_open(c, e, 2);
    world_needs(e->w, e->call, "it has no queue pairs", NBCOLL_CONFORMANCE_QUEUES);
    ends_equip(e, QUEUE_DEPTH);
    for (int rank = 0; rank < 2; rank++) {
        nbcoll_queue_config config = queue_config(e, rank, rank ? held1 : held0);
        CHECK_EQUAL(e->call->open_queue(queue_end(e, rank), &config, &e->pair[rank]), NBCOLL_OK);
    }
}

static void queues_close(struct queue_ends *e)
{
    for (int rank = 0; rank < 2; rank++)
        pair_close(e, &e->pair[rank], rank);
    ends_close(e);
}

static nbcoll_status queue_post(struct queue_ends *e, int rank, nbcoll_posting_kind kind, size_t at, size_t bytes)
{
    nbcoll_posting posting = queue_posting(e, rank, kind, e->memory[rank] + at, bytes);
    return e->call->post(queue_end(e, rank), e->pair[rank], &posting);
}

/* Both ranks go on, the other one's queues by asking for more than there can be; what the queue then says. */
static nbcoll_status queue_turn(struct queue_ends *e, int rank, nbcoll_completion_queue *completions, uint32_t count)
{
    world_progress(e->w);
    e->call->wait(e->w->player[1 - rank].ep, e->received[1 - rank], QUEUE_DEPTH + 1);
    return e->call->wait(e->w->player[rank].ep, completions, count);
}

static void queue_says(struct queue_ends *e, int rank, nbcoll_completion_queue *completions, uint32_t count,
                       nbcoll_status wanted)
{
    nbcoll_status status;
    while ((status = queue_turn(e, rank, completions, count)) == NBCOLL_PENDING)
        case_waits("the entries of a completion queue");
    CHECK_EQUAL(status, wanted);
}

/* It has no such entries, and gets none. */
static void queue_stays(struct queue_ends *e, int rank, nbcoll_completion_queue *completions, uint32_t count)
{
    for (int i = 0; i < QUEUE_TURNS; i++)
        CHECK_EQUAL(queue_turn(e, rank, completions, count), NBCOLL_PENDING);
}

static void a_send_on_a_queue_pair_waits_for_its_receive(const nbcoll_conformance *c)
{
    struct queue_ends e;
    queues_open(c, &e, 0, 0);
    memcpy(e.memory[0], "abcdef", 6);
    CHECK_EQUAL(queue_post(&e, 0, NBCOLL_POSTING_SEND, 0, 4), NBCOLL_OK);
    CHECK_EQUAL(queue_post(&e, 0, NBCOLL_POSTING_SEND, 4, 2), NBCOLL_OK);
    queue_stays(&e, 0, e.sent[0], 1);
    CHECK_EQUAL(queue_post(&e, 1, NBCOLL_POSTING_RECEIVE, 0, 8), NBCOLL_OK); /* shorter ones fit */
    CHECK_EQUAL(queue_post(&e, 1, NBCOLL_POSTING_RECEIVE, 8, 8), NBCOLL_OK);
    queue_says(&e, 1, e.received[1], 2, NBCOLL_OK);
    CHECK(memcmp(e.memory[1], "abcd\0\0\0\0ef", 11) == 0);
    queue_says(&e, 0, e.sent[0], 2, NBCOLL_OK);
    queue_stays(&e, 1, e.received[1], 1); /* they were consumed */
    queues_close(&e);
}

static void held_sends_go_as_many_as_are_enabled(const nbcoll_conformance *c)
{
    struct queue_ends e;
    queues_open(c, &e, 1, 0);
    memcpy(e.memory[0], "ab", 2);
    for (size_t i = 0; i < 2; i++) {
        CHECK_EQUAL(queue_post(&e, 1, NBCOLL_POSTING_RECEIVE, i, 1), NBCOLL_OK);
        CHECK_EQUAL(queue_post(&e, 0, NBCOLL_POSTING_SEND, i, 1), NBCOLL_OK);
    }
    queue_stays(&e, 1, e.received[1], 1);
    e.call->enable(e.w->player[0].ep, e.pair[0], 1, 0);
    queue_says(&e, 1, e.received[1], 1, NBCOLL_OK);
    CHECK(memcmp(e.memory[1], "a", 2) == 0);
    queue_stays(&e, 1, e.received[1], 1);
    e.call->enable(e.w->player[0].ep, e.pair[0], 1, 0);
    queue_says(&e, 1, e.received[1], 1, NBCOLL_OK);
    CHECK(memcmp(e.memory[1], "ab", 2) == 0);
    queues_close(&e);
}

/* Rank 0's send waits for a message of rank 1. */
static void a_wait_in_a_queue_holds_back_what_stands_behind_it(const nbcoll_conformance *c)
{
    struct queue_ends e;
    queues_open(c, &e, 0, 0);
    nbcoll_posting wait = {.kind = NBCOLL_POSTING_WAIT, .completions = e.received[0], .count = 1};
    memcpy(e.memory[0], "a", 1);
    CHECK_EQUAL(queue_post(&e, 0, NBCOLL_POSTING_RECEIVE, 0, 0), NBCOLL_OK);
    CHECK_EQUAL(e.call->post(e.w->player[0].ep, e.pair[0], &wait), NBCOLL_OK);
    CHECK_EQUAL(queue_post(&e, 0, NBCOLL_POSTING_SEND, 0, 1), NBCOLL_OK);
    CHECK_EQUAL(queue_post(&e, 1, NBCOLL_POSTING_RECEIVE, 0, 1), NBCOLL_OK);
    queue_stays(&e, 1, e.received[1], 1);
    CHECK_EQUAL(queue_post(&e, 1, NBCOLL_POSTING_SEND, 0, 0), NBCOLL_OK);
    queue_says(&e, 1, e.received[1], 1, NBCOLL_OK);
    CHECK(e.memory[1][0] == 'a');
    queue_stays(&e, 0, e.received[0], 1); /* the wait has consumed it */
    queues_close(&e);
}

static void a_full_queue_and_a_second_pair_are_refused(const nbcoll_conformance *c)
{
    nbcoll_queue_pair *second;
    struct queue_ends e;
    queues_open(c, &e, 0, 0);
    for (int i = 0; i < QUEUE_DEPTH; i++)
        CHECK_EQUAL(queue_post(&e, 0, NBCOLL_POSTING_SEND, 0, 1), NBCOLL_OK);
    CHECK_EQUAL(queue_post(&e, 0, NBCOLL_POSTING_SEND, 0, 1), NBCOLL_ERR_LIMIT);
    nbcoll_queue_config config = queue_config(&e, 0, 0);
    CHECK_EQUAL(e.call->open_queue(e.w->player[0].ep, &config, &second), NBCOLL_ERR_DUPLICATE);
    config.peer = 2;
    CHECK_EQUAL(e.call->open_queue(e.w->player[0].ep, &config, &second), NBCOLL_ERR_RANK);
    queues_close(&e);
}

static void queue_pairs_that_are_open_are_admitted(const nbcoll_conformance *c)
{
    nbcoll_queue_demand demand = {.size = sizeof demand, .pairs = 1, .depth = QUEUE_DEPTH};
    struct queue_ends e;
    queues_open(c, &e, 0, 0);
    nbcoll_endpoint *ep = e.w->player[0].ep;
    if (e.call->size < sizeof *e.call || !e.call->admits) {
        queues_close(&e);
        case_is_skipped("it has no limits of queue pairs");
    }
    CHECK_EQUAL(e.call->admits(ep, &demand), NBCOLL_OK);
    demand.size = 1;
    CHECK_EQUAL(e.call->admits(ep, &demand), NBCOLL_ERR_CONFIG);
    queues_close(&e);
}

static void a_message_that_does_not_fit_its_receive_is_an_error(const nbcoll_conformance *c)
{
    struct queue_ends e;
    queues_open(c, &e, 0, 0);
    memcpy(e.memory[0], "abcdefgh", 8);
    CHECK_EQUAL(queue_post(&e, 1, NBCOLL_POSTING_RECEIVE, 0, 4), NBCOLL_OK);
    CHECK_EQUAL(queue_post(&e, 0, NBCOLL_POSTING_SEND, 0, 8), NBCOLL_OK);
    queue_says(&e, 1, e.received[1], 1, NBCOLL_ERR_TRANSPORT);
    CHECK(e.memory[1][4] == 0); /* nothing is written behind it */
    queues_close(&e);
}

static void a_closed_queue_pair_is_news_to_its_peer(const nbcoll_conformance *c)
{
    struct queue_ends e;
    char before[sizeof e.memory[0]];
    queues_open(c, &e, 0, 0);
    CHECK_EQUAL(queue_post(&e, 0, NBCOLL_POSTING_RECEIVE, 0, 8), NBCOLL_OK);
    pair_close(&e, &e.pair[0], 0);
    memcpy(before, e.memory[0], sizeof before);
    memcpy(e.memory[1], "late", 4);
    nbcoll_status posted = queue_post(&e, 1, NBCOLL_POSTING_SEND, 0, 4);
    CHECK(posted == NBCOLL_OK || posted == NBCOLL_ERR_PEER_LOST);
    queue_says(&e, 1, e.received[1], 1, NBCOLL_ERR_PEER_LOST);
    CHECK(memcmp(e.memory[0], before, sizeof before) == 0);
    queues_close(&e);
}
