/* SPDX-License-Identifier: BSD-3-Clause
 * The model of split trees, equation by equation. */
#include "nbcoll/pattern.h"
#include "nbcoll/split.h"

/* What the operation is made of: trees after each other, and whether what they move doubles towards the root. */
typedef struct nbcolli_split_form {
    int trees, is_growing;
} nbcolli_split_form;

static nbcolli_split_form nbcolli_split_form_of(nbcoll_operation operation)
{
    switch (operation) {
    case NBCOLL_OPERATION_BCAST:
    case NBCOLL_OPERATION_REDUCE:
        return (nbcolli_split_form){1, 0};
    case NBCOLL_OPERATION_SCATTER:
    case NBCOLL_OPERATION_GATHER:
        return (nbcolli_split_form){1, 1};
    case NBCOLL_OPERATION_ALLREDUCE:
        return (nbcolli_split_form){2, 0};
    default:
        return (nbcolli_split_form){0, 0};
    }
}

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

/* The transfers of a tree between ranks that are 2^k apart. */
static int64_t nbcolli_split_pairs(int ranks, int k)
{
    int64_t apart = INT64_C(1) << k;
    return ranks > apart ? (ranks - apart + 2 * apart - 1) / (2 * apart) : 0;
}

/* What takes the time of NBCOLL_SPLIT_OVERLAPPED if cores go on with what is ready of the next levels, so that only the
 * whole is rounded up. */
static double nbcolli_split_steps_time(nbcolli_split_form form, int ranks, int cores, int split)
{
    double own = 0, drivers = 0, on_all = 0;

    for (int k = 0; k < nbcoll_rounds(ranks); k++) {
        double unit = form.is_growing ? (double)(INT64_C(1) << k) : 1;
        double turns = (double)nbcolli_split_pairs(ranks, k) / (cores - ranks);
        if (k < split)
            own += unit;
        else
            drivers += (turns > 1 ? turns : 1) * unit;
    }
    for (int k = 0; k < nbcoll_rounds(cores); k++)
        on_all += form.is_growing ? (double)(INT64_C(1) << k) : 1;
    double computation = on_all * cores / ranks;
    double whole = (double)(int64_t)drivers;
    whole += whole < drivers - 1e-6; /* a sum of fractions that makes a whole */
    return form.trees * (own + (computation > whole ? computation : whole));
}

unsigned nbcoll_split_steps(nbcoll_operation operation, int ranks, int cores)
{
    nbcolli_split_form form = nbcolli_split_form_of(operation);
    int best = 0;
    for (int split = 1; form.trees && ranks > 0 && cores > ranks && split <= nbcoll_rounds(ranks); split++)
        if (nbcolli_split_steps_time(form, ranks, cores, split) <
            nbcolli_split_steps_time(form, ranks, cores, best) - 1e-6)
            best = split;
    return (unsigned)best;
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
