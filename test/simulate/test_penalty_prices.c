/* SPDX-License-Identifier: BSD-3-Clause
 * The choice does not hang on the prices: on three simulated machines whose prices are told wrong, each half to twice
 * as dear as it is, the chosen algorithm is on average at most 10% slower than the fastest one. The worst is told.
 * NBCOLL_TEST_SEED sets another seed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cluster.h"
#include "crew.h"

#define LENGTH(array) (sizeof(array) / sizeof *(array))

#define MEAN 1100 /* in thousandths of the best time */

enum { DRAWS = 8 };

static const size_t lengths[] = {24, 1500, 100000, 800000}; /* of the vector, or of all blocks */

static const struct machine {
    const char *preset;
    int room, ranks;
} machines[] = {{"cluster", 16, 32}, {"cluster_b", 4, 16}, {"ethernet", 1, 16}};

/* Half of it to twice, as likely to be dearer as cheaper. */
static uint32_t wrong(uint32_t price, uint64_t *random)
{
    uint64_t part = 1000 + random_of(random) % 1001;
    return (uint32_t)(random_of(random) % 2 ? price * part / 1000 : price * UINT64_C(1000) / part);
}

static nbcoll_terms terms_of(const cluster *on, uint64_t *random)
{
    nbcoll_terms t = on->terms;
    uint32_t *const price[] = {&t.between.alpha_ns, &t.between.beta_ps,  &t.between.overhead_ns, &t.between.gamma_ps,
                               &t.between.copy_ps,  &t.between.fetch_ns, &t.between.gap_ns,      &t.inside.alpha_ns,
                               &t.inside.beta_ps,   &t.inside.fetch_ns,  &t.inside.overhead_ns};
    for (size_t i = 0; i < LENGTH(price); i++)
        *price[i] = wrong(*price[i], random);
    return t;
}

typedef struct sum {
    uint64_t all, worst, points;
} sum;

static void judge_point(const cluster *on, const nbcoll_terms told[], nbcoll_operation operation, size_t bytes, sum *s)
{
    size_t counts[128];
    nbcoll_args a = cluster_args(on, operation, bytes, counts);
    uint64_t time[DRAWS], best = cluster_least(on, operation, counts[0]);
    for (int i = 0; i < DRAWS; i++) {
        nbcoll_choice chosen = cluster_choose(&told[i], &a);
        time[i] = cluster_time(on, &chosen, counts[0]);
        best = time[i] < best ? time[i] : best;
    }
    for (int i = 0; i < DRAWS; i++) {
        uint64_t one = time[i] * 1000 / best;
        s->all += one;
        s->points++;
        s->worst = one > s->worst ? one : s->worst;
    }
}

static void prices_that_are_wrong_by_two_cost_a_tenth_on_average(void **state)
{
    uint64_t random = seed_of_test();
    (void)state;
    for (size_t m = 0; m < LENGTH(machines); m++) {
        cluster on = cluster_of(machines[m].preset, machines[m].room, machines[m].ranks);
        nbcoll_terms told[DRAWS];
        sum s = {0, 0, 0};
        for (int i = 0; i < DRAWS; i++)
            told[i] = terms_of(&on, &random);
        for (int o = 0; o < NBCOLL_OPERATION_COUNT; o++)
            for (size_t k = 0; k < (o == NBCOLL_OPERATION_BARRIER ? 1 : LENGTH(lengths)); k++)
                if (cluster_is_known((nbcoll_operation)o))
                    judge_point(&on, told, (nbcoll_operation)o, lengths[k], &s);
        nbcoll_nodes_free(on.nodes);
        print_message("%s, %d ranks: mean %u, worst %u thousandths of the best time\n", machines[m].preset,
                      machines[m].ranks, (unsigned)(s.all / s.points), (unsigned)s.worst);
        assert_in_range(s.all / s.points, 1000, MEAN);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(prices_that_are_wrong_by_two_cost_a_tenth_on_average)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
