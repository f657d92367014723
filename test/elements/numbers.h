/* SPDX-License-Identifier: BSD-3-Clause
 * Floating numbers of any type, written and read as doubles; a complex one is two reals. */
#ifndef NUMBERS_H
#define NUMBERS_H

#include <stddef.h>
#include <stdint.h>

#include "nbcoll/nbcoll.h"

/* Reals of an element, and the type of a real in which averages are summed. */
size_t number_reals(nbcoll_type type);
nbcoll_type number_state(nbcoll_type type);
/* Multiples of 1/16 below this number of sixteenths are exact in the type. */
int64_t number_most(nbcoll_type type);
/* To the nearest number of the type, ties to even. */
double number_rounded(nbcoll_type type, double number);
/* Real i of an array; what is set is exact in the type. */
void number_set(nbcoll_type type, void *array, size_t i, double number);
double number_get(nbcoll_type type, const void *array, size_t i);

#endif
