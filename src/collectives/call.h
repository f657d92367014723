/* SPDX-License-Identifier: BSD-3-Clause
 * The path that all collectives take: it checks what a program passed, finds the schedule and starts it. */
#ifndef NBCOLLI_COLLECTIVES_CALL_H
#define NBCOLLI_COLLECTIVES_CALL_H

#include "../engine/comm/cache.h"
#include "../select/select.h"

/* What a program passed. */
typedef struct nbcolli_collective_call {
    nbcoll_args args;
    const void *send;
    void *recv;
    nbcolli_blocks blocks[2]; /* of the send and the receive buffer, in the v and w forms that may bind them */
    nbcoll_host_type *states; /* room for what an operation that resolves comes to */
    size_t *wide;             /* copies of 32-bit counts and displacements, for the time of the call; null: none */
    size_t extent;            /* bytes of the receive buffer, or NBCOLLI_AS_COUNTED: what the check finds */
} nbcolli_collective_call;

typedef enum nbcolli_collective_form { NBCOLLI_NOW, NBCOLLI_LATER, NBCOLLI_AND_WAIT } nbcolli_collective_form;

/* How a call is to be carried out. */
typedef struct nbcolli_manner {
    nbcolli_collective_form form;
    nbcoll_request *request; /* NOW, LATER */
    uint64_t timeout;        /* NBCOLLI_AND_WAIT */
    const nbcolli_algorithms *among;
} nbcolli_manner;

/* A call in any form. */
nbcoll_status nbcolli_carry_out(nbcolli_collective_call *c, nbcoll_comm *comm, const nbcolli_manner *how);

/* One without arrays that has no word. */
nbcoll_status nbcolli_plain_slowly(nbcoll_args args, const void *send, void *recv, nbcoll_comm *comm,
                                   const nbcolli_manner *how);

/* One that has a word (forms.h), NOW and AND_WAIT. What is in place is not read: its address does not
 * matter. */
nbcoll_status nbcolli_plain_noted(uint64_t what, size_t count, const void *send, void *recv, nbcoll_comm *comm,
                                  const nbcolli_manner *how);

#endif
