/* SPDX-License-Identifier: BSD-3-Clause
 * Descriptors of the host's types: which are known, and which consist of units. */
#ifndef NBCOLLI_REDUCE_UNITS_H
#define NBCOLLI_REDUCE_UNITS_H

#include "nbcoll/schedule.h"

/* Below this no descriptor can lie. */
#define NBCOLLI_FIRST_ADDRESS 4096u

/* The descriptor at that address; null where there can be none, or not a whole one. */
const nbcoll_host_type *nbcolli_host_type_at(nbcoll_type type);

/* Do its packed elements consist of units? */
int nbcolli_has_units(const nbcoll_host_type *t);

/* The predefined type whose operations combine elements of a known type; NBCOLL_TYPE_COUNT: there is none. */
nbcoll_type nbcolli_unit_type(nbcoll_type type);

#endif
