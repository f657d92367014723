/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Ranks whose agent is another process, the last one of their crew. Include cmocka.h first.
 */
#ifndef TEST_SHM_SERVED_H
#define TEST_SHM_SERVED_H

#include "nbcoll/offload.h"
#include "ranks.h"

/* In memory that all processes have: the sockets are opened before they are forked. */
typedef struct served {
    int ranks;
    int socket[RANKS_MOST][2]; /* the rank's, and the agent's */
} served;

void served_open(served *s, int ranks);
void served_close(const served *s);

/* In the process of that rank, or, of rank `ranks`, of the agent: which ends are its own. In the places of all lies
 * nothing more. */
void served_take(const served *s, int rank, int mine[]);
/* In the agent's: serves all of them, over a loopback; `how` says what is not the default. */
void served_serve(const served *s, const int mine[], const nbcoll_serve_config *how);
/* In a rank's: opens endpoint, agent, context and communicator, which has that agent if it `gives` it; `host`, of the
 * agent, and `context` may be null. */
nbcoll_agent *served_join(member *m, const nbcoll_shm_config *config, int socket, const nbcoll_host *host,
                          const nbcoll_context_config *context, nbcoll_comm_config comm, bool gives);

#endif
