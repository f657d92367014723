/* SPDX-License-Identifier: BSD-3-Clause
 * See native.h. */
#include "native.h"

#define LONGEST_REDUCED 4096

static const nbcoll_algorithm *first_that_exposes(nbcoll_operation operation)
{
    const nbcoll_algorithm *algorithm;
    for (unsigned i = 0; (algorithm = nbcoll_algorithm_at(operation, i)); i++)
        if (algorithm->flags >> 16)
            break;
    return algorithm;
}

void native_init(native *n, const nbcoll_comm_config *config)
{
    size_t rules = 0;

    n->config = config ? *config : (nbcoll_comm_config)NBCOLL_COMM_DEFAULTS;
    if (n->config.rule_count)
        return;
    for (int i = 0; i < NBCOLL_OPERATION_COUNT; i++) {
        int reduces = i == NBCOLL_OPERATION_REDUCE || i == NBCOLL_OPERATION_ALLREDUCE;
        n->rule[rules] = (nbcoll_rule){.algorithm = first_that_exposes((nbcoll_operation)i),
                                       .sharing = NBCOLL_SHARED,
                                       .below = reduces ? LONGEST_REDUCED + 1 : 0};
        rules += n->rule[rules].algorithm != NULL;
    }
    n->config.rules = n->rule;
    n->config.rule_count = rules;
}
