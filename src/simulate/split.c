/* SPDX-License-Identifier: BSD-3-Clause
 * The model of split trees, equation by equation. */
#include "nbcoll/pattern.h"
#include "nbcoll/split.h"
#include "../select/split.h"

/* F(N, i), equation 3: the transfers of level i = 1 (the root's) .. H. */
static int64_t nbcolli_split_transfers(int ranks, int height, int level)
{
    int64_t power = nbcoll_power(ranks), rest = ranks - power, width = INT64_C(1) << (height - level + 1);
    return (power + width - 1) / width + (rest + width / 2) / width;
}

/* Levels first..last, each taking one transfer's time for so many transfers at once as there are cores for it; 0 cores:
 * for all. */
static double nbcolli_split_sum(int ranks, int first, int last, int64_t cores, int is_growing)
{
    int height = nbcoll_rounds(ranks);
    double sum = 0;
    for (int level = first; level <= last; level++) {
        int64_t turns = cores ? (nbcolli_split_transfers(ranks, height, level) + cores - 1) / cores : 1;
        sum += (double)turns * (is_growing ? (double)(INT64_C(1) << (height - level)) : 1.0);
    }
    return sum;
}

double nbcoll_split_time(nbcoll_operation operation, int ranks, int cores, unsigned split, nbcoll_split_part part)
{
    nbcolli_split_form form = nbcolli_split_form_of(operation);
    if (!form.trees || ranks < 1 || cores <= ranks)
        return 0;
    int height = nbcoll_rounds(ranks), upper = split < (unsigned)height ? height - (int)split : 0;
    double blocking = form.trees * nbcolli_split_sum(ranks, 1, height, 0, form.is_growing);
    double on_all = form.trees * nbcolli_split_sum(cores, 1, nbcoll_rounds(cores), 0, form.is_growing);
    double computation = on_all * cores / ranks;
    double own = form.trees * nbcolli_split_sum(ranks, upper + 1, height, 0, form.is_growing);
    double drivers = form.trees * nbcolli_split_sum(ranks, 1, upper, cores - ranks, form.is_growing);

    switch (part) {
    case NBCOLL_SPLIT_BLOCKING:
        return blocking;
    case NBCOLL_SPLIT_COMPUTATION:
        return computation;
    case NBCOLL_SPLIT_STARTED:
        return own + drivers;
    case NBCOLL_SPLIT_OVERLAPPED:
        return own + (computation > drivers ? computation : drivers);
    default:
        return 0;
    }
}

unsigned nbcoll_split_levels(nbcoll_operation operation, int ranks, int cores)
{
    unsigned best = 0;
    double least = nbcoll_split_time(operation, ranks, cores, 0, NBCOLL_SPLIT_OVERLAPPED);
    for (unsigned split = 1; least > 0 && split <= (unsigned)nbcoll_rounds(ranks); split++) {
        double time = nbcoll_split_time(operation, ranks, cores, split, NBCOLL_SPLIT_OVERLAPPED);
        if (time < least) {
            least = time;
            best = split;
        }
    }
    return best;
}
