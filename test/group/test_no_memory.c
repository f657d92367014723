/* SPDX-License-Identifier: BSD-3-Clause
 * What a member says before another one calls takes memory there. Whichever piece of it there is not, all that call see
 * an end. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "nbcoll/group.h"
#include "world.h"

static int left = -1; /* pieces that are given until one is refused; negative: all are */

static void *take(void *user, size_t bytes, size_t align)
{
    (void)user;
    return left-- == 0 ? NULL : aligned_alloc(align, (bytes + align - 1) / align * align);
}

static void give(void *user, void *memory, size_t bytes)
{
    (void)user, (void)bytes;
    free(memory);
}

/* Rank 1 calls first; then rank 0, which is short of memory, and calls again where it is refused. */
static int both_end(int pieces)
{
    nbcoll_host host = {.size = sizeof host, .alloc = take, .free = give};
    nbcoll_context_config config = {.size = sizeof config, .host = host};
    const int ranks[] = {0, 1};
    nbcoll_status ended[2], s;
    nbcoll_comm *made[2];
    nbcoll_request q[2];
    int refused;
    world w;

    world_open(&w, 2, NULL, &config, NULL);
    EXPECT(OK, nbcoll_comm_icreate_group(w.comm[1], 2, ranks, 0, &made[1], &q[1]));
    nbcoll_progress(w.context[1]);
    left = pieces;
    for (int i = 0; i < 10; i++)
        nbcoll_progress(w.context[0]);
    s = nbcoll_comm_icreate_group(w.comm[0], 2, ranks, 0, &made[0], &q[0]);
    refused = left < 0;
    left = -1;
    if (s == NBCOLL_ERR_MEMORY)
        s = nbcoll_comm_icreate_group(w.comm[0], 2, ranks, 0, &made[0], &q[0]);
    assert_int_equal(s, NBCOLL_OK);
    world_settle(&w, 2, q, ended);
    if (ended[0] == NBCOLL_OK)
        EXPECT(OK, ended[1]);
    else { /* it is rank 0 that is lost, and says why */
        nbcoll_failure failure;
        EXPECT(ERR_MEMORY, ended[0]);
        EXPECT(ERR_PEER_LOST, ended[1]);
        EXPECT(OK, nbcoll_last_failure(w.context[1], &failure));
        assert_int_equal(failure.rank, 0);
    }
    world_close(&w);
    return refused;
}

static void each_piece_that_there_is_not(void **state)
{
    int pieces = 0;
    (void)state;
    while (both_end(pieces))
        pieces++;
    assert_true(pieces >= 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_piece_that_there_is_not)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
