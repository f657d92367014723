/* SPDX-License-Identifier: BSD-3-Clause
 * Tuning files: rules that the communicator takes, or one line that is named, with a reason. */
#include "fuzz.h"
#include "nbcoll/tuning.h"

FUZZ(tuning)
{
    nbcoll_tuning_problem problem = {.size = sizeof problem};
    nbcoll_tuning *tuning = NULL;
    size_t lines = 1;
    nbcoll_status status = nbcoll_tuning_read(NULL, fuzz_file(data, bytes), &tuning, &problem);

    for (size_t i = 0; i < bytes; i++)
        lines += data[i] == '\n';
    FUZZ_NEVER(status != NBCOLL_OK && status != NBCOLL_ERR_CONFIG && status != NBCOLL_ERR_LIMIT);
    FUZZ_NEVER((status == NBCOLL_OK) != (tuning != NULL));
    FUZZ_NEVER(tuning && nbcoll_rules_check(tuning->rules, tuning->count, NULL) != NBCOLL_OK);
    FUZZ_NEVER(!tuning && (!problem.text[0] || !problem.line || problem.line > lines));
    nbcoll_tuning_free(tuning);
    return 0;
}
