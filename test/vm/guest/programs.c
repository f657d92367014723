/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Programs over verbs, of ranks that are processes, each with an agent that is a thread: the golden barrier, allgathers
 * of eager and of long messages, one rank far ahead of the others, and what the others are told of one that is killed;
 * with an agent that is one process for all, the others end while a rank is stopped, and memory is registered once, not
 * for each rank or program. No receiver is ever not ready: the device does not send again for that. Runs in a guest.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>
#include <infiniband/verbs.h>

#include <nbcoll/offload.h>
#include <nbcoll/shm.h>
#include <nbcoll/verify.h>

#include "crew.h"

#include "agents.h"
#include "board.h"

enum { RANKS = 4, EAGER = 64, DEPTH = 8, TIMES = 12, TOLD_MS = 2000, VICTIM = 1 };

typedef struct plan {
    board board;
    nbcoll_case what;
    const char *algorithm;
    size_t threshold;
    int in_flight;
    atomic_int late, ahead, done;
} plan;

typedef struct member {
    nbcoll_endpoint *end;
    helper helper; /* the queue pairs that its thread opens are those of programs */
    nbcoll_program *program;
} member;

static nbcoll_program *compile(const plan *p, int rank)
{
    nbcoll_program_config config = {
        .size = sizeof config, .eager = EAGER, .threshold = p->threshold, .in_flight = (uint32_t)p->in_flight};
    nbcoll_schedule *schedule[RANKS];
    nbcoll_program *program;

    for (int r = 0; r < RANKS; r++)
        CHECK_STATUS(NBCOLL_OK, nbcoll_build_case(nbcoll_algorithm_find(p->what.operation, p->algorithm), &p->what, r,
                                                  NULL, &schedule[r]));
    CHECK_STATUS(NBCOLL_OK,
                 nbcoll_compile((const nbcoll_schedule *const *)schedule, RANKS, &config, rank, 1, &program, NULL));
    for (int r = 0; r < RANKS; r++)
        nbcoll_schedule_free(schedule[r]);
    return program;
}

static void join(member *m, int rank, plan *p)
{
    const nbcoll_verbs_config config = {
        .size = sizeof config, .rank = rank, .ranks = RANKS, .timeout = 15, .probe_ms = 200};
    const nbcoll_agent_config agent = {
        .size = sizeof agent, .eager = EAGER, .depth = DEPTH, .in_flight = (uint32_t)p->in_flight};

    m->end = board_open(&p->board, &config);
    CHECK(m->end);
    m->program = compile(p, rank);
    helper_start_with(&m->helper, m->end, &agent);
}

static void leave(member *m)
{
    helper_end(&m->helper);
    nbcoll_program_free(m->program);
    nbcoll_endpoint_close(m->end);
}

static nbcoll_status end_of(nbcoll_program_run *run)
{
    nbcoll_status status;
    uint64_t since = clock_ns();

    while ((status = nbcoll_agent_test(run)) == NBCOLL_PENDING) {
        CHECK(clock_ns() - since < 60 * SECOND);
        sched_yield();
    }
    return status;
}

/* All are there before the first one leaves, which closes queue pairs. */
static void await_all(plan *p)
{
    uint64_t since = clock_ns();
    for (atomic_fetch_add(&p->done, 1); atomic_load(&p->done) < RANKS; sched_yield())
        CHECK(clock_ns() - since < 60 * SECOND);
}

static void run(plan what, rank_main *main)
{
    const crew c = CREW(1, 1, 1, 1);
    plan *p = shared_memory(sizeof *p);

    *p = what;
    p->in_flight = p->in_flight ? p->in_flight : 1;
    crew_succeeds(&c, main, p);
    assert_false(a_queue_pair_is_left());
}

static nbcoll_case case_of(nbcoll_operation operation, size_t count)
{
    return (nbcoll_case){.size = sizeof(nbcoll_case),
                         .operation = operation,
                         .ranks = RANKS,
                         .count = count,
                         .reduction = {NBCOLL_INT32, NBCOLL_SUM}};
}

/* ---- what this process sends ------------------------------------------------------------------------------------- */

static atomic_int sends, inline_sends; /* of data, to queue pairs that are connected */
static atomic_int pairs, inline_pairs; /* of programs; of these, with room for bytes in entries of the queue */
static int (*post_send)(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad);
static int (*poll_cq)(struct ibv_cq *cq, int n, struct ibv_wc *wc);

/* Of programs' queue pairs, by their numbers: sends that are asked for, and that are under way. */
enum { NUMBERS = 1 << 12 };
static atomic_int asked[NUMBERS], under_way[NUMBERS];
static atomic_int excess; /* sends beyond that */

static void count_under_way(uint32_t number, int change)
{
    int n = atomic_fetch_add(&under_way[number % NUMBERS], change) + change;
    int has = atomic_load(&asked[number % NUMBERS]);
    atomic_fetch_add(&excess, has && n > has);
}

static int count_ends(struct ibv_cq *cq, int n, struct ibv_wc *wc)
{
    int found = poll_cq(cq, n, wc);
    for (int i = 0; i < found; i++)
        if (wc[i].status == IBV_WC_SUCCESS && !(wc[i].opcode & IBV_WC_RECV))
            count_under_way(wc[i].qp_num, -1);
    return found;
}

static int count_sends(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
    int n = 0;
    for (const struct ibv_send_wr *w = wr; w; w = w->next) {
        bool is_data = qp->qp_type == IBV_QPT_RC && w->opcode == IBV_WR_SEND;
        atomic_fetch_add(&sends, is_data);
        atomic_fetch_add(&inline_sends, is_data && w->send_flags & IBV_SEND_INLINE);
        n++;
    }
    count_under_way(qp->qp_num, n); /* before its end can be seen */
    int refused = post_send(qp, wr, bad);
    if (refused)
        count_under_way(qp->qp_num, -n);
    return refused;
}

/* The linker brings the transport here first. */
struct ibv_context *__real_ibv_open_device(struct ibv_device *device);
struct ibv_context *__wrap_ibv_open_device(struct ibv_device *device);

struct ibv_context *__wrap_ibv_open_device(struct ibv_device *device)
{
    struct ibv_context *opened = __real_ibv_open_device(device);
    if (opened) {
        post_send = opened->ops.post_send;
        opened->ops.post_send = count_sends;
        poll_cq = opened->ops.poll_cq;
        opened->ops.poll_cq = count_ends;
    }
    return opened;
}

struct ibv_qp *__real_ibv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *how);
struct ibv_qp *__wrap_ibv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *how);

struct ibv_qp *__wrap_ibv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *how)
{
    atomic_fetch_add(&pairs, is_helper);
    atomic_fetch_add(&inline_pairs, is_helper && how->cap.max_inline_data > 0);
    int sends_asked_for = (int)how->cap.max_send_wr; /* the device says what it gives */
    struct ibv_qp *qp = __real_ibv_create_qp(pd, how);
    if (qp) {
        atomic_store(&under_way[qp->qp_num % NUMBERS], 0);
        atomic_store(&asked[qp->qp_num % NUMBERS], is_helper ? sends_asked_for : 0);
    }
    return qp;
}

/* ---- what they do ------------------------------------------------------------------------------------------------ */

/* Rank 3 comes late each time, which nobody leaves before. */
static void meet_again_and_again(int rank, void *user)
{
    plan *p = user;
    nbcoll_program_run *r;
    member m;

    join(&m, rank, p);
    for (int i = 0; i < TIMES; i++) {
        if (rank == RANKS - 1) {
            usleep(1000);
            atomic_store(&p->late, i + 1);
        }
        CHECK_STATUS(NBCOLL_OK, nbcoll_agent_start(m.helper.agent, m.program, NULL, NULL, &r));
        CHECK_STATUS(NBCOLL_OK, end_of(r));
        CHECK(atomic_load(&p->late) > i);
    }
    await_all(p);
    leave(&m);
}

static void the_barrier_of_the_table_holds_back_every_rank(void **state)
{
    (void)state;
    run((plan){.what = case_of(NBCOLL_OPERATION_BARRIER, 0), .algorithm = "recursive_doubling"}, meet_again_and_again);
}

static void gather_all(int rank, void *user)
{
    plan *p = user;
    size_t count = p->what.count;
    int32_t *send = malloc(count * sizeof *send), *recv = malloc(RANKS * count * sizeof *recv);
    nbcoll_program_run *r;
    member m;

    join(&m, rank, p);
    for (int i = 0; i < TIMES; i++) {
        for (size_t k = 0; k < count; k++)
            send[k] = (int32_t)k + 1000 * rank + i;
        CHECK_STATUS(NBCOLL_OK, nbcoll_agent_start(m.helper.agent, m.program, send, recv, &r));
        CHECK_STATUS(NBCOLL_OK, end_of(r));
        for (size_t k = 0; k < RANKS * count; k++)
            CHECK(recv[k] == (int32_t)(k % count) + 1000 * (int32_t)(k / count) + i);
    }
    await_all(p);
    leave(&m);
    free(send);
    free(recv);
}

static void allgathers_have_their_values_eager_and_long(void **state)
{
    (void)state;
    run((plan){.what = case_of(NBCOLL_OPERATION_ALLGATHER, 30), .algorithm = "bruck", .threshold = 2048}, gather_all);
    run((plan){.what = case_of(NBCOLL_OPERATION_ALLGATHER, 5000), .algorithm = "ring", .threshold = 100}, gather_all);
}

/* A message in each of two rounds, of one integer and of two. */
static void gather_short_ones(int rank, void *user)
{
    gather_all(rank, user);
    CHECK(atomic_load(&sends) == 2 * TIMES);
    CHECK(atomic_load(&inline_sends) == 0);
    CHECK(atomic_load(&pairs) > 0);
    CHECK(atomic_load(&inline_pairs) == 0);
    CHECK(atomic_load(&excess) == 0);
}

static void short_messages_are_sent_from_where_they_are_and_nothing_is_inline(void **state)
{
    (void)state;
    run((plan){.what = case_of(NBCOLL_OPERATION_ALLGATHER, 1), .algorithm = "bruck", .threshold = 2048},
        gather_short_ones);
}

/* The root starts all at once, many more than its peers have receives for, before they start any. */
static void run_ahead(int rank, void *user)
{
    plan *p = user;
    nbcoll_program_run *r[TIMES];
    int32_t data[TIMES][60];
    member m;

    join(&m, rank, p);
    for (int i = 0; i < TIMES; i++)
        for (int k = 0; k < 60; k++)
            data[i][k] = rank ? -1 : i + k;
    while (rank && !atomic_load(&p->ahead))
        sched_yield();
    for (int i = 0; i < TIMES; i++)
        CHECK_STATUS(NBCOLL_OK, nbcoll_agent_start(m.helper.agent, m.program, NULL, data[i], &r[i]));
    if (rank == 0) {
        usleep(50000);
        atomic_store(&p->ahead, 1);
    }
    for (int i = 0; i < TIMES; i++) {
        CHECK_STATUS(NBCOLL_OK, end_of(r[i]));
        for (int k = 0; k < 60; k++)
            CHECK(data[i][k] == i + k);
    }
    CHECK(atomic_load(&excess) == 0);
    await_all(p);
    leave(&m);
}

static void a_root_that_is_far_ahead_waits_for_receives(void **state)
{
    (void)state;
    run((plan){.what = case_of(NBCOLL_OPERATION_BCAST, 60), .algorithm = "flat", .threshold = 2048, .in_flight = 2},
        run_ahead);
}

/* ---- who ends ---------------------------------------------------------------------------------------------------- */

static void lose_one(int rank, void *user)
{
    plan *p = user;
    nbcoll_program_run *r;
    member m;

    join(&m, rank, p);
    CHECK_STATUS(NBCOLL_OK, nbcoll_agent_start(m.helper.agent, m.program, NULL, NULL, &r));
    CHECK_STATUS(NBCOLL_OK, end_of(r));
    await_all(p);
    if (rank == VICTIM)
        kill(getpid(), SIGKILL);
    uint64_t since = clock_ns();
    CHECK_STATUS(NBCOLL_OK, nbcoll_agent_start(m.helper.agent, m.program, NULL, NULL, &r));
    CHECK_STATUS(NBCOLL_ERR_PEER_LOST, end_of(r));
    printf("rank %d: told after %u ms\n", rank, (unsigned)((clock_ns() - since) / 1000000));
    CHECK((clock_ns() - since) / 1000000 < TOLD_MS);
    leave(&m);
}

static void a_rank_that_is_killed_ends_the_programs_that_need_it(void **state)
{
    const crew c = CREW(1, 1, 1, 1);
    plan *p = shared_memory(sizeof *p);
    int status[RANKS];

    (void)state;
    *p = (plan){.what = case_of(NBCOLL_OPERATION_BARRIER, 0), .algorithm = "recursive_doubling", .in_flight = 1};
    assert_true(crew_run(&c, lose_one, p, status));
    for (int i = 0; i < RANKS; i++)
        assert_int_equal(status[i], i == VICTIM ? SIGKILL : 0);
    assert_false(a_queue_pair_is_left());
}

/* ---- an agent that is a process ---------------------------------------------------------------------------------- */

enum { AGENT = RANKS };

typedef struct node {
    plan plan;
    nbcoll_shm_id id;
    int socket[RANKS][2]; /* the rank's, and the agent's */
    pid_t stopped;
    atomic_int started, ended;
    atomic_int registered, segments; /* by the agent's process: pieces of memory; those as long as */
    size_t segment;                  /* what the ranks share */
} node;

/* ---- what the agent's process registers ---- */

static node *counted; /* there; elsewhere null */

static void count_registration(size_t bytes)
{
    if (!counted)
        return;
    atomic_fetch_add(&counted->registered, 1);
    if (bytes == counted->segment)
        atomic_fetch_add(&counted->segments, 1);
}

/* The linker brings what the transport calls here first. */
void *__real_ibv_reg_mr(void *pd, void *memory, size_t bytes, int access);
void *__wrap_ibv_reg_mr(void *pd, void *memory, size_t bytes, int access);
void *__real_ibv_reg_mr_iova2(void *pd, void *memory, size_t bytes, uint64_t at, unsigned access);
void *__wrap_ibv_reg_mr_iova2(void *pd, void *memory, size_t bytes, uint64_t at, unsigned access);

void *__wrap_ibv_reg_mr(void *pd, void *memory, size_t bytes, int access)
{
    count_registration(bytes);
    return __real_ibv_reg_mr(pd, memory, bytes, access);
}

void *__wrap_ibv_reg_mr_iova2(void *pd, void *memory, size_t bytes, uint64_t at, unsigned access)
{
    count_registration(bytes);
    return __real_ibv_reg_mr_iova2(pd, memory, bytes, at, access);
}

/* ---- the processes ---- */

/* The agent's process has the queue pairs of all ranks. */
static void serve(node *n)
{
    nbcoll_verbs_config config = {.size = sizeof config, .ranks = RANKS, .timeout = 15};
    const nbcoll_agent_config agent = {.size = sizeof agent, .eager = EAGER, .depth = DEPTH, .in_flight = 1};
    nbcoll_verbs_address all[RANKS];
    nbcoll_endpoint *end[RANKS];
    int sockets[RANKS];

    counted = n;
    for (config.rank = 0; config.rank < RANKS; config.rank++, config.beside = end[0])
        CHECK_STATUS(NBCOLL_OK, nbcoll_verbs_open(&config, &all[config.rank], &end[config.rank]));
    for (int i = 0; i < RANKS; i++) {
        CHECK_STATUS(NBCOLL_OK, nbcoll_verbs_meet(end[i], all));
        sockets[i] = dup(n->socket[i][1]);
    }
    const nbcoll_serve_config served = {.size = sizeof served,
                                  .agent = &agent,
                                  .endpoints = end,
                                  .sockets = sockets,
                                  .count = RANKS,
                                  .copied = 64,
                                  .flags = NBCOLL_SERVE_OUTSIDE};
    CHECK_STATUS(NBCOLL_OK, nbcoll_agent_serve(&served));
}

/* Rank 0 has started and is stopped before the others start; rank 1 continues it when they have ended. */
static nbcoll_status end_while_0_is_stopped(node *n, int rank, const member *m, int32_t *send, int32_t *recv)
{
    nbcoll_program_run *r;
    uint64_t since = clock_ns();

    while (rank && !(atomic_load(&n->started) && process_is_stopped(n->stopped)))
        CHECK(clock_ns() - since < 60 * SECOND);
    CHECK_STATUS(NBCOLL_OK, nbcoll_agent_start(m->helper.agent, m->program, send, recv, &r));
    if (!rank) {
        n->stopped = getpid();
        atomic_store(&n->started, 1);
        kill(getpid(), SIGSTOP);
        CHECK(atomic_load(&n->ended) == RANKS - 1);
    }
    nbcoll_status status = end_of(r);
    atomic_fetch_add(&n->ended, 1);
    while (rank && atomic_load(&n->ended) < RANKS - 1)
        CHECK(clock_ns() - since < 60 * SECOND);
    if (rank == 1)
        kill(n->stopped, SIGCONT);
    return status;
}

/* A rank, its end of shm, and memory there for what it sends, then for what it receives. */
static int32_t *attach(member *m, int rank, node *n)
{
    size_t count = n->plan.what.count;
    nbcoll_shm_config config = {.size = sizeof config, .id = n->id, .rank = rank, .ranks = RANKS, .quota = 1 << 20};
    nbcoll_attach_config agent = {.size = sizeof agent, .socket = dup(n->socket[rank][0])};
    void *base;
    uint64_t at;

    CHECK_STATUS(NBCOLL_OK, nbcoll_shm_open(&config, &m->end));
    const nbcoll_shared *shared = m->end->transport->shared; /* what nbcoll_mem_alloc asks */
    CHECK(shared->descriptor(m->end, &base, &n->segment) >= 0);
    CHECK_STATUS(NBCOLL_OK, nbcoll_agent_attach(m->end, &agent, &m->helper.agent));
    m->program = compile(&n->plan, rank);
    CHECK_STATUS(NBCOLL_OK, shared->reserve(m->end, (RANKS + 1) * count * sizeof(int32_t), &at));
    return shared->map(m->end, at, (RANKS + 1) * count * sizeof(int32_t));
}

static void detach(member *m, node *n)
{
    await_all(&n->plan);
    CHECK_STATUS(NBCOLL_OK, nbcoll_agent_close(m->helper.agent));
    nbcoll_program_free(m->program);
    nbcoll_endpoint_close(m->end);
}

static void check_gathered(const int32_t *all, size_t count)
{
    for (size_t k = 0; k < RANKS * count; k++)
        CHECK(all[k] == (int32_t)(k % count) + 1000 * (int32_t)(k / count));
}

static void fill_gathered(int32_t *mine, int rank, size_t count)
{
    for (size_t k = 0; k < count; k++)
        mine[k] = (int32_t)k + 1000 * rank;
}

static void stop_rank_0(int rank, void *user)
{
    node *n = user;
    size_t count = n->plan.what.count;
    member m;

    if (rank == AGENT) {
        serve(n);
        return;
    }
    int32_t *send = attach(&m, rank, n), *recv = send + count;
    fill_gathered(send, rank, count);
    CHECK_STATUS(NBCOLL_OK, end_while_0_is_stopped(n, rank, &m, send, recv));
    check_gathered(recv, count);
    detach(&m, n);
}

/* The first program opens queue pairs, with buffers of their own; a later one may need memory for a run of its own, if
 * it starts before that of an earlier one is free again. */
static void gather_again_and_again(int rank, void *user)
{
    node *n = user;
    size_t count = n->plan.what.count;
    nbcoll_program_run *r;
    int before = 0;
    member m;

    if (rank == AGENT) {
        serve(n);
        return;
    }
    int32_t *send = attach(&m, rank, n), *recv = send + count, own[BOARD_RANKS];
    nbcoll_program_info info = {.size = sizeof info};
    CHECK_STATUS(NBCOLL_OK, nbcoll_program_query(m.program, &info));
    const bool has_scratch = info.extent[NBCOLL_BUFFER_SCRATCH] != 0;
    fill_gathered(count > 1 ? send : own, rank, count); /* a short one is copied */
    for (int i = 0; i < TIMES; i++) {
        CHECK_STATUS(NBCOLL_OK, nbcoll_agent_start(m.helper.agent, m.program, count > 1 ? send : own, recv, &r));
        CHECK_STATUS(NBCOLL_OK, end_of(r));
        atomic_fetch_add(&n->ended, 1);
        for (uint64_t since = clock_ns(); atomic_load(&n->ended) < RANKS * (i + 1);)
            CHECK(clock_ns() - since < 60 * SECOND);
        before = i ? before : atomic_load(&n->registered);
    }
    check_gathered(recv, count);
    CHECK(before > 0 && atomic_load(&n->registered) <= before + (has_scratch ? RANKS : 0));
    CHECK(atomic_load(&n->segments) == 1);
    detach(&m, n);
}

static void with_a_process(rank_main *main, nbcoll_case what, const char *algorithm, size_t threshold)
{
    const crew c = CREW(1, 1, 1, 1, 1);
    node *n = shared_memory(sizeof *n);

    n->plan = (plan){.what = what, .algorithm = algorithm, .threshold = threshold, .in_flight = 1};
    assert_int_equal(nbcoll_shm_id_make(&n->id), NBCOLL_OK);
    for (int i = 0; i < RANKS; i++)
        assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, n->socket[i]), 0);
    crew_succeeds(&c, main, n);
    for (int i = 0; i < RANKS; i++) {
        close(n->socket[i][0]);
        close(n->socket[i][1]);
    }
    assert_false(a_queue_pair_is_left());
}

static void others_end_over_the_device_while_a_rank_is_stopped(void **state)
{
    (void)state;
    with_a_process(stop_rank_0, case_of(NBCOLL_OPERATION_ALLGATHER, 30), "bruck", 2048);
    with_a_process(stop_rank_0, case_of(NBCOLL_OPERATION_ALLGATHER, 5000), "ring", 100);
}

static void memory_is_registered_once_for_all_ranks_and_programs(void **state)
{
    (void)state;
    with_a_process(gather_again_and_again, case_of(NBCOLL_OPERATION_ALLGATHER, 1), "bruck", 2048);
    with_a_process(gather_again_and_again, case_of(NBCOLL_OPERATION_ALLGATHER, 5000), "ring", 100);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_barrier_of_the_table_holds_back_every_rank),
        cmocka_unit_test(allgathers_have_their_values_eager_and_long),
        cmocka_unit_test(short_messages_are_sent_from_where_they_are_and_nothing_is_inline),
        cmocka_unit_test(a_root_that_is_far_ahead_waits_for_receives),
        cmocka_unit_test(a_rank_that_is_killed_ends_the_programs_that_need_it),
        cmocka_unit_test(others_end_over_the_device_while_a_rank_is_stopped),
        cmocka_unit_test(memory_is_registered_once_for_all_ranks_and_programs),
    };
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
