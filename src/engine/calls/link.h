/* SPDX-License-Identifier: BSD-3-Clause
 * Links: an endpoint comes into a context, and leaves it. */
#ifndef NBCOLLI_ENGINE_CALLS_LINK_H
#define NBCOLLI_ENGINE_CALLS_LINK_H

#include "../state/context.h"

/* Takes endpoints that are to belong together into the context, which then closes them. The last one is their home. */
nbcoll_status nbcolli_links_open(nbcoll_context *c, int n, nbcoll_endpoint *const ep[], nbcolli_link **home);

/* Undoes that, from the home's first one on, and leaves the endpoints open. */
void nbcolli_links_drop(nbcolli_link *first);

/* The same of one of them. */
void nbcolli_link_drop(nbcolli_link *link);

#endif
