/* SPDX-License-Identifier: BSD-3-Clause
 * Communicators over two endpoints: who talks by which, what is known of nodes, what is made of them, and that every
 * collective has its values on them. */
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "joined.h"
#include "nbcoll/select.h"
#include "nbcoll/trace.h"
#include "operation.h"

/* Small limits, so that small data crosses them. */
static const nbcoll_context_config contexts = {.size = sizeof contexts, .credits = 3};
static const nbcoll_comm_config limits = {
    .size = sizeof limits, .slots = 4, .cells = 8, .schedules = 16, .eager = 256, .large = 2048};

/* ---- operations on all communicators of a world ------------------------------------------------------------------ */

static void run_one(world *w, nbcoll_comm *const comm[], const operation *o)
{
    nbcoll_request request[WORLD_MOST];
    share mine[WORLD_MOST];

    for (int r = 0; r < w->ranks; r++) {
        request[r] = NBCOLL_REQUEST_NULL;
        if (!comm[r])
            continue;
        mine[r] = share_make(o, nbcoll_comm_rank(comm[r]), nbcoll_comm_size(comm[r]));
        EXPECT(OK, operation_start(o, &mine[r], comm[r], &request[r]));
        if (world_random(&w->random) % 2)
            world_step(w);
    }
    world_finish(w, (size_t)w->ranks, request);
    for (int r = 0; r < w->ranks; r++)
        if (comm[r]) {
            operation_check(o, &mine[r], nbcoll_comm_rank(comm[r]), nbcoll_comm_size(comm[r]));
            share_free(&mine[r]);
        }
}

static void run_some(world *w, nbcoll_comm *const comm[], int n, size_t most)
{
    for (int i = 0; i < n; i++) {
        operation o = operation_random(&w->random, nbcoll_comm_size(comm[0]), most);
        run_one(w, comm, &o);
    }
}

/* Each collective once. */
static void run_all(world *w, nbcoll_comm *const comm[], size_t most)
{
    for (int what = 0; what < NBCOLL_OPERATION_COUNT;) {
        operation o = operation_random(&w->random, nbcoll_comm_size(comm[0]), most);
        if (o.what != (nbcoll_operation)what)
            continue;
        run_one(w, comm, &o);
        what++;
    }
}

#ifdef __SANITIZE_ADDRESS__
enum { TURNS = 1 }; /* every pair of ranks, nodes and numbering; else every triple */
#else
enum { TURNS = JOINED_NUMBERINGS };
#endif

static void every_collective_has_its_values_over_two_endpoints_wherever_2_to_16_ranks_are_on_1_to_5_nodes(void **state)
{
    joined_cover cover = {0};

    (void)state;
    for (int turn = 0; turn < TURNS; turn++)
        for (int i = 0; i < JOINED_SAMPLE; i++) {
            nbcoll_loopback_config inside = world_variant((i + turn) % WORLD_VARIANTS, (uint64_t)i + 1);
            nbcoll_loopback_config between = world_variant((5 * i + turn) % WORLD_VARIANTS, (uint64_t)turn);
            nbcoll_numbering numbering;
            nbcoll_nodes *nodes = joined_sample(i, turn, (uint64_t)(JOINED_SAMPLE * turn + i), &numbering);
            joined j;
            joined_open(&j, nodes, &inside, &between, &contexts, &limits);
            joined_cover_add(&cover, nbcoll_comm_nodes(j.w.comm[0]), numbering);
            run_all(&j.w, j.w.comm, i % 4 ? 700 : 2000);
            joined_close(&j);
            nbcoll_nodes_free(nodes);
        }
    joined_cover_has_pairs(&cover);
    if (TURNS > 1)
        joined_cover_has_all(&cover);
}

/* ---- who talks by which ------------------------------------------------------------------------------------------ */

typedef struct counts {
    size_t to[WORLD_MOST]; /* messages of this endpoint to each of its ranks */
} counts;

static void count(void *user, const nbcoll_trace_event *e)
{
    counts *c = user;
    if (e->call == NBCOLL_TRACE_POST || e->call == NBCOLL_TRACE_LINE)
        c->to[e->peer]++;
}

static nbcoll_endpoint *counted(nbcoll_endpoint *inner, counts *c)
{
    const nbcoll_trace_config config = {.size = sizeof config, .user = c, .event = count};
    nbcoll_endpoint *out;
    EXPECT(OK, nbcoll_trace_open(&config, inner, &out));
    return out;
}

enum { TALKERS = 7 };

static counts near[TALKERS], far[TALKERS];

/* Each member sends to every other one. */
static void expect_ways(joined *j, nbcoll_comm *const comm[])
{
    const operation o = {.what = NBCOLL_OPERATION_ALLTOALL, .count = 10, .how = {NBCOLL_INT32, NBCOLL_SUM}};

    memset(near, 0, sizeof near);
    memset(far, 0, sizeof far);
    run_one(&j->w, comm, &o);
    for (int r = 0; r < TALKERS; r++)
        for (int peer = 0; peer < TALKERS; peer++) {
            int is_near = nbcoll_node_of(j->nodes, r) == nbcoll_node_of(j->nodes, peer);
            int are_members = comm[r] && comm[peer] && r != peer;
            if (is_near)
                assert_int_equal(near[r].to[nbcoll_node_place(j->nodes, peer)] > 0, are_members);
            assert_int_equal(far[r].to[peer] > 0, are_members && !is_near);
        }
}

static void open_counted(joined *j, const nbcoll_nodes *nodes)
{
    nbcoll_request request[TALKERS];

    joined_open_contexts(j, nodes, NULL, NULL, NULL);
    memset(near, 0, sizeof near);
    memset(far, 0, sizeof far);
    for (int r = 0; r < TALKERS; r++) {
        j->near[r] = counted(j->near[r], &near[r]);
        j->w.endpoint[r] = counted(j->w.endpoint[r], &far[r]);
        EXPECT(OK, joined_icreate(j, r, NULL, &request[r]));
    }
    world_finish(&j->w, TALKERS, request);
}

static void the_vote_goes_by_the_last_endpoint_whose_ranks_are_the_communicators(void **state)
{
    nbcoll_nodes *nodes = joined_placement(4, TALKERS, 3);
    joined j;

    (void)state;
    open_counted(&j, nodes);
    for (int r = 0; r < TALKERS; r++) {
        size_t sent = 0;
        for (int peer = 0; peer < TALKERS; peer++) {
            assert_int_equal(near[r].to[peer], 0);
            sent += far[r].to[peer];
        }
        assert_true(sent > 0);
        assert_int_equal(nbcoll_comm_size(j.w.comm[r]), TALKERS);
        assert_int_equal(nbcoll_comm_rank(j.w.comm[r]), r);
    }
    joined_close(&j);
    nbcoll_nodes_free(nodes);
}

static void ranks_of_a_node_talk_by_its_endpoint_and_others_by_the_last_one(void **state)
{
    nbcoll_nodes *nodes = joined_placement(4, TALKERS, 3);
    nbcoll_comm *dup[TALKERS], *part[TALKERS];
    nbcoll_request request[TALKERS];
    joined j;

    (void)state;
    open_counted(&j, nodes);
    expect_ways(&j, j.w.comm);
    for (int r = 0; r < TALKERS; r++)
        EXPECT(OK, nbcoll_comm_idup(j.w.comm[r], &dup[r], &request[r]));
    world_finish(&j.w, TALKERS, request);
    expect_ways(&j, dup);
    for (int r = 0; r < TALKERS; r++) /* one is left out, the others are turned round */
        EXPECT(OK, nbcoll_comm_isplit(dup[r], r == 1 ? -1 : 0, -r, &part[r], &request[r]));
    world_finish(&j.w, TALKERS, request);
    expect_ways(&j, part);
    joined_close(&j);
    nbcoll_nodes_free(nodes);
}

static void over_one_endpoint_it_is_the_call_of_one_endpoint(void **state)
{
    enum { RANKS = 3 };
    nbcoll_request request[RANKS];
    world w;

    (void)state;
    world_open_contexts(&w, RANKS, NULL, NULL);
    for (int r = 0; r < RANKS; r++)
        if (r == 1)
            EXPECT(OK, nbcoll_comm_icreate(w.context[r], w.endpoint[r], NULL, &w.comm[r], &request[r]));
        else
            EXPECT(OK, nbcoll_comm_icreate_over(w.context[r], 1, &w.endpoint[r], NULL, &w.comm[r], &request[r]));
    world_finish(&w, RANKS, request);
    run_all(&w, w.comm, 100);
    world_close(&w);
}

/* ---- nodes ------------------------------------------------------------------------------------------------------- */

static void expect_nodes(const nbcoll_nodes *is, const nbcoll_nodes *wanted)
{
    assert_int_equal(is->ranks, wanted->ranks);
    assert_int_equal(is->count, wanted->count);
    assert_int_equal(is->are_blocks, wanted->are_blocks);
    for (int r = 0; r < wanted->ranks; r++) {
        assert_int_equal(nbcoll_node_of(is, r), nbcoll_node_of(wanted, r));
        assert_int_equal(nbcoll_node_place(is, r), nbcoll_node_place(wanted, r));
    }
}

static void a_node_is_what_shares_an_endpoint(void **state)
{
    (void)state;
    for (int i = 0; i < JOINED_PLACEMENTS; i++) {
        nbcoll_nodes *nodes = joined_placement(i, 13, 7);
        joined j;
        joined_open(&j, nodes, NULL, NULL, NULL, NULL);
        for (int r = 0; r < 13; r++)
            expect_nodes(nbcoll_comm_nodes(j.w.comm[r]), nodes);
        joined_close(&j);
        nbcoll_nodes_free(nodes);
    }
}

static void the_host_may_say_what_a_node_is(void **state)
{
    enum { RANKS = 6 };
    static const uint64_t names[RANKS] = {70000000000, 9, 70000000000, 8, 9, 9};
    static const int numbers[RANKS] = {0, 1, 0, 2, 1, 1};
    nbcoll_nodes *wanted, *one;
    nbcoll_request request[RANKS];
    world w;

    (void)state;
    EXPECT(OK, nbcoll_nodes_make(numbers, RANKS, NULL, &wanted));
    EXPECT(OK, nbcoll_nodes_make((const int[RANKS]){0}, RANKS, NULL, &one));
    world_open_contexts(&w, RANKS, NULL, NULL);
    for (int r = 0; r < RANKS; r++) {
        nbcoll_comm_config config = NBCOLL_COMM_DEFAULTS;
        config.node = names[r];
        EXPECT(OK, nbcoll_comm_icreate(w.context[r], w.endpoint[r], &config, &w.comm[r], &request[r]));
    }
    world_finish(&w, RANKS, request);
    for (int r = 0; r < RANKS; r++)
        expect_nodes(nbcoll_comm_nodes(w.comm[r]), wanted);
    /* configured anew: as in the parent, or what is said then */
    for (int said = 0; said < 2; said++) {
        nbcoll_comm *dup[RANKS];
        for (int r = 0; r < RANKS; r++) {
            nbcoll_comm_config config = NBCOLL_COMM_DEFAULTS;
            config.node = said ? 5 : 0;
            EXPECT(OK, nbcoll_comm_idup_with(w.comm[r], &config, &dup[r], &request[r]));
        }
        world_finish(&w, RANKS, request);
        for (int r = 0; r < RANKS; r++)
            expect_nodes(nbcoll_comm_nodes(dup[r]), said ? one : wanted);
    }
    world_close(&w);
    nbcoll_nodes_free(wanted);
    nbcoll_nodes_free(one);
}

/* Ranks 0, 2, 4, ... of a node in one domain, the others in another, as each node names them. */
static void the_host_may_say_what_domains_of_the_nodes_are(void **state)
{
    enum { RANKS = 11 };
    nbcoll_nodes *nodes = joined_placement(6, RANKS, 5);
    nbcoll_comm *dup[RANKS], *part[RANKS];
    nbcoll_request request[RANKS];
    uint64_t said[RANKS];
    joined j;

    (void)state;
    joined_open_contexts(&j, nodes, NULL, NULL, NULL);
    for (int r = 0; r < RANKS; r++) {
        nbcoll_comm_config config = NBCOLL_COMM_DEFAULTS;
        config.domain = said[r] = 1 + (uint64_t)(nbcoll_node_place(nodes, r) % 2);
        EXPECT(OK, joined_icreate(&j, r, &config, &request[r]));
    }
    world_finish(&j.w, RANKS, request);
    for (int r = 0; r < RANKS; r++)
        EXPECT(OK, nbcoll_comm_idup(j.w.comm[r], &dup[r], &request[r]));
    world_finish(&j.w, RANKS, request);
    for (int r = 0; r < RANKS; r++) /* turned round */
        EXPECT(OK, nbcoll_comm_isplit(dup[r], 4, -r, &part[r], &request[r]));
    world_finish(&j.w, RANKS, request);
    for (int r = 0; r < RANKS; r++) {
        const nbcoll_nodes *first = nbcoll_comm_nodes(j.w.comm[r]), *last = nbcoll_comm_nodes(part[r]);
        expect_nodes(first, nodes);
        expect_nodes(nbcoll_comm_nodes(dup[r]), nodes);
        expect_nodes(nbcoll_nodes_domains(nbcoll_comm_nodes(dup[r])), nbcoll_nodes_domains(first));
        for (int a = 0; a < RANKS; a++)
            for (int b = 0; b < RANKS; b++) {
                int is_one = nbcoll_node_of(nodes, a) == nbcoll_node_of(nodes, b) && said[a] == said[b];
                const nbcoll_nodes *d = nbcoll_nodes_domains(first), *e = nbcoll_nodes_domains(last);
                assert_int_equal(nbcoll_node_of(d, a) == nbcoll_node_of(d, b), is_one);
                assert_int_equal(nbcoll_node_of(e, RANKS - 1 - a) == nbcoll_node_of(e, RANKS - 1 - b), is_one);
            }
    }
    joined_close(&j);
    nbcoll_nodes_free(nodes);
}

static void either_all_ranks_name_a_node_or_a_domain_or_none(void **state)
{
    enum { RANKS = 3 };
    nbcoll_request request[RANKS];
    nbcoll_status status[RANKS];
    world w;

    (void)state;
    for (int of_domains = 0; of_domains < 2; of_domains++) {
        world_open_contexts(&w, RANKS, NULL, NULL);
        for (int r = 0; r < RANKS; r++) {
            nbcoll_comm_config config = NBCOLL_COMM_DEFAULTS;
            *(of_domains ? &config.domain : &config.node) = r == 1 ? 0 : 1;
            EXPECT(OK, nbcoll_comm_icreate(w.context[r], w.endpoint[r], &config, &w.comm[r], &request[r]));
        }
        world_settle(&w, RANKS, request, status);
        for (int r = 0; r < RANKS; r++)
            assert_int_equal(status[r], NBCOLL_ERR_MISMATCH);
        world_close(&w);
    }
}

/* ---- what is made of them ---------------------------------------------------------------------------------------- */

static void expect_nodes_of_members(const joined *j, nbcoll_comm *const comm[])
{
    int rank_in[WORLD_MOST];

    for (int r = 0; r < j->w.ranks; r++)
        rank_in[r] = comm[r] ? nbcoll_comm_rank(comm[r]) : -1;
    for (int r = 0; r < j->w.ranks; r++)
        for (int peer = 0; comm[r] && peer < j->w.ranks; peer++)
            if (rank_in[peer] >= 0)
                assert_int_equal(nbcoll_node_of(nbcoll_comm_nodes(comm[r]), rank_in[r]) ==
                                     nbcoll_node_of(nbcoll_comm_nodes(comm[r]), rank_in[peer]),
                                 nbcoll_node_of(j->nodes, r) == nbcoll_node_of(j->nodes, peer));
}

static void duplicates_and_parts_keep_the_endpoints(void **state)
{
    enum { RANKS = 11 };
    (void)state;
    for (int i = 1; i < JOINED_PLACEMENTS; i++) {
        nbcoll_nodes *nodes = joined_placement(i, RANKS, 5);
        nbcoll_comm *dup[RANKS], *part[RANKS];
        nbcoll_request request[RANKS];
        nbcoll_loopback_config between = world_variant(i, 3);
        joined j;

        joined_open(&j, nodes, NULL, &between, &contexts, &limits);
        for (int r = 0; r < RANKS; r++)
            EXPECT(OK, nbcoll_comm_idup(j.w.comm[r], &dup[r], &request[r]));
        world_finish(&j.w, RANKS, request);
        expect_nodes_of_members(&j, dup);
        run_some(&j.w, dup, 10, 1000);
        for (int r = 0; r < RANKS; r++) /* every third is left out, the others are turned round */
            EXPECT(OK, nbcoll_comm_isplit(dup[r], r % 3 == 1 ? -1 : 4, -r, &part[r], &request[r]));
        world_finish(&j.w, RANKS, request);
        expect_nodes_of_members(&j, part);
        run_some(&j.w, part, 10, 1000);
        joined_close(&j);
        nbcoll_nodes_free(nodes);
    }
}

static void a_split_by_memory_gives_the_ranks_of_each_node(void **state)
{
    enum { RANKS = 9 };
    (void)state;
    for (int is_shared = 0; is_shared < 2; is_shared++) {
        nbcoll_nodes *nodes = joined_placement(6, RANKS, 5);
        nbcoll_loopback_config inside = {.size = sizeof inside, .flags = is_shared ? NBCOLL_LOOPBACK_SHARED : 0};
        nbcoll_comm *part[RANKS];
        nbcoll_request request[RANKS];
        joined j;

        joined_open(&j, nodes, &inside, NULL, NULL, NULL);
        for (int r = 0; r < RANKS; r++)
            EXPECT(OK, nbcoll_comm_isplit_shared(j.w.comm[r], 0, &part[r], &request[r]));
        world_finish(&j.w, RANKS, request);
        for (int r = 0; r < RANKS; r++) {
            int size = is_shared ? nbcoll_node_size(nodes, nbcoll_node_of(nodes, r)) : 1;
            assert_int_equal(nbcoll_comm_size(part[r]), size);
            assert_int_equal(nbcoll_comm_rank(part[r]), is_shared ? nbcoll_node_place(nodes, r) : 0);
        }
        joined_close(&j);
        nbcoll_nodes_free(nodes);
    }
}

/* ---- sleeping ---------------------------------------------------------------------------------------------------- */

static int is_readable(int fd)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};
    return poll(&p, 1, 0);
}

static void arm(nbcoll_context *c)
{
    nbcoll_status s = NBCOLL_AGAIN;
    for (int tries = 0; tries < 100 && s == NBCOLL_AGAIN; tries++) {
        EXPECT(OK, nbcoll_progress(c));
        s = nbcoll_arm(c);
    }
    EXPECT(OK, s);
}

static void one_descriptor_wakes_for_every_endpoint(void **state)
{
    nbcoll_nodes *nodes = joined_placement(1, 4, 1); /* ranks 0 to 2, and 3 */
    nbcoll_request request[4];
    int32_t value[4] = {0};
    joined j;
    int fd;

    (void)state;
    joined_open(&j, nodes, NULL, NULL, NULL, NULL);
    EXPECT(OK, nbcoll_fd(j.w.context[2], &fd));
    for (int sender = 0; sender < 4; sender += 3) { /* a near one, and a far one */
        const nbcoll_rule rule = {.algorithm = nbcoll_algorithm_find(NBCOLL_OPERATION_BCAST, "flat")};
        nbcoll_comm_config config = NBCOLL_COMM_DEFAULTS;
        nbcoll_comm *dup[4];
        config.rules = &rule;
        config.rule_count = 1;
        for (int r = 0; r < 4; r++)
            EXPECT(OK, nbcoll_comm_idup_with(j.w.comm[r], &config, &dup[r], &request[r]));
        world_finish(&j.w, 4, request);
        for (int i = 0; i < 10; i++)
            world_step(&j.w);
        arm(j.w.context[2]);
        assert_false(is_readable(fd));
        EXPECT(OK, nbcoll_ibcast(&value[sender], 1, NBCOLL_INT32, sender, dup[sender], &request[sender]));
        EXPECT(OK, nbcoll_progress(j.w.context[sender]));
        assert_true(is_readable(fd));
        for (int r = 0; r < 4; r++)
            if (r != sender)
                EXPECT(OK, nbcoll_ibcast(&value[r], 1, NBCOLL_INT32, sender, dup[r], &request[r]));
        world_finish(&j.w, 4, request);
    }
    joined_close(&j);
    nbcoll_nodes_free(nodes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            every_collective_has_its_values_over_two_endpoints_wherever_2_to_16_ranks_are_on_1_to_5_nodes),
        cmocka_unit_test(over_one_endpoint_it_is_the_call_of_one_endpoint),
        cmocka_unit_test(the_vote_goes_by_the_last_endpoint_whose_ranks_are_the_communicators),
        cmocka_unit_test(ranks_of_a_node_talk_by_its_endpoint_and_others_by_the_last_one),
        cmocka_unit_test(a_node_is_what_shares_an_endpoint),
        cmocka_unit_test(the_host_may_say_what_a_node_is),
        cmocka_unit_test(the_host_may_say_what_domains_of_the_nodes_are),
        cmocka_unit_test(either_all_ranks_name_a_node_or_a_domain_or_none),
        cmocka_unit_test(duplicates_and_parts_keep_the_endpoints),
        cmocka_unit_test(a_split_by_memory_gives_the_ranks_of_each_node),
        cmocka_unit_test(one_descriptor_wakes_for_every_endpoint),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
