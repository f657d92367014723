/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Cases of lines, and of what a transport says of a rank that it has lost.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "player.h"

enum { LINE_CHANNELS = 5, LINES = 60, LINES_IN_VAIN = 100000 };

/* Lines from rank 0 to another: number n of them has turn n + 1 and, in its highest 16 bits, what else a turn carries;
 * its channel and length follow from n. */
struct line_stream {
    struct world *w;
    int to;
    uint64_t posted;
    unsigned char *arrived; /* of each: how often; of the posted ones */
    uint64_t of;            /* how many there are to be */
    uint32_t channels;
    bool are_long; /* every fifth one is: its payload is longer than NBCOLL_LINE_PAYLOAD */
};

enum { LINE_BYTES_MOST = 248 }; /* of the least payload of messages */

static bool lines_may_be_long(const struct world *w)
{
    const nbcoll_lines *lines = w->player[0].ep->transport->lines;
    return lines->size > offsetof(nbcoll_lines, are_long) && lines->are_long;
}

static size_t line_bytes(const struct line_stream *s, uint64_t n)
{
    return s->are_long && n % 5 == 0 ? NBCOLL_LINE_PAYLOAD + 1 + n % 200 : n % (NBCOLL_LINE_PAYLOAD + 1);
}

static uint32_t line_channel(const struct line_stream *s, uint64_t n)
{
    uint32_t i = (uint32_t)(n % LINE_CHANNELS);
    return n % 3 ? i : s->channels - 1 - i; /* the last ones, too */
}

static uint64_t line_turn(uint64_t n)
{
    return (n * 40503 & 0xffff) << 48 | (n + 1);
}

/* A world whose transport has lines; skips the case if it has not. */
static struct world *world_with_lines(const nbcoll_conformance *c, int ranks)
{
    struct world *w = world_open(c, ranks);

    world_needs(w, w->player[0].ep->transport->lines, "it has no lines", 0);
    CHECK(w->player[0].ep->limits.channels >= LINE_CHANNELS);
    return w;
}

static struct line_stream stream_open(struct world *w, int to, uint64_t of)
{
    struct line_stream s = {.w = w, .to = to, .arrived = calloc((size_t)of, 1), .of = of};
    s.channels = w->player[0].ep->limits.channels;
    s.are_long = lines_may_be_long(w);
    CHECK(s.arrived);
    return s;
}

/* The next line, its payload in memory that is overwritten at once: it is the caller's again. */
static nbcoll_posted stream_post(struct line_stream *s)
{
    nbcoll_endpoint *ep = s->w->player[0].ep;
    unsigned char payload[LINE_BYTES_MOST + 1];
    uint64_t n = s->posted;
    size_t bytes = line_bytes(s, n), aside = n % 2; /* at any address */

    expected_payload(s->w, 0, n, payload + aside, bytes);
    nbcoll_posted said =
        ep->transport->lines->post(ep, s->to, line_channel(s, n), line_turn(n), bytes ? payload + aside : NULL, bytes);
    memset(payload, 0xa5, sizeof payload);
    CHECK(said == NBCOLL_POST_DONE || said == NBCOLL_POST_NOT_NOW);
    s->posted += said == NBCOLL_POST_DONE;
    return said;
}

static void stream_take(struct line_stream *s, const nbcoll_line_arrival *l)
{
    unsigned char wanted[LINE_BYTES_MOST];
    uint64_t n = (l->turn & UINT64_MAX >> 16) - 1;

    CHECK_EQUAL(l->source, 0);
    CHECK(n < s->posted);
    CHECK(l->turn == line_turn(n));
    CHECK_EQUAL(l->channel, line_channel(s, n));
    CHECK_EQUAL(l->bytes, line_bytes(s, n));
    expected_payload(s->w, 0, n, wanted, line_bytes(s, n));
    CHECK((uintptr_t)l->payload % 8 == 0);
    CHECK(memcmp(l->payload, wanted, line_bytes(s, n)) == 0);
    CHECK_EQUAL(s->arrived[n]++, 0);
}

/* One progress of the receiver, beside messages. */
static void stream_progress(struct line_stream *s)
{
    nbcoll_completions found = NBCOLL_COMPLETIONS_EMPTY;
    struct player *p = &s->w->player[s->to];

    p->ep->transport->progress(p->ep, &found);
    for (const nbcoll_line_arrival *l = found.lines; l; l = l->next)
        stream_take(s, l);
    for (nbcoll_arrival *a = found.arrived; a; a = a->next)
        player_receive(p, a);
    if (found.departed >= 0)
        p->left[found.departed]++;
}

static uint64_t stream_arrived(const struct line_stream *s)
{
    uint64_t arrived = 0;
    for (uint64_t n = 0; n < s->posted; n++)
        arrived += s->arrived[n];
    return arrived;
}

/* All that was posted arrives, and nothing else. */
static void stream_close(struct line_stream *s)
{
    for (; stream_arrived(s) < s->posted; case_waits("a line")) {
        if (s->w->player[0].ep)
            player_progress(&s->w->player[0]);
        stream_progress(s);
    }
    for (int k = 0; k < 100; k++)
        stream_progress(s); /* none comes twice */
    free(s->arrived);
}

/* Also ends what messages there are beside the lines, and closes the world. */
static void stream_close_beside_messages(struct line_stream *s)
{
    struct world *w = s->w;
    struct player *p = &w->player[0];

    for (; !player_is_done(p) || w->player[1].arrived < w->player[1].expected; case_waits("messages beside lines")) {
        player_send(p);
        player_progress(p);
        stream_progress(s);
    }
    stream_close(s);
    world_settle(w);
    world_close(w);
}

static void lines_of_every_length_arrive_once_and_whole_beside_messages(const nbcoll_conformance *c)
{
    struct world *w = world_with_lines(c, 2);
    struct player *p = &w->player[0];
    struct line_stream s = stream_open(w, 1, LINES * (NBCOLL_LINE_PAYLOAD + 1));

    while (s.posted < s.of) {
        while (stream_post(&s) == NBCOLL_POST_NOT_NOW) {
            player_progress(p);
            stream_progress(&s);
            case_waits("a line that is not answered NOT_NOW");
        }
        if (s.posted % 10 == 0)
            player_write(p, 1, (size_t)s.posted % 200);
        player_send(p);
        if (s.posted % 64 == 0)
            stream_progress(&s);
    }
    stream_close_beside_messages(&s);
}

static void a_line_that_cannot_be_fails(const nbcoll_conformance *c)
{
    struct world *w = world_with_lines(c, 2);
    nbcoll_endpoint *ep = w->player[0].ep;
    size_t most = lines_may_be_long(w) ? ep->limits.payload : NBCOLL_LINE_PAYLOAD;
    unsigned char *payload = calloc(most + 1, 1);
    struct line_stream s = stream_open(w, 1, 1);
    nbcoll_posted said;

    CHECK(payload);

    while ((said = ep->transport->lines->post(ep, 1, ep->limits.channels, 1, payload, 8)) == NBCOLL_POST_NOT_NOW)
        player_progress(&w->player[0]);
    CHECK_EQUAL(said, NBCOLL_POST_FAILED);
    while ((said = ep->transport->lines->post(ep, 1, 0, 1, payload, most + 1)) == NBCOLL_POST_NOT_NOW)
        player_progress(&w->player[0]);
    CHECK_EQUAL(said, NBCOLL_POST_FAILED);
    free(payload);
    stream_close(&s); /* nothing has happened */
    world_close(w);
}

/* A rank may send lines to itself as to any other. */
static void lines_reach_their_own_rank(const nbcoll_conformance *c)
{
    struct world *w = world_with_lines(c, 3);

    for (int to = 0; to < 3; to++) {
        struct line_stream s = stream_open(w, to, 10);
        while (s.posted < s.of) {
            if (stream_post(&s) == NBCOLL_POST_NOT_NOW && to != 0)
                player_progress(&w->player[0]);
            stream_progress(&s);
            case_waits("a line that is not answered NOT_NOW");
        }
        for (; stream_arrived(&s) < s.posted; case_waits("a line"))
            stream_progress(&s);
        free(s.arrived);
    }
    world_close(w);
}

/* What has arrived stays readable, also when more comes, until the next progress. */
static void lines_stay_readable_until_the_next_progress(const nbcoll_conformance *c)
{
    struct world *w = world_with_lines(c, 2);
    struct line_stream s = stream_open(w, 1, 2000);
    nbcoll_endpoint *ep = w->player[1].ep;

    while (s.posted < s.of) {
        nbcoll_completions found = NBCOLL_COMPLETIONS_EMPTY;
        uint64_t before = s.posted;
        ep->transport->progress(ep, &found);
        while (s.posted < s.of && s.posted < before + 300 && stream_post(&s) == NBCOLL_POST_DONE)
            ;
        for (const nbcoll_line_arrival *l = found.lines; l; l = l->next)
            stream_take(&s, l);
        player_progress(&w->player[0]);
        case_waits("a line that is not answered NOT_NOW");
    }
    stream_close(&s);
    world_close(w);
}

/* One call of take for a line on this channel, with this turn and length: was there one? */
static int stream_takes(struct line_stream *s, uint32_t channel, uint64_t turn, size_t bytes)
{
    nbcoll_endpoint *ep = s->w->player[s->to].ep;
    unsigned char to[LINE_BYTES_MOST + 3];
    _Alignas(8) unsigned char payload[LINE_BYTES_MOST];

    memset(to, 0x5a, sizeof to);
    int32_t high = ep->transport->lines->take(ep, 0, channel, turn, to + 1, bytes);
    CHECK(high >= -2 && high <= 0xffff);
    CHECK(to[0] == 0x5a && to[1 + bytes] == 0x5a); /* nothing beside it is written */
    memcpy(payload, to + 1, bytes);
    if (high >= 0)
        stream_take(s, &(nbcoll_line_arrival){NULL, 0, channel, (uint32_t)bytes, turn | (uint64_t)high << 48, payload});
    return high >= 0;
}

/* The lowest one that has not arrived; `posted` if all have. */
static uint64_t stream_awaits(const struct line_stream *s)
{
    uint64_t n = 0;
    while (n < s->posted && s->arrived[n])
        n++;
    return n;
}

/* Who awaits a line takes it, and only that: what is not as awaited stays, and nothing comes twice or is lost, also
 * where lines are taken and reported by turns, beside messages. */
static void an_awaited_line_is_taken_and_no_other_one(const nbcoll_conformance *c)
{
    struct world *w = world_with_lines(c, 2);
    world_needs(w, w->player[1].ep->transport->lines->take, "it takes no lines", 0);
    struct player *p = &w->player[0];
    struct line_stream s = stream_open(w, 1, LINES * (NBCOLL_LINE_PAYLOAD + 1));

    while (stream_awaits(&s) < s.of) {
        for (uint64_t k = s.posted % 7; k <= 7 && s.posted < s.of && stream_post(&s) == NBCOLL_POST_DONE; k++)
            if (s.posted % 50 == 0)
                player_write(p, 1, 8);
        player_send(p);
        for (uint64_t n; (n = stream_awaits(&s)) < s.posted;) {
            uint32_t channel = line_channel(&s, n);
            size_t bytes = line_bytes(&s, n);
            CHECK(!stream_takes(&s, channel ? 0 : 1, n + 1, bytes));
            CHECK(!stream_takes(&s, channel, n + 2, bytes));
            CHECK(!stream_takes(&s, channel, n + 1, bytes ? bytes - 1 : 1));
            if (n % 11 == 0 || !stream_takes(&s, channel, n + 1, bytes))
                stream_progress(&s);
            player_progress(p);
            case_waits("a line that is awaited");
        }
        player_progress(p);
        stream_progress(&s); /* messages may have all the room */
        case_waits("a line that is not answered NOT_NOW");
    }
    stream_close_beside_messages(&s);
}

/* A rank that has no room for a line may sleep, and is woken when there is some: also when nobody else moves. */
static void a_rank_without_room_for_lines_sleeps_until_there_is_some(const nbcoll_conformance *c)
{
    struct world *w = world_with_lines(c, 2);
    world_needs(w, w->player[0].ep->transport->wakeup, "it has no wakeup", 0);
    struct player *p = &w->player[0];
    struct line_stream s = stream_open(w, 1, LINES_IN_VAIN);

    for (int round = 0; round < 20 && s.posted < s.of; round++) {
        do { /* it may be woken for nothing, but not for ever */
            case_waits("lines to be taken, or a rank without room for them to sleep");
            while (s.posted < s.of && stream_post(&s) == NBCOLL_POST_DONE)
                ;
        } while (s.posted < s.of && (player_arm(p) != NBCOLL_OK || player_is_rung(p, 0)) && (player_progress(p), true));
        if (s.posted == s.of)
            break;
        while (!player_is_rung(p, 0)) { /* nobody but the receiver moves */
            case_waits("a rank that made room for lines to wake its sender");
            stream_progress(&s);
        }
        player_progress(p);
    }
    CHECK(s.posted);
    stream_close(&s);
    world_close(w);
}

/* A line ends a sleep as a message does. */
static void a_line_ends_a_sleep(const nbcoll_conformance *c)
{
    struct world *w = world_with_lines(c, 2);
    world_needs(w, w->player[1].ep->transport->wakeup, "it has no wakeup", 0);
    struct player *sleeper = &w->player[1];
    struct line_stream s = stream_open(w, 1, 50);

    while (s.posted < s.of) {
        while (player_arm(sleeper) != NBCOLL_OK) {
            stream_progress(&s);
            case_waits("a rank that has nothing to do to be let asleep");
        }
        while (stream_post(&s) == NBCOLL_POST_NOT_NOW) {
            player_progress(&w->player[0]);
            case_waits("a line that is not answered NOT_NOW");
        }
        while (!player_is_rung(sleeper, 0)) {
            player_progress(&w->player[0]);
            case_waits("a line to wake a rank");
        }
        while (stream_arrived(&s) < s.posted) {
            stream_progress(&s);
            case_waits("a line that woke a rank");
        }
    }
    stream_close(&s);
    world_close(w);
}

/* Lines of one who leaves still arrive, before the report. */
static void lines_posted_before_a_close_are_delivered(const nbcoll_conformance *c)
{
    struct world *w = world_with_lines(c, 2);
    struct line_stream s = stream_open(w, 1, 40);

    while (s.posted < s.of && stream_post(&s) == NBCOLL_POST_DONE)
        ;
    world_close_end(w, 0);
    for (; !w->player[1].left[0]; case_waits("the report that a rank has left"))
        stream_progress(&s);
    CHECK_EQUAL(stream_arrived(&s), s.posted);
    stream_close(&s);
    world_close(w);
}

/* Lines to one who has left go nowhere, and are never refused for ever. */
static void lines_to_one_who_has_left_go_nowhere(const nbcoll_conformance *c)
{
    struct world *w = world_with_lines(c, 2);
    struct player *p = &w->player[0];
    struct line_stream s = stream_open(w, 1, 5000);

    world_close_end(w, 1);
    while (s.posted < s.of) {
        if (stream_post(&s) == NBCOLL_POST_NOT_NOW)
            player_progress(p);
        case_waits("lines to go nowhere");
    }
    for (; !player_knows_left(p, 1); case_waits("the report that a rank has left"))
        player_progress(p);
    free(s.arrived);
    world_close(w);
}

/* The others can be asked why. */
static void why_an_abandoned_rank_is_lost_is_told(const nbcoll_conformance *c)
{
    struct world *w = world_that_one_abandons(c);

    world_needs(w, w->player[1].ep->transport->reason, "it tells no reason", 0);
    for (int i = 1; i < 3; i++) {
        nbcoll_transport_error why = {0, NULL};
        nbcoll_endpoint *ep = w->player[i].ep;
        ep->transport->reason(ep, 0, &why);
        CHECK(why.code || why.text);
    }
    world_close(w);
}
