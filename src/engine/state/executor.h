/* SPDX-License-Identifier: BSD-3-Clause
 * Executors carry out operations of a communicator in place of runs. The engine knows them by the tables below alone,
 * and reaches those from what the host passes in: an agent in nbcoll_comm_config, relays and messages that are opened
 * over a communicator (src/offload, src/relay, src/message). A communicator without such touches none. */
#ifndef NBCOLLI_ENGINE_STATE_EXECUTOR_H
#define NBCOLLI_ENGINE_STATE_EXECUTOR_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "message.h"

struct nbcoll_args;
struct nbcolli_run;

/* What a look finds. */
typedef enum nbcolli_sight {
    NBCOLLI_SIGHT_QUIET,     /* nothing; what comes ends a sleep on the context's poller */
    NBCOLLI_SIGHT_UNHEARD,   /* nothing; nobody tells when something comes */
    NBCOLLI_SIGHT_ELSEWHERE, /* another thread goes on with it */
    NBCOLLI_SIGHT_MOVES      /* something that a pass, or the way out, goes on with */
} nbcolli_sight;

/* Memory that an executor has lent to a run: its own notes. */
typedef struct nbcolli_loan {
    struct nbcolli_loan *next;
    size_t begin, end;
} nbcolli_loan;

/* What an executor notes of a request. Only it reads these, but for the last. */
typedef struct nbcolli_executed {
    void *work;                  /* what it has made of it; null: nothing yet */
    uint64_t number, turn, room; /* its places in orders of the executor's */
    size_t bytes;
    int root;
    atomic_int is_cancelled;
    atomic_int awaited; /* a rank that has not come; -1: not known. Read relaxed, when a deadline is over */
} nbcolli_executed;

typedef struct nbcolli_executor nbcolli_executor;
typedef void nbcolli_lend(void *loan, const void *at, size_t bytes);

/* An executor has a whole operation, or, of a *cut* schedule, the inner part: a run does the rest. A function may be
 * null where its comment says so. */
typedef struct nbcolli_executor_table {
    /* On the caller's side. Does it take a call of these complete arguments without a schedule? Null: none. Then `open`
     * completes the request for one. */
    int (*takes)(nbcolli_executor *e, const struct nbcoll_args *args);
    nbcoll_status (*open)(nbcolli_executor *e, struct nbcolli_request *r, const struct nbcoll_args *args);
    /* A schedule for such calls, which names the executor; ERR_UNSUPPORTED, or null: runs do them. */
    nbcoll_status (*plan)(nbcolli_executor *e, const struct nbcoll_args *args, struct nbcoll_schedule **out);
    /* Starts an operation, whole or cut. AGAIN: started, and `go` follows without the lock. Else nothing has
     * happened. */
    nbcoll_status (*start)(nbcolli_executor *e, struct nbcolli_request *r);

    /* Without the lock: operations have been started, or one is cancelled. May be null. */
    void (*go)(nbcolli_executor *e);

    /* With the lock, as all below but `await`: progress hands it a whole operation, if a start has handed that over. */
    void (*take)(nbcolli_executor *e, struct nbcolli_request *r);
    /* A cut one has come to its inner part, or needs memory of the executor; the run is over. */
    void (*begin_inner)(nbcolli_executor *e, struct nbcolli_run *run);
    void (*give_back)(nbcolli_executor *e, struct nbcolli_run *run);
    /* It is cancelled, or a cut one has failed. `tell`: the other ranks do not know yet. */
    void (*cancel)(nbcolli_executor *e, struct nbcolli_request *r, int tell);
    /* A start was refused for this reason. May be null. */
    void (*refused)(nbcolli_executor *e, nbcoll_status why);
    /* Have these bytes of the receive buffer their final values, before the end? Null: that is not known. */
    int (*has_arrived)(const nbcolli_executor *e, const struct nbcolli_request *r, size_t offset, size_t bytes);
    /* Goes on, in the drain, with all its operations. Has something moved? May be null. */
    int (*drain)(nbcolli_executor *e);
    /* The look of a pass (-1), or of a thread that is about to sleep on that poller. May be null. */
    nbcolli_sight (*look)(nbcolli_executor *e, int poller);
    /* In a round of asking: asks about ranks for which its first operation waits (`told`). Are there any?
     * And: such a rank has freed the communicator, after so many operations, as `called` counts: it has ended those,
     * and will start no later one. Both may be null. */
    int (*look_after)(nbcolli_executor *e);
    void (*freed)(nbcolli_executor *e, int rank, uint64_t called);
    /* An EXECUTED, or a line on its channel, has come. 0: no rank may have sent that. And: that member is lost, or has
     * left; perhaps said again. May be null, all three. */
    int (*message)(nbcolli_executor *e, const struct nbcolli_incoming *in);
    int (*line)(nbcolli_executor *e, const struct nbcolli_link *link, const nbcoll_line_arrival *line);
    void (*gone)(nbcolli_executor *e, int rank);
    /* So many of its active ones copy nothing from or to that lost member. Null: that is not known. */
    size_t (*elsewhere)(const nbcolli_executor *e, int rank);
    /* From a wait in a context of one thread, outside: polls for this active one alone, for a short time. Or null. */
    void (*await)(nbcolli_executor *e, struct nbcolli_request *r);
    /* Its context is abandoned: names to `lend` the host's memory that others or a transport may still touch, and never
     * frees its own such memory. Null: it has none. */
    void (*abandon)(nbcolli_executor *e, nbcolli_lend *lend, void *loan);
    /* Frees it with its communicator. Null: the communicator never has it then. */
    void (*free)(nbcolli_executor *e);
} nbcolli_executor_table;

/* The beginning of each. */
struct nbcolli_executor {
    const nbcolli_executor_table *does;
    struct nbcoll_comm *comm;
    nbcolli_executor *next;   /* in its communicator's list: calls, on the caller's side and inside */
    nbcolli_list_item looked; /* in its context's list, at which passes look: calls that open and close it */
    uint32_t channel;         /* its channel for messages and lines, NBCOLLI_CHANNELS or above; else 0 */
    uint64_t called;          /* starts: so many of its numbered ones, on all ranks alike */
    uint32_t hash;            /* compared among ranks when they make the communicator; 0: nothing */
    atomic_uint over;         /* OK; or why numbered ones end badly. Read by starts, relaxed */
};

typedef enum nbcolli_agent_rest {
    NBCOLLI_AGENT_NO_REST, /* there is something to do */
    NBCOLLI_AGENT_LOOKS,   /* something is under way, and nothing tells that it can go on */
    NBCOLLI_AGENT_RESTS    /* until it is rung */
} nbcolli_agent_rest;

/* What is asked of an agent, which begins with a pointer to this. */
typedef struct nbcolli_agent_table {
    /* May it serve a communicator over this endpoint? ERR_UNSUPPORTED; ERR_BUSY: another one is served. */
    nbcoll_status (*suits)(const struct nbcoll_agent *a, const nbcoll_context *c, const nbcoll_endpoint *ep);
    /* Its executor for a communicator that is being made; ERR_MEMORY. When that has begun the context holds it. */
    nbcoll_status (*serve)(struct nbcoll_agent *a, struct nbcoll_comm *comm, nbcolli_executor **out);
    void (*hold)(struct nbcoll_agent *a);

    /* For drivers. In this one from now on, whose epoll descriptor has a bell of the agent's; and out of it, while it
     * makes no progress. ERR_CONFIG (another process executes), ERR_BUSY, ERR_TRANSPORT (no descriptor). */
    nbcoll_status (*own)(struct nbcoll_agent *a, const void *driver, int poller);
    void (*disown)(struct nbcoll_agent *a, int poller);
    int (*progress)(struct nbcoll_agent *a);
    /* Lets the driver sleep. Then, also instead: it is awake. 1: the agent had been rung. */
    nbcolli_agent_rest (*arm)(struct nbcoll_agent *a);
    int (*wake)(struct nbcoll_agent *a);
} nbcolli_agent_table;

static inline const nbcolli_agent_table *nbcolli_agent_does(const struct nbcoll_agent *a)
{
    return *(const nbcolli_agent_table *const *)(const void *)a;
}

#endif
