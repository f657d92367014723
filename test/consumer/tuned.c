/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A program that reads a tuning file from outside. Succeeds when the file of its argument has one rule, for binomial.
 */
#include <string.h>

#include <nbcoll/tuning.h>

int main(int argc, char **argv)
{
    nbcoll_tuning_problem problem = {.size = sizeof problem};
    nbcoll_tuning *tuning;

    if (argc != 2 || nbcoll_tuning_read(NULL, argv[1], &tuning, &problem) != NBCOLL_OK)
        return 1;
    int is_right = tuning->count == 1 && strcmp(tuning->rules[0].algorithm->name, "binomial") == 0;
    nbcoll_tuning_free(tuning);
    return !is_right;
}
