/* SPDX-License-Identifier: BSD-3-Clause
 * What the calls of a builder require. Private to this folder. */
#ifndef NBCOLLI_SCHEDULE_REQUIRE_H
#define NBCOLLI_SCHEDULE_REQUIRE_H

#include "builder.h"

/* Does it hold? Else the builder refuses this step, or the one that the call would add, and says why: a status and what
 * to print. */
#define NBCOLLI_BUILDER_REQUIRE_OF(b, step, holds, status, ...)                                                        \
    ((holds) || (nbcolli_builder_refuse((b), (status), (step), __VA_ARGS__), 0))
#define NBCOLLI_BUILDER_REQUIRE(b, holds, status, ...)                                                                 \
    NBCOLLI_BUILDER_REQUIRE_OF(b, nbcolli_builder_next(b), holds, status, __VA_ARGS__)

#endif
