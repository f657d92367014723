/* SPDX-License-Identifier: BSD-3-Clause
 * Programs by which a communicator's agent carries out collectives: see programs.h. */
#include "programs.h"

#include "nbcoll/select.h"
#include "../exposures/cells.h"
#include "../../arguments/arguments.h"
#include "../../host/host.h"
#include "../../offload/offload.h"

nbcoll_status nbcolli_agent_suits(const nbcoll_context *c, const nbcoll_agent *agent, const nbcoll_endpoint *ep)
{
    if (!agent)
        return NBCOLL_OK;
    if (nbcolli_agent_endpoint(agent) != ep)
        return NBCOLL_ERR_UNSUPPORTED;
    /* Agents number the queue pairs of an endpoint alike, and programs of two communicators have no order. */
    for (const nbcoll_comm *comm = c->comms; comm; comm = comm->sister)
        if (comm->config.agent && (comm->config.agent == agent ||
                                   (comm->link->endpoint == ep && !nbcolli_agent_process(agent))))
            return NBCOLL_ERR_BUSY;
    return NBCOLL_OK;
}

int nbcolli_has_ranks_of_endpoint(const nbcoll_comm *comm)
{
    int is_all = comm->size == comm->link->endpoint->ranks;
    for (int rank = 0; rank < comm->size && is_all; rank++)
        is_all = comm->peer[rank].home == rank;
    return is_all;
}

uint32_t nbcolli_comm_agent_hash(const nbcoll_comm *comm)
{
    return comm->config.agent ? nbcolli_agent_hash(comm->config.agent) : 0;
}

nbcoll_status nbcolli_programs_refuse(nbcoll_refusal_reason reason, nbcoll_refusal *why)
{
    *why = (nbcoll_refusal){.size = sizeof *why, .reason = reason};
    strncpy(why->text, nbcoll_refusal_text(reason), sizeof why->text - 1);
    return NBCOLL_ERR_UNSUPPORTED;
}

typedef struct nbcolli_programs_node {
    const nbcoll_nodes *nodes;
    int rank;
} nbcolli_programs_node;

static int nbcolli_programs_share(void *user, int peer)
{
    const nbcolli_programs_node *on = user;
    return nbcoll_node_of(on->nodes, on->rank) == nbcoll_node_of(on->nodes, peer);
}

/* The schedules of all ranks: what this rank passes holds for all, but for what only one rank knows and has. `shares`:
 * those of each node expose memory to each other. */
static nbcoll_status nbcolli_programs_build(nbcoll_comm *comm, const nbcoll_args *a, const nbcoll_choice *choice,
                                            int shares, nbcoll_schedule *schedules[])
{
    int is_everywhere = nbcolli_kind_of(a->operation)->in_place == NBCOLLI_EVERYWHERE;
    nbcoll_status status = NBCOLL_OK;
    for (int rank = 0; rank < comm->size && status == NBCOLL_OK; rank++) {
        nbcolli_programs_node on = {&comm->nodes, rank};
        nbcoll_builder_config config = {.size = sizeof config,
                                        .host = &comm->context->host,
                                        .rank = rank,
                                        .ranks = comm->size,
                                        .shares = shares ? nbcolli_programs_share : NULL,
                                        .shares_user = &on,
                                        .cells = comm->config.cells,
                                        .nodes = &comm->nodes};
        nbcoll_args args = *a;
        args.segment = choice->segment;
        args.arity = choice->arity;
        args.ports = choice->ports;
        args.split = choice->split;
        args.leaders = choice->leaders;
        args.in_place = a->in_place && (is_everywhere || rank == comm->rank);
        status = nbcoll_args_complete(&args, rank, comm->size);
        if (status == NBCOLL_OK)
            status = nbcoll_build_schedule(choice->algorithm, &args, &config, &schedules[rank]);
    }
    return status;
}

/* Chosen as for ranks that share no memory, but for those of a node. */
static nbcoll_status nbcolli_programs_choose(nbcoll_comm *comm, const nbcoll_args *args, nbcoll_choice *choice)
{
    nbcoll_terms terms = {.size = sizeof terms};
    nbcoll_comm_terms(comm, &terms);
    terms.shared = 0;
    terms.nodes_share = comm->nodes_share;
    terms.carries = 0;
    return nbcoll_select(&terms, args, choice);
}

static void nbcolli_programs_drop(const nbcoll_comm *comm, nbcoll_schedule *schedules[])
{
    for (int rank = 0; rank < comm->size; rank++) {
        if (schedules[rank])
            nbcolli_schedule_delete(schedules[rank]);
        schedules[rank] = NULL;
    }
}

/* Ranks of a node meet in memory, and the agents do what is between nodes. */
static nbcoll_status nbcolli_programs_cut(nbcoll_comm *comm, const nbcoll_args *args, const nbcoll_choice *choice,
                                          nbcoll_schedule *schedules[], nbcoll_schedule **out, nbcoll_refusal *why)
{
    if (!comm->nodes_share)
        return nbcolli_programs_refuse(NBCOLL_REFUSAL_APART, why);
    nbcoll_status status = nbcolli_programs_build(comm, args, choice, 1, schedules);
    for (int rank = 0; rank < comm->size && status == NBCOLL_OK; rank++)
        if (!nbcolli_cells_suffice(comm, schedules[rank]))
            status = nbcolli_programs_refuse(NBCOLL_REFUSAL_CELLS, why);
    if (status == NBCOLL_OK)
        status = nbcolli_agent_cut(comm->config.agent, (const nbcoll_schedule *const *)schedules, comm->size,
                                   comm->rank, out, why);
    nbcolli_programs_drop(comm, schedules);
    return status;
}

/* The agents do all. */
static nbcoll_status nbcolli_programs_whole(nbcoll_comm *comm, const nbcoll_args *args, const nbcoll_choice *choice,
                                            nbcoll_schedule *schedules[], nbcoll_schedule **out, nbcoll_refusal *why)
{
    nbcoll_program *program;
    nbcoll_status status = nbcolli_programs_build(comm, args, choice, 0, schedules);
    if (status == NBCOLL_OK)
        status = nbcolli_agent_compile(comm->config.agent, (const nbcoll_schedule *const *)schedules, comm->size,
                                       comm->rank, NULL, &program, why);
    if (status == NBCOLL_OK) {
        *out = schedules[comm->rank];
        schedules[comm->rank] = NULL;
        (*out)->program = program;
        (*out)->free_program = nbcoll_program_free;
    }
    nbcolli_programs_drop(comm, schedules);
    return status;
}

/* In three parts, if that is possible; else as a whole. *why is of all its size. */
static nbcoll_status nbcolli_programs_make(nbcoll_comm *comm, const nbcoll_args *args, const nbcoll_choice *choice,
                                           nbcoll_schedule *schedules[], nbcoll_schedule **out, nbcoll_refusal *why)
{
    nbcoll_status status = NBCOLL_ERR_UNSUPPORTED;
    nbcoll_refusal whole = {.size = sizeof whole};

    if (choice->algorithm->flags & NBCOLL_ALGORITHM_NODES)
        status = nbcolli_programs_cut(comm, args, choice, schedules, out, why);
    if (status != NBCOLL_ERR_UNSUPPORTED) {
        why->parts = status == NBCOLL_OK ? 3 : 0;
        return status;
    }
    status = nbcolli_programs_whole(comm, args, choice, schedules, out, &whole);
    if (status != NBCOLL_OK)
        *why = whole;
    else
        why->parts = 1;
    return status;
}

nbcoll_status nbcolli_comm_compile(nbcoll_comm *comm, const nbcoll_args *args, nbcoll_schedule **out,
                                   nbcoll_refusal *why)
{
    if (!comm->config.agent)
        return nbcolli_programs_refuse(NBCOLL_REFUSAL_AGENT, why);
    if (nbcolli_kind_of(args->operation)->blocks == NBCOLLI_OWN && args->counts) /* of other ranks nobody knows them */
        return nbcolli_programs_refuse(NBCOLL_REFUSAL_BLOCKS, why);
    nbcoll_choice choice = {.size = sizeof choice};
    nbcoll_status status = nbcolli_programs_choose(comm, args, &choice);
    if (status != NBCOLL_OK)
        return status;
    size_t bytes = (size_t)comm->size * sizeof(nbcoll_schedule *);
    nbcoll_schedule **schedules = nbcolli_alloc(&comm->context->host, bytes, sizeof *schedules);
    if (!schedules)
        return NBCOLL_ERR_MEMORY;
    memset(schedules, 0, bytes);
    status = nbcolli_programs_make(comm, args, &choice, schedules, out, why);
    nbcolli_free(&comm->context->host, schedules, bytes);
    return status;
}
