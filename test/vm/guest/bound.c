/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Collectives whose blocks get their lengths at the start (alltoallv, alltoallw, gatherv), as programs over verbs: one
 * program brings blocks of other lengths each time, with an agent that is a thread of each rank, and with one that is a
 * process for all, also while a rank is stopped. Runs in a guest.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include <nbcoll/offload.h>
#include <nbcoll/shm.h>

#include "crew.h"

#include "agents.h"
#include "board.h"

enum { RANKS = 4, AGENT = RANKS, ROUNDS = 4, UNIT = 1500, LONGEST = 5 * UNIT, ROOT = 2 };

typedef struct scene {
    board board;
    nbcoll_shm_id id;
    int socket[RANKS][2]; /* the rank's, and the agent's */
    pid_t stopped;
    atomic_int started, ended, done;
} scene;

typedef struct member {
    scene *s;
    int rank, round;
    nbcoll_endpoint *end;
    nbcoll_context *context;
    nbcoll_comm *comm;
    nbcoll_agent *agent;
    int32_t *send, *recv; /* [RANKS * LONGEST] */
} member;

/* ---- what goes from whom to whom --------------------------------------------------------------------------------- */

/* Elements: none to some, a few in the first round, more than any eager message has in later ones. */
static size_t count_of(const member *m, int from, int to)
{
    return (size_t)((from * 5 + to * 3 + m->round) % 6) * (m->round ? UNIT : 1);
}

static int32_t value_of(const member *m, int from, int to, size_t i)
{
    return from * 100000000 + to * 10000000 + m->round * 100000 + (int32_t)i;
}

/* The blocks of this rank to all, or from all, each behind the one before. */
static void counts_of(const member *m, bool is_recv, size_t counts[RANKS], size_t displs[RANKS])
{
    size_t at = 0;

    for (int peer = 0; peer < RANKS; peer++) {
        counts[peer] = is_recv ? count_of(m, peer, m->rank) : count_of(m, m->rank, peer);
        displs[peer] = at;
        at += counts[peer];
    }
}

static void fill(const member *m, const size_t counts[RANKS], const size_t displs[RANKS])
{
    for (int to = 0; to < RANKS; to++)
        for (size_t i = 0; i < counts[to]; i++)
            m->send[displs[to] + i] = value_of(m, m->rank, to, i);
    memset(m->recv, 0xee, RANKS * LONGEST * sizeof *m->recv);
}

/* The blocks that have come, and that nothing stands behind them. */
static void check(const member *m, const size_t counts[RANKS], const size_t displs[RANKS])
{
    size_t end = displs[RANKS - 1] + counts[RANKS - 1];

    for (int from = 0; from < RANKS; from++)
        for (size_t i = 0; i < counts[from]; i++)
            CHECK(m->recv[displs[from] + i] == value_of(m, from, m->rank, i));
    CHECK(end == RANKS * LONGEST || m->recv[end] == (int32_t)0xeeeeeeee);
}

static void must_be_program(const member *m, nbcoll_operation operation)
{
    nbcoll_args args = {.size = sizeof args, .operation = operation, .reduction = {NBCOLL_INT32, NBCOLL_SUM}};
    args.root = operation == NBCOLL_OPERATION_GATHERV ? ROOT : 0;
    CHECK_STATUS(NBCOLL_OK, nbcoll_comm_offloads(m->comm, &args, NULL));
}

/* ---- the collectives --------------------------------------------------------------------------------------------- */

static void exchange(const member *m, nbcoll_request *request)
{
    size_t counts[2][RANKS], displs[2][RANKS];

    for (int is_recv = 0; is_recv < 2; is_recv++)
        counts_of(m, is_recv, counts[is_recv], displs[is_recv]);
    fill(m, counts[0], displs[0]);
    CHECK_STATUS(NBCOLL_OK, nbcoll_ialltoallv(m->send, counts[0], displs[0], m->recv, counts[1], displs[1],
                                              NBCOLL_INT32, m->comm, request));
}

static void check_exchange(const member *m)
{
    size_t counts[RANKS], displs[RANKS];

    counts_of(m, true, counts, displs);
    check(m, counts, displs);
}

static void exchange_types(const member *m)
{
    const nbcoll_type types[] = {NBCOLL_INT32, NBCOLL_INT32, NBCOLL_INT32, NBCOLL_INT32},
                      bytes[] = {NBCOLL_BYTE, NBCOLL_INT32, NBCOLL_BYTE, NBCOLL_INT32};
    size_t counts[2][RANKS], displs[2][RANKS];

    for (int is_recv = 0; is_recv < 2; is_recv++)
        counts_of(m, is_recv, counts[is_recv], displs[is_recv]);
    fill(m, counts[0], displs[0]);
    for (int peer = 0; peer < RANKS; peer++) {
        displs[0][peer] *= sizeof(int32_t);
        displs[1][peer] *= sizeof(int32_t);
        counts[1][peer] *= peer % 2 ? 1 : sizeof(int32_t); /* a block's bytes count, not its type */
    }
    CHECK_STATUS(NBCOLL_OK, nbcoll_alltoallw(m->send, counts[0], displs[0], types, m->recv, counts[1], displs[1], bytes,
                                             m->comm, 60 * SECOND));
    check_exchange(m);
}

static void gather(const member *m)
{
    size_t counts[RANKS], displs[RANKS], mine[RANKS] = {count_of(m, m->rank, ROOT)}, none[RANKS] = {0};

    counts_of(m, true, counts, displs);
    fill(m, mine, none);
    for (size_t i = 0; i < mine[0]; i++)
        m->send[i] = value_of(m, m->rank, ROOT, i);
    bool is_root = m->rank == ROOT;
    CHECK_STATUS(NBCOLL_OK, nbcoll_gatherv(m->send, mine[0], m->recv, is_root ? counts : NULL, is_root ? displs : NULL,
                                           NBCOLL_INT32, ROOT, m->comm, 60 * SECOND));
    if (is_root)
        check(m, counts, displs);
}

static void do_all(member *m)
{
    nbcoll_request request;

    must_be_program(m, NBCOLL_OPERATION_ALLTOALLV);
    must_be_program(m, NBCOLL_OPERATION_ALLTOALLW);
    must_be_program(m, NBCOLL_OPERATION_GATHERV);
    for (m->round = 0; m->round < ROUNDS; m->round++) {
        exchange(m, &request);
        CHECK_STATUS(NBCOLL_OK, nbcoll_wait(&request, 60 * SECOND));
        check_exchange(m);
        exchange_types(m);
        gather(m);
    }
}

/* ---- ranks ------------------------------------------------------------------------------------------------------- */

/* A rank on its endpoint, which its agent knows already. */
static void join(member *m)
{
    nbcoll_comm_config config = NBCOLL_COMM_DEFAULTS;
    void *memory;

    config.agent = m->agent;
    CHECK_STATUS(NBCOLL_OK, nbcoll_context_create(NBCOLL_ABI, NULL, &m->context));
    CHECK_STATUS(NBCOLL_OK, nbcoll_comm_create(m->context, m->end, &config, &m->comm, 60 * SECOND));
    CHECK_STATUS(NBCOLL_OK, nbcoll_mem_alloc(m->comm, 2 * RANKS * LONGEST * sizeof *m->send, &memory));
    m->send = memory;
    m->recv = m->send + RANKS * LONGEST;
}

/* All are there before the first one leaves, which closes queue pairs. */
static void leave(const member *m)
{
    uint64_t since = clock_ns();

    for (atomic_fetch_add(&m->s->done, 1); atomic_load(&m->s->done) < RANKS; nbcoll_progress(m->context))
        CHECK(clock_ns() - since < 60 * SECOND);
}

static void have_a_thread(int rank, void *user)
{
    const nbcoll_verbs_config config = {.size = sizeof config, .rank = rank, .ranks = RANKS, .timeout = 15};
    member m = {.s = user, .rank = rank};
    helper h;

    m.end = board_open(&m.s->board, &config);
    CHECK(m.end);
    helper_start(&h, m.end);
    m.agent = h.agent;
    join(&m);
    do_all(&m);
    leave(&m);
    helper_end(&h);
    leave_context(m.context);
}

/* Rank 0 has started and is stopped before the others start; rank 1 continues it when they have their blocks. */
static void exchange_while_0_is_stopped(member *m)
{
    scene *s = m->s;
    nbcoll_request request;
    uint64_t since = clock_ns();

    m->round = ROUNDS;
    while (m->rank && !(atomic_load(&s->started) && process_is_stopped(s->stopped)))
        CHECK(clock_ns() - since < 60 * SECOND);
    exchange(m, &request);
    if (m->rank == 0) {
        s->stopped = getpid();
        atomic_store(&s->started, 1);
        kill(getpid(), SIGSTOP);
        CHECK(atomic_load(&s->ended) == RANKS - 1);
    }
    CHECK_STATUS(NBCOLL_OK, nbcoll_wait(&request, 60 * SECOND));
    check_exchange(m);
    atomic_fetch_add(&s->ended, 1);
    while (m->rank == 1 && atomic_load(&s->ended) < RANKS - 1)
        CHECK(clock_ns() - since < 60 * SECOND);
    if (m->rank == 1)
        kill(s->stopped, SIGCONT);
}

static void have_a_process(int rank, void *user)
{
    member m = {.s = user, .rank = rank};

    if (rank == AGENT) {
        agents_serve(RANKS, m.s->socket);
        return;
    }
    nbcoll_shm_config config = {.size = sizeof config, .id = m.s->id, .rank = rank, .ranks = RANKS, .quota = 2 << 20};
    nbcoll_attach_config agent = {.size = sizeof agent, .socket = dup(m.s->socket[rank][0])};
    CHECK_STATUS(NBCOLL_OK, nbcoll_shm_open(&config, &m.end));
    CHECK_STATUS(NBCOLL_OK, nbcoll_agent_attach(m.end, &agent, &m.agent));
    join(&m);
    do_all(&m);
    exchange_while_0_is_stopped(&m);
    leave(&m);
    CHECK_STATUS(NBCOLL_OK, nbcoll_agent_close(m.agent));
    leave_context(m.context);
}

/* ---- the tests --------------------------------------------------------------------------------------------------- */

static void threads_bring_blocks_of_other_lengths_each_time(void **state)
{
    const crew c = CREW(1, 1, 1, 1);

    (void)state;
    crew_succeeds(&c, have_a_thread, shared_memory(sizeof(scene)));
    assert_false(a_queue_pair_is_left());
}

static void a_process_brings_them_also_while_a_rank_is_stopped(void **state)
{
    const crew c = CREW(1, 1, 1, 1, 1);
    scene *s = shared_memory(sizeof *s);

    (void)state;
    assert_int_equal(nbcoll_shm_id_make(&s->id), NBCOLL_OK);
    for (int i = 0; i < RANKS; i++)
        assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, s->socket[i]), 0);
    crew_succeeds(&c, have_a_process, s);
    for (int i = 0; i < RANKS; i++) {
        close(s->socket[i][0]);
        close(s->socket[i][1]);
    }
    assert_false(a_queue_pair_is_left());
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_bring_blocks_of_other_lengths_each_time),
        cmocka_unit_test(a_process_brings_them_also_while_a_rank_is_stopped),
    };
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
