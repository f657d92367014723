/* SPDX-License-Identifier: BSD-3-Clause
 * Links: an endpoint comes into a context, and leaves it. */
#ifndef NBCOLLI_ENGINE_CALLS_LINK_H
#define NBCOLLI_ENGINE_CALLS_LINK_H

#include "../1_state/context.h"

/* Takes the endpoint into the context, which then closes it. */
nbcoll_status nbcolli_link_open(nbcoll_context *c, nbcoll_endpoint *ep, nbcolli_link **out);

/* Undoes that, and leaves the endpoint open. */
void nbcolli_link_drop(nbcolli_link *link);

#endif
