/* SPDX-License-Identifier: BSD-3-Clause
 * How many levels of a tree to leave to the ranks. */
#include "nbcoll/pattern.h"
#include "nbcoll/select.h"
#include "split.h"

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
