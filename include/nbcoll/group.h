/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Groups: communicators that their members alone make, from a list of ranks. No other rank calls anything.
 *
 * Rows and columns of a grid; each rank is in one of either, and makes both at once, under two tags:
 *
 *     nbcoll_comm_icreate_group(world, columns, in_row, 0, &row, &request[0]);
 *     nbcoll_comm_icreate_group(world, rows, in_column, 1, &column, &request[1]);
 *     nbcoll_wait_all(2, request, NULL, NBCOLL_FOREVER);
 *
 * A communicator that grows. Those that work already list the ranks that join, and these list them; then they free
 * the smaller one. The first one is made so, too:
 *
 *     nbcoll_comm_create_among(context, endpoint, n, list, 0, NULL, &larger, timeout);
 *     nbcoll_comm_free(smaller);
 *
 * Survivors that are known, say from a launcher, need not agree on who they are as nbcoll_comm_shrink does:
 *
 *     nbcoll_comm_create_group(broken, n, living, 0, &mended, timeout);
 *
 * Tags. Groups may overlap and be made at once in any order if their tags differ. Under one tag, groups that have two
 * members or more in common come in the same order at these. If they do not, or the lists differ, all that call get
 * ERR_MISMATCH; nbcoll_last_failure names a rank that lists others. Lists differ if their order does. Tags of groups of
 * two communicators have nothing to do with each other.
 *
 * The end. A member that does not call is waited for, and a timeout names it; ranks of such a failure are places in the
 * list. If a member is lost all that call get ERR_PEER_LOST. A creation that has failed is over for all members: a
 * member that calls later gets its status, and meets the others in the next creation with that list and tag. Or take
 * another tag. If a member's vote arrives before the news that it has given up, the status is OK: but not all ranks
 * have that communicator (nbcoll_comm_idup), and its operations end with ERR_CANCELLED.
 *
 * Memory. A list with its tag takes about 6 KB and 600 bytes for each rank. The next of these calls on the context
 * gives it back, if its communicator was freed; that of an endpoint goes with the context: use few tags. What a member
 * says before another one calls is kept there; so are more than 1024 groups that were given up before it called, but it
 * then may wait for one of them till its own timeout. A rank without memory for a member's message is itself lost to
 * all: its calls end with ERR_MEMORY.
 */
#include "nbcoll.h"

#ifndef NBCOLL_GROUP_H
#define NBCOLL_GROUP_H

#if defined NBCOLL_WITH_GROUP && !NBCOLL_WITH_GROUP
#error "nbcoll/group.h is of the component group: define NBCOLL_WITH_GROUP=1, or link nbcoll_group"
#endif

NBCOLLI_BEGIN

/* Makes a communicator of the ranks ranks[0..n) of `comm`, which all call this: rank i is ranks[i]. It has the
 * configuration of `comm`, without its agent. `comm` may be broken, and may be freed before the end. *out is written
 * when the request ends with OK. Errors: those of nbcoll_comm_idup; ERR_ARGUMENT (n < 1, tag < 0), ERR_RANK (outside
 * `comm`, or this rank is not in the list), ERR_DUPLICATE (a rank is in the list twice), ERR_LIMIT (two lists look
 * alike under this tag). Through the request also ERR_CANCELLED: a member has given up, or freed `comm`. */
NBCOLL_API nbcoll_status nbcoll_comm_icreate_group(nbcoll_comm *comm, int n, const int ranks[], int tag,
                                                   nbcoll_comm **out, nbcoll_request *request);
NBCOLL_API nbcoll_status nbcoll_comm_create_group(nbcoll_comm *comm, int n, const int ranks[], int tag,
                                                  nbcoll_comm **out, uint64_t timeout);

/* The same of ranks of an endpoint, without a parent. The context takes the endpoint from the caller, unless the call
 * is refused; or it has it already, alone. Ranks may open theirs later. `config` as in nbcoll_comm_create. Errors:
 * those of nbcoll_comm_create, but ERR_BUSY, and of nbcoll_comm_icreate_group; ERR_UNSUPPORTED (communicators of the
 * context have this endpoint beside others). */
NBCOLL_API nbcoll_status nbcoll_comm_icreate_among(nbcoll_context *context, nbcoll_endpoint *endpoint, int n,
                                                   const int ranks[], int tag, const nbcoll_comm_config *config,
                                                   nbcoll_comm **out, nbcoll_request *request);
NBCOLL_API nbcoll_status nbcoll_comm_create_among(nbcoll_context *context, nbcoll_endpoint *endpoint, int n,
                                                  const int ranks[], int tag, const nbcoll_comm_config *config,
                                                  nbcoll_comm **out, uint64_t timeout);

NBCOLLI_END
#endif
