/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Relays by agents over verbs, of ranks that are processes, each with an agent that is a thread; two of them share a
 * node, and its store, by shm. A rank that has not started, or is stopped, is passed by; a store that is full holds
 * back who sends there, and all goes on when it is emptied; the others are told of a rank that is killed, and their
 * queue pairs are gone; and what is deeper than a device's queues is refused by the name of its limit. So it is where
 * two devices join the ranks. Runs in a guest with two devices.
 */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <unistd.h>

#include <cmocka.h>
#include <infiniband/verbs.h>

#include <nbcoll/offload.h>
#include <nbcoll/relay.h>
#include <nbcoll/shm.h>

#include "crew.h"

#include "agents.h"
#include "board.h"

enum {
    RANKS = 4,
    NODES = 3,
    AT_ONCE = 2,
    FRAGMENT = 300,
    BYTES = 500,
    SLOTS = AT_ONCE + 1,
    TIMES = 20,
    TOLD_MS = 3000,
    ROOT = 0
};

/* Of each rank, and its place there. */
static const int node_of[RANKS] = {0, 0, 1, 2}, place_of[RANKS] = {0, 1, 0, 0}, size_of[NODES] = {2, 1, 1};

typedef struct plan {
    board board;
    nbcoll_shm_id id[NODES];
    nbcoll_topology_kind topology;
    const char *device; /* or devices; null: the first */
    int late;
    pid_t pid;            /* of the late one, if it stops */
    atomic_int is_ready;  /* it has relays, and begins to stop */
    atomic_int have_come; /* ranks that have all blocks but those of the late one */
} plan;

typedef struct member {
    int rank;
    plan *p;
    helper helper; /* of a node's first rank */
    nbcoll_context *context;
    nbcoll_comm *comm;
    nbcoll_relays *relays;
    uint64_t number;
    unsigned char send[SLOTS][BYTES], recv[SLOTS][RANKS * BYTES]; /* of operation n at n modulo SLOTS */
} member;

/* ---- queue pairs that agents have in this process ---------------------------------------------------------------- */

static const nbcoll_offload *verbs;
static nbcoll_offload counting;
static nbcoll_transport table;
static atomic_int pairs, most; /* now; that there were at a time */

static nbcoll_status count_pair(nbcoll_endpoint *ep, const nbcoll_queue_config *config, nbcoll_queue_pair **out)
{
    nbcoll_status status = verbs->open_queue(ep, config, out);
    if (status == NBCOLL_OK)
        atomic_store(&most, atomic_fetch_add(&pairs, 1) + 1); /* by one thread */
    return status;
}

static void uncount_pair(nbcoll_endpoint *ep, nbcoll_queue_pair *pair, nbcoll_completion_queue *completions)
{
    verbs->close(ep, pair, completions);
    atomic_fetch_sub(&pairs, pair != NULL);
}

static void count_pairs(nbcoll_endpoint *ep)
{
    memcpy(&table, ep->transport, sizeof table);
    verbs = table.offload;
    memcpy(&counting, verbs, sizeof counting);
    counting.open_queue = count_pair;
    counting.close = uncount_pair;
    table.offload = &counting;
    ep->transport = &table;
}

/* ---- what this process is told of devices ------------------------------------------------------------------------
 */

static int work_requests; /* of a queue of the second one; 0: as it says */
static const char BOTH[] = "rxe0,rxe1";
static char told[300];

/* The linker brings what the transport calls here first. */
int __real_ibv_query_device(struct ibv_context *device, struct ibv_device_attr *out);
int __wrap_ibv_query_device(struct ibv_context *device, struct ibv_device_attr *out);

int __wrap_ibv_query_device(struct ibv_context *device, struct ibv_device_attr *out)
{
    int status = __real_ibv_query_device(device, out);
    if (work_requests && strcmp(ibv_get_device_name(device->device), "rxe1") == 0)
        out->max_qp_wr = work_requests;
    return status;
}

/* What the device has no more of, after so many more that it gives the agent: as if others had the rest. */
typedef enum thing { NOTHING, COMPLETIONS, PAIR, RECEIVES } thing;

static atomic_int lacks, left;

static bool is_refused(thing what)
{
    bool is = is_helper && atomic_load(&lacks) == (int)what && atomic_fetch_sub(&left, 1) <= 0;
    if (is)
        errno = ENOMEM;
    return is;
}

struct ibv_cq *__real_ibv_create_cq(struct ibv_context *device, int n, void *of, struct ibv_comp_channel *c, int on);
struct ibv_cq *__wrap_ibv_create_cq(struct ibv_context *device, int n, void *of, struct ibv_comp_channel *c, int on);
struct ibv_qp *__real_ibv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *how);
struct ibv_qp *__wrap_ibv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *how);
struct ibv_srq *__real_ibv_create_srq(struct ibv_pd *pd, struct ibv_srq_init_attr *how);
struct ibv_srq *__wrap_ibv_create_srq(struct ibv_pd *pd, struct ibv_srq_init_attr *how);

struct ibv_cq *__wrap_ibv_create_cq(struct ibv_context *device, int n, void *of, struct ibv_comp_channel *c, int on)
{
    return is_refused(COMPLETIONS) ? NULL : __real_ibv_create_cq(device, n, of, c, on);
}

struct ibv_qp *__wrap_ibv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *how)
{
    return is_refused(PAIR) ? NULL : __real_ibv_create_qp(pd, how);
}

struct ibv_srq *__wrap_ibv_create_srq(struct ibv_pd *pd, struct ibv_srq_init_attr *how)
{
    return is_refused(RECEIVES) ? NULL : __real_ibv_create_srq(pd, how);
}

static void hear(void *user, nbcoll_status why, const char *text)
{
    (void)user, (void)why;
    strncpy(told, text, sizeof told - 1);
}

/* ---- ranks ------------------------------------------------------------------------------------------------------- */

static void join(member *m, int rank, plan *p)
{
    int node = node_of[rank];
    const nbcoll_verbs_config config = {.size = sizeof config,
                                        .rank = rank,
                                        .ranks = RANKS,
                                        .device = p->device,
                                        .timeout = 15,
                                        .probe_ms = 200,
                                        .host = {.size = sizeof config.host, .log = hear}};
    const nbcoll_shm_config near = {
        .size = sizeof near, .id = p->id[node], .rank = place_of[rank], .ranks = size_of[node], .quota = 1 << 20};
    nbcoll_comm_config comm = NBCOLL_COMM_DEFAULTS;
    nbcoll_endpoint *end[2];

    memset(m, 0, sizeof *m);
    m->rank = rank;
    m->p = p;
    CHECK_STATUS(NBCOLL_OK, nbcoll_shm_open(&near, &end[0]));
    end[1] = board_open(&p->board, &config);
    CHECK(end[1]);
    count_pairs(end[1]);
    CHECK_STATUS(NBCOLL_OK, nbcoll_context_create(NBCOLL_ABI, NULL, &m->context));
    comm.node = 1 + (uint64_t)node;
    CHECK_STATUS(NBCOLL_OK, nbcoll_comm_create_over(m->context, 2, end, &comm, &m->comm, 60 * SECOND));
    if (place_of[rank] == 0)
        helper_start(&m->helper, end[1]);
}

static nbcoll_status try_relays(member *m)
{
    nbcoll_relays_config config = NBCOLL_RELAYS_DEFAULTS;

    config.topology = m->p->topology;
    config.ports = 1;
    config.at_once = AT_ONCE;
    config.fragments = 2;
    config.fragment = FRAGMENT;
    config.by_agents = 1;
    config.agent = m->helper.agent;
    CHECK_STATUS(NBCOLL_OK, nbcoll_relays_open(m->comm, &config, &m->relays));
    return nbcoll_relays_wait(m->relays, 0, 60 * SECOND);
}

static void open_relays(member *m)
{
    CHECK_STATUS(NBCOLL_OK, try_relays(m));
    CHECK((atomic_load(&pairs) > 0) == (m->helper.agent != NULL));
}

static void leave(member *m)
{
    CHECK_STATUS(NBCOLL_OK, nbcoll_relays_close(m->relays, 60 * SECOND));
    CHECK(atomic_load(&pairs) == 0);
    if (m->helper.agent)
        helper_end(&m->helper);
    leave_context(m->context);
}

/* ---- operations -------------------------------------------------------------------------------------------------- */

static unsigned char value_of(int rank, uint64_t operation, size_t i)
{
    return (unsigned char)((size_t)rank * 37 + operation * 11 + i * 3 + i / 256);
}

static nbcoll_status start_gather(member *m)
{
    uint64_t next = m->number + 1, number;
    unsigned char *mine = m->send[next % SLOTS], *all = m->recv[next % SLOTS];

    for (size_t i = 0; i < BYTES; i++)
        mine[i] = value_of(m->rank, next, i);
    memset(all, 0, RANKS * BYTES);
    nbcoll_status status = nbcoll_relays_allgather(m->relays, mine, all, BYTES, &number);
    if (status == NBCOLL_OK)
        CHECK(number == next);
    m->number += status == NBCOLL_OK;
    return status;
}

static void check_block(const member *m, uint64_t operation, int of)
{
    for (size_t i = 0; i < BYTES; i++)
        CHECK(m->recv[operation % SLOTS][(size_t)of * BYTES + i] == value_of(of, operation, i));
}

static void finish_gather(member *m, uint64_t operation)
{
    CHECK_STATUS(NBCOLL_OK, nbcoll_relays_wait(m->relays, operation, 60 * SECOND));
    for (int of = 0; of < RANKS; of++)
        check_block(m, operation, of);
}

/* The blocks of all but the late one come. */
static void await_the_others(member *m, uint64_t operation)
{
    uint64_t since = clock_ns();

    for (int of = 0; of < RANKS; of++) {
        while (of != m->p->late && nbcoll_relays_arrived(m->relays, operation, of) != NBCOLL_OK) {
            CHECK(clock_ns() - since < 60 * SECOND);
            CHECK_STATUS(NBCOLL_PENDING, nbcoll_relays_test(m->relays, operation));
        }
        if (of != m->p->late)
            check_block(m, operation, of);
    }
    CHECK(nbcoll_relays_arrived(m->relays, operation, m->p->late) == NBCOLL_PENDING);
}

static void await_count(const atomic_int *count, int wanted)
{
    for (uint64_t since = clock_ns(); atomic_load(count) < wanted; sched_yield())
        CHECK(clock_ns() - since < 60 * SECOND);
}

/* ---- who is late ------------------------------------------------------------------------------------------------- */

static void continue_the_late_one(plan *p)
{
    await_count(&p->have_come, RANKS - 1);
    kill(p->pid, SIGCONT);
}

/* A broadcast has ended at all others, and an allgather has come as far as it can. */
static void go_ahead(member *m)
{
    unsigned char given[BYTES] = {0};

    for (size_t i = 0; i < BYTES && m->rank == ROOT; i++)
        given[i] = value_of(ROOT, 0, i);
    CHECK_STATUS(NBCOLL_OK, nbcoll_relays_bcast(m->relays, given, BYTES, ROOT, &m->number));
    bool is_late = m->rank == m->p->late;
    if (!is_late)
        CHECK_STATUS(NBCOLL_OK, nbcoll_relays_wait(m->relays, m->number, 60 * SECOND));
    CHECK_STATUS(NBCOLL_OK, start_gather(m));
    if (!is_late) {
        await_the_others(m, m->number);
        CHECK_STATUS(NBCOLL_ERR_BUSY, start_gather(m)); /* the late one has not even started the first */
        atomic_fetch_add(&m->p->have_come, 1);
    }
    if (m->rank == ROOT && m->p->pid)
        continue_the_late_one(m->p);
    finish_gather(m, m->number);
    for (size_t i = 0; i < BYTES; i++)
        CHECK(given[i] == value_of(ROOT, 0, i));
}

static void stop_until_the_others_have_all(plan *p)
{
    p->pid = getpid();
    atomic_store(&p->is_ready, 1);
    kill(p->pid, SIGSTOP);
    CHECK(atomic_load(&p->have_come) == RANKS - 1);
}

/* Of a leader only the agent goes on; a rank that leads none is stopped. */
static void one_is_late(int rank, void *user)
{
    plan *p = user;
    bool stops = place_of[p->late] > 0;
    member m;

    join(&m, rank, p);
    open_relays(&m);
    if (rank == p->late && stops)
        stop_until_the_others_have_all(p);
    else if (rank == p->late)
        await_count(&p->have_come, RANKS - 1);
    else if (stops) {
        await_count(&p->is_ready, 1);
        while (!process_is_stopped(p->pid))
            sched_yield();
    }
    go_ahead(&m);
    leave(&m);
}

/* `ends`: how the late one does. */
static void run_over(const char *device, rank_main *main, nbcoll_topology_kind topology, int late, int ends)
{
    const crew c = CREW(1, 1, 1, 1);
    plan *p = shared_memory(sizeof *p);
    int status[RANKS];

    p->device = device;
    p->topology = topology;
    p->late = late;
    for (int n = 0; n < NODES; n++)
        assert_int_equal(nbcoll_shm_id_make(&p->id[n]), NBCOLL_OK);
    assert_true(crew_run(&c, main, p, status));
    for (int i = 0; i < RANKS; i++)
        assert_int_equal(status[i], i == late ? ends : 0);
    assert_false(a_queue_pair_is_left());
}

static void run(rank_main *main, nbcoll_topology_kind topology, int late, int ends)
{
    run_over(NULL, main, topology, late, ends);
}

static void a_leader_that_has_not_started_is_passed_by(void **state)
{
    (void)state;
    run(one_is_late, NBCOLL_TOPOLOGY_RING, 2, 0);
    run(one_is_late, NBCOLL_TOPOLOGY_BRUCK, 2, 0);
    run(one_is_late, NBCOLL_TOPOLOGY_CAYLEY, 2, 0);
}

static void a_rank_that_is_stopped_is_passed_by(void **state)
{
    (void)state;
    run(one_is_late, NBCOLL_TOPOLOGY_RING, 1, 0);
}

/* It has started what may be under way, and does not look until its store is full of that and of what comes next. */
static void one_does_not_look(int rank, void *user)
{
    plan *p = user;
    member m;

    join(&m, rank, p);
    open_relays(&m);
    for (int i = 0; i < AT_ONCE; i++)
        CHECK_STATUS(NBCOLL_OK, start_gather(&m));
    if (rank == p->late)
        await_count(&p->have_come, RANKS - 1);
    else {
        for (uint64_t i = 1; i <= AT_ONCE; i++) {
            finish_gather(&m, i);
            CHECK_STATUS(NBCOLL_OK, start_gather(&m));
        }
        for (uint64_t i = 1; i <= AT_ONCE; i++)
            await_the_others(&m, AT_ONCE + i);
        CHECK_STATUS(NBCOLL_ERR_BUSY, start_gather(&m));
        atomic_fetch_add(&p->have_come, 1);
    }
    while (m.number < TIMES) {
        finish_gather(&m, m.number - AT_ONCE + 1);
        CHECK_STATUS(NBCOLL_OK, start_gather(&m));
    }
    for (uint64_t i = AT_ONCE; i > 0; i--)
        finish_gather(&m, TIMES + 1 - i);
    leave(&m);
}

static void all_goes_on_after_a_rank_whose_store_is_full(void **state)
{
    (void)state;
    run(one_does_not_look, NBCOLL_TOPOLOGY_RING, 2, 0);
    run(one_does_not_look, NBCOLL_TOPOLOGY_CAYLEY, 0, 0);
}

/* Rank 0 is joined to rank 2 by the first one, to rank 3 by the second one, and they to each other by that. */
static void relays_over_two_devices_wait_for_a_full_store_and_go_on(void **state)
{
    long first = packets_sent_by("rxe0"), second = packets_sent_by("rxe1");

    (void)state;
    assert_true(first >= 0 && second >= 0);
    run_over(BOTH, one_does_not_look, NBCOLL_TOPOLOGY_DIRECT, 0, 0);
    assert_true(packets_sent_by("rxe0") - first > TIMES && packets_sent_by("rxe1") - second > TIMES);
}

/* ---- who ends ---------------------------------------------------------------------------------------------------- */

static void one_is_killed(int rank, void *user)
{
    plan *p = user;
    member m;

    join(&m, rank, p);
    open_relays(&m);
    CHECK_STATUS(NBCOLL_OK, start_gather(&m));
    finish_gather(&m, 1);
    if (rank == p->late) {
        await_count(&p->have_come, RANKS - 1);
        raise(SIGKILL);
    }
    CHECK_STATUS(NBCOLL_OK, start_gather(&m));
    await_the_others(&m, 2);
    atomic_fetch_add(&p->have_come, 1);
    uint64_t since = clock_ns();
    CHECK_STATUS(NBCOLL_ERR_PEER_LOST, nbcoll_relays_wait(m.relays, 2, 60 * SECOND));
    printf("rank %d: told after %u ms\n", rank, (unsigned)((clock_ns() - since) / 1000000));
    CHECK((clock_ns() - since) / 1000000 < TOLD_MS);
    CHECK_STATUS(NBCOLL_ERR_PEER_LOST, start_gather(&m));
    leave(&m);
}

static void the_others_are_told_of_a_killed_rank_and_have_no_queue_pairs(void **state)
{
    (void)state;
    run(one_is_killed, NBCOLL_TOPOLOGY_RING, 2, SIGKILL);
    run(one_is_killed, NBCOLL_TOPOLOGY_CAYLEY, 1, SIGKILL); /* which leads no node */
    run_over(BOTH, one_is_killed, NBCOLL_TOPOLOGY_DIRECT, 2, SIGKILL);
}

/* ---- limits ------------------------------------------------------------------------------------------------------ */

/* Messages of the two ranks of node 0 come by one connection: 16 at a time, and 24 sends with what is told of receives.
 */
static void one_device_has_no_such_queues(int rank, void *user)
{
    plan *p = user;
    member m;

    join(&m, rank, p);
    work_requests = rank == p->late ? 23 : 0;
    CHECK_STATUS(NBCOLL_ERR_LIMIT, try_relays(&m));
    CHECK_STATUS(NBCOLL_OK, nbcoll_relays_close(m.relays, 60 * SECOND));
    CHECK(atomic_load(&most) == 0);
    CHECK((strstr(told, "rxe1 has max_qp_wr 23, and 24 are wanted for 16 ") != NULL) == (rank == p->late));
    printf("rank %d: %s\n", rank, told);
    work_requests = 0;
    open_relays(&m);
    CHECK_STATUS(NBCOLL_OK, start_gather(&m));
    finish_gather(&m, 1);
    leave(&m);
}

static void relays_deeper_than_a_devices_queues_are_refused_on_all_ranks(void **state)
{
    (void)state;
    run_over(BOTH, one_device_has_no_such_queues, NBCOLL_TOPOLOGY_DIRECT, 2, 0);
}

/* Each in turn, behind the first one that it gives; the relay with shared receives is one only, with a queue of them on
 * each device. */
static void one_device_has_no_more(int rank, void *user)
{
    static const char *const names[] = {[COMPLETIONS] = "one more completion queue",
                                        [PAIR] = "one more queue pair, where 16 entries are wanted: it has max_qp ",
                                        [RECEIVES] = "one more shared receive queue"};
    plan *p = user;
    member m;

    join(&m, rank, p);
    for (thing what = COMPLETIONS; what <= RECEIVES; what++) {
        atomic_store(&left, 1);
        atomic_store(&lacks, rank == p->late ? what : NOTHING);
        told[0] = 0;
        CHECK_STATUS(NBCOLL_ERR_LIMIT, try_relays(&m));
        CHECK_STATUS(NBCOLL_OK, nbcoll_relays_close(m.relays, 60 * SECOND));
        CHECK(atomic_load(&pairs) == 0);
        CHECK((strstr(told, names[what]) != NULL) == (rank == p->late));
    }
    printf("rank %d: %s\n", rank, told);
    CHECK(rank != p->late || strstr(told, " rxe1 "));
    atomic_store(&lacks, NOTHING);
    open_relays(&m);
    CHECK_STATUS(NBCOLL_OK, start_gather(&m));
    finish_gather(&m, 1);
    leave(&m);
}

static void relays_that_find_no_more_on_a_device_end_on_all_ranks(void **state)
{
    (void)state;
    run_over(BOTH, one_device_has_no_more, NBCOLL_TOPOLOGY_DIRECT, 2, 0);
}

/* More than rxe has. */
static void queue_pairs_deeper_than_the_device_has_are_refused(void **state)
{
    const nbcoll_verbs_config config = {
        .size = sizeof config, .ranks = 2, .host = {.size = sizeof config.host, .log = hear}};
    nbcoll_verbs_address all[2] = {0};
    const nbcoll_queue_config deep = {.size = sizeof deep, .peer = 1, .depth = 1u << 30};
    nbcoll_queue_demand demand = {.size = sizeof demand, .pairs = 1, .depth = 64};
    nbcoll_queue_pair *pair;
    nbcoll_endpoint *ep;

    (void)state;
    assert_int_equal(nbcoll_verbs_open(&config, &all[0], &ep), NBCOLL_OK);
    all[1] = all[0];
    assert_int_equal(nbcoll_verbs_meet(ep, all), NBCOLL_OK);
    const nbcoll_offload *call = ep->transport->offload;
    assert_int_equal(call->open_queue(ep, &deep, &pair), NBCOLL_ERR_LIMIT);
    assert_non_null(strstr(told, "max_qp_wr"));
    assert_int_equal(call->admits(ep, &demand), NBCOLL_OK);
    demand.shared_depth = 1u << 30;
    assert_int_equal(call->admits(ep, &demand), NBCOLL_ERR_LIMIT);
    assert_non_null(strstr(told, "max_srq_wr"));
    demand = (nbcoll_queue_demand){.size = sizeof demand, .pairs = 1u << 30, .depth = 64};
    assert_int_equal(call->admits(ep, &demand), NBCOLL_ERR_LIMIT);
    assert_non_null(strstr(told, "max_qp "));
    nbcoll_endpoint_close(ep);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_leader_that_has_not_started_is_passed_by),
        cmocka_unit_test(a_rank_that_is_stopped_is_passed_by),
        cmocka_unit_test(all_goes_on_after_a_rank_whose_store_is_full),
        cmocka_unit_test(relays_over_two_devices_wait_for_a_full_store_and_go_on),
        cmocka_unit_test(the_others_are_told_of_a_killed_rank_and_have_no_queue_pairs),
        cmocka_unit_test(relays_deeper_than_a_devices_queues_are_refused_on_all_ranks),
        cmocka_unit_test(relays_that_find_no_more_on_a_device_end_on_all_ranks),
        cmocka_unit_test(queue_pairs_deeper_than_the_device_has_are_refused),
    };
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
