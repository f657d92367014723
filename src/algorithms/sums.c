/* SPDX-License-Identifier: BSD-3-Clause
 * What reductions do with operands: see algorithms.h. */
#include "algorithms.h"

nbcolli_sum nbcolli_sum_of(nbcoll_builder *b, const nbcoll_args *a, nbcoll_addr to, size_t bytes, nbcolli_sum left,
                           nbcolli_sum right)
{
    size_t count = nbcoll_elements(bytes, a->element);
    nbcoll_step step = nbcoll_add_combine(b, to, left.at, right.at, count, a->reduction);

    nbcoll_after(b, step, left.since);
    nbcoll_after(b, step, right.since);
    return (nbcolli_sum){to, step};
}

nbcolli_sum nbcolli_sum_with(nbcoll_builder *b, const nbcoll_args *a, nbcoll_addr to, size_t bytes, nbcolli_sum mine,
                             int peer, nbcolli_sum its)
{
    return peer < b->rank ? nbcolli_sum_of(b, a, to, bytes, its, mine) : nbcolli_sum_of(b, a, to, bytes, mine, its);
}

nbcolli_sum nbcolli_sum_take(nbcoll_builder *b, int peer, nbcoll_addr to, size_t bytes)
{
    return (nbcolli_sum){to, nbcoll_add_recv(b, peer, to, bytes)};
}

nbcoll_step nbcolli_sum_give(nbcoll_builder *b, int peer, nbcolli_sum sum, size_t bytes)
{
    nbcoll_step give = nbcoll_add_send(b, peer, sum.at, bytes);
    nbcoll_after(b, give, sum.since);
    return give;
}

nbcoll_step nbcolli_sum_fetch(nbcoll_builder *b, const nbcoll_args *a, nbcoll_addr to, size_t count, nbcoll_step since)
{
    for (int i = 1; i < b->ranks; i++) {
        int peer = i <= b->rank ? b->rank - i : i;
        nbcoll_side side = i <= b->rank ? NBCOLL_LEFT : NBCOLL_RIGHT;
        nbcoll_step next = nbcoll_add_fetch_reduce(b, peer, to, side, count, a->reduction);
        nbcoll_after(b, next, since);
        since = next;
    }
    return since;
}
