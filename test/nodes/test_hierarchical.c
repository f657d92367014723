/* SPDX-License-Identifier: BSD-3-Clause
 * Algorithms that go by nodes, chosen by rules, run on the nodes that a communicator has: those of its endpoints, with
 * the values of serial C, whatever the numbering; and those by domains on the domains that the host names there. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "joined.h"
#include "nbcoll/select.h"
#include "operation.h"

enum { RANKS = 11 };

static char ran[64];

static void note(void *user, const nbcoll_event *e)
{
    nbcoll_schedule_info info = {.size = sizeof info};

    (void)user;
    if (e->step != NBCOLL_START || e->moment != NBCOLL_STEP_STARTED)
        return;
    EXPECT(OK, nbcoll_schedule_query(e->schedule, &info));
    snprintf(ran, sizeof ran, "%s", info.name);
}

static void run(joined *j, const nbcoll_algorithm *algorithm, size_t count, uint64_t seed)
{
    operation o = {.what = algorithm->operation,
                   .count = count,
                   .how = {NBCOLL_INT32, NBCOLL_SUM},
                   .seed = seed,
                   .counts_known = 1};
    nbcoll_request request[RANKS];
    share mine[RANKS];
    char wanted[64];

    snprintf(wanted, sizeof wanted, "%s/%s", nbcoll_operation_name(algorithm->operation), algorithm->name);
    if (o.what == NBCOLL_OPERATION_BCAST || o.what == NBCOLL_OPERATION_REDUCE || o.what == NBCOLL_OPERATION_GATHER ||
        o.what == NBCOLL_OPERATION_SCATTER || o.what == NBCOLL_OPERATION_GATHERV || o.what == NBCOLL_OPERATION_SCATTERV)
        o.root = (int)(seed % RANKS);
    for (int r = 0; r < RANKS; r++) {
        mine[r] = share_make(&o, r, RANKS);
        ran[0] = 0;
        EXPECT(OK, operation_start(&o, &mine[r], j->w.comm[r], &request[r]));
        assert_string_equal(ran, wanted);
    }
    world_finish(&j->w, RANKS, request);
    for (int r = 0; r < RANKS; r++) {
        operation_check(&o, &mine[r], r, RANKS);
        share_free(&mine[r]);
    }
}

/* Of which ranks of a node share each second place a domain. */
static void open_domains(joined *j, const nbcoll_nodes *nodes, const nbcoll_loopback_config *inside,
                         const nbcoll_loopback_config *between, const nbcoll_context_config *contexts,
                         nbcoll_comm_config config)
{
    nbcoll_request request[RANKS];

    joined_open_contexts(j, nodes, inside, between, contexts);
    for (int r = 0; r < RANKS; r++) {
        config.domain = 1 + (uint64_t)(nbcoll_node_place(nodes, r) % 2);
        EXPECT(OK, joined_icreate(j, r, &config, &request[r]));
    }
    world_finish(&j->w, RANKS, request);
}

/* Each on a world of its own, of another placement. Returns how many there are. */
static int run_all(nbcoll_operation what)
{
    static const nbcoll_observer observer = {.size = sizeof observer, .event = note};
    const nbcoll_context_config contexts = {.size = sizeof contexts, .observer = &observer, .credits = 3};
    const nbcoll_algorithm *algorithm;
    int n = 0;

    for (unsigned i = 0; (algorithm = nbcoll_algorithm_at(what, i)); i++)
        for (unsigned leaders = 1; algorithm->flags & NBCOLL_ALGORITHM_NODES && leaders <= 2; leaders++)
            for (int p = 0; p < JOINED_PLACEMENTS; p++) {
                const nbcoll_rule rule = {.algorithm = algorithm,
                                          .segment = algorithm->flags & NBCOLL_ALGORITHM_SEGMENT ? 512 : 0,
                                          .leaders = algorithm->flags & NBCOLL_ALGORITHM_LEADERS ? leaders : 0};
                nbcoll_comm_config config = {.size = sizeof config,
                                             .slots = 2,
                                             .cells = 8,
                                             .schedules = 16,
                                             .eager = 256,
                                             .flags = NBCOLL_COUNTS_KNOWN,
                                             .rules = &rule,
                                             .rule_count = 1};
                nbcoll_loopback_config between = world_variant(n % WORLD_VARIANTS, 3);
                nbcoll_loopback_config inside = world_variant((n + 5) % WORLD_VARIANTS, 3);
                nbcoll_nodes *nodes = joined_placement(p, RANKS, leaders);
                joined j;
                if (algorithm->flags & NBCOLL_ALGORITHM_DOMAINS)
                    open_domains(&j, nodes, &inside, &between, &contexts, config);
                else
                    joined_open(&j, nodes, &inside, &between, &contexts, &config);
                run(&j, algorithm, 3, (uint64_t)n);
                run(&j, algorithm, 700, (uint64_t)n + 4);
                joined_close(&j);
                nbcoll_nodes_free(nodes);
                n++;
            }
    return n;
}

static void hierarchical_algorithms_run_on_the_nodes_of_the_endpoints(void **state)
{
    int n = 0;
    (void)state;
    for (int what = 0; what < NBCOLL_OPERATION_COUNT; what++) {
        /* blocks whose lengths no rank knows of all others go directly */
        int is_direct = what == NBCOLL_OPERATION_ALLTOALLV || what == NBCOLL_OPERATION_ALLTOALLW;
        int of_operation = run_all((nbcoll_operation)what);
        assert_int_equal(of_operation > 0, !is_direct);
        n += of_operation;
    }
    assert_true(n >= 22 * 2 * JOINED_PLACEMENTS);
}

/* ---- between nodes ----------------------------------------------------------------------------------------------- */

typedef struct crossings {
    const nbcoll_nodes *nodes;
    int n; /* messages from a node to another one */
} crossings;

static void note_crossing(void *user, const nbcoll_event *e)
{
    crossings *c = user;
    nbcoll_schedule_info info = {.size = sizeof info};
    const nbcoll_step_view *v = nbcoll_schedule_step(e->schedule, e->step);

    EXPECT(OK, nbcoll_schedule_query(e->schedule, &info));
    if (e->moment == NBCOLL_STEP_STARTED && v->kind == NBCOLL_SEND)
        c->n += nbcoll_node_of(c->nodes, info.rank) != nbcoll_node_of(c->nodes, v->peer);
}

static void a_broadcast_sends_one_message_to_each_other_node(void **state)
{
    nbcoll_nodes *nodes = joined_placement(8, RANKS, 5);
    crossings c = {nodes, 0};
    const nbcoll_observer observer = {.size = sizeof observer, .user = &c, .event = note_crossing};
    const nbcoll_context_config contexts = {.size = sizeof contexts, .observer = &observer};
    const nbcoll_rule rule = {.algorithm = nbcoll_algorithm_find(NBCOLL_OPERATION_BCAST, "hierarchical")};
    nbcoll_comm_config config = NBCOLL_COMM_DEFAULTS;
    nbcoll_request request[RANKS];
    int32_t value[RANKS] = {77};
    joined j;

    (void)state;
    config.rules = &rule;
    config.rule_count = 1;
    joined_open(&j, nodes, NULL, NULL, &contexts, &config);
    c.n = 0;
    for (int r = 0; r < RANKS; r++)
        EXPECT(OK, nbcoll_ibcast(&value[r], 1, NBCOLL_INT32, 0, j.w.comm[r], &request[r]));
    world_finish(&j.w, RANKS, request);
    for (int r = 0; r < RANKS; r++)
        assert_int_equal(value[r], 77);
    assert_true(nodes->count >= 4);
    assert_int_equal(c.n, nodes->count - 1);
    joined_close(&j);
    nbcoll_nodes_free(nodes);
}

/* ---- by cost ----------------------------------------------------------------------------------------------------- */

/* What is dear between nodes is done by nodes, without a rule. */
static void hierarchical_algorithms_are_chosen_where_messages_between_nodes_are_dear(void **state)
{
    static const nbcoll_observer observer = {.size = sizeof observer, .event = note};
    const nbcoll_context_config contexts = {.size = sizeof contexts, .observer = &observer};
    const nbcoll_loopback_config sharing = {.size = sizeof sharing, .flags = NBCOLL_LOOPBACK_SHARED};
    nbcoll_nodes *nodes = joined_placement(5, RANKS, 1); /* round robin: each neighbour is on another node */
    nbcoll_request request[RANKS];
    int32_t value[RANKS] = {5};
    joined j;

    (void)state;
    joined_open_contexts(&j, nodes, &sharing, NULL, &contexts);
    for (int r = 0; r < RANKS; r++) {
        j.w.endpoint[r]->limits.price.alpha_ns = 50000;
        j.w.endpoint[r]->limits.price.overhead_ns = 50000;
        j.near[r]->limits.price.gap_ns = 10;
        j.near[r]->limits.price.fetch_ns = 20;
        EXPECT(OK, joined_icreate(&j, r, NULL, &request[r]));
    }
    world_finish(&j.w, RANKS, request);
    for (int r = 0; r < RANKS; r++) {
        nbcoll_terms terms = {.size = sizeof terms};
        EXPECT(OK, nbcoll_comm_terms(j.w.comm[r], &terms));
        assert_int_equal(terms.between.alpha_ns, 50000);
        assert_int_equal(terms.inside.alpha_ns, j.near[r]->limits.price.alpha_ns);
        assert_int_equal(terms.inside.gap_ns, 10);
        assert_int_equal(terms.inside.fetch_ns, 20);
        assert_int_equal(terms.between.gap_ns, 0);
        EXPECT(OK, nbcoll_ibcast(&value[r], 1, NBCOLL_INT32, 0, j.w.comm[r], &request[r]));
        assert_string_equal(ran, "bcast/hierarchical");
    }
    world_finish(&j.w, RANKS, request);
    for (int r = 0; r < RANKS; r++)
        assert_int_equal(value[r], 5);
    joined_close(&j);
    nbcoll_nodes_free(nodes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hierarchical_algorithms_run_on_the_nodes_of_the_endpoints),
        cmocka_unit_test(a_broadcast_sends_one_message_to_each_other_node),
        cmocka_unit_test(hierarchical_algorithms_are_chosen_where_messages_between_nodes_are_dear),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
