/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The program again, this time with the library in it.
 */
#define NBCOLL_IMPLEMENTATION
#include "program.c"
