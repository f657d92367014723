/* SPDX-License-Identifier: BSD-3-Clause
 * Communicators with an agent (nbcoll_comm_config): their operations as the agent's executor has them. Those that are
 * all a program take no tag and no slot, and know no messages of the engine's: the agents' queue pairs keep their
 * order, and tell of a rank that is lost. Others are *cut*: runs like any, but for their inner part, which is the
 * program.
 *
 * A start gives a program that is all of an operation to the agent, if it is its turn; else progress does so later, as
 * it does with an inner part whose step is ready. The request goes to progress as all others do, which alone watches
 * the agent and learns of the end.
 *
 * Programs come to the agents of all ranks in the order of the starts, which is that in which tags are given, whatever
 * is ready first: each waits for its turn, which passes from one to the next, so that nobody else takes it; and then
 * until an agent's process has room for it on its command area, where earlier ones are. What a program waits for is
 * earlier operations, and ranks that have not started this one; so each comes to its turn.
 *
 * If an operation with an inner part fails the agents have nothing more to do together: what one of them awaits another
 * one may never send. So all that they have ends, on each rank that learns of it.
 *
 * The executor is the communicator's, and lives as long: of a context that is abandoned the agent has been closed
 * before. It touches the agent only for operations that are under way, for schedules that are built, and for starts. */
#ifndef NBCOLLI_OFFLOAD_EXECUTOR_H
#define NBCOLLI_OFFLOAD_EXECUTOR_H

#include "agent.h"
#include "../engine/state/context.h"

/* executor.c: of the agent's table. */
nbcoll_status nbcolli_offload_serve(nbcoll_agent *agent, nbcoll_comm *comm, nbcolli_executor **out);

/* An operation that an executor has whole has ended, and nothing touches its buffers: inside. */
void nbcolli_executed_end(nbcolli_request *r, nbcoll_status status);

#endif
