/* SPDX-License-Identifier: BSD-3-Clause
 * All ranks of a loopback world with messages of their communicator. */
#ifndef TEST_MESSAGE_PARTY_H
#define TEST_MESSAGE_PARTY_H

#include "nbcoll/message.h"
#include "world.h"

typedef struct party {
    world w;
    nbcoll_messages *m[WORLD_MOST];
} party;

/* Over a loopback of that variant (world.h); either configuration may be null. */
void party_open(party *p, int ranks, int variant, const nbcoll_context_config *context,
                const nbcoll_messages_config *config);
void party_close_messages(party *p);
void party_close(party *p);

/* From now on the EXECUTED messages that have come to each rank are counted. One party at a time. */
void party_count(party *p);
int party_counted(int rank);

/* How the request ends, stepping all ranks. */
nbcoll_status party_end(party *p, nbcoll_request *request);

/* Byte i of the n-th message of a test, and whether all of them are so. */
void party_fill(unsigned char *at, size_t bytes, int n);
int party_is(const unsigned char *at, size_t bytes, int n);

#endif
