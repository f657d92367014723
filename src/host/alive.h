/* SPDX-License-Identifier: BSD-3-Clause
 * How a process is told from a child that it has forked off: a word in a page that fork wipes. */
#ifndef NBCOLLI_HOST_ALIVE_H
#define NBCOLLI_HOST_ALIVE_H

#include "nbcoll/nbcoll.h"

/* *out becomes a word that is 1 in this process and 0 in its children. ERR_MEMORY; ERR_UNSUPPORTED: the kernel wipes
 * nothing. */
nbcoll_status nbcolli_alive_open(const volatile uint32_t **out);
void nbcolli_alive_close(const volatile uint32_t *alive);

#endif
