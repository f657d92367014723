/* SPDX-License-Identifier: BSD-3-Clause
 * Hierarchical operations whose agent is a process: ranks of a node meet in memory, and the process does what is
 * between nodes, on scratch memory that it has in common with leaders; who dies or cancels half way ends it on all
 * ranks. */
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "nbcoll/select.h"
#include "operation.h"
#include "served.h"
#include "tally.h"

enum { RANKS = 6, AGENT = RANKS, AT_A_TIME = 3, MANY = 40, LONG = 30000, WHICH = 4 };
enum { SCRATCH = 8192, FITS = 40 }; /* numbers that an alltoall of those has room for, and not twice */
static const crew everybody = {{1, 1, 1, 1, 1, 1, 1, 0}}; /* the ranks, and the agent */

typedef struct scene {
    nbcoll_shm_config config;
    nbcoll_serve_config serve;
    rank_main *main;
    nbcoll_shm_id node[RANKS / 2];
    served sockets;
    pid_t pid[RANKS + 1];
    atomic_int started, ended, seen;
    atomic_int called[WHICH][NBCOLL_OPERATION_COUNT], shown[WHICH][NBCOLL_OPERATION_COUNT]; /* bits: leaders */
    char said[300]; /* to the agent of rank 2 */
} scene;

/* One rank; only `comm` has the agent. */
typedef struct actor {
    nbcoll_agent *agent;
    nbcoll_context *context;
    nbcoll_comm *all, *comm;
    scene *s;
    tally counted;
    int sent, exposed;
} actor;

/* ---- beginnings and ends ----------------------------------------------------------------------------------------- */

static void note(void *user, nbcoll_status why, const char *text)
{
    if (why == NBCOLL_ERR_BUFFER)
        snprintf(user, 300, "%s", text);
}

static void observe(void *user, const nbcoll_event *e)
{
    actor *a = user;
    const nbcoll_step_view *v = nbcoll_schedule_step(e->schedule, e->step);
    a->sent += e->moment == NBCOLL_STEP_STARTED && v->kind == NBCOLL_SEND;
    a->exposed += e->moment == NBCOLL_STEP_STARTED && v->kind == NBCOLL_EXPOSE;
}

static int lacks;

static int is_lacking(void)
{
    return lacks;
}

static void play(int rank, void *user)
{
    scene *s = user;
    int mine[RANKS];
    served_take(&s->sockets, rank, mine);
    s->pid[rank] = getpid();
    if (rank == AGENT) {
        served_serve(&s->sockets, mine, &s->serve);
        return;
    }
    actor a = {.s = s, .counted = {.lacks = is_lacking}};
    const nbcoll_observer observer = {.size = sizeof observer, .user = &a, .event = observe};
    const nbcoll_context_config context = {
        .size = sizeof context, .host = tally_host(&a.counted), .observer = &observer};
    const nbcoll_host host = {.size = sizeof host, .user = s->said, .log = rank == 2 ? note : NULL};
    nbcoll_shm_config config = s->config;
    member m;
    config.rank = rank;
    a.agent = served_join(&m, &config, mine[rank], rank == 2 ? &host : NULL, &context,
                          (nbcoll_comm_config)NBCOLL_COMM_DEFAULTS, false);
    a.context = m.context;
    a.all = m.comm;
    s->main(rank, &a);
    member_leave(&m);
    CHECK_STATUS(NBCOLL_OK, nbcoll_agent_close(a.agent));
    CHECK(a.counted.used == 0);
}

static bool run(rank_main *main, nbcoll_serve_config serve, int status[RANKS + 1], scene *saw)
{
    scene *s = shared_memory(sizeof *s);
    s->config = (nbcoll_shm_config){
        .size = sizeof s->config, .id = fresh_id(), .ranks = RANKS, .quota = 4 << 20, .timeout = 30 * SECOND};
    s->main = main;
    s->serve = serve;
    served_open(&s->sockets, RANKS);
    bool all = crew_run(&everybody, play, s, status);
    served_close(&s->sockets);
    if (saw)
        *saw = *s;
    munmap(s, sizeof *s);
    return all;
}

static void succeeds(rank_main *main, nbcoll_serve_config serve, scene *saw)
{
    int status[RANKS + 1];
    assert_true(run(main, serve, status, saw));
    for (int i = 0; i <= RANKS; i++)
        assert_int_equal(status[i], 0);
}

static void join(actor *a, uint64_t node, const nbcoll_rule *rules, size_t n)
{
    nbcoll_comm_config config = NBCOLL_COMM_DEFAULTS;
    config.cells = 16;
    config.flags = NBCOLL_COUNTS_KNOWN;
    config.agent = a->agent;
    config.node = node;
    config.rules = rules;
    config.rule_count = n;
    CHECK_STATUS(NBCOLL_OK, nbcoll_comm_dup_with(a->all, &config, &a->comm, 30 * SECOND));
    a->sent = a->exposed = 0;
}

/* Three nodes of two ranks. Allgathers are programs as a whole. */
static void join_usual(actor *a, int rank)
{
    const nbcoll_rule rules[] = {{.algorithm = nbcoll_algorithm_find(NBCOLL_OPERATION_BARRIER, "hierarchical")},
                                 {.algorithm = nbcoll_algorithm_find(NBCOLL_OPERATION_BCAST, "hierarchical")},
                                 {.algorithm = nbcoll_algorithm_find(NBCOLL_OPERATION_ALLTOALL, "hierarchical")},
                                 {.algorithm = nbcoll_algorithm_find(NBCOLL_OPERATION_ALLREDUCE, "hierarchical")},
                                 {.algorithm = nbcoll_algorithm_find(NBCOLL_OPERATION_ALLGATHER, "ring")}};
    join(a, 1 + (uint64_t)rank / 2, rules, 5);
}

/* Until so many have come, or nobody does; meanwhile the rank's operations go on. */
static void await(actor *a, atomic_int *count, int number)
{
    for (uint64_t begin = clock_ns(); atomic_load(count) < number; sched_yield()) {
        CHECK(clock_ns() - begin < 30 * SECOND);
        nbcoll_progress(a->context);
    }
}

static void end_well(nbcoll_request *request)
{
    CHECK_STATUS(NBCOLL_OK, nbcoll_wait(request, 30 * SECOND));
}

/* ---- results ----------------------------------------------------------------------------------------------------- */

static int has_root(nbcoll_operation what)
{
    return what == NBCOLL_OPERATION_BCAST || what == NBCOLL_OPERATION_REDUCE || what == NBCOLL_OPERATION_GATHER ||
           what == NBCOLL_OPERATION_SCATTER || what == NBCOLL_OPERATION_GATHERV || what == NBCOLL_OPERATION_SCATTERV;
}

/* Several at a time, with other roots. */
static void call(actor *a, int rank, nbcoll_operation what, size_t count, uint64_t seed)
{
    operation o[AT_A_TIME];
    share mine[AT_A_TIME];
    nbcoll_request request[AT_A_TIME];
    for (int i = 0; i < AT_A_TIME; i++) {
        o[i] = (operation){.what = what,
                           .root = has_root(what) ? (int)((seed + 5 * (uint64_t)i) % RANKS) : 0,
                           .count = count,
                           .how = {NBCOLL_INT32, NBCOLL_SUM},
                           .in_place = i == 1,
                           .seed = seed + (uint64_t)i,
                           .counts_known = 1};
        mine[i] = share_make(&o[i], rank, RANKS);
        CHECK_STATUS(NBCOLL_OK, operation_start(&o[i], &mine[i], a->comm, &request[i]));
    }
    for (int i = 0; i < AT_A_TIME; i++) {
        end_well(&request[i]);
        operation_check(&o[i], &mine[i], rank, RANKS);
        share_free(&mine[i]);
    }
}

/* The `which`-th algorithm by nodes of each operation that has so many; returns of how many. */
static size_t rules_of(int which, unsigned leaders, nbcoll_rule rules[])
{
    size_t n = 0;
    for (int what = 0; what < NBCOLL_OPERATION_COUNT; what++) {
        const nbcoll_algorithm *algorithm;
        int found = 0;
        for (unsigned i = 0; (algorithm = nbcoll_algorithm_at((nbcoll_operation)what, i)); i++)
            if (algorithm->flags & NBCOLL_ALGORITHM_NODES && found++ == which)
                rules[n++] = (nbcoll_rule){.algorithm = algorithm,
                                           .leaders = algorithm->flags & NBCOLL_ALGORITHM_LEADERS ? leaders : 0};
    }
    return n;
}

static void call_all_algorithms(int rank, void *user)
{
    static const uint64_t node[2][RANKS] = {{1, 1, 1, 2, 2, 3}, {1, 2, 2, 3, 1, 1}};
    nbcoll_rule rules[NBCOLL_OPERATION_COUNT];
    actor *a = user;
    size_t n;
    for (int which = 0; (n = rules_of(which, 1, rules)) > 0; which++)
        for (unsigned leaders = 1; leaders <= 2; leaders++) {
            rules_of(which, leaders, rules);
            join(a, node[(which + (int)leaders) % 2][rank], rules, n);
            for (size_t i = 0; i < n; i++) {
                int before = a->exposed;
                call(a, rank, rules[i].algorithm->operation, i % 2 ? 3 : 200, i + 10 * leaders);
                atomic_fetch_or(&a->s->shown[which][rules[i].algorithm->operation], a->exposed > before ? leaders : 0);
                atomic_fetch_or(&a->s->called[which][rules[i].algorithm->operation], leaders);
            }
            CHECK(a->sent == 0);
            CHECK_STATUS(NBCOLL_OK, nbcoll_comm_free(a->comm));
        }
}

static void hierarchical_algorithms_meet_in_memory_and_are_sent_by_an_agents_process(void **state)
{
    scene s;
    int called = 0, shown = 0;
    (void)state;
    succeeds(call_all_algorithms, (nbcoll_serve_config){.programs = 4}, &s);
    for (int which = 0; which < WHICH; which++)
        for (int what = 0; what < NBCOLL_OPERATION_COUNT; what++) {
            called += __builtin_popcount((unsigned)s.called[which][what]);
            shown += __builtin_popcount((unsigned)s.shown[which][what]);
        }
    assert_true(called >= 2 * 25);
    assert_true(shown >= called * 7 / 8); /* but where ranks are to be combined in an order that nodes do not keep */
}

/* ---- what is told ------------------------------------------------------------------------------------------------ */

static nbcoll_args args_of(nbcoll_operation what, size_t count)
{
    return (nbcoll_args){
        .size = sizeof(nbcoll_args), .operation = what, .count = count, .reduction = {NBCOLL_INT32, NBCOLL_SUM}};
}

/* In how many parts? *why: with the reason. */
static int parts_of(const actor *a, nbcoll_operation what, size_t count, nbcoll_refusal *why)
{
    nbcoll_args args = args_of(what, count);
    *why = (nbcoll_refusal){.size = sizeof *why};
    CHECK_STATUS(NBCOLL_OK, nbcoll_comm_offloads(a->comm, &args, why));
    return why->parts;
}

static void ask(int rank, void *user)
{
    actor *a = user;
    nbcoll_refusal why;
    join_usual(a, rank);
    CHECK(parts_of(a, NBCOLL_OPERATION_ALLTOALL, FITS, &why) == 3);
    CHECK(why.reason == NBCOLL_REFUSAL_NONE);
    CHECK(parts_of(a, NBCOLL_OPERATION_ALLGATHER, FITS, &why) == 1);
    CHECK(why.reason == NBCOLL_REFUSAL_NONE);
    CHECK(parts_of(a, NBCOLL_OPERATION_ALLTOALL, 2 * FITS, &why) == 1);
    CHECK(why.reason == NBCOLL_REFUSAL_SCRATCH && why.allowed == SCRATCH && why.needed > SCRATCH);
    CHECK(strstr(why.text, nbcoll_refusal_text(NBCOLL_REFUSAL_SCRATCH)));
    call(a, rank, NBCOLL_OPERATION_ALLTOALL, 2 * FITS, 7);
    CHECK(a->exposed == 0 && a->sent == 0);
    CHECK_STATUS(NBCOLL_OK, nbcoll_comm_free(a->comm));
}

static void operation_is_a_program_as_a_whole_where_the_process_shares_too_little_scratch_memory(void **state)
{
    (void)state;
    succeeds(ask, (nbcoll_serve_config){.scratch = SCRATCH}, NULL);
}

/* ---- room -------------------------------------------------------------------------------------------------------- */

/* Rank 1 is late. Two have no room together; also programs that are a whole operation, or others in parts. */
static void start_many(int rank, actor *a, int is_mixed)
{
    static int32_t in[MANY][RANKS * FITS], out[MANY][RANKS * FITS], all[MANY][RANKS];
    nbcoll_request request[2 * MANY];
    join_usual(a, rank);
    if (rank == 1)
        await(a, &a->s->started, RANKS - 1);
    for (int i = 0; i < MANY; i++) {
        for (int k = 0; k < RANKS * FITS; k++)
            in[i][k] = 1000 * i + 100 * rank + k;
        nbcoll_request *next = &request[2 * i + 1];
        CHECK_STATUS(NBCOLL_OK, nbcoll_ialltoall(in[i], out[i], FITS, NBCOLL_INT32, a->comm, &request[2 * i]));
        CHECK_STATUS(NBCOLL_OK, is_mixed ? nbcoll_iallgather(&in[i][0], all[i], 1, NBCOLL_INT32, a->comm, next)
                                         : nbcoll_ibarrier(a->comm, next));
    }
    for (int i = 0; i < 100; i++)
        nbcoll_progress(a->context);
    CHECK(rank == 1 || nbcoll_test(&request[2 * MANY - 1]) == NBCOLL_PENDING);
    atomic_fetch_add(&a->s->started, 1);
    for (int i = 0; i < 2 * MANY; i++)
        end_well(&request[i]);
    for (int i = 0; i < MANY; i++)
        for (int from = 0; from < RANKS; from++) {
            CHECK(!is_mixed || all[i][from] == 1000 * i + 100 * from);
            for (int k = 0; k < FITS; k++)
                CHECK(out[i][from * FITS + k] == 1000 * i + 100 * from + rank * FITS + k);
        }
    CHECK_STATUS(NBCOLL_OK, nbcoll_comm_free(a->comm));
}

static void start_many_mixed(int rank, void *user)
{
    start_many(rank, user, 1);
}

static void operations_and_programs_wait_in_order_for_scratch_memory(void **state)
{
    const nbcoll_agent_config several = {.size = sizeof several, .in_flight = 3};
    const nbcoll_serve_config serve = {.agent = &several, .programs = 2 * MANY, .scratch = SCRATCH};
    (void)state;
    succeeds(start_many_mixed, serve, NULL);
}

static void start_many_in_parts(int rank, void *user)
{
    start_many(rank, user, 0);
}

static void operations_wait_in_order_for_room_on_the_command_area(void **state)
{
    (void)state;
    succeeds(start_many_in_parts, (nbcoll_serve_config){.programs = 2, .scratch = 4 * SCRATCH}, NULL);
}

static void start_again(int rank, void *user)
{
    static int32_t in[RANKS * FITS], out[RANKS * FITS];
    nbcoll_request request;
    actor *a = user;
    join_usual(a, rank);
    for (int round = 0; round < 30; round++) {
        in[rank] = round;
        CHECK_STATUS(NBCOLL_OK, nbcoll_ialltoall(in, out, FITS, NBCOLL_INT32, a->comm, &request));
        end_well(&request);
        CHECK_STATUS(NBCOLL_OK, nbcoll_barrier(a->comm, 30 * SECOND));
        lacks = round > 1;
    }
    lacks = 0;
    CHECK_STATUS(NBCOLL_OK, nbcoll_comm_free(a->comm));
}

static void starting_one_again_allocates_nothing(void **state)
{
    (void)state;
    succeeds(start_again, (nbcoll_serve_config){.programs = 2}, NULL);
}

/* ---- buffers ----------------------------------------------------------------------------------------------------- */

static char *shared_bytes(const actor *a, int rank)
{
    void *memory;
    CHECK_STATUS(NBCOLL_OK, nbcoll_mem_alloc(a->comm, LONG, &memory));
    return memset(memory, 1 + rank, LONG);
}

/* From rank 0; ranks 2 and 4 lead their nodes. Rank 2 tries with one that no process shares. */
static void bcast_from_private_memory(int rank, void *user)
{
    actor *a = user;
    char *own = memset(malloc(LONG), 1 + rank, LONG);
    nbcoll_request request;
    join_usual(a, rank);
    char *memory = rank % 2 ? own : shared_bytes(a, rank);
    if (rank == 2)
        CHECK_STATUS(NBCOLL_ERR_BUFFER, nbcoll_ibcast(own, LONG, NBCOLL_BYTE, 0, a->comm, &request));
    CHECK_STATUS(NBCOLL_OK, nbcoll_ibcast(memory, LONG, NBCOLL_BYTE, 0, a->comm, &request));
    end_well(&request);
    for (int i = 0; i < LONG; i++)
        CHECK(memory[i] == 1);
    CHECK(own[LONG - 1] == 1 + rank || rank % 2);
    CHECK(a->sent == 0 && (rank % 2 || a->exposed));
    free(own);
    CHECK_STATUS(NBCOLL_OK, nbcoll_comm_free(a->comm));
}

static void process_must_share_or_copy_what_its_part_touches_and_nothing_else(void **state)
{
    scene s;
    (void)state;
    succeeds(bcast_from_private_memory, (nbcoll_serve_config){.programs = 2}, &s);
    assert_non_null(strstr(s.said, nbcoll_refusal_text(NBCOLL_REFUSAL_MEMORY)));
    assert_non_null(strstr(s.said, "30000 bytes, and 16384 are allowed"));
}

/* Each node has memory of its own, and an endpoint of all ranks joins the nodes. */
static void bcast_from_memory_of_nodes(int rank, scene *s, int socket)
{
    const nbcoll_context_config contexts = {.size = sizeof contexts};
    const nbcoll_rule rule = {.algorithm = nbcoll_algorithm_find(NBCOLL_OPERATION_BCAST, "hierarchical")};
    nbcoll_shm_config config = s->config;
    nbcoll_comm_config limits = NBCOLL_COMM_DEFAULTS;
    nbcoll_endpoint *end[2];
    nbcoll_refusal why;
    nbcoll_request request;
    member m;
    actor a = {.s = s};
    config.rank = rank;
    CHECK_STATUS(NBCOLL_OK, nbcoll_shm_open(&config, &end[1]));
    config.id = s->node[rank / 2];
    config.ranks = 2;
    config.rank = rank % 2;
    CHECK_STATUS(NBCOLL_OK, nbcoll_shm_open(&config, &end[0]));
    const nbcoll_attach_config attach = {.size = sizeof attach, .socket = socket, .memory = end[0]};
    CHECK_STATUS(NBCOLL_OK, nbcoll_agent_attach(end[1], &attach, &limits.agent));
    limits.rules = &rule;
    limits.rule_count = 1;
    CHECK_STATUS(NBCOLL_OK, nbcoll_context_create(NBCOLL_ABI, &contexts, &m.context));
    CHECK_STATUS(NBCOLL_OK, nbcoll_comm_create_over(m.context, 2, end, &limits, &m.comm, 30 * SECOND));
    a.comm = m.comm;
    CHECK(parts_of(&a, NBCOLL_OPERATION_BCAST, LONG / 4, &why) == 3);
    char *memory = shared_bytes(&a, rank);
    CHECK_STATUS(NBCOLL_OK, nbcoll_ibcast(memory, LONG, NBCOLL_BYTE, 0, m.comm, &request));
    end_well(&request);
    for (int i = 0; i < LONG; i++)
        CHECK(memory[i] == 1);
    member_leave(&m);
    CHECK_STATUS(NBCOLL_OK, nbcoll_agent_close(limits.agent));
}

static void play_nodes(int rank, void *user)
{
    scene *s = user;
    int mine[RANKS];
    served_take(&s->sockets, rank, mine);
    if (rank == AGENT)
        served_serve(&s->sockets, mine, &s->serve);
    else
        bcast_from_memory_of_nodes(rank, s, mine[rank]);
}

static void process_shares_the_memory_of_each_node(void **state)
{
    scene *s = shared_memory(sizeof *s);
    int status[RANKS + 1];
    (void)state;
    s->config = (nbcoll_shm_config){
        .size = sizeof s->config, .id = fresh_id(), .ranks = RANKS, .quota = 1 << 20, .timeout = 30 * SECOND};
    for (int i = 0; i < RANKS / 2; i++)
        s->node[i] = fresh_id();
    served_open(&s->sockets, RANKS);
    bool all = crew_run(&everybody, play_nodes, s, status);
    served_close(&s->sockets);
    munmap(s, sizeof *s);
    assert_true(all);
    for (int i = 0; i <= RANKS; i++)
        assert_int_equal(status[i], 0);
}

/* ---- a leader that is stopped ------------------------------------------------------------------------------------ */

/* Rank 0 leads the first node. It is stopped when its node has come, before others start; they end. */
static void stop_leader(int rank, void *user)
{
    actor *a = user;
    scene *s = a->s;
    nbcoll_request request;
    join_usual(a, rank);
    if (rank == 0)
        await(a, &s->started, 1);
    for (uint64_t begin = clock_ns(); rank == 2 && !process_is_stopped(s->pid[0]); sched_yield())
        CHECK(clock_ns() - begin < 30 * SECOND);
    if (rank == 2)
        atomic_store(&s->seen, 1);
    if (rank > 2)
        await(a, &s->seen, 1);
    CHECK_STATUS(NBCOLL_OK, nbcoll_ibarrier(a->comm, &request));
    for (int i = 0; i < 10; i++)
        nbcoll_progress(a->context);
    atomic_fetch_add(&s->started, 1);
    if (rank == 0)
        kill(getpid(), SIGSTOP);
    CHECK(rank || atomic_load(&s->ended) == RANKS - 2);
    end_well(&request);
    atomic_fetch_add(&s->ended, 1);
    if (rank == 2) {
        await(a, &s->ended, RANKS - 2); /* all but its node */
        CHECK(process_is_stopped(s->pid[0]));
        kill(s->pid[0], SIGCONT);
    }
    CHECK_STATUS(NBCOLL_OK, nbcoll_comm_free(a->comm));
}

static void other_nodes_finish_while_a_leader_is_stopped_whose_node_has_come(void **state)
{
    (void)state;
    succeeds(stop_leader, (nbcoll_serve_config){.programs = 2}, NULL);
}

/* ---- who ends ---------------------------------------------------------------------------------------------------- */

typedef enum ending { LEADER_DIES, AGENT_DIES, RANK_0_CANCELS } ending;

/* The last rank's broadcast, with which the process of all leaders is half way when that rank does something else. */
static void end_half_way(int rank, actor *a, ending how)
{
    scene *s = a->s;
    nbcoll_request request, behind;
    join_usual(a, rank);
    char *memory = shared_bytes(a, rank);
    CHECK_STATUS(NBCOLL_OK, nbcoll_barrier(a->comm, 30 * SECOND)); /* there are queue pairs */
    if (rank < RANKS - 1) {
        CHECK_STATUS(NBCOLL_OK, nbcoll_ibcast(memory, LONG, NBCOLL_BYTE, RANKS - 1, a->comm, &request));
        CHECK_STATUS(NBCOLL_OK, nbcoll_ibarrier(a->comm, &behind));
        nbcoll_progress(a->context);
        atomic_fetch_add(&s->started, 1);
    }
    await(a, &s->started, RANKS - 1);
    if (rank == RANKS - 1 && how != RANK_0_CANCELS)
        kill(how == AGENT_DIES ? s->pid[AGENT] : getpid(), SIGKILL);
    if (rank == 0 && how == RANK_0_CANCELS)
        CHECK_STATUS(NBCOLL_OK, nbcoll_cancel(request));
    if (rank < RANKS - 1) {
        nbcoll_status ended = nbcoll_wait(&request, 10 * SECOND), later = nbcoll_wait(&behind, 10 * SECOND);
        CHECK(how == RANK_0_CANCELS ? ended == NBCOLL_ERR_CANCELLED : ended == NBCOLL_ERR_PEER_LOST);
        CHECK(later == NBCOLL_ERR_CANCELLED || later == NBCOLL_ERR_PEER_LOST);
        atomic_fetch_add(&s->ended, 1);
    } else {
        await(a, &s->ended, RANKS - 1);
        CHECK_STATUS(NBCOLL_OK, nbcoll_ibcast(memory, LONG, NBCOLL_BYTE, RANKS - 1, a->comm, &request));
        nbcoll_status ended = nbcoll_wait(&request, 10 * SECOND);
        CHECK(ended == NBCOLL_ERR_CANCELLED || ended == NBCOLL_ERR_PEER_LOST);
        atomic_fetch_add(&s->ended, 1);
    }
    await(a, &s->ended, how == LEADER_DIES ? RANKS - 1 : RANKS);
    for (int i = 0; i < LONG; i++)
        CHECK(memory[i] == 1 + rank);
    CHECK_STATUS(NBCOLL_OK, nbcoll_comm_free(a->comm));
}

static void lose_leader(int rank, void *user)
{
    end_half_way(rank, user, LEADER_DIES);
}

static void lose_agent(int rank, void *user)
{
    end_half_way(rank, user, AGENT_DIES);
}

static void cancel(int rank, void *user)
{
    end_half_way(rank, user, RANK_0_CANCELS);
}

static void ends_badly(nbcoll_request *request)
{
    nbcoll_status status = nbcoll_wait(request, 10 * SECOND);
    CHECK(status == NBCOLL_ERR_CANCELLED || status == NBCOLL_ERR_PEER_LOST);
}

/* Rank 1 is late, so rank 0's agent has nothing yet: the program that is cancelled waits behind a part that is not
 * ready. */
static void cancel_before_it_has_begun(int rank, void *user)
{
    static int32_t in[RANKS * FITS], out[RANKS * FITS], all[RANKS];
    nbcoll_request request, behind = {0};
    actor *a = user;
    join_usual(a, rank);
    if (rank == 1)
        await(a, &a->s->ended, RANKS - 1);
    CHECK_STATUS(NBCOLL_OK, nbcoll_ialltoall(in, out, FITS, NBCOLL_INT32, a->comm, &request));
    nbcoll_status begun = nbcoll_iallgather(&rank, all, 1, NBCOLL_INT32, a->comm, &behind);
    CHECK(begun == NBCOLL_OK || rank == 1);
    atomic_fetch_add(&a->s->started, 1);
    if (rank == 0) {
        await(a, &a->s->started, RANKS - 1);
        CHECK_STATUS(NBCOLL_OK, nbcoll_cancel(behind));
        CHECK_STATUS(NBCOLL_ERR_CANCELLED, nbcoll_wait(&behind, 10 * SECOND));
    } else if (begun == NBCOLL_OK)
        ends_badly(&behind);
    atomic_fetch_add(&a->s->ended, 1);
    ends_badly(&request);
    CHECK_STATUS(NBCOLL_OK, nbcoll_comm_free(a->comm));
}

static void one_cancelled_before_the_agent_has_it_ends_on_all_ranks(void **state)
{
    (void)state;
    succeeds(cancel_before_it_has_begun, (nbcoll_serve_config){.programs = 4}, NULL);
}

/* All others end well, and so do all when nobody is killed: -1. */
static void ends(rank_main *main, int killed)
{
    int status[RANKS + 1];
    assert_true(run(main, (nbcoll_serve_config){.programs = 4}, status, NULL));
    for (int i = 0; i <= RANKS; i++)
        assert_int_equal(status[i], i == killed ? SIGKILL : 0);
}

static void leader_that_dies_half_way_ends_it_on_all_ranks(void **state)
{
    (void)state;
    ends(lose_leader, RANKS - 1);
}

static void agent_that_dies_half_way_ends_it_on_all_ranks(void **state)
{
    (void)state;
    ends(lose_agent, AGENT);
}

static void one_cancelled_half_way_ends_on_all_ranks(void **state)
{
    (void)state;
    ends(cancel, -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hierarchical_algorithms_meet_in_memory_and_are_sent_by_an_agents_process),
        cmocka_unit_test(operation_is_a_program_as_a_whole_where_the_process_shares_too_little_scratch_memory),
        cmocka_unit_test(operations_and_programs_wait_in_order_for_scratch_memory),
        cmocka_unit_test(operations_wait_in_order_for_room_on_the_command_area),
        cmocka_unit_test(starting_one_again_allocates_nothing),
        cmocka_unit_test(process_must_share_or_copy_what_its_part_touches_and_nothing_else),
        cmocka_unit_test(process_shares_the_memory_of_each_node),
        cmocka_unit_test(other_nodes_finish_while_a_leader_is_stopped_whose_node_has_come),
        cmocka_unit_test(leader_that_dies_half_way_ends_it_on_all_ranks),
        cmocka_unit_test(agent_that_dies_half_way_ends_it_on_all_ranks),
        cmocka_unit_test(one_cancelled_half_way_ends_on_all_ranks),
        cmocka_unit_test(one_cancelled_before_the_agent_has_it_ends_on_all_ranks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
