/* SPDX-License-Identifier: BSD-3-Clause
 * A crew: the schedules of a few ranks, each built by the same small function, and a meaning that is a table of claims.
 * What the tests of single flaws are made of. */
#ifndef TEST_VERIFY_CREW_H
#define TEST_VERIFY_CREW_H

#include <nbcoll/verify.h>

#define CREW_MOST 8

/* Every rank's input is send[0, 16), unless crew_inputs says otherwise. */
#define CREW_INPUT 16

typedef struct crew_claim {
    int rank;
    nbcoll_claim claim;
} crew_claim;

typedef struct crew {
    nbcoll_meaning meaning; /* first: its functions find the crew by it */
    const crew_claim *claims;
    size_t claim_count;
    nbcoll_buffer input; /* where inputs stand */
    int is_native;       /* all ranks share memory */
} crew;

typedef void crew_build(nbcoll_builder *b);

crew crew_of(int ranks, const crew_claim *claims, size_t claim_count);
#define CREW_OF(ranks, claims) crew_of(ranks, claims, sizeof(claims) / sizeof *(claims))

/* Builds the schedules, which must succeed, verifies them and frees them. */
nbcoll_status crew_verify(const crew *c, crew_build *build, nbcoll_refutation *why);

/* Demands that they are proved, or refuted with this flaw. */
void crew_proved(const crew *c, crew_build *build);
nbcoll_refutation crew_refuted(const crew *c, crew_build *build, nbcoll_flaw flaw);

/* Demands that the i-th place of a refutation is this one. */
void crew_at(const nbcoll_refutation *why, unsigned i, int rank, nbcoll_step step, nbcoll_region bytes);

/* Addresses, and regions of 8 bytes, for short tests. */
nbcoll_addr crew_send(size_t offset);
nbcoll_addr crew_recv(size_t offset);
nbcoll_addr crew_scratch(size_t offset);
#define CREW_NOTHING (nbcoll_span(crew_send(0), 0))

#endif
