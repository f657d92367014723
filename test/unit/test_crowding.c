/* SPDX-License-Identifier: BSD-3-Clause
 * Who takes turns on a core, by affinity masks: what the test gives, whatever the machine has. */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "../../src/host/crowding.h"
#include "crew.h"

enum { MOST = NBCOLLI_CROWD_RANKS };

static nbcolli_cores mask[MOST];

/* The rank may run on cores first to last. */
static void on(int rank, int first, int last)
{
    mask[rank] = (nbcolli_cores){{0}};
    for (int core = first; core <= last; core++)
        mask[rank].word[core / 64] |= UINT64_C(1) << core % 64;
}

static void takes_turns(int ranks, int rank, uint32_t wanted)
{
    assert_int_equal(nbcolli_ranks_per_core(mask, ranks, rank), wanted);
}

/* ---- cases ----------------------------------------------------------------------------------------------------- */

static void ranks_with_a_core_each_take_no_turns(void **state)
{
    (void)state;
    for (int r = 0; r < MOST; r++)
        on(r, 4 * r, 4 * r); /* the last one is core 1020 */
    for (int r = 0; r < MOST; r++)
        takes_turns(MOST, r, 1);
}

static void two_on_one_core_take_turns_and_the_third_does_not(void **state)
{
    (void)state;
    on(0, 7, 7);
    on(1, 7, 7);
    on(2, 8, 8);
    takes_turns(3, 0, 2);
    takes_turns(3, 1, 2);
    takes_turns(3, 2, 1);
}

static void unbound_ranks_take_turns_when_they_are_more_than_cores(void **state)
{
    (void)state;
    for (int r = 0; r < MOST; r++)
        on(r, 0, 1);
    takes_turns(1, 0, 1);
    takes_turns(2, 0, 1);
    takes_turns(3, 0, 2);
    takes_turns(4, 0, 2);
    takes_turns(5, 4, 3);
    takes_turns(MOST, 0, MOST / 2);
}

/* A rank that is bound takes the place of one that is not; with one place more both have theirs. */
static void masks_lie_in_each_other(void **state)
{
    (void)state;
    on(0, 0, 0);
    on(1, 0, 1);
    takes_turns(2, 0, 1);
    takes_turns(2, 1, 1);
    on(2, 0, 1);
    for (int r = 0; r < 3; r++)
        takes_turns(3, r, 2);
    on(2, 0, 2);
    for (int r = 0; r < 3; r++)
        takes_turns(3, r, 1);
}

/* A place for all is found only by moving those that came first. */
static void masks_overlap(void **state)
{
    (void)state;
    on(0, 0, 1);
    on(1, 1, 2);
    on(2, 2, 3);
    on(3, 0, 0);
    for (int r = 0; r < 4; r++)
        takes_turns(4, r, 1);
    on(4, 0, 2);
    for (int r = 0; r < 5; r++)
        takes_turns(5, r, r == 2 ? 1 : 2); /* it has core 3 */
    on(4, 3, 4);
    for (int r = 0; r < 5; r++)
        takes_turns(5, r, 1);
}

static void an_unknown_mask_says_nothing_and_does_not_count(void **state)
{
    (void)state;
    on(0, 3, 3);
    on(1, 3, 2);
    takes_turns(2, 0, 1);
    takes_turns(2, 1, 0);
}

/* ---- against the definition ------------------------------------------------------------------------------------ */

enum { FEW = 7, CORES = 5 };

/* The cores that lack the most places, and no more: of the sets that lack as many, what all have in common. */
static unsigned contested(const unsigned of[], int ranks, int places)
{
    int most = 0;
    unsigned common = 0;

    for (unsigned set = 0; set < 1u << CORES; set++) {
        int lacks = -places * __builtin_popcount(set);
        for (int r = 0; r < ranks; r++)
            lacks += of[r] && !(of[r] & ~set);
        if (lacks > most) {
            most = lacks;
            common = set;
        } else if (lacks == most)
            common &= set;
    }
    return common;
}

static void the_answer_is_halls_condition(void **state)
{
    uint64_t random = seed_of_test();
    (void)state;
    for (int n = 0; n < 3000; n++) {
        int ranks = 1 + (int)(random_of(&random) % FEW);
        unsigned of[FEW];
        for (int r = 0; r < ranks; r++) {
            of[r] = (unsigned)(random_of(&random) & random_of(&random)) % (1u << CORES);
            mask[r] = (nbcolli_cores){{of[r]}};
        }
        for (int r = 0; r < ranks; r++) {
            uint32_t wanted = of[r] != 0;
            while (of[r] && !(of[r] & ~contested(of, ranks, (int)wanted)))
                wanted++;
            takes_turns(ranks, r, wanted);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranks_with_a_core_each_take_no_turns),
        cmocka_unit_test(two_on_one_core_take_turns_and_the_third_does_not),
        cmocka_unit_test(unbound_ranks_take_turns_when_they_are_more_than_cores),
        cmocka_unit_test(masks_lie_in_each_other),
        cmocka_unit_test(masks_overlap),
        cmocka_unit_test(an_unknown_mask_says_nothing_and_does_not_count),
        cmocka_unit_test(the_answer_is_halls_condition),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
