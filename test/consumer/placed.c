/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A program that asks from outside where a rank should run. Succeeds when it is told.
 */
#include <nbcoll/affinity.h>

int main(void)
{
    nbcoll_affinity_config config = {.size = sizeof config, .ranks = 1};
    nbcoll_affinity *affinity;

    if (nbcoll_affinity_find(NULL, &config, &affinity) != NBCOLL_OK)
        return 1;
    int is_right = affinity->ranks == 1 && affinity->place[0].rank >= 0;
    nbcoll_affinity_free(affinity);
    return !is_right;
}
