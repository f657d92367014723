/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What ofi makes of providers that are slow, full, or wrong, as fake.c plays them: credits, message numbers, failures,
 * raw keys; and of random posts, puts, cancels and closes over providers of all kinds.
 */
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <nbcoll/ofi.h>
#include <rdma/fi_domain.h>

#include "crew.h"
#include "fake.h"

enum { RANKS = 4, CREDITS = 6, ROOM = 4096, PUTS = 4, MANY = 70000, SEEDS = 400, ACTS = 300 };
enum { PATIENCE_S = 20, LOST_MS = 2000 };

typedef struct put {
    nbcoll_work work;
    nbcoll_registration source;
    unsigned char from[ROOM];
    int to;
    bool is_under_way;
} put;

static nbcoll_endpoint *end[RANKS]; /* null: closed */
static int ranks;
static uint64_t seed;
static int posted[RANKS][RANKS], arrived[RANKS][RANKS]; /* messages and notices, from and to; at */
static int kinds[RANKS][RANKS][ACTS];                   /* of each: 0, or 1 + which put */
static bool is_told[RANKS][RANKS], is_lost[RANKS];      /* at, of; to anybody */
static int alone;                                       /* a rank that cannot connect, or -1 */
static uint64_t ahead;                                  /* the hosts' clock of the system's */
static put given[RANKS][PUTS];                          /* of each */
static unsigned char room[RANKS][RANKS][PUTS][ROOM];    /* at, for */
static nbcoll_registration lent[RANKS][RANKS][PUTS];
static nbcoll_status last_status;

static uint64_t any(uint64_t below)
{
    return random_of(&seed) % below;
}

static size_t length_of(int number)
{
    return number % 5 == 0 ? 256 : (size_t)(number * 7 % 200);
}

static uint64_t now_of(void *user)
{
    (void)user;
    return clock_ns() + ahead;
}

/* ---- a world ----------------------------------------------------------------------------------------------------- */

static void opens(int n, const fake *provider)
{
    nbcoll_ofi_config config = {.size = sizeof config,
                                .ranks = n,
                                .credits = CREDITS,
                                .payload = 256,
                                .lost_ms = LOST_MS,
                                .host = {.now = now_of}};
    nbcoll_ofi_address all[RANKS];

    ranks = n;
    fake_provider = *provider;
    memset(posted, 0, sizeof posted);
    memset(arrived, 0, sizeof arrived);
    memset(is_told, 0, sizeof is_told);
    memset(is_lost, 0, sizeof is_lost);
    memset(given, 0, sizeof given);
    alone = -1;
    for (config.rank = 0; config.rank < n; config.rank++)
        assert_int_equal(nbcoll_ofi_open(&config, &all[config.rank], &end[config.rank]), NBCOLL_OK);
    for (int rank = 0; rank < n; rank++)
        assert_int_equal(nbcoll_ofi_meet(end[rank], all), NBCOLL_OK);
}

static void takes(int rank, const nbcoll_arrival *a)
{
    int from = a->source, number = arrived[rank][from]++, which = kinds[from][rank][number % ACTS];
    const unsigned char *payload = a->payload;

    assert_int_equal(a->header.word[0], number);
    assert_int_equal(a->header.word[1], from);
    assert_false(is_told[rank][from]);
    if (which) { /* a notice: all of the put is here */
        assert_int_equal(a->bytes, 0);
        assert_memory_equal(room[rank][from][which - 1], given[from][which - 1].from, ROOM);
        return;
    }
    assert_int_equal(a->bytes, length_of(number));
    for (size_t i = 0; i < a->bytes; i++)
        assert_int_equal(payload[i], (unsigned char)number);
}

static void gives_back(int rank, const nbcoll_work *w)
{
    for (int i = 0; i < PUTS; i++)
        if (&given[rank][i].work == w) {
            assert_true(given[rank][i].is_under_way);
            given[rank][i].is_under_way = false;
            last_status = w->status;
        }
}

static void looks(int rank)
{
    nbcoll_completions found = NBCOLL_COMPLETIONS_EMPTY;

    if (!end[rank])
        return;
    fake_provider.is_alone = rank == alone;
    end[rank]->transport->progress(end[rank], &found);
    for (const nbcoll_arrival *a = found.arrived; a; a = a->next)
        takes(rank, a);
    for (nbcoll_work *w = found.completed, *next; w; w = next) {
        next = w->next;
        gives_back(rank, w);
    }
    if (found.lost >= 0) {
        is_lost[found.lost] = true;
        is_told[rank][found.lost] = true;
    }
    if (found.departed >= 0)
        is_told[rank][found.departed] = true;
}

static void all_look(void)
{
    for (int rank = 0; rank < ranks; rank++)
        looks(rank);
}

#define AWAIT(condition)                                                                                               \
    for (uint64_t since = clock_ns(); !(condition); all_look())                                                        \
    assert_true(clock_ns() - since < PATIENCE_S * SECOND)

static nbcoll_posted posts(int rank, int to)
{
    static nbcoll_work work;
    unsigned char payload[256];
    int number = posted[rank][to];
    const nbcoll_header header = {{(uint64_t)number, (uint64_t)rank}};

    memset(payload, number, sizeof payload);
    fake_provider.is_alone = rank == alone;
    kinds[rank][to][number % ACTS] = 0;
    nbcoll_posted said = end[rank]->transport->post(end[rank], to, &header, payload, length_of(number), &work);
    posted[rank][to] += said == NBCOLL_POST_DONE;
    return said;
}

static void lends(int rank, int to, int which)
{
    const nbcoll_bulk *bulk = end[rank]->transport->bulk;
    assert_int_equal(
        bulk->register_memory(end[to], rank, room[to][rank][which], ROOM, NBCOLL_PEER_WRITES, &lent[to][rank][which]),
        NBCOLL_OK);
    assert_int_equal(bulk->register_memory(end[rank], to, given[rank][which].from, ROOM, NBCOLL_LOCAL_END,
                                           &given[rank][which].source),
                     NBCOLL_OK);
}

static nbcoll_posted puts_one(int rank, int to, int which)
{
    put *p = &given[rank][which];
    int number = posted[rank][to];
    const nbcoll_header notice = {{(uint64_t)number, (uint64_t)rank}};

    nbcoll_posted said = end[rank]->transport->bulk->put(end[rank], to, &lent[to][rank][which].key, 0, &p->source,
                                                         p->from, ROOM, &notice, &p->work);
    p->to = to;
    p->is_under_way = said == NBCOLL_POST_IN_FLIGHT;
    return said;
}

static void closes(int rank)
{
    for (int peer = 0; peer < ranks; peer++)
        for (int i = 0; i < PUTS; i++)
            if (lent[rank][peer][i].word[0]) {
                end[rank]->transport->bulk->deregister_memory(end[rank], &lent[rank][peer][i]);
                lent[rank][peer][i] = (nbcoll_registration){.key = {{0}}};
            }
    for (int i = 0; i < PUTS; i++)
        if (given[rank][i].source.word[0]) {
            end[rank]->transport->bulk->deregister_memory(end[rank], &given[rank][i].source);
            given[rank][i].source = (nbcoll_registration){.key = {{0}}};
        }
    nbcoll_endpoint_close(end[rank]);
    end[rank] = NULL;
}

static void all_close(void)
{
    for (int rank = 0; rank < ranks; rank++)
        if (end[rank])
            closes(rank);
    assert_int_equal(fake_open(), 0);
}

/* ---- each fault -------------------------------------------------------------------------------------------------- */

static void no_more_are_under_way_than_there_are_credits(void **state)
{
    (void)state;
    opens(3, &(fake){.inject = 16, .has_fd = true});
    for (int round = 0; round < 20; round++) {
        for (int from = 0; from < 2; from++) {
            int before = posted[from][2];
            while (posts(from, 2) == NBCOLL_POST_DONE)
                assert_true(posted[from][2] - before <= CREDITS);
            assert_true(posted[from][2] - before > (round ? CREDITS / 2 : CREDITS - 1)); /* others are not told yet */
        }
        assert_true(fake_messages() <= 2 * CREDITS);
        for (int i = 0; i < 100; i++)
            looks(0), looks(1);
        assert_int_equal(posts(0, 2), NBCOLL_POST_NOT_NOW); /* however often it looks: the other one has to */
        AWAIT(arrived[2][0] == posted[0][2] && arrived[2][1] == posted[1][2] && fake_messages() == 0);
    }
    all_close();
}

/* Nothing else would: no message comes, and none of its own is on its way. */
static void a_post_that_was_refused_wakes_its_rank_though_another_one_has_gone(void **state)
{
    (void)state;
    opens(3, &(fake){.inject = 16, .has_fd = true});
    const nbcoll_wakeup *wakeup = end[0]->transport->wakeup;
    for (int to = 1; to < 3; to++)
        while (posts(0, to) != NBCOLL_POST_DONE)
            all_look();
    AWAIT(arrived[1][0] == 1 && arrived[2][0] == 1);
    for (int i = 0; i < 100; i++)
        all_look();
    fake_provider.refused = 1000;
    assert_int_equal(posts(0, 1), NBCOLL_POST_NOT_NOW);
    fake_provider.refused = 0;
    assert_int_equal(posts(0, 2), NBCOLL_POST_DONE);
    struct pollfd at = {.fd = wakeup->fd(end[0]), .events = POLLIN};
    for (uint64_t since = clock_ns(); wakeup->arm(end[0]) != NBCOLL_OK;) /* without a progress: the post waits */
        assert_true(clock_ns() - since < PATIENCE_S * SECOND);
    assert_int_equal(poll(&at, 1, PATIENCE_S * 1000), 1);
    looks(0);
    assert_int_equal(posts(0, 1), NBCOLL_POST_DONE);
    AWAIT(arrived[1][0] == 2 && arrived[2][0] == 2);
    all_close();
}

static void numbers_go_round(void **state)
{
    (void)state;
    opens(2, &(fake){.inject = 16});
    while (posted[0][1] < MANY) {
        assert_int_not_equal(posts(0, 1), NBCOLL_POST_LOST);
        all_look();
    }
    AWAIT(arrived[1][0] == MANY);
    all_close();
}

static void who_misses_a_message_loses_its_sender(void **state)
{
    nbcoll_transport_error why = {0};

    (void)state;
    opens(2, &(fake){.inject = 16});
    assert_int_equal(posts(0, 1), NBCOLL_POST_DONE);
    AWAIT(arrived[1][0] == 1);
    fake_provider.dropped = 1;
    for (int i = 0; i < 3; i++)
        assert_int_equal(posts(0, 1), NBCOLL_POST_DONE);
    AWAIT(is_told[1][0]);
    assert_true(is_lost[0]);
    assert_int_equal(arrived[1][0], 1); /* and none of those behind it */
    end[1]->transport->reason(end[1], 0, &why);
    assert_int_equal(why.code, EBADMSG);
    AWAIT(is_told[0][1]);
    assert_true(is_lost[1]);
    all_close();
}

static void who_misses_a_message_hears_of_it_by_an_acknowledgement(void **state)
{
    (void)state;
    opens(2, &(fake){.inject = 16, .dropped = 1});
    assert_int_equal(posts(0, 1), NBCOLL_POST_DONE);
    while (posts(1, 0) == NBCOLL_POST_DONE)
        ;
    AWAIT(is_told[1][0]);
    assert_true(is_lost[0]);
    assert_int_equal(arrived[1][0], 0);
    all_close();
}

static void loses_the_peer_of_a_failed_send(size_t inject)
{
    opens(3, &(fake){.inject = inject, .failed_sends = 1});
    assert_int_equal(posts(0, 1), NBCOLL_POST_DONE);
    assert_int_equal(posts(0, 2), NBCOLL_POST_DONE);
    uint64_t begin = clock_ns();
    AWAIT(is_told[0][1]);
    assert_true(is_lost[1]);
    AWAIT(is_told[1][0]);
    assert_true(is_lost[0]);
    assert_true(clock_ns() - begin < SECOND); /* a rank that has missed a message says so */
    AWAIT(arrived[2][0] == 1);
    assert_false(is_told[0][2]);
    all_close();
}

static void a_send_that_fails_loses_its_peer(void **state)
{
    (void)state;
    loses_the_peer_of_a_failed_send(16);
    loses_the_peer_of_a_failed_send(4096); /* which was copied */
}

/* It does not look meanwhile. Its goodbye comes later than any failure of what was sent to it, but before it counts as
 * lost. */
static void who_leaves_after_a_send_to_it_has_failed_is_not_lost(void **state)
{
    (void)state;
    opens(2, &(fake){.inject = 16, .has_rma = true, .mr_mode = FI_MR_PROV_KEY});
    lends(0, 1, 0);
    assert_int_equal(posts(1, 0), NBCOLL_POST_DONE);
    AWAIT(arrived[0][1] == 1);
    while (puts_one(0, 1, 0) != NBCOLL_POST_IN_FLIGHT)
        all_look();
    fake_provider.failed_sends = 1;
    assert_int_equal(posts(0, 1), NBCOLL_POST_DONE);
    for (int i = 0; i < 100; i++)
        looks(0);
    ahead += SECOND + SECOND / 2;
    for (int i = 0; i < 100; i++)
        looks(0);
    assert_true(given[0][0].is_under_way);
    closes(1);
    AWAIT(is_told[0][1] && !given[0][0].is_under_way);
    assert_false(is_lost[1]);
    assert_int_equal(last_status, NBCOLL_ERR_PEER_LOST);
    all_close();
}

/* Rank 0 loses rank 1, to which it cannot connect. */
static void loses_unmet(void)
{
    opens(2, &(fake){.inject = 16});
    alone = 0;
    assert_int_equal(posts(0, 1), NBCOLL_POST_DONE);
    AWAIT(is_told[0][1]);
    assert_true(is_lost[1]);
    assert_int_equal(posts(0, 1), NBCOLL_POST_LOST);
    assert_false(is_told[1][0]);
}

static void who_could_not_be_connected_to_is_told_of_its_loss_when_it_can(void **state)
{
    (void)state;
    loses_unmet();
    alone = -1;
    AWAIT(is_told[1][0]);
    assert_true(is_lost[0]);
    all_close();
}

static void who_connects_to_one_that_has_lost_it_is_told_so(void **state)
{
    (void)state;
    loses_unmet();
    assert_int_equal(posts(1, 0), NBCOLL_POST_DONE);
    AWAIT(is_told[1][0]);
    assert_true(is_lost[0]);
    assert_int_equal(arrived[0][1], 0);
    all_close();
}

/* Nobody has left in good order to whom it is lost. */
static void who_closes_is_lost_to_whom_it_has_lost(void **state)
{
    nbcoll_completions found = NBCOLL_COMPLETIONS_EMPTY;

    (void)state;
    loses_unmet();
    closes(0);
    assert_int_equal(posts(1, 0), NBCOLL_POST_DONE);
    while (found.lost < 0) {
        assert_true(found.departed < 0);
        end[1]->transport->progress(end[1], &found);
    }
    all_close();
}

static void a_write_that_fails_is_the_put_s_alone(void **state)
{
    uint64_t begin = clock_ns();

    (void)state;
    opens(2, &(fake){.inject = 16, .has_rma = true, .mr_mode = FI_MR_PROV_KEY});
    lends(0, 1, 0);
    fake_provider.failed_writes = 1;
    assert_int_equal(puts_one(0, 1, 0), NBCOLL_POST_IN_FLIGHT);
    AWAIT(!given[0][0].is_under_way);
    assert_int_equal(last_status, NBCOLL_ERR_FAULT);
    assert_true(clock_ns() - begin < SECOND); /* its peer answers: nothing else is waited for */
    assert_int_equal(posts(0, 1), NBCOLL_POST_DONE);
    AWAIT(arrived[1][0] == 1);
    all_close();
}

/* Rank 1 gives rank 2 up: what that puts fails at once, and is no fault of the memory. */
static void who_is_given_up_puts_no_more(void **state)
{
    (void)state;
    opens(3, &(fake){.inject = 16, .has_rma = true, .mr_mode = FI_MR_PROV_KEY, .refused = 700});
    lends(2, 1, 0);
    lends(0, 1, 0);
    while (posts(1, 2) != NBCOLL_POST_DONE)
        all_look();
    while (posts(1, 0) != NBCOLL_POST_DONE)
        all_look();
    end[1]->transport->give_up(end[1], 2);
    uint64_t begin = clock_ns();
    while (puts_one(2, 1, 0) != NBCOLL_POST_IN_FLIGHT)
        all_look();
    AWAIT(!given[2][0].is_under_way);
    assert_int_equal(last_status, NBCOLL_ERR_TRANSPORT);
    assert_true(clock_ns() - begin < SECOND);
    while (puts_one(0, 1, 0) != NBCOLL_POST_IN_FLIGHT) /* of others they go where the endpoint is now */
        all_look();
    kinds[0][1][posted[0][1]++] = 1;
    AWAIT(!given[0][0].is_under_way && arrived[1][0] == 1);
    assert_int_equal(last_status, NBCOLL_OK);
    all_close();
}

static void without_another_endpoint_all_puts_to_it_fail(void **state)
{
    (void)state;
    opens(3, &(fake){.inject = 16, .has_rma = true, .mr_mode = FI_MR_PROV_KEY});
    lends(2, 1, 0);
    lends(0, 1, 0);
    assert_int_equal(posts(1, 0), NBCOLL_POST_DONE);
    fake_provider.refused_endpoints = 1;
    end[1]->transport->give_up(end[1], 2);
    assert_int_equal(posts(1, 0), NBCOLL_POST_DONE);
    AWAIT(arrived[0][1] == 2);
    assert_int_equal(puts_one(0, 1, 0), NBCOLL_POST_IN_FLIGHT);
    AWAIT(!given[0][0].is_under_way);
    assert_int_equal(last_status, NBCOLL_ERR_TRANSPORT);
    all_close();
}

static void a_raw_key_is_mapped_while_its_put_lasts(void **state)
{
    (void)state;
    for (size_t bytes = 16; bytes <= 32; bytes += 8) {
        opens(2, &(fake){.has_rma = true, .mr_mode = FI_MR_RAW | FI_MR_PROV_KEY, .key_bytes = bytes});
        assert_int_equal(end[0]->limits.key_bytes, sizeof(nbcoll_key));
        lends(0, 1, 0);
        memset(given[0][0].from, 7, ROOM);
        assert_int_equal(puts_one(0, 1, 0), NBCOLL_POST_IN_FLIGHT);
        assert_int_equal(fake_mapped(), 1);
        kinds[0][1][posted[0][1]++] = 1;
        AWAIT(arrived[1][0] == 1 && !given[0][0].is_under_way && fake_mapped() == 0);
        all_close();
    }
}

static void longer_keys_are_not_used(void **state)
{
    (void)state;
    opens(2, &(fake){.has_rma = true, .mr_mode = FI_MR_RAW | FI_MR_PROV_KEY, .key_bytes = 40});
    assert_null(end[0]->transport->bulk);
    all_close();
}

/* ---- anything ---------------------------------------------------------------------------------------------------- */

static fake any_provider(void)
{
    static const int modes[] = {0, FI_MR_PROV_KEY | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED,
                                FI_MR_LOCAL | FI_MR_PROV_KEY | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED, FI_MR_ENDPOINT,
                                FI_MR_RAW | FI_MR_PROV_KEY | FI_MR_LOCAL};
    return (fake){.seed = random_of(&seed),
                  .mr_mode = modes[any(5)],
                  .key_bytes = 24,
                  .inject = any(2) ? 64 : 4096 * any(2),
                  .piece = any(2) ? 1000 : 0,
                  .has_rma = any(4) > 0,
                  .has_fd = any(2),
                  .refused = any(2) ? (unsigned)any(600) : 0,
                  .late = any(2) ? (unsigned)any(60) : 0};
}

static void does_anything(int rank)
{
    int to = (int)any((uint64_t)ranks), which = (int)any(PUTS);
    put *p = &given[rank][which];
    nbcoll_posted said = NBCOLL_POST_NOT_NOW;

    if (!end[rank])
        return;
    if (any(3) == 0 || to == rank || !end[rank]->transport->bulk || !end[to] || p->is_under_way || p->source.word[0] ||
        lent[to][rank][which].word[0])
        said = posts(rank, to);
    else {
        /* its notice goes behind what is posted meanwhile: nothing is, until it is back */
        memset(p->from, (int)any(256), ROOM);
        lends(rank, to, which);
        said = puts_one(rank, to, which);
        if (said == NBCOLL_POST_IN_FLIGHT) {
            kinds[rank][to][posted[rank][to]++ % ACTS] = which + 1;
            bool is_cancelled = any(8) == 0;
            if (is_cancelled)
                end[rank]->transport->cancel(end[rank], &p->work);
            AWAIT(!p->is_under_way);
            if (last_status == NBCOLL_ERR_CANCELLED) {
                assert_true(is_cancelled);
                posted[rank][to]--;
            } else
                assert_int_equal(last_status, NBCOLL_OK);
            AWAIT(arrived[to][rank] == posted[rank][to]);
        }
        const nbcoll_bulk *bulk = end[rank]->transport->bulk;
        bulk->deregister_memory(end[rank], &p->source);
        bulk->deregister_memory(end[to], &lent[to][rank][which]);
        p->source = lent[to][rank][which] = (nbcoll_registration){.key = {{0}}};
    }
    assert_true(said != NBCOLL_POST_LOST || !end[to]);
}

/* All that was posted arrives once, in its order, before its sender's leave, and nobody is lost. */
static void whatever_is_done_over_any_provider_arrives(void **state)
{
    uint64_t first = seed_of_test();

    (void)state;
    for (uint64_t i = 0; i < SEEDS; i += (uint64_t)sampled(4)) {
        seed = first + i;
        const fake provider = any_provider();
        int closing = (int)any(RANKS);
        opens(2 + (int)any(RANKS - 1), &provider);
        for (int act = 0; act < ACTS; act++) {
            int rank = (int)any((uint64_t)ranks);
            any(2) ? looks(rank) : does_anything(rank);
            if (act == ACTS * 3 / 4 && closing < ranks)
                closes(closing); /* at once behind its last post */
        }
        for (int to = 0; to < ranks; to++)
            for (int from = 0; from < ranks; from++)
                if (end[to])
                    AWAIT(arrived[to][from] == posted[from][to]);
        for (int rank = 0; rank < ranks && closing < ranks; rank++)
            if (rank != closing)
                AWAIT(is_told[rank][closing]);
        for (int rank = 0; rank < ranks; rank++)
            assert_false(is_lost[rank]);
        all_close();
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_more_are_under_way_than_there_are_credits),
        cmocka_unit_test(a_post_that_was_refused_wakes_its_rank_though_another_one_has_gone),
        cmocka_unit_test(numbers_go_round),
        cmocka_unit_test(who_misses_a_message_loses_its_sender),
        cmocka_unit_test(who_misses_a_message_hears_of_it_by_an_acknowledgement),
        cmocka_unit_test(a_send_that_fails_loses_its_peer),
        cmocka_unit_test(who_leaves_after_a_send_to_it_has_failed_is_not_lost),
        cmocka_unit_test(who_could_not_be_connected_to_is_told_of_its_loss_when_it_can),
        cmocka_unit_test(who_connects_to_one_that_has_lost_it_is_told_so),
        cmocka_unit_test(who_closes_is_lost_to_whom_it_has_lost),
        cmocka_unit_test(a_write_that_fails_is_the_put_s_alone),
        cmocka_unit_test(who_is_given_up_puts_no_more),
        cmocka_unit_test(without_another_endpoint_all_puts_to_it_fail),
        cmocka_unit_test(a_raw_key_is_mapped_while_its_put_lasts),
        cmocka_unit_test(longer_keys_are_not_used),
        cmocka_unit_test(whatever_is_done_over_any_provider_arrives),
    };
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
