/* SPDX-License-Identifier: BSD-3-Clause
 * Operations over topologies, played fragment by fragment: what stores hold, who waits for a credit, and what comes
 * while ranks are late. */
#include "topologies.h"

#define NBCOLLI_RELAYING_NONE UINT32_MAX

/* A connection. Fragments wait for a credit, then are under way, each in the order in which they came. */
typedef struct nbcolli_relaying_connection {
    int from, to;
    uint32_t relay, beyond;            /* at its beginning and at its end */
    uint64_t credits;                  /* of the sender */
    uint64_t held, room;               /* in the store of the receiver */
    uint32_t waiting[2], under_way[2]; /* first and last; NONE */
    uint32_t *next;                    /* [fragments] */
} nbcolli_relaying_connection;

typedef struct nbcolli_relaying {
    const nbcoll_topology *const *topologies;
    const nbcoll_relay_play *play;
    nbcoll_relay_refutation *out;
    uint32_t ranks, fragments, connections; /* all fragments of all operations; all connections */
    uint64_t random;
    nbcolli_relaying_connection *connection;
    uint32_t *outgoing; /* [ranks]: the first connection of each rank, relay by relay */
    uint32_t *by;       /* [ranks][fragments]: 1 + the connection by which it came */
    uint32_t *refs;     /* [ranks][fragments]: who still needs it in the store */
    uint32_t *came;     /* [ranks][operations]: fragments that came */
    uint32_t *started;  /* [ranks] */
    uint32_t *given;    /* [ranks]: operations that it has contributed to */
} nbcolli_relaying;

static uint32_t nbcolli_relaying_number(const nbcolli_relaying *p, uint32_t origin, uint32_t operation, uint32_t index)
{
    return (origin * p->play->operations + operation) * p->play->fragments + index;
}

static uint32_t nbcolli_relaying_operation(const nbcolli_relaying *p, uint32_t fragment)
{
    return fragment / p->play->fragments % p->play->operations;
}

static uint32_t nbcolli_relaying_origin(const nbcolli_relaying *p, uint32_t fragment)
{
    return fragment / p->play->fragments / p->play->operations;
}

/* ---- connections ------------------------------------------------------------------------------------------------- */

static void nbcolli_relaying_put(nbcolli_relaying_connection *connection, uint32_t queue[2], uint32_t fragment)
{
    connection->next[fragment] = NBCOLLI_RELAYING_NONE;
    if (queue[0] == NBCOLLI_RELAYING_NONE)
        queue[0] = fragment;
    else
        connection->next[queue[1]] = fragment;
    queue[1] = fragment;
}

static uint32_t nbcolli_relaying_take(nbcolli_relaying_connection *connection, uint32_t queue[2])
{
    uint32_t fragment = queue[0];
    queue[0] = connection->next[fragment];
    return fragment;
}

static void nbcolli_relaying_pump(nbcolli_relaying *p, nbcolli_relaying_connection *connection);

/* One of those who need it does so no more. */
static void nbcolli_relaying_release(nbcolli_relaying *p, uint32_t rank, uint32_t fragment)
{
    size_t at = (size_t)rank * p->fragments + fragment;
    if (--p->refs[at] || !p->by[at])
        return;
    nbcolli_relaying_connection *connection = &p->connection[p->by[at] - 1];
    connection->held--;
    connection->credits++;
    nbcolli_relaying_pump(p, connection);
}

/* Sends what waits, as far as credits go. */
static void nbcolli_relaying_pump(nbcolli_relaying *p, nbcolli_relaying_connection *connection)
{
    while (connection->credits && connection->waiting[0] != NBCOLLI_RELAYING_NONE) {
        uint32_t fragment = nbcolli_relaying_take(connection, connection->waiting);
        connection->credits--;
        nbcolli_relaying_put(connection, connection->under_way, fragment);
        nbcolli_relaying_release(p, (uint32_t)connection->from, fragment);
    }
}

/* A relay sends what has come to it, or what its rank contributes. */
static void nbcolli_relaying_replicate(nbcolli_relaying *p, uint32_t rank, uint32_t relay, uint32_t fragment)
{
    uint32_t first = p->outgoing[rank], end;
    for (uint32_t i = 0; i < relay; i++)
        first += p->topologies[rank]->relay[i].destinations;
    end = first + p->topologies[rank]->relay[relay].destinations;
    p->refs[(size_t)rank * p->fragments + fragment] += end - first;
    for (uint32_t i = first; i < end; i++)
        nbcolli_relaying_put(&p->connection[i], p->connection[i].waiting, fragment);
    for (uint32_t i = first; i < end; i++)
        nbcolli_relaying_pump(p, &p->connection[i]);
}

/* ---- ranks ------------------------------------------------------------------------------------------------------- */

/* A rank contributes to what it has started, no further ahead of what has come to it than the window. */
static void nbcolli_relaying_contribute(nbcolli_relaying *p, uint32_t rank)
{
    const nbcoll_relay_play *play = p->play;
    while (p->given[rank] < p->started[rank]) {
        uint32_t operation = p->given[rank];
        if (operation >= play->at_once &&
            p->came[(size_t)rank * play->operations + operation - play->at_once] != (p->ranks - 1) * play->fragments)
            return;
        p->given[rank]++;
        for (uint32_t i = 0; i < play->fragments; i++)
            nbcolli_relaying_replicate(p, rank, 0, nbcolli_relaying_number(p, rank, operation, i));
    }
}

static void nbcolli_relaying_start(nbcolli_relaying *p, uint32_t rank, uint32_t operations)
{
    uint32_t before = p->started[rank];
    p->started[rank] = operations;
    for (uint32_t fragment = 0; fragment < p->fragments; fragment++) {
        uint32_t operation = nbcolli_relaying_operation(p, fragment);
        if (p->by[(size_t)rank * p->fragments + fragment] && operation >= before && operation < operations)
            nbcolli_relaying_release(p, rank, fragment); /* it is copied out */
    }
    nbcolli_relaying_contribute(p, rank);
}

/* The first fragment that is under way by that connection comes. */
static nbcoll_status nbcolli_relaying_come(nbcolli_relaying *p, nbcolli_relaying_connection *connection)
{
    uint32_t fragment = nbcolli_relaying_take(connection, connection->under_way), rank = (uint32_t)connection->to;
    uint32_t operation = nbcolli_relaying_operation(p, fragment), origin = nbcolli_relaying_origin(p, fragment);
    size_t at = (size_t)rank * p->fragments + fragment;

    if (p->by[at] || origin == rank)
        return nbcolli_relay_refute(p->out, NBCOLL_RELAY_FLAW_TWICE, p->topologies[rank], connection->beyond,
                                    (int)origin);
    if (++connection->held > connection->room)
        return nbcolli_relay_refute(p->out, NBCOLL_RELAY_FLAW_STORE, p->topologies[rank], connection->beyond,
                                    (int)origin);
    p->by[at] = 1 + (uint32_t)(connection - p->connection);
    p->refs[at] = 1;
    p->came[(size_t)rank * p->play->operations + operation]++;
    nbcolli_relaying_replicate(p, rank, connection->beyond, fragment);
    if (operation < p->started[rank])
        nbcolli_relaying_release(p, rank, fragment);
    nbcolli_relaying_contribute(p, rank);
    return NBCOLL_OK;
}

/* Until nothing is under way. */
static nbcoll_status nbcolli_relaying_run(nbcolli_relaying *p)
{
    nbcoll_status status = NBCOLL_OK;
    for (uint32_t idle = 0; idle < p->connections && status == NBCOLL_OK;) {
        p->random = p->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        uint32_t at = (uint32_t)((p->random >> 33) % p->connections);
        for (idle = 0; idle < p->connections && p->connection[at].under_way[0] == NBCOLLI_RELAYING_NONE; idle++)
            at = at + 1 < p->connections ? at + 1 : 0;
        if (idle < p->connections)
            status = nbcolli_relaying_come(p, &p->connection[at]);
    }
    return status;
}

/* Has all come that other ranks have contributed, of operations below `started[rank] + ahead` of all ranks? */
static nbcoll_status nbcolli_relaying_look(nbcolli_relaying *p, uint64_t ahead, nbcoll_relay_flaw flaw)
{
    uint64_t below = UINT64_MAX;
    for (uint32_t rank = 0; rank < p->ranks; rank++)
        below = p->started[rank] + ahead < below ? p->started[rank] + ahead : below;
    for (uint32_t fragment = 0; fragment < p->fragments; fragment++) {
        uint32_t origin = nbcolli_relaying_origin(p, fragment), operation = nbcolli_relaying_operation(p, fragment);
        for (uint32_t rank = 0; operation < p->started[origin] && operation < below && rank < p->ranks; rank++)
            if (rank != origin && !p->by[(size_t)rank * p->fragments + fragment])
                return nbcolli_relay_refute(p->out, flaw, p->topologies[rank], 0, (int)origin);
    }
    return NBCOLL_OK;
}

/* ---- playing ----------------------------------------------------------------------------------------------------- */

/* Lines for all destinations, with the room that their other end says. */
static nbcoll_status nbcolli_relaying_join(nbcolli_relaying *p, nbcolli_arena *arena)
{
    uint64_t each = (uint64_t)p->play->at_once * p->play->fragments;
    nbcolli_relaying_connection *connection = p->connection;
    for (uint32_t rank = 0; rank < p->ranks; rank++) {
        const nbcoll_topology *w = p->topologies[rank];
        p->outgoing[rank] = (uint32_t)(connection - p->connection);
        for (uint32_t relay = 0; relay < w->relays; relay++)
            for (uint32_t i = 0; i < w->relay[relay].destinations; i++, connection++) {
                const nbcoll_relay_end *to = &w->relay[relay].destination[i];
                if (to->rank < 0 || (uint32_t)to->rank >= p->ranks || to->relay >= p->topologies[to->rank]->relays)
                    return nbcolli_relay_refute(p->out, NBCOLL_RELAY_FLAW_END, w, relay, -1);
                const nbcoll_relay_end *end =
                    nbcolli_relay_source(p->topologies[to->rank], to->relay, (int)rank, relay);
                if (!end)
                    return nbcolli_relay_refute(p->out, NBCOLL_RELAY_FLAW_ONE_END, w, relay, -1);
                *connection =
                    (nbcolli_relaying_connection){(int)rank,
                                                  to->rank,
                                                  relay,
                                                  to->relay,
                                                  each * to->origins,
                                                  0,
                                                  each * end->origins,
                                                  {NBCOLLI_RELAYING_NONE, NBCOLLI_RELAYING_NONE},
                                                  {NBCOLLI_RELAYING_NONE, NBCOLLI_RELAYING_NONE},
                                                  nbcolli_arena_take(arena, p->fragments, sizeof *connection->next)};
                if (!connection->next)
                    return NBCOLL_ERR_MEMORY;
            }
    }
    return NBCOLL_OK;
}

static nbcoll_status nbcolli_relaying_all(nbcolli_relaying *p)
{
    for (uint32_t rank = 0; rank < p->ranks; rank++)
        nbcolli_relaying_start(p, rank, p->play->started[rank]);
    nbcoll_status status = nbcolli_relaying_run(p);
    if (status == NBCOLL_OK)
        status = nbcolli_relaying_look(p, p->play->at_once, NBCOLL_RELAY_FLAW_PROMISE);
    for (uint32_t rank = 0; rank < p->ranks && status == NBCOLL_OK; rank++)
        nbcolli_relaying_start(p, rank, p->play->operations);
    if (status == NBCOLL_OK)
        status = nbcolli_relaying_run(p);
    return status == NBCOLL_OK ? nbcolli_relaying_look(p, p->play->operations, NBCOLL_RELAY_FLAW_STUCK) : status;
}

static nbcoll_status nbcolli_relaying_room(nbcolli_relaying *p, nbcolli_arena *arena)
{
    size_t ranks = p->ranks;
    p->connection = nbcolli_arena_take(arena, p->connections, sizeof *p->connection);
    p->outgoing = nbcolli_arena_take(arena, ranks, sizeof *p->outgoing);
    p->by = nbcolli_arena_take(arena, ranks * p->fragments, sizeof *p->by);
    p->refs = nbcolli_arena_take(arena, ranks * p->fragments, sizeof *p->refs);
    p->came = nbcolli_arena_take(arena, ranks * p->play->operations, sizeof *p->came);
    p->started = nbcolli_arena_take(arena, ranks, sizeof *p->started);
    p->given = nbcolli_arena_take(arena, ranks, sizeof *p->given);
    return p->connection && p->outgoing && p->by && p->refs && p->came && p->started && p->given ? NBCOLL_OK
                                                                                                 : NBCOLL_ERR_MEMORY;
}

/* Are the numbers of the play sound? Counts what it takes. */
static nbcoll_status nbcolli_relaying_check(nbcolli_relaying *p, int ranks)
{
    const nbcoll_relay_play *play = p->play;
    uint64_t fragments = 0, connections = 0, all = 0;
    if (!play->at_once || !play->fragments || !play->operations)
        return NBCOLL_ERR_CONFIG;
    for (int rank = 0; rank < ranks; rank++) {
        if (play->started[rank] > play->operations)
            return NBCOLL_ERR_CONFIG;
        for (uint32_t relay = 0; relay < p->topologies[rank]->relays; relay++)
            connections += p->topologies[rank]->relay[relay].destinations;
    }
    if (__builtin_mul_overflow((uint64_t)play->operations * play->fragments, (uint64_t)ranks, &fragments) ||
        __builtin_mul_overflow(fragments, connections + (uint64_t)ranks, &all) || all > INT32_MAX)
        return NBCOLL_ERR_LIMIT;
    p->ranks = (uint32_t)ranks;
    p->fragments = (uint32_t)fragments;
    p->connections = (uint32_t)connections;
    return NBCOLL_OK;
}

nbcoll_status nbcoll_play_topologies(const nbcoll_topology *const topologies[], int ranks,
                                     const nbcoll_relay_play *play, nbcoll_relay_refutation *out)
{
    nbcolli_arena arena = {.host = {.size = sizeof arena.host}};
    if (!topologies || !play || !play->started)
        return NBCOLL_ERR_NULL;
    if (play->size < sizeof *play || (out && out->size < sizeof *out) ||
        (play->host && nbcolli_copy_tagged(&arena.host, play->host, sizeof arena.host) != NBCOLL_OK))
        return NBCOLL_ERR_CONFIG;
    nbcolli_relaying p = {.topologies = topologies, .play = play, .out = out, .random = play->seed};
    nbcoll_status status = nbcolli_topologies_check(topologies, ranks);
    if (status == NBCOLL_OK)
        status = nbcolli_relaying_check(&p, ranks);
    if (status == NBCOLL_OK)
        status = nbcolli_relaying_room(&p, &arena);
    if (status == NBCOLL_OK)
        status = nbcolli_relaying_join(&p, &arena);
    if (status == NBCOLL_OK)
        status = nbcolli_relaying_all(&p);
    nbcolli_arena_close(&arena);
    if (status == NBCOLL_OK && out)
        out->flaw = NBCOLL_RELAY_FLAW_NONE;
    return status;
}
