/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Kernels of predefined operations in AVX2 and AVX-512, a library of its own: nbcoll_wide. A context has them by its
 * configuration:
 *
 *     nbcoll_context_config config = {.size = sizeof config, .reducers = nbcoll_wide()};
 *     nbcoll_context_create(NBCOLL_ABI, &config, &context);
 *
 * Where NBCOLL_WITH_WIDE is 1 nbcoll_context_create does that itself (inline.h) for a configuration that names none: it
 * is so for what is compiled with the flags of `pkg-config nbcoll`, or linked with CMake's target nbcoll::nbcoll.
 * -UNBCOLL_WITH_WIDE behind these flags turns it off. Without these kernels a sum of 64 KB of FLOAT takes 1.4 times as
 * long, of HALF 40 times, a MINLOC of DOUBLE_INT 5 times; a program that links nbcoll_wide has 45 KB more. The bits are
 * the same.
 */
#include "nbcoll.h"

#ifndef NBCOLL_WIDE_H
#define NBCOLL_WIDE_H

#if defined NBCOLL_WITH_WIDE && !NBCOLL_WITH_WIDE
#error "nbcoll/wide.h is of the component wide: define NBCOLL_WITH_WIDE=1, or link nbcoll_wide"
#endif

NBCOLLI_BEGIN

/* The widest that this processor can run; null: the core's are. */
NBCOLL_API const nbcoll_reducers *nbcoll_wide(void);

NBCOLLI_END
#endif
