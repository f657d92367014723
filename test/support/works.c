/* SPDX-License-Identifier: BSD-3-Clause
 * See works.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "operation.h"
#include "works.h"

void works(world *w)
{
    const operation o = {.what = NBCOLL_OPERATION_ALLREDUCE, .count = 100, .how = {NBCOLL_INT64, NBCOLL_SUM},
                         .seed = 3};
    nbcoll_request q[WORLD_MOST];
    share s[WORLD_MOST];

    for (int r = 0; r < w->ranks; r++) {
        s[r] = share_make(&o, r, w->ranks);
        EXPECT(OK, operation_start(&o, &s[r], w->comm[r], &q[r]));
    }
    world_finish(w, (size_t)w->ranks, q);
    for (int r = 0; r < w->ranks; r++) {
        operation_check(&o, &s[r], r, w->ranks);
        share_free(&s[r]);
        assert_int_equal(nbcoll_comm_active(w->comm[r]), 0);
    }
}
