/* SPDX-License-Identifier: BSD-3-Clause
 * The same with NBCOLL_INLINE: what a test costs that needs no call. */
#define NBCOLL_INLINE
#include "overhead.c"
