/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Lists of buffers: one operation for many buffers, say the gradients of a layer's parameters. A list describes them
 * to any collective, as one vector of their elements in order: it gives a type, an operation, and buffers that stand
 * for the lists.
 *
 * Gradients, added in place, each used as soon as it is there:
 *
 *     nbcoll_list_piece gradients[n];                  {address, elements} each
 *     nbcoll_lists *l;
 *     nbcoll_lists_make(context, NBCOLL_FLOAT, NBCOLL_SUM, 0, NULL, n, gradients, &l);
 *     nbcoll_iallreduce(l->send, l->recv, l->received, l->type, l->op, comm, &request);
 *     for (size_t i = 0; i < n; i++) {
 *         while (nbcoll_lists_arrived(l, request, i) == NBCOLL_PENDING)
 *             nbcoll_progress(context);
 *         update(i);
 *     }
 *     nbcoll_wait(&request, NBCOLL_FOREVER);
 *
 * Parameters from rank 0, and a gather of what each rank has, whose blocks lie in buffers of their own:
 *
 *     nbcoll_bcast(l->recv, l->received, l->type, 0, comm, timeout);
 *     nbcoll_allgather(l->send, l->recv, l->sent, l->type, comm, timeout);
 *
 * Ranks may cut their vectors into different pieces, and some may pass plain buffers where the operation does not
 * combine: what counts is what travels. Each element is copied once out of its buffer, and once into it, by the
 * library, as for any type that packs; no vector of all of them is made first. Persistent and blocking calls take
 * lists, too.
 */
#include "nbcoll.h"

#ifndef NBCOLL_LISTS_H
#define NBCOLL_LISTS_H

#if defined NBCOLL_WITH_LISTS && !NBCOLL_WITH_LISTS
#error "nbcoll/lists.h is of the component lists: define NBCOLL_WITH_LISTS=1, or link nbcoll_lists"
#endif

NBCOLLI_BEGIN

/* A buffer of so many elements. Without elements it may be null. */
typedef struct nbcoll_list_piece {
    void *at;
    size_t count;
} nbcoll_list_piece;

/* To be read only. The type and the operation are for calls with these buffers alone. */
typedef struct nbcoll_lists {
    nbcoll_type type;
    nbcoll_op op;
    const void *send; /* NBCOLL_IN_PLACE where there are no pieces to send */
    void *recv;
    size_t sent, received; /* elements in all */
} nbcoll_lists;

/* Makes lists of pieces to send, which are only read, and to receive into. They are copied, the buffers are not. `type`
 * is predefined, and `op` applies to it. What is received may overlap nothing; pieces that are sent may overlap each
 * other. Errors: ERR_NULL, ERR_TYPE, ERR_OP, ERR_BUFFER (a piece with elements is null, or pieces overlap), ERR_COUNT
 * (bytes overflow), ERR_MEMORY, ERR_BUSY (inside a host function), ERR_FORKED. */
NBCOLL_API nbcoll_status nbcoll_lists_make(nbcoll_context *context, nbcoll_type type, nbcoll_op op, size_t sends,
                                           const nbcoll_list_piece send[], size_t recvs, const nbcoll_list_piece recv[],
                                           nbcoll_lists **out);

/* Frees them, when no operation and no persistent request uses them any more, before the context. Null is accepted. */
NBCOLL_API void nbcoll_lists_free(nbcoll_lists *lists);

/* As nbcoll_arrived, of one of the pieces that are received into. Errors: also ERR_NULL, ERR_ARGUMENT (no such one). */
NBCOLL_API nbcoll_status nbcoll_lists_arrived(const nbcoll_lists *lists, nbcoll_request request, size_t piece);

NBCOLLI_END
#endif
