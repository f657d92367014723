/* SPDX-License-Identifier: BSD-3-Clause
 * See works.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "works.h"

void all_perform(world *w, const operation *o, nbcoll_comm *const comm[], int ranks)
{
    nbcoll_request q[WORLD_MOST];
    share s[WORLD_MOST];

    for (int r = 0; r < ranks; r++) {
        s[r] = share_make(o, r, ranks);
        EXPECT(OK, operation_start(o, &s[r], comm[r], &q[r]));
    }
    world_finish(w, (size_t)ranks, q);
    for (int r = 0; r < ranks; r++) {
        operation_check(o, &s[r], r, ranks);
        share_free(&s[r]);
    }
}

void works(world *w)
{
    const operation o = {.what = NBCOLL_OPERATION_ALLREDUCE, .count = 100, .how = {NBCOLL_INT64, NBCOLL_SUM},
                         .seed = 3};

    all_perform(w, &o, w->comm, w->ranks);
    for (int r = 0; r < w->ranks; r++)
        assert_int_equal(nbcoll_comm_active(w->comm[r]), 0);
}

void works_over(world *w, nbcoll_comm *const comm[], int ranks)
{
    const operation o = {.what = NBCOLL_OPERATION_ALLGATHER, .count = 50, .how = {NBCOLL_INT32, NBCOLL_SUM}, .seed = 8};

    for (int i = 0; i < ranks; i++) {
        assert_int_equal(nbcoll_comm_rank(comm[i]), i);
        assert_int_equal(nbcoll_comm_size(comm[i]), ranks);
    }
    all_perform(w, &o, comm, ranks);
}
