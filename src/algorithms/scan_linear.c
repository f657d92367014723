/* SPDX-License-Identifier: BSD-3-Clause
 * Inclusive scan along the ranks: each takes the prefix of the ranks below, combines, and passes it on. P - 1 messages
 * after each other; one of the vector's length a rank. The definition, made a schedule. */
#include "algorithms.h"

void nbcolli_scan_linear(nbcoll_builder *b, const nbcoll_args *a)
{
    nbcolli_sum sum = {a->in_place ? a->recv : a->send, NBCOLL_START};

    if (b->rank > 0) {
        nbcolli_sum below = nbcolli_sum_take(b, b->rank - 1, nbcoll_add_scratch(b, a->bytes), a->bytes);
        sum = nbcolli_sum_of(b, a, a->recv, a->bytes, below, (nbcolli_sum){a->send, NBCOLL_START});
    } else if (!a->in_place) {
        nbcoll_add_copy(b, a->recv, a->send, a->bytes);
    }
    if (b->rank < b->ranks - 1)
        nbcolli_sum_give(b, b->rank + 1, sum, a->bytes);
}
