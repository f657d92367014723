/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The machine's clock, as a job sees it: CLOCK_REALTIME and those that are set with it go by what the parent says (the
 * program is linked with --wrap=clock_gettime). The machine's own is not touched. The library waits by no other name of
 * that clock: test/rules/purity.sh lists them. */
#include <time.h>

#include "soak.h"

static const board *of_job;

void soak_set_clock_by(const board *b)
{
    of_job = b;
}

int __real_clock_gettime(clockid_t clock, struct timespec *t);
int __wrap_clock_gettime(clockid_t clock, struct timespec *t);
int __wrap_clock_gettime(clockid_t clock, struct timespec *t)
{
    int result = __real_clock_gettime(clock, t);
    if (result == 0 && of_job && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE || clock == CLOCK_TAI))
        t->tv_sec += (time_t)atomic_load(&of_job->clock_set);
    return result;
}
