/* SPDX-License-Identifier: BSD-3-Clause
 * The player accepts what is right, and notices what is not: were it blind, the results it finds right would say
 * nothing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "player.h"

/* A broadcast down a chain, right but for one thing. */
enum { NOTHING, NO_EDGE, WRONG_PEER_ORDER, WAITS_FOR_ITSELF };
static int broken;

static void chain(nbcoll_builder *b, const nbcoll_args *a)
{
    nbcoll_step data = NBCOLL_START, pass = NBCOLL_START;
    if (b->rank)
        data = nbcoll_add_recv(b, b->rank - 1, a->recv, a->bytes);
    if (b->rank + 1 < b->ranks)
        pass = nbcoll_add_send(b, b->rank + 1, a->recv, a->bytes);
    if (b->rank && b->rank + 1 < b->ranks && broken != NO_EDGE)
        nbcoll_after(b, broken == WRONG_PEER_ORDER ? data : pass, broken == WRONG_PEER_ORDER ? pass : data);
    if (broken == WAITS_FOR_ITSELF && b->ranks == 2) {
        nbcoll_step back = b->rank ? nbcoll_add_send(b, 0, a->recv, 0) : nbcoll_add_recv(b, 1, a->recv, 0);
        nbcoll_after(b, b->rank ? back : pass, b->rank ? data : back);
    }
}

static int plays_chain(int how, int ranks)
{
    static const nbcoll_algorithm algorithm = {sizeof algorithm, "chain", NBCOLL_OPERATION_BCAST, chain, 0, NULL};
    uint64_t dice = 20251;
    int is_right = 1;
    broken = how;
    crowd all = crowd_open(&algorithm, args_of(&algorithm, 3, 0), ranks);
    for (int i = 0; i < 20; i++)
        is_right &= plays(&all, i % 2, &dice);
    crowd_close(&all);
    return is_right;
}

static void the_player_accepts_what_is_right(void **state)
{
    (void)state;
    assert_true(plays_chain(NOTHING, 4));
}

static void the_player_notices_a_step_that_does_not_wait(void **state)
{
    (void)state;
    assert_false(plays_chain(NO_EDGE, 4));
    assert_false(plays_chain(WRONG_PEER_ORDER, 4));
}

static void the_player_notices_a_deadlock(void **state)
{
    (void)state;
    assert_false(plays_chain(WAITS_FOR_ITSELF, 2));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_player_accepts_what_is_right),
        cmocka_unit_test(the_player_notices_a_step_that_does_not_wait),
        cmocka_unit_test(the_player_notices_a_deadlock),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
