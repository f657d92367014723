/* SPDX-License-Identifier: BSD-3-Clause
 *
 * SIGINT as a flag.
 */
#include "interrupt.h"

#include <signal.h>
#include <stdatomic.h>

static atomic_bool flag;

static void raise_flag(int signal)
{
    (void)signal;
    atomic_store_explicit(&flag, true, memory_order_relaxed);
}

void interrupt_catch(void)
{
    struct sigaction action = {.sa_handler = raise_flag, .sa_flags = SA_RESTART | (int)SA_RESETHAND};
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
}

bool interrupted(void)
{
    return atomic_load_explicit(&flag, memory_order_relaxed);
}
