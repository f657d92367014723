/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What ranks over verbs do when something is lost: a datagram, a rank that sends, one that was never heard of, one that
 * lives, several ranks of a communicator that is then shrunk. No queue pair outlives its process. Runs in a guest.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <infiniband/verbs.h>

#include "board.h"
#include "crew.h"
#include "mortal.h"

/* The device sends again after 134 ms, six times; a rank that was never heard of is asked for 500 ms. So little only
 * where somebody is dead: a guest that others keep from its cores has ranks that answer after longer. */
enum { TIMEOUT = 15, RETRIES = 6, PROBE_MS = 200, CONNECT_MS = 500, TOLD_MS = 2000, RANKS = 8 };

static const nbcoll_verbs_config settings = {
    .size = sizeof settings, .timeout = TIMEOUT, .retries = RETRIES, .probe_ms = PROBE_MS, .connect_ms = CONNECT_MS};

static int nothing_is_left(void **state)
{
    (void)state;
    return a_queue_pair_is_left();
}

/* ---- datagrams --------------------------------------------------------------------------------------------------- */

static uint64_t time_is;

static uint64_t now_is(void *user)
{
    (void)user;
    return time_is;
}

static void progress_for(nbcoll_endpoint *ep, uint64_t ns)
{
    uint64_t since = clock_ns();

    do {
        nbcoll_completions found = NBCOLL_COMPLETIONS_EMPTY;
        ep->transport->progress(ep, &found);
    } while (clock_ns() - since < ns);
}

static void two_open(nbcoll_verbs_config config, nbcoll_verbs_address all[2], nbcoll_endpoint *end[2])
{
    config.ranks = 2;
    config.host = (nbcoll_host){.size = sizeof config.host, .now = now_is};
    assert_int_equal(nbcoll_verbs_open(&config, &all[0], &end[0]), NBCOLL_OK);
    config.rank = 1;
    assert_int_equal(nbcoll_verbs_open(&config, &all[1], &end[1]), NBCOLL_OK);
    assert_int_equal(nbcoll_verbs_meet(end[0], all), NBCOLL_OK);
}

/* Rank 1 does not read the first datagram, since it has not met the others yet. Rank 0 asks again at its next pass. */
static void a_lost_datagram_is_repeated_by_a_rank_that_seldom_progresses(void **state)
{
    enum { PASSES = 20 };
    nbcoll_verbs_address all[2];
    nbcoll_endpoint *end[2];
    nbcoll_header header = {{1}};
    nbcoll_work work = {0};
    nbcoll_posted said = NBCOLL_POST_NOT_NOW;

    (void)state;
    two_open((nbcoll_verbs_config){.size = sizeof(nbcoll_verbs_config)}, all, end);
    assert_int_equal(end[0]->transport->post(end[0], 1, &header, NULL, 0, &work), NBCOLL_POST_NOT_NOW);
    progress_for(end[1], SECOND / 10);
    assert_int_equal(nbcoll_verbs_meet(end[1], all), NBCOLL_OK);
    for (int pass = 0; pass < PASSES && said == NBCOLL_POST_NOT_NOW; pass++) {
        time_is += SECOND;
        progress_for(end[0], 0);
        progress_for(end[1], SECOND / 50 << (pass < 6 ? pass : 6)); /* longer, where the guest gets few cores */
        progress_for(end[0], 0);
        said = end[0]->transport->post(end[0], 1, &header, NULL, 0, &work);
    }
    assert_int_equal(said, NBCOLL_POST_IN_FLIGHT);
    for (bool is_back = false; !is_back;) {
        nbcoll_completions found = NBCOLL_COMPLETIONS_EMPTY;
        end[0]->transport->progress(end[0], &found);
        is_back = found.completed != NULL;
    }
    nbcoll_endpoint_close(end[0]);
    nbcoll_endpoint_close(end[1]);
}

/* ---- a rank that lives ------------------------------------------------------------------------------------------- */

static void hears_of_the_loss(nbcoll_endpoint *ep)
{
    nbcoll_completions found = NBCOLL_COMPLETIONS_EMPTY;

    for (uint64_t since = clock_ns(); found.lost < 0;) {
        assert_true(clock_ns() - since < 2 * SECOND);
        found = (nbcoll_completions)NBCOLL_COMPLETIONS_EMPTY;
        ep->transport->progress(ep, &found);
        assert_int_equal(found.departed, -1);
    }
    assert_int_equal(found.lost, 1 - ep->rank);
}

/* Rank 0 asks rank 1 to connect, which reads nothing meanwhile, and loses it. */
static void one_loses_the_other(nbcoll_verbs_address all[2], nbcoll_endpoint *end[2])
{
    nbcoll_header header = {{1}};
    nbcoll_work work = {0};

    two_open(settings, all, end);
    assert_int_equal(end[0]->transport->post(end[0], 1, &header, NULL, 0, &work), NBCOLL_POST_NOT_NOW);
    time_is += CONNECT_MS * (SECOND / 1000);
    hears_of_the_loss(end[0]);
}

static void who_is_lost_before_it_is_connected_is_told(void **state)
{
    nbcoll_verbs_address all[2];
    nbcoll_endpoint *end[2];

    (void)state;
    one_loses_the_other(all, end);
    assert_int_equal(nbcoll_verbs_meet(end[1], all), NBCOLL_OK);
    hears_of_the_loss(end[1]);
    nbcoll_endpoint_close(end[0]);
    nbcoll_endpoint_close(end[1]);
}

static void who_asks_one_that_has_lost_it_is_told(void **state)
{
    nbcoll_verbs_address all[2];
    nbcoll_endpoint *end[2];
    nbcoll_header header = {{1}};
    nbcoll_work work = {0};

    (void)state;
    one_loses_the_other(all, end);
    progress_for(end[1], SECOND / 10); /* what has come is of nobody yet */
    assert_int_equal(nbcoll_verbs_meet(end[1], all), NBCOLL_OK);
    assert_int_equal(end[1]->transport->post(end[1], 0, &header, NULL, 0, &work), NBCOLL_POST_NOT_NOW);
    progress_for(end[0], SECOND / 10);
    hears_of_the_loss(end[1]);
    assert_int_equal(end[1]->transport->post(end[1], 0, &header, NULL, 0, &work), NBCOLL_POST_LOST);
    nbcoll_endpoint_close(end[0]);
    nbcoll_endpoint_close(end[1]);
}

/* ---- ranks that die ---------------------------------------------------------------------------------------------- */

typedef struct plan {
    board board;
    int ranks;
    bool is_patient; /* with ranks that are late because others have the cores */
    uint64_t left[RANKS]; /* looks, or operations, until the rank dies; 0: it does not */
} plan;

typedef struct member {
    nbcoll_context *context;
    nbcoll_comm *comm;
} member;

static nbcoll_status join(int rank, plan *p, member *m)
{
    nbcoll_verbs_config config = settings;

    config.rank = rank;
    config.ranks = p->ranks;
    if (p->is_patient) {
        config.timeout = 17; /* the device sends again after 537 ms */
        config.connect_ms = 5000;
    }
    nbcoll_endpoint *endpoint = board_open(&p->board, &config);
    CHECK(endpoint);
    CHECK_STATUS(NBCOLL_OK, nbcoll_context_create(NBCOLL_ABI, NULL, &m->context));
    return nbcoll_comm_create(m->context, endpoint, NULL, &m->comm, 30 * SECOND);
}

static uint64_t leave(member *m)
{
    nbcoll_status status;
    uint64_t since = clock_ns();

    while ((status = nbcoll_context_free(m->context)) == NBCOLL_ERR_BUSY) { /* what was sent to the dead */
        CHECK(clock_ns() - since < 30 * SECOND);
        nbcoll_progress(m->context);
    }
    CHECK_STATUS(NBCOLL_OK, status);
    return clock_ns() - since;
}

static void told_in_time(const char *what, uint64_t since)
{
    unsigned ms = (unsigned)((clock_ns() - since) / 1000000);

    printf("%s: told after %u ms (timeout %d, retries %d, probe_ms %d, connect_ms %d)\n", what, ms, TIMEOUT, RETRIES,
           PROBE_MS, CONNECT_MS);
    rank_in_time(ms, TOLD_MS);
}

static void receive_from_the_dead(int rank, void *user)
{
    nbcoll_failure failure = {0};
    int64_t word = 0;
    member m;

    CHECK_STATUS(NBCOLL_OK, join(rank, user, &m));
    CHECK_STATUS(NBCOLL_OK, nbcoll_barrier(m.comm, 30 * SECOND));
    if (rank == 0)
        kill(getpid(), SIGKILL);
    uint64_t since = clock_ns();
    CHECK_STATUS(NBCOLL_ERR_PEER_LOST, nbcoll_bcast(&word, 1, NBCOLL_INT64, 0, m.comm, 30 * SECOND));
    told_in_time("a rank that only receives", since);
    nbcoll_comm_failure(m.comm, &failure);
    CHECK(failure.rank == 0);
    if (nbcoll_comm_size(m.comm) == 2) { /* nobody else can have told it */
        char text[200];
        nbcoll_failure_text(&failure, text, sizeof text);
        puts(text);
        CHECK(failure.reason.text && strcmp(failure.reason.text, ibv_wc_status_str(IBV_WC_RETRY_EXC_ERR)) == 0);
    }
    rank_in_time(leave(&m), TOLD_MS * (SECOND / 1000));
}

static void a_rank_that_only_receives_is_told_of_its_dead_sender(void **state)
{
    (void)state;
    for (int ranks = 2; ranks <= 3; ranks++) {
        const crew c = ranks == 2 ? PROCESSES_2 : PROCESSES_3;
        int status[RANKS], tries = 0;

        do {
            plan *p = shared_memory(sizeof *p);
            p->ranks = ranks;
            assert_true(crew_run(&c, receive_from_the_dead, p, status));
            for (int i = 0; i < ranks; i++)
                assert_int_equal(status[i], i ? 0 : SIGKILL);
        } while (crew_was_late(&tries));
    }
}

static void meet_the_dead(int rank, void *user)
{
    plan *p = user;
    member m;

    if (rank == 1) {
        nbcoll_verbs_config config = settings;
        config.rank = rank;
        config.ranks = p->ranks;
        CHECK(board_open(&p->board, &config));
        kill(getpid(), SIGKILL);
    }
    uint64_t since = clock_ns();
    CHECK_STATUS(NBCOLL_ERR_PEER_LOST, join(rank, p, &m));
    told_in_time("a rank that was never heard of", since);
    rank_in_time(leave(&m), TOLD_MS * (SECOND / 1000));
}

static void a_rank_that_was_never_heard_of_is_lost(void **state)
{
    const crew c = PROCESSES_2;
    int status[RANKS], tries = 0;

    (void)state;
    do {
        plan *p = shared_memory(sizeof *p);
        p->ranks = 2;
        assert_true(crew_run(&c, meet_the_dead, p, status));
        assert_int_equal(status[0], 0);
        assert_int_equal(status[1], SIGKILL);
    } while (crew_was_late(&tries));
}

/* ---- shrinking --------------------------------------------------------------------------------------------------- */

static void work_and_shrink(int rank, void *user)
{
    plan *p = user;
    member m;

    CHECK_STATUS(NBCOLL_OK, join(rank, p, &m));
    CHECK_STATUS(NBCOLL_OK, nbcoll_barrier(m.comm, 30 * SECOND));
    mortal_work(m.comm, p->left);
    leave(&m);
}

static void the_living_go_on_without_the_dead(void **state)
{
    static const crew crews[] = {{{1, 1}}, {{1, 1, 1, 1}}, {{1, 1, 1}}, {{1, 1, 1, 1, 1, 1, 1, 1}}};
    uint64_t random = seed_of_test();

    (void)state;
    for (size_t round = 0; round < sizeof crews / sizeof crews[0]; round++) {
        plan *p = shared_memory(sizeof *p);
        int status[RANKS];

        p->ranks = crew_ranks(&crews[round]);
        p->is_patient = true;
        for (size_t deaths = 1 + round % 3; deaths > 0; deaths--)
            p->left[random_of(&random) % (uint64_t)p->ranks] = 1 + random_of(&random) % (deaths % 2 ? 1000 : 30);
        p->left[random_of(&random) % (uint64_t)p->ranks] = 0;
        assert_true(crew_run(&crews[round], work_and_shrink, p, status));
        for (int r = 0; r < p->ranks; r++)
            assert_int_equal(status[r], p->left[r] ? SIGKILL : 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(a_lost_datagram_is_repeated_by_a_rank_that_seldom_progresses, nothing_is_left),
        cmocka_unit_test_teardown(who_is_lost_before_it_is_connected_is_told, nothing_is_left),
        cmocka_unit_test_teardown(who_asks_one_that_has_lost_it_is_told, nothing_is_left),
        cmocka_unit_test_teardown(a_rank_that_only_receives_is_told_of_its_dead_sender, nothing_is_left),
        cmocka_unit_test_teardown(a_rank_that_was_never_heard_of_is_lost, nothing_is_left),
        cmocka_unit_test_teardown(the_living_go_on_without_the_dead, nothing_is_left),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
