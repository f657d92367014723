/* SPDX-License-Identifier: BSD-3-Clause */
#include "comm.h"

#include "nbcoll/select.h"
#include "area.h"
#include "cache.h"
#include "executors.h"
#include "requests.h"
#include "vote.h"
#include "../wire/channel.h"
#include "../run/queue.h"
#include "../../host/host.h"
#include "../../schedule/nodes.h"

const nbcolli_tombstone *nbcolli_find_tombstone(const nbcolli_link *link, uint64_t id)
{
    const nbcolli_tombstone *tombstone = link->tombstones;
    while (tombstone && tombstone->id != id)
        tombstone = tombstone->next;
    return tombstone;
}

nbcoll_status nbcolli_comm_config_read(const nbcoll_comm_config *given, nbcoll_comm_config *config)
{
    *config = (nbcoll_comm_config)NBCOLL_COMM_DEFAULTS;
    nbcoll_status s = given ? nbcolli_copy_tagged(config, given, sizeof *config) : NBCOLL_OK;
    if (s != NBCOLL_OK)
        return s;
    if (!nbcolli_slots_are_possible(config->slots, config->cells) ||
        config->schedules < 1 || config->schedules > 65536 ||
        config->flags & ~(NBCOLL_REPRODUCIBLE | NBCOLL_COUNTS_KNOWN | NBCOLL_ARRIVAL_TOLERANT | NBCOLL_CHECKED))
        return NBCOLL_ERR_CONFIG;
    return nbcoll_rules_check(config->rules, config->rule_count, NULL);
}

/* By its agent. Refused, it is gone. */
static nbcoll_status nbcolli_comm_serve(nbcoll_comm *comm)
{
    nbcolli_executor *e;
    nbcoll_status s = nbcolli_agent_does(comm->config.agent)->serve(comm->config.agent, comm, &e);

    if (s != NBCOLL_OK) {
        nbcolli_comm_destroy(comm);
        return s;
    }
    nbcolli_executor_join(e);
    nbcolli_executor_watch(e);
    return NBCOLL_OK;
}

nbcoll_status nbcolli_comm_open(nbcolli_link *link, const nbcoll_comm_config *config, int most, nbcoll_comm **out)
{
    nbcoll_context *c = link->context;
    int has_shared = link->first->transport.shared != NULL && config->cells > 0;
    size_t slots = nbcolli_lines(sizeof(nbcoll_comm));
    size_t peers = slots + nbcolli_lines(config->slots * sizeof(nbcolli_slot));
    size_t told = peers + nbcolli_lines((size_t)most * sizeof(nbcolli_peer));
    size_t cache = told + nbcolli_lines((size_t)most * sizeof(nbcolli_told));
    size_t exposed = cache + nbcolli_lines(nbcolli_cache_buckets(config->schedules) * sizeof(nbcolli_cached *));
    size_t counts = has_shared ? (size_t)config->slots * (size_t)most : 0;
    size_t rules = exposed + nbcolli_lines(counts * sizeof(uint16_t));
    size_t node = rules + nbcolli_lines(config->rule_count * sizeof(nbcoll_rule));
    size_t domain = node + nbcolli_lines(nbcolli_nodes_ints(most) * sizeof(int));
    size_t parts = domain + nbcolli_lines(nbcolli_nodes_ints(most) * sizeof(int));
    size_t memory = parts + nbcolli_lines(has_shared ? (size_t)most * sizeof(unsigned char *) : 0);
    unsigned char *block = nbcolli_alloc(&c->host, memory, 64);

    nbcolli_tombstone *tombstone =
        block ? nbcolli_alloc(&c->host, sizeof *tombstone, _Alignof(nbcolli_tombstone)) : NULL;
    if (!tombstone) {
        nbcolli_free(&c->host, block, memory);
        return NBCOLL_ERR_MEMORY;
    }
    memset(block, 0, memory);
    nbcoll_comm *comm = (nbcoll_comm *)(void *)block;
    comm->context = c;
    comm->link = link;
    comm->id = NBCOLLI_NO_COMM;
    comm->memory = memory;
    comm->config = *config;
    comm->failure.rank = comm->failure.other = -1;
    comm->failure.comm = comm;
    comm->tombstone = tombstone;
    comm->slot = (nbcolli_slot *)(void *)(block + slots);
    for (uint32_t i = 0; i < config->slots; i++)
        comm->slot[i].own_word = &comm->nothing;
    comm->peer = (nbcolli_peer *)(void *)(block + peers);
    comm->told = (nbcolli_told *)(void *)(block + told);
    comm->started = comm->started_here;
    nbcolli_cache_open(comm, (nbcolli_cached **)(void *)(block + cache));
    comm->exposed = (uint16_t *)(void *)(block + exposed);
    comm->parts = (unsigned char **)(void *)(block + parts);
    comm->node = (int *)(void *)(block + node);
    comm->domain = (int *)(void *)(block + domain);
    comm->nodes = (nbcoll_nodes){sizeof comm->nodes, most, 1, 1, NULL, NULL, NULL, NULL, NULL};
    comm->lacking = comm->leader = -1;
    if (config->rule_count)
        comm->config.rules = memcpy(block + rules, config->rules, config->rule_count * sizeof(nbcoll_rule));
    comm->sister_at = &c->comms;
    comm->sister = c->comms;
    if (comm->sister)
        comm->sister->sister_at = &comm->sister;
    c->comms = comm;
    *out = comm;
    return config->agent ? nbcolli_comm_serve(comm) : NBCOLL_OK;
}

int nbcolli_has_ranks_of_endpoint(const nbcoll_comm *comm)
{
    int is_all = comm->size == comm->link->endpoint->ranks;
    for (int rank = 0; rank < comm->size && is_all; rank++)
        is_all = comm->peer[rank].home == rank;
    return is_all;
}

void nbcolli_comm_register(nbcoll_comm *comm)
{
    nbcoll_comm **bucket = &comm->link->bucket[(comm->id ^ comm->id >> 32) % NBCOLLI_COMM_BUCKETS];
    comm->next = *bucket;
    *bucket = comm;
    comm->listed = 1;
}

nbcoll_comm *nbcolli_comm_find(const nbcolli_link *link, uint64_t id)
{
    nbcoll_comm *comm = link->home->bucket[(id ^ id >> 32) % NBCOLLI_COMM_BUCKETS];
    while (comm && comm->id != id)
        comm = comm->next;
    return comm;
}

void nbcolli_comm_join(nbcoll_comm *comm, int place, const nbcolli_peer *peer)
{
    nbcolli_link *link = peer->link;
    comm->peer[place] = (nbcolli_peer){.link = link, .address = peer->address, .home = peer->home,
                                       .pair = &link->pair[peer->address], .is_near = peer->is_near};
    if (comm->link->starved || link->loss[peer->address] != NBCOLLI_HERE) {
        link->losses++; /* the communicator must learn of earlier losses */
        comm->context->news = 1;
    }
}

static void nbcolli_comm_unregister(nbcoll_comm *comm)
{
    nbcoll_comm **at = &comm->link->bucket[(comm->id ^ comm->id >> 32) % NBCOLLI_COMM_BUCKETS];
    while (*at != comm)
        at = &(*at)->next;
    *at = comm->next;
}

/* If all went well no message can come any more. A first one that was not made is known to ranks that have it, however
 * well its vote ended here; nothing will be started on it. */
static void nbcolli_comm_bury(nbcoll_comm *comm)
{
    nbcolli_tombstone *tombstone = comm->tombstone;

    if (!comm->listed || !(comm->making || comm->failed_floor || nbcolli_broken(comm))) {
        nbcolli_free(&comm->context->host, tombstone, sizeof *tombstone);
        return;
    }
    *tombstone = (nbcolli_tombstone){comm->link->tombstones, comm->id,
                                     nbcolli_broken(comm) || comm->making ? UINT64_MAX : comm->failed_floor};
    comm->link->tombstones = tombstone;
}

void nbcolli_comm_unmade(nbcoll_comm *comm)
{
    nbcolli_tombstone *tombstone = comm->tombstone;

    if (comm->listed)
        return;
    *tombstone = (nbcolli_tombstone){comm->link->unmade, comm->vote_comm, comm->vote_tag};
    comm->link->unmade = tombstone;
    comm->tombstone = NULL;
}

void nbcolli_comm_destroy(nbcoll_comm *comm)
{
    nbcoll_context *c = comm->context;

    nbcolli_caller_lock(c);
    while (comm->persistent.first)
        nbcolli_request_retire(c, NBCOLLI_HOLDER(nbcolli_request, listed, comm->persistent.first));
    nbcolli_cache_clear(comm);
    nbcolli_caller_unlock(c);
    while (comm->pending_revokes)
        nbcolli_pending_drop(comm, &comm->pending_revokes);
    if (comm->listed)
        nbcolli_comm_unregister(comm);
    nbcolli_executors_free(comm);
    nbcolli_comm_bury(comm);
    nbcolli_channels_forget(comm);
    nbcolli_area_leave(comm);
    nbcolli_ballot_free(comm);
    if (c->round == comm)
        c->round = comm->sister;
    *comm->sister_at = comm->sister; /* no search: a context may have many */
    if (comm->sister)
        comm->sister->sister_at = comm->sister_at;
    nbcolli_free(&c->host, comm, comm->memory);
}
