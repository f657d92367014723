/* SPDX-License-Identifier: BSD-3-Clause
 * An operation of two ranks whose receives depend on later sends: each rank sends the other some messages at once, and
 * receives them one after the other, in an order of the seed's. With fewer credits than messages, those that have come
 * are not those that are awaited. */
#ifndef CROSSING_H
#define CROSSING_H

#include "nbcoll/schedule.h"

enum { CROSSING_MESSAGES = 24, CROSSING_LARGE = 6000, CROSSING_BYTES = CROSSING_MESSAGES * CROSSING_LARGE };

/* Of the send and the receive buffer CROSSING_BYTES bytes. Free it with nbcoll_schedule_free. */
nbcoll_schedule *crossing_make(int rank, uint64_t seed);
/* What this rank sends; and whether that of the other one has come. */
void crossing_fill(unsigned char *send, int rank);
int crossing_is_right(const unsigned char *recv, int rank);

#endif
