/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Selection: which algorithm serves a call, and why. By default the library chooses automatically, by cost; rules of
 * the host override that. A communicator chooses once, when it builds the schedule of a collective; a start of a cached
 * schedule does not choose. The choice reads only terms on which the ranks agreed when the communicator was made, and
 * arguments that all of them pass alike, so that all choose alike. The strongest reason first:
 *
 *   RULE       the first rule of the communicator that fits, and whose algorithm may serve the call. Rules come from
 *              the host: written in code, read from a file (tuning.h), or both, the stronger ones first
 *   RELAYS     none does, and relays that are open over the communicator carry out calls so short
 *   COST       the algorithm that the cost model finds cheapest, with the parameters that make it so where the call
 *              names none; of equal ones, the first in the table. Only where the communicator has no limit (`large`)
 *   SHARED     no cost is known, and all ranks share memory: the operation's algorithm for that
 *   SIZE       the algorithm for small or for large data: on either side of the limit, or of 65536 bytes
 *   ONLY       that one may not serve the call: the first that may
 *
 * Relays that carry out a communicator's calls (relay.h) are the algorithm "relays" of allgather and bcast, which
 * nbcoll_algorithm_find knows by that name. Rules may give them a range of bytes, or name another algorithm in their
 * place. They serve calls while they are open, up to their configured length; else a rule that names them does not fit,
 * and the next rule is tried. They tolerate late arrivals. They have no schedule: nbcoll_algorithm_at does not list
 * them, and nbcoll_build_schedule and nbcoll_predict return ERR_UNSUPPORTED.
 *
 * An algorithm may serve a call if it needs no counts that are bound, and combines in an order that the reduction
 * allows. If the communicator asks for it, the algorithm must also keep the tree of NBCOLL_REPRODUCIBLE, or be
 * ARRIVAL_TOLERANT. Without a rule, an algorithm that exposes memory is chosen only if all ranks share memory, and not
 * for reductions of more than 4096 bytes, or than the staging buffer has. A hierarchical algorithm
 * is chosen only for its cost, if there are several nodes.
 *
 * The cost model: what the longest path through an operation takes.
 *
 *   alpha_ns      of each message that waits for the one before
 *   overhead_ns   of each send and receive that a rank posts one after the other, while bytes of other messages move
 *   beta_ps       of each byte that is sent or received one after the other
 *   gamma_ps      of each byte that a rank combines one after the other
 *   copy_ps       of each byte that a rank copies one after the other
 *   eager         a message of more bytes is announced, asked for and sent: it counts as three
 *   staging       bytes that a rank copies into shared memory of what it exposes, where readers find it in place; what
 *                 is longer goes through these by rings
 *   staging_part  longer parts are got from their owner instead, where it has no less to do than its readers
 *   eager_ps      of each byte of a message that is not longer, beside beta_ps: it is copied in and out
 *   get_ns        of each message that is longer, and each fetch from shared memory of more than a cell holds
 *   credits       a pipeline of more segments counts as one of long messages
 *   shared        what others read of a result in shared memory counts once more: it is dear to write again
 *
 * If `nodes` says that there are several nodes, messages have one of two prices: `inside` a node, or `between` nodes.
 * How ranks are numbered tells which messages leave a node. Messages that leave or enter a node at the same time go one
 * after the other through its `interfaces`, gap_ns apart. A hierarchical algorithm costs what its phases cost, each at
 * the prices of its level; inside nodes ranks fetch from shared memory (`nodes_share`), or send. Algorithms by domains
 * are compared if `nodes` names domains of nodes that share memory.
 *
 * Prices are the largest that any rank's transport names (nbcoll_limits); `eager` is the smallest of the ranks'
 * (nbcoll_comm_config); `credits` are those of the contexts. If all ranks share memory, algorithms for shared memory
 * are compared with the others. The formulas are in src/select/cost.c. They ignore other users of a network or memory,
 * roots other than rank 0, nodes of different sizes, blocks of different lengths, and, apart from the transport's
 * prices, ranks that share cores.
 */
#include "nodes.h"
#include "schedule.h"
#include "transport.h"

#ifndef NBCOLL_SELECT_H
#define NBCOLL_SELECT_H

NBCOLLI_BEGIN

/* ---- rules ------------------------------------------------------------------------------------------------------- */

/* Whether all ranks share memory. */
typedef enum nbcoll_sharing { NBCOLL_ANY_SHARING, NBCOLL_SHARED, NBCOLL_NOT_SHARED } nbcoll_sharing;

/* "Calls of the algorithm's operation, with so many ranks and bytes, are served by it, with these parameters." Zeroed
 * members limit nothing, so that {.algorithm = nbcoll_algorithm_find(...)} fits every call of its operation.
 *
 * Bytes are those that all ranks know alike: of the vector; of the blocks of all ranks together (scatter, gather,
 * allgather, alltoall, reduce_scatter and those with known counts); 0 for barrier, alltoallv, alltoallw, and where
 * counts are bound. */
struct nbcoll_rule {
    const nbcoll_algorithm *algorithm; /* the library's, or the host's own, which must outlive the communicators.
                                          Ranks that do not share memory replace exposures by messages. A call for
                                          which the algorithm exposes too much is refused: ERR_LIMIT, as by
                                          nbcoll_schedule_start */
    int fewest, most;                  /* ranks; most 0: no limit */
    size_t from, below;                /* bytes: from <= bytes < below; below 0: no limit */
    nbcoll_sharing sharing;
    unsigned line;                     /* of the file that it comes from, or 0: the one member that ranks need not
                                          agree on */
    size_t segment;                    /* parameters that the algorithm gets in its arguments; 0: its own defaults */
    unsigned arity, ports, split, leaders;
    int fewest_nodes, most_nodes;      /* that the ranks are on; most_nodes 0: no limit */
};

#define NBCOLL_RULES 4096 /* at most so many in a communicator */

/* Can these rules stand in a communicator? Any thread. Errors: ERR_NULL (rules, or an algorithm), ERR_LIMIT (more than
 * NBCOLL_RULES), ERR_CONFIG (a range that is empty, a negative number of ranks or nodes, no such topology, an algorithm
 * of no operation, or whose size, name or function is missing), ERR_UNSUPPORTED (a parameter that the algorithm, as its
 * flags say, does not read); *which, if it is not null, is the first rule refused. */
NBCOLL_API nbcoll_status nbcoll_rules_check(const nbcoll_rule rules[], size_t n, size_t *which);

/* ---- choosing ---------------------------------------------------------------------------------------------------- */

/* What the choice reads beside the arguments. */
typedef struct nbcoll_terms {
    size_t size;
    int ranks;
    int shared;     /* all ranks share memory */
    uint32_t flags; /* of the communicator */
    nbcoll_level between; /* nodes; on one node, all messages. eager 0: 4096 */
    size_t large;   /* NBCOLL_BY_COST, or bytes from which algorithms for large data are chosen */
    const nbcoll_rule *rules;
    size_t rule_count;
    uint32_t credits; /* so many messages that are not announced from one rank to another at once; 0: any number */
    uint32_t staging; /* bytes of a rank's copies of what it exposes, in shared memory; 0: there are none */
    const nbcoll_nodes *nodes; /* null: one. A communicator's own table, which lives as long as it */
    nbcoll_level inside;       /* a node, where there are several. eager 0: nothing is known of the inside, and costs
                                  are those of one node. What a rank combines and copies costs as in `between` */
    int nodes_share;           /* the ranks of each node share memory */
    uint32_t interfaces;       /* of a node, to others, that its ranks share; 0: each rank has its own */
    nbcoll_level domain;       /* inside a domain of a node; eager 0: as inside the node */
    uint32_t progress_cores;   /* of drivers, beside the ranks' own (nbcoll_comm_config); 0: none are known */
    uint32_t table_ns;         /* of finding a reader's own part in a cell; 0: five posts. A communicator's is 0: no
                                  transport has a price for it */
    size_t carries;            /* 1 + the bytes of a rank's block (of the root's) up to which relays carry out calls; 0:
                                  none are open */
    uint32_t staging_part;     /* bytes of a part in the staging buffer, at most (nbcoll_shared.staging_part); 0: any */
    uint32_t ranks_per_core;   /* of a node whose ranks share memory, the only one: so many take turns on a core when
                                  all are at work, as the prices say. Bytes that one moves alone cost less. 0: 1 */
} nbcoll_terms;

/* The terms of a communicator, as agreed, and with `carries` as it is now. The rules are its own, and stay as long as
 * it. Any thread. Errors: ERR_NULL, ERR_CONFIG (size). */
NBCOLL_API nbcoll_status nbcoll_comm_terms(const nbcoll_comm *comm, nbcoll_terms *out);

/* Append-only. */
#define NBCOLL_REASON_LIST(X)                                                                                          \
    X(RULE, "a rule says so")                                                                                          \
    X(SHARED, "all ranks share memory")                                                                                \
    X(COST, "the cost model finds it cheapest")                                                                        \
    X(SIZE, "so many bytes are on its side of the limit")                                                              \
    X(ONLY, "the one that the size asks for may not serve this call")                                                  \
    X(RELAYS, "relays carry out calls so short")
typedef enum nbcoll_reason {
#define NBCOLLI_REASON_ENUM(name, text) NBCOLL_REASON_##name,
    NBCOLL_REASON_LIST(NBCOLLI_REASON_ENUM)
#undef NBCOLLI_REASON_ENUM
        NBCOLL_REASON_COUNT
} nbcoll_reason;

/* "RULE", and the text. Never null; any value is accepted. Any thread. */
NBCOLL_API const char *nbcoll_reason_name(nbcoll_reason reason);
NBCOLL_API const char *nbcoll_reason_text(nbcoll_reason reason);

typedef struct nbcoll_choice {
    size_t size;
    const nbcoll_algorithm *algorithm;
    nbcoll_reason reason;
    unsigned arity, ports, split, leaders;
    size_t segment; /* these five: as the rule says; else those of the arguments, or by COST the cheapest ones for what
                       is 0 there and the algorithm reads */
    size_t rule;    /* RULE: its index; else rule_count */
    size_t bytes;   /* as rules count them */
} nbcoll_choice;

/* Which algorithm serves a call with these arguments, completed by nbcoll_args_complete for any rank, and why: what a
 * communicator of these terms does. Any thread. Errors: ERR_NULL, ERR_CONFIG (a size), ERR_ARGUMENT (no such
 * operation), ERR_RANK (no ranks), ERR_UNSUPPORTED (no algorithm may serve it), those of nbcoll_rules_check. */
NBCOLL_API nbcoll_status nbcoll_select(const nbcoll_terms *terms, const nbcoll_args *a, nbcoll_choice *out);

/* What the cost model says of an algorithm, in nanoseconds (UINT64_MAX: or more), or its own cost function does. May be
 * asked of any algorithm, chosen or not; with the parameters of the arguments, or the cheapest ones for those that are
 * 0. Any thread. Errors: those of nbcoll_select but for the rules', which are not looked at; ERR_OP (it reorders, and
 * the reduction does not commute), ERR_UNSUPPORTED (its cost is not known; it needs counts that are bound; it exposes
 * memory, and not all ranks share it). */
NBCOLL_API nbcoll_status nbcoll_predict(const nbcoll_terms *terms, const nbcoll_args *a,
                                        const nbcoll_algorithm *algorithm, uint64_t *ns);

/* How many levels of a binomial tree to leave to the ranks, so that a call takes least time, if progress drivers have
 * `cores - ranks` cores: the model of split.h for a graph of steps, without levels. The simulator finds the same number
 * best. Communicators whose `progress_cores` are known take it (nbcoll_comm_config). 0 where the model says nothing.
 * Any thread. */
NBCOLL_API unsigned nbcoll_split_steps(nbcoll_operation operation, int ranks, int cores);

NBCOLLI_END
#endif
