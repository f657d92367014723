/* SPDX-License-Identifier: BSD-3-Clause
 * Programs by which a communicator's agent carries out collectives: see calls.h. */
#include "calls.h"

#include "nbcoll/select.h"
#include "offload.h"
#include "../engine/exposures/cells.h"
#include "../engine/comm/executors.h"
#include "../engine/progress/lock.h"
#include "../host/host.h"
#include "../select/select.h"

/* Says why there is none; returns ERR_UNSUPPORTED. */
static nbcoll_status nbcolli_calls_refuse(nbcoll_refusal_reason reason, nbcoll_refusal *why)
{
    *why = (nbcoll_refusal){.size = sizeof *why, .reason = reason};
    strncpy(why->text, nbcoll_refusal_text(reason), sizeof why->text - 1);
    return NBCOLL_ERR_UNSUPPORTED;
}

typedef struct nbcolli_calls_node {
    const nbcoll_nodes *nodes;
    int rank;
} nbcolli_calls_node;

static int nbcolli_calls_share(void *user, int peer)
{
    const nbcolli_calls_node *on = user;
    return nbcoll_node_of(on->nodes, on->rank) == nbcoll_node_of(on->nodes, peer);
}

/* The schedules of all ranks: what this rank passes holds for all, but for what only one rank knows and has. `shares`:
 * those of each node expose memory to each other. */
static nbcoll_status nbcolli_calls_build(nbcoll_comm *comm, const nbcoll_args *a, const nbcoll_choice *choice,
                                            int shares, nbcoll_schedule *schedules[])
{
    int is_everywhere = nbcolli_kind_of(a->operation)->in_place == NBCOLLI_EVERYWHERE;
    nbcoll_status status = NBCOLL_OK;
    for (int rank = 0; rank < comm->size && status == NBCOLL_OK; rank++) {
        nbcolli_calls_node on = {&comm->nodes, rank};
        nbcoll_builder_config config = {.size = sizeof config,
                                        .host = &comm->context->host,
                                        .rank = rank,
                                        .ranks = comm->size,
                                        .shares = shares ? nbcolli_calls_share : NULL,
                                        .shares_user = &on,
                                        .cells = comm->config.cells,
                                        .nodes = &comm->nodes};
        nbcoll_args args = *a;
        NBCOLLI_TAKE_PARAMETERS(&args, choice);
        args.in_place = a->in_place && (is_everywhere || rank == comm->rank);
        status = nbcoll_args_complete(&args, rank, comm->size);
        if (status == NBCOLL_OK)
            status = nbcoll_build_schedule(choice->algorithm, &args, &config, &schedules[rank]);
    }
    return status;
}

/* Chosen as for ranks that share no memory, but for those of a node. */
static nbcoll_status nbcolli_calls_choose(nbcoll_comm *comm, const nbcoll_args *args, nbcoll_choice *choice)
{
    nbcoll_terms terms = {.size = sizeof terms};
    nbcoll_comm_terms(comm, &terms);
    terms.shared = 0;
    terms.nodes_share = comm->nodes_share;
    terms.carries = 0;
    return nbcoll_select(&terms, args, choice);
}

static void nbcolli_calls_drop(const nbcoll_comm *comm, nbcoll_schedule *schedules[])
{
    for (int rank = 0; rank < comm->size; rank++) {
        if (schedules[rank])
            nbcolli_schedule_delete(schedules[rank]);
        schedules[rank] = NULL;
    }
}

/* Ranks of a node meet in memory, and the agents do what is between nodes. */
static nbcoll_status nbcolli_calls_cut(nbcoll_comm *comm, const nbcoll_args *args, const nbcoll_choice *choice,
                                          nbcoll_schedule *schedules[], nbcoll_schedule **out, nbcoll_refusal *why)
{
    if (!comm->nodes_share)
        return nbcolli_calls_refuse(NBCOLL_REFUSAL_APART, why);
    nbcoll_status status = nbcolli_calls_build(comm, args, choice, 1, schedules);
    for (int rank = 0; rank < comm->size && status == NBCOLL_OK; rank++)
        if (!nbcolli_cells_suffice(comm, schedules[rank]))
            status = nbcolli_calls_refuse(NBCOLL_REFUSAL_CELLS, why);
    if (status == NBCOLL_OK)
        status = nbcolli_agent_cut(comm->config.agent, (const nbcoll_schedule *const *)schedules, comm->size,
                                   comm->rank, out, why);
    nbcolli_calls_drop(comm, schedules);
    return status;
}

/* The agents do all. */
static nbcoll_status nbcolli_calls_whole(nbcoll_comm *comm, const nbcoll_args *args, const nbcoll_choice *choice,
                                            nbcoll_schedule *schedules[], nbcoll_schedule **out, nbcoll_refusal *why)
{
    nbcoll_program *program;
    nbcoll_status status = nbcolli_calls_build(comm, args, choice, 0, schedules);
    if (status == NBCOLL_OK)
        status = nbcolli_agent_compile(comm->config.agent, (const nbcoll_schedule *const *)schedules, comm->size,
                                       comm->rank, NULL, &program, why);
    if (status == NBCOLL_OK) {
        *out = schedules[comm->rank];
        schedules[comm->rank] = NULL;
        (*out)->program = program;
        (*out)->free_program = nbcoll_program_free;
    }
    nbcolli_calls_drop(comm, schedules);
    return status;
}

/* In three parts, if that is possible; else as a whole. *why is of all its size. */
static nbcoll_status nbcolli_calls_make(nbcoll_comm *comm, const nbcoll_args *args, const nbcoll_choice *choice,
                                           nbcoll_schedule *schedules[], nbcoll_schedule **out, nbcoll_refusal *why)
{
    nbcoll_status status = NBCOLL_ERR_UNSUPPORTED;
    nbcoll_refusal whole = {.size = sizeof whole};

    if (choice->algorithm->flags & NBCOLL_ALGORITHM_NODES)
        status = nbcolli_calls_cut(comm, args, choice, schedules, out, why);
    if (status != NBCOLL_ERR_UNSUPPORTED) {
        why->parts = status == NBCOLL_OK ? 3 : 0;
        return status;
    }
    status = nbcolli_calls_whole(comm, args, choice, schedules, out, &whole);
    if (status != NBCOLL_OK)
        *why = whole;
    else
        why->parts = 1;
    return status;
}

nbcoll_status nbcolli_offload_compile(nbcoll_comm *comm, const nbcoll_args *args, nbcoll_schedule **out,
                                   nbcoll_refusal *why)
{
    if (!comm->config.agent)
        return nbcolli_calls_refuse(NBCOLL_REFUSAL_AGENT, why);
    if (nbcolli_kind_of(args->operation)->blocks == NBCOLLI_OWN && args->counts) /* of other ranks nobody knows them */
        return nbcolli_calls_refuse(NBCOLL_REFUSAL_BLOCKS, why);
    nbcoll_choice choice = {.size = sizeof choice};
    nbcoll_status status = nbcolli_calls_choose(comm, args, &choice);
    if (status != NBCOLL_OK)
        return status;
    size_t bytes = (size_t)comm->size * sizeof(nbcoll_schedule *);
    nbcoll_schedule **schedules = nbcolli_alloc(&comm->context->host, bytes, sizeof *schedules);
    if (!schedules)
        return NBCOLL_ERR_MEMORY;
    memset(schedules, 0, bytes);
    status = nbcolli_calls_make(comm, args, &choice, schedules, out, why);
    nbcolli_free(&comm->context->host, schedules, bytes);
    return status;
}

/* For complete arguments, as a call with them would go. */
static nbcoll_status nbcolli_calls_would(nbcoll_comm *comm, const nbcoll_args *args, nbcoll_refusal *why)
{
    nbcoll_schedule *schedule;
    nbcolli_caller_lock(comm->context);
    int is_carried = nbcolli_executor_taking(comm, args) != NULL;
    nbcolli_caller_unlock(comm->context);
    if (is_carried)
        return nbcolli_calls_refuse(NBCOLL_REFUSAL_CARRIED, why);
    nbcoll_status status = nbcolli_offload_compile(comm, args, &schedule, why);
    if (status == NBCOLL_OK)
        nbcolli_schedule_delete(schedule);
    return status;
}

nbcoll_status nbcoll_comm_offloads(nbcoll_comm *comm, const nbcoll_args *args, nbcoll_refusal *why)
{
    nbcoll_args taken = {0};
    nbcoll_refusal said = {.size = sizeof said};
    if (!comm || !args)
        return NBCOLL_ERR_NULL;
    nbcoll_status status = nbcolli_copy_tagged(&taken, args, sizeof taken);
    if (status != NBCOLL_OK || (why && why->size < sizeof why->size))
        return NBCOLL_ERR_CONFIG;
    status = nbcolli_enter(comm->context);
    if (status != NBCOLL_OK)
        return status;
    status = nbcoll_args_complete(&taken, comm->rank, comm->size);
    if (status == NBCOLL_OK) {
        status = nbcolli_calls_would(comm, &taken, &said);
        if (why) {
            said.size = why->size;
            memcpy(why, &said, said.size < sizeof said ? said.size : sizeof said);
        }
    }
    return nbcolli_leave(comm->context, status);
}
