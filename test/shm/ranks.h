/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A crew whose ranks meet over shm. Include cmocka.h first.
 */
#ifndef TEST_SHM_RANKS_H
#define TEST_SHM_RANKS_H

#include "nbcoll/shm.h"

#include "crew.h"

/* A rank with a context and a communicator of all. The configurations of context and communicator may be null;
 * it exposes memory, unless rules say otherwise (native.h). */
typedef struct member {
    nbcoll_endpoint *endpoint;
    nbcoll_context *context;
    nbcoll_comm *comm;
} member;
void member_join(member *m, const nbcoll_shm_config *config, const nbcoll_context_config *context);
void member_join_limited(member *m, const nbcoll_shm_config *config, const nbcoll_context_config *context,
                         const nbcoll_comm_config *limits);
void member_leave(member *m);

nbcoll_shm_id fresh_id(void);

/* How many names there are that the library would have made. Other programs come and go there, too. */
int shared_names(void);

#endif
