/* SPDX-License-Identifier: BSD-3-Clause
 * A rank that meets others over shm, in a process or as a thread (crew.h), with messages. Include cmocka.h first. */
#ifndef TEST_MESSAGE_JOINED_SHM_H
#define TEST_MESSAGE_JOINED_SHM_H

#include "crew.h"
#include "nbcoll/message.h"
#include "nbcoll/shm.h"

typedef struct mate {
    nbcoll_context *context;
    nbcoll_comm *comm;
    nbcoll_messages *m;
    int rank, ranks;
} mate;

/* What all ranks of a crew are given. */
typedef struct meeting {
    nbcoll_shm_config config;
    nbcoll_context_config context;
    nbcoll_messages_config messages;
} meeting;

meeting meeting_of(const crew *c, uint32_t shm_flags);
void mate_join(mate *m, const meeting *at, int rank);
void mate_leave(mate *m);

#endif
