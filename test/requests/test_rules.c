/* SPDX-License-Identifier: BSD-3-Clause
 * Rules of a communicator: its collectives are built as they say, on all ranks or none, and nothing is chosen again for
 * a cached schedule. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "nbcoll/select.h"
#include "operation.h"
#include "world.h"

enum { RANKS = 4 };

/* The host's own broadcast: every rank gets it from the root. */
static unsigned builds;
static size_t segment;

static void own_bcast(nbcoll_builder *b, const nbcoll_args *a)
{
    builds++;
    segment = a->segment;
    for (int peer = 0; peer < b->ranks && b->rank == a->root; peer++)
        if (peer != a->root)
            nbcoll_add_send(b, peer, a->recv, a->bytes);
    if (b->rank != a->root)
        nbcoll_add_recv(b, a->root, a->recv, a->bytes);
}

static const nbcoll_algorithm own = {sizeof own, "own", NBCOLL_OPERATION_BCAST, own_bcast,
                                     NBCOLL_ALGORITHM_SEGMENT | NBCOLL_ALGORITHM_ARITY, NULL};

/* One that sends to a rank that does not exist. */
static void wrong_bcast(nbcoll_builder *b, const nbcoll_args *a)
{
    nbcoll_add_send(b, b->ranks, a->recv, a->bytes);
}

static const nbcoll_algorithm wrong = {sizeof wrong, "wrong", NBCOLL_OPERATION_BCAST, wrong_bcast, 0, NULL};

/* A world whose rank r has the first of its rules counts[r] times; gives how the creations ended. */
static void open_with(world *w, const nbcoll_rule rules[RANKS][2], const size_t counts[RANKS],
                      nbcoll_status statuses[RANKS])
{
    nbcoll_request q[RANKS];

    world_open_contexts(w, RANKS, NULL, NULL);
    for (int r = 0; r < RANKS; r++) {
        nbcoll_comm_config config = NBCOLL_COMM_DEFAULTS;
        nbcoll_rule given[2] = {rules[r][0], rules[r][1]};
        config.rules = given;
        config.rule_count = counts[r];
        w->comm[r] = NULL;
        EXPECT(OK, nbcoll_comm_icreate(w->context[r], w->endpoint[r], &config, &w->comm[r], &q[r]));
        memset(given, 0, sizeof given); /* they were copied */
    }
    world_settle(w, RANKS, q, statuses);
}

static void open_with_own(world *w, nbcoll_rule rule)
{
    const nbcoll_rule rules[RANKS][2] = {{rule}, {rule}, {rule}, {rule}};
    const size_t counts[RANKS] = {1, 1, 1, 1};
    nbcoll_status statuses[RANKS];

    open_with(w, rules, counts, statuses);
    for (int r = 0; r < RANKS; r++)
        EXPECT(OK, statuses[r]);
    builds = 0;
}

static void broadcast(world *w, nbcoll_comm *const comm[])
{
    nbcoll_request q[RANKS];
    int value[RANKS] = {0, 7};

    for (int r = 0; r < RANKS; r++)
        EXPECT(OK, nbcoll_ibcast(&value[r], 1, NBCOLL_INT32, 1, comm[r], &q[r]));
    world_finish(w, RANKS, q);
    for (int r = 0; r < RANKS; r++)
        assert_int_equal(value[r], 7);
}

static void a_collective_is_built_as_the_rule_says_and_once(void **state)
{
    world w;
    (void)state;
    open_with_own(&w, (nbcoll_rule){.algorithm = &own, .segment = 77});
    broadcast(&w, w.comm);
    assert_int_equal(builds, RANKS);
    assert_int_equal(segment, 77);
    broadcast(&w, w.comm);
    assert_int_equal(builds, RANKS);
    world_close(&w);
}

static void keep(void *user, nbcoll_status why, const char *text)
{
    assert_int_equal(why, NBCOLL_ERR_RANK);
    strncpy(user, text, 199);
}

static void the_error_of_an_algorithm_by_rule_is_told_to_the_host_in_words(void **state)
{
    (void)state;
    world w;
    char text[200] = "";
    nbcoll_context_config context = {
        .size = sizeof context, .host = {.size = sizeof(nbcoll_host), .user = text, .log = keep}};
    nbcoll_comm_config comm = NBCOLL_COMM_DEFAULTS;
    nbcoll_request q = NBCOLL_REQUEST_NULL;
    int value = 0;
    comm.rules = (const nbcoll_rule[]){{.algorithm = &wrong}};
    comm.rule_count = 1;
    world_open(&w, RANKS, NULL, &context, &comm);
    assert_string_equal(text, "");
    EXPECT(ERR_RANK, nbcoll_ibcast(&value, 1, NBCOLL_INT32, 1, w.comm[2], &q));
    assert_string_equal(text, "bcast/wrong: rank 2 of 4, step 2, nbcoll_add_send: peer 4 is outside 0..3");
    world_close(&w);
}

static void a_rule_for_other_ranks_is_not_asked(void **state)
{
    world w;
    (void)state;
    open_with_own(&w, (nbcoll_rule){.algorithm = &own, .fewest = RANKS + 1});
    broadcast(&w, w.comm);
    assert_int_equal(builds, 0);
    world_close(&w);
}

static void a_dup_has_the_rules_of_its_parent(void **state)
{
    nbcoll_request q[RANKS];
    nbcoll_comm *dup[RANKS];
    world w;
    (void)state;
    open_with_own(&w, (nbcoll_rule){.algorithm = &own});
    for (int r = 0; r < RANKS; r++)
        EXPECT(OK, nbcoll_comm_idup(w.comm[r], &dup[r], &q[r]));
    world_finish(&w, RANKS, q);
    for (int r = 0; r < RANKS; r++) {
        EXPECT(OK, nbcoll_comm_free(w.comm[r]));
        w.comm[r] = dup[r];
    }
    broadcast(&w, dup);
    assert_int_equal(builds, RANKS);
    world_close(&w);
}

/* Duplicates each rank's communicator with a configuration of its own: what each rank got. */
static void dup_with(world *w, const nbcoll_comm_config config[RANKS], nbcoll_comm *dup[RANKS],
                     nbcoll_status statuses[RANKS])
{
    nbcoll_request q[RANKS];
    for (int r = 0; r < RANKS; r++) {
        dup[r] = NULL;
        EXPECT(OK, nbcoll_comm_idup_with(w->comm[r], &config[r], &dup[r], &q[r]));
    }
    world_settle(w, RANKS, q, statuses);
}

static void a_dup_may_have_rules_and_terms_of_its_own(void **state)
{
    const nbcoll_rule rule = {.algorithm = &own};
    nbcoll_comm_config config[RANKS];
    nbcoll_status statuses[RANKS];
    nbcoll_comm *dup[RANKS];
    world w;
    (void)state;
    open_with_own(&w, (nbcoll_rule){.algorithm = &own, .fewest = RANKS + 1});
    for (int r = 0; r < RANKS; r++) {
        config[r] = (nbcoll_comm_config)NBCOLL_COMM_DEFAULTS;
        config[r].rules = &rule;
        config[r].rule_count = 1;
        config[r].slots = 2 + (uint32_t)r; /* agreed upon as at the first creation */
        config[r].large = 1000 * (size_t)r;
        config[r].flags = NBCOLL_COUNTS_KNOWN | (r == 1 ? NBCOLL_REPRODUCIBLE : 0);
    }
    dup_with(&w, config, dup, statuses);
    for (int r = 0; r < RANKS; r++) {
        nbcoll_terms terms = {.size = sizeof terms};
        EXPECT(OK, statuses[r]);
        EXPECT(OK, nbcoll_comm_terms(dup[r], &terms));
        assert_int_equal(terms.rule_count, 1);
        assert_int_equal(terms.large, 1000 * (RANKS - 1));
        assert_int_equal(terms.flags, NBCOLL_COUNTS_KNOWN | NBCOLL_REPRODUCIBLE);
    }
    broadcast(&w, w.comm);
    assert_int_equal(builds, 0);
    for (int i = 0; i < 5; i++) /* through every slot */
        broadcast(&w, dup);
    assert_int_equal(builds, RANKS);
    world_close(&w);
}

static void a_dup_with_different_rules_is_none(void **state)
{
    const nbcoll_rule rule = {.algorithm = &own};
    nbcoll_comm_config config[RANKS];
    nbcoll_status statuses[RANKS];
    nbcoll_comm *dup[RANKS];
    world w;
    (void)state;
    open_with_own(&w, (nbcoll_rule){.algorithm = &own});
    for (int r = 0; r < RANKS; r++)
        config[r] = (nbcoll_comm_config)NBCOLL_COMM_DEFAULTS;
    config[2].rules = &rule;
    config[2].rule_count = 1;
    dup_with(&w, config, dup, statuses);
    for (int r = 0; r < RANKS; r++) {
        EXPECT(ERR_MISMATCH, statuses[r]);
        assert_null(dup[r]);
    }
    broadcast(&w, w.comm);
    world_close(&w);
}

/* Every rank gets ERR_MISMATCH, and no communicator. */
static void mismatch(const nbcoll_rule rules[RANKS][2], const size_t counts[RANKS])
{
    nbcoll_status statuses[RANKS];
    world w;

    open_with(&w, rules, counts, statuses);
    for (int r = 0; r < RANKS; r++) {
        EXPECT(ERR_MISMATCH, statuses[r]);
        assert_null(w.comm[r]);
    }
    world_close(&w);
}

static void ranks_with_different_rules_make_no_communicator(void **state)
{
    const nbcoll_rule one = {.algorithm = &own}, other = {.algorithm = &own, .below = 4096};
    const nbcoll_rule same[RANKS][2] = {{one, other}, {one, other}, {one, other}, {one, other}};
    const nbcoll_rule different[RANKS][2] = {{one}, {one}, {other}, {one}};
    (void)state;
    mismatch(different, (size_t[]){1, 1, 1, 1});
    mismatch(same, (size_t[]){2, 2, 2, 1});
    mismatch(same, (size_t[]){1, 0, 1, 1});
}

static void rules_may_come_from_different_lines(void **state)
{
    const nbcoll_rule rules[RANKS][2] = {{{.algorithm = &own, .line = 1}}, {{.algorithm = &own, .line = 2}},
                                         {{.algorithm = &own}}, {{.algorithm = &own, .line = 9}}};
    nbcoll_status statuses[RANKS];
    world w;
    (void)state;
    open_with(&w, rules, (size_t[]){1, 1, 1, 1}, statuses);
    for (int r = 0; r < RANKS; r++)
        EXPECT(OK, statuses[r]);
    broadcast(&w, w.comm);
    world_close(&w);
}

static void impossible_rules_are_refused_by_the_call(void **state)
{
    nbcoll_rule rule = {.algorithm = &own, .fewest = 3, .most = 2};
    nbcoll_comm_config config = NBCOLL_COMM_DEFAULTS;
    nbcoll_request q = NBCOLL_REQUEST_NULL;
    nbcoll_comm *comm = NULL;
    world w;
    (void)state;
    world_open_contexts(&w, 1, NULL, NULL);
    config.rule_count = 1;
    EXPECT(ERR_NULL, nbcoll_comm_icreate(w.context[0], w.endpoint[0], &config, &comm, &q));
    config.rules = &rule;
    EXPECT(ERR_CONFIG, nbcoll_comm_icreate(w.context[0], w.endpoint[0], &config, &comm, &q));
    assert_null(comm);
    rule.most = 0;
    EXPECT(OK, nbcoll_comm_icreate(w.context[0], w.endpoint[0], &config, &w.comm[0], &q));
    world_finish(&w, 1, &q);
    world_close(&w);
}

static void a_communicator_tells_its_terms(void **state)
{
    nbcoll_terms terms = {.size = sizeof terms};
    world w;
    (void)state;
    open_with_own(&w, (nbcoll_rule){.algorithm = &own, .arity = 3});
    EXPECT(OK, nbcoll_comm_terms(w.comm[2], &terms));
    assert_int_equal(terms.ranks, RANKS);
    const nbcoll_level *l = &terms.between;
    assert_true(l->alpha_ns > 0 && l->beta_ps > 0 && l->overhead_ns > 0); /* loopback's */
    assert_true(terms.large == NBCOLL_BY_COST);
    assert_true(terms.between.eager > 0 && terms.between.eager <= ((nbcoll_comm_config)NBCOLL_COMM_DEFAULTS).eager);
    assert_int_equal(terms.credits, NBCOLL_CREDITS);
    assert_int_equal(terms.rule_count, 1);
    assert_int_equal(terms.rules[0].arity, 3);
    EXPECT(ERR_NULL, nbcoll_comm_terms(NULL, &terms));
    EXPECT(ERR_NULL, nbcoll_comm_terms(w.comm[0], NULL));
    terms.size = 0;
    EXPECT(ERR_CONFIG, nbcoll_comm_terms(w.comm[0], &terms));
    world_close(&w);
}

/* Rank 0's transport names it; of the other's bytes, each costs as much as one that is sent. */
static void the_dearest_price_of_handling_a_byte_is_agreed_on(void **state)
{
    nbcoll_terms terms = {.size = sizeof terms};
    nbcoll_request q[2];
    world w;
    (void)state;
    world_open_contexts(&w, 2, NULL, NULL);
    w.endpoint[0]->limits.price.gamma_ps = 40;
    w.endpoint[1]->limits.price.gamma_ps = 0;
    w.endpoint[1]->limits.price.beta_ps = 150;
    for (int r = 0; r < 2; r++)
        EXPECT(OK, nbcoll_comm_icreate(w.context[r], w.endpoint[r], NULL, &w.comm[r], &q[r]));
    world_finish(&w, 2, q);
    for (int r = 0; r < 2; r++) {
        EXPECT(OK, nbcoll_comm_terms(w.comm[r], &terms));
        assert_int_equal(terms.between.gamma_ps, 150);
    }
    world_close(&w);
}

/* Copying costs what handling a byte does where a transport does not say; the fewest interfaces are those shared. */
static void prices_of_copying_and_shared_interfaces_are_agreed_on(void **state)
{
    nbcoll_terms terms = {.size = sizeof terms};
    nbcoll_request q[3];
    world w;
    (void)state;
    world_open_contexts(&w, 3, NULL, NULL);
    for (int r = 0; r < 3; r++) {
        w.endpoint[r]->limits.price.gamma_ps = 90;
        w.endpoint[r]->limits.price.copy_ps = r == 1 ? 0 : 40;
        w.endpoint[r]->limits.interfaces = (uint32_t[]){2, 0, 4}[r];
        w.endpoint[r]->limits.price.gap_ns = 100 * (uint32_t)r;
        w.endpoint[r]->limits.price.fetch_ns = r == 1 ? 70 : 0;
    }
    for (int r = 0; r < 3; r++)
        EXPECT(OK, nbcoll_comm_icreate(w.context[r], w.endpoint[r], NULL, &w.comm[r], &q[r]));
    world_finish(&w, 3, q);
    for (int r = 0; r < 3; r++) {
        EXPECT(OK, nbcoll_comm_terms(w.comm[r], &terms));
        assert_int_equal(terms.between.copy_ps, 90);
        assert_int_equal(terms.interfaces, 2);
        assert_int_equal(terms.between.gap_ns, 200);
        assert_int_equal(terms.between.fetch_ns, 70);
    }
    world_close(&w);
}

static void of_cores_for_drivers_the_fewest_are_agreed_on(void **state)
{
    const uint32_t cores[3] = {4, 2, 3};
    nbcoll_terms terms = {.size = sizeof terms};
    nbcoll_request q[3];
    nbcoll_comm *copy[3];
    world w;
    (void)state;
    world_open_contexts(&w, 3, NULL, NULL);
    for (int r = 0; r < 3; r++) {
        nbcoll_comm_config config = NBCOLL_COMM_DEFAULTS;
        config.progress_cores = cores[r];
        EXPECT(OK, nbcoll_comm_icreate(w.context[r], w.endpoint[r], &config, &w.comm[r], &q[r]));
    }
    world_finish(&w, 3, q);
    for (int r = 0; r < 3; r++)
        EXPECT(OK, nbcoll_comm_idup(w.comm[r], &copy[r], &q[r]));
    world_finish(&w, 3, q);
    for (int r = 0; r < 3; r++) {
        EXPECT(OK, nbcoll_comm_terms(copy[r], &terms));
        assert_int_equal(terms.progress_cores, 2);
        EXPECT(OK, nbcoll_comm_free(copy[r]));
    }
    world_close(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_collective_is_built_as_the_rule_says_and_once),
        cmocka_unit_test(the_error_of_an_algorithm_by_rule_is_told_to_the_host_in_words),
    cmocka_unit_test(a_rule_for_other_ranks_is_not_asked),
        cmocka_unit_test(a_dup_has_the_rules_of_its_parent),
        cmocka_unit_test(a_dup_may_have_rules_and_terms_of_its_own),
        cmocka_unit_test(a_dup_with_different_rules_is_none),
        cmocka_unit_test(ranks_with_different_rules_make_no_communicator),
        cmocka_unit_test(rules_may_come_from_different_lines),
        cmocka_unit_test(impossible_rules_are_refused_by_the_call),
        cmocka_unit_test(a_communicator_tells_its_terms),
        cmocka_unit_test(the_dearest_price_of_handling_a_byte_is_agreed_on),
        cmocka_unit_test(prices_of_copying_and_shared_interfaces_are_agreed_on),
        cmocka_unit_test(of_cores_for_drivers_the_fewest_are_agreed_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
