/* SPDX-License-Identifier: BSD-3-Clause
 *
 * damaging: wraps any end, and changes one field of a header that arrives there, or of a line, as a seed says, or a
 * word of the votes that arrive there; or keeps a copy of a message, so changed, to be sent once more at any time. What
 * a peer's bug or another version would send.
 */
#ifndef NBCOLL_TEST_DAMAGING_H
#define NBCOLL_TEST_DAMAGING_H

#include "nbcoll/transport.h"

enum { DAMAGING_PAYLOAD = 1024 };

typedef struct damaging_plan {
    uint64_t seed;
    int at;      /* the message that is damaged, counted from 1; 0: none */
    int field;   /* 0 to DAMAGING_FIELDS - 1 */
    int arrived; /* so many; is counted */
    int type;    /* of the damaged one, as it was; -1: there was none yet */
    int word;    /* of votes, counted from 1, is replaced by `value`; 0: none */
    uint32_t value;
    int kept_type; /* 1 + the type of which the message `at` is kept, all others being as they were; 0: none is */
    int source, is_kept;
    nbcoll_header header; /* of the copy, with the field changed; field DAMAGING_FIELDS: as it was */
    size_t bytes;
    unsigned char payload[DAMAGING_PAYLOAD];
} damaging_plan;

enum { DAMAGING_FIELDS = 11 };
const char *damaging_name(int field);

/* Fails the test without memory. `plan` lives as long as the end, and may change. */
nbcoll_endpoint *damaging_open(nbcoll_endpoint *inner, damaging_plan *plan);

#endif
