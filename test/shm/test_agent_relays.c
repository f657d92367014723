/* SPDX-License-Identifier: BSD-3-Clause
 * Relays that an agent's process moves: a node whose ranks are all stopped receives and passes on; ranks and the
 * process that die; what is refused; and nonsense, by which a rank breaks its own relays and nothing else. */
#include <poll.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "../../src/offload/commands.h"
#include "../../src/relay/relays_agents.h"
#include "served.h"
#include "tally.h"

enum { FRAGMENT = 16 };
enum { RANKS = 6, NEAR = 2, MANY = 64, AT_ONCE = 3, BYTES = 50, OPERATIONS = 80, KILLS = 8, LONGEST_US = 10000 };

typedef struct scene {
    int ranks, near; /* of each node; the process of the agent of all follows behind the last rank's */
    nbcoll_shm_config config;
    nbcoll_serve_config how;
    nbcoll_topology_kind topology;
    size_t carries;      /* of the relays */
    nbcoll_status opens; /* how the opening ends */
    rank_main *main;
    served sockets;
    pid_t pid[MANY + 1];
    bool leaders_give; /* their agents to the relays, and no others */
    atomic_int started, ended;
    atomic_int rings; /* of the process */
    int victim;        /* -1: nobody dies at a moment of chance */
    unsigned after_us; /* of the beginning */
} scene;

/* One rank. */
typedef struct actor {
    member m;
    scene *s;
    nbcoll_agent *agent;
    nbcoll_relays *relays; /* closed at the end, if they are there */
    unsigned char mine[AT_ONCE][BYTES], all[AT_ONCE][MANY * BYTES];
    uint64_t number[AT_ONCE];
} actor;

/* In this process. The program is linked so that the library's sleeps, and the process's rings, come here first
 * (--wrap). */
static struct {
    actor *waiter; /* null: sleeps are as they are */
    int operation, late;
    bool is_deaf, has_said;
    int sleeps; /* since it has said that it lacks the late block alone */
    atomic_int *rings; /* the agent's process: it counts them; null: this is a rank */
} here;

/* ---- beginnings and ends ----------------------------------------------------------------------------------------- */

static nbcoll_relays_config relays_config(const actor *a)
{
    nbcoll_relays_config config = NBCOLL_RELAYS_DEFAULTS;
    config.by_agents = 1;
    config.agent = a->s->leaders_give && nbcoll_comm_rank(a->m.comm) % a->s->near ? NULL : a->agent;
    config.topology = a->s->topology;
    config.at_once = AT_ONCE;
    config.fragment = FRAGMENT;
    config.carries = a->s->carries;
    return config;
}

static nbcoll_relays *begin_relays(const actor *a)
{
    nbcoll_relays_config config = relays_config(a);
    nbcoll_relays *relays;
    CHECK_STATUS(NBCOLL_OK, nbcoll_relays_open(a->m.comm, &config, &relays));
    return relays;
}

static nbcoll_relays *open_relays(const actor *a, nbcoll_status status)
{
    nbcoll_relays *relays = begin_relays(a);
    CHECK_STATUS(status, nbcoll_relays_wait(relays, 0, 30 * SECOND));
    return relays;
}

/* It keeps nothing of what has ended. */
static void serve(const scene *s, const int mine[])
{
    tally counted = {.used = 0};
    nbcoll_host host = tally_host(&counted);
    nbcoll_agent_config agent = {.size = sizeof agent, .host = &host};
    nbcoll_serve_config how = s->how;
    how.agent = &agent;
    served_serve(&s->sockets, mine, &how);
    CHECK(counted.used == 0);
}

static void play(int rank, void *user)
{
    scene *s = user;
    int mine[MANY];
    served_take(&s->sockets, rank, mine);
    s->pid[rank] = getpid();
    if (rank == s->ranks) {
        here.rings = &s->rings;
        serve(s, mine);
        return;
    }
    actor a = {.s = s};
    nbcoll_shm_config config = s->config;
    nbcoll_comm_config comm = NBCOLL_COMM_DEFAULTS;
    config.rank = rank;
    comm.node = 1 + (uint64_t)(rank / s->near);
    a.agent = served_join(&a.m, &config, mine[rank], NULL, NULL, comm, true);
    a.relays = open_relays(&a, s->opens);
    s->main(rank, &a);
    if (a.relays)
        CHECK_STATUS(NBCOLL_OK, nbcoll_relays_close(a.relays, 30 * SECOND));
    member_leave(&a.m);
    CHECK_STATUS(NBCOLL_OK, nbcoll_agent_close(a.agent));
}

static scene *scene_of(int ranks, int near, rank_main *main)
{
    scene *s = shared_memory(sizeof *s);
    s->ranks = ranks;
    s->near = near;
    s->config = (nbcoll_shm_config){
        .size = sizeof s->config, .id = fresh_id(), .ranks = ranks, .quota = 1 << 20, .timeout = 30 * SECOND};
    s->topology = NBCOLL_TOPOLOGY_RING; /* each node passes on */
    s->main = main;
    s->victim = -1;
    return s;
}

static scene *scene_new(rank_main *main)
{
    return scene_of(RANKS, NEAR, main);
}

/* All end well, but for one that is killed; -1: none is. A victim may end well before. */
static void run(scene *s, int killed)
{
    int status[MANY + 1], ranks = s->ranks, victim = s->victim;
    crew processes = {{0}};
    for (int i = 0; i <= ranks; i++)
        processes.threads[i] = 1;
    served_open(&s->sockets, ranks);
    bool is_over = crew_run(&processes, play, s, status);
    served_close(&s->sockets);
    munmap(s, sizeof *s);
    assert_true(is_over);
    for (int i = 0; i <= ranks; i++)
        assert_true(status[i] == (i == killed ? SIGKILL : 0) || (i == victim && status[i] == SIGKILL));
}

/* ---- operations -------------------------------------------------------------------------------------------------- */

static void fill(unsigned char block[BYTES], int rank, int o)
{
    for (int i = 0; i < BYTES; i++)
        block[i] = (unsigned char)(rank * 37 + o * 11 + i);
}

static void check(const unsigned char *block, int rank, int o)
{
    unsigned char wanted[BYTES];
    fill(wanted, rank, o);
    CHECK(memcmp(block, wanted, BYTES) == 0);
}

static void start(actor *a, int o)
{
    int rank = nbcoll_comm_rank(a->m.comm), at = o % AT_ONCE;
    fill(a->mine[at], rank, o);
    CHECK_STATUS(NBCOLL_OK, nbcoll_relays_allgather(a->relays, a->mine[at], a->all[at], BYTES, &a->number[at]));
}

static void finish(actor *a, int o)
{
    CHECK_STATUS(NBCOLL_OK, nbcoll_relays_wait(a->relays, a->number[o % AT_ONCE], 30 * SECOND));
    for (int of = 0; of < a->s->ranks; of++)
        check(a->all[o % AT_ONCE] + of * BYTES, of, o);
}

/* Until that rank's block is there. */
static void come(actor *a, int o, int of)
{
    uint64_t begin = clock_ns(), number = a->number[o % AT_ONCE];
    while (nbcoll_relays_arrived(a->relays, number, of) == NBCOLL_PENDING) {
        CHECK(clock_ns() - begin < 30 * SECOND);
        (void)nbcoll_relays_test(a->relays, number);
        sched_yield();
    }
    check(a->all[o % AT_ONCE] + of * BYTES, of, o);
}

/* ---- results ----------------------------------------------------------------------------------------------------- */

static void gather_beside_programs(int rank, void *user)
{
    actor *a = user;
    for (int o = 0; o < OPERATIONS; o++) {
        int32_t in = rank, sum = 0;
        nbcoll_request request;
        bool has_program = o % 5 == 0;
        if (has_program)
            CHECK_STATUS(NBCOLL_OK, nbcoll_iallreduce(&in, &sum, 1, NBCOLL_INT32, NBCOLL_SUM, a->m.comm, &request));
        start(a, o);
        finish(a, o);
        if (has_program)
            CHECK_STATUS(NBCOLL_OK, nbcoll_wait(&request, 30 * SECOND));
        CHECK(!has_program || sum == RANKS * (RANKS - 1) / 2);
    }
}

static void a_process_moves_relays_beside_programs(void **state)
{
    static const nbcoll_topology_kind topologies[] = {NBCOLL_TOPOLOGY_RING, NBCOLL_TOPOLOGY_CAYLEY};
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        scene *s = scene_new(gather_beside_programs);
        s->topology = topologies[i];
        run(s, -1);
    }
}

/* ---- a node whose ranks are all stopped -------------------------------------------------------------------------- */

enum { STOPPED = 2 }; /* this rank and the next one, which are a node */

static bool stops(int rank)
{
    return rank / NEAR == STOPPED / NEAR;
}

/* The others begin when both are. */
static void stop_or_see(int rank, scene *s)
{
    uint64_t begin = clock_ns();
    if (stops(rank))
        raise(SIGSTOP);
    while (!stops(rank) && !(process_is_stopped(s->pid[STOPPED]) && process_is_stopped(s->pid[STOPPED + 1])) &&
           !atomic_load(&s->ended)) {
        CHECK(clock_ns() - begin < 30 * SECOND);
        sched_yield();
    }
}

/* When all others have come here. */
static void go_on(int rank, scene *s)
{
    if (!stops(rank) && atomic_fetch_add(&s->ended, 1) == RANKS - NEAR - 1)
        for (int i = 0; i < NEAR; i++) {
            CHECK(process_is_stopped(s->pid[STOPPED + i]));
            kill(s->pid[STOPPED + i], SIGCONT);
        }
}

/* By the ring node 0's blocks come to node 2 over node 1. Of the stopped ones nothing comes. */
static void stop_before_the_start(int rank, void *user)
{
    actor *a = user;
    stop_or_see(rank, a->s);
    for (int o = 0; o < AT_ONCE; o++)
        start(a, o);
    for (int o = 0; o < AT_ONCE && !stops(rank); o++)
        for (int of = 0; of < RANKS; of++)
            if (!stops(of))
                come(a, o, of);
    for (int o = 0; o < AT_ONCE && !stops(rank); o++)
        CHECK_STATUS(NBCOLL_PENDING, nbcoll_relays_test(a->relays, a->number[o]));
    go_on(rank, a->s);
    for (int o = 0; o < AT_ONCE; o++)
        finish(a, o);
}

static void a_node_that_is_stopped_before_it_starts_passes_on_and_is_late_alone(void **state)
{
    (void)state;
    run(scene_new(stop_before_the_start), -1);
}

/* Of a root that is not stopped all of a broadcast comes: the others end. */
static void broadcast_past_the_stopped(int rank, void *user)
{
    actor *a = user;
    stop_or_see(rank, a->s);
    for (int o = 0; o < AT_ONCE; o++) {
        if (rank == 0)
            fill(a->all[o], 0, o);
        CHECK_STATUS(NBCOLL_OK, nbcoll_relays_bcast(a->relays, a->all[o], BYTES, 0, &a->number[o]));
    }
    for (int o = 0; o < AT_ONCE; o++) {
        CHECK_STATUS(NBCOLL_OK, nbcoll_relays_wait(a->relays, a->number[o], 30 * SECOND));
        check(a->all[o], 0, o);
    }
    go_on(rank, a->s);
}

static void others_end_broadcasts_that_a_stopped_node_has_not_started(void **state)
{
    (void)state;
    run(scene_new(broadcast_past_the_stopped), -1);
}

/* What they have handed over goes out without them. */
static void stop_after_the_start(int rank, void *user)
{
    actor *a = user;
    for (int o = 0; o < AT_ONCE && stops(rank); o++)
        start(a, o);
    stop_or_see(rank, a->s);
    for (int o = 0; o < AT_ONCE && !stops(rank); o++)
        start(a, o);
    for (int o = 0; o < AT_ONCE && !stops(rank); o++)
        finish(a, o);
    go_on(rank, a->s);
    for (int o = 0; o < AT_ONCE && stops(rank); o++)
        finish(a, o);
}

static void others_end_allgathers_that_a_stopped_node_has_started(void **state)
{
    (void)state;
    run(scene_new(stop_after_the_start), -1);
}

/* ---- calls ------------------------------------------------------------------------------------------------------- */

static scene *scene_of_calls(rank_main *main)
{
    scene *s = scene_new(main);
    s->carries = BYTES;
    return s;
}

static void call(actor *a, int o, nbcoll_request *q)
{
    int at = o % AT_ONCE;
    fill(a->mine[at], nbcoll_comm_rank(a->m.comm), o);
    CHECK_STATUS(NBCOLL_OK, nbcoll_iallgather(a->mine[at], a->all[at], BYTES, NBCOLL_BYTE, a->m.comm, q));
}

static void called(actor *a, int o, nbcoll_request *q)
{
    CHECK_STATUS(NBCOLL_OK, nbcoll_wait(q, 30 * SECOND));
    for (int of = 0; of < RANKS; of++)
        check(a->all[o % AT_ONCE] + of * BYTES, of, o);
}

/* Broadcasts of rank 0 end past the stopped node, which then finds them; allgathers that it has started end, too. */
static void call_past_the_stopped(int rank, void *user)
{
    actor *a = user;
    nbcoll_request q[AT_ONCE];
    for (int o = 0; o < OPERATIONS; o++) {
        call(a, o, &q[0]);
        called(a, o, &q[0]);
    }
    stop_or_see(rank, a->s);
    for (int o = 0; o < AT_ONCE; o++) {
        if (rank == 0)
            fill(a->all[o], 0, o);
        CHECK_STATUS(NBCOLL_OK, nbcoll_ibcast(a->all[o], BYTES, NBCOLL_BYTE, 0, a->m.comm, &q[o]));
    }
    for (int o = 0; o < AT_ONCE; o++) {
        CHECK_STATUS(NBCOLL_OK, nbcoll_wait(&q[o], 30 * SECOND));
        check(a->all[o], 0, o);
    }
    go_on(rank, a->s);
}

static void call_then_stop(int rank, void *user)
{
    actor *a = user;
    nbcoll_request q[AT_ONCE];
    for (int o = 0; o < AT_ONCE && stops(rank); o++)
        call(a, o, &q[o]);
    stop_or_see(rank, a->s);
    for (int o = 0; o < AT_ONCE && !stops(rank); o++)
        call(a, o, &q[o]);
    for (int o = 0; o < AT_ONCE && !stops(rank); o++)
        called(a, o, &q[o]);
    go_on(rank, a->s);
    for (int o = 0; o < AT_ONCE && stops(rank); o++)
        called(a, o, &q[o]);
}

static void others_end_calls_past_a_stopped_node(void **state)
{
    (void)state;
    run(scene_of_calls(call_past_the_stopped), -1);
    run(scene_of_calls(call_then_stop), -1);
}

/* The last rank starts none; who waits is told, and so is who calls later. */
static void call_and_lose(int rank, actor *a, int lost)
{
    nbcoll_request q;
    if (rank == RANKS - 1) {
        rank_await(&a->s->started, RANKS - 1);
        kill(a->s->pid[lost], SIGKILL);
    } else {
        call(a, 0, &q);
        atomic_fetch_add(&a->s->started, 1);
        CHECK_STATUS(NBCOLL_ERR_PEER_LOST, nbcoll_wait(&q, 10 * SECOND));
    }
    nbcoll_status s;
    uint64_t begin = clock_ns();
    while ((s = nbcoll_relays_test(a->relays, 0)) == NBCOLL_OK) {
        CHECK(clock_ns() - begin < 10 * SECOND);
        sched_yield();
    }
    CHECK_STATUS(NBCOLL_ERR_PEER_LOST, s);
    CHECK_STATUS(NBCOLL_ERR_PEER_LOST, nbcoll_bcast(a->all[0], BYTES, NBCOLL_BYTE, 1, a->m.comm, 10 * SECOND));
}

static void call_and_lose_a_leader(int rank, void *user)
{
    call_and_lose(rank, user, STOPPED);
}

static void call_and_lose_the_process(int rank, void *user)
{
    call_and_lose(rank, user, RANKS);
}

static void whoever_dies_ends_calls(void **state)
{
    (void)state;
    run(scene_of_calls(call_and_lose_a_leader), STOPPED);
    run(scene_of_calls(call_and_lose_the_process), RANKS);
}

/* ---- deaths ------------------------------------------------------------------------------------------------------ */

/* How they are, once they are broken. */
static nbcoll_status breaks(nbcoll_relays *relays)
{
    nbcoll_status status;
    uint64_t begin = clock_ns();
    while ((status = nbcoll_relays_test(relays, 0)) == NBCOLL_OK) {
        CHECK(clock_ns() - begin < 10 * SECOND);
        sched_yield();
    }
    return status;
}

/* The last rank starts nothing; when all others have started, it kills somebody. */
static void lose(int rank, actor *a, int lost)
{
    uint64_t number;
    if (rank == RANKS - 1) {
        rank_await(&a->s->started, RANKS - 1);
        kill(a->s->pid[lost], SIGKILL);
        CHECK_STATUS(NBCOLL_ERR_PEER_LOST, breaks(a->relays));
    } else {
        start(a, 0);
        atomic_fetch_add(&a->s->started, 1);
        CHECK_STATUS(NBCOLL_ERR_PEER_LOST, nbcoll_relays_wait(a->relays, a->number[0], 10 * SECOND));
    }
    CHECK_STATUS(NBCOLL_ERR_PEER_LOST, nbcoll_relays_bcast(a->relays, a->all[0], BYTES, 1, &number));
}

static void lose_a_leader(int rank, void *user)
{
    lose(rank, user, STOPPED);
}

static void lose_one_that_leads_nobody(int rank, void *user)
{
    lose(rank, user, STOPPED + 1);
}

static void lose_the_process(int rank, void *user)
{
    lose(rank, user, RANKS);
}

static void whoever_dies_ends_relays_and_they_can_be_closed(void **state)
{
    (void)state;
    run(scene_new(lose_a_leader), STOPPED);
    run(scene_new(lose_one_that_leads_nobody), STOPPED + 1);
    run(scene_new(lose_the_process), RANKS);
}

/* The leader of a node is stopped while the process dies. The other rank there is told by itself: nobody else looks at
 * the relays, or closes them, before it has been. */
static void lose_the_process_beside_a_stopped_leader(int rank, void *user)
{
    actor *a = user;
    scene *s = a->s;
    if (rank == STOPPED) {
        raise(SIGSTOP);
        CHECK_STATUS(NBCOLL_ERR_PEER_LOST, breaks(a->relays));
        return;
    }
    start(a, 0);
    atomic_fetch_add(&s->started, 1);
    if (rank == STOPPED + 1) {
        rank_await(&s->started, RANKS - 1);
        for (uint64_t begin = clock_ns(); !process_is_stopped(s->pid[STOPPED]); sched_yield())
            CHECK(clock_ns() - begin < 30 * SECOND);
        kill(s->pid[RANKS], SIGKILL);
    } else
        rank_await(&s->ended, 1);
    CHECK_STATUS(NBCOLL_ERR_PEER_LOST, nbcoll_relays_wait(a->relays, a->number[0], 10 * SECOND));
    if (rank == STOPPED + 1) {
        atomic_store(&s->ended, 1);
        CHECK(process_is_stopped(s->pid[STOPPED]));
        kill(s->pid[STOPPED], SIGCONT);
    }
}

static void ranks_are_told_of_a_dead_process_while_their_leader_is_stopped(void **state)
{
    (void)state;
    run(scene_new(lose_the_process_beside_a_stopped_leader), RANKS);
}

static pid_t condemned;

static void execute(int signal)
{
    (void)signal;
    kill(condemned, SIGKILL);
}

/* Opens relays, uses them and closes them again and again, until somebody is lost. */
static nbcoll_status live(actor *a)
{
    nbcoll_status status = NBCOLL_OK;
    for (int o = 0; o < OPERATIONS && status == NBCOLL_OK; o++) {
        if (o % 8 == 7) {
            CHECK_STATUS(NBCOLL_OK, nbcoll_relays_close(a->relays, 10 * SECOND));
            a->relays = NULL;
            nbcoll_relays_config config = relays_config(a);
            status = nbcoll_relays_open(a->m.comm, &config, &a->relays);
            if (status == NBCOLL_OK)
                status = nbcoll_relays_wait(a->relays, 0, 10 * SECOND);
        }
        fill(a->mine[0], nbcoll_comm_rank(a->m.comm), o);
        if (status == NBCOLL_OK)
            status = nbcoll_relays_allgather(a->relays, a->mine[0], a->all[0], BYTES, &a->number[0]);
        if (status == NBCOLL_OK)
            status = nbcoll_relays_wait(a->relays, a->number[0], 10 * SECOND);
        for (int of = 0; of < RANKS && status == NBCOLL_OK; of++)
            check(a->all[0] + of * BYTES, of, o);
    }
    return status;
}

static void live_until_somebody_dies(int rank, void *user)
{
    actor *a = user;
    struct itimerval in = {.it_value = {.tv_usec = (suseconds_t)a->s->after_us + 1}};
    condemned = a->s->pid[a->s->victim];
    atomic_fetch_add(&a->s->started, 1);
    if (rank == (a->s->victim + 1) % RANKS) {
        rank_await(&a->s->started, RANKS);
        CHECK(signal(SIGALRM, execute) != SIG_ERR);
        CHECK(setitimer(ITIMER_REAL, &in, NULL) == 0);
    }
    nbcoll_status status = live(a);
    CHECK(setitimer(ITIMER_REAL, &(struct itimerval){.it_value = {0}}, NULL) == 0);
    CHECK(status == NBCOLL_OK || status == NBCOLL_ERR_PEER_LOST);
}

static void whoever_is_killed_at_some_moment_is_told_of(void **state)
{
    uint64_t seed = seed_of_test();
    (void)state;
    for (int i = 0; i < KILLS; i++) {
        scene *s = scene_new(live_until_somebody_dies);
        s->victim = (int)(random_of(&seed) % (RANKS + 1));
        s->after_us = (unsigned)(random_of(&seed) % LONGEST_US);
        run(s, -1);
    }
}

/* ---- refusals ---------------------------------------------------------------------------------------------------- */

static void nothing(int rank, void *user)
{
    (void)rank, (void)user;
}

static void tables_that_the_process_has_no_room_for_are_refused_on_all_ranks(void **state)
{
    scene *s = scene_new(nothing);
    (void)state;
    s->how.tables = 64;
    s->opens = NBCOLL_ERR_LIMIT;
    run(s, -1);
}

static void open_a_second_time(int rank, void *user)
{
    actor *a = user;
    nbcoll_relays *second = open_relays(a, NBCOLL_ERR_LIMIT);
    if (rank % NEAR == 0)
        CHECK_STATUS(NBCOLL_ERR_BUSY, nbcoll_agent_close(a->agent)); /* it has relays still */
    CHECK_STATUS(NBCOLL_OK, nbcoll_relays_close(second, 30 * SECOND));
    start(a, 0);
    finish(a, 0);
    CHECK_STATUS(NBCOLL_OK, nbcoll_relays_close(a->relays, 30 * SECOND));
    a->relays = open_relays(a, NBCOLL_OK);
    start(a, 1);
    finish(a, 1);
}

static void relays_beyond_what_the_process_takes_are_refused_on_all_ranks_until_others_are_closed(void **state)
{
    scene *s = scene_new(open_a_second_time);
    (void)state;
    s->how.programs = 1;
    run(s, -1);
}

/* The step of the opening at which a leader gives the process its relays. */
enum { HANDS_OVER = 5 };

/* The only place has a program, which does not end before the last rank has started it. */
static void give_up_the_opening(int rank, void *user)
{
    actor *a = user;
    int32_t in = rank, sum = 0;
    nbcoll_request request;
    CHECK_STATUS(NBCOLL_OK, nbcoll_relays_close(a->relays, 30 * SECOND));
    if (rank < RANKS - 1)
        CHECK_STATUS(NBCOLL_OK, nbcoll_iallreduce(&in, &sum, 1, NBCOLL_INT32, NBCOLL_SUM, a->m.comm, &request));
    nbcoll_relays *waits = begin_relays(a);
    uint64_t begin = clock_ns();
    while (waits->agents->stage < HANDS_OVER) {
        CHECK(clock_ns() - begin < 30 * SECOND);
        CHECK_STATUS(NBCOLL_PENDING, nbcoll_relays_test(waits, 0));
    }
    atomic_fetch_add(&a->s->started, 1);
    rank_await(&a->s->started, RANKS);
    CHECK(rank % NEAR || (waits->agents->stage == HANDS_OVER && !waits->agents->is_begun));
    CHECK_STATUS(NBCOLL_OK, nbcoll_relays_close(waits, 30 * SECOND));
    atomic_fetch_add(&a->s->ended, 1);
    rank_await(&a->s->ended, RANKS);
    if (rank == RANKS - 1)
        CHECK_STATUS(NBCOLL_OK, nbcoll_iallreduce(&in, &sum, 1, NBCOLL_INT32, NBCOLL_SUM, a->m.comm, &request));
    CHECK_STATUS(NBCOLL_OK, nbcoll_wait(&request, 30 * SECOND));
    CHECK(sum == RANKS * (RANKS - 1) / 2);
    a->relays = open_relays(a, NBCOLL_OK);
}

static void an_opening_that_waits_for_a_programs_place_can_be_given_up(void **state)
{
    scene *s = scene_new(give_up_the_opening);
    (void)state;
    s->how.programs = 1;
    run(s, -1);
}

/* ---- nonsense ---------------------------------------------------------------------------------------------------- */

enum { SCRIBBLER = 3, REGIONS = 3, MESSAGES = 120, SHOWN = 1 << 16 };

static void scribble(void *memory, size_t bytes, uint64_t *seed)
{
    for (size_t i = 0; i + 8 <= bytes; i += 8) {
        uint64_t word = random_of(seed);
        memcpy((char *)memory + i, &word, 8);
    }
}

/* What no rank has any business with, then what the process finds. */
static void write_nonsense(const nbcolli_node_store *store, int region, uint64_t *seed)
{
    if (region == 0)
        for (uint32_t i = 0; i < store->shape.readers; i++)
            atomic_store(nbcolli_node_store_handed(store, i), random_of(seed));
    for (uint32_t i = 0; i < store->buffers && region == 1; i++)
        scribble(nbcolli_node_store_buffer_at(store, i), store->stride, seed);
    if (region == 2)
        scribble(store->head, nbcolli_node_store_bytes(&store->shape), seed);
    atomic_store(&store->head->freed, (uint32_t)random_of(seed) | 1u << 31);
}

/* Of two sets of relays one rank spoils the store of one. */
static void spoil(int rank, actor *a, int region)
{
    nbcoll_relays *spoilt = a->relays;
    uint64_t seed = rank == SCRIBBLER ? seed_of_test() : 0;
    a->relays = open_relays(a, NBCOLL_OK);
    for (int o = 0; o < OPERATIONS; o++) {
        start(a, o);
        if (o == 10 && rank == SCRIBBLER)
            write_nonsense(&spoilt->agents->store, region, &seed);
        finish(a, o);
    }
    CHECK(breaks(spoilt) != NBCOLL_PENDING);
    CHECK_STATUS(NBCOLL_OK, nbcoll_relays_close(spoilt, 30 * SECOND));
    start(a, OPERATIONS);
    finish(a, OPERATIONS);
}

static void spoil_what_is_handed_over(int rank, void *user)
{
    spoil(rank, user, 0);
}

static void spoil_buffers(int rank, void *user)
{
    spoil(rank, user, 1);
}

static void spoil_all(int rank, void *user)
{
    spoil(rank, user, 2);
}

static void nonsense_in_a_store_ends_its_relays_and_no_others(void **state)
{
    static rank_main *const mains[REGIONS] = {spoil_what_is_handed_over, spoil_buffers, spoil_all};
    (void)state;
    for (int i = 0; i < REGIONS; i++)
        run(scene_new(mains[i]), -1);
}

/* What the process says of such bytes. */
static nbcoll_status hand(actor *a, const char *packed, size_t bytes, const void *store)
{
    uint32_t slot;
    nbcoll_status status;
    uint64_t begin = clock_ns();
    CHECK_STATUS(NBCOLL_OK, nbcolli_attached_hand(a->agent, packed, bytes, store, &slot));
    while ((status = nbcolli_attached_taken(a->agent, slot)) == NBCOLL_PENDING)
        CHECK(clock_ns() - begin < 30 * SECOND);
    return status;
}

/* What it takes is ended again. */
static nbcoll_status answer(actor *a, const char *packed, size_t bytes, nbcolli_node_store_head *head)
{
    memset(head, 0, SHOWN);
    nbcoll_status status = hand(a, packed, bytes, head);
    uint64_t begin = clock_ns();
    atomic_store(&head->is_ending, 1);
    while (status == NBCOLL_OK && atomic_load(&head->state) != NBCOLLI_NODE_STORE_OVER)
        CHECK(clock_ns() - begin < 30 * SECOND);
    return status;
}

/* Of a node with one rank, which has a neighbour on each side. */
static void write_packed(int rank, void *user)
{
    static const nbcolli_node_relays_end right = {0, 0, 2}, left = {1, 1, 2};
    static const nbcolli_node_relays_relay relay[] = {{0, 1, NULL, &right}, {1, 0, &left, NULL}};
    const nbcolli_node_relays_config config = {.relays = 2, .relay = relay, .store.shape = {1, 2, 2, 40}};
    char packed[256] = {0};
    size_t bytes = nbcolli_node_bytes_bytes(&config);
    actor *a = user;
    uint64_t seed = rank == SCRIBBLER ? seed_of_test() : 0;
    void *store;
    CHECK_STATUS(NBCOLL_OK, nbcoll_mem_alloc(a->m.comm, SHOWN, &store));
    for (int i = 0; i < MESSAGES && rank == SCRIBBLER; i++) {
        nbcolli_node_bytes_write(&config, packed);
        for (int peer = 0; peer < 2; peer++)
            nbcolli_node_bytes_meet(packed, peer, NBCOLLI_NODE_RELAYS_SETS * NBCOLLI_NODE_RELAYS_NUMBERS);
        CHECK_STATUS(NBCOLL_OK, answer(a, packed, bytes, store));
        CHECK_STATUS(NBCOLL_ERR_ARGUMENT, answer(a, packed, bytes - 1 - random_of(&seed) % bytes, store));
        CHECK_STATUS(NBCOLL_ERR_ARGUMENT, hand(a, packed, bytes, (char *)store + ((size_t)1 << 30)));
        CHECK_STATUS(NBCOLL_ERR_ARGUMENT, hand(a, packed, bytes, (char *)store + 8));
        for (uint64_t k = 0; k <= random_of(&seed) % 3; k++) {
            uint32_t word = (uint32_t)random_of(&seed) >> (random_of(&seed) % 2 ? 29 : 0);
            memcpy(packed + random_of(&seed) % (bytes / 4) * 4, &word, 4);
        }
        (void)answer(a, packed, bytes, store);
    }
    start(a, 0);
    finish(a, 0);
}

static void messages_of_nonsense_are_refused_and_the_process_goes_on(void **state)
{
    (void)state;
    run(scene_new(write_packed), -1);
}

/* ---- few and many ------------------------------------------------------------------------------------------------ */

static void gather_once(int rank, void *user)
{
    (void)rank;
    start(user, 0);
    finish(user, 0);
}

/* ---- sleeping ---------------------------------------------------------------------------------------------------- */

/* Has all come that does without the late one? Of calls nobody says. */
static bool has_what_is_there(const actor *a)
{
    bool has_all = true;
    for (int of = 0; of < a->s->ranks && !a->s->carries; of++)
        has_all &= of == here.late ||
                   nbcoll_relays_arrived(a->relays, a->number[here.operation % AT_ONCE], of) == NBCOLL_OK;
    return has_all;
}

/* The late one comes when all others sleep and lack nothing but its block. Time ends no sleep of those that somebody
 * wakes. */
int __real_ppoll(struct pollfd *fds, nfds_t n, const struct timespec *t, const sigset_t *mask);
int __wrap_ppoll(struct pollfd *fds, nfds_t n, const struct timespec *t, const sigset_t *mask);
int __wrap_ppoll(struct pollfd *fds, nfds_t n, const struct timespec *t, const sigset_t *mask)
{
    const struct timespec longest = {30, 0};
    actor *a = here.waiter;
    if (!a)
        return __real_ppoll(fds, n, t, mask);
    if (!here.has_said && has_what_is_there(a)) {
        here.has_said = true;
        atomic_fetch_add(&a->s->started, 1);
    }
    if (here.is_deaf) {
        CHECK(t && t->tv_sec == 0 && t->tv_nsec <= 1000000);
        return __real_ppoll(fds, n, t, mask);
    }
    here.sleeps += here.has_said;
    int ready = __real_ppoll(fds, n, &longest, mask);
    CHECK(ready != 0);
    return ready;
}

void __real_nbcolli_commands_ring(int socket);
void __wrap_nbcolli_commands_ring(int socket);
void __wrap_nbcolli_commands_ring(int socket)
{
    if (here.rings)
        atomic_fetch_add(here.rings, 1);
    __real_nbcolli_commands_ring(socket);
}

/* A fragment of the late block may end a sleep, and one of the own block, which all have copied then; and once what was
 * rung for an earlier sleep. */
enum { BLOCK = (BYTES + FRAGMENT - 1) / FRAGMENT, MOST_SLEEPS = 1 + BLOCK + BLOCK + 1 };

static void sleep_until_the_late_one_comes(int rank, actor *a, int o, int late)
{
    here.operation = o;
    here.late = late;
    here.has_said = false;
    here.sleeps = 0;
    here.is_deaf = a->s->leaders_give && rank % a->s->near;
    nbcoll_request q;
    if (rank == late)
        rank_await(&a->s->started, (o + 1) * (a->s->ranks - 1));
    if (a->s->carries)
        call(a, o, &q);
    else
        start(a, o);
    if (rank != late)
        here.waiter = a;
    if (a->s->carries)
        called(a, o, &q);
    else
        finish(a, o);
    here.waiter = NULL;
    CHECK(rank == late || here.has_said);
    CHECK(a->s->carries || here.sleeps <= MOST_SLEEPS);
}

/* Leaders and others wait, for a leader and for another one, of their own node and of others. */
static void sleep_beside_the_late(int rank, void *user)
{
    actor *a = user;
    for (int o = 0; o < RANKS; o++)
        sleep_until_the_late_one_comes(rank, a, o, o);
    CHECK(here.is_deaf || nbcoll_agent_close(a->agent) == NBCOLL_ERR_BUSY);
}

static void who_waits_for_what_the_process_moves_is_woken_by_it(void **state)
{
    (void)state;
    run(scene_new(sleep_beside_the_late), -1);
    run(scene_of_calls(sleep_beside_the_late), -1);
}

static void sleep_until_the_process_dies(int rank, void *user)
{
    actor *a = user;
    here.late = RANKS - 1;
    if (rank == here.late) {
        rank_await(&a->s->started, RANKS - 1);
        kill(a->s->pid[RANKS], SIGKILL);
        CHECK_STATUS(NBCOLL_ERR_PEER_LOST, breaks(a->relays));
        return;
    }
    start(a, 0);
    here.waiter = a;
    CHECK_STATUS(NBCOLL_ERR_PEER_LOST, nbcoll_relays_wait(a->relays, a->number[0], 30 * SECOND));
    here.waiter = NULL;
}

static void who_sleeps_is_woken_when_the_process_dies(void **state)
{
    (void)state;
    run(scene_new(sleep_until_the_process_dies), RANKS);
}

static void who_gives_relays_no_agent_is_woken_by_nobody_and_looks_each_millisecond(void **state)
{
    scene *s = scene_new(sleep_beside_the_late);
    (void)state;
    s->leaders_give = true;
    run(s, -1);
}

static void wait_while_the_process_is_stopped(int rank, void *user)
{
    actor *a = user;
    scene *s = a->s;
    if (rank == 0) {
        kill(s->pid[RANKS], SIGSTOP);
        for (uint64_t begin = clock_ns(); !process_is_stopped(s->pid[RANKS]); sched_yield())
            CHECK(clock_ns() - begin < 30 * SECOND);
        atomic_store(&s->started, 1);
    }
    rank_await(&s->started, 1);
    start(a, 0);
    CHECK_STATUS(NBCOLL_ERR_TIMEOUT, nbcoll_relays_wait(a->relays, a->number[0], SECOND / 20));
    atomic_fetch_add(&s->ended, 1);
    if (rank == 0) {
        rank_await(&s->ended, RANKS);
        kill(s->pid[RANKS], SIGCONT);
    }
    finish(a, 0);
}

static void who_sleeps_keeps_its_deadline_while_the_process_is_stopped(void **state)
{
    (void)state;
    run(scene_new(wait_while_the_process_is_stopped), -1);
}

static void nobody_that_is_awake_is_rung_for(int rank, void *user)
{
    actor *a = user;
    for (int o = 0; o < OPERATIONS; o++) {
        start(a, o);
        for (int of = 0; of < RANKS; of++)
            come(a, o, of);
        while (nbcoll_relays_test(a->relays, a->number[o % AT_ONCE]) == NBCOLL_PENDING)
            sched_yield();
        if (o == 0) { /* all have been awake since the opening */
            atomic_fetch_add(&a->s->started, 1);
            rank_await(&a->s->started, RANKS);
            if (rank == 0)
                atomic_store(&a->s->rings, 0);
            atomic_fetch_add(&a->s->ended, 1);
            rank_await(&a->s->ended, RANKS);
        }
    }
    CHECK(atomic_load(&a->s->rings) == 0);
    atomic_fetch_add(&a->s->ended, 1);
    rank_await(&a->s->ended, 2 * RANKS);
}

static void a_process_rings_for_none_that_is_awake(void **state)
{
    (void)state;
    run(scene_new(nobody_that_is_awake_is_rung_for), -1);
}

/* Their stores are shared with the process, too. */
static void nodes_of_one_rank_have_the_process_as_well(void **state)
{
    (void)state;
    run(scene_of(3, 1, gather_once), -1);
}

static void many_ranks_on_few_cores_open_and_close(void **state)
{
    scene *s = scene_of(MANY, 8, gather_once);
    (void)state;
    s->topology = NBCOLL_TOPOLOGY_CAYLEY;
    run(s, -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_process_moves_relays_beside_programs),
        cmocka_unit_test(a_node_that_is_stopped_before_it_starts_passes_on_and_is_late_alone),
        cmocka_unit_test(others_end_broadcasts_that_a_stopped_node_has_not_started),
        cmocka_unit_test(others_end_allgathers_that_a_stopped_node_has_started),
        cmocka_unit_test(others_end_calls_past_a_stopped_node),
        cmocka_unit_test(whoever_dies_ends_calls),
        cmocka_unit_test(whoever_dies_ends_relays_and_they_can_be_closed),
        cmocka_unit_test(ranks_are_told_of_a_dead_process_while_their_leader_is_stopped),
        cmocka_unit_test(whoever_is_killed_at_some_moment_is_told_of),
        cmocka_unit_test(tables_that_the_process_has_no_room_for_are_refused_on_all_ranks),
        cmocka_unit_test(relays_beyond_what_the_process_takes_are_refused_on_all_ranks_until_others_are_closed),
        cmocka_unit_test(an_opening_that_waits_for_a_programs_place_can_be_given_up),
        cmocka_unit_test(nonsense_in_a_store_ends_its_relays_and_no_others),
        cmocka_unit_test(messages_of_nonsense_are_refused_and_the_process_goes_on),
        cmocka_unit_test(nodes_of_one_rank_have_the_process_as_well),
        cmocka_unit_test(who_waits_for_what_the_process_moves_is_woken_by_it),
        cmocka_unit_test(who_sleeps_is_woken_when_the_process_dies),
        cmocka_unit_test(who_sleeps_keeps_its_deadline_while_the_process_is_stopped),
        cmocka_unit_test(who_gives_relays_no_agent_is_woken_by_nobody_and_looks_each_millisecond),
        cmocka_unit_test(a_process_rings_for_none_that_is_awake),
        cmocka_unit_test(many_ranks_on_few_cores_open_and_close),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
