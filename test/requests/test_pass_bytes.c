/* SPDX-License-Identifier: BSD-3-Clause
 * No start, test or progress takes long: counted is how many bytes of the receive buffers one call changes, on loopback
 * and over shm, both with shared memory. What is divided ends as if it were not. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "nbcoll/select.h"
#include "nbcoll/shm.h"
#include "../../src/engine/state/context.h"
#include "works.h"

/* A call's share, the transport's, and what small steps and whole elements may take beyond. */
enum { PASS = NBCOLL_PASS_BYTES, CALL = 2 * PASS + PASS / 4 + 16384, BYTES = 4 * PASS + 8, OLD = 0xee };
enum { PIECE = 65536, PIECES_AT_ONCE = 64 };

/* ---- worlds ---------------------------------------------------------------------------------------------------- */

struct opening {
    nbcoll_shm_config config;
    nbcoll_endpoint *endpoint;
};

static void *open_rank(void *user)
{
    struct opening *o = user;
    EXPECT(OK, nbcoll_shm_open(&o->config, &o->endpoint));
    return NULL;
}

/* A world whose ranks are over shm, all in this thread. Its `loopback` is null. */
static void open_shm(world *w, int ranks, int in_pieces)
{
    struct opening o[WORLD_MOST];
    pthread_t thread[WORLD_MOST];
    nbcoll_shm_id id;
    *w = (world){.ranks = ranks, .random = 1};
    EXPECT(OK, nbcoll_shm_id_make(&id));
    for (int r = 0; r < ranks; r++) {
        o[r] = (struct opening){{.size = sizeof o[r].config, .id = id, .rank = r, .ranks = ranks}, NULL};
        if (in_pieces) {
            o[r].config.flags = NBCOLL_SHM_NO_BULK;
            o[r].config.payload = PIECE;
            o[r].config.depth = PIECES_AT_ONCE;
        }
        assert_int_equal(pthread_create(&thread[r], NULL, open_rank, &o[r]), 0);
    }
    for (int r = 0; r < ranks; r++) {
        assert_int_equal(pthread_join(thread[r], NULL), 0);
        w->endpoint[r] = o[r].endpoint;
    }
}

/* WITHOUT_VIEW: what is combined is got first, as from another process. PIECES: without gets, much at once. */
enum { LOOPBACK, LENDING, WITHOUT_VIEW, SHM, PLACES, LOOPBACK_PIECES, SHM_PIECES };

static nbcoll_loopback_config loopback_of(int place)
{
    nbcoll_loopback_config pieces = {.size = sizeof pieces, .flags = NBCOLL_LOOPBACK_NO_BULK, .payload = PIECE,
                                     .depth = PIECES_AT_ONCE};
    return place == LOOPBACK_PIECES ? pieces : world_variant(place == LENDING ? WORLD_SHARED + 1 : WORLD_SHARED, 0);
}

static void hide_view(world *w)
{
    static nbcoll_transport table;
    static nbcoll_bulk bulk;
    bulk = *w->endpoint[0]->transport->bulk;
    bulk.view = NULL;
    table = *w->endpoint[0]->transport;
    table.bulk = &bulk;
    for (int r = 0; r < w->ranks; r++)
        w->endpoint[r]->transport = &table;
}

static const nbcoll_transport *honest;
static size_t posted;

static nbcoll_posted count_post(nbcoll_endpoint *ep, int peer, const nbcoll_header *header, const void *payload,
                                size_t bytes, nbcoll_work *work)
{
    posted += bytes;
    return honest->post(ep, peer, header, payload, bytes, work);
}

/* Rank 0's, before its context exists. */
static void count_posts(world *w)
{
    static nbcoll_transport table;
    honest = w->endpoint[0]->transport;
    table = *honest;
    table.post = count_post;
    w->endpoint[0]->transport = &table;
}

/* With rules for one algorithm. */
static void open_place(world *w, int place, int ranks, nbcoll_operation what, const char *algorithm,
                       const nbcoll_observer *observer)
{
    nbcoll_rule rule = {.algorithm = nbcoll_algorithm_find(what, algorithm)};
    nbcoll_loopback_config loopback = loopback_of(place);
    nbcoll_context_config context = {.size = sizeof context, .observer = observer};
    nbcoll_comm_config config = NBCOLL_COMM_DEFAULTS;
    nbcoll_request q[WORLD_MOST];
    assert_non_null(rule.algorithm);
    config.rules = &rule;
    config.rule_count = 1;
    int is_shm = place == SHM || place == SHM_PIECES;
    if (is_shm)
        open_shm(w, ranks, place == SHM_PIECES);
    else
        world_open_contexts(w, ranks, &loopback, &context);
    if (place == WITHOUT_VIEW)
        hide_view(w);
    if (place > PLACES)
        count_posts(w);
    for (int r = 0; r < ranks; r++) {
        if (is_shm)
            EXPECT(OK, nbcoll_context_create(NBCOLL_ABI, &context, &w->context[r]));
        EXPECT(OK, nbcoll_comm_icreate(w->context[r], w->endpoint[r], &config, &w->comm[r], &q[r]));
    }
    world_finish(w, (size_t)ranks, q);
}

static void close_place(world *w)
{
    int open = w->ranks;
    if (w->loopback) {
        world_close(w);
        return;
    }
    for (int steps = 0; open && steps < 1000; steps++)
        for (int r = 0; r < w->ranks; r++)
            if (w->context[r] && nbcoll_context_free(w->context[r]) == NBCOLL_OK) {
                w->context[r] = NULL;
                open--;
            }
    assert_int_equal(open, 0);
}

/* ---- counting -------------------------------------------------------------------------------------------------- */

/* A rank's buffers; how much of `recv`, which was OLD, has changed. The ranks' bytes are never OLD. */
struct pair {
    unsigned char *send, *recv;
    size_t bytes, changed;
};

static unsigned char byte_of(int rank, size_t i)
{
    return (unsigned char)(1 + (i * 7 + i / 251 + (size_t)rank * 31) % 100);
}

static struct pair pair_make(int rank, size_t send, size_t recv)
{
    struct pair p = {malloc(send), malloc(recv), recv, 0};
    assert_true(p.send && p.recv);
    for (size_t i = 0; i < send; i++)
        p.send[i] = byte_of(rank, i);
    memset(p.recv, OLD, recv);
    return p;
}

static void pair_free(struct pair *p)
{
    free(p->send);
    free(p->recv);
}

/* How many bytes have changed since the last look. */
static size_t pair_moved(struct pair *p)
{
    static unsigned char untouched[4096];
    size_t changed = 0, moved;
    memset(untouched, OLD, sizeof untouched);
    for (size_t at = 0; at < p->bytes; at += sizeof untouched) {
        size_t bytes = p->bytes - at < sizeof untouched ? p->bytes - at : sizeof untouched;
        int is_untouched = memcmp(p->recv + at, untouched, bytes) == 0;
        for (size_t i = 0; !is_untouched && i < bytes; i++)
            changed += p->recv[at + i] != OLD;
    }
    moved = changed - p->changed;
    p->changed = changed;
    return moved;
}

/* Calls test (even) or progress (odd) of the ranks by turns until all have ended; no call changes more than `most`. */
static void step_counting(world *w, nbcoll_request q[], struct pair p[], size_t most)
{
    int left = w->ranks;
    for (int calls = 0; left; calls++) {
        int r = calls % w->ranks;
        assert_true(calls < 100000);
        if (!q[r].at)
            continue;
        nbcoll_status s = calls / w->ranks % 2 ? nbcoll_progress(w->context[r]) : nbcoll_test(&q[r]);
        assert_true(s == NBCOLL_OK || s == NBCOLL_PENDING);
        left -= !q[r].at;
        if (pair_moved(&p[r]) > most)
            fail_msg("call %d moved more than %zu bytes", calls, most);
    }
}

/* ---- tests ----------------------------------------------------------------------------------------------------- */

static void a_gather_of_large_blocks_is_divided(void **state)
{
    enum { RANKS = 3 };
    (void)state;
    for (int place = 0; place < PLACES; place++) {
        struct pair p[RANKS];
        nbcoll_request q[RANKS];
        world w;
        open_place(&w, place, RANKS, NBCOLL_OPERATION_ALLGATHER, "slots", NULL);
        for (int r = 0; r < RANKS; r++) {
            p[r] = pair_make(r, BYTES, (size_t)RANKS * BYTES);
            EXPECT(OK, nbcoll_iallgather(p[r].send, p[r].recv, BYTES, NBCOLL_BYTE, w.comm[r], &q[r]));
            assert_in_range(pair_moved(&p[r]), PASS / 2, CALL); /* it does begin */
        }
        step_counting(&w, q, p, CALL);
        for (int r = 0; r < RANKS; r++)
            for (int from = 0; from < RANKS; from++)
                for (size_t i = 0; i < BYTES; i++)
                    if (p[r].recv[(size_t)from * BYTES + i] != byte_of(from, i))
                        fail_msg("place %d: rank %d, block %d, byte %zu", place, r, from, i);
        for (int r = 0; r < RANKS; r++)
            pair_free(&p[r]);
        close_place(&w);
    }
}

/* Blocks of a quarter of the share each, all there when the last rank starts. */
static void many_small_gets_are_divided(void **state)
{
    enum { RANKS = 12, BLOCK = PASS / 4 };
    (void)state;
    for (int place = 0; place < PLACES; place++) {
        struct pair p[RANKS];
        nbcoll_request q[RANKS];
        world w;
        open_place(&w, place, RANKS, NBCOLL_OPERATION_ALLGATHER, "slots", NULL);
        for (int r = 0; r < RANKS; r++) {
            p[r] = pair_make(r, BLOCK, (size_t)RANKS * BLOCK);
            EXPECT(OK, nbcoll_iallgather(p[r].send, p[r].recv, BLOCK, NBCOLL_BYTE, w.comm[r], &q[r]));
            assert_in_range(pair_moved(&p[r]), 1, CALL);
        }
        step_counting(&w, q, p, CALL);
        for (int r = 0; r < RANKS; r++) {
            for (size_t i = 0; i < (size_t)RANKS * BLOCK; i++)
                if (p[r].recv[i] != byte_of((int)(i / BLOCK), i % BLOCK))
                    fail_msg("place %d: rank %d, byte %zu", place, r, i);
            pair_free(&p[r]);
        }
        close_place(&w);
    }
}

static void a_reduction_in_place_and_one_by_messages_are_divided(void **state)
{
    static const char *const algorithms[] = {"slots", "recursive_doubling"};
    enum { RANKS = 2 };
    (void)state;
    for (int place = 0; place < PLACES; place++)
        for (int i = 0; i < 2; i++) {
            struct pair p[RANKS];
            nbcoll_request q[RANKS];
            world w;
            open_place(&w, place, RANKS, NBCOLL_OPERATION_ALLREDUCE, algorithms[i], NULL);
            for (int r = 0; r < RANKS; r++) {
                p[r] = pair_make(r, BYTES, BYTES);
                EXPECT(OK, nbcoll_iallreduce(p[r].send, p[r].recv, BYTES, NBCOLL_UINT8, NBCOLL_SUM, w.comm[r], &q[r]));
                assert_true(pair_moved(&p[r]) <= CALL);
            }
            step_counting(&w, q, p, CALL);
            for (int r = 0; r < RANKS; r++)
                for (size_t k = 0; k < BYTES; k++)
                    if (p[r].recv[k] != (unsigned char)(byte_of(0, k) + byte_of(1, k)))
                        fail_msg("place %d, %s: byte %zu", place, algorithms[i], k);
            for (int r = 0; r < RANKS; r++)
                pair_free(&p[r]);
            close_place(&w);
        }
}

static void messages_in_pieces_are_divided(void **state)
{
    (void)state;
    for (int place = LOOPBACK_PIECES; place <= SHM_PIECES; place++) {
        struct pair p[2] = {pair_make(0, BYTES, BYTES), pair_make(1, BYTES, BYTES)};
        nbcoll_request q[2];
        int calls = 0;
        world w;
        open_place(&w, place, 2, NBCOLL_OPERATION_BCAST, "flat", NULL);
        for (int r = 0; r < 2; r++)
            EXPECT(OK, nbcoll_ibcast(r ? p[r].recv : p[r].send, BYTES, NBCOLL_BYTE, 0, w.comm[r], &q[r]));
        for (; q[1].at; calls++) {
            assert_true(calls < 1000);
            for (int i = 0; i < calls % 4; i++) { /* so that much is under way when the other looks */
                posted = 0;
                EXPECT(OK, nbcoll_progress(w.context[0]));
                assert_true(posted <= PASS + PIECE);
            }
            nbcoll_status s = nbcoll_test(&q[1]);
            assert_true(s == NBCOLL_OK || s == NBCOLL_PENDING);
            assert_true(pair_moved(&p[1]) <= (place == SHM_PIECES ? PASS + PIECE : 4 * PASS));
        }
        EXPECT(OK, nbcoll_wait(&q[0], NBCOLL_FOREVER));
        assert_memory_equal(p[0].send, p[1].recv, BYTES);
        pair_free(&p[0]);
        pair_free(&p[1]);
        close_place(&w);
    }
}

/* Of one rank: its block is a COPY of the start. */
static void open_alone(world *w, const nbcoll_observer *observer)
{
    open_place(w, LOOPBACK, 1, NBCOLL_OPERATION_ALLGATHER, "slots", observer);
}

static void a_copy_is_divided_and_the_context_stays_awake(void **state)
{
    struct pair p = pair_make(0, BYTES, BYTES);
    nbcoll_request q;
    world w;
    (void)state;
    open_alone(&w, NULL);
    EXPECT(OK, nbcoll_iallgather(p.send, p.recv, BYTES, NBCOLL_BYTE, w.comm[0], &q));
    assert_int_equal(pair_moved(&p), PASS);
    EXPECT(PENDING, nbcoll_arrived(q, 0, 1)); /* its step has not ended */
    EXPECT(AGAIN, nbcoll_arm(w.context[0]));
    assert_int_equal(pair_moved(&p), 0);
    EXPECT(OK, nbcoll_progress(w.context[0]));
    assert_int_equal(pair_moved(&p), PASS);
    EXPECT(PENDING, nbcoll_test(&q));
    assert_int_equal(pair_moved(&p), PASS);
    EXPECT(OK, nbcoll_wait(&q, NBCOLL_FOREVER)); /* goes on to the end */
    assert_memory_equal(p.send, p.recv, BYTES);
    EXPECT(OK, world_arm(&w, 0));
    pair_free(&p);
    close_place(&w);
}

static void a_small_operation_passes_large_ones(void **state)
{
    struct pair large = pair_make(0, BYTES, BYTES);
    unsigned char from = 7, to = 0;
    nbcoll_request q, small;
    world w;
    (void)state;
    open_alone(&w, NULL);
    EXPECT(OK, nbcoll_iallgather(large.send, large.recv, BYTES, NBCOLL_BYTE, w.comm[0], &q));
    EXPECT(OK, nbcoll_iallgather(&from, &to, 1, NBCOLL_BYTE, w.comm[0], &small));
    EXPECT(OK, nbcoll_test(&small));
    assert_int_equal(to, 7);
    EXPECT(PENDING, nbcoll_test(&q));
    EXPECT(OK, nbcoll_wait(&q, NBCOLL_FOREVER));
    pair_free(&large);
    close_place(&w);
}

static void operations_share_the_passes_by_turns(void **state)
{
    enum { N = 3 };
    struct pair p[N];
    nbcoll_request q[N];
    world w;
    (void)state;
    open_alone(&w, NULL);
    for (int i = 0; i < N; i++) {
        p[i] = pair_make(i, BYTES, BYTES);
        EXPECT(OK, nbcoll_iallgather(p[i].send, p[i].recv, BYTES, NBCOLL_BYTE, w.comm[0], &q[i]));
        assert_int_equal(pair_moved(&p[i]), PASS);
    }
    for (int passes = 0; passes < 2 * BYTES / PASS; passes++) {
        size_t sum = 0, least = BYTES, most = 0;
        EXPECT(OK, nbcoll_progress(w.context[0]));
        for (int i = 0; i < N; i++) {
            sum += pair_moved(&p[i]);
            least = p[i].changed < least ? p[i].changed : least;
            most = p[i].changed > most ? p[i].changed : most;
        }
        assert_true(sum <= PASS);
        assert_true(most - least <= PASS);
    }
    for (int i = 0; i < N; i++) {
        EXPECT(OK, nbcoll_wait(&q[i], NBCOLL_FOREVER));
        assert_memory_equal(p[i].send, p[i].recv, BYTES);
        pair_free(&p[i]);
    }
    close_place(&w);
}

/* Two operations, whose large gets are under way at once. */
static void gets_share_the_passes_by_turns(void **state)
{
    (void)state;
    for (int place = 0; place < PLACES; place++) {
        struct pair p[2][2];
        nbcoll_request q[2][2];
        world w;
        open_place(&w, place, 2, NBCOLL_OPERATION_BCAST, "slots", NULL);
        for (int i = 0; i < 2; i++)
            for (int r = 0; r < 2; r++) {
                p[i][r] = pair_make(i, BYTES, BYTES);
                EXPECT(OK, nbcoll_ibcast(r ? p[i][r].recv : p[i][r].send, BYTES, NBCOLL_BYTE, 0, w.comm[r], &q[i][r]));
            }
        for (int passes = 0; passes < BYTES / PASS; passes++) {
            EXPECT(OK, nbcoll_progress(w.context[1]));
            assert_true(pair_moved(&p[0][1]) + pair_moved(&p[1][1]) <= CALL);
            size_t one = p[0][1].changed, other = p[1][1].changed;
            assert_true((one < other ? other - one : one - other) <= 2 * PASS);
        }
        for (int i = 0; i < 2; i++) {
            world_finish(&w, 2, q[i]);
            assert_memory_equal(p[i][0].send, p[i][1].recv, BYTES);
            pair_free(&p[i][0]);
            pair_free(&p[i][1]);
        }
        close_place(&w);
    }
}

static void what_is_cancelled_in_the_middle_is_not_touched_any_more(void **state)
{
    (void)state;
    for (int place = 0; place < PLACES; place++)
        for (int reduces = 0; reduces < 2; reduces++) {
            struct pair p[2];
            nbcoll_request q[2];
            nbcoll_status s[2];
            world w;
            open_place(&w, place, 2, reduces ? NBCOLL_OPERATION_ALLREDUCE : NBCOLL_OPERATION_ALLGATHER, "slots", NULL);
            for (int r = 0; r < 2; r++) {
                p[r] = pair_make(r, BYTES, 2 * BYTES);
                if (reduces)
                    EXPECT(OK, nbcoll_iallreduce(p[r].send, p[r].recv, BYTES, NBCOLL_UINT8, NBCOLL_SUM, w.comm[r],
                                                 &q[r]));
                else
                    EXPECT(OK, nbcoll_iallgather(p[r].send, p[r].recv, BYTES, NBCOLL_BYTE, w.comm[r], &q[r]));
            }
            for (int r = 0; r < 2; r++)
                EXPECT(OK, nbcoll_progress(w.context[r]));
            EXPECT(OK, nbcoll_cancel(q[0]));
            world_settle(&w, 2, q, s);
            assert_int_equal(s[0], NBCOLL_ERR_CANCELLED);
            assert_int_equal(s[1], NBCOLL_ERR_CANCELLED);
            for (int r = 0; r < 2; r++)
                pair_moved(&p[r]);
            works(&w);
            for (int r = 0; r < 2; r++) {
                assert_int_equal(pair_moved(&p[r]), 0);
                assert_true(p[r].changed < 2 * BYTES - PASS);
                EXPECT(OK, world_arm(&w, r));
                EXPECT(OK, nbcoll_progress(w.context[r]));
                pair_free(&p[r]);
            }
            close_place(&w);
        }
}

static struct {
    nbcoll_context *context, *other;
    int beside_copies, patient; /* progresses */
} asked;

/* Of a transport that always has more to move. The other rank goes on when the copies are made. */
static void progress_and_note(nbcoll_endpoint *ep, nbcoll_completions *found)
{
    asked.beside_copies += asked.context->delayed.first != NULL;
    asked.patient += asked.context->delayed.first && ep->patient;
    ep->patient = 0;
    ep->transport->progress(ep, found);
    ep->busy = 1;
    if (!asked.context->delayed.first)
        EXPECT(OK, nbcoll_progress(asked.other));
}

/* Others wait for what it gets, nobody for its own block: but for the first, each progress of a wait may get more. */
static void who_waits_gets_more_at_a_time_also_while_its_own_block_is_copied(void **state)
{
    struct pair p[2];
    nbcoll_request q[2];
    world w;
    (void)state;
    open_place(&w, LENDING, 2, NBCOLL_OPERATION_ALLGATHER, "slots", NULL);
    asked.context = w.context[0];
    asked.other = w.context[1];
    w.context[0]->links->transport.progress = progress_and_note;
    for (int r = 0; r < 2; r++) {
        p[r] = pair_make(r, BYTES, 2 * BYTES);
        EXPECT(OK, nbcoll_iallgather(p[r].send, p[r].recv, BYTES, NBCOLL_BYTE, w.comm[r], &q[r]));
    }
    EXPECT(OK, nbcoll_wait(&q[0], NBCOLL_FOREVER));
    assert_true(asked.beside_copies >= BYTES / PASS - 1);
    assert_int_equal(asked.patient, asked.beside_copies - 1);
    w.context[0]->links->transport.progress = w.endpoint[0]->transport->progress;
    world_finish(&w, 1, &q[1]);
    for (int r = 0; r < 2; r++)
        pair_free(&p[r]);
    close_place(&w);
}

/* ---- events ---------------------------------------------------------------------------------------------------- */

enum { MOST_STEPS = 64 };

struct counts {
    int of[3][MOST_STEPS];
};

static void count(void *user, const nbcoll_event *event)
{
    struct counts *c = user;
    assert_true(event->step < MOST_STEPS);
    c->of[event->moment][event->step] += event->tag > 0; /* not those of the creation */
}

static void each_step_starts_and_ends_once(void **state)
{
    struct counts counts = {{{0}}};
    nbcoll_observer observer = {.size = sizeof observer, .event = count, .user = &counts};
    struct pair p = pair_make(0, BYTES, BYTES);
    nbcoll_request q;
    world w;
    int steps = 0;
    (void)state;
    open_alone(&w, &observer);
    EXPECT(OK, nbcoll_iallgather(p.send, p.recv, BYTES, NBCOLL_BYTE, w.comm[0], &q));
    EXPECT(OK, nbcoll_wait(&q, NBCOLL_FOREVER));
    for (int i = 0; i < MOST_STEPS; i++) {
        assert_in_range(counts.of[NBCOLL_STEP_STARTED][i], 0, 1);
        assert_int_equal(counts.of[NBCOLL_STEP_READY][i], counts.of[NBCOLL_STEP_STARTED][i]);
        assert_int_equal(counts.of[NBCOLL_STEP_ENDED][i], counts.of[NBCOLL_STEP_STARTED][i]);
        steps += counts.of[NBCOLL_STEP_ENDED][i];
    }
    assert_true(steps >= 3); /* START, the COPY, END */
    pair_free(&p);
    close_place(&w);
}

/* ---- results --------------------------------------------------------------------------------------------------- */

static void reduce_all(world *w, nbcoll_reduction how, size_t count, int in_place)
{
    operation o = {.what = NBCOLL_OPERATION_ALLREDUCE, .count = count, .how = how, .in_place = in_place, .seed = count};
    all_perform(w, &o, w->comm, w->ranks);
}

static void all_reductions_are_right_around_the_limit(void **state)
{
    static const char *const algorithms[] = {"slots", "recursive_doubling"};
    (void)state;
    for (int place = LOOPBACK; place < PLACES; place += SHM - LOOPBACK)
        for (int a = 0; a < 2 - (place == SHM); a++) {
            world w;
            open_place(&w, place, 2, NBCOLL_OPERATION_ALLREDUCE, algorithms[a], NULL);
            for (size_t i = 0; i < operation_reductions(); i++) {
                nbcoll_reduction how = operation_reduction(i);
                size_t limit = PASS / nbcoll_type_size(how.type);
                if (place == LOOPBACK && !a)
                    reduce_all(&w, how, limit + 1, i % 2);
                if (i % 24 == (size_t)(8 * place + 4 * a)) {
                    reduce_all(&w, how, limit - 1, i % 2);
                    reduce_all(&w, how, limit, !(i % 2));
                    reduce_all(&w, how, 2 * limit + 7, i % 2);
                }
            }
            close_place(&w);
        }
}

/* left, unless it is zero: not commutative. Elements of 24 bytes, so that no piece is a round number of them. */
struct triple {
    uint64_t first, second, third;
};

static nbcoll_status combine(void *user, void *result, const void *left, const void *right, size_t n, nbcoll_type type)
{
    const struct triple *l = left, *r = right;
    struct triple *to = result;
    (void)type;
    ++*(int *)user;
    for (size_t i = 0; i < n; i++)
        to[i] = (struct triple){l[i].first * 3 + r[i].second, l[i].second - r[i].third, l[i].third ^ r[i].first};
    return NBCOLL_OK;
}

static void an_operation_of_the_hosts_gets_whole_elements(void **state)
{
    enum { N = 50000 };
    int calls = 0;
    nbcoll_host_type type = {.size = sizeof type, .extent = sizeof(struct triple)};
    nbcoll_host_op op = {.size = sizeof op, .user = &calls, .combine = combine};
    struct triple *send[2], *recv[2], *wanted = malloc(N * sizeof *wanted);
    nbcoll_request q[2];
    world w;
    (void)state;
    open_place(&w, LOOPBACK, 2, NBCOLL_OPERATION_ALLREDUCE, "slots", NULL);
    for (int r = 0; r < 2; r++) {
        send[r] = malloc(N * sizeof *send[r]);
        recv[r] = malloc(N * sizeof *recv[r]);
        for (size_t i = 0; i < N; i++)
            send[r][i] = (struct triple){i + (size_t)r, i * 5 + (size_t)r, i * i};
        EXPECT(OK, nbcoll_iallreduce(send[r], recv[r], N, nbcoll_type_of(&type), nbcoll_op_of(&op), w.comm[r], &q[r]));
    }
    world_finish(&w, 2, q);
    assert_true(calls > 2 * (N * (int)sizeof *wanted / PASS));
    combine(&calls, wanted, send[0], send[1], N, 0);
    for (int r = 0; r < 2; r++) {
        assert_memory_equal(recv[r], wanted, N * sizeof *wanted);
        free(send[r]);
        free(recv[r]);
    }
    free(wanted);
    close_place(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_gather_of_large_blocks_is_divided),
        cmocka_unit_test(many_small_gets_are_divided),
        cmocka_unit_test(a_reduction_in_place_and_one_by_messages_are_divided),
        cmocka_unit_test(messages_in_pieces_are_divided),
        cmocka_unit_test(a_copy_is_divided_and_the_context_stays_awake),
        cmocka_unit_test(a_small_operation_passes_large_ones),
        cmocka_unit_test(operations_share_the_passes_by_turns),
        cmocka_unit_test(gets_share_the_passes_by_turns),
        cmocka_unit_test(what_is_cancelled_in_the_middle_is_not_touched_any_more),
        cmocka_unit_test(who_waits_gets_more_at_a_time_also_while_its_own_block_is_copied),
        cmocka_unit_test(each_step_starts_and_ends_once),
        cmocka_unit_test(all_reductions_are_right_around_the_limit),
        cmocka_unit_test(an_operation_of_the_hosts_gets_whole_elements),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
