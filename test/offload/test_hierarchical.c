/* SPDX-License-Identifier: BSD-3-Clause
 * Algorithms that go by nodes on communicators with an agent: ranks of a node meet in shared memory, and the agents of
 * the leaders do what is between nodes, in the order of the calls, whoever is late; cancelling, a leader that goes, and
 * deadlines end all that the agents have. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "by_nodes.h"
#include "nbcoll/select.h"
#include "nbcoll/verify.h"
#include "operation.h"
#include "tally.h"

enum { RANKS = 11, AT_A_TIME = 3, CALLS = 3, FOUR = 4, MANY = 60, LONG = 20000 };

/* Gives turns, in a random order, to agents and to ranks, until so many requests have ended, but for null ones. */
static void scene_settle(scene *s, int n, nbcoll_request requests[], nbcoll_status statuses[])
{
    for (long turn = 0, left = 1; left; turn++) {
        int rank = (int)(world_random(&s->j.w.random) % (unsigned)s->ranks);
        world_watchdog(&s->j.w, turn < 1000000);
        nbcoll_agent_progress(s->agent[rank]);
        if (s->j.w.context[rank])
            nbcoll_progress(s->j.w.context[rank]);
        left = 0;
        for (int i = 0; i < n; i++) {
            nbcoll_status status = requests[i].at ? nbcoll_test(&requests[i]) : statuses[i];
            statuses[i] = status;
            left += status == NBCOLL_PENDING;
        }
    }
}

static void scene_finish(scene *s, int n, nbcoll_request requests[])
{
    nbcoll_status statuses[FOUR * MANY] = {NBCOLL_OK};
    assert_true(n <= FOUR * MANY);
    scene_settle(s, n, requests, statuses);
    for (int i = 0; i < n; i++)
        assert_int_equal(statuses[i], NBCOLL_OK);
}

/* ---- results ----------------------------------------------------------------------------------------------------- */

static int sent, exposed, ran, cut;

static void note(void *user, const nbcoll_event *e)
{
    const nbcoll_step_view *v = nbcoll_schedule_step(e->schedule, e->step);
    (void)user;
    if (e->moment != NBCOLL_STEP_STARTED)
        return;
    sent += v->kind == NBCOLL_SEND;
    exposed += v->kind == NBCOLL_EXPOSE;
    ran += e->step == NBCOLL_START;
}

static int has_root(nbcoll_operation what)
{
    return what == NBCOLL_OPERATION_BCAST || what == NBCOLL_OPERATION_REDUCE || what == NBCOLL_OPERATION_GATHER ||
           what == NBCOLL_OPERATION_SCATTER || what == NBCOLL_OPERATION_GATHERV || what == NBCOLL_OPERATION_SCATTERV;
}

/* Several at a time, with other roots. */
static void run(scene *s, const nbcoll_algorithm *algorithm, size_t count, uint64_t seed)
{
    operation o[AT_A_TIME];
    nbcoll_request request[AT_A_TIME * RANKS];
    share mine[AT_A_TIME][RANKS];
    for (int i = 0; i < AT_A_TIME; i++) {
        o[i] = (operation){.what = algorithm->operation,
                           .count = count,
                           .how = {NBCOLL_INT32, NBCOLL_SUM},
                           .seed = seed + (uint64_t)i,
                           .counts_known = 1};
        if (has_root(o[i].what))
            o[i].root = (int)((seed + 3 * (uint64_t)i) % RANKS);
        for (int r = 0; r < RANKS; r++) {
            mine[i][r] = share_make(&o[i], r, RANKS);
            EXPECT(OK, operation_start(&o[i], &mine[i][r], s->j.w.comm[r], &request[i * RANKS + r]));
        }
    }
    scene_finish(s, AT_A_TIME * RANKS, request);
    for (int i = 0; i < AT_A_TIME; i++)
        for (int r = 0; r < RANKS; r++) {
            operation_check(&o[i], &mine[i][r], r, RANKS);
            share_free(&mine[i][r]);
        }
}

static void run_on(const nbcoll_algorithm *algorithm, int placement, unsigned leaders, int n)
{
    static const nbcoll_observer observer = {.size = sizeof observer, .event = note};
    const nbcoll_context_config contexts = {.size = sizeof contexts, .observer = &observer};
    const nbcoll_rule rule = {.algorithm = algorithm,
                              .leaders = algorithm->flags & NBCOLL_ALGORITHM_LEADERS ? leaders : 0};
    nbcoll_comm_config config = {.size = sizeof config,
                                 .slots = 2,
                                 .cells = 16,
                                 .schedules = 16,
                                 .eager = 256,
                                 .flags = NBCOLL_COUNTS_KNOWN,
                                 .rules = &rule,
                                 .rule_count = 1};
    nbcoll_nodes *nodes = joined_placement(placement, RANKS, leaders);
    scene s;
    scene_open(&s, nodes, &contexts, 1 + (uint32_t)n % 3, config);
    sent = exposed = ran = 0;
    run(&s, algorithm, 3, (uint64_t)n);
    run(&s, algorithm, 200, (uint64_t)n + 4);
    run(&s, algorithm, n % 2 ? 1 : 4200, (uint64_t)n + 5); /* rendezvous */
    assert_int_equal(sent, 0);
    assert_int_equal(ran, exposed ? CALLS * AT_A_TIME * RANKS : 0);
    cut += exposed > 0;
    scene_close(&s);
    nbcoll_nodes_free(nodes);
}

static void hierarchical_algorithms_send_by_agents_and_meet_in_memory(void **state)
{
    int n = 0;
    (void)state;
    for (int what = 0; what < NBCOLL_OPERATION_COUNT; what++) {
        const nbcoll_algorithm *algorithm;
        for (unsigned i = 0; (algorithm = nbcoll_algorithm_at((nbcoll_operation)what, i)); i++)
            for (unsigned leaders = 1; algorithm->flags & NBCOLL_ALGORITHM_NODES && leaders <= 2; leaders++)
                for (int k = 0; k < 2; k++, n++)
                    run_on(algorithm, 1 + n % (JOINED_PLACEMENTS - 1), leaders, n);
    }
    assert_true(n >= 25 * 2 * 2);
    assert_true(cut >= n * 7 / 8); /* where ranks are to be combined in order, and nodes have them out of order */
}

/* ---- two nodes of two ranks -------------------------------------------------------------------------------------- */

/* Barriers and broadcasts go by nodes, allgathers and allreduces are programs. */
static void open_four_with(scene *s, const nbcoll_context_config *contexts, uint32_t in_flight)
{
    static const int room[] = {2};
    const nbcoll_rule rules[] = {{.algorithm = nbcoll_algorithm_find(NBCOLL_OPERATION_BARRIER, "hierarchical")},
                                 {.algorithm = nbcoll_algorithm_find(NBCOLL_OPERATION_BCAST, "hierarchical")},
                                 {.algorithm = nbcoll_algorithm_find(NBCOLL_OPERATION_ALLGATHER, "ring")},
                                 {.algorithm = nbcoll_algorithm_find(NBCOLL_OPERATION_ALLREDUCE, "ring")}};
    nbcoll_comm_config config = {.size = sizeof config, .slots = 3, .cells = 8, .schedules = 16, .eager = 256,
                                 .rules = rules, .rule_count = 4};
    nbcoll_placement placement = {.size = sizeof placement, .room = room, .rooms = 1};
    nbcoll_nodes *nodes;
    EXPECT(OK, nbcoll_nodes_place(&placement, FOUR, NULL, &nodes));
    scene_open(s, nodes, contexts, in_flight, config);
    nbcoll_nodes_free(nodes);
}

static void open_four(scene *s)
{
    open_four_with(s, NULL, 1);
}

/* So many turns, one rank's and its agent's after the other's; one rank is left out, or none: -1. */
static void scene_turn(scene *s, int turns, int without)
{
    for (int turn = 0; turn < turns; turn++) {
        int rank = turn % s->ranks;
        nbcoll_agent_progress(s->agent[rank]);
        if (rank != without)
            nbcoll_progress(s->j.w.context[rank]);
    }
}

/* Of a communicator's broadcasts or another operation, on all ranks; why one by nodes is not in three. */
static int parts_of(const scene *s, nbcoll_operation what, nbcoll_refusal_reason *reason)
{
    nbcoll_args args = {.size = sizeof args, .operation = what, .count = 3,
                        .reduction = {NBCOLL_INT32, NBCOLL_SUM}};
    nbcoll_refusal why[FOUR];
    for (int rank = 0; rank < FOUR; rank++) {
        why[rank] = (nbcoll_refusal){.size = sizeof why[rank]};
        EXPECT(OK, nbcoll_comm_offloads(s->j.w.comm[rank], &args, &why[rank]));
        assert_int_equal(why[rank].parts, why[0].parts);
        assert_int_equal(why[rank].reason, why[0].reason);
    }
    *reason = why[0].reason;
    return why[0].parts;
}

static void what_is_offloaded_says_in_how_many_parts(void **state)
{
    nbcoll_refusal_reason why;
    scene s;
    (void)state;
    open_four(&s);
    assert_int_equal(parts_of(&s, NBCOLL_OPERATION_BCAST, &why), 3);
    assert_int_equal(why, NBCOLL_REFUSAL_NONE);
    assert_int_equal(parts_of(&s, NBCOLL_OPERATION_ALLGATHER, &why), 1);
    assert_int_equal(why, NBCOLL_REFUSAL_NONE);
    scene_close(&s);
}

/* Each rank shows something twice to the other one of its node. */
static void show_twice(nbcoll_builder *b, const nbcoll_args *a)
{
    nbcoll_addr at = nbcoll_add_scratch(b, 32);
    (void)a;
    for (size_t i = 0; i < 2; i++) {
        nbcoll_part mine = {b->rank ^ 1, 0, nbcoll_span(nbcoll_at(at, 8 * i), 8)};
        nbcoll_add_expose(b, 1, &mine);
        nbcoll_add_fetch(b, b->rank ^ 1, nbcoll_at(at, 16 + 8 * i), 8);
    }
    nbcoll_add_send(b, b->rank ^ 2, at, 0);
    nbcoll_add_recv(b, b->rank ^ 2, at, 0);
}

static void what_goes_by_nodes_as_a_whole_says_why_not_in_three_parts(void **state)
{
    const nbcoll_rule segments = {.algorithm = nbcoll_algorithm_find(NBCOLL_OPERATION_BCAST, "hierarchical"),
                                  .segment = 4};
    const nbcoll_rule whole = {.algorithm = segments.algorithm};
    const nbcoll_algorithm twice = {.size = sizeof twice, .name = "twice", .operation = NBCOLL_OPERATION_BARRIER,
                                    .build = show_twice, .flags = NBCOLL_ALGORITHM_NODES};
    const nbcoll_rule shows = {.algorithm = &twice};
    const struct {
        const nbcoll_rule *rule;
        nbcoll_operation what;
        uint32_t cells;
        int room; /* ranks of a node */
        nbcoll_refusal_reason why;
    } cases[] = {
        {&segments, NBCOLL_OPERATION_BCAST, 8, 2, NBCOLL_REFUSAL_BETWEEN},
        {&whole, NBCOLL_OPERATION_BCAST, 8, 1, NBCOLL_REFUSAL_ONE_PART},
        {&shows, NBCOLL_OPERATION_BARRIER, 1, 2, NBCOLL_REFUSAL_CELLS},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        nbcoll_comm_config config = {.size = sizeof config, .slots = 3, .cells = cases[i].cells, .schedules = 16,
                                     .eager = 256, .rules = cases[i].rule, .rule_count = 1};
        nbcoll_placement placement = {.size = sizeof placement, .room = &cases[i].room, .rooms = 1};
        nbcoll_refusal_reason why;
        nbcoll_nodes *nodes;
        scene s;
        EXPECT(OK, nbcoll_nodes_place(&placement, FOUR, NULL, &nodes));
        scene_open(&s, nodes, NULL, 1, config);
        nbcoll_nodes_free(nodes);
        assert_int_equal(parts_of(&s, cases[i].what, &why), 1);
        assert_int_equal(why, cases[i].why);
        scene_close(&s);
    }
}

typedef struct many {
    nbcoll_request request[FOUR][MANY];
    int32_t value[FOUR][MANY], all[FOUR][MANY][FOUR];
} many;

/* Every third is a program, and they say so in its values. Broadcasts begin at any rank, which is the leader then. */
static void many_start(many *m, scene *s, int rank)
{
    for (int i = 0; i < MANY; i++) {
        nbcoll_request *request = &m->request[rank][i];
        m->value[rank][i] = i % 3 == 1 || rank == i % FOUR ? 100 * i + (i % 3 == 1 ? rank : 0) : -1;
        if (i % 3 == 0)
            EXPECT(OK, nbcoll_ibarrier(s->j.w.comm[rank], request));
        else if (i % 3 == 1)
            EXPECT(OK, nbcoll_iallgather(&m->value[rank][i], m->all[rank][i], 1, NBCOLL_INT32, s->j.w.comm[rank],
                                         request));
        else
            EXPECT(OK, nbcoll_ibcast(&m->value[rank][i], 1, NBCOLL_INT32, i % FOUR, s->j.w.comm[rank], request));
    }
}

/* Rank 1 is late, so rank 0 is ready for no barrier, while rank 2 is for all. */
static void programs_start_in_the_order_of_the_calls(void **state)
{
    static many m;
    (void)state;
    for (uint32_t in_flight = 1; in_flight <= 3; in_flight++) {
        scene s;
        open_four_with(&s, NULL, in_flight);
        for (int rank = 0; rank < FOUR; rank++)
            if (rank != 1)
                many_start(&m, &s, rank);
        scene_turn(&s, 1000, 1);
        for (int i = 0; i < MANY; i++) /* that of rank 0 stands behind the barrier before it */
            assert_int_equal(nbcoll_test(&m.request[2][i]), NBCOLL_PENDING);
        many_start(&m, &s, 1);
        scene_finish(&s, FOUR * MANY, &m.request[0][0]);
        for (int rank = 0; rank < FOUR; rank++)
            for (int i = 0; i < MANY; i++)
                for (int from = 0; from < FOUR; from++) {
                    if (i % 3 == 1)
                        assert_int_equal(m.all[rank][i][from], 100 * i + from);
                    if (i % 3 == 2)
                        assert_int_equal(m.value[rank][i], 100 * i);
                }
        scene_close(&s);
    }
}

/* Nobody calls the library at the leaders while their agents do what is between them. */
static void leaders_need_do_nothing_between_their_nodes(void **state)
{
    nbcoll_request request[FOUR];
    scene s;
    (void)state;
    open_four(&s);
    for (int rank = 0; rank < FOUR; rank++)
        EXPECT(OK, nbcoll_ibarrier(s.j.w.comm[rank], &request[rank]));
    for (int rank = 0; rank < FOUR; rank++)
        nbcoll_progress(s.j.w.context[rank]); /* its node has come */
    for (int turn = 0; turn < 100; turn++)
        nbcoll_agent_progress(s.agent[turn % FOUR]);
    EXPECT(OK, nbcoll_test(&request[0]));
    EXPECT(OK, nbcoll_test(&request[2]));
    scene_finish(&s, FOUR, request);
    scene_close(&s);
}

static void a_persistent_one_is_started_again_and_again(void **state)
{
    nbcoll_request request[FOUR];
    int32_t value[FOUR];
    scene s;
    (void)state;
    open_four(&s);
    for (int rank = 0; rank < FOUR; rank++)
        EXPECT(OK, nbcoll_bcast_init(&value[rank], 1, NBCOLL_INT32, 3, s.j.w.comm[rank], &request[rank]));
    for (int round = 0; round < 20; round++) {
        for (int rank = 0; rank < FOUR; rank++) {
            value[rank] = rank == 3 ? round : -1;
            EXPECT(OK, nbcoll_start(&request[rank]));
        }
        for (int left = FOUR; left;) {
            scene_turn(&s, FOUR, -1);
            left = 0;
            for (int rank = 0; rank < FOUR; rank++)
                left += nbcoll_test(&request[rank]) == NBCOLL_PENDING;
        }
        for (int rank = 0; rank < FOUR; rank++)
            assert_int_equal(value[rank], round);
    }
    for (int rank = 0; rank < FOUR; rank++)
        EXPECT(OK, nbcoll_request_free(&request[rank]));
    scene_close(&s);
}

static char data[FOUR][LONG];

static void start_bcast(scene *s, nbcoll_request request[FOUR], int without)
{
    for (int rank = 0; rank < FOUR; rank++)
        memset(data[rank], 1 + rank, LONG);
    for (int rank = 0; rank < FOUR; rank++)
        if (rank != without)
            EXPECT(OK, nbcoll_ibcast(data[rank], LONG, NBCOLL_BYTE, 2, s->j.w.comm[rank], &request[rank]));
}

static void nothing_has_arrived_before_the_agent_has_done_its_part(void **state)
{
    nbcoll_request request[FOUR];
    scene s;
    (void)state;
    open_four(&s);
    start_bcast(&s, request, -1);
    EXPECT(PENDING, nbcoll_arrived(request[0], 0, LONG));
    scene_finish(&s, FOUR, request);
    assert_int_equal(data[0][LONG - 1], 3);
    scene_close(&s);
}

typedef struct loose {
    int32_t value, gap;
} loose;

static nbcoll_status pack(void *user, const void *elements, void *packed, size_t count)
{
    const loose *from = elements;
    int32_t *to = packed;
    (void)user;
    for (size_t i = 0; i < count; i++)
        to[i] = from[i].value;
    return NBCOLL_OK;
}

static nbcoll_status unpack(void *user, const void *packed, void *elements, size_t count)
{
    const int32_t *from = packed;
    loose *to = elements;
    (void)user;
    for (size_t i = 0; i < count; i++)
        to[i].value = from[i];
    return NBCOLL_OK;
}

/* What packs and unpacks is not between nodes. */
static void elements_that_travel_packed_go_by_agents_too(void **state)
{
    enum { ELEMENTS = 50 };
    const nbcoll_host_type type = {
        .size = sizeof type, .extent = sizeof(loose), .packed = sizeof(int32_t), .pack = pack, .unpack = unpack};
    nbcoll_args bcast = {.size = sizeof bcast, .operation = NBCOLL_OPERATION_BCAST, .count = ELEMENTS, .root = 3,
                         .reduction = {nbcoll_type_of(&type), NBCOLL_SUM}};
    nbcoll_request request[FOUR];
    loose element[FOUR][ELEMENTS];
    scene s;
    (void)state;
    open_four(&s);
    EXPECT(OK, nbcoll_comm_offloads(s.j.w.comm[0], &bcast, NULL));
    for (int rank = 0; rank < FOUR; rank++) {
        for (int i = 0; i < ELEMENTS; i++)
            element[rank][i] = (loose){rank == 3 ? 7 * i : -1, rank};
        EXPECT(OK, nbcoll_ibcast(element[rank], ELEMENTS, nbcoll_type_of(&type), 3, s.j.w.comm[rank], &request[rank]));
    }
    scene_finish(&s, FOUR, request);
    for (int rank = 0; rank < FOUR; rank++)
        for (int i = 0; i < ELEMENTS; i++) {
            assert_int_equal(element[rank][i].value, 7 * i);
            assert_int_equal(element[rank][i].gap, rank);
        }
    scene_close(&s);
}

static int lacks;

static int is_lacking(void)
{
    return lacks;
}

static void starting_one_again_allocates_nothing(void **state)
{
    tally counted = {.lacks = is_lacking};
    nbcoll_host host = tally_host(&counted);
    const nbcoll_context_config contexts = {.size = sizeof contexts, .host = host};
    nbcoll_request request[FOUR];
    scene s;
    (void)state;
    lacks = 0;
    open_four_with(&s, &contexts, 1);
    for (int round = 0; round < 50; round++) {
        start_bcast(&s, request, -1);
        scene_finish(&s, FOUR, request);
        scene_turn(&s, FOUR, -1);
        lacks = round > 1;
    }
    lacks = 0;
    scene_close(&s);
    assert_int_equal(counted.used, 0);
}

/* ---- ends -------------------------------------------------------------------------------------------------------- */

static void starts_fail_but_those_of_the_engine(scene *s, nbcoll_status how[FOUR])
{
    nbcoll_request request[FOUR] = {{0}};
    nbcoll_status statuses[FOUR] = {NBCOLL_OK};
    size_t counts[FOUR] = {1, 1, 1, 1}, displs[FOUR] = {0, 1, 2, 3};
    int32_t got[FOUR][FOUR];
    for (int rank = 0; rank < FOUR; rank++) /* on all ranks they have their place in the order */
        EXPECT(OK, nbcoll_ibarrier(s->j.w.comm[rank], &request[rank]));
    scene_settle(s, FOUR, request, statuses);
    for (int rank = 0; rank < FOUR; rank++)
        assert_true(statuses[rank] == NBCOLL_ERR_CANCELLED || statuses[rank] == NBCOLL_ERR_PEER_LOST);
    for (int rank = 0; rank < FOUR; rank++) {
        for (int i = 0; i < FOUR; i++)
            got[rank][i] = rank;
        EXPECT(OK, nbcoll_ialltoallv(NBCOLL_IN_PLACE, NULL, NULL, got[rank], counts, displs, NBCOLL_INT32,
                                     s->j.w.comm[rank], &request[rank]));
    }
    scene_finish(s, FOUR, request);
    assert_int_equal(got[1][3], 3);
    memcpy(how, statuses, sizeof statuses);
}

static int cancelled;

/* Cancelled by `who`, after so many turns of all. */
static void cancel_after(int turns, int who)
{
    nbcoll_request request[FOUR], behind[FOUR] = {{0}};
    nbcoll_status statuses[FOUR] = {NBCOLL_OK}, later[FOUR] = {NBCOLL_OK};
    int32_t mine[FOUR] = {0}, all[FOUR][FOUR];
    char before[LONG];
    scene s;
    open_four(&s);
    start_bcast(&s, request, -1);
    for (int rank = 0; rank < FOUR; rank++) /* a program that stands behind it */
        EXPECT(OK, nbcoll_iallgather(&mine[rank], all[rank], 1, NBCOLL_INT32, s.j.w.comm[rank], &behind[rank]));
    scene_turn(&s, turns, -1);
    EXPECT(OK, nbcoll_cancel(request[who]));
    scene_settle(&s, FOUR, request, statuses);
    memcpy(before, data[who], LONG);
    cancelled += statuses[who] == NBCOLL_ERR_CANCELLED;
    for (int rank = 0; rank < FOUR; rank++)
        assert_true(statuses[rank] == NBCOLL_OK || statuses[rank] == NBCOLL_ERR_CANCELLED ||
                    statuses[rank] == NBCOLL_ERR_PEER_LOST);
    scene_settle(&s, FOUR, behind, later);
    assert_memory_equal(data[who], before, LONG);
    if (statuses[who] != NBCOLL_OK)
        starts_fail_but_those_of_the_engine(&s, later);
    for (int rank = 0; rank < FOUR; rank++)
        assert_int_equal(nbcoll_comm_active(s.j.w.comm[rank]), 0);
    scene_close(&s);
}

static void one_cancelled_half_way_ends_on_all_ranks(void **state)
{
    (void)state;
    for (int turns = 0; turns < 24; turns++)
        for (int who = 0; who < FOUR; who++)
            cancel_after(turns, who);
    assert_true(cancelled >= 24); /* the others have ended before */
}

/* The agent of rank 0 has cleared its sender: what is sent would be written. */
static void one_that_is_cancelled_ends_when_its_agent_writes_no_more(void **state)
{
    nbcoll_request request[FOUR];
    nbcoll_status statuses[FOUR] = {NBCOLL_OK};
    scene s;
    (void)state;
    open_four(&s);
    start_bcast(&s, request, -1);
    nbcoll_progress(s.j.w.context[0]);
    nbcoll_agent_progress(s.agent[0]);
    EXPECT(OK, nbcoll_cancel(request[0]));
    for (int turn = 0; turn < 100; turn++) {
        EXPECT(PENDING, nbcoll_test(&request[0]));
        nbcoll_progress(s.j.w.context[turn % FOUR]);
    }
    nbcoll_agent_progress(s.agent[0]);
    EXPECT(ERR_CANCELLED, nbcoll_test(&request[0]));
    scene_settle(&s, FOUR, request, statuses);
    for (int i = 0; i < LONG; i++)
        assert_int_equal(data[0][i], 1);
    scene_close(&s);
}

/* Rank 1 never comes: rank 0 has no turn, its agent has nothing, and others wait for that. */
static void a_deadline_ends_one_whose_inner_part_never_begins(void **state)
{
    nbcoll_request request[FOUR] = {{0}};
    nbcoll_status statuses[FOUR] = {NBCOLL_OK, NBCOLL_OK};
    scene s;
    (void)state;
    open_four(&s);
    for (int rank = 2; rank < FOUR; rank++)
        EXPECT(OK, nbcoll_ibarrier(s.j.w.comm[rank], &request[rank]));
    scene_turn(&s, 100, -1);
    EXPECT(ERR_TIMEOUT, nbcoll_barrier(s.j.w.comm[0], 1000000));
    scene_settle(&s, FOUR, request, statuses);
    for (int rank = 2; rank < FOUR; rank++)
        assert_true(statuses[rank] == NBCOLL_ERR_CANCELLED || statuses[rank] == NBCOLL_ERR_PEER_LOST);
    EXPECT(OK, nbcoll_ibarrier(s.j.w.comm[1], &request[1])); /* late: it is over */
    scene_settle(&s, FOUR, request, statuses);
    assert_int_equal(statuses[1], NBCOLL_ERR_CANCELLED);
    scene_close(&s);
}

/* Rank 2, before it has called: as one that leaves, or, in the middle of an operation of the engine's, is lost. */
static void leader_goes(int is_lost)
{
    nbcoll_request request[FOUR] = {{0}}, begun[FOUR] = {{0}};
    nbcoll_status statuses[FOUR] = {NBCOLL_OK};
    size_t none[FOUR] = {0};
    scene s;
    open_four(&s);
    for (int rank = 0; rank < FOUR && is_lost; rank++)
        EXPECT(OK, nbcoll_ialltoallv(NBCOLL_IN_PLACE, NULL, NULL, NULL, none, none, NBCOLL_BYTE, s.j.w.comm[rank],
                                     &begun[rank]));
    for (int rank = 0; rank < FOUR; rank++)
        if (rank != 2)
            EXPECT(OK, nbcoll_ibarrier(s.j.w.comm[rank], &request[rank]));
    scene_turn(&s, 100, 2);
    EXPECT(OK, nbcoll_agent_close(s.agent[2]));
    s.agent[2] = NULL;
    EXPECT(OK, nbcoll_context_abandon(s.j.w.context[2], NULL, NULL));
    s.j.w.context[2] = NULL;
    scene_settle(&s, FOUR, request, statuses);
    for (int rank = 0; rank < FOUR; rank++)
        assert_true(rank == 2 || statuses[rank] == NBCOLL_ERR_PEER_LOST);
    begun[2].at = 0;
    scene_settle(&s, FOUR, begun, statuses);
    scene_close(&s);
}

static void a_leader_that_leaves_ends_it_on_all_ranks(void **state)
{
    (void)state;
    leader_goes(0);
}

static void a_leader_that_is_lost_ends_it_on_all_ranks(void **state)
{
    (void)state;
    leader_goes(1);
}

/* Rank 3 leaves, and the others shrink, with a barrier behind that or without. Only barriers have a tag, which the
 * shrink revokes; rank 1, which waits in a program for both others, has begun none, and hears of it all the same. */
static void shrink_three(int has_barrier)
{
    nbcoll_request shrink[FOUR] = {{0}}, request[FOUR] = {{0}}, again;
    nbcoll_status statuses[FOUR] = {NBCOLL_OK};
    nbcoll_comm *rest[FOUR];
    int32_t mine = 1, all[FOUR];
    scene s;
    open_four(&s);
    EXPECT(OK, nbcoll_allgather_init(&mine, all, 1, NBCOLL_INT32, s.j.w.comm[1], &again));
    EXPECT(OK, nbcoll_agent_close(s.agent[3]));
    s.agent[3] = NULL;
    EXPECT(OK, nbcoll_context_abandon(s.j.w.context[3], NULL, NULL));
    s.j.w.context[3] = NULL;
    EXPECT(OK, nbcoll_start(&again));
    scene_turn(&s, 100, 3); /* all know that it has left */
    for (int rank = 0; rank < 3; rank += 2) {
        EXPECT(OK, nbcoll_comm_ishrink(s.j.w.comm[rank], &rest[rank], &shrink[rank]));
        if (has_barrier)
            EXPECT(OK, nbcoll_ibarrier(s.j.w.comm[rank], &request[rank]));
    }
    scene_settle(&s, FOUR, request, statuses);
    for (int rank = 0; rank < 3; rank += 2)
        assert_int_equal(statuses[rank], has_barrier ? NBCOLL_ERR_PEER_LOST : NBCOLL_OK);
    scene_turn(&s, 100, 3);
    EXPECT(ERR_PEER_LOST, nbcoll_test(&again));
    EXPECT(ERR_PEER_LOST, nbcoll_start(&again));
    EXPECT(OK, nbcoll_request_free(&again));
    EXPECT(OK, nbcoll_comm_ishrink(s.j.w.comm[1], &rest[1], &shrink[1]));
    scene_finish(&s, FOUR, shrink);
    for (int rank = 0; rank < 3; rank++) {
        assert_int_equal(nbcoll_comm_size(rest[rank]), 3);
        EXPECT(OK, nbcoll_comm_free(rest[rank]));
    }
    scene_close(&s);
}

static void a_shrink_without_a_rank_that_has_left_ends_programs_too(void **state)
{
    (void)state;
    shrink_three(0);
    shrink_three(1);
}

/* ---- freed communicators ---------------------------------------------------------------------------------------- */

enum { MS = 1000000, LIMIT = 200 };

static uint64_t clock_at;

static uint64_t clock_now(void *user)
{
    (void)user;
    return clock_at;
}

static void open_four_by_clock(scene *s)
{
    const nbcoll_context_config contexts = {.size = sizeof contexts,
                                            .host = {.size = sizeof contexts.host, .now = clock_now}};
    clock_at = 1;
    open_four_with(s, &contexts, 1);
}

/* Passes for so many milliseconds, but for the agent of one rank, or of none: -1. Ranks that have freed their
 * communicator are called, too. */
static void pass(scene *s, int ms, int idle)
{
    for (; ms; ms--, clock_at += MS)
        for (int rank = 0; rank < s->ranks; rank++) {
            if (rank != idle)
                nbcoll_agent_progress(s->agent[rank]);
            nbcoll_progress(s->j.w.context[rank]);
        }
}

/* All start one, and end it; one frees its communicator, and the others start another one. */
static void who_needs_the_one_that_has_freed_is_told(int is_program, int freed)
{
    nbcoll_request request[FOUR] = {{0}};
    int32_t mine[FOUR] = {0}, all[FOUR][FOUR];
    scene s;
    open_four_by_clock(&s);
    for (int round = 0; round < 2; round++) {
        for (int rank = 0; rank < FOUR; rank++) {
            if (round && rank == freed)
                EXPECT(OK, nbcoll_comm_free(s.j.w.comm[rank]));
            else if (is_program)
                EXPECT(OK, nbcoll_iallgather(&mine[rank], all[rank], 1, NBCOLL_INT32, s.j.w.comm[rank],
                                             &request[rank]));
            else
                EXPECT(OK, nbcoll_ibarrier(s.j.w.comm[rank], &request[rank]));
        }
        pass(&s, LIMIT, -1);
        for (int rank = 0; rank < FOUR; rank++)
            assert_int_equal(nbcoll_test(&request[rank]),
                             round && rank != freed ? NBCOLL_ERR_MISMATCH : NBCOLL_OK);
    }
    for (int rank = 0; rank < FOUR; rank++)
        if (rank != freed)
            EXPECT(ERR_MISMATCH, nbcoll_ibarrier(s.j.w.comm[rank], &request[rank]));
    scene_close(&s);
}

static void a_rank_that_frees_only_its_communicator_ends_what_needs_it(void **state)
{
    (void)state;
    for (int is_program = 0; is_program < 2; is_program++)
        for (int freed = 0; freed < FOUR; freed++)
            who_needs_the_one_that_has_freed_is_told(is_program, freed);
}

/* The agent of the root sends before those of others take it, and is moved no more for a while. */
static void a_late_agent_ends_well_what_others_have_ended_before_they_freed(void **state)
{
    nbcoll_request request[FOUR];
    int32_t value[FOUR] = {0, 0, 0, 7};
    scene s;
    (void)state;
    open_four_by_clock(&s);
    for (int rank = 0; rank < FOUR; rank++)
        EXPECT(OK, nbcoll_ibcast(&value[rank], 1, NBCOLL_INT32, 3, s.j.w.comm[rank], &request[rank]));
    nbcoll_progress(s.j.w.context[3]);
    nbcoll_agent_progress(s.agent[3]);
    pass(&s, 5, 3);
    for (int rank = 0; rank < 2; rank++) {
        EXPECT(OK, nbcoll_test(&request[rank]));
        EXPECT(OK, nbcoll_comm_free(s.j.w.comm[rank]));
    }
    pass(&s, 5 * LIMIT, 3);
    EXPECT(PENDING, nbcoll_test(&request[3]));
    scene_finish(&s, 2, &request[2]);
    scene_close(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hierarchical_algorithms_send_by_agents_and_meet_in_memory),
        cmocka_unit_test(what_is_offloaded_says_in_how_many_parts),
        cmocka_unit_test(what_goes_by_nodes_as_a_whole_says_why_not_in_three_parts),
        cmocka_unit_test(programs_start_in_the_order_of_the_calls),
        cmocka_unit_test(leaders_need_do_nothing_between_their_nodes),
        cmocka_unit_test(a_persistent_one_is_started_again_and_again),
        cmocka_unit_test(nothing_has_arrived_before_the_agent_has_done_its_part),
        cmocka_unit_test(elements_that_travel_packed_go_by_agents_too),
        cmocka_unit_test(starting_one_again_allocates_nothing),
        cmocka_unit_test(one_cancelled_half_way_ends_on_all_ranks),
        cmocka_unit_test(one_that_is_cancelled_ends_when_its_agent_writes_no_more),
        cmocka_unit_test(a_deadline_ends_one_whose_inner_part_never_begins),
        cmocka_unit_test(a_leader_that_leaves_ends_it_on_all_ranks),
        cmocka_unit_test(a_leader_that_is_lost_ends_it_on_all_ranks),
        cmocka_unit_test(a_shrink_without_a_rank_that_has_left_ends_programs_too),
        cmocka_unit_test(a_rank_that_frees_only_its_communicator_ends_what_needs_it),
        cmocka_unit_test(a_late_agent_ends_well_what_others_have_ended_before_they_freed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
