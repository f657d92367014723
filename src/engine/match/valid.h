/* SPDX-License-Identifier: BSD-3-Clause
 * What a received message may say: one table of all types, with their payloads, the ranges of their fields, and the
 * phases of the op that they mean. A peer is of the same user, so what it may not say is a bug, or another version: it
 * is given up, and its operations end with ERR_PEER_LOST and a text that says so. What is only not awaited, since an
 * operation has ended here, is no fault. */
#ifndef NBCOLLI_ENGINE_MATCH_VALID_H
#define NBCOLLI_ENGINE_MATCH_VALID_H

#include "incoming.h"

/* May any rank send this, whatever runs here? */
int nbcolli_is_valid(const nbcolli_incoming *in);

/* And may one of this communicator? */
int nbcolli_is_valid_in(const nbcoll_comm *comm, const nbcolli_header *h);

/* May a line say this? */
int nbcolli_is_valid_line(const nbcolli_link *link, const nbcoll_line_arrival *line);

/* The peer has sent what may not be. */
void nbcolli_invalid_from(nbcolli_link *link, int peer);

typedef enum nbcolli_fit {
    NBCOLLI_FITS,
    NBCOLLI_UNWANTED, /* nothing awaits it (any more) */
    NBCOLLI_WRONG     /* the ranks do not run the same schedule */
} nbcolli_fit;

/* What a message means here. */
typedef struct nbcolli_meaning {
    nbcolli_run *run; /* of its tag; null: there is none */
    nbcolli_op *op;   /* null: it has none, or none that this message still concerns, as the run has failed */
    nbcolli_fit fit;  /* what the op is doing */
} nbcolli_meaning;

nbcolli_meaning nbcolli_meant(nbcoll_comm *comm, const nbcolli_incoming *in);

#endif
