/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Relays that an agent's process moves over verbs, of three nodes of two ranks each: while both ranks of a node are
 * stopped, what is another node's passes through it by the ring, and when they go on, all they missed is there. Ranks
 * talk over shm, and say which node they are on. Runs in a guest.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include <nbcoll/offload.h>
#include <nbcoll/relay.h>
#include <nbcoll/shm.h>

#include "crew.h"

#include "agents.h"
#include "board.h"

enum { RANKS = 6, NEAR = 2, STOPPED = 2, AGENT = RANKS, BYTES = 500, AT_ONCE = 3 };

typedef struct scene {
    nbcoll_shm_id id;
    int socket[RANKS][2]; /* the rank's, and the agent's */
    pid_t pid[RANKS];
    atomic_int have_come; /* ranks that have all blocks but those of the stopped node */
} scene;

typedef struct member {
    int rank;
    scene *s;
    nbcoll_agent *agent;
    nbcoll_context *context;
    nbcoll_relays *relays;
    unsigned char send[AT_ONCE][BYTES], recv[AT_ONCE][RANKS * BYTES];
    uint64_t number[AT_ONCE];
} member;

static bool stops(int rank)
{
    return rank / NEAR == STOPPED / NEAR;
}

/* ---- ranks ------------------------------------------------------------------------------------------------------- */

static void join(member *m)
{
    const nbcoll_shm_config config = {
        .size = sizeof config, .id = m->s->id, .rank = m->rank, .ranks = RANKS, .quota = 1 << 20};
    const nbcoll_attach_config agent = {.size = sizeof agent, .socket = dup(m->s->socket[m->rank][0])};
    nbcoll_comm_config comm = NBCOLL_COMM_DEFAULTS;
    nbcoll_relays_config relays = NBCOLL_RELAYS_DEFAULTS;
    nbcoll_endpoint *end;
    nbcoll_comm *all;

    CHECK_STATUS(NBCOLL_OK, nbcoll_shm_open(&config, &end));
    CHECK_STATUS(NBCOLL_OK, nbcoll_agent_attach(end, &agent, &m->agent));
    CHECK_STATUS(NBCOLL_OK, nbcoll_context_create(NBCOLL_ABI, NULL, &m->context));
    comm.node = 1 + (uint64_t)(m->rank / NEAR);
    CHECK_STATUS(NBCOLL_OK, nbcoll_comm_create(m->context, end, &comm, &all, 60 * SECOND));
    relays.topology = NBCOLL_TOPOLOGY_RING;
    relays.at_once = AT_ONCE;
    relays.fragment = 300;
    relays.by_agents = 1;
    relays.agent = m->agent;
    CHECK_STATUS(NBCOLL_OK, nbcoll_relays_open(all, &relays, &m->relays));
    CHECK_STATUS(NBCOLL_OK, nbcoll_relays_wait(m->relays, 0, 60 * SECOND));
}

static void leave(member *m)
{
    CHECK_STATUS(NBCOLL_OK, nbcoll_relays_close(m->relays, 60 * SECOND));
    CHECK_STATUS(NBCOLL_OK, nbcoll_agent_close(m->agent));
    leave_context(m->context);
}

static unsigned char value_of(int rank, int operation, size_t i)
{
    return (unsigned char)((size_t)rank * 37 + (size_t)operation * 11 + i * 3 + i / 256);
}

static void start(member *m, int operation)
{
    for (size_t i = 0; i < BYTES; i++)
        m->send[operation][i] = value_of(m->rank, operation, i);
    CHECK_STATUS(NBCOLL_OK, nbcoll_relays_allgather(m->relays, m->send[operation], m->recv[operation], BYTES,
                                                    &m->number[operation]));
}

static void check_block(const member *m, int operation, int of)
{
    for (size_t i = 0; i < BYTES; i++)
        CHECK(m->recv[operation][(size_t)of * BYTES + i] == value_of(of, operation, i));
}

/* The blocks of the ranks that are not stopped come. */
static void await_the_others(member *m, int operation)
{
    uint64_t since = clock_ns(), number = m->number[operation];

    for (int of = 0; of < RANKS; of++) {
        while (!stops(of) && nbcoll_relays_arrived(m->relays, number, of) != NBCOLL_OK) {
            CHECK(clock_ns() - since < 60 * SECOND);
            CHECK_STATUS(NBCOLL_PENDING, nbcoll_relays_test(m->relays, number));
        }
        if (!stops(of))
            check_block(m, operation, of);
    }
}

/* The last one of the others lets them go on. */
static void continue_the_stopped(scene *s)
{
    if (atomic_fetch_add(&s->have_come, 1) < RANKS - NEAR - 1)
        return;
    for (int rank = 0; rank < RANKS; rank++)
        if (stops(rank)) {
            CHECK(process_is_stopped(s->pid[rank]));
            kill(s->pid[rank], SIGCONT);
        }
}

static void stop_or_see(const member *m)
{
    const scene *s = m->s;
    uint64_t since = clock_ns();

    if (stops(m->rank)) {
        raise(SIGSTOP);
        CHECK(atomic_load(&s->have_come) == RANKS - NEAR);
        return;
    }
    while (!(process_is_stopped(s->pid[STOPPED]) && process_is_stopped(s->pid[STOPPED + 1])))
        CHECK(clock_ns() - since < 60 * SECOND);
}

static void live(int rank, void *user)
{
    member m = {.s = user, .rank = rank};

    if (rank == AGENT) {
        agents_serve(RANKS, m.s->socket);
        return;
    }
    m.s->pid[rank] = getpid();
    join(&m);
    stop_or_see(&m);
    for (int o = 0; o < AT_ONCE; o++)
        start(&m, o);
    for (int o = 0; o < AT_ONCE && !stops(rank); o++)
        await_the_others(&m, o);
    if (!stops(rank))
        continue_the_stopped(m.s);
    for (int o = 0; o < AT_ONCE; o++) {
        CHECK_STATUS(NBCOLL_OK, nbcoll_relays_wait(m.relays, m.number[o], 60 * SECOND));
        for (int of = 0; of < RANKS; of++)
            check_block(&m, o, of);
    }
    leave(&m);
}

static void a_node_whose_ranks_are_all_stopped_passes_on(void **state)
{
    const crew c = CREW(1, 1, 1, 1, 1, 1, 1);
    scene *s = shared_memory(sizeof *s);

    (void)state;
    assert_int_equal(nbcoll_shm_id_make(&s->id), NBCOLL_OK);
    for (int i = 0; i < RANKS; i++)
        assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, s->socket[i]), 0);
    crew_succeeds(&c, live, s);
    for (int i = 0; i < RANKS; i++) {
        close(s->socket[i][0]);
        close(s->socket[i][1]);
    }
    assert_false(a_queue_pair_is_left());
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_node_whose_ranks_are_all_stopped_passes_on)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
