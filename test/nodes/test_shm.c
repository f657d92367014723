/* SPDX-License-Identifier: BSD-3-Clause
 * Nodes whose ranks share memory: a shm segment each, joined by a loopback where all ranks are threads; where they are
 * processes by sockets, the transport of examples/own_transport, which shares nothing, or by one more segment, as a
 * slower wire would; or by both of these, a segment for each two nodes. Ranks really wait, and really die. */
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "bootstrap.h"
#include "crew.h"
#include "joined.h"
#include "nbcoll/select.h"
#include "nbcoll/shm.h"
#include "operation.h"
#include "socket.h"

/* What joins the nodes. */
typedef enum wire { LOOPBACK, SEGMENT, SOCKETS, RACKS_AND_SOCKETS, WIRES } wire;

typedef struct plan {
    const nbcoll_nodes *nodes;
    wire wire;
    nbcoll_loopback *loopback;
    nbcoll_shm_id between, inside[JOINED_NODES], racks[JOINED_NODES];
    uint64_t seed;
    int turns;  /* how often each collective is run */
    int victim; /* dies; -1: nobody */
    _Atomic uint64_t death;
    _Atomic int asleep; /* how often the sleeper has armed its context */
} plan;

static void open_shm(nbcoll_shm_id id, int rank, int ranks, uint32_t flags, nbcoll_endpoint **out)
{
    nbcoll_shm_config config = {.size = sizeof config, .id = id, .rank = rank, .ranks = ranks, .flags = flags};
    CHECK_STATUS(NBCOLL_OK, nbcoll_shm_open(&config, out));
}

static void open_sockets(const plan *p, int rank, nbcoll_endpoint **out)
{
    int fd[WORLD_MOST];

    CHECK_STATUS(NBCOLL_OK, socket_connect(p->between.text, rank, p->nodes->ranks, fd));
    CHECK_STATUS(NBCOLL_OK, socket_open(rank, p->nodes->ranks, fd, out));
}

/* Of a rack's segment, which two nodes have, numbered as the nodes are. */
static void open_rack(const plan *p, int rank, nbcoll_endpoint **out)
{
    int rack = nbcoll_node_of(p->nodes, rank) / 2, place = 0, ranks = 0;

    for (int r = 0; r < p->nodes->ranks; r++)
        if (nbcoll_node_of(p->nodes, r) / 2 == rack) {
            place += r < rank;
            ranks++;
        }
    open_shm(p->racks[rack], place, ranks, NBCOLL_SHM_NO_BULK, out);
}

static nbcoll_comm *join(const plan *p, int rank, nbcoll_context **context)
{
    const nbcoll_comm_config limits = {.size = sizeof limits, .slots = 4, .cells = 8, .schedules = 16, .eager = 1024};
    int node = nbcoll_node_of(p->nodes, rank), n = 0;
    nbcoll_endpoint *all[3];
    nbcoll_comm *comm;

    open_shm(p->inside[node], nbcoll_node_place(p->nodes, rank), nbcoll_node_size(p->nodes, node), 0, &all[n++]);
    if (p->wire == RACKS_AND_SOCKETS)
        open_rack(p, rank, &all[n++]);
    if (p->wire == LOOPBACK)
        CHECK_STATUS(NBCOLL_OK, nbcoll_loopback_open(p->loopback, rank, &all[n++]));
    else if (p->wire == SEGMENT)
        open_shm(p->between, rank, p->nodes->ranks, NBCOLL_SHM_NO_BULK, &all[n++]);
    else
        open_sockets(p, rank, &all[n++]);
    CHECK_STATUS(NBCOLL_OK, nbcoll_context_create(NBCOLL_ABI, NULL, context));
    CHECK_STATUS(NBCOLL_OK, nbcoll_comm_create_over(*context, n, all, &limits, &comm, 20 * SECOND));
    return comm;
}

static void leave(nbcoll_context *context)
{
    nbcoll_status s;
    while ((s = nbcoll_context_free(context)) == NBCOLL_ERR_BUSY)
        nbcoll_progress(context);
    CHECK_STATUS(NBCOLL_OK, s);
}

/* The i-th collective, in a form of its own: of as many as there are each comes once. */
static operation operation_next(uint64_t *random, int i, int ranks, size_t most)
{
    operation o;
    do
        o = operation_random(random, ranks, most);
    while (o.what != (nbcoll_operation)(i % NBCOLL_OPERATION_COUNT));
    return o;
}

/* Who shares memory: the ranks of a node. Where racks have a segment, what is one node is what has any in common. */
static void see_nodes(const plan *p, const nbcoll_comm *comm, int rank)
{
    for (int peer = 0; peer < p->nodes->ranks; peer++) {
        int node = nbcoll_node_of(p->nodes, rank), other = nbcoll_node_of(p->nodes, peer);
        int is_one = p->wire == RACKS_AND_SOCKETS ? node / 2 == other / 2 : node == other;
        CHECK(nbcoll_comm_shares((void *)(uintptr_t)comm, peer) == (node == other));
        CHECK((nbcoll_node_of(nbcoll_comm_nodes(comm), rank) == nbcoll_node_of(nbcoll_comm_nodes(comm), peer)) ==
              is_one);
    }
}

static void work(int rank, void *user)
{
    const plan *p = user;
    nbcoll_context *context;
    nbcoll_comm *comm = join(p, rank, &context), *dup;
    uint64_t random = p->seed;

    see_nodes(p, comm, rank);
    CHECK_STATUS(NBCOLL_OK, nbcoll_comm_dup(comm, &dup, 20 * SECOND));
    for (int i = 0; i < p->turns * NBCOLL_OPERATION_COUNT; i++) {
        operation o = operation_next(&random, i, p->nodes->ranks, i % 8 ? 600 : 30000);
        share mine = share_make(&o, rank, p->nodes->ranks);
        CHECK_STATUS(NBCOLL_OK, operation_call(&o, &mine, i % 2 ? comm : dup, 20 * SECOND));
        operation_check(&o, &mine, rank, p->nodes->ranks);
        share_free(&mine);
    }
    CHECK_STATUS(NBCOLL_OK, nbcoll_barrier(comm, 20 * SECOND));
    leave(context);
}

static void make_ids(plan *p)
{
    assert_int_equal(nbcoll_shm_id_make(&p->between), NBCOLL_OK);
    for (int i = 0; i < JOINED_NODES; i++)
        assert_int_equal(nbcoll_shm_id_make(&p->inside[i]), NBCOLL_OK);
    for (int i = 0; i < JOINED_NODES; i++)
        assert_int_equal(nbcoll_shm_id_make(&p->racks[i]), NBCOLL_OK);
}

static void thread_of(world *w, int rank, void *user)
{
    (void)w;
    work(rank, user);
}

static crew processes(int ranks)
{
    crew c = {{0}};
    for (int i = 0; i < ranks; i++)
        c.threads[i] = 1;
    return c;
}

static void join_threads(const nbcoll_nodes *nodes, const nbcoll_loopback_config *between, uint64_t seed, int turns)
{
    nbcoll_loopback_config config = *between;
    plan p = {.nodes = nodes, .seed = seed, .turns = turns, .victim = -1};
    world w = {.ranks = nodes->ranks};

    make_ids(&p);
    config.ranks = nodes->ranks;
    assert_int_equal(nbcoll_loopback_create(&config, &p.loopback), NBCOLL_OK);
    world_threads(&w, thread_of, &p);
    assert_int_equal(nbcoll_loopback_free(p.loopback), NBCOLL_OK);
}

static void join_processes(const nbcoll_nodes *nodes, wire by, uint64_t seed, int turns)
{
    plan p = {.nodes = nodes, .wire = by, .seed = seed, .turns = turns, .victim = -1};
    crew c = processes(nodes->ranks);

    make_ids(&p);
    crew_succeeds(&c, work, &p);
}

/* Every pair of 2 to 16 ranks, 1 to 5 nodes and a numbering; some of them where a sanitizer looks on. */
static void segments_joined_by_a_loopback_have_the_values_of_serial_c(void **state)
{
    uint64_t seed = seed_of_test();
    int turn = (int)(random_of(&seed) % JOINED_NUMBERINGS), every = sampled(12);
    int first = (int)(random_of(&seed) % (uint64_t)every);
    joined_cover cover = {0};

    (void)state;
    for (int i = first; i < JOINED_SAMPLE; i += every) {
        nbcoll_loopback_config between = world_variant(i % WORLD_SHARED, seed);
        nbcoll_numbering numbering;
        nbcoll_nodes *nodes = joined_sample(i, turn, random_of(&seed), &numbering);
        joined_cover_add(&cover, nodes, numbering);
        join_threads(nodes, &between, random_of(&seed), 1);
        nbcoll_nodes_free(nodes);
    }
    if (every == 1)
        joined_cover_has_pairs(&cover);
}

/* Of some numbers of ranks, every `stride`-th placement of those in joined.h, another first one for each. */
static void join_some(wire by, const int ranks[], int n, int stride)
{
    uint64_t seed = seed_of_test();

    for (int i = 0; i < n; i++)
        for (int at = i % stride; at < JOINED_PLACEMENTS; at += stride) {
            nbcoll_nodes *nodes = joined_placement(at, ranks[i], seed);
            join_processes(nodes, by, random_of(&seed), 2);
            nbcoll_nodes_free(nodes);
        }
}

static void segments_joined_by_sockets_have_the_values_of_serial_c(void **state)
{
    (void)state;
    join_some(SOCKETS, (const int[]){3, 6}, 2, 4);
}

static void segments_joined_by_a_segment_have_the_values_of_serial_c(void **state)
{
    (void)state;
    join_some(SEGMENT, (const int[]){3, 6}, 2, 4);
}

static void segments_joined_by_segments_joined_by_sockets_have_the_values_of_serial_c(void **state)
{
    (void)state;
    join_some(RACKS_AND_SOCKETS, (const int[]){4, 7, 12}, 3, 3);
}

/* ---- sleeping ---------------------------------------------------------------------------------------------------- */

enum { SLEEPER = 5, SLEEPERS = 6 };

/* Ends the request; what comes by any endpoint must end the sleep, and nothing else does. */
static void sleep_till_it_ends(plan *p, nbcoll_context *context, nbcoll_request *request)
{
    struct pollfd sleep = {.events = POLLIN};
    nbcoll_status s;

    CHECK_STATUS(NBCOLL_OK, nbcoll_fd(context, &sleep.fd));
    while ((s = nbcoll_test(request)) == NBCOLL_PENDING) {
        while ((s = nbcoll_arm(context)) == NBCOLL_AGAIN)
            CHECK_STATUS(NBCOLL_OK, nbcoll_progress(context));
        CHECK_STATUS(NBCOLL_OK, s);
        atomic_fetch_add(&p->asleep, 1);
        CHECK(poll(&sleep, 1, 20000) == 1);
        CHECK_STATUS(NBCOLL_OK, nbcoll_progress(context));
    }
    CHECK_STATUS(NBCOLL_OK, s);
}

/* Each other rank in turn sends to all when the sleeper has armed its context. */
static void wake_the_sleeper(int rank, void *user)
{
    const nbcoll_rule rule = {.algorithm = nbcoll_algorithm_find(NBCOLL_OPERATION_BCAST, "flat")};
    nbcoll_comm_config config = NBCOLL_COMM_DEFAULTS;
    plan *p = user;
    nbcoll_context *context;
    nbcoll_comm *comm = join(p, rank, &context), *flat;
    nbcoll_request request;

    config.rules = &rule;
    config.rule_count = 1;
    CHECK_STATUS(NBCOLL_OK, nbcoll_comm_dup_with(comm, &config, &flat, 20 * SECOND));
    for (int sender = 0; sender < SLEEPER; sender++) {
        int32_t value = rank == sender ? 100 + sender : 0;
        CHECK_STATUS(NBCOLL_OK, nbcoll_barrier(comm, 20 * SECOND));
        int before = atomic_load(&p->asleep); /* no less than when the sleeper came to the barrier */
        CHECK_STATUS(NBCOLL_OK, nbcoll_barrier(comm, 20 * SECOND));
        while (rank == sender && atomic_load(&p->asleep) == before)
            CHECK_STATUS(NBCOLL_OK, nbcoll_progress(context));
        CHECK_STATUS(NBCOLL_OK, nbcoll_ibcast(&value, 1, NBCOLL_INT32, sender, flat, &request));
        if (rank == SLEEPER)
            sleep_till_it_ends(p, context, &request);
        else
            CHECK_STATUS(NBCOLL_OK, nbcoll_wait(&request, 20 * SECOND));
        CHECK(value == 100 + sender);
    }
    CHECK_STATUS(NBCOLL_OK, nbcoll_barrier(comm, 20 * SECOND));
    leave(context);
}

/* Nodes are dealt the ranks: the sleeper has one beside it, one in its rack, and others. */
static void one_descriptor_wakes_for_segments_and_sockets(void **state)
{
    plan *p = shared_memory(sizeof *p);
    crew c = processes(SLEEPERS);

    (void)state;
    for (int by = SEGMENT; by < WIRES; by++) {
        nbcoll_nodes *nodes = joined_on(SLEEPERS, 5, NBCOLL_NUMBERING_ROUND_ROBIN, 1);
        *p = (plan){.nodes = nodes, .wire = (wire)by, .victim = -1};
        make_ids(p);
        crew_succeeds(&c, wake_the_sleeper, p);
        nbcoll_nodes_free(nodes);
    }
}

/* ---- deaths ------------------------------------------------------------------------------------------------------ */

/* The victim dies in one of many operations; the others learn who it was, and go on without it. */
static void work_until_one_dies(int rank, void *user)
{
    plan *p = user;
    nbcoll_context *context;
    nbcoll_comm *comm = join(p, rank, &context), *rest;
    nbcoll_status s = nbcoll_barrier(comm, 20 * SECOND);
    uint64_t random = p->seed;
    int32_t mine = 1, sum = 0;
    nbcoll_failure failure;

    for (int left = 5 + (int)(p->seed % 20); s == NBCOLL_OK; left--) {
        operation o = operation_random(&random, p->nodes->ranks, 5000);
        share data = share_make(&o, rank, p->nodes->ranks);
        if (rank == p->victim && !left) {
            atomic_store(&p->death, clock_ns());
            kill(getpid(), SIGKILL);
        }
        s = operation_call(&o, &data, comm, 20 * SECOND);
        share_free(&data);
    }
    CHECK_STATUS(NBCOLL_ERR_PEER_LOST, s);
    rank_in_time(clock_ns() - atomic_load(&p->death), 2 * SECOND);
    CHECK_STATUS(NBCOLL_OK, nbcoll_last_failure(context, &failure));
    CHECK(failure.rank == p->victim);
    CHECK_STATUS(NBCOLL_OK, nbcoll_comm_shrink(comm, &rest, 20 * SECOND));
    CHECK_STATUS(NBCOLL_OK, nbcoll_allreduce(&mine, &sum, 1, NBCOLL_INT32, NBCOLL_SUM, rest, 20 * SECOND));
    CHECK(sum == p->nodes->ranks - 1);
    leave(context);
}

static void a_killed_rank_is_named_on_all_nodes_which_go_on(void **state)
{
    enum { RANKS = 6 };
    plan *p = shared_memory(sizeof *p);
    crew c = processes(RANKS);
    uint64_t seed = seed_of_test();

    (void)state;
    for (int at = 1, tries = 0; at < JOINED_PLACEMENTS; at += !crew_was_late(&tries)) {
        nbcoll_nodes *nodes = joined_placement(at, RANKS, seed);
        int status[RANKS_MOST];
        *p = (plan){.nodes = nodes,
                    .wire = (wire)(SEGMENT + at % (WIRES - SEGMENT)),
                    .seed = random_of(&seed),
                    .victim = at % RANKS};
        make_ids(p);
        assert_true(crew_run(&c, work_until_one_dies, p, status));
        for (int r = 0; r < RANKS; r++)
            if (r == p->victim)
                assert_true(WIFSIGNALED(status[r]) && WTERMSIG(status[r]) == SIGKILL);
            else
                assert_int_equal(status[r], 0);
        nbcoll_nodes_free(nodes);
    }
}

/* ---- leaving ----------------------------------------------------------------------------------------------------- */

/* The victim leaves; what needs it ends with its name, what others do without it goes on. */
static void work_until_one_leaves(int rank, void *user)
{
    const plan *p = user;
    nbcoll_context *context;
    nbcoll_comm *comm = join(p, rank, &context), *rest;
    uint64_t random = p->seed;
    int32_t mine = 1, sum = 0;
    nbcoll_failure failure;

    CHECK_STATUS(NBCOLL_OK, nbcoll_comm_split(comm, rank == p->victim ? -1 : 0, rank, &rest, 20 * SECOND));
    for (int i = 0; i < 5; i++) {
        operation o = operation_random(&random, p->nodes->ranks, 5000);
        share data = share_make(&o, rank, p->nodes->ranks);
        CHECK_STATUS(NBCOLL_OK, operation_call(&o, &data, comm, 20 * SECOND));
        operation_check(&o, &data, rank, p->nodes->ranks);
        share_free(&data);
    }
    if (rank != p->victim) {
        CHECK_STATUS(NBCOLL_ERR_PEER_LOST, nbcoll_barrier(comm, 20 * SECOND));
        CHECK_STATUS(NBCOLL_OK, nbcoll_last_failure(context, &failure));
        CHECK(failure.rank == p->victim);
        CHECK_STATUS(NBCOLL_OK, nbcoll_allreduce(&mine, &sum, 1, NBCOLL_INT32, NBCOLL_SUM, rest, 20 * SECOND));
        CHECK(sum == p->nodes->ranks - 1);
    }
    leave(context);
}

static void a_rank_that_has_left_is_named_on_all_nodes_which_go_on(void **state)
{
    enum { RANKS = 6 };
    crew c = processes(RANKS);
    uint64_t seed = seed_of_test();

    (void)state;
    for (int at = 1; at < JOINED_PLACEMENTS; at++) {
        nbcoll_nodes *nodes = joined_placement(at, RANKS, seed);
        plan p = {.nodes = nodes,
                  .wire = (wire)(SEGMENT + at % (WIRES - SEGMENT)),
                  .seed = random_of(&seed),
                  .victim = at % RANKS};
        make_ids(&p);
        crew_succeeds(&c, work_until_one_leaves, &p);
        nbcoll_nodes_free(nodes);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(segments_joined_by_a_loopback_have_the_values_of_serial_c),
        cmocka_unit_test(segments_joined_by_a_segment_have_the_values_of_serial_c),
        cmocka_unit_test(segments_joined_by_sockets_have_the_values_of_serial_c),
        cmocka_unit_test(segments_joined_by_segments_joined_by_sockets_have_the_values_of_serial_c),
        cmocka_unit_test(one_descriptor_wakes_for_segments_and_sockets),
        cmocka_unit_test(a_killed_rank_is_named_on_all_nodes_which_go_on),
        cmocka_unit_test(a_rank_that_has_left_is_named_on_all_nodes_which_go_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
