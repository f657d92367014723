/* SPDX-License-Identifier: BSD-3-Clause
 * What the library's source folders ask of each other. */
#ifndef NBCOLL_INLINE_CONTEXT_H
#define NBCOLL_INLINE_CONTEXT_H

#include "../6_progress/progress.h"

static inline size_t nbcolli_chunk_size(uint32_t chunk)
{
    return (size_t)NBCOLLI_REQUEST_CHUNK << chunk;
}

/* Takes the endpoint into the context, which then closes it. */
nbcoll_status nbcolli_link_open(nbcoll_context *c, nbcoll_endpoint *ep, nbcolli_link **out);
/* Undoes that, and leaves the endpoint open. */
void nbcolli_link_drop(nbcolli_link *link);

/* Is an operation active, or something still to be sent? Frees a context where nothing is; or `abandons` it, when its
 * runs are taken care of. */
int nbcolli_context_busy(const nbcoll_context *c);
void nbcolli_context_end(nbcoll_context *c, int abandons);

/* An inactive request that holds `s`, or null without memory; and its release, which ends that. */
nbcolli_request *nbcolli_request_open(nbcoll_comm *comm, nbcoll_schedule *s, const void *send, void *recv);
void nbcolli_request_release(nbcoll_context *c, nbcolli_request *r);
/* Releases all of a context that runs nothing. */
void nbcolli_requests_clear(nbcoll_context *c);
/* A request for a schedule that suits the communicator: started, or persistent and inactive. `blocks`: null, or those
 * of the send and the receive buffer. */
nbcoll_status nbcolli_begin(nbcoll_schedule *s, const void *send, void *recv, const nbcolli_blocks *blocks,
                            nbcoll_comm *comm, int persistent, nbcoll_request *request);
/* Starts it. Nothing has happened on an error. */
nbcoll_status nbcolli_request_start(nbcolli_request *r);
nbcolli_request *nbcolli_request_find(nbcoll_request request);
/* Is it one that has been released by its callback, whose end that has reported? The lock is held. Known of the last 64
 * that had the entry; of older ones, whether it was so of any. */
int nbcolli_was_reported(nbcoll_request request);
nbcoll_request nbcolli_request_handle(const nbcoll_context *c, const nbcolli_request *r);
/* Whether a request has ended, without reporting it. `idle`: there is nothing to wait for. */
nbcoll_status nbcolli_peek(const nbcoll_request *request, int *idle);
/* What test would say now; it changes nothing. */
nbcoll_status nbcolli_outcome(const nbcoll_request *request);

/* Passes some time between two looks: spin, then yield, then sleep. 0 when `timeout`, from the first pause on, is
 * over. */
typedef struct nbcolli_waiter {
    uint64_t deadline, looks;
} nbcolli_waiter;
#define NBCOLLI_SLEEP_ON 64 /* contexts on which a waiter sleeps; with more of them only for a short time */
int nbcolli_waiter_pause(nbcolli_waiter *w, nbcoll_context *const c[], size_t n, uint64_t timeout);

/* Waits; at the timeout leaves the request to itself, cancelled, so that the caller can forget it. */
nbcoll_status nbcolli_wait_or_leave(nbcoll_request *request, uint64_t timeout);

/* The schedule of a collective, from the communicator's cache or built. */
nbcoll_status nbcolli_comm_schedule(nbcoll_comm *comm, const nbcoll_args *a, nbcoll_schedule **out);
void nbcolli_cache_clear(nbcoll_comm *comm);
/* Frees an idle communicator. */
void nbcolli_comm_destroy(nbcoll_comm *comm);
/* The configuration given, over the defaults; null: those. ERR_CONFIG, or an error of nbcoll_rules_check. */
nbcoll_status nbcolli_comm_config_read(const nbcoll_comm_config *given, nbcoll_comm_config *config);
/* A new, empty one, with room for `most` ranks and their votes; not known to its link yet. */
nbcoll_status nbcolli_comm_open(nbcolli_link *link, const nbcoll_comm_config *config, int most, nbcoll_comm **out);
/* Shared memory of this rank's, for a communicator of at most `most` ranks, or null; and its end. */
nbcolli_area *nbcolli_area_reserve(nbcolli_link *link, size_t bytes, int most);
static inline size_t nbcolli_area_memory(int most)
{
    return sizeof(nbcolli_area) + (size_t)most * sizeof(uint32_t);
}
void nbcolli_area_release(nbcolli_link *link, nbcolli_area *area);
/* What the vote over it says of this rank's shared memory. (src/engine/4_comm/area.c) */
uint32_t nbcolli_area_shares(const nbcoll_comm *over);
/* Reserves this rank's part of the cells of a communicator of at most `most` ranks: what the vote says, 0 for none. */
uint64_t nbcolli_area_offer(nbcoll_comm *comm, int most);
/* Finds the part that a rank has offered; then takes all of them, or none if one is missing, which is logged. Or gives
 * back the own one. Leaves the parts. */
void nbcolli_area_find(nbcoll_comm *comm, int rank, uint64_t at, int most);
void nbcolli_area_take(nbcoll_comm *comm);
void nbcolli_area_return(nbcoll_comm *comm);
void nbcolli_area_leave(nbcoll_comm *comm);
/* What it offered stays reserved, whatever is decided. */
void nbcolli_area_keep(nbcoll_comm *comm);
/* This rank's vote for `comm` among the ranks of `over`; and the terms that all go by, from all votes. */
nbcolli_vote nbcolli_vote_of(nbcoll_comm *comm, nbcoll_comm *over, nbcolli_creation creation, int colour, int key);
void nbcolli_votes_agree(nbcoll_comm *comm, const nbcolli_vote *votes, int n);
/* A request that shrinks: the lowest rank that it waits for; ends it, on all ranks that have not decided. Those of an
 * endpoint: is something still to be sent? And their end. */
static inline int nbcolli_is_shrink(const nbcolli_request *r)
{
    return r->creating && r->creating->shrink;
}
int nbcolli_shrink_awaited(const nbcolli_request *r);
void nbcolli_shrink_cancel(nbcolli_request *r);
int nbcolli_shrinks_wait(const nbcolli_link *link);
void nbcolli_shrinks_clear(nbcolli_link *link);
/* Makes it known to its link, under its id. */
void nbcolli_comm_register(nbcoll_comm *comm);

/* The context pools the schedule's runs from now on; ERR_FOREIGN if another one does. */
nbcoll_status nbcolli_schedule_own(nbcoll_schedule *s, nbcoll_context *c);
/* Ends that, and frees the pooled runs. The schedule and its pooled runs are freed: nobody uses it. */
void nbcolli_schedule_disown(nbcoll_schedule *s);
void nbcolli_schedule_drop(nbcoll_schedule *s);
/* Gives up one hold on a schedule; one that has left the cache is freed with the last. */
void nbcolli_schedule_release(nbcoll_schedule *s);

#endif
