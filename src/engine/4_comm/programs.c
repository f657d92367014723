/* SPDX-License-Identifier: BSD-3-Clause
 * Programs by which a communicator's agent carries out collectives: see programs.h. */
#include "programs.h"

#include "nbcoll/select.h"
#include "../../arguments/arguments.h"
#include "../../host/host.h"
#include "../../offload/offload.h"

nbcoll_status nbcolli_agent_suits(const nbcoll_agent *agent, const nbcoll_endpoint *ep)
{
    return !agent || nbcolli_agent_endpoint(agent) == ep ? NBCOLL_OK : NBCOLL_ERR_UNSUPPORTED;
}

void nbcolli_agent_given(nbcoll_context *c, nbcoll_agent *agent)
{
    if (agent && nbcolli_agent_endpoint(agent)->owner == c)
        nbcolli_agent_count(agent, &c->agents);
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

/* Says why there is none; returns ERR_UNSUPPORTED. */
static nbcoll_status nbcolli_programs_refuse(nbcoll_refusal_reason reason, nbcoll_refusal *why)
{
    nbcoll_refusal said = {.size = why ? why->size : sizeof said, .reason = reason};
    strncpy(said.text, nbcoll_refusal_text(reason), sizeof said.text - 1);
    if (why)
        memcpy(why, &said, why->size < sizeof said ? why->size : sizeof said);
    return NBCOLL_ERR_UNSUPPORTED;
}

/* The schedules of all ranks: what this rank passes holds for all, but for what only one rank knows and has. */
static nbcoll_status nbcolli_programs_build(nbcoll_comm *comm, const nbcoll_args *a, const nbcoll_choice *choice,
                                            nbcoll_schedule *schedules[])
{
    int is_everywhere = nbcolli_kind_of(a->operation)->in_place == NBCOLLI_EVERYWHERE;
    nbcoll_status status = NBCOLL_OK;
    for (int rank = 0; rank < comm->size && status == NBCOLL_OK; rank++) {
        nbcoll_builder_config config = {.size = sizeof config,
                                        .host = &comm->context->host,
                                        .rank = rank,
                                        .ranks = comm->size,
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

/* Chosen as for ranks that share no memory. */
static nbcoll_status nbcolli_programs_choose(nbcoll_comm *comm, const nbcoll_args *args, nbcoll_choice *choice)
{
    nbcoll_terms terms = {.size = sizeof terms};
    nbcoll_comm_terms(comm, &terms);
    terms.shared = 0;
    terms.carries = 0;
    return nbcoll_select(&terms, args, choice);
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
    nbcoll_program *program = NULL;
    if (!schedules)
        return NBCOLL_ERR_MEMORY;
    memset(schedules, 0, bytes);
    status = nbcolli_programs_build(comm, args, &choice, schedules);
    if (status == NBCOLL_OK)
        status = nbcolli_agent_compile(comm->config.agent, (const nbcoll_schedule *const *)schedules, comm->size,
                                       comm->rank, &program, why);
    for (int rank = 0; rank < comm->size; rank++)
        if (schedules[rank] && (rank != comm->rank || status != NBCOLL_OK))
            nbcolli_schedule_delete(schedules[rank]);
    *out = schedules[comm->rank];
    nbcolli_free(&comm->context->host, schedules, bytes);
    if (status != NBCOLL_OK)
        return status;
    (*out)->program = program;
    (*out)->free_program = nbcoll_program_free;
    return NBCOLL_OK;
}
