/* SPDX-License-Identifier: BSD-3-Clause
 * What rank.c and the files of its parts share: a rank, as far as it has come. */
#ifndef STORM_RANK_H
#define STORM_RANK_H

#include "storm.h"
#include "nbcoll/schedule.h"

enum { RETRIES = 40, OPEN_MOST = 72, KEPT_MOST = 100 };

typedef struct chain chain; /* chain.c */

typedef struct call { /* one that has been started and not ended */
    int item;
    actor *actor;
    nbcoll_request request;
    buffers *buffers;         /* null: it makes a communicator */
    uint64_t watched;         /* the rank's, when it was started */
    uint64_t since;           /* it was started then, and had its slot at once; 0: others had been started before it */
    bool calls_back, is_over; /* its callback has come, with: */
    nbcoll_status status;
    uint64_t token;
} call;

typedef struct rank {
    actor *actor;
    storm *storm;
    uint64_t random;
    nbcoll_context *context;
    nbcoll_endpoint *endpoint; /* that joins all ranks */
    nbcoll_comm *comm[COMMS_MOST];
    nbcoll_comm *made[COMMS_MOST];
    bool is_broken[COMMS_MOST];
    struct nbcoll_relays *relays[COMMS_MOST];
    bool is_full[COMMS_MOST]; /* it has no tag left, or was to be made over one that had none */
    call *open[OPEN_MOST];
    const void *shown; /* by a schedule of its own, in cells */
    size_t shown_bytes;
    struct nbcoll_messages *messages; /* while it has some open */
    int frees;    /* 1 + the communicator that it is about to free */
    buffers *now; /* of a call that blocks, or persists */
    int opened, item;
    bool stops, skips; /* it goes on with no further item */
    bool has_endpoint; /* no context has it */
    bool has_ticks, stops_ticks; /* its context */
    bool leaves;       /* its communicators may have gone */
    nbcoll_observer observer, watcher;
    bool has_watcher, has_log;
    uint64_t watched; /* waits of which the watcher was told */
    uint64_t arms;    /* calls of nbcoll_arm */
    int lacking; /* communicators without cells, for want of room on some rank */
    uint64_t told[NBCOLL_STEP_ENDED + 1]; /* steps */
    struct nbcoll_driver *driver;
    uint64_t left; /* starts that returned before the step of their lane START was executed, while it was driven */
    bool is_driven, runs_driver; /* the driver has the context; a thread of the rank's runs it, till this is false */
    struct nbcoll_agent *agent;
    bool runs_agent; /* a thread of the rank's moves it, till this is false */
    bool builds;       /* a schedule, which is not the context's */
    chain *chains;     /* those that are not over */
    uint64_t due, beyond; /* the deadline of its creation; so long its callbacks have waited themselves after that */
    buffers *kept[KEPT_MOST];
    int n_kept;
} rank;

uint64_t rank_choose(rank *r, uint64_t below);
/* It goes on with no further item. */
void rank_stops(rank *r, unsigned why);
/* The failure of a communicator, of which none is known where that is freed, or (-1) the context's last one. */
nbcoll_failure rank_failure(rank *r, int comm);
/* Waits in one of the ways that there are. */
nbcoll_status rank_wait(rank *r, nbcoll_request *request);
/* The same for an open one, and judges it; for some, in one of the ways that there are. */
void rank_wait_for(rank *r, int k);
void rank_wait_some(rank *r);
/* 1: to be tried again. Else the communicator is used no more. */
bool rank_is_refused(rank *r, int n, nbcoll_status status, int tries);
/* Is it refused because its endpoint has no number left for one more communicator? Then the rank leaves. */
bool rank_is_numberless(rank *r, int n, nbcoll_status status);
/* Is it refused because the communicator has no tag left? Then it is on all ranks, and used no more. */
bool rank_is_full(rank *r, int n, nbcoll_status status);
void rank_notes_full(rank *r, const item *i);
buffers *rank_buffers(rank *r, int n, uint64_t salt); /* of a call of that item */
call *rank_opened(rank *r, int n, buffers *b, nbcoll_request request);
/* Where the plan says that this rank cancels it. */
void rank_cancels(rank *r, call *c);
/* A blocking call that ends with ERR_MEMORY does not say whether it took its tag: not where that may come. */
bool rank_may_block(const rank *r);
void rank_drop(buffers *b);
/* A call, so often as the item says. */
void starts_run(rank *r, int n);

/* ---- begin.c ----------------------------------------------------------------------------------------------------- */

/* False: it has no communicator. */
bool begin_rank(rank *r);
uint32_t begin_cells(const plan *p); /* that all ranks agree on */
/* This rank's for a communicator: with those of the others they give the plan's flags. */
void begin_terms(const rank *r, nbcoll_comm_config *terms);

/* ---- drivers.c --------------------------------------------------------------------------------------------------- */

/* Where the plan has drivers, the context may get one; it takes a rest, or comes back; and it goes. */
void drivers_begin(rank *r);
void drivers_change(rank *r);
void drivers_end(rank *r);

/* ---- agents.c ---------------------------------------------------------------------------------------------------- */

/* Where the plan has agents the communicator to be made gets one; it goes when that is freed. */
nbcoll_status agents_begin(rank *r, nbcoll_comm_config *terms);
void agents_end(rank *r);

/* ---- inside.c ---------------------------------------------------------------------------------------------------- */

void rank_ticks_start(rank *r);
void rank_ticks_stop(rank *r);

/* ---- made.c ------------------------------------------------------------------------------------------------------ */

/* The rank has got this communicator: if it lacks cells, that was logged. */
void made_lacks(rank *r, const nbcoll_comm *comm);
void made_create(rank *r, int n);
/* Its creation has ended well. */
void made_is(rank *r, int n);
void made_free(rank *r, int comm);

/* ---- relays.c ---------------------------------------------------------------------------------------------------- */

void relays_open(rank *r, int n);
void relays_break(rank *r); /* all of them: it leaves before its time */
void relays_close(rank *r, int comm); /* if it has some */

/* ---- chain.c ----------------------------------------------------------------------------------------------------- */

void chain_begin(rank *r, int n);
/* One of those that go on in pauses does, if one can. */
bool chain_look(rank *r);
void chain_wait_all(rank *r);
/* The context is abandoned. */
void chain_forget_all(rank *r);

/* ---- own.c ------------------------------------------------------------------------------------------------------- */

void own_run(rank *r, int n);

/* ---- messages.c -------------------------------------------------------------------------------------------------- */

void messages_run(rank *r, int n);

/* ---- neighbors.c ------------------------------------------------------------------------------------------------- */

void neighbors_run(rank *r, int n);

/* ---- elements.c -------------------------------------------------------------------------------------------------- */

void elements_run(rank *r, int n);

/* ---- groups.c ---------------------------------------------------------------------------------------------------- */

void groups_run(rank *r, int n);

/* ---- bounds.c ---------------------------------------------------------------------------------------------------- */

void deadlines_run(rank *r, int n);
void crowd_run(rank *r, int n);
void full_run(rank *r, int n);

#endif
