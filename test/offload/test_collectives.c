/* SPDX-License-Identifier: BSD-3-Clause
 * Communicators with an agent: the calls of collectives become programs, and have the results of serial C; what is
 * refused runs on the host's engine; cancelling, and a rank that goes, end all that the agents have. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>

#include "nbcoll/offload.h"
#include "nbcoll/select.h"
#include "operation.h"
#include "tally.h"
#include "world.h"

enum { MOST = 9, ROUNDS = 40, COUNT = 20000 };

typedef struct scene {
    world w;
    nbcoll_agent *agent[MOST];
} scene;

/* With this algorithm, if any. */
static void scene_open_by(scene *s, int ranks, uint32_t flags, nbcoll_agent_config config,
                          const nbcoll_algorithm *algorithm)
{
    const nbcoll_rule rule = {.algorithm = algorithm};
    nbcoll_request request[MOST];
    memset(s, 0, sizeof *s);
    world_open_contexts(&s->w, ranks, NULL, NULL);
    for (int rank = 0; rank < ranks; rank++) {
        nbcoll_comm_config comm = NBCOLL_COMM_DEFAULTS;
        EXPECT(OK, nbcoll_agent_open(s->w.endpoint[rank], &config, &s->agent[rank]));
        comm.agent = s->agent[rank];
        comm.flags = flags;
        comm.rules = &rule;
        comm.rule_count = algorithm != NULL;
        EXPECT(OK, nbcoll_comm_icreate(s->w.context[rank], s->w.endpoint[rank], &comm, &s->w.comm[rank],
                                       &request[rank]));
    }
    world_finish(&s->w, (size_t)ranks, request);
}

static void scene_open_with(scene *s, int ranks, uint32_t flags, nbcoll_agent_config config)
{
    scene_open_by(s, ranks, flags, config, NULL);
}

static void scene_open(scene *s, int ranks, uint32_t flags)
{
    scene_open_with(s, ranks, flags, (nbcoll_agent_config){.size = sizeof(nbcoll_agent_config), .in_flight = 2});
}

static void scene_close(scene *s)
{
    for (int rank = 0; rank < s->w.ranks; rank++) {
        nbcoll_agent_progress(s->agent[rank]); /* frees what has been reported */
        EXPECT(OK, nbcoll_agent_close(s->agent[rank]));
    }
    world_close(&s->w);
}

/* Gives turns, in a random order, to agents and to ranks. */
static void scene_settle(scene *s, nbcoll_request requests[], nbcoll_status statuses[])
{
    int left = s->w.ranks;
    for (int rank = 0; rank < s->w.ranks; rank++)
        left -= !requests[rank].at;
    for (long turn = 0; left; turn++) {
        int rank = (int)(world_random(&s->w.random) % (unsigned)s->w.ranks);
        world_watchdog(&s->w, turn < 10000000);
        if (turn % 2)
            nbcoll_agent_progress(s->agent[rank]);
        if (!requests[rank].at)
            continue;
        nbcoll_status status = nbcoll_test(&requests[rank]);
        if (status == NBCOLL_PENDING)
            continue;
        statuses[rank] = status;
        left--;
    }
}

static void scene_call(scene *s, const operation *o, int is_persistent)
{
    nbcoll_request requests[MOST] = {{0}};
    nbcoll_status statuses[MOST] = {NBCOLL_OK};
    share buffers[MOST];
    for (int rank = 0; rank < s->w.ranks; rank++) {
        buffers[rank] = share_make(o, rank, s->w.ranks);
        if (!is_persistent) {
            EXPECT(OK, operation_start(o, &buffers[rank], s->w.comm[rank], &requests[rank]));
            continue;
        }
        EXPECT(OK, operation_init(o, &buffers[rank], s->w.comm[rank], &requests[rank]));
        EXPECT(OK, nbcoll_start(&requests[rank]));
    }
    if (is_persistent)
        for (int left = s->w.ranks; left;) {
            left = 0;
            for (int rank = 0; rank < s->w.ranks; rank++) {
                nbcoll_agent_progress(s->agent[rank]);
                nbcoll_status status = nbcoll_test(&requests[rank]);
                assert_true(status == NBCOLL_OK || status == NBCOLL_PENDING);
                left += status == NBCOLL_PENDING;
            }
        }
    else
        scene_settle(s, requests, statuses);
    for (int rank = 0; rank < s->w.ranks; rank++) {
        assert_int_equal(statuses[rank], NBCOLL_OK);
        operation_check(o, &buffers[rank], rank, s->w.ranks);
        share_free(&buffers[rank]);
        if (is_persistent)
            EXPECT(OK, nbcoll_request_free(&requests[rank]));
    }
}

static void collectives_of_an_agent_have_the_values_of_serial_c(void **state)
{
    uint64_t seed = 5;
    (void)state;
    for (int ranks = 1; ranks <= MOST; ranks += 2) {
        scene s;
        scene_open(&s, ranks, ranks == 5 ? NBCOLL_COUNTS_KNOWN : 0);
        for (int i = 0; i < ROUNDS * 2; i++) {
            operation o = operation_random(&seed, ranks, 300);
            o.counts_known = ranks == 5;
            scene_call(&s, &o, i % 4 == 3);
        }
        scene_close(&s);
    }
}

static nbcoll_args args_of(nbcoll_operation what, nbcoll_type type)
{
    return (nbcoll_args){
        .size = sizeof(nbcoll_args), .operation = what, .count = 10, .reduction = {type, NBCOLL_SUM}};
}

static void what_becomes_no_program_says_why(void **state)
{
    nbcoll_args allreduce = args_of(NBCOLL_OPERATION_ALLREDUCE, NBCOLL_INT32);
    nbcoll_args alltoallv = args_of(NBCOLL_OPERATION_ALLTOALLV, NBCOLL_INT32);
    const size_t counts[] = {1, 2};
    nbcoll_args large = args_of(NBCOLL_OPERATION_ALLTOALL, NBCOLL_BYTE);
    nbcoll_refusal why = {.size = sizeof why};
    nbcoll_comm *dup[2];
    nbcoll_request request[2];
    scene s;
    (void)state;
    scene_open(&s, 2, 0);
    EXPECT(OK, nbcoll_comm_offloads(s.w.comm[0], &allreduce, &why));
    EXPECT(OK, nbcoll_comm_offloads(s.w.comm[0], &alltoallv, &why));
    alltoallv.counts = alltoallv.displs = counts; /* in place: builders see this rank's */
    alltoallv.in_place = 1;
    EXPECT(ERR_UNSUPPORTED, nbcoll_comm_offloads(s.w.comm[0], &alltoallv, &why));
    assert_int_equal(why.reason, NBCOLL_REFUSAL_BLOCKS);
    assert_string_equal(why.text, nbcoll_refusal_text(NBCOLL_REFUSAL_BLOCKS));
    for (int rank = 0; rank < 2; rank++)
        EXPECT(OK, nbcoll_comm_idup(s.w.comm[rank], &dup[rank], &request[rank]));
    world_finish(&s.w, 2, request);
    EXPECT(ERR_UNSUPPORTED, nbcoll_comm_offloads(dup[0], &allreduce, &why));
    assert_int_equal(why.reason, NBCOLL_REFUSAL_AGENT);
    large.count = COUNT;
    EXPECT(OK, nbcoll_comm_offloads(s.w.comm[0], &large, NULL));
    EXPECT(ERR_NULL, nbcoll_comm_offloads(NULL, &large, NULL));
    scene_close(&s);
}

static void what_goes_by_nodes_that_share_no_memory_is_a_program_as_a_whole(void **state)
{
    const nbcoll_args bcast = args_of(NBCOLL_OPERATION_BCAST, NBCOLL_INT32);
    nbcoll_refusal why = {.size = sizeof why};
    scene s;
    (void)state;
    scene_open_by(&s, 4, 0, (nbcoll_agent_config){.size = sizeof(nbcoll_agent_config)},
                  nbcoll_algorithm_find(NBCOLL_OPERATION_BCAST, "hierarchical"));
    EXPECT(OK, nbcoll_comm_offloads(s.w.comm[0], &bcast, &why));
    assert_int_equal(why.parts, 1);
    assert_int_equal(why.reason, NBCOLL_REFUSAL_APART);
    assert_string_equal(why.text, nbcoll_refusal_text(NBCOLL_REFUSAL_APART));
    scene_close(&s);
}

/* Eager buffers of 64 bytes: four messages, and one fits. The host's engine needs no turn of an agent's. */
static void what_agents_have_no_room_for_runs_on_the_engine(void **state)
{
    nbcoll_args args = args_of(NBCOLL_OPERATION_BCAST, NBCOLL_BYTE);
    nbcoll_refusal why = {.size = sizeof why};
    char bytes[2][250];
    nbcoll_request request[2];
    scene s;
    (void)state;
    scene_open_with(&s, 2, 0, (nbcoll_agent_config){.size = sizeof(nbcoll_agent_config), .eager = 64, .depth = 1});
    args.count = sizeof bytes[0];
    EXPECT(ERR_UNSUPPORTED, nbcoll_comm_offloads(s.w.comm[1], &args, &why));
    assert_int_equal(why.reason, NBCOLL_REFUSAL_DEPTH);
    assert_int_equal(why.needed, 4);
    for (int rank = 0; rank < 2; rank++) {
        memset(bytes[rank], 7 + rank, sizeof bytes[rank]);
        EXPECT(OK, nbcoll_ibcast(bytes[rank], sizeof bytes[rank], NBCOLL_BYTE, 0, s.w.comm[rank], &request[rank]));
    }
    world_finish(&s.w, 2, request);
    assert_memory_equal(bytes[1], bytes[0], sizeof bytes[0]);
    scene_close(&s);
}

/* Neither rank progresses: the agents do all of it, and a look is enough. */
static void a_started_collective_needs_nothing_of_its_ranks(void **state)
{
    nbcoll_request requests[4];
    int64_t sum[4], mine[4];
    scene s;
    (void)state;
    scene_open(&s, 4, 0);
    for (int rank = 0; rank < 4; rank++) {
        mine[rank] = rank + 1;
        EXPECT(OK, nbcoll_iallreduce(&mine[rank], &sum[rank], 1, NBCOLL_INT64, NBCOLL_SUM, s.w.comm[rank],
                                     &requests[rank]));
    }
    for (int turn = 0; turn < 100; turn++)
        nbcoll_agent_progress(s.agent[turn % 4]);
    for (int rank = 0; rank < 4; rank++) {
        EXPECT(OK, nbcoll_test(&requests[rank]));
        assert_int_equal(sum[rank], 10);
    }
    scene_close(&s);
}

static void a_rank_sleeps_until_its_agent_wakes_it(void **state)
{
    nbcoll_request requests[2];
    struct pollfd fd = {.events = POLLIN};
    scene s;
    (void)state;
    scene_open(&s, 2, 0);
    EXPECT(OK, nbcoll_fd(s.w.context[0], &fd.fd));
    for (int round = 0; round < 3; round++) {
        for (int rank = 0; rank < 2; rank++)
            EXPECT(OK, nbcoll_ibarrier(s.w.comm[rank], &requests[rank]));
        EXPECT(OK, world_arm(&s.w, 0));
        assert_int_equal(poll(&fd, 1, 0), 0);
        for (int turn = 0; turn < 100; turn++)
            nbcoll_agent_progress(s.agent[turn % 2]);
        assert_int_equal(poll(&fd, 1, 0), 1);
        EXPECT(AGAIN, nbcoll_arm(s.w.context[0])); /* it has ended, and has not been looked at */
        for (int rank = 0; rank < 2; rank++)
            EXPECT(OK, nbcoll_test(&requests[rank]));
        assert_int_equal(poll(&fd, 1, 0), 0); /* and nothing more rings */
    }
    scene_close(&s);
}

static int lacks;

static int is_lacking(void)
{
    return lacks;
}

static void starting_a_program_again_allocates_nothing(void **state)
{
    tally counted = {.lacks = is_lacking};
    nbcoll_host host = tally_host(&counted);
    nbcoll_request requests[2];
    nbcoll_status statuses[2];
    scene s;
    (void)state;
    lacks = 0;
    scene_open_with(&s, 2, 0, (nbcoll_agent_config){.size = sizeof(nbcoll_agent_config), .host = &host});
    for (int round = 0; round < 50; round++) {
        for (int rank = 0; rank < 2; rank++)
            EXPECT(OK, nbcoll_ibarrier(s.w.comm[rank], &requests[rank]));
        scene_settle(&s, requests, statuses);
        for (int rank = 0; rank < 2; rank++)
            nbcoll_agent_progress(s.agent[rank]);
        lacks = round > 1;
    }
    scene_close(&s);
    assert_int_equal(counted.used, 0);
}

static void operations_of_agent_and_engine_are_under_way_together(void **state)
{
    size_t counts[3][3], displs[3][3];
    int32_t got[3][3], sum[3], mine[3];
    nbcoll_request programs[3], runs[3];
    nbcoll_status statuses[3] = {NBCOLL_OK};
    scene s;
    (void)state;
    scene_open(&s, 3, 0);
    for (int rank = 0; rank < 3; rank++) {
        mine[rank] = 1;
        for (size_t i = 0; i < 3; i++) {
            counts[rank][i] = 1;
            displs[rank][i] = i;
            got[rank][i] = rank;
        }
        EXPECT(OK, nbcoll_iallreduce(&mine[rank], &sum[rank], 1, NBCOLL_INT32, NBCOLL_SUM, s.w.comm[rank],
                                     &programs[rank]));
        EXPECT(OK, nbcoll_ialltoallv(NBCOLL_IN_PLACE, NULL, NULL, got[rank], counts[rank], displs[rank], NBCOLL_INT32,
                                     s.w.comm[rank], &runs[rank]));
    }
    world_finish(&s.w, 3, runs); /* no agent has had a turn */
    for (int rank = 0; rank < 3; rank++)
        assert_int_equal(got[2][rank], rank);
    scene_settle(&s, programs, statuses);
    assert_int_equal(sum[1], 3);
    scene_close(&s);
}

/* ---- parts ----------------------------------------------------------------------------------------------------- */

static unsigned char block[3][COUNT], all[3][3 * COUNT];

static void start_allgather(scene *s, int rank, size_t bytes, nbcoll_request *request)
{
    memset(block[rank], 1 + rank, bytes);
    memset(all[rank], 0, 3 * bytes);
    EXPECT(OK, nbcoll_iallgather(block[rank], all[rank], bytes, NBCOLL_BYTE, s->w.comm[rank], request));
}

/* Blocks that have arrived: they are right, and stay. *has: they, as bits. */
static int blocks_of(int rank, size_t bytes, nbcoll_request request, unsigned *has)
{
    int n = 0;
    for (unsigned from = 0; from < 3; from++) {
        nbcoll_status status = nbcoll_arrived(request, from * bytes, bytes);
        assert_true(status == NBCOLL_OK || (status == NBCOLL_PENDING && !(*has >> from & 1)));
        if (status == NBCOLL_PENDING)
            continue;
        *has |= 1u << from;
        n++;
        for (size_t i = 0; i < bytes; i++)
            assert_int_equal(all[rank][from * bytes + i], 1 + from);
    }
    return n;
}

/* How often a rank saw so many blocks before its operation had ended, if agents and ranks take turns. */
static void see_blocks(size_t bytes, const char *algorithm, int seen[4])
{
    const nbcoll_agent_config config = {.size = sizeof config};
    nbcoll_request requests[3];
    unsigned has[3] = {0};
    int left = 3;
    scene s;
    scene_open_by(&s, 3, 0, config, nbcoll_algorithm_find(NBCOLL_OPERATION_ALLGATHER, algorithm));
    for (int rank = 0; rank < 3; rank++)
        start_allgather(&s, rank, bytes, &requests[rank]);
    while (left)
        for (int rank = 0; rank < 3; rank++) {
            nbcoll_agent_progress(s.agent[rank]);
            if (!requests[rank].at)
                continue;
            seen[blocks_of(rank, bytes, requests[rank], &has[rank])]++;
            left -= nbcoll_test(&requests[rank]) == NBCOLL_OK;
        }
    for (int rank = 0; rank < 3; rank++)
        for (size_t i = 0; i < 3 * bytes; i++)
            assert_int_equal(all[rank][i], 1 + i / bytes);
    scene_close(&s);
}

static void parts_of_a_long_result_arrive_before_its_end(void **state)
{
    const char *const algorithms[] = {"flat", "ring"}; /* of each peer one block, or of one peer both */
    (void)state;
    for (int i = 0; i < 2; i++) {
        int seen[4] = {0};
        see_blocks(COUNT, algorithms[i], seen);
        assert_true(seen[1] > 0);
        assert_true(seen[2] > 0);
    }
}

static void what_is_eager_arrives_with_the_end(void **state)
{
    int seen[4] = {0};
    (void)state;
    see_blocks(1000, "ring", seen);
    assert_true(seen[1] > 0); /* its own block */
    assert_int_equal(seen[2] + seen[3], 0);
}

/* Looks at each element that has arrived. */
static void a_part_that_is_still_to_be_combined_has_not_arrived(void **state)
{
    enum { ELEMENTS = COUNT / 4 };
    static int32_t mine[4][ELEMENTS], sum[4][ELEMENTS];
    nbcoll_request requests[4];
    int left = 4;
    scene s;
    (void)state;
    scene_open(&s, 4, 0);
    for (int rank = 0; rank < 4; rank++) {
        for (int i = 0; i < ELEMENTS; i++)
            mine[rank][i] = rank + i;
        EXPECT(OK, nbcoll_iallreduce(mine[rank], sum[rank], ELEMENTS, NBCOLL_INT32, NBCOLL_SUM, s.w.comm[rank],
                                     &requests[rank]));
    }
    while (left)
        for (int rank = 0; rank < 4; rank++) {
            nbcoll_agent_progress(s.agent[rank]);
            for (int i = 0; i < ELEMENTS && requests[rank].at; i += 100)
                if (nbcoll_arrived(requests[rank], (size_t)i * 4, 4) == NBCOLL_OK)
                    assert_int_equal(sum[rank][i], 6 + 4 * i);
            left -= requests[rank].at && nbcoll_test(&requests[rank]) == NBCOLL_OK;
        }
    scene_close(&s);
}

/* ---- ends ------------------------------------------------------------------------------------------------------ */

static char data[4][COUNT];

static void start_bcast(scene *s, nbcoll_request requests[4], int last)
{
    for (int rank = 0; rank < 4; rank++)
        memset(data[rank], 1 + rank, COUNT);
    for (int rank = 0; rank <= last; rank++)
        EXPECT(OK, nbcoll_ibcast(data[rank], COUNT, NBCOLL_BYTE, 0, s->w.comm[rank], &requests[rank]));
}

/* Ranks whose program ended all the same had what they needed. */
static void a_cancelled_program_ends_everywhere_and_nothing_is_written_afterwards(void **state)
{
    nbcoll_request requests[4] = {{0}};
    nbcoll_status statuses[4] = {NBCOLL_OK};
    scene s;
    (void)state;
    scene_open(&s, 4, 0);
    start_bcast(&s, requests, 3);
    nbcoll_agent_progress(s.agent[1]); /* it has cleared its sender, and nothing has come */
    EXPECT(OK, nbcoll_cancel(requests[1]));
    EXPECT(PENDING, nbcoll_test(&requests[1])); /* its agent may still write */
    nbcoll_agent_progress(s.agent[1]);
    EXPECT(ERR_CANCELLED, nbcoll_test(&requests[1]));
    assert_int_equal(nbcoll_comm_active(s.w.comm[1]), 0);
    scene_settle(&s, requests, statuses);
    for (int rank = 0; rank < 4; rank++)
        assert_true(rank == 1 || statuses[rank] == NBCOLL_ERR_PEER_LOST || statuses[rank] == NBCOLL_OK);
    assert_int_equal(statuses[0], NBCOLL_ERR_PEER_LOST);
    assert_int_equal(data[1][0], 2);
    assert_int_equal(data[1][COUNT - 1], 2);
    EXPECT(ERR_CANCELLED, nbcoll_ibcast(data[1], COUNT, NBCOLL_BYTE, 0, s.w.comm[1], &requests[1]));
    scene_close(&s);
}

/* Ranks 1 and 2 have nothing under way: one hears of it from rank 0, and the other one's own agent has failed. */
static void a_start_that_is_refused_since_agents_have_failed_is_noted(void **state)
{
    const nbcoll_status why[3] = {NBCOLL_ERR_CANCELLED, NBCOLL_ERR_PEER_LOST, NBCOLL_ERR_CANCELLED};
    nbcoll_request request = {0};
    nbcoll_failure of_context, of_comm;
    scene s;
    (void)state;
    scene_open(&s, 3, 0);
    EXPECT(OK, nbcoll_ibarrier(s.w.comm[0], &request));
    EXPECT(OK, nbcoll_cancel(request));
    EXPECT(OK, nbcoll_agent_cancel(s.agent[2]));
    nbcoll_agent_progress(s.agent[0]);
    nbcoll_agent_progress(s.agent[2]);
    EXPECT(ERR_CANCELLED, nbcoll_test(&request));
    EXPECT(OK, nbcoll_progress(s.w.context[1]));
    for (int rank = 1; rank < 3; rank++) {
        EXPECT(OK, nbcoll_comm_failure(s.w.comm[rank], &of_comm));
        EXPECT(OK, of_comm.status);
    }
    for (int rank = 0; rank < 3; rank++) {
        assert_int_equal(nbcoll_ibarrier(s.w.comm[rank], &request), why[rank]);
        EXPECT(OK, nbcoll_last_failure(s.w.context[rank], &of_context));
        EXPECT(OK, nbcoll_comm_failure(s.w.comm[rank], &of_comm));
        assert_int_equal(of_context.status, why[rank]);
        assert_int_equal(of_comm.status, why[rank]);
        assert_int_equal(of_context.rank, -1);
        assert_ptr_equal(of_context.comm, s.w.comm[rank]);
    }
    scene_close(&s);
}

static void who_has_cancelled_is_not_told_what_others_say_of_that(void **state)
{
    nbcoll_request requests[4] = {{0}};
    nbcoll_status statuses[4] = {NBCOLL_PENDING};
    scene s;
    (void)state;
    scene_open(&s, 4, 0);
    start_bcast(&s, requests, 3);
    nbcoll_agent_progress(s.agent[1]);
    EXPECT(OK, nbcoll_cancel(requests[1]));
    nbcoll_agent_progress(s.agent[1]);
    for (int turn = 0; statuses[0] == NBCOLL_PENDING; turn++) { /* the root has lost rank 1, and says so */
        assert_true(turn < 1000);
        nbcoll_agent_progress(s.agent[0]);
        statuses[0] = nbcoll_test(&requests[0]);
    }
    assert_int_equal(statuses[0], NBCOLL_ERR_PEER_LOST);
    EXPECT(OK, nbcoll_progress(s.w.context[0]));
    EXPECT(ERR_CANCELLED, nbcoll_test(&requests[1]));
    scene_settle(&s, requests, statuses);
    scene_close(&s);
}

static void a_deadline_ends_a_blocking_call_whose_peers_never_start(void **state)
{
    scene s;
    (void)state;
    scene_open(&s, 2, 0);
    EXPECT(ERR_TIMEOUT, nbcoll_bcast(data[1], COUNT, NBCOLL_BYTE, 0, s.w.comm[1], 1000000));
    assert_int_equal(nbcoll_comm_active(s.w.comm[1]), 1); /* its agent has not closed the queue pairs yet */
    nbcoll_agent_progress(s.agent[1]);
    nbcoll_progress(s.w.context[1]);
    assert_int_equal(nbcoll_comm_active(s.w.comm[1]), 0);
    scene_close(&s);
}

/* Rank 3 goes before it has started, or opened any queue pair: as one that leaves, or, in the middle of an operation of
 * the engine's, as one that is lost. */
static void rank_3_goes(int is_lost)
{
    nbcoll_request requests[4] = {{0}};
    nbcoll_status statuses[4] = {NBCOLL_OK};
    size_t none[4] = {0};
    scene s;
    scene_open(&s, 4, 0);
    if (is_lost)
        EXPECT(OK, nbcoll_ialltoallv(NBCOLL_IN_PLACE, NULL, NULL, NULL, none, none, NBCOLL_BYTE,
                                     s.w.comm[3], &requests[3]));
    for (int rank = 0; rank < 3; rank++)
        EXPECT(OK, nbcoll_ibarrier(s.w.comm[rank], &requests[rank]));
    EXPECT(OK, nbcoll_agent_close(s.agent[3]));
    s.agent[3] = NULL;
    EXPECT(OK, nbcoll_context_abandon(s.w.context[3], NULL, NULL));
    s.w.context[3] = NULL;
    for (int rank = 0, left = 3; left;) {
        rank = (int)(world_random(&s.w.random) % 3);
        nbcoll_agent_progress(s.agent[rank]);
        statuses[rank] = requests[rank].at ? nbcoll_test(&requests[rank]) : statuses[rank];
        left = !!requests[0].at + !!requests[1].at + !!requests[2].at;
    }
    for (int rank = 0; rank < 3; rank++)
        assert_int_equal(statuses[rank], NBCOLL_ERR_PEER_LOST);
    scene_close(&s);
}

static void a_rank_that_leaves_ends_the_programs_that_need_it(void **state)
{
    (void)state;
    rank_3_goes(0);
}

static void a_rank_that_is_lost_ends_all_programs(void **state)
{
    (void)state;
    rank_3_goes(1);
}

static void a_context_is_not_abandoned_while_an_agent_writes(void **state)
{
    nbcoll_request request;
    scene s;
    (void)state;
    scene_open(&s, 2, 0);
    EXPECT(OK, nbcoll_ibarrier(s.w.comm[0], &request));
    EXPECT(ERR_BUSY, nbcoll_context_abandon(s.w.context[0], NULL, NULL));
    EXPECT(OK, nbcoll_cancel(request));
    nbcoll_agent_progress(s.agent[0]);
    EXPECT(ERR_CANCELLED, nbcoll_test(&request));
    scene_close(&s);
}

/* ---- refused creations ----------------------------------------------------------------------------------------- */

static void all_ranks_have_like_agents_or_none(void **state)
{
    nbcoll_request request[2];
    nbcoll_status statuses[2];
    nbcoll_agent *agent;
    world w;
    (void)state;
    world_open_contexts(&w, 2, NULL, NULL);
    nbcoll_agent_config config = {.size = sizeof config};
    EXPECT(OK, nbcoll_agent_open(w.endpoint[0], &config, &agent));
    for (int rank = 0; rank < 2; rank++) {
        nbcoll_comm_config comm = NBCOLL_COMM_DEFAULTS;
        comm.agent = rank ? NULL : agent;
        EXPECT(OK, nbcoll_comm_icreate(w.context[rank], w.endpoint[rank], &comm, &w.comm[rank], &request[rank]));
    }
    world_settle(&w, 2, request, statuses);
    assert_int_equal(statuses[0], NBCOLL_ERR_MISMATCH);
    EXPECT(OK, nbcoll_agent_close(agent));
    world_close(&w);
}

static void an_agent_of_another_endpoint_is_refused(void **state)
{
    nbcoll_comm_config comm = NBCOLL_COMM_DEFAULTS;
    nbcoll_agent_config config = {.size = sizeof config};
    nbcoll_request request;
    nbcoll_agent *agent;
    world w;
    (void)state;
    world_open_contexts(&w, 2, NULL, NULL);
    EXPECT(OK, nbcoll_agent_open(w.endpoint[1], &config, &agent));
    comm.agent = agent;
    EXPECT(ERR_UNSUPPORTED, nbcoll_comm_icreate(w.context[0], w.endpoint[0], &comm, &w.comm[0], &request));
    EXPECT(OK, nbcoll_agent_close(agent));
    for (int rank = 0; rank < 2; rank++)
        nbcoll_endpoint_close(w.endpoint[rank]);
    world_close(&w);
}

/* Their programs would have no order, and the queue pairs of two agents the same numbers. The next one gets an agent
 * when the one before is freed. */
static void one_communicator_of_an_endpoint_has_an_agent(void **state)
{
    nbcoll_comm_config comm = NBCOLL_COMM_DEFAULTS;
    nbcoll_agent_config config = {.size = sizeof config};
    nbcoll_request request[2];
    nbcoll_comm *plain[2], *twin[2];
    nbcoll_agent *second[2];
    nbcoll_status statuses[MOST];
    scene s;
    (void)state;
    scene_open(&s, 2, 0);
    for (int rank = 0; rank < 2; rank++)
        EXPECT(OK, nbcoll_ibarrier(s.w.comm[rank], &request[rank]));
    scene_settle(&s, request, statuses);
    for (int rank = 0; rank < 2; rank++) {
        comm.agent = s.agent[rank];
        EXPECT(ERR_BUSY, nbcoll_comm_idup_with(s.w.comm[rank], &comm, &twin[rank], &request[rank]));
        EXPECT(OK, nbcoll_comm_idup(s.w.comm[rank], &plain[rank], &request[rank]));
    }
    world_finish(&s.w, 2, request);
    for (int rank = 0; rank < 2; rank++) {
        EXPECT(OK, nbcoll_agent_open(s.w.endpoint[rank], &config, &second[rank]));
        comm.agent = second[rank];
        EXPECT(ERR_BUSY, nbcoll_comm_idup_with(plain[rank], &comm, &twin[rank], &request[rank]));
        EXPECT(OK, nbcoll_comm_free(s.w.comm[rank]));
        EXPECT(OK, nbcoll_agent_close(s.agent[rank]));
        s.agent[rank] = second[rank];
    }
    for (int rank = 0; rank < 2; rank++) {
        comm.agent = second[rank];
        EXPECT(OK, nbcoll_comm_idup_with(plain[rank], &comm, &s.w.comm[rank], &request[rank]));
    }
    world_finish(&s.w, 2, request);
    for (int rank = 0; rank < 2; rank++)
        EXPECT(OK, nbcoll_ibarrier(s.w.comm[rank], &request[rank]));
    scene_settle(&s, request, statuses);
    for (int rank = 0; rank < 2; rank++)
        assert_int_equal(statuses[rank], NBCOLL_OK);
    scene_close(&s);
}

/* ---- threads --------------------------------------------------------------------------------------------------- */

typedef struct worker {
    nbcoll_agent *agent;
    atomic_int stops;
} worker;

static void *work(void *user)
{
    worker *me = user;
    while (!atomic_load(&me->stops))
        if (!nbcoll_agent_progress(me->agent))
            sched_yield(); /* ranks and agents are more than cores */
    return NULL;
}

static scene threads;

static void rank_with_an_agent_thread(world *w, int rank, void *user)
{
    worker me = {.agent = threads.agent[rank]};
    pthread_t thread;
    (void)user;
    assert_int_equal(pthread_create(&thread, NULL, work, &me), 0);
    for (int i = 0; i < 50; i++) {
        int32_t mine[40], sum[40];
        for (int k = 0; k < 40; k++)
            mine[k] = rank + i + k;
        EXPECT(OK, nbcoll_allreduce(mine, sum, 40, NBCOLL_INT32, NBCOLL_SUM, w->comm[rank], NBCOLL_FOREVER));
        for (int k = 0; k < 40; k++)
            assert_int_equal(sum[k], 3 + 3 * (i + k));
    }
    atomic_store(&me.stops, 1);
    pthread_join(thread, NULL);
}

static void rank_that_reads_what_its_agent_has_got(world *w, int rank, void *user)
{
    worker me = {.agent = threads.agent[rank]};
    pthread_t thread;
    (void)w, (void)user;
    assert_int_equal(pthread_create(&thread, NULL, work, &me), 0);
    for (int i = 0; i < 20; i++) {
        nbcoll_request request;
        unsigned has = 0;
        start_allgather(&threads, rank, COUNT, &request);
        while (nbcoll_test(&request) == NBCOLL_PENDING) {
            blocks_of(rank, COUNT, request, &has);
            sched_yield();
        }
    }
    atomic_store(&me.stops, 1);
    pthread_join(thread, NULL);
}

static void parts_may_be_read_while_an_agents_thread_goes_on(void **state)
{
    (void)state;
    scene_open(&threads, 3, 0);
    world_threads(&threads.w, rank_that_reads_what_its_agent_has_got, NULL);
    scene_close(&threads);
}

static void agents_may_be_threads(void **state)
{
    (void)state;
    scene_open(&threads, 3, 0);
    world_threads(&threads.w, rank_with_an_agent_thread, NULL);
    scene_close(&threads);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(collectives_of_an_agent_have_the_values_of_serial_c),
        cmocka_unit_test(what_becomes_no_program_says_why),
        cmocka_unit_test(what_goes_by_nodes_that_share_no_memory_is_a_program_as_a_whole),
        cmocka_unit_test(what_agents_have_no_room_for_runs_on_the_engine),
        cmocka_unit_test(a_started_collective_needs_nothing_of_its_ranks),
        cmocka_unit_test(a_rank_sleeps_until_its_agent_wakes_it),
        cmocka_unit_test(starting_a_program_again_allocates_nothing),
        cmocka_unit_test(operations_of_agent_and_engine_are_under_way_together),
        cmocka_unit_test(parts_of_a_long_result_arrive_before_its_end),
        cmocka_unit_test(a_part_that_is_still_to_be_combined_has_not_arrived),
        cmocka_unit_test(what_is_eager_arrives_with_the_end),
        cmocka_unit_test(a_cancelled_program_ends_everywhere_and_nothing_is_written_afterwards),
        cmocka_unit_test(a_start_that_is_refused_since_agents_have_failed_is_noted),
        cmocka_unit_test(who_has_cancelled_is_not_told_what_others_say_of_that),
        cmocka_unit_test(a_deadline_ends_a_blocking_call_whose_peers_never_start),
        cmocka_unit_test(a_rank_that_leaves_ends_the_programs_that_need_it),
        cmocka_unit_test(a_rank_that_is_lost_ends_all_programs),
        cmocka_unit_test(a_context_is_not_abandoned_while_an_agent_writes),
        cmocka_unit_test(all_ranks_have_like_agents_or_none),
        cmocka_unit_test(an_agent_of_another_endpoint_is_refused),
        cmocka_unit_test(one_communicator_of_an_endpoint_has_an_agent),
        cmocka_unit_test(agents_may_be_threads),
        cmocka_unit_test(parts_may_be_read_while_an_agents_thread_goes_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
