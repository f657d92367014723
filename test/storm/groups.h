/* SPDX-License-Identifier: BSD-3-Clause
 * What groups.c and timeouts.c share: a group that some ranks of a communicator make. */
#ifndef STORM_GROUPS_H
#define STORM_GROUPS_H

#include "rank.h"
#include "nbcoll/group.h"

typedef struct gathering {
    rank *rank;
    const item *item;
    int index, ranks, members, me; /* me: this rank's place in the list, or -1 */
    int list[RANKS_MOST];
    bool others_may_end; /* a member may have ended this creation by a timeout: its group ends with ERR_CANCELLED */
} gathering;

/* Is a start that has failed to be tried again? Who is lost is so among the members, who have a communicator of their
 * own for votes; the others of the program's stay usable. */
bool groups_try_again(gathering *x, nbcoll_status status, int tries);

/* Of the first `members` of the list: a group of the communicator, or of the endpoint. It is used, and *made is null or
 * to be freed. False: something has ended badly. */
bool groups_make(gathering *x, int members, bool is_second, nbcoll_comm **made);
/* Whatever it is, it ends; and where it ends badly that has a cause: that is judged. */
nbcoll_status groups_finish(gathering *x, nbcoll_request *request);
/* An allgather of the group, whose result and end are judged. */
nbcoll_status groups_use(gathering *x, int members, nbcoll_comm *made);
void groups_free(const gathering *x, nbcoll_comm *made);
/* One whose creation has timeouts, from edition 29 on: timeouts.c. */
void timeouts_run(gathering *x);

#endif
