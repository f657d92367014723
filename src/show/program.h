/* SPDX-License-Identifier: BSD-3-Clause
 * The words for queues and tasks, which the printers of programs share. Private to this folder. */
#ifndef NBCOLLI_SHOW_PROGRAM_H
#define NBCOLLI_SHOW_PROGRAM_H

#include "../offload/offload.h"
#include "print.h"

/* "wait (1) cq 0, signal". */
void nbcolli_show_task(nbcolli_printer *p, const nbcoll_task *t);
/* "queue 0: eager, rank 1 both ways, holds sends": without its completion queues. */
void nbcolli_show_queue(nbcolli_printer *p, uint32_t number, const nbcoll_queue_view *q);

#endif
