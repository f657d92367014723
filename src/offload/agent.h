/* SPDX-License-Identifier: BSD-3-Clause
 * The agent: what its parts share. Private to this folder. */
#ifndef NBCOLLI_OFFLOAD_AGENT_H
#define NBCOLLI_OFFLOAD_AGENT_H

#include <stdatomic.h>

#include "../host/word.h"
#include "../message/route.h"
#include "nbcoll/transport.h"
#include "alarm.h"
#include "offload.h"

/* Memory that is registered for longer than a program. */
typedef struct nbcolli_agent_kept {
    char *at;
    size_t bytes; /* 0: there is none */
    nbcoll_registration registered;
} nbcolli_agent_kept;

/* A queue pair that it keeps. */
typedef struct nbcolli_agent_pair {
    struct nbcolli_agent_pair *next;
    nbcoll_queue_kind kind;
    int peer;
    nbcoll_direction direction;
    uint32_t set; /* one for each program in flight */
    nbcoll_queue_pair *queue;
    nbcoll_completion_queue *sent, *received;
    char *memory;    /* [depth] eager buffers, or null */
    nbcoll_registration registered; /* of these, if it is */
    int is_registered;
    uint64_t posted; /* receives in advance: the i-th has buffer i modulo depth */
    uint64_t taken;  /* of them, by programs */
} nbcolli_agent_pair;

/* Where an eager buffer of a program lies. */
typedef struct nbcolli_agent_buffer {
    char *at;
    const nbcolli_agent_pair *pair;
} nbcolli_agent_buffer;

/* WAITING and RUNNING: the agent's. ENDED: the rank's, by nbcoll_agent_test. REPORTED: the agent's again. */
typedef enum nbcolli_agent_state {
    NBCOLLI_AGENT_WAITING,
    NBCOLLI_AGENT_RUNNING,
    NBCOLLI_AGENT_ENDED,
    NBCOLLI_AGENT_REPORTED
} nbcolli_agent_state;

/* One block of memory, with the scratch memory behind it. */
struct nbcoll_program_run {
    struct nbcoll_program_run *next; /* the one started before; in the agent's list the one after */
    nbcoll_agent *agent;
    const nbcoll_program *p;
    size_t bytes;
    nbcolli_agent_kept own;    /* all of it, once a program had scratch memory there; ends with the block */
    char *base[3];             /* send, receive, scratch */
    size_t extent[3];          /* bytes of these that it touches, with its blocks */
    nbcoll_region *block[2];   /* [p->info.blocks]: where they are bound to */
    nbcoll_registration registered[3]; /* of these, where memory is to be registered */
    uint32_t registrations;            /* bits: those that end with the run */
    int is_scratch_lent;               /* it is the starter's */
    nbcolli_agent_buffer *eager;       /* [p->info.buffers] */
    nbcolli_agent_pair **pair; /* [p->info.queues] */
    _Atomic uint32_t *at;      /* [p->info.queues]: the next task of a management queue; of a pair: 1: drained */
    uint32_t set, pairs;           /* of the queue pairs, the first so many are there */
    int is_alone;                  /* nobody tells its peers if it fails: their queue pairs must */
    nbcoll_status status;
    _Atomic int state; /* nbcolli_agent_state */
};

typedef struct nbcolli_attached nbcolli_attached;

/* Where the blocks of a start lie; `bind` may be null. */
typedef struct nbcolli_binding {
    nbcoll_bind *bind;
    void *user;
} nbcolli_binding;

/* bound.c: what a start touches of the buffers. ERR_NULL, ERR_ARGUMENT, ERR_COUNT: see nbcoll_agent_start_bound. */
nbcoll_status nbcolli_bound_extent(const nbcoll_program *p, const nbcolli_binding *b, size_t extent[3]);
/* The same bytes with a place, if they are a bound block. */
static inline nbcoll_task_bytes nbcolli_bound_bytes(const nbcolli_binding *b, nbcoll_task_bytes bytes)
{
    if (b->bind && nbcolli_is_block(bytes.region.at))
        bytes.region = b->bind(b->user, nbcolli_is_recv_block(bytes.region.at), (int)bytes.region.at.offset);
    return bytes;
}

/* serve.c */
extern const nbcolli_route_table nbcolli_agent_serves;

struct nbcoll_agent {
    const nbcolli_agent_table *serves; /* first: nbcolli_agent_does */
    nbcoll_host host;
    nbcolli_attached *attached; /* another process executes; then, of what follows, only config to open, is_cancelled
                                   and promised */
    nbcoll_agent_config config; /* defaults filled in */
    nbcoll_endpoint *ep;
    int rank, ranks;            /* of that */
    _Atomic int failed;         /* why, or OK */
    atomic_int open;            /* runs whose end has not been reported */
    nbcoll_offload call;
    const nbcoll_bulk *memory; /* registers it; null: that is needless */
    nbcolli_agent_kept kept[2];
    nbcolli_agent_pair *pairs;
    nbcoll_program_run *runs, **runs_end; /* in order */
    uint64_t started;                     /* the starter's: by the functions of offload.h */
    _Atomic(nbcoll_program_run *) handed; /* started, the last one first */
    atomic_int is_cancelled;
    _Atomic(nbcoll_program_run *) swept; /* runs that have been reported: memory for further ones */
    nbcoll_program_run *spare;           /* the same, the starter's */
    nbcolli_alarm alarm;                 /* the rank's: a run has ended */
    atomic_uintptr_t driver;             /* that it is in, or 0 */
    int driver_bell;                     /* -1: it was never in one */
    _Atomic uint32_t driver_sleeps;      /* it is about to sleep, or does */
    atomic_int promised; /* who needs it open: pre-posted relays that are still to be handed over; to another process:
                            that are not freed, and who is woken by it */
    nbcolli_users *users; /* of the context that owns the endpoint: it is counted there; null: it has not met one */
    _Atomic(struct nbcolli_node_relays *) begun; /* pre-posted relays, handed over, the last ones first */
    struct nbcolli_node_relays *preposted;        /* that it has */
    uint32_t routed;                              /* the rank's: routes to others that it has made */
    _Atomic(nbcolli_route *) lent;                /* routes, handed over, the last ones first */
    nbcolli_route *routes;                        /* that it has */
};

/* agent_compile.c: messages on a queue pair that has more than there is room for; 0: none has. */
uint32_t nbcolli_agent_excess(const nbcoll_agent *a, const nbcoll_program *p);

/* agent_pairs.c */
/* The queue pair of a queue, opened if it is the first time. */
nbcoll_status nbcolli_agent_pair_of(nbcoll_agent *a, const nbcoll_queue_view *q, uint32_t set,
                                    nbcolli_agent_pair **out);
/* Posts receives in advance until there are `depth` that no program has taken. */
nbcoll_status nbcolli_agent_pair_fill(nbcoll_agent *a, nbcolli_agent_pair *pair);
/* Opens what a program that will not begin would have needed, as far as that can be, so that it is closed with all
 * queue pairs: by that its peers learn of it. */
void nbcolli_agent_pairs_show(nbcoll_agent *a, const nbcoll_program_run *r);
/* Closes the queue pairs: what came stays where it is. And all that is kept of them. */
void nbcolli_agent_pairs_close(nbcoll_agent *a);
void nbcolli_agent_pairs_free(nbcoll_agent *a);

/* agent_run.c */
/* Registers memory in which buffers of programs will lie, twice at most, before any program. Where that is refused,
 * programs register what they name. */
void nbcolli_agent_keep(nbcoll_agent *a, void *memory, size_t bytes);
void nbcolli_agent_let_go(nbcoll_agent *a, nbcolli_agent_kept *k);
/* Posts all of a program. */
nbcoll_status nbcolli_agent_begin(nbcoll_agent *a, nbcoll_program_run *r);
/* Ends the registrations of its buffers. */
void nbcolli_agent_deregister(nbcoll_agent *a, nbcoll_program_run *r);
/* Goes on with it. OK: it has ended; NBCOLL_PENDING; or an error. *moved: something was done. */
nbcoll_status nbcolli_agent_go_on(nbcoll_agent *a, nbcoll_program_run *r, int *moved);
/* Takes up its receives again. */
nbcoll_status nbcolli_agent_recycle(nbcoll_agent *a, nbcoll_program_run *r);
void nbcolli_agent_calc(const nbcoll_program_run *r, const nbcoll_task *t);

/* agent_drive.c: something has been published, seq_cst, that progress has to see: a driver that sleeps is woken. */
void nbcolli_agent_rouse(nbcoll_agent *a);

/* agent_routes.c: see nbcolli_route_table. */
typedef struct nbcolli_agent_route_end {
    nbcolli_route head; /* first */
    nbcoll_host host;
    nbcoll_queue_pair *queue;
    nbcoll_completion_queue *completions;
    nbcoll_registration registered[NBCOLLI_ROUTE_DEPTH]; /* of posts, where memory is to be registered */
    uint64_t begun, ended;
} nbcolli_agent_route_end;
nbcolli_route *nbcolli_agent_route(nbcoll_agent *a, int peer, int receives, uint32_t number);
void nbcolli_agent_route_on(nbcolli_route *route);
void nbcolli_agent_route_free(nbcolli_route *route);
/* All of them go on, or, once the agent has failed, are closed. 1: something was done. */
int nbcolli_agent_routes_move(nbcoll_agent *a);
void nbcolli_agent_routes_close(nbcoll_agent *a);

/* attached.c: what the functions of offload.h do where another process executes. */
/* Why a program cannot be started on these buffers; NBCOLL_REFUSAL_NONE: it can. */
nbcoll_refusal_reason nbcolli_attached_refuses(const nbcoll_agent *a, const nbcoll_program *p, const size_t extent[3],
                                               const void *const buffer[2], uint64_t *needed, uint64_t *allowed);
/* Fills the next slot, which is handed over by the other one, before anything else. `scratch`: where its scratch memory
 * has been lent; null: it is the process's own. ERR_LIMIT: no slot is free. */
nbcoll_status nbcolli_attached_start(nbcoll_agent *a, const nbcoll_program *p, const void *const buffer[2],
                                     const char *scratch, const nbcolli_binding *binding, nbcoll_program_run **out);
void nbcolli_attached_give(nbcoll_program_run *r, uint64_t number);
int nbcolli_attached_process(const nbcoll_agent *a);
uint32_t nbcolli_attached_commands(const nbcoll_agent *a);
/* See nbcolli_agent_lends. */
size_t nbcolli_attached_lends(const nbcoll_agent *a);
void *nbcolli_attached_lend(nbcoll_agent *a, size_t bytes, nbcolli_loan *loan);
void nbcolli_attached_take_back(nbcoll_agent *a, const nbcolli_loan *loan);
nbcoll_status nbcolli_attached_test(nbcoll_program_run *r);
int nbcolli_attached_has_ended(const nbcoll_program_run *r);
/* For a rank that is about to sleep, and is awake again. */
int nbcolli_attached_watch(nbcoll_agent *a, int poller);
void nbcolli_attached_unwatch(nbcoll_agent *a);
void nbcolli_attached_cancel(nbcoll_agent *a);
void nbcolli_attached_close(nbcoll_agent *a);
/* Bytes of a program's tables, and the room for them. */
uint64_t nbcolli_attached_tables(const nbcoll_agent *a, const nbcoll_program *p, uint64_t *allowed);
/* Does the process share all of that memory? */
int nbcolli_attached_shares(const nbcoll_agent *a, const void *memory, size_t bytes);
/* Bytes of tables that it has room for. */
size_t nbcolli_attached_room(const nbcoll_agent *a);
/* Has it gone? It looks every now and then. */
int nbcolli_attached_is_lost(nbcoll_agent *a);
/* Hands it pre-posted relays, whose store it shares. *at: the slot; PENDING: none is free; ERR_PEER_LOST. */
nbcoll_status nbcolli_attached_hand(nbcoll_agent *a, const char *packed, size_t bytes, const void *store,
                                    uint32_t *at);
/* Has it taken them over? PENDING, or the answer; ERR_PEER_LOST. Then the slot is free. */
nbcoll_status nbcolli_attached_taken(nbcoll_agent *a, uint32_t at);

#endif
