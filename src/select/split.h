/* SPDX-License-Identifier: BSD-3-Clause
 * The operations that split trees serve. */
#ifndef NBCOLLI_SELECT_SPLIT_H
#define NBCOLLI_SELECT_SPLIT_H

#include "nbcoll/schedule.h"

/* What the operation is made of: trees after each other, and whether what they move doubles towards the root. */
typedef struct nbcolli_split_form {
    int trees, is_growing;
} nbcolli_split_form;

static inline nbcolli_split_form nbcolli_split_form_of(nbcoll_operation operation)
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

#endif
