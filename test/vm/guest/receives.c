/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Shared receives over verbs, of ranks that are processes: rank 0 shares them among its pairs with ranks 1 and 2. A
 * helper refills on the device's event while the host sleeps and senders wait, endpoints beside each other hear of
 * theirs whoever reads the device's events, and a sender that is killed takes nothing from the other one. Where two
 * devices join them, each has receives of its own, and says when they are few. Runs in a guest with two devices.
 */
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <nbcoll/transport.h>

#include "board.h"
#include "crew.h"

enum { RANKS = 3, MESSAGES = 40, ALL = 2 * MESSAGES, FIRST = 12, BATCH = 8, LEAST = 4, AFTER = 5, NUMBER = 7 };

typedef struct plan {
    board board;
    bool on_rails; /* ranks 1 and 2 are joined to rank 0 by a device each */
    atomic_int goes, is_done;
} plan;

typedef struct end {
    nbcoll_endpoint *ep;
    const nbcoll_offload *call;
    nbcoll_completion_queue *sent, *received;
    nbcoll_shared_receives *shared; /* rank 0's */
    nbcoll_queue_pair *pair[RANKS];
    nbcoll_registration local;
    uint32_t memory[ALL];
} end;

static const char BOTH[] = "rxe0,rxe1";
static char told[300];

/* What the device says of a pair that it ends. */
static void hear(void *user, nbcoll_status why, const char *text)
{
    (void)user;
    fprintf(stderr, "%s: %s\n", nbcoll_status_name(why), text);
    strncpy(told, text, sizeof told - 1);
}

static void open_end(end *e, plan *p, int rank, uint32_t depth)
{
    const nbcoll_verbs_config config = {.size = sizeof config,
                                        .rank = rank,
                                        .ranks = RANKS,
                                        .device = p->on_rails ? BOTH : NULL,
                                        .timeout = 15,
                                        .probe_ms = 200,
                                        .host = {.size = sizeof config.host, .log = hear}};

    memset(e, 0, sizeof *e);
    e->ep = board_open(&p->board, &config);
    CHECK(e->ep);
    e->call = e->ep->transport->offload;
    CHECK_STATUS(NBCOLL_OK, e->ep->transport->bulk->register_memory(e->ep, -1, e->memory, sizeof e->memory,
                                                                    NBCOLL_LOCAL_END, &e->local));
    CHECK_STATUS(NBCOLL_OK, e->call->open_cq(e->ep, 2 * MESSAGES, &e->sent));
    CHECK_STATUS(NBCOLL_OK, e->call->open_cq(e->ep, ALL, &e->received));
    if (rank == 0)
        CHECK_STATUS(NBCOLL_OK, e->call->open_shared(e->ep, depth, e->received, &e->shared));
    for (int peer = 0; peer < RANKS; peer++) {
        const nbcoll_queue_config c = {.size = sizeof c,
                                       .peer = peer,
                                       .number = NUMBER,
                                       .depth = MESSAGES + 2,
                                       .sent = e->sent,
                                       .received = e->received,
                                       .shared = e->shared};
        if ((rank == 0) != (peer == 0))
            CHECK_STATUS(NBCOLL_OK, e->call->open_queue(e->ep, &c, &e->pair[peer]));
    }
}

static void close_end(end *e)
{
    for (int peer = 0; peer < RANKS; peer++)
        if (e->pair[peer])
            e->call->close(e->ep, e->pair[peer], NULL);
    if (e->shared)
        e->call->close_shared(e->ep, e->shared);
    e->call->close(e->ep, NULL, e->sent);
    e->call->close(e->ep, NULL, e->received);
    e->ep->transport->bulk->deregister_memory(e->ep, &e->local);
    nbcoll_endpoint_close(e->ep);
}

static nbcoll_posting posting_of(end *e, nbcoll_posting_kind kind, size_t at)
{
    return (nbcoll_posting){
        .kind = kind, .signal = 1, .memory = &e->memory[at], .bytes = sizeof *e->memory, .local = &e->local};
}

static void await_into(end *e, int sender, size_t at)
{
    nbcoll_posting p = posting_of(e, NBCOLL_POSTING_RECEIVE, at);
    p.from = sender + 1;
    CHECK_STATUS(NBCOLL_OK, e->call->post_shared(e->ep, e->shared, &p));
}

static void send_one(end *e, uint32_t value)
{
    const nbcoll_posting p = posting_of(e, NBCOLL_POSTING_SEND, value);
    e->memory[value] = value;
    CHECK_STATUS(NBCOLL_OK, e->call->post(e->ep, e->pair[0], &p));
}

static void await_sent(end *e, uint32_t count)
{
    nbcoll_status status;
    while ((status = e->call->wait(e->ep, e->sent, count)) == NBCOLL_PENDING)
        sched_yield();
    CHECK_STATUS(NBCOLL_OK, status);
}

/* It runs its pair until that comes. */
static void await_flag(const end *e, atomic_int *flag)
{
    while (!atomic_load(flag)) {
        e->call->wait(e->ep, e->sent, 2 * MESSAGES);
        sched_yield();
    }
}

/* The next message: whose, and its value. */
static nbcoll_status take_one(end *e, int *sender, uint32_t *value)
{
    nbcoll_shared_arrival came = {0};
    nbcoll_status status = e->call->take(e->ep, e->received, &came);

    if (status != NBCOLL_OK)
        return status;
    *sender = came.pair == e->pair[2] ? 2 : 1;
    CHECK(came.pair == e->pair[*sender]);
    *value = *(const uint32_t *)came.memory;
    return NBCOLL_OK;
}

static void take_a_greeting_of_each(end *e)
{
    for (int greeted = 0, sender; greeted != 6;) {
        uint32_t value;
        if (take_one(e, &sender, &value) == NBCOLL_OK) {
            CHECK(value == 0 && !(greeted & 1 << sender));
            greeted |= 1 << sender;
        }
    }
}

/* ---- a helper refills ------------------------------------------------------------------------------------------- */

typedef struct helper {
    end *e;
    int fd;
    size_t posted, wakes;
} helper;

/* Nobody else calls the transport in the meantime. */
static void *refill(void *user)
{
    helper *h = user;

    while (h->posted < ALL) {
        struct pollfd p = {.fd = h->fd, .events = POLLIN};
        CHECK(poll(&p, 1, 30000) == 1);
        h->wakes++;
        for (int i = 0; i < BATCH && h->posted < ALL; i++, h->posted++)
            await_into(h->e, 1 + (int)h->posted % 2, h->posted);
        CHECK_STATUS(NBCOLL_OK, h->e->call->watch_shared(h->e->ep, h->e->shared, LEAST, &h->fd));
    }
    return NULL;
}

static void receive_asleep(end *e, plan *p)
{
    helper h = {.e = e};
    struct pollfd now = {.events = POLLIN};
    uint32_t seen[RANKS] = {0}, value;
    pthread_t thread;
    int sender;

    for (int rank = 1; rank < RANKS; rank++)
        await_into(e, rank, (size_t)rank);
    take_a_greeting_of_each(e);
    for (; h.posted < FIRST; h.posted++)
        await_into(e, 1 + (int)h.posted % 2, h.posted);
    CHECK_STATUS(NBCOLL_OK, e->call->watch_shared(e->ep, e->shared, LEAST, &h.fd));
    now.fd = h.fd;
    CHECK(poll(&now, 1, 0) == 0); /* only the device's event can end this */
    CHECK(pthread_create(&thread, NULL, refill, &h) == 0);
    atomic_store(&p->goes, 1);
    CHECK(pthread_join(thread, NULL) == 0);
    CHECK(h.wakes >= (ALL - FIRST) / BATCH);
    for (int i = 0; i < ALL;) {
        if (take_one(e, &sender, &value) != NBCOLL_OK)
            continue;
        CHECK(value == ++seen[sender]);
        i++;
    }
    CHECK_STATUS(NBCOLL_PENDING, take_one(e, &sender, &value));
    atomic_store(&p->is_done, 1);
}

static void host_sleeps(int rank, void *user)
{
    plan *p = user;
    end e;

    open_end(&e, p, rank, ALL);
    if (rank == 0)
        receive_asleep(&e, p);
    else {
        send_one(&e, 0);
        await_sent(&e, 1);
        await_flag(&e, &p->goes);
        for (uint32_t i = 1; i <= MESSAGES; i++)
            send_one(&e, i);
        await_sent(&e, MESSAGES);
        await_flag(&e, &p->is_done);
    }
    close_end(&e);
}

static void run_asleep(bool on_rails)
{
    const crew c = CREW(1, 1, 1);
    plan *p = shared_memory(sizeof *p);

    p->on_rails = on_rails;
    crew_succeeds(&c, host_sleeps, p);
    assert_false(a_queue_pair_is_left());
}

static void a_helper_refills_on_the_devices_event_while_senders_wait(void **state)
{
    (void)state;
    run_asleep(false);
}

static void a_helper_refills_on_the_events_of_two_devices(void **state)
{
    long first = packets_sent_by("rxe0"), second = packets_sent_by("rxe1");

    (void)state;
    assert_true(first >= 0 && second >= 0);
    run_asleep(true);
    assert_true(packets_sent_by("rxe0") - first > 2 * MESSAGES && packets_sent_by("rxe1") - second > 2 * MESSAGES);
}

/* ---- a sender is killed ------------------------------------------------------------------------------------------ */

/* Until rank 1 is known to be lost and all of rank 2 is there, and something of it after that. */
static void receive_of_the_living(end *e, plan *p)
{
    uint32_t seen[RANKS] = {0}, value;
    bool is_lost = false;
    int sender;

    for (size_t i = 0; i < FIRST; i++)
        await_into(e, 1 + (int)i % 2, i);
    for (size_t next = 0; seen[2] < MESSAGES + 1;) {
        nbcoll_status status = take_one(e, &sender, &value);
        if (status == NBCOLL_OK) {
            CHECK(value == seen[sender]++);
            await_into(e, sender, FIRST + next++ % FIRST);
            continue;
        }
        CHECK(status == NBCOLL_PENDING || status == NBCOLL_ERR_PEER_LOST);
        is_lost = is_lost || status == NBCOLL_ERR_PEER_LOST;
        if (is_lost && seen[2] == MESSAGES)
            atomic_store(&p->goes, 1);
    }
    CHECK(is_lost && seen[1] >= AFTER);
    CHECK(strstr(told, "to rank 1: ")); /* of its end or of its memory's, whichever the device finds first */
    atomic_store(&p->is_done, 1);
}

static void one_is_killed(int rank, void *user)
{
    plan *p = user;
    end e;

    open_end(&e, p, rank, 2 * FIRST);
    if (rank == 0)
        receive_of_the_living(&e, p);
    for (uint32_t i = 0; rank && i < MESSAGES; i++) {
        send_one(&e, i);
        await_sent(&e, 1);
        if (rank == 1 && i + 1 == AFTER) {
            send_one(&e, i + 1); /* may come or not */
            raise(SIGKILL);
        }
    }
    if (rank == 2) {
        await_flag(&e, &p->goes);
        send_one(&e, MESSAGES);
        await_flag(&e, &p->is_done);
    }
    close_end(&e);
}

static void a_killed_sender_takes_nothing_from_the_others(void **state)
{
    const crew c = CREW(1, 1, 1);
    plan *p = shared_memory(sizeof *p);
    int status[RANKS];

    (void)state;
    assert_true(crew_run(&c, one_is_killed, p, status));
    for (int i = 0; i < RANKS; i++)
        assert_int_equal(status[i], i == 1 ? SIGKILL : 0);
    assert_false(a_queue_pair_is_left());
}

/* ---- endpoints beside each other --------------------------------------------------------------------------------- */

typedef struct beside {
    nbcoll_endpoint *ep[2];
    const nbcoll_offload *call;
    nbcoll_completion_queue *received[2];
    nbcoll_shared_receives *shared[2];
    nbcoll_queue_pair *pair[2];
    int fd[2];
} beside;

/* Both ends of their pair have shared receives. */
static void open_beside(beside *b)
{
    nbcoll_verbs_config config = {.size = sizeof config, .ranks = 2};
    nbcoll_verbs_address all[2];

    for (config.rank = 0; config.rank < 2; config.rank++, config.beside = b->ep[0])
        assert_int_equal(nbcoll_verbs_open(&config, &all[config.rank], &b->ep[config.rank]), NBCOLL_OK);
    b->call = b->ep[0]->transport->offload;
    for (int i = 0; i < 2; i++) {
        assert_int_equal(nbcoll_verbs_meet(b->ep[i], all), NBCOLL_OK);
        assert_int_equal(b->call->open_cq(b->ep[i], 8, &b->received[i]), NBCOLL_OK);
        assert_int_equal(b->call->open_shared(b->ep[i], 8, b->received[i], &b->shared[i]), NBCOLL_OK);
        const nbcoll_queue_config c = {
            .size = sizeof c, .peer = 1 - i, .number = NUMBER, .depth = 8, .shared = b->shared[i]};
        assert_int_equal(b->call->open_queue(b->ep[i], &c, &b->pair[i]), NBCOLL_OK);
    }
}

static void post_beside(const beside *b, int i, nbcoll_posting_kind kind)
{
    const nbcoll_posting p = {.kind = kind};
    assert_int_equal(kind == NBCOLL_POSTING_SEND ? b->call->post(b->ep[i], b->pair[i], &p)
                                                 : b->call->post_shared(b->ep[i], b->shared[i], &p),
                     NBCOLL_OK);
}

static bool is_rung(int fd, int milliseconds)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};
    return poll(&p, 1, milliseconds) == 1;
}

static void exchange_beside(const beside *b)
{
    for (int i = 0, came[2] = {0}; !came[0] || !came[1]; i = 1 - i) {
        nbcoll_shared_arrival a;
        came[i] += b->call->take(b->ep[i], b->received[i], &a) == NBCOLL_OK;
    }
}

static void endpoints_beside_each_other_hear_of_their_own_receives(void **state)
{
    nbcoll_shared_receives *second;
    beside b = {0};

    (void)state;
    open_beside(&b);
    for (int i = 0; i < 2; i++) {
        for (int n = 0; n < 4; n++)
            post_beside(&b, i, NBCOLL_POSTING_RECEIVE);
        post_beside(&b, i, NBCOLL_POSTING_SEND);
    }
    exchange_beside(&b); /* three are left to each; they are joined */
    for (int i = 0; i < 2; i++)
        assert_int_equal(b.call->watch_shared(b.ep[i], b.shared[i], 2, &b.fd[i]), NBCOLL_OK);
    assert_false(is_rung(b.fd[0], 0) || is_rung(b.fd[1], 0));
    for (int n = 0; n < 2; n++)
        post_beside(&b, 0, NBCOLL_POSTING_SEND);
    assert_true(is_rung(b.fd[1], 30000));
    assert_int_equal(b.call->watch_shared(b.ep[0], b.shared[0], 2, &b.fd[0]), NBCOLL_OK); /* reads the device's */
    assert_false(is_rung(b.fd[0], 0));
    assert_true(is_rung(b.fd[1], 0));
    for (int n = 0; n < 3; n++)
        post_beside(&b, 1, NBCOLL_POSTING_RECEIVE);
    assert_int_equal(b.call->watch_shared(b.ep[1], b.shared[1], 2, &b.fd[1]), NBCOLL_OK);
    assert_false(is_rung(b.fd[1], 0));
    assert_int_equal(b.call->open_shared(b.ep[0], UINT32_MAX, b.received[0], &second), NBCOLL_ERR_BUSY);
    for (int i = 0; i < 2; i++)
        b.call->close(b.ep[i], b.pair[i], NULL);
    for (int i = 0; i < 2; i++) {
        b.call->close_shared(b.ep[i], b.shared[i]);
        assert_int_equal(b.call->open_shared(b.ep[i], UINT32_MAX, b.received[i], &second), NBCOLL_ERR_LIMIT);
        b.call->close(b.ep[i], NULL, b.received[i]);
    }
    for (int i = 1; i >= 0; i--)
        nbcoll_endpoint_close(b.ep[i]);
    assert_false(a_queue_pair_is_left());
}

/* ---- two devices ------------------------------------------------------------------------------------------------- */

enum { HAS = 4, ROOM = 2 * HAS + 1 };

/* All ranks are this process; only rank 0 shares. */
typedef struct trio {
    nbcoll_endpoint *ep[RANKS];
    const nbcoll_offload *call;
    nbcoll_completion_queue *sent[RANKS], *received;
    nbcoll_shared_receives *shared;
    nbcoll_queue_pair *mine[RANKS], *theirs[RANKS]; /* by the sender */
} trio;

static void open_trio(trio *t)
{
    nbcoll_verbs_config config = {.size = sizeof config, .ranks = RANKS, .device = BOTH};
    nbcoll_verbs_address all[RANKS];

    for (config.rank = 0; config.rank < RANKS; config.rank++)
        assert_int_equal(nbcoll_verbs_open(&config, &all[config.rank], &t->ep[config.rank]), NBCOLL_OK);
    t->call = t->ep[0]->transport->offload;
    for (int i = 0; i < RANKS; i++)
        assert_int_equal(nbcoll_verbs_meet(t->ep[i], all), NBCOLL_OK);
    assert_int_equal(t->call->open_cq(t->ep[0], ROOM, &t->received), NBCOLL_OK);
    assert_int_equal(t->call->open_shared(t->ep[0], ROOM, t->received, &t->shared), NBCOLL_OK);
    for (int i = 1; i < RANKS; i++) {
        nbcoll_queue_config c = {.size = sizeof c, .peer = i, .number = NUMBER, .depth = ROOM, .shared = t->shared};
        assert_int_equal(t->call->open_queue(t->ep[0], &c, &t->mine[i]), NBCOLL_OK);
        assert_int_equal(t->call->open_cq(t->ep[i], ROOM, &t->sent[i]), NBCOLL_OK);
        c = (nbcoll_queue_config){.size = sizeof c, .number = NUMBER, .depth = ROOM, .sent = t->sent[i]};
        assert_int_equal(t->call->open_queue(t->ep[i], &c, &t->theirs[i]), NBCOLL_OK);
    }
}

static void close_trio(trio *t)
{
    for (int i = 1; i < RANKS; i++) {
        t->call->close(t->ep[i], t->theirs[i], NULL);
        t->call->close(t->ep[i], NULL, t->sent[i]);
        t->call->close(t->ep[0], t->mine[i], NULL);
    }
    t->call->close_shared(t->ep[0], t->shared);
    t->call->close(t->ep[0], NULL, t->received);
    for (int i = 0; i < RANKS; i++)
        nbcoll_endpoint_close(t->ep[i]);
    assert_false(a_queue_pair_is_left());
}

static void post_from(const trio *t, int sender, int count)
{
    const nbcoll_posting p = {.kind = NBCOLL_POSTING_RECEIVE, .from = sender + 1};
    for (int i = 0; i < count; i++)
        assert_int_equal(t->call->post_shared(t->ep[0], t->shared, &p), NBCOLL_OK);
}

static void send_of(const trio *t, int sender, int count)
{
    const nbcoll_posting p = {.kind = NBCOLL_POSTING_SEND, .signal = 1};
    for (int i = 0; i < count; i++)
        assert_int_equal(t->call->post(t->ep[sender], t->theirs[sender], &p), NBCOLL_OK);
}

/* The next messages are this sender's. */
static void take_of(const trio *t, int sender, int count)
{
    nbcoll_shared_arrival came;
    for (nbcoll_status status; count > 0; count -= status == NBCOLL_OK) {
        t->call->wait(t->ep[sender], t->sent[sender], ROOM);
        status = t->call->take(t->ep[0], t->received, &came);
        assert_true(status == NBCOLL_PENDING || (status == NBCOLL_OK && came.pair == t->mine[sender]));
    }
}

/* The descriptor says so at once. */
static bool are_few(const trio *t, int *fd)
{
    assert_int_equal(t->call->watch_shared(t->ep[0], t->shared, 2, fd), NBCOLL_OK);
    return is_rung(*fd, 0);
}

static void each_device_has_receives_of_its_own_and_says_when_they_are_few(void **state)
{
    const nbcoll_posting for_nobody = {.kind = NBCOLL_POSTING_RECEIVE};
    nbcoll_shared_arrival came;
    trio t = {0};
    int fd;

    (void)state;
    open_trio(&t);
    assert_int_equal(t.call->post_shared(t.ep[0], t.shared, &for_nobody), NBCOLL_ERR_ARGUMENT);
    for (int i = 1; i < RANKS; i++) { /* they are joined */
        post_from(&t, i, 1);
        send_of(&t, i, 1);
        take_of(&t, i, 1);
        post_from(&t, i, HAS);
    }
    for (int i = 1; i < RANKS; i++) {
        assert_false(are_few(&t, &fd));
        send_of(&t, i, HAS - 1);
        assert_true(is_rung(fd, 30000)); /* though the other one has all */
        take_of(&t, i, HAS - 1);
        assert_true(are_few(&t, &fd));
        post_from(&t, i, HAS - 1);
    }
    for (int i = 1; i < RANKS; i++) {
        send_of(&t, i, HAS + 1);
        take_of(&t, i, HAS);
        send_of(&t, RANKS - i, 1); /* is not held back */
        take_of(&t, RANKS - i, 1);
        post_from(&t, RANKS - i, 1);
        assert_int_equal(t.call->take(t.ep[0], t.received, &came), NBCOLL_PENDING);
        post_from(&t, i, HAS + 1);
        take_of(&t, i, 1);
    }
    close_trio(&t);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_helper_refills_on_the_devices_event_while_senders_wait),
        cmocka_unit_test(a_helper_refills_on_the_events_of_two_devices),
        cmocka_unit_test(a_killed_sender_takes_nothing_from_the_others),
        cmocka_unit_test(endpoints_beside_each_other_hear_of_their_own_receives),
        cmocka_unit_test(each_device_has_receives_of_its_own_and_says_when_they_are_few),
    };
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
