/* SPDX-License-Identifier: BSD-3-Clause
 *
 * An endpoint around another one, which hands every call on to it. A transport that changes some of them (fault, trace)
 * begins its own struct with a wrapper, opens it, and writes its functions into the table or a group: into those slots
 * that the inner endpoint has, by NBCOLLI_WRAPPER_CHANGES, or into any.
 */
#ifndef NBCOLLI_WRAP_WRAPPER_H
#define NBCOLLI_WRAP_WRAPPER_H

#include "nbcoll/transport.h"
#include "../host/host.h"

typedef struct nbcolli_wrapper {
    nbcoll_endpoint base;
    /* Ours: the groups, and the slots in them, that the inner endpoint has. */
    nbcoll_transport table;
    nbcoll_bulk bulk;
    nbcoll_wakeup wakeup;
    nbcoll_shared shared;
    nbcoll_lines lines;
    nbcoll_endpoint *inner;
    /* The inner one's, completed. */
    nbcoll_transport call;
    nbcoll_bulk inner_bulk;
    nbcoll_wakeup inner_wakeup;
    nbcoll_shared inner_shared;
    nbcoll_lines inner_lines;
    nbcoll_host host;
    size_t bytes; /* of the whole struct */
} nbcolli_wrapper;

#define NBCOLLI_WRAPPER_CHANGES(slot, function) ((slot) = (slot) ? (function) : NULL)

/* Makes one of `bytes` bytes, those behind the wrapper zeroed. `host` (may be null) is copied. On an error `inner`
 * stays the caller's. Errors: ERR_CONFIG (host), ERR_ABI (inner's table), ERR_BUSY (a context has it), ERR_MEMORY. */
nbcoll_status nbcolli_wrapper_open(const nbcoll_host *host, nbcoll_endpoint *inner, const char *name, size_t bytes,
                                   nbcolli_wrapper **out);

/* What the table does unless it is changed: the inner endpoint is closed or abandoned, the struct freed. */
void nbcolli_wrapper_close(nbcoll_endpoint *ep);
void nbcolli_wrapper_abandon(nbcoll_endpoint *ep);

#endif
