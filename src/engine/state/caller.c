/* SPDX-License-Identifier: BSD-3-Clause
 * The two sides of a context: see caller.h. */
#include <sched.h>

#include "caller.h"

void nbcolli_caller_wait(nbcoll_context *c)
{
    while (!nbcolli_caller_try(c))
        if (!c->host.pause) /* a host that has it wants no thread function called */
            sched_yield();
}
