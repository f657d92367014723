/* SPDX-License-Identifier: BSD-3-Clause
 * Algorithms that tolerate late arrivals are known by their schedules: a rank takes what comes at any time, and what it
 * sends is its own, or what one receive has brought, whole, waiting for nothing else. The flag says so of those, and of
 * no others; and a communicator that asks for it gets these, whatever its rules say. What topologies join, five
 * allgathers do: the same blocks go from the same ranks to the same ranks; in rounds, where the number of ranks is a
 * power, and by Bruck the other way round. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <nbcoll/relay.h>
#include <nbcoll/select.h>
#include <nbcoll/verify.h>

enum { MOST = 17, STEPS = 4096 };

static const nbcoll_operation served[] = {NBCOLL_OPERATION_BCAST, NBCOLL_OPERATION_ALLGATHER,
                                          NBCOLL_OPERATION_ALLGATHERV};
enum { SERVED = sizeof served / sizeof *served };

/* The one step that each waits for; 0: none. */
static nbcoll_step before[STEPS];

static void look_back(const nbcoll_schedule *s, uint32_t steps)
{
    assert_true(steps <= STEPS);
    for (nbcoll_step i = 2; i < steps; i++)
        before[i] = 0;
    for (nbcoll_step i = 2; i < steps; i++) {
        const nbcoll_step_view *v = nbcoll_schedule_step(s, i);
        for (uint32_t k = 0; k < v->after_count; k++)
            before[v->after[k]] = i;
    }
}

static int is_same(nbcoll_region a, nbcoll_region b)
{
    return a.at.buffer == b.at.buffer && a.at.offset == b.at.offset && a.bytes == b.bytes;
}

/* Does the step need nothing that came with another one, nor anything else of its rank? */
static int stands(const nbcoll_schedule *s, nbcoll_step i)
{
    const nbcoll_step_view *v = nbcoll_schedule_step(s, i), *brings = nbcoll_schedule_step(s, before[i]);
    if (v->kind == NBCOLL_COPY || v->kind == NBCOLL_RECV)
        return v->before == 0;
    return v->kind == NBCOLL_SEND &&
           (v->before == 0 || (v->before == 1 && brings->kind == NBCOLL_RECV && is_same(brings->write, v->read[0])));
}

static int tolerates(const nbcoll_algorithm *algorithm, const nbcoll_case *c, int rank)
{
    nbcoll_schedule *s;
    nbcoll_schedule_info info = {.size = sizeof info};
    int all = 1;
    assert_int_equal(nbcoll_build_case(algorithm, c, rank, NULL, &s), NBCOLL_OK);
    assert_int_equal(nbcoll_schedule_query(s, &info), NBCOLL_OK);
    look_back(s, info.steps);
    for (nbcoll_step i = 2; i < info.steps && all; i++)
        all = stands(s, i);
    assert_int_equal(nbcoll_schedule_free(s), NBCOLL_OK);
    return all;
}

/* On any rank of up to 17, of any root. */
static int always_tolerates(const nbcoll_algorithm *algorithm)
{
    int all = 1;
    for (int ranks = 1; ranks <= MOST; ranks++)
        for (int root = 0; root < (algorithm->operation == NBCOLL_OPERATION_BCAST ? ranks : 1); root++)
            for (int rank = 0; rank < ranks && all; rank++) {
                nbcoll_case c = {.size = sizeof c, .operation = algorithm->operation, .ranks = ranks, .root = root,
                                 .count = 100, .reduction = {NBCOLL_INT32, NBCOLL_SUM}, .known = 1};
                c.segment = algorithm->flags & NBCOLL_ALGORITHM_SEGMENT ? 64 : 0;
                c.ports = algorithm->flags & NBCOLL_ALGORITHM_PORTS ? (unsigned)ranks % 4 : 0;
                all = tolerates(algorithm, &c, rank);
            }
    return all;
}

static void the_flag_is_that_of_allgathers_and_broadcasts_which_only_pass_on(void **state)
{
    (void)state;
    for (int i = 0; i < SERVED; i++) {
        const nbcoll_algorithm *algorithm;
        int some = 0;
        for (unsigned k = 0; (algorithm = nbcoll_algorithm_at(served[i], k)); k++) {
            int has_flag = (algorithm->flags & NBCOLL_ALGORITHM_ARRIVAL_TOLERANT) != 0;
            if (algorithm->flags >= NBCOLL_ALGORITHM_EXPOSES(1)) /* what is exposed is read by who has arrived */
                assert_false(has_flag);
            else if (has_flag != always_tolerates(algorithm))
                fail_msg("%s %s", nbcoll_operation_name(served[i]), algorithm->name);
            some += has_flag;
        }
        assert_true(some > 2);
    }
}

static void other_operations_have_it_nowhere(void **state)
{
    (void)state;
    for (int operation = 0; operation < NBCOLL_OPERATION_COUNT; operation++) {
        const nbcoll_algorithm *algorithm;
        int is_served = 0;
        for (int i = 0; i < SERVED; i++)
            is_served |= served[i] == (nbcoll_operation)operation;
        for (unsigned k = 0; !is_served && (algorithm = nbcoll_algorithm_at((nbcoll_operation)operation, k)); k++)
            assert_false(algorithm->flags & NBCOLL_ALGORITHM_ARRIVAL_TOLERANT);
    }
}

/* ---- topologies -------------------------------------------------------------------------------------------------- */

enum { BLOCK = 100 * sizeof(int32_t) };

/* How often the block of a rank goes from one rank to another: [from][to][owner]. */
typedef int ways[MOST][MOST][MOST];

static void follow(nbcoll_topology *const topology[], int rank, uint32_t relay, int owner, ways way)
{
    const nbcoll_relay *r = &topology[rank]->relay[relay];
    for (uint32_t i = 0; i < r->destinations; i++) {
        way[rank][r->destination[i].rank][owner]++;
        follow(topology, r->destination[i].rank, r->destination[i].relay, owner, way);
    }
}

static void ways_of_topology(nbcoll_topology_kind kind, unsigned ports, int ranks, ways way)
{
    nbcoll_topology *topology[MOST];
    for (int rank = 0; rank < ranks; rank++)
        assert_int_equal(nbcoll_topology_make(kind, ports, ranks, rank, NULL, &topology[rank]), NBCOLL_OK);
    for (int owner = 0; owner < ranks; owner++)
        follow(topology, owner, 0, owner, way);
    for (int rank = 0; rank < ranks; rank++)
        nbcoll_topology_free(topology[rank]);
}

static void ways_of_algorithm(const char *name, unsigned ports, int ranks, ways way)
{
    const nbcoll_algorithm *algorithm = nbcoll_algorithm_find(NBCOLL_OPERATION_ALLGATHER, name);
    nbcoll_case c = {.size = sizeof c, .operation = NBCOLL_OPERATION_ALLGATHER, .ranks = ranks, .count = 100,
                     .reduction = {NBCOLL_INT32, NBCOLL_SUM}, .ports = ports};
    for (int rank = 0; rank < ranks; rank++) {
        nbcoll_schedule_info info = {.size = sizeof info};
        nbcoll_schedule *s;
        assert_int_equal(nbcoll_build_case(algorithm, &c, rank, NULL, &s), NBCOLL_OK);
        assert_int_equal(nbcoll_schedule_query(s, &info), NBCOLL_OK);
        look_back(s, info.steps);
        for (nbcoll_step i = 2; i < info.steps; i++) {
            const nbcoll_step_view *v = nbcoll_schedule_step(s, i), *brings = nbcoll_schedule_step(s, before[i]);
            if (v->kind == NBCOLL_SEND)
                way[rank][v->peer][v->before ? (int)(brings->write.at.offset / BLOCK) : rank]++;
        }
        assert_int_equal(nbcoll_schedule_free(s), NBCOLL_OK);
    }
}

/* The same with ranks numbered the other way round. */
static void turn(ways way, int ranks)
{
    static ways turned;
    for (int from = 0; from < ranks; from++)
        for (int to = 0; to < ranks; to++)
            for (int owner = 0; owner < ranks; owner++)
                turned[from][to][owner] = way[(ranks - from) % ranks][(ranks - to) % ranks][(ranks - owner) % ranks];
    for (int from = 0; from < ranks; from++)
        for (int to = 0; to < ranks; to++)
            memcpy(way[from][to], turned[from][to], (size_t)ranks * sizeof(int));
}

static int is_power(int ranks, unsigned base)
{
    while (ranks % (int)base == 0)
        ranks /= (int)base;
    return ranks == 1;
}

static void topologies_join_what_five_allgathers_do(void **state)
{
    static const char *const names[NBCOLL_TOPOLOGY_COUNT] = {
        [NBCOLL_TOPOLOGY_DIRECT] = "flat", [NBCOLL_TOPOLOGY_RING] = "ring", [NBCOLL_TOPOLOGY_CAYLEY] = "cayley",
        [NBCOLL_TOPOLOGY_EXCHANGE] = "exchange_pipelined", [NBCOLL_TOPOLOGY_BRUCK] = "bruck_pipelined"};
    static ways wired, sent, none;
    (void)state;
    for (int kind = 0; kind < NBCOLL_TOPOLOGY_COUNT; kind++)
        for (unsigned ports = 1; ports <= 3; ports++)
            for (int ranks = 2; ranks <= MOST; ranks++) {
                int by_rounds = kind == NBCOLL_TOPOLOGY_EXCHANGE || kind == NBCOLL_TOPOLOGY_BRUCK;
                if (by_rounds && !is_power(ranks, ports + 1)) /* there rounds end otherwise */
                    continue;
                memcpy(wired, none, sizeof wired);
                memcpy(sent, none, sizeof sent);
                ways_of_topology((nbcoll_topology_kind)kind, ports, ranks, wired);
                ways_of_algorithm(names[kind], ports, ranks, sent);
                if (kind == NBCOLL_TOPOLOGY_BRUCK) /* whose topology sends to ranks above, and whose allgather below */
                    turn(sent, ranks);
                assert_memory_equal(wired, sent, sizeof wired);
            }
}

/* ---- choosing ---------------------------------------------------------------------------------------------------- */

static nbcoll_choice chosen(nbcoll_operation operation, const nbcoll_terms *terms, size_t count)
{
    static const size_t counts[MOST] = {9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9};
    nbcoll_choice choice = {.size = sizeof choice};
    nbcoll_args a = {.size = sizeof a, .operation = operation, .count = count,
                     .reduction = {NBCOLL_INT32, NBCOLL_SUM}};
    a.counts = operation == NBCOLL_OPERATION_ALLGATHERV ? counts : NULL;
    assert_int_equal(nbcoll_args_complete(&a, 0, terms->ranks), NBCOLL_OK);
    assert_int_equal(nbcoll_select(terms, &a, &choice), NBCOLL_OK);
    return choice;
}

static nbcoll_terms terms_of(int ranks, uint32_t flags)
{
    return (nbcoll_terms){.size = sizeof(nbcoll_terms), .ranks = ranks, .flags = flags,
                          .between = {.alpha_ns = 300, .beta_ps = 80, .overhead_ns = 60}, .large = NBCOLL_BY_COST};
}

static void a_communicator_that_asks_gets_one_by_cost_by_size_and_in_shared_memory(void **state)
{
    (void)state;
    for (int i = 0; i < SERVED; i++)
        for (int ranks = 1; ranks <= MOST; ranks++)
            for (size_t count = 1; count <= 1000000; count *= 100)
                for (int how = 0; how < 4; how++) {
                    nbcoll_terms terms = terms_of(ranks, NBCOLL_ARRIVAL_TOLERANT);
                    terms.shared = how & 1;
                    terms.large = how & 2 ? 1000 : NBCOLL_BY_COST;
                    uint32_t flags = chosen(served[i], &terms, count).algorithm->flags;
                    assert_true(flags & NBCOLL_ALGORITHM_ARRIVAL_TOLERANT);
                }
}

static void rules_that_name_others_are_passed_over(void **state)
{
    nbcoll_rule rules[] = {{.algorithm = nbcoll_algorithm_find(NBCOLL_OPERATION_ALLGATHER, "bruck")},
                           {.algorithm = nbcoll_algorithm_find(NBCOLL_OPERATION_ALLGATHER, "cayley"), .ports = 3}};
    nbcoll_terms terms = terms_of(9, NBCOLL_ARRIVAL_TOLERANT);
    (void)state;
    terms.rules = rules;
    terms.rule_count = 2;
    nbcoll_choice c = chosen(NBCOLL_OPERATION_ALLGATHER, &terms, 1);
    assert_int_equal(c.reason, NBCOLL_REASON_RULE);
    assert_string_equal(c.algorithm->name, "cayley");
    assert_int_equal(c.ports, 3);
    terms.flags = 0;
    assert_string_equal(chosen(NBCOLL_OPERATION_ALLGATHER, &terms, 1).algorithm->name, "bruck");
}

static void operations_that_have_none_are_chosen_as_ever(void **state)
{
    nbcoll_terms asks = terms_of(9, NBCOLL_ARRIVAL_TOLERANT), plain = terms_of(9, 0);
    (void)state;
    assert_ptr_equal(chosen(NBCOLL_OPERATION_ALLREDUCE, &asks, 10).algorithm,
                     chosen(NBCOLL_OPERATION_ALLREDUCE, &plain, 10).algorithm);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_flag_is_that_of_allgathers_and_broadcasts_which_only_pass_on),
        cmocka_unit_test(other_operations_have_it_nowhere),
        cmocka_unit_test(topologies_join_what_five_allgathers_do),
        cmocka_unit_test(a_communicator_that_asks_gets_one_by_cost_by_size_and_in_shared_memory),
        cmocka_unit_test(rules_that_name_others_are_passed_over),
        cmocka_unit_test(operations_that_have_none_are_chosen_as_ever),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
