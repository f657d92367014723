/* SPDX-License-Identifier: BSD-3-Clause
 * Operations over relays, whoever moves these: which have been started, and what of their blocks has come. */
#include "../engine/run/fail.h"
#include "../engine/progress/lock.h"
#include "../reduce/reduce.h"
#include "relays.h"

#define NBCOLLI_RELAYS_MOST 1024u    /* operations, and fragments of a block */
#define NBCOLLI_RELAYS_PLACES 32768u /* of a stream */
#define NBCOLLI_RELAYS_FRAGMENT (1u << 30)

/* ---- made -------------------------------------------------------------------------------------------------------- */

static nbcoll_status nbcolli_relays_check(const nbcoll_relays_config *c)
{
    if ((unsigned)c->topology >= NBCOLL_TOPOLOGY_COUNT || c->at_once < 1 || c->at_once > NBCOLLI_RELAYS_MOST ||
        c->fragments < 1 || c->fragments > NBCOLLI_RELAYS_MOST || c->fragment < 1 ||
        c->fragment > NBCOLLI_RELAYS_FRAGMENT || c->carries > (size_t)c->fragments * c->fragment ||
        NBCOLLI_RELAYS_BATCHES * c->at_once * c->fragments > NBCOLLI_RELAYS_PLACES || c->by_agents > 1 ||
        c->hierarchical > 1)
        return NBCOLL_ERR_CONFIG;
    return NBCOLL_OK;
}

uint32_t nbcolli_relays_fingerprint(const nbcoll_relays_config *c)
{
    const uint64_t carries = c->carries; /* up to 2^40 */
    const uint32_t low = (uint32_t)carries, high = (uint32_t)(carries >> 32), topology = (uint32_t)c->topology;
    const uint32_t all[] = {topology, c->ports, c->at_once, c->fragments, c->fragment,
                            low,    high,     c->hierarchical, c->by_agents};
    uint32_t sum = 0;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        sum = (sum ^ all[i]) * 0x9e3779b1u;
    return sum;
}

nbcoll_status nbcolli_relays_make_comms(nbcoll_relays *r, int n, nbcolli_twin twin[])
{
    return nbcolli_comm_idups(r->comm, (int)(nbcolli_relays_fingerprint(&r->config) >> 1 | 1), n, twin, &r->opening);
}

static void nbcolli_relays_break_comm(nbcoll_relays *r, nbcoll_comm *comm, int rank, nbcoll_status why)
{
    if (nbcolli_enter(r->context) != NBCOLL_OK)
        return;
    nbcolli_comm_break(comm, rank, why, comm->taken);
    nbcolli_leave(r->context, NBCOLL_OK);
}

void nbcolli_relays_out_of_step(nbcoll_relays *r)
{
    nbcolli_relays_break_comm(r, r->comm, -1, NBCOLL_ERR_MISMATCH);
}

void nbcolli_relays_break_flow(nbcoll_relays *r, const nbcolli_relays_flow *flow)
{
    if (flow->comm)
        nbcolli_relays_break_comm(r, flow->comm, r->rank, NBCOLL_ERR_CANCELLED);
}

void nbcolli_relays_break_lost(nbcoll_relays *r)
{
    nbcoll_failure failure = {.status = NBCOLL_OK};
    for (int i = 0; i < nbcolli_relays_flows(r) && failure.status != NBCOLL_ERR_PEER_LOST; i++)
        if (nbcolli_relays_any_flow(r, i)->comm)
            nbcoll_comm_failure(nbcolli_relays_any_flow(r, i)->comm, &failure);
    for (int i = 0; i < nbcolli_relays_flows(r) && failure.status == NBCOLL_ERR_PEER_LOST; i++)
        if (nbcolli_relays_any_flow(r, i)->comm)
            nbcolli_relays_break_comm(r, nbcolli_relays_any_flow(r, i)->comm, failure.rank, NBCOLL_ERR_PEER_LOST);
}

nbcoll_status nbcolli_relays_copy_config(const nbcoll_relays_config *from, nbcoll_relays_config *to, nbcoll_host *host)
{
    *to = (nbcoll_relays_config)NBCOLL_RELAYS_DEFAULTS;
    *host = (nbcoll_host){.size = sizeof *host};
    if (from && nbcolli_copy_tagged(to, from, sizeof *to) != NBCOLL_OK)
        return NBCOLL_ERR_CONFIG;
    if (to->host && nbcolli_copy_tagged(host, to->host, sizeof *host))
        return NBCOLL_ERR_CONFIG;
    to->ports = to->ports ? to->ports : NBCOLLI_TOPOLOGY_PORTS; /* ranks that mean the same do not differ */
    return nbcolli_relays_check(to);
}

/* The operations themselves. */
static nbcoll_status nbcolli_relays_reserve_operations(nbcoll_relays *r)
{
    r->operation = nbcolli_arena_take(&r->arena, r->config.at_once, sizeof *r->operation);
    if (!r->operation)
        return NBCOLL_ERR_MEMORY;
    for (uint32_t i = 0; i < r->config.at_once; i++)
        if (!(r->operation[i].come = nbcolli_arena_take(&r->arena, (size_t)r->ranks, sizeof(uint32_t))))
            return NBCOLL_ERR_MEMORY;
    return NBCOLL_OK;
}

/* Neither the context is freed before relays are closed, nor the communicator where they need it that long. */
static nbcoll_status nbcolli_relays_hold(nbcoll_relays *r, uint32_t by)
{
    const nbcoll_relays_config *c = &r->config;
    nbcoll_status s = nbcolli_enter(r->context);
    if (s != NBCOLL_OK)
        return s;
    r->context->holders += by;
    if (c->by_agents || c->hierarchical || c->carries)
        r->comm->holders += by;
    return nbcolli_leave(r->context, NBCOLL_OK);
}

nbcoll_status nbcolli_relays_new(nbcoll_comm *comm, const nbcoll_relays_config *config, const nbcoll_host *host,
                                 const nbcolli_relays_kind *kind, nbcoll_relays **out)
{
    nbcolli_arena arena = {.host = *host};
    nbcoll_relays *r = nbcolli_arena_take(&arena, 1, sizeof *r);
    if (!r)
        return NBCOLL_ERR_MEMORY;
    r->config = *config;
    r->arena = arena;
    r->kind = kind;
    r->comm = comm;
    r->context = comm->context;
    r->rank = nbcoll_comm_rank(comm);
    r->ranks = nbcoll_comm_size(comm);
    r->batch = r->config.at_once * r->config.fragments;
    r->status = NBCOLL_PENDING;
    nbcoll_status s = nbcolli_relays_hold(r, 1);
    if (s != NBCOLL_OK) {
        arena = r->arena;
        nbcolli_arena_close(&arena);
        return s;
    }
    s = nbcolli_relays_reserve_operations(r);
    if (s == NBCOLL_OK)
        *out = r;
    else
        nbcolli_relays_discard(r);
    return s;
}

void nbcolli_relays_discard(nbcoll_relays *r)
{
    nbcolli_relays_close_notice(r);
    nbcolli_relays_hold(r, UINT32_MAX); /* one less */
    nbcolli_arena arena = r->arena;
    nbcolli_arena_close(&arena);
}

/* ---- what comes -------------------------------------------------------------------------------------------------- */

/* Fragments by which that rank's block comes, or by which it says that it has started the operation. */
static uint32_t nbcolli_relays_need(const nbcoll_relays *r, const nbcolli_relays_operation *o, int rank)
{
    return nbcolli_relays_contributes(o, rank) ? o->need : r->kind->marks;
}

/* Has all come, or been sent, that comes of that rank's? */
static int nbcolli_relays_has_all(const nbcoll_relays *r, const nbcolli_relays_operation *o, int rank)
{
    return o->come[rank] == nbcolli_relays_need(r, o, rank);
}

/* One more has come, or been sent. */
static void nbcolli_relays_count(const nbcoll_relays *r, nbcolli_relays_operation *o, int rank)
{
    if (++o->come[rank] < nbcolli_relays_need(r, o, rank))
        return;
    o->awaited--;
    o->missing -= (uint32_t)(nbcolli_relays_contributes(o, rank) && !o->is_revoked);
}

/* Nothing more comes of that rank's: it has said that the operation is revoked. */
static void nbcolli_relays_count_out(const nbcoll_relays *r, nbcolli_relays_operation *o, int rank)
{
    if (nbcolli_relays_has_all(r, o, rank))
        return;
    o->come[rank] = nbcolli_relays_need(r, o, rank);
    o->awaited--;
}

static nbcolli_relays_fragment nbcolli_relays_next(const nbcoll_relays *r, const nbcolli_relays_operation *o, int rank)
{
    size_t offset = (size_t)o->come[rank] * r->config.fragment;
    size_t rest = nbcolli_relays_contributes(o, rank) ? o->bytes - offset : 0;
    size_t length = rest < r->config.fragment ? rest : r->config.fragment;
    return (nbcolli_relays_fragment){o->number, o->bytes, offset, length};
}

void nbcolli_relays_revoke(nbcoll_relays *r, nbcolli_relays_operation *o, int tells)
{
    o->is_revoked = 1;
    o->tells = tells || !nbcolli_relays_has_all(r, o, r->rank);
    o->missing = 0;
    r->telling += (uint32_t)o->tells;
}

void nbcolli_relays_take(nbcoll_relays *r, int origin, const nbcolli_relays_fragment *f)
{
    nbcolli_relays_operation *o = nbcolli_relays_operation_at(r, f->operation);
    if (o->number > f->operation) /* one that has ended: somebody has revoked it since, or others did not know that */
        return;
    int is_of = o->number == f->operation && o->bytes == f->bytes;
    if (is_of && f->offset == NBCOLLI_RELAYS_REVOKED) {
        if (o->missing)
            nbcolli_relays_revoke(r, o, 0);
        nbcolli_relays_count_out(r, o, origin);
        return;
    }
    const nbcolli_relays_fragment next = nbcolli_relays_next(r, o, origin);
    if (!is_of || nbcolli_relays_has_all(r, o, origin) || next.offset != f->offset || next.length != f->length) {
        r->status = NBCOLL_ERR_MISMATCH;
        return;
    }
    char *block = o->recv + (o->root < 0 ? (size_t)origin * o->bytes : 0);
    if (next.length && !o->is_revoked)
        memcpy(block + next.offset, f + 1, next.length);
    nbcolli_relays_count(r, o, origin);
}

/* ---- what goes --------------------------------------------------------------------------------------------------- */

/* Has it been said that it is revoked? */
static int nbcolli_relays_tell(nbcoll_relays *r, nbcolli_relays_operation *o)
{
    const nbcolli_relays_fragment f = {o->number, o->bytes, NBCOLLI_RELAYS_REVOKED, 0};
    if (!o->tells || !r->kind->send(r, &f, NULL))
        return !o->tells;
    o->tells = 0;
    r->telling--;
    nbcolli_relays_count_out(r, o, r->rank);
    return 1;
}

static int nbcolli_relays_send_block(nbcoll_relays *r, nbcolli_relays_operation *o)
{
    if (o->is_revoked)
        return nbcolli_relays_tell(r, o);
    while (!nbcolli_relays_has_all(r, o, r->rank)) {
        const nbcolli_relays_fragment f = nbcolli_relays_next(r, o, r->rank);
        if (!r->kind->send(r, &f, o->send ? o->send + f.offset : NULL))
            return 0;
        nbcolli_relays_count(r, o, r->rank);
    }
    return 1;
}

void nbcolli_relays_send_blocks(nbcoll_relays *r)
{
    for (; r->status == NBCOLL_OK && r->sending <= r->last; r->sending++) {
        nbcolli_relays_operation *o = nbcolli_relays_operation_at(r, r->sending);
        if (o->number == r->sending && !nbcolli_relays_send_block(r, o))
            break;
    }
    for (uint32_t i = 0; i < r->config.at_once && r->status == NBCOLL_OK && r->telling; i++)
        if (r->operation[i].number < r->sending) /* its block has gone before */
            nbcolli_relays_tell(r, &r->operation[i]);
}

/* ---- started ----------------------------------------------------------------------------------------------------- */

nbcoll_status nbcolli_relays_begin_operation(nbcoll_relays *r, nbcolli_relays_operation o, const void *own,
                                             uint64_t *operation)
{
    nbcolli_relays_operation *at = nbcolli_relays_operation_at(r, r->last + 1);
    if (r->status == NBCOLL_PENDING || (r->status == NBCOLL_OK && r->is_closing))
        return NBCOLL_ERR_BUSY;
    if (r->status != NBCOLL_OK)
        return r->status;
    if (o.bytes > (size_t)r->config.fragments * r->config.fragment)
        return NBCOLL_ERR_COUNT;
    /* Where ranks say that they have started it nobody is more than F ahead, not even of one that is revoked. */
    if ((r->kind->marks ? at->awaited : at->missing) || at->tells)
        return NBCOLL_ERR_BUSY;
    size_t mine = o.root < 0 ? (size_t)r->rank * o.bytes : 0;
    if (o.request && nbcolli_packs(o.request->blocks[1].type)) {
        o.failed = nbcolli_relays_pack(r, &o);
        o.is_revoked = o.tells |= o.failed != NBCOLL_OK;
    } else if (own && o.bytes)
        memcpy(o.recv + mine, own, o.bytes);
    o.send = o.bytes ? o.recv + mine : NULL;
    o.number = ++r->last;
    o.need = o.bytes ? (uint32_t)((o.bytes + r->config.fragment - 1) / r->config.fragment) : 1;
    o.missing = o.root < 0 ? (uint32_t)r->ranks : 1;
    o.awaited = r->kind->marks ? (uint32_t)r->ranks : o.missing;
    if (o.is_revoked)
        o.missing = 0;
    r->telling += (uint32_t)o.tells;
    o.come = at->come;
    memset(o.come, 0, (size_t)r->ranks * sizeof *o.come);
    *at = o;
    r->kind->move(r);
    *operation = o.number;
    return NBCOLL_OK;
}
