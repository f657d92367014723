/* SPDX-License-Identifier: BSD-3-Clause
 * A host of the component lab: proves an algorithm and prints a schedule of it. */
#include <nbcoll/show.h>
#include <nbcoll/verify.h>

static int count(void *user, const char *text, size_t bytes)
{
    (void)text;
    *(size_t *)user += bytes;
    return 0;
}

int main(void)
{
    const nbcoll_case c = {.size = sizeof c, .operation = NBCOLL_OPERATION_BCAST, .ranks = 7, .count = 10};
    const nbcoll_algorithm *binomial = nbcoll_algorithm_find(NBCOLL_OPERATION_BCAST, "binomial");
    nbcoll_schedule *schedule;
    size_t bytes = 0;
    if (!binomial || nbcoll_verify_algorithm(binomial, &c, NULL, NULL) != NBCOLL_OK ||
        nbcoll_build_case(binomial, &c, 3, NULL, &schedule) != NBCOLL_OK)
        return 1;
    int is_shown = nbcoll_show_text(schedule, count, &bytes) == NBCOLL_OK && bytes > 0;
    return nbcoll_schedule_free(schedule) != NBCOLL_OK || !is_shown;
}
