/* SPDX-License-Identifier: BSD-3-Clause
 * What an owner concludes from its readers' words, which the test writes in their stead: so it can put a reader's last
 * word between the two looks that an owner takes, where threads come only now and then. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "../../src/engine/exposures/cells.h"
#include "world.h"

enum { BYTES = 1000, RANKS = 3 };

/* Rank 0 has shown `data` to the others, and waits. Returns the tag. */
static uint64_t show(world *w, unsigned char *data, nbcoll_request *q)
{
    nbcoll_loopback_config loopback = world_variant(WORLD_SHARED, 0);
    nbcoll_failure f;

    world_open(w, RANKS, &loopback, NULL, NULL);
    EXPECT(OK, nbcoll_ibcast(data, BYTES, NBCOLL_BYTE, 0, w->comm[0], q));
    EXPECT(ERR_TIMEOUT, nbcoll_wait(q, 0));
    EXPECT(OK, nbcoll_last_failure(w->context[0], &f));
    return f.tag;
}

static void fetched(world *w, uint64_t tag, int reader)
{
    const nbcoll_comm *comm = w->comm[reader];
    atomic_store(nbcolli_word(comm, nbcolli_slot_of(comm, tag), reader, 0), nbcolli_word_of(comm, tag, 1));
}

static void ended(world *w, uint64_t tag, int reader)
{
    nbcolli_mark_end(w->comm[reader], nbcolli_slot_of(w->comm[reader], tag), tag);
}

/* Each time the owner looks, a reader's word is not there yet, but its end is, when the owner looks for that. */
static void readers_may_end_one_after_the_other_behind_a_look(void **state)
{
    unsigned char data[BYTES] = {0};
    nbcoll_request q;
    world w;
    (void)state;
    uint64_t tag = show(&w, data, &q);
    for (int reader = 1; reader < RANKS; reader++) {
        ended(&w, tag, reader);
        EXPECT(PENDING, nbcoll_test(&q));
        fetched(&w, tag, reader);
    }
    EXPECT(OK, nbcoll_test(&q));
    world_close(&w);
}

/* A rank offers a part for all ranks of the parent before it is known how many are of its colour. */
static void the_part_for_more_ranks_holds_that_for_fewer(void **state)
{
    enum { MOST = 200 };
    size_t bytes[MOST + 1] = {0};
    (void)state;
    for (size_t cells = 1; cells <= 8; cells *= 8)
        for (size_t ranks = 1; ranks <= MOST; ranks++) {
            nbcolli_layout l = nbcolli_layout_of(ranks, cells);
            bytes[ranks] = nbcolli_area_bytes(&l, 4, 1);
            assert_true(ranks == 1 || bytes[ranks] >= bytes[ranks - 1]);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(readers_may_end_one_after_the_other_behind_a_look),
        cmocka_unit_test(the_part_for_more_ranks_holds_that_for_fewer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
