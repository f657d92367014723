/* SPDX-License-Identifier: BSD-3-Clause
 * Messages that agents carry: what they spare the sender, in which order they come, whatever ends their routes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <pthread.h>
#include <stdatomic.h>

#include "../../src/message/message.h"
#include "nbcoll/offload.h"
#include "party.h"

/* So many times as many steps, and fewer draws, where a step of a device takes longer: in an emulated machine. */
#ifndef PACE
#define PACE 1
#endif

enum { LONG = 9000, MOST = 80, TAG = 5, TURNS = 200000 };

/* Loopbacks with bulk data, which agents need. */
static const int variants[] = {0, 2, 4, 6, 7, 8, 9, 10, 11};
#define VARIANTS (sizeof variants / sizeof *variants)

static unsigned char in[MOST][LONG], out[MOST][LONG];
static atomic_int left = -1, left_to_ranks = -1; /* allocations that agents, and ranks, still get; -1: all */

static void *take(void *user, size_t bytes, size_t align)
{
    atomic_int *of = user;
    int had = atomic_load(of);
    if (had == 0)
        return NULL;
    if (had > 0)
        atomic_fetch_sub(of, 1);
    return aligned_alloc(align, (bytes + align - 1) / align * align);
}

static void give(void *user, void *memory, size_t bytes)
{
    (void)user, (void)bytes;
    free(memory);
}

typedef struct scene {
    party p;
    nbcoll_agent *agent[WORLD_MOST];
} scene;

/* A turn of an agent or a rank, but not of that rank. */
static void step_without(scene *s, int away)
{
    int r = (int)(world_random(&s->p.w.random) % (unsigned)s->p.w.ranks);

    if (world_random(&s->p.w.random) % 2)
        nbcoll_agent_progress(s->agent[r]);
    else if (r != away && s->p.w.context[r])
        nbcoll_progress(s->p.w.context[r]);
}

static nbcoll_status end_without(scene *s, nbcoll_request *q, int away)
{
    nbcoll_status status = NBCOLL_PENDING;
    for (long turn = 0; turn < TURNS && (status = nbcoll_test(q)) == NBCOLL_PENDING; turn++)
        step_without(s, away);
    return status;
}

static nbcoll_status end_of(scene *s, nbcoll_request *q)
{
    return end_without(s, q, -1);
}

static void scene_open_over(scene *s, int ranks, int variant, size_t routes)
{
    const nbcoll_host host = {.size = sizeof host, .user = &left, .alloc = take, .free = give};
    const nbcoll_context_config context = {
        .size = sizeof context, .host = {.size = sizeof host, .user = &left_to_ranks, .alloc = take, .free = give}};
    const nbcoll_agent_config config = {.size = sizeof config, .host = &host};
    const nbcoll_messages_config messages = {.size = sizeof messages, .routes = routes};
    nbcoll_loopback_config loopback = world_variant(variant, 7);
    nbcoll_request q[WORLD_MOST];
    world *w = &s->p.w;

    memset(s, 0, sizeof *s);
    left = -1;
    loopback.pairs = nbcoll_loopback_pairs();
    world_open_contexts(w, ranks, &loopback, &context);
    for (int r = 0; r < ranks; r++) {
        nbcoll_comm_config comm = NBCOLL_COMM_DEFAULTS;
        EXPECT(OK, nbcoll_agent_open(w->endpoint[r], &config, &s->agent[r]));
        comm.agent = s->agent[r];
        EXPECT(OK, nbcoll_comm_icreate(w->context[r], w->endpoint[r], &comm, &w->comm[r], &q[r]));
    }
    world_finish(w, (size_t)ranks, q);
    for (int r = 0; r < ranks; r++)
        EXPECT(OK, nbcoll_messages_iopen(w->comm[r], &messages, &s->p.m[r], &q[r]));
    for (int r = 0; r < ranks; r++) /* by a program */
        assert_int_equal(end_of(s, &q[r]), NBCOLL_OK);
    for (int i = 0; i < MOST; i++)
        party_fill(in[i], LONG, i);
    memset(out, 0, sizeof out);
}

static void scene_open(scene *s, int ranks)
{
    scene_open_over(s, ranks, 0, 8);
}

static void scene_close(scene *s)
{
    for (int r = 0; r < s->p.w.ranks; r++)
        if (s->p.m[r])
            EXPECT(OK, nbcoll_messages_close(s->p.m[r]));
    for (int r = 0; r < s->p.w.ranks; r++)
        EXPECT(OK, nbcoll_agent_close(s->agent[r]));
    world_close(&s->p.w);
}

static void steps(scene *s, int n)
{
    for (int i = 0; i < n * PACE; i++)
        step_without(s, -1);
}

static void send(scene *s, int i, size_t bytes, nbcoll_request *q)
{
    EXPECT(OK, nbcoll_isend(in[i], bytes, NBCOLL_BYTE, 1, TAG, s->p.m[0], q));
}

static void receive(scene *s, int i, size_t bytes, nbcoll_request *q)
{
    EXPECT(OK, nbcoll_irecv(out[i], bytes, NBCOLL_BYTE, 0, TAG, s->p.m[1], NULL, q));
}

static void one(scene *s, int i)
{
    nbcoll_request q[2];
    send(s, i, LONG, &q[0]);
    receive(s, i, LONG, &q[1]);
    assert_int_equal(end_of(s, &q[0]), NBCOLL_OK);
    assert_int_equal(end_of(s, &q[1]), NBCOLL_OK);
    assert_true(party_is(out[i], LONG, i));
}

/* Is the next message of the triple carried? Its sender ends though the receiver is away. */
static int carries(scene *s)
{
    nbcoll_request q[2];
    memset(out[0], 0, LONG);
    steps(s, 100);
    receive(s, 0, LONG, &q[1]);
    send(s, 0, LONG, &q[0]);
    nbcoll_status status = NBCOLL_PENDING;
    for (int turn = 0; turn < 2000 * PACE && (status = nbcoll_test(&q[0])) == NBCOLL_PENDING; turn++)
        step_without(s, 1);
    int does = status == NBCOLL_OK;
    if (!does)
        assert_int_equal(end_of(s, &q[0]), NBCOLL_OK);
    else
        assert_true(party_is(out[0], LONG, 0)); /* before any call of the receiver */
    assert_int_equal(end_of(s, &q[1]), NBCOLL_OK);
    assert_true(party_is(out[0], LONG, 0));
    return does;
}

/* ---- what is spared ---------------------------------------------------------------------------------------------- */

static void a_receiver_that_is_away_holds_up_no_sender(void **state)
{
    (void)state;
    for (size_t i = 0; i < VARIANTS; i++) {
        int variant = variants[i];
        scene s;
        scene_open_over(&s, 2, variant, 1);
        one(&s, 1);
        for (int k = 0; k < 5; k++)
            assert_true(carries(&s));
        scene_close(&s);
        scene_open_over(&s, 2, variant, 0);
        one(&s, 1);
        assert_false(carries(&s));
        scene_close(&s);
    }
}

static void a_sender_that_is_away_holds_up_no_data(void **state)
{
    nbcoll_request q[2];
    scene s;
    (void)state;
    scene_open(&s, 2);
    one(&s, 1);
    steps(&s, 100);
    send(&s, 2, LONG, &q[0]);
    receive(&s, 2, LONG, &q[1]);
    assert_int_equal(end_without(&s, &q[1], 0), NBCOLL_OK);
    assert_true(party_is(out[2], LONG, 2));
    assert_int_equal(end_of(&s, &q[0]), NBCOLL_OK);
    scene_close(&s);
}

static void what_a_receive_has_got_is_told(void **state)
{
    nbcoll_message_info info;
    nbcoll_request q[2];
    scene s;
    (void)state;
    scene_open(&s, 2);
    one(&s, 1);
    EXPECT(OK, nbcoll_isend(in[3], LONG - 7, NBCOLL_BYTE, 1, TAG, s.p.m[0], &q[0]));
    EXPECT(OK, nbcoll_irecv(out[3], LONG, NBCOLL_BYTE, 0, TAG, s.p.m[1], &info, &q[1]));
    assert_int_equal(end_of(&s, &q[1]), NBCOLL_OK);
    assert_int_equal(end_of(&s, &q[0]), NBCOLL_OK);
    assert_int_equal(info.source, 0);
    assert_int_equal(info.tag, TAG);
    assert_int_equal(info.bytes, LONG - 7);
    assert_true(party_is(out[3], LONG - 7, 3));
    assert_int_equal(out[3][LONG - 1], 0);
    scene_close(&s);
}

/* ---- order ------------------------------------------------------------------------------------------------------- */

typedef struct post {
    nbcoll_request q;
    nbcoll_message_info info;
    int is_open, is_cancelled;
    size_t bytes;
    nbcoll_status status;
} post;

static size_t drawn_bytes(uint64_t *random, int evil)
{
    size_t lengths[] = {LONG - 1000, 8, LONG, 4096, 5000, 0};
    return world_random(random) % (evil ? 4 : 12) ? LONG - 1000 : lengths[world_random(random) % 6];
}

static void look(scene *s, post *of, int n)
{
    for (int i = 0; i < n; i++)
        if (of[i].is_open && (of[i].status = nbcoll_test(&of[i].q)) != NBCOLL_PENDING)
            of[i].is_open = 0;
    step_without(s, -1);
}

static int count_open(const post *of, int n)
{
    int open = 0;
    for (int i = 0; i < n; i++)
        open += of[i].is_open;
    return open;
}

/* Messages of one triple, of any length, meet receives, exact ones or with wildcards, of which some are cancelled. Of
 * those that are not, each gets the next message. */
static void mix(int variant, uint64_t seed)
{
    enum { EACH = 30 };
    static post sends[EACH], receives[EACH + 10];
    int sent = 0, received = 0, gets = 0, posts = EACH, evil = seed % 3 == 0;
    uint64_t random = seed;
    scene s;

    scene_open_over(&s, 2, variant, 4);
    s.p.w.random = seed;
    memset(sends, 0, sizeof sends);
    memset(receives, 0, sizeof receives);
    while (sent < EACH || received < posts || count_open(sends, sent) || count_open(receives, received)) {
        uint64_t draw = world_random(&random) % 16;
        if (draw == 0 && sent < EACH) {
            post *p = &sends[sent];
            p->bytes = drawn_bytes(&random, evil);
            EXPECT(OK, (world_random(&random) % 4 ? nbcoll_isend : nbcoll_issend)(
                           in[sent], p->bytes, NBCOLL_BYTE, 1, TAG, s.p.m[0], &p->q));
            p->is_open = 1;
            sent++;
        } else if (draw == 1 && received < posts) {
            post *p = &receives[received];
            int how = world_random(&random) % (evil ? 6 : 30);
            EXPECT(OK, nbcoll_irecv(out[received], LONG, NBCOLL_BYTE, how == 0 ? NBCOLL_ANY_SOURCE : 0,
                                    how == 1 ? NBCOLL_ANY_TAG : TAG, s.p.m[1], &p->info, &p->q));
            p->is_open = 1;
            if (how == 2 && posts < EACH + 10) {
                nbcoll_cancel(p->q);
                p->is_cancelled = 1;
                posts++;
            }
            received++;
        }
        look(&s, sends, sent);
        look(&s, receives, received);
        if (received == posts && !count_open(receives, received) && count_open(sends, sent))
            for (int i = 0; i < sent; i++) /* a cancelled receive has got one */
                if (sends[i].is_open)
                    nbcoll_cancel(sends[i].q);
        if (sent == EACH && !count_open(sends, sent) && received == posts)
            for (int i = 0; i < received; i++)
                if (receives[i].is_open && posts > EACH)
                    nbcoll_cancel(receives[i].q);
    }
    for (int i = 0; i < received; i++) {
        post *p = &receives[i];
        if (p->status == NBCOLL_ERR_CANCELLED && posts > EACH)
            continue;
        assert_int_equal(p->status, NBCOLL_OK);
        assert_int_equal(p->info.bytes, sends[gets].bytes);
        assert_true(party_is(out[i], p->info.bytes, gets));
        assert_int_equal(sends[gets].status, NBCOLL_OK);
        gets++;
    }
    scene_close(&s);
}

static void each_receive_gets_the_next_message_whatever_ends_the_route(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 240; seed += PACE)
        mix(variants[seed % VARIANTS], seed);
}

/* ---- what ends a route ------------------------------------------------------------------------------------------- */

static void a_wildcard_that_fits_ends_a_route_and_one_for_others_does_not(void **state)
{
    nbcoll_request q[3];
    scene s;
    (void)state;
    scene_open(&s, 3);
    one(&s, 1);
    EXPECT(OK, nbcoll_irecv(out[9], LONG, NBCOLL_BYTE, NBCOLL_ANY_SOURCE, TAG + 1, s.p.m[1], NULL, &q[0]));
    EXPECT(OK, nbcoll_irecv(out[9], LONG, NBCOLL_BYTE, 2, NBCOLL_ANY_TAG, s.p.m[1], NULL, &q[1]));
    assert_true(carries(&s));
    EXPECT(OK, nbcoll_irecv(out[10], LONG, NBCOLL_BYTE, NBCOLL_ANY_SOURCE, TAG, s.p.m[1], NULL, &q[2]));
    for (int i = 0; i < 3; i++) {
        EXPECT(OK, nbcoll_cancel(q[i]));
        assert_int_equal(end_of(&s, &q[i]), NBCOLL_ERR_CANCELLED);
    }
    assert_false(carries(&s));
    scene_close(&s);
}

static void a_receive_that_is_too_short_gets_nothing(void **state)
{
    nbcoll_request q[2];
    (void)state;
    for (int early = 0; early < 2; early++) {
        scene s;
        scene_open(&s, 2);
        one(&s, 1);
        if (early)
            send(&s, 2, LONG, &q[0]);
        steps(&s, 100);
        receive(&s, 2, LONG - 1, &q[1]);
        if (!early)
            send(&s, 2, LONG, &q[0]);
        assert_int_equal(end_of(&s, &q[0]), NBCOLL_OK);
        assert_int_equal(end_of(&s, &q[1]), NBCOLL_ERR_TRUNCATED);
        assert_int_equal(out[2][0] | out[2][LONG - 2], 0);
        assert_false(carries(&s));
        scene_close(&s);
    }
}

/* Till the route is closed nothing else may use their buffers: then it ends. */
static void what_is_cancelled_ends_when_its_agent_has_closed_the_route(void **state)
{
    nbcoll_request q;
    (void)state;
    for (int sends = 0; sends < 2; sends++) {
        scene s;
        scene_open(&s, 2);
        one(&s, 1);
        steps(&s, 100);
        if (sends)
            send(&s, 2, LONG, &q);
        else
            receive(&s, 2, LONG, &q);
        steps(&s, 100);
        EXPECT(OK, nbcoll_cancel(q));
        for (int i = 0; i < 100; i++)
            for (int r = 0; r < 2; r++)
                nbcoll_progress(s.p.w.context[r]);
        EXPECT(PENDING, nbcoll_test(&q));
        assert_int_equal(end_of(&s, &q), NBCOLL_ERR_CANCELLED);
        assert_false(carries(&s));
        scene_close(&s);
    }
}

static void a_message_that_is_probed_is_received_by_its_handle(void **state)
{
    nbcoll_message_info info;
    nbcoll_message handle;
    nbcoll_request q[4];
    scene s;
    (void)state;
    scene_open(&s, 2);
    one(&s, 1);
    send(&s, 2, LONG, &q[0]);
    send(&s, 3, LONG, &q[1]);
    steps(&s, 200);
    EXPECT(OK, nbcoll_improbe(0, TAG, s.p.m[1], &info, &handle));
    receive(&s, 3, LONG, &q[2]);
    assert_int_equal(end_of(&s, &q[2]), NBCOLL_OK);
    EXPECT(OK, nbcoll_imrecv(out[2], LONG, NBCOLL_BYTE, &handle, &q[3]));
    assert_int_equal(end_of(&s, &q[3]), NBCOLL_OK);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(end_of(&s, &q[i]), NBCOLL_OK);
        assert_true(party_is(out[2 + i], LONG, 2 + i));
    }
    scene_close(&s);
}

/* The first ones of as many triples as there are routes are carried; and as many of one triple as a route has room for
 * go at a time. */
static void beyond_the_limits_messages_go_as_others_do(void **state)
{
    nbcoll_request q[2 * MOST];
    nbcoll_status status[2 * MOST];
    scene s;
    (void)state;
    scene_open_over(&s, 2, 0, 2);
    for (int i = 0; i < 4; i++) {
        EXPECT(OK, nbcoll_isend(in[i], LONG, NBCOLL_BYTE, 1, i, s.p.m[0], &q[0]));
        EXPECT(OK, nbcoll_irecv(out[i], LONG, NBCOLL_BYTE, 0, i, s.p.m[1], NULL, &q[1]));
        assert_int_equal(end_of(&s, &q[1]), NBCOLL_OK);
        assert_int_equal(end_of(&s, &q[0]), NBCOLL_OK);
    }
    one(&s, 1);
    assert_false(carries(&s));
    scene_close(&s);
    for (int late = 0; late < 2; late++) {
        scene_open(&s, 2);
        one(&s, 1);
        for (int side = 0; side < 2; side++)
            for (int i = 0; i < MOST; i++)
                if (side == late)
                    send(&s, i, LONG, &q[i]);
                else
                    receive(&s, i, LONG, &q[MOST + i]);
        for (int i = 0; i < 2 * MOST; i++)
            assert_int_equal(status[i] = end_of(&s, &q[i]), NBCOLL_OK);
        for (int i = 0; i < MOST; i++)
            assert_true(party_is(out[i], LONG, i));
        scene_close(&s);
    }
    const nbcoll_messages_config beyond = {.size = sizeof beyond, .routes = 1025};
    nbcoll_messages *m;
    scene_open(&s, 1);
    EXPECT(ERR_CONFIG, nbcoll_messages_open(s.p.w.comm[0], &beyond, &m, NBCOLL_FOREVER));
    scene_close(&s);
}

/* ---- failures ---------------------------------------------------------------------------------------------------- */

/* Either's agent, at any moment: the messages go on. */
static void an_agent_that_is_cancelled_costs_no_message(void **state)
{
    (void)state;
    for (int who = 0; who < 2; who++)
        for (int at = 0; at < 120; at += PACE) {
            nbcoll_request q[12];
            scene s;
            scene_open(&s, 2);
            if (at % 2)
                one(&s, 1);
            for (int i = 0; i < 6; i++) {
                send(&s, i, LONG, &q[i]);
                receive(&s, i, LONG, &q[6 + i]);
            }
            steps(&s, at);
            EXPECT(OK, nbcoll_agent_cancel(s.agent[who]));
            for (int i = 0; i < 12; i++)
                assert_int_equal(end_of(&s, &q[i]), NBCOLL_OK);
            for (int i = 0; i < 6; i++)
                assert_true(party_is(out[i], LONG, i));
            scene_close(&s);
        }
}

static void without_memory_for_routes_messages_go_as_others_do(void **state)
{
    (void)state;
    for (int allowed = 0; allowed < 12; allowed++) {
        nbcoll_request q[12];
        scene s;
        scene_open(&s, 2);
        left = allowed;
        for (int i = 0; i < 6; i++) {
            send(&s, i, LONG, &q[i]);
            receive(&s, i, LONG, &q[6 + i]);
        }
        for (int i = 0; i < 12; i++)
            assert_int_equal(end_of(&s, &q[i]), NBCOLL_OK);
        left = -1;
        for (int i = 0; i < 6; i++)
            assert_true(party_is(out[i], LONG, i));
        scene_close(&s);
    }
}

/* At any moment of the first message or of later ones: each ends; and if all end well, what has come is right. */
static void a_rank_that_is_refused_memory_ends_what_it_carries(void **state)
{
    (void)state;
    for (int has_route = 0; has_route < 2; has_route++)
        for (int allowed = 0, ends_well = 0; !ends_well; allowed++) {
            nbcoll_request q[12];
            nbcoll_status begun[12], status;
            scene s;
            scene_open(&s, 2);
            if (has_route)
                one(&s, 1);
            assert_true(allowed < 200);
            atomic_store(&left_to_ranks, allowed);
            for (int i = 0; i < 6; i++) {
                begun[i] = nbcoll_isend(in[i], LONG, NBCOLL_BYTE, 1, TAG, s.p.m[0], &q[i]);
                steps(&s, i == 3 ? 50 : 0);
                begun[6 + i] = nbcoll_irecv(out[i], LONG, NBCOLL_BYTE, 0, TAG, s.p.m[1], NULL, &q[6 + i]);
            }
            steps(&s, 2000);
            ends_well = 1;
            for (int i = 0; i < 12; i++) {
                status = begun[i] == NBCOLL_OK ? nbcoll_test(&q[i]) : begun[i];
                if (status == NBCOLL_PENDING) { /* its partner could not be started */
                    nbcoll_cancel(q[i]);
                    status = end_of(&s, &q[i]);
                }
                assert_true(status == NBCOLL_OK || status == NBCOLL_ERR_MEMORY || status == NBCOLL_ERR_PEER_LOST ||
                            status == NBCOLL_ERR_CANCELLED);
                ends_well &= status == NBCOLL_OK;
            }
            atomic_store(&left_to_ranks, -1);
            for (int i = 0; i < 6 && ends_well; i++)
                assert_true(party_is(out[i], LONG, i));
            scene_close(&s);
        }
}

/* Its sender's agent closes a route of which the first announcement is late: the receiver is told once, and once more
 * when that has come. */
static void a_route_that_ends_before_its_first_announcement_is_asked_about_once_more(void **state)
{
    nbcoll_request q[3];
    scene s;
    (void)state;
    scene_open(&s, 2);
    party_count(&s.p);
    EXPECT(PENDING, nbcoll_iprobe(1, 0, s.p.m[0], &(nbcoll_message_info){0})); /* it is ready */
    s.p.m[0]->at[1].next = 1;
    receive(&s, 2, LONG, &q[1]);
    send(&s, 2, LONG, &q[0]);
    EXPECT(OK, nbcoll_agent_cancel(s.agent[0]));
    steps(&s, 5000);
    assert_int_equal(party_counted(1), 2); /* the announcement, and the end */
    assert_int_equal(party_counted(0), 0);
    s.p.m[0]->at[1].next = 0;
    EXPECT(OK, nbcoll_isend(in[3], 8, NBCOLL_BYTE, 1, TAG + 1, s.p.m[0], &q[2]));
    for (int i = 0; i < 3; i++)
        assert_int_equal(end_of(&s, &q[i]), NBCOLL_OK);
    assert_true(party_is(out[2], LONG, 2));
    assert_true(party_counted(1) < 10);
    s.p.m[0]->at[1].next = 2;
    assert_false(carries(&s));
    EXPECT(OK, nbcoll_irecv(out[3], 8, NBCOLL_BYTE, 0, TAG + 1, s.p.m[1], NULL, &q[2]));
    assert_int_equal(end_of(&s, &q[2]), NBCOLL_OK);
    scene_close(&s);
}

/* A rank is declared lost at any moment, by the other one, or by a third: what is carried ends by name. */
static void what_is_carried_of_a_rank_that_is_lost_ends(void **state)
{
    (void)state;
    for (int who = 0; who < 2; who++)
        for (int at = 0; at < 60; at += PACE) {
            nbcoll_request q[8];
            nbcoll_failure failure;
            scene s;
            scene_open(&s, 3);
            one(&s, 1);
            for (int i = 0; i < 4; i++) {
                if (at % 3 != 1 || i < 2)
                    send(&s, i, LONG, &q[i]);
                if (at % 3 != 2 || i < 2)
                    receive(&s, i, LONG, &q[4 + i]);
            }
            steps(&s, at);
            EXPECT(OK, nbcoll_comm_declare_lost(s.p.w.comm[2], who));
            for (int i = 0; i < 8; i++) {
                if (i % 4 >= 2 && at % 3 == (i < 4 ? 1 : 2))
                    continue;
                nbcoll_status status = end_of(&s, &q[i]);
                assert_true(status == NBCOLL_OK || status == NBCOLL_ERR_PEER_LOST);
                if (status == NBCOLL_ERR_PEER_LOST) {
                    EXPECT(OK, nbcoll_last_failure(s.p.w.context[i / 4], &failure));
                    assert_int_equal(failure.rank, who);
                }
                if (status == NBCOLL_OK && i >= 4)
                    assert_true(party_is(out[i - 4], LONG, i - 4));
            }
            scene_close(&s);
        }
}

/* Its agent first, or not before its context: what it has not received ends at the sender. */
static void what_is_carried_to_a_rank_that_leaves_ends(void **state)
{
    (void)state;
    for (int takes = 0; takes < 2; takes++) {
        nbcoll_request q[3];
        scene s;
        scene_open(&s, 2);
        one(&s, 1);
        send(&s, 2, LONG, &q[0]);
        if (takes) {
            receive(&s, 2, LONG, &q[1]);
            assert_int_equal(end_without(&s, &q[1], 0), NBCOLL_OK);
        }
        send(&s, 3, LONG, &q[2]);
        EXPECT(OK, nbcoll_messages_close(s.p.m[1]));
        s.p.m[1] = NULL;
        EXPECT(OK, nbcoll_agent_close(s.agent[1]));
        s.agent[1] = NULL;
        EXPECT(OK, nbcoll_context_free(s.p.w.context[1]));
        s.p.w.context[1] = NULL;
        nbcoll_status status = end_of(&s, &q[0]), other = end_of(&s, &q[2]);
        assert_true(takes ? status == NBCOLL_OK : status == NBCOLL_ERR_PEER_LOST || status == NBCOLL_ERR_CANCELLED);
        assert_true(other == NBCOLL_ERR_PEER_LOST || other == NBCOLL_ERR_CANCELLED);
        scene_close(&s);
    }
}

/* ---- waits ------------------------------------------------------------------------------------------------------- */

static scene *whole;
static atomic_int is_over;

static void *execute(void *unused)
{
    (void)unused;
    while (!atomic_load(&is_over))
        for (int r = 0; r < 2; r++)
            nbcoll_agent_progress(whole->agent[r]);
    return NULL;
}

static void wait_for_each_other(world *w, int rank, void *user)
{
    static unsigned char data[2][2][LONG];
    (void)w, (void)user;
    for (int i = 0; i < 200; i++) {
        nbcoll_request q[2];
        memset(data[rank][0], i, LONG);
        EXPECT(OK, nbcoll_irecv(data[rank][1], LONG, NBCOLL_BYTE, !rank, TAG, whole->p.m[rank], NULL, &q[0]));
        EXPECT(OK, nbcoll_isend(data[rank][0], LONG, NBCOLL_BYTE, !rank, TAG, whole->p.m[rank], &q[1]));
        EXPECT(OK, nbcoll_wait(&q[1], NBCOLL_FOREVER));
        EXPECT(OK, nbcoll_wait(&q[0], NBCOLL_FOREVER));
        assert_int_equal(data[rank][1][LONG - 1], (unsigned char)i);
    }
}

static void ranks_that_wait_are_woken_by_a_thread_that_moves_their_agents(void **state)
{
    pthread_t thread;
    scene s;
    (void)state;
    scene_open(&s, 2);
    whole = &s;
    atomic_store(&is_over, 0);
    assert_int_equal(pthread_create(&thread, NULL, execute, NULL), 0);
    world_threads(&s.p.w, wait_for_each_other, NULL);
    for (int r = 0; r < 2; r++)
        EXPECT(OK, nbcoll_messages_close(s.p.m[r]));
    memset(s.p.m, 0, sizeof s.p.m);
    atomic_store(&is_over, 1);
    pthread_join(thread, NULL);
    scene_close(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_receiver_that_is_away_holds_up_no_sender),
        cmocka_unit_test(a_sender_that_is_away_holds_up_no_data),
        cmocka_unit_test(what_a_receive_has_got_is_told),
        cmocka_unit_test(each_receive_gets_the_next_message_whatever_ends_the_route),
        cmocka_unit_test(a_wildcard_that_fits_ends_a_route_and_one_for_others_does_not),
        cmocka_unit_test(a_receive_that_is_too_short_gets_nothing),
        cmocka_unit_test(what_is_cancelled_ends_when_its_agent_has_closed_the_route),
        cmocka_unit_test(a_message_that_is_probed_is_received_by_its_handle),
        cmocka_unit_test(beyond_the_limits_messages_go_as_others_do),
        cmocka_unit_test(an_agent_that_is_cancelled_costs_no_message),
        cmocka_unit_test(without_memory_for_routes_messages_go_as_others_do),
        cmocka_unit_test(a_rank_that_is_refused_memory_ends_what_it_carries),
        cmocka_unit_test(a_route_that_ends_before_its_first_announcement_is_asked_about_once_more),
        cmocka_unit_test(what_is_carried_of_a_rank_that_is_lost_ends),
        cmocka_unit_test(what_is_carried_to_a_rank_that_leaves_ends),
        cmocka_unit_test(ranks_that_wait_are_woken_by_a_thread_that_moves_their_agents),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
