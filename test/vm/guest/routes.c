/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Messages that agents, which are threads, carry over verbs between three ranks, of which one is killed meanwhile: what
 * is under way with it ends in time, by its name; all else goes on; and no queue pair is left. Runs in a guest.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include <nbcoll/message.h>
#include <nbcoll/offload.h>

#include "crew.h"

#include "agents.h"
#include "board.h"

enum { RANKS = 3, VICTIM = 1, MANY = 16, HALF = MANY / 2, LONG = 60000, TAG = 5 };

typedef struct scene {
    board board;
    bool is_calm;       /* the victim waits till what can end has ended */
    atomic_int started; /* survivors that have started all */
    atomic_int carried; /* that have seen their first messages carried */
} scene;

typedef struct member {
    int rank;
    helper helper;
    nbcoll_context *context;
    nbcoll_comm *comm;
    nbcoll_messages *messages;
    nbcoll_request sends[MANY], receives[MANY];
    unsigned char send[MANY][LONG], recv[MANY][LONG];
} member;

static unsigned char value_of(int from, int to, int n)
{
    return (unsigned char)(1 + from * 70 + to * 20 + n);
}

static void start_send(member *m, int to, int n)
{
    memset(m->send[n], value_of(m->rank, to, n), LONG);
    CHECK_STATUS(NBCOLL_OK, nbcoll_isend(m->send[n], LONG, NBCOLL_BYTE, to, TAG, m->messages, &m->sends[n]));
}

static void start_receive(member *m, int from, int n)
{
    memset(m->recv[n], 0, LONG);
    CHECK_STATUS(NBCOLL_OK,
                 nbcoll_irecv(m->recv[n], LONG, NBCOLL_BYTE, from, TAG, m->messages, NULL, &m->receives[n]));
}

static void check_received(const member *m, int from, int n)
{
    for (size_t i = 0; i < LONG; i++)
        CHECK(m->recv[n][i] == value_of(from, m->rank, n));
}

static void exchange(member *m, int with)
{
    start_receive(m, with, 0);
    start_send(m, with, 0);
    CHECK_STATUS(NBCOLL_OK, nbcoll_wait(&m->receives[0], 60 * SECOND));
    CHECK_STATUS(NBCOLL_OK, nbcoll_wait(&m->sends[0], 60 * SECOND));
    check_received(m, with, 0);
}

static void join(member *m, scene *s)
{
    const nbcoll_verbs_config far = {
        .size = sizeof far, .rank = m->rank, .ranks = RANKS, .timeout = 15, .probe_ms = 200};
    const nbcoll_messages_config messages = {.size = sizeof messages, .routes = 8};
    nbcoll_comm_config config = NBCOLL_COMM_DEFAULTS;
    nbcoll_endpoint *end = board_open(&s->board, &far);

    CHECK(end);
    CHECK_STATUS(NBCOLL_OK, nbcoll_context_create(NBCOLL_ABI, NULL, &m->context));
    helper_start(&m->helper, end);
    config.agent = m->helper.agent;
    CHECK_STATUS(NBCOLL_OK, nbcoll_comm_create(m->context, end, &config, &m->comm, 60 * SECOND));
    CHECK_STATUS(NBCOLL_OK, nbcoll_messages_open(m->comm, &messages, &m->messages, 60 * SECOND));
    for (int other = 0; other < RANKS; other++) /* from now on there are routes */
        if (other != m->rank)
            exchange(m, other);
    CHECK_STATUS(NBCOLL_OK, nbcoll_barrier(m->comm, 60 * SECOND));
}

/* To each and from each it does half of what these expect. Its context makes no progress then, only its agent. */
static void die(member *m, scene *s)
{
    rank_await(&s->started, RANKS - 1);
    for (int n = 0; n < HALF; n++)
        for (int side = 0; side < 2; side++) {
            nbcoll_request *q = &m->sends[n]; /* it waits for none */
            CHECK_STATUS(NBCOLL_OK, nbcoll_irecv(m->recv[n + side * HALF], LONG, NBCOLL_BYTE, 2 * side, TAG,
                                                 m->messages, NULL, q));
            memset(m->send[n + side * HALF], value_of(VICTIM, 2 * side, n), LONG);
            CHECK_STATUS(NBCOLL_OK, nbcoll_isend(m->send[n + side * HALF], LONG, NBCOLL_BYTE, 2 * side, TAG,
                                                 m->messages, q));
        }
    if (s->is_calm)
        rank_await(&s->carried, RANKS - 1);
    kill(getpid(), SIGKILL);
}

static void ends(member *m, nbcoll_request *q, bool may_be_well, int n)
{
    nbcoll_failure failure;
    nbcoll_status status = nbcoll_wait(q, 20 * SECOND);

    if (status == NBCOLL_OK && may_be_well) {
        if (q == &m->receives[n])
            check_received(m, VICTIM, n);
        return;
    }
    CHECK(status == NBCOLL_ERR_PEER_LOST);
    CHECK_STATUS(NBCOLL_OK, nbcoll_last_failure(m->context, &failure));
    CHECK(failure.rank == VICTIM);
    CHECK(failure.tag == NBCOLL_FAILURE_MESSAGE + TAG);
}

static void go_on(member *m)
{
    int other = 2 - m->rank, sum = 0, mine = m->rank;
    nbcoll_comm *left;

    exchange(m, other);
    CHECK_STATUS(NBCOLL_OK, nbcoll_comm_shrink(m->comm, &left, 60 * SECOND));
    CHECK(nbcoll_comm_size(left) == RANKS - 1);
    CHECK_STATUS(NBCOLL_OK, nbcoll_allreduce(&mine, &sum, 1, NBCOLL_INT, NBCOLL_SUM, left, 60 * SECOND));
    CHECK(sum == 2);
    exchange(m, other);
    CHECK_STATUS(NBCOLL_OK, nbcoll_messages_close(m->messages));
    CHECK_STATUS(NBCOLL_OK, nbcoll_comm_free(left));
    CHECK_STATUS(NBCOLL_OK, nbcoll_comm_free(m->comm));
    helper_end(&m->helper);
    leave_context(m->context);
}

static void live(int rank, void *user)
{
    static member me;
    scene *s = user;
    member *m = &me;

    m->rank = rank;
    join(m, s);
    if (rank == VICTIM)
        die(m, s);
    for (int n = 0; n < MANY; n++) {
        start_receive(m, VICTIM, n);
        start_send(m, VICTIM, n);
    }
    atomic_fetch_add(&s->started, 1);
    for (int n = 0; n < HALF && s->is_calm; n++) { /* though the victim's context makes no progress */
        CHECK_STATUS(NBCOLL_OK, nbcoll_wait(&m->sends[n], 60 * SECOND));
        CHECK_STATUS(NBCOLL_OK, nbcoll_wait(&m->receives[n], 60 * SECOND));
        check_received(m, VICTIM, n);
    }
    atomic_fetch_add(&s->carried, 1);
    for (int n = s->is_calm ? HALF : 0; n < MANY; n++) {
        ends(m, &m->sends[n], n < HALF, n);
        ends(m, &m->receives[n], n < HALF, n);
    }
    go_on(m);
}

static void kill_one(bool is_calm)
{
    const crew c = PROCESSES_3;
    int status[RANKS];
    scene *s = shared_memory(sizeof *s);

    s->is_calm = is_calm;
    assert_true(crew_run(&c, live, s, status));
    for (int rank = 0; rank < RANKS; rank++)
        assert_int_equal(status[rank], rank == VICTIM ? SIGKILL : 0);
}

static void what_agents_carry_to_a_rank_that_is_killed_ends_by_its_name(void **state)
{
    (void)state;
    kill_one(true);
}

static void so_does_what_is_half_carried(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++)
        kill_one(false);
}

static int nothing_is_left(void **state)
{
    (void)state;
    return a_queue_pair_is_left();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(what_agents_carry_to_a_rank_that_is_killed_ends_by_its_name, nothing_is_left),
        cmocka_unit_test_teardown(so_does_what_is_half_carried, nothing_is_left),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
