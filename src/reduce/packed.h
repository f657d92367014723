/* SPDX-License-Identifier: BSD-3-Clause
 * Sizes of elements that are packed before they travel. */
#ifndef NBCOLLI_REDUCE_PACKED_H
#define NBCOLLI_REDUCE_PACKED_H

#include "reduce.h"

/* Bytes of one element as it travels, and as reductions see it; 0 for an unknown type. */
static inline size_t nbcolli_packed_size(nbcoll_type type)
{
    return nbcolli_packs(type) ? nbcolli_host_type(type)->packed : nbcoll_type_size(type);
}

#endif
