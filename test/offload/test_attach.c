/* SPDX-License-Identifier: BSD-3-Clause
 * How a rank and an agent's process find each other, or do not: every error that is documented, and no descriptor left;
 * and how one hands programs to the other over the command area. The process is a thread here. */
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../src/offload/commands.h"
#include "nbcoll/loopback.h"
#include "compiled.h"
#include "crew.h"
#include "world.h" /* EXPECT */

enum { RANKS = 2 };

/* The endpoints of the ranks, and those of the process. */
typedef struct scene {
    nbcoll_loopback *world[2];
    nbcoll_endpoint *rank[RANKS], *served[RANKS];
    int socket[RANKS], theirs[RANKS], before;
    nbcoll_serve_config config;
    nbcoll_status status;
    pthread_t process;
} scene;

static void scene_open(scene *s)
{
    nbcoll_loopback_config config = {.size = sizeof config, .ranks = RANKS, .pairs = nbcoll_loopback_pairs()};
    *s = (scene){.before = descriptors()};
    for (int i = 0; i < 2; i++) {
        EXPECT(OK, nbcoll_loopback_create(&config, &s->world[i]));
        for (int rank = 0; rank < RANKS; rank++)
            EXPECT(OK, nbcoll_loopback_open(s->world[i], rank, i ? &s->served[rank] : &s->rank[rank]));
    }
    for (int rank = 0; rank < RANKS; rank++) {
        int pair[2];
        assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
        s->socket[rank] = pair[0];
        s->theirs[rank] = pair[1];
    }
    s->config = (nbcoll_serve_config){
        .size = sizeof s->config, .endpoints = s->served, .sockets = s->theirs, .count = RANKS};
}

static void *serve(void *user)
{
    scene *s = user;
    s->status = nbcoll_agent_serve(&s->config);
    return NULL;
}

static void begin(scene *s)
{
    assert_int_equal(pthread_create(&s->process, NULL, serve, s), 0);
}

/* When all ranks have gone. */
static void scene_close(scene *s)
{
    pthread_join(s->process, NULL);
    EXPECT(OK, s->status);
    for (int rank = 0; rank < RANKS; rank++)
        nbcoll_endpoint_close(s->rank[rank]);
    for (int i = 0; i < 2; i++)
        EXPECT(OK, nbcoll_loopback_free(s->world[i])); /* its endpoints are closed */
    assert_int_equal(descriptors(), s->before);
}

static nbcoll_status attach(const scene *s, int rank, int socket, uint64_t timeout, nbcoll_agent **out)
{
    nbcoll_attach_config config = {.size = sizeof config, .socket = socket, .timeout = timeout};
    return nbcoll_agent_attach(s->rank[rank], &config, out);
}

/* ---- ranks that do not find it ----------------------------------------------------------------------------------- */

static void rank_that_does_not_find_the_process_says_why_and_closes_its_socket(void **state)
{
    nbcoll_agent *agent = NULL;
    scene s;
    (void)state;
    scene_open(&s);
    EXPECT(ERR_TIMEOUT, attach(&s, 0, dup(s.socket[0]), 1000, &agent));
    assert_int_equal(send(s.theirs[0], "hello", 5, 0), 5);
    EXPECT(ERR_ABI, attach(&s, 0, dup(s.socket[0]), 0, &agent));
    EXPECT(ERR_CONFIG, attach(&s, 0, 1 << 20, 0, &agent));
    int pair[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair), 0);
    close(pair[1]);
    EXPECT(ERR_PEER_LOST, attach(&s, 0, pair[0], 0, &agent));
    EXPECT(ERR_NULL, nbcoll_agent_attach(s.rank[0], NULL, &agent));
    EXPECT(ERR_CONFIG, nbcoll_agent_attach(s.rank[0], &(nbcoll_attach_config){.size = 1}, &agent));
    begin(&s);
    EXPECT(ERR_RANK, attach(&s, 1, s.socket[0], 0, &agent)); /* it serves rank 0 there */
    EXPECT(OK, attach(&s, 1, s.socket[1], 0, &agent));
    EXPECT(OK, nbcoll_agent_close(agent));
    scene_close(&s);
}

/* ---- ranks that are none ----------------------------------------------------------------------------------------- */

/* Until the other side has closed it; what it has sent before is thrown away. */
static void await_closed(int socket)
{
    char bytes[256];
    while (recv(socket, bytes, sizeof bytes, 0) > 0)
        ;
    close(socket);
}

static void what_is_no_control_message_of_a_rank_ends_that_rank_alone(void **state)
{
    nbcoll_agent *agent;
    scene s;
    (void)state;
    scene_open(&s);
    begin(&s);
    assert_int_equal(send(s.socket[0], "hello", 5, 0), 5);
    await_closed(s.socket[0]);
    EXPECT(OK, attach(&s, 1, s.socket[1], 0, &agent));
    EXPECT(OK, nbcoll_agent_close(agent));
    scene_close(&s);
}

/* ---- what cannot be served --------------------------------------------------------------------------------------- */

static void configuration_that_cannot_be_served_closes_what_it_was_given(void **state)
{
    static const nbcoll_agent_config wrong = {.size = 1};
    (void)state;
    for (int i = 0; i < 5; i++) {
        scene s;
        scene_open(&s);
        s.config.copied = i == 1 ? SIZE_MAX : 0;
        s.config.scratch = i == 4 ? SIZE_MAX : 0;
        s.config.flags = i == 2 ? ~NBCOLL_SERVE_OUTSIDE : 0;
        s.config.programs = i == 3 ? UINT32_MAX : 0;
        s.config.agent = i == 0 ? &wrong : NULL;
        EXPECT(ERR_CONFIG, nbcoll_agent_serve(&s.config));
        for (int rank = 0; rank < RANKS; rank++) {
            close(s.socket[rank]);
            nbcoll_endpoint_close(s.rank[rank]);
        }
        for (int k = 0; k < 2; k++)
            EXPECT(OK, nbcoll_loopback_free(s.world[k]));
        assert_int_equal(descriptors(), s.before);
    }
    EXPECT(ERR_NULL, nbcoll_agent_serve(NULL));
}

/* ---- programs that are refused ----------------------------------------------------------------------------------- */

static nbcoll_status takes(const nbcoll_agent *agent, const nbcoll_program *p, const void *send, nbcoll_refusal *why)
{
    static char recv[1 << 16];
    *why = (nbcoll_refusal){.size = sizeof *why};
    return nbcoll_agent_takes(agent, p, send, recv, why);
}

/* The memory of a loopback's ranks is nobody else's to name: all is copied. */
static void what_is_refused_is_said_with_its_numbers(void **state)
{
    static char send[1 << 16];
    nbcoll_agent *agent[RANKS];
    nbcoll_program_run *run;
    nbcoll_refusal why;
    compiled c;
    scene s;
    (void)state;
    nbcoll_case how = compiled_case(NBCOLL_OPERATION_ALLREDUCE, RANKS, 100);
    EXPECT(OK, compiled_open(&c, nbcoll_algorithm_find(NBCOLL_OPERATION_ALLREDUCE, "recursive_doubling"), &how, NULL));
    for (int i = 0; i < 3; i++) {
        scene_open(&s);
        s.config.tables = i == 1 ? 100 : 0;
        s.config.copied = i == 2 ? 399 : 400;
        begin(&s);
        for (int rank = 0; rank < RANKS; rank++)
            EXPECT(OK, attach(&s, rank, s.socket[rank], 0, &agent[rank]));
        nbcoll_status status = takes(agent[0], c.program[0], send, &why);
        assert_int_equal(status, i == 0 ? NBCOLL_OK : i == 1 ? NBCOLL_ERR_LIMIT : NBCOLL_ERR_BUFFER);
        assert_int_equal(why.reason, i == 0   ? NBCOLL_REFUSAL_NONE
                                     : i == 1 ? NBCOLL_REFUSAL_TABLES
                                              : NBCOLL_REFUSAL_MEMORY);
        assert_int_equal(why.allowed, i == 0 ? 0 : i == 1 ? 100 : 399);
        assert_true(i == 0 || why.needed > why.allowed);
        if (i)
            assert_int_equal(nbcoll_agent_start(agent[0], c.program[0], send, send, &run), status);
        assert_int_equal(takes(agent[0], c.program[1], send, &why), NBCOLL_ERR_RANK);
        assert_int_equal(why.reason, NBCOLL_REFUSAL_NONE);
        EXPECT(ERR_BUFFER, takes(agent[0], c.program[0], NULL, &why));
        for (int rank = 0; rank < RANKS; rank++)
            EXPECT(OK, nbcoll_agent_close(agent[rank]));
        scene_close(&s);
    }
    EXPECT(ERR_NULL, nbcoll_agent_takes(NULL, c.program[0], send, send, NULL));
    compiled_close(&c);
}

/* ---- the command area -------------------------------------------------------------------------------------------- */

/* The two sides map a command area at one place here, where each would have its own: so the thread sanitizer sees all
 * that they write there for each other, and that the states of its slots order it. */
static struct {
    pthread_mutex_t lock;
    struct {
        ino_t inode;
        void *memory;
        int users;
    } commands[RANKS];
} shown = {.lock = PTHREAD_MUTEX_INITIALIZER};

nbcoll_status __real_nbcolli_commands_map(int fd, size_t bytes, void **out);
nbcoll_status __wrap_nbcolli_commands_map(int fd, size_t bytes, void **out);
nbcoll_status __wrap_nbcolli_commands_map(int fd, size_t bytes, void **out)
{
    nbcoll_status status = NBCOLL_OK;
    struct stat file;
    int at = 0;
    assert_int_equal(fstat(fd, &file), 0);
    pthread_mutex_lock(&shown.lock);
    while (at < RANKS && !(shown.commands[at].users && shown.commands[at].inode == file.st_ino))
        at++;
    if (at == RANKS) {
        at = shown.commands[0].users != 0; /* there are as many command areas as ranks */
        status = __real_nbcolli_commands_map(fd, bytes, &shown.commands[at].memory);
        shown.commands[at].inode = file.st_ino;
    }
    shown.commands[at].users += status == NBCOLL_OK;
    *out = shown.commands[at].memory;
    pthread_mutex_unlock(&shown.lock);
    return status;
}

void __real_nbcolli_commands_unmap(void *memory, size_t bytes);
void __wrap_nbcolli_commands_unmap(void *memory, size_t bytes);
void __wrap_nbcolli_commands_unmap(void *memory, size_t bytes)
{
    pthread_mutex_lock(&shown.lock);
    for (int i = 0; i < RANKS; i++)
        if (shown.commands[i].users && shown.commands[i].memory == memory && --shown.commands[i].users == 0)
            __real_nbcolli_commands_unmap(memory, bytes);
    pthread_mutex_unlock(&shown.lock);
}

enum { PROGRAMS = 500, ELEMENTS = 10 };

/* A rank of two threads: one starts programs, the other one takes their ends. */
typedef struct player {
    int rank;
    nbcoll_agent *agent;
    const nbcoll_program *program;
    pthread_t thread[2];
    _Atomic(nbcoll_program_run *) run[PROGRAMS]; /* from the first thread; nothing goes back but by the command area */
    int32_t mine[PROGRAMS][ELEMENTS], sum[PROGRAMS][ELEMENTS];
} player;

static void *start_all(void *user)
{
    player *me = user;
    for (int i = 0; i < PROGRAMS; i++) {
        nbcoll_program_run *run;
        nbcoll_status status;
        for (int k = 0; k < ELEMENTS; k++)
            me->mine[i][k] = i + k + me->rank;
        while ((status = nbcoll_agent_start(me->agent, me->program, me->mine[i], me->sum[i], &run)) == NBCOLL_ERR_LIMIT)
            sched_yield(); /* the command area is full */
        EXPECT(OK, status);
        atomic_store_explicit(&me->run[i], run, memory_order_release);
    }
    return NULL;
}

static void *end_all(void *user)
{
    player *me = user;
    for (int i = 0; i < PROGRAMS; i++) {
        nbcoll_program_run *run;
        nbcoll_status status;
        while (!(run = atomic_load_explicit(&me->run[i], memory_order_acquire)))
            sched_yield();
        while ((status = nbcoll_agent_test(run)) == NBCOLL_PENDING)
            sched_yield();
        EXPECT(OK, status);
        for (int k = 0; k < ELEMENTS; k++)
            assert_int_equal(me->sum[i][k], 2 * (i + k) + 1);
    }
    return NULL;
}

/* Ranks and process, and an allreduce. */
static void commands_open(scene *s, compiled *c, nbcoll_agent *agent[])
{
    nbcoll_case how = compiled_case(NBCOLL_OPERATION_ALLREDUCE, RANKS, ELEMENTS);
    EXPECT(OK, compiled_open(c, nbcoll_algorithm_find(NBCOLL_OPERATION_ALLREDUCE, "recursive_doubling"), &how, NULL));
    scene_open(s);
    s->config.programs = 2;
    begin(s);
    for (int rank = 0; rank < RANKS; rank++)
        EXPECT(OK, attach(s, rank, s->socket[rank], 0, &agent[rank]));
}

static void commands_close(scene *s, compiled *c, nbcoll_agent *agent[])
{
    for (int rank = 0; rank < RANKS; rank++)
        EXPECT(OK, nbcoll_agent_close(agent[rank]));
    scene_close(s);
    compiled_close(c);
}

static void slots_of_a_command_area_go_round_among_threads_that_have_nothing_else_in_common(void **state)
{
    static player players[RANKS];
    nbcoll_agent *agent[RANKS];
    compiled c;
    scene s;
    (void)state;
    commands_open(&s, &c, agent);
    for (int rank = 0; rank < RANKS; rank++) {
        player *p = &players[rank];
        p->rank = rank;
        p->agent = agent[rank];
        p->program = c.program[rank];
        assert_int_equal(pthread_create(&p->thread[0], NULL, start_all, p), 0);
        assert_int_equal(pthread_create(&p->thread[1], NULL, end_all, p), 0);
    }
    for (int rank = 0; rank < RANKS; rank++)
        for (int i = 0; i < 2; i++)
            pthread_join(players[rank].thread[i], NULL);
    commands_close(&s, &c, agent);
}

/* A program of rank 0 that no other rank has to do with. */
static nbcoll_program *alone(void)
{
    nbcoll_program_config config = {.size = sizeof config};
    nbcoll_program *program;
    nbcoll_schedule *schedule[RANKS];
    for (int rank = 0; rank < RANKS; rank++) {
        nbcoll_builder_config builder = {.size = sizeof builder, .rank = rank, .ranks = RANKS};
        nbcoll_addr from = {NBCOLL_BUFFER_SEND, 0}, to = {NBCOLL_BUFFER_RECV, 0};
        nbcoll_builder *b;
        EXPECT(OK, nbcoll_builder_open(&builder, &b));
        nbcoll_add_copy(b, to, from, sizeof(int32_t));
        EXPECT(OK, nbcoll_builder_finish(b, &schedule[rank]));
    }
    EXPECT(OK, nbcoll_compile((const nbcoll_schedule *const *)schedule, RANKS, &config, 0, 1, &program, NULL));
    for (int rank = 0; rank < RANKS; rank++)
        EXPECT(OK, nbcoll_schedule_free(schedule[rank]));
    return program;
}

/* When the thread of the process itself starts a program as rank 0: each is a moment of its falling asleep. */
typedef enum moment { NEVER, BEHIND_ITS_LOOKS, ASLEEP } moment;

static struct {
    _Atomic moment moment;
    pthread_t process;
    nbcoll_agent *agent;
    const nbcoll_program *program;
    int32_t from, to;
    _Atomic(nbcoll_program_run *) run;
} surprise;

static void surprise_at(moment now)
{
    nbcoll_program_run *run;
    if (atomic_load(&surprise.moment) != now || !pthread_equal(pthread_self(), surprise.process))
        return;
    atomic_store(&surprise.moment, NEVER);
    EXPECT(OK, nbcoll_agent_start(surprise.agent, surprise.program, &surprise.from, &surprise.to, &run));
    atomic_store(&surprise.run, run);
}

/* In a pass, which has looked at the slots before. */
int __real_nbcoll_agent_progress(nbcoll_agent *agent);
int __wrap_nbcoll_agent_progress(nbcoll_agent *agent);
int __wrap_nbcoll_agent_progress(nbcoll_agent *agent)
{
    int moved = __real_nbcoll_agent_progress(agent);
    surprise_at(BEHIND_ITS_LOOKS);
    return moved;
}

int __real_ppoll(struct pollfd *fds, nfds_t n, const struct timespec *patience, const sigset_t *mask);
int __wrap_ppoll(struct pollfd *fds, nfds_t n, const struct timespec *patience, const sigset_t *mask);
int __wrap_ppoll(struct pollfd *fds, nfds_t n, const struct timespec *patience, const sigset_t *mask)
{
    if (!patience)
        surprise_at(ASLEEP);
    return __real_ppoll(fds, n, patience, mask);
}

/* The process is rung for nothing, and falls asleep again; the rank sleeps already. Each must wake the other one. */
static void who_falls_asleep_at_a_command_area_learns_of_what_the_other_side_stores_meanwhile(void **state)
{
    int poller = epoll_create1(EPOLL_CLOEXEC);
    nbcoll_program *program = alone();
    nbcoll_agent *agent[RANKS];
    compiled c;
    scene s;
    (void)state;
    commands_open(&s, &c, agent);
    surprise.process = s.process;
    surprise.agent = agent[0];
    surprise.program = program;
    for (int i = 0; i < 20; i++) {
        struct epoll_event event;
        surprise.from = i;
        atomic_store(&surprise.run, NULL);
        assert_true(nbcolli_agent_watch(agent[0], poller));
        atomic_store(&surprise.moment, i % 2 ? ASLEEP : BEHIND_ITS_LOOKS);
        nbcolli_commands_ring(s.socket[0]);
        assert_int_equal(epoll_wait(poller, &event, 1, 10000), 1);
        nbcolli_agent_unwatch(agent[0]);
        assert_true(nbcolli_agent_has_ended(surprise.run));
        EXPECT(OK, nbcoll_agent_test(surprise.run));
        assert_int_equal(surprise.to, i);
    }
    commands_close(&s, &c, agent);
    nbcoll_program_free(program);
    close(poller);
}

/* ---- agents that have nothing in common -------------------------------------------------------------------------- */

/* What becomes of the communicator of ranks with these agents. */
static nbcoll_status create(nbcoll_endpoint *const end[RANKS], nbcoll_agent *const agent[RANKS])
{
    const nbcoll_context_config plain = {.size = sizeof plain};
    nbcoll_context *context[RANKS];
    nbcoll_comm *comm[RANKS];
    nbcoll_request request[RANKS];
    nbcoll_status status[RANKS] = {NBCOLL_PENDING, NBCOLL_PENDING};
    for (int rank = 0; rank < RANKS; rank++) {
        nbcoll_comm_config config = NBCOLL_COMM_DEFAULTS;
        config.agent = agent[rank];
        EXPECT(OK, nbcoll_context_create(NBCOLL_ABI, &plain, &context[rank]));
        EXPECT(OK, nbcoll_comm_icreate(context[rank], end[rank], &config, &comm[rank], &request[rank]));
    }
    for (int turn = 0; status[0] == NBCOLL_PENDING || status[1] == NBCOLL_PENDING; turn++) {
        assert_true(turn < 10000);
        if (status[turn % RANKS] == NBCOLL_PENDING)
            status[turn % RANKS] = nbcoll_test(&request[turn % RANKS]);
    }
    assert_int_equal(status[0], status[1]);
    for (int rank = 0; rank < RANKS; rank++)
        EXPECT(OK, nbcoll_agent_close(agent[rank]));
    for (int rank = 0; rank < RANKS; rank++)
        EXPECT(OK, nbcoll_context_free(context[rank]));
    return status[0];
}

static void communicator_has_agents_of_one_kind(void **state)
{
    static const nbcoll_agent_config usual = {.size = sizeof usual};
    (void)state;
    for (int processes = 0; processes <= RANKS; processes++) {
        nbcoll_agent *agent[RANKS];
        scene s;
        scene_open(&s);
        begin(&s);
        for (int rank = 0; rank < RANKS; rank++)
            if (rank < processes)
                EXPECT(OK, attach(&s, rank, s.socket[rank], 0, &agent[rank]));
            else {
                close(s.socket[rank]);
                EXPECT(OK, nbcoll_agent_open(s.rank[rank], &usual, &agent[rank]));
            }
        assert_int_equal(create(s.rank, agent), processes == 1 ? NBCOLL_ERR_MISMATCH : NBCOLL_OK);
        s.rank[0] = s.rank[1] = NULL;
        scene_close(&s);
    }
}

/* A process for each rank: what is offloaded depends on the bytes that they share. */
static void processes_share_as_much_scratch_memory_on_all_nodes(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++) {
        nbcoll_agent *agent[RANKS];
        scene s, other;
        scene_open(&s);
        s.config.count = 1;
        other = s;
        other.config.endpoints = &other.served[1];
        other.config.sockets = &other.theirs[1];
        other.config.scratch = i == 1 ? 4096 : 0;
        other.config.tables = i == 2 ? 4096 : 0;
        begin(&s);
        begin(&other);
        for (int rank = 0; rank < RANKS; rank++)
            EXPECT(OK, attach(&s, rank, s.socket[rank], 0, &agent[rank]));
        assert_int_equal(create(s.rank, agent), i ? NBCOLL_ERR_MISMATCH : NBCOLL_OK);
        pthread_join(other.process, NULL);
        s.rank[0] = s.rank[1] = NULL;
        scene_close(&s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rank_that_does_not_find_the_process_says_why_and_closes_its_socket),
        cmocka_unit_test(what_is_no_control_message_of_a_rank_ends_that_rank_alone),
        cmocka_unit_test(configuration_that_cannot_be_served_closes_what_it_was_given),
        cmocka_unit_test(what_is_refused_is_said_with_its_numbers),
        cmocka_unit_test(slots_of_a_command_area_go_round_among_threads_that_have_nothing_else_in_common),
        cmocka_unit_test(who_falls_asleep_at_a_command_area_learns_of_what_the_other_side_stores_meanwhile),
        cmocka_unit_test(communicator_has_agents_of_one_kind),
        cmocka_unit_test(processes_share_as_much_scratch_memory_on_all_nodes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
