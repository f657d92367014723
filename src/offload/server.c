/* SPDX-License-Identifier: BSD-3-Clause
 * The process that executes programs of other processes: the other side of the command area (commands.h). It has an
 * agent for each rank, and makes each program its own before it looks at it. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* ppoll */
#endif
#include <poll.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../host/wakeup.h"
#include "agent.h"
#include "commands.h"

#define NBCOLLI_SERVER_PASSES 256u /* that moved something, from one look at the sockets to the next */
#define NBCOLLI_SERVER_LOOK 20000    /* ns; see NBCOLL_SERVE_OUTSIDE */
#define NBCOLLI_SERVER_REST 1000000  /* ns: the longest sleep while relays stand, of which nobody rings */

typedef struct nbcolli_server_program {
    nbcoll_program *program;
    nbcoll_program_run *run; /* null: the slot is free */
} nbcolli_server_program;

/* Memory of ranks, mapped once for all that have sent it: so it is registered once, too, where their endpoints share
 * that. */
typedef struct nbcolli_server_segment {
    uint64_t device, inode; /* of the file */
    int users;              /* ranks; 0: the place is free */
    void *memory;
    size_t bytes;
} nbcolli_server_segment;

typedef struct nbcolli_server_rank {
    nbcoll_endpoint *ep;
    nbcoll_agent *agent;
    int socket, watch; /* -1: it has gone. The other one polls readable when the process ends; -1: nobody tells */
    int is_attached, is_cancelled;
    nbcolli_commands *commands;
    nbcolli_server_segment *segment; /* the rank's memory; null: there is none */
    uint64_t taken;                 /* programs, in order */
    nbcolli_server_program *program; /* [programs], by slots */
} nbcolli_server_rank;

typedef struct nbcolli_server {
    nbcoll_host host;
    nbcolli_commands_control shape;
    int count, left; /* ranks, and those that have not gone */
    uint32_t flags;
    uint64_t open; /* programs that have not ended */
    long rest;     /* ns: the next sleep while relays stand, longer each time that nothing has moved */
    size_t memory;
    struct pollfd *polls;            /* [2 * count] */
    nbcolli_server_segment *segment; /* [count] */
    nbcolli_server_rank rank[];
} nbcolli_server;

/* ---- programs ---------------------------------------------------------------------------------------------------- */

/* After what the rank may wait for was stored seq_cst. */
static void nbcolli_server_wake(const nbcolli_server_rank *r)
{
    if (nbcolli_wakeup_take(&r->commands->rank_sleeps))
        nbcolli_commands_ring(r->socket);
}

static void nbcolli_server_publish(nbcolli_server_rank *r, uint32_t at, nbcoll_status status)
{
    r->commands->slot[at].status = status;
    /* seq_cst, both: it shows the rank all that came; and either the rank sees it before it sleeps, or it is seen here
     * that the rank sleeps */
    atomic_store(&r->commands->slot[at].state, NBCOLLI_COMMANDS_ENDED);
    nbcolli_server_wake(r);
}

/* One of its agents has published something in a store, seq_cst. What the reader says may be nonsense: then another
 * rank looks once in vain. */
static void nbcolli_server_wake_reader(void *user, const nbcolli_node_store *store, uint32_t reader)
{
    const nbcolli_server *s = user;
    uint32_t commands = atomic_load(nbcolli_node_store_commands(store, reader)); /* seq_cst: after what is published */
    if (commands && commands <= (uint32_t)s->count && s->rank[commands - 1].commands)
        nbcolli_server_wake(&s->rank[commands - 1]);
}

/* Memory of the rank's that begins where a slot says; null: there is none, or not wholly. */
static void *nbcolli_server_in_segment(const nbcolli_server_rank *r, const nbcolli_commands_slot *slot, int buffer,
                                       size_t bytes)
{
    const nbcolli_server_segment *segment = r->segment;
    uint64_t offset = slot->offset[buffer];
    int is_there = segment && offset <= segment->bytes && bytes <= segment->bytes - offset;
    return is_there ? (char *)segment->memory + offset : NULL;
}

/* Where a buffer lies here; null: nowhere, or not wholly in memory that is mapped. */
static void *nbcolli_server_place(const nbcolli_server *s, const nbcolli_server_rank *r, uint32_t at, int buffer,
                                 size_t bytes)
{
    const nbcolli_commands_slot *slot = &r->commands->slot[at];
    uint32_t where = slot->where[buffer];
    if (where == NBCOLLI_COMMANDS_COPY && bytes <= s->shape.copied)
        return nbcolli_commands_copy(r->commands, &s->shape, at, buffer);
    return where == NBCOLLI_COMMANDS_SEGMENT ? nbcolli_server_in_segment(r, slot, buffer, bytes) : NULL;
}

/* *out: where scratch memory lies that the rank has, too; null: it has none of it. */
static nbcoll_status nbcolli_server_scratch(const nbcolli_server *s, const nbcolli_server_rank *r, uint32_t at,
                                            size_t bytes, void **out)
{
    const nbcolli_commands_slot *slot = &r->commands->slot[at];
    uint64_t place = slot->scratch;
    int is_shared = slot->has_scratch != 0;
    if (is_shared && (place > s->shape.scratch || bytes > s->shape.scratch - place))
        return NBCOLL_ERR_ARGUMENT;
    *out = is_shared ? nbcolli_commands_scratch(r->commands, &s->shape) + place : NULL;
    return NBCOLL_OK;
}

/* Gives the agent pre-posted relays of what packed bytes say. */
static nbcoll_status nbcolli_server_give(nbcolli_server *s, const nbcolli_server_rank *r,
                                         const nbcolli_commands_slot *slot, nbcolli_node_relays_config *c)
{
    const nbcolli_node_store_shape shape = c->store.shape;
    nbcolli_node_relays *relays;
    c->bytes = nbcolli_node_store_bytes(&shape);
    c->memory = nbcolli_server_in_segment(r, slot, 0, c->bytes);
    if (!c->memory || (uintptr_t)c->memory % NBCOLLI_NODE_STORE_LINE)
        return NBCOLL_ERR_ARGUMENT;
    c->store = nbcolli_node_store_at(c->memory, &shape);
    c->wake = nbcolli_server_wake_reader;
    c->user = s;
    c->is_agents = 1;
    nbcoll_status status = nbcolli_node_relays_make(r->agent, c, &relays);
    return status == NBCOLL_OK ? nbcolli_node_relays_begin(relays) : status;
}

/* Of a rank there are no more of them at a time than programs. */
static nbcoll_status nbcolli_server_stand(nbcolli_server *s, const nbcolli_server_rank *r, uint32_t at)
{
    const nbcolli_commands_slot *slot = &r->commands->slot[at];
    nbcolli_arena arena = {.host = s->host};
    nbcolli_node_relays_config config;
    uint64_t bytes = slot->bytes;
    if (nbcolli_node_relays_all_count(r->agent) >= s->shape.programs)
        return NBCOLL_ERR_LIMIT;
    if (bytes > s->shape.tables)
        return NBCOLL_ERR_ARGUMENT;
    const char *tables = nbcolli_commands_tables(r->commands, &s->shape, at);
    nbcoll_status status = nbcolli_node_bytes_read(r->agent, &arena, tables, bytes, &config);
    if (status == NBCOLL_OK)
        status = nbcolli_server_give(s, r, slot, &config);
    nbcolli_arena_close(&arena);
    return status;
}

static nbcoll_status nbcolli_server_start(nbcolli_server *s, nbcolli_server_rank *r, uint32_t at)
{
    nbcolli_server_program *p = &r->program[at];
    uint64_t bytes = r->commands->slot[at].bytes;
    nbcoll_status status = NBCOLL_ERR_ARGUMENT;
    if (bytes <= s->shape.tables)
        status = nbcolli_packed_program_read(&s->host, nbcolli_commands_tables(r->commands, &s->shape, at), bytes,
                                             &p->program);
    if (status != NBCOLL_OK)
        return status;
    const size_t *extent = p->program->info.extent;
    const uint64_t number = r->commands->slot[at].number;
    nbcolli_agent_call call = {.send = nbcolli_server_place(s, r, at, NBCOLL_BUFFER_SEND, extent[NBCOLL_BUFFER_SEND]),
                               .recv = nbcolli_server_place(s, r, at, NBCOLL_BUFFER_RECV, extent[NBCOLL_BUFFER_RECV])};
    status = nbcolli_server_scratch(s, r, at, extent[NBCOLL_BUFFER_SCRATCH], &call.scratch);
    if (status == NBCOLL_OK)
        status = nbcolli_agent_make(r->agent, p->program, &call, &p->run);
    if (status == NBCOLL_OK) {
        nbcolli_agent_hand(p->run, number);
        s->open++;
        return status;
    }
    nbcoll_program_free(p->program);
    p->run = NULL;
    return status;
}

/* The slot of the next program, if there is one. */
static int nbcolli_server_next(const nbcolli_server *s, const nbcolli_server_rank *r, uint32_t *at)
{
    *at = (uint32_t)(r->taken % s->shape.programs);
    /* seq_cst: sees all of it, and comes after the word that says who sleeps */
    return !r->program[*at].run && atomic_load(&r->commands->slot[*at].state) == NBCOLLI_COMMANDS_HANDED;
}

/* Takes what a slot hands over. The slot has ended at once where a program is refused, and of relays in any case. */
static void nbcolli_server_take_slot(nbcolli_server *s, nbcolli_server_rank *r, uint32_t at)
{
    int is_relays = r->commands->slot[at].kind == NBCOLLI_COMMANDS_RELAYS;
    nbcoll_status status = is_relays ? nbcolli_server_stand(s, r, at) : nbcolli_server_start(s, r, at);
    if (!is_relays && status != NBCOLL_OK)
        nbcoll_agent_cancel(r->agent); /* so that those that need it do not wait */
    if (is_relays || status != NBCOLL_OK)
        nbcolli_server_publish(r, at, status);
}

/* One after the other, all that a rank may have handed over by now. */
static int nbcolli_server_take(nbcolli_server *s, nbcolli_server_rank *r)
{
    int moved = 0;
    for (uint32_t i = 0, at; i < s->shape.programs && nbcolli_server_next(s, r, &at); i++, moved = 1) {
        nbcolli_server_take_slot(s, r, at);
        r->taken++;
    }
    return moved;
}

static int nbcolli_server_report(nbcolli_server *s, nbcolli_server_rank *r)
{
    int moved = 0;
    for (uint32_t at = 0; at < s->shape.programs; at++) {
        nbcolli_server_program *p = &r->program[at];
        nbcoll_status status = p->run ? nbcoll_agent_test(p->run) : NBCOLL_PENDING;
        if (status == NBCOLL_PENDING)
            continue;
        nbcoll_program_free(p->program);
        p->run = NULL;
        s->open--;
        nbcolli_server_publish(r, at, status);
        moved = 1;
    }
    return moved;
}

/* ---- ranks ------------------------------------------------------------------------------------------------------- */

/* Its programs and relays end half way; nothing of it is touched any more. */
static void nbcolli_server_go(nbcolli_server *s, nbcolli_server_rank *r)
{
    nbcolli_node_relays_all_end(r->agent, NBCOLL_ERR_PEER_LOST);
    nbcoll_agent_cancel(r->agent);
    nbcoll_agent_progress(r->agent);
    if (r->commands)
        nbcolli_server_report(s, r);
    nbcoll_agent_close(r->agent);
    nbcoll_endpoint_close(r->ep);
    nbcolli_commands_unmap(r->commands, nbcolli_commands_bytes(&s->shape));
    if (r->segment && --r->segment->users == 0)
        nbcolli_commands_unmap(r->segment->memory, r->segment->bytes);
    if (r->watch >= 0)
        close(r->watch);
    close(r->socket);
    *r = (nbcolli_server_rank){.socket = -1, .watch = -1, .program = r->program};
    s->left--;
}

static nbcoll_status nbcolli_server_map(nbcolli_server *s, int fd, size_t bytes, nbcolli_server_segment **out)
{
    nbcolli_server_segment *free = NULL;
    struct stat file;
    if (fstat(fd, &file) != 0)
        return NBCOLL_ERR_TRANSPORT;
    for (nbcolli_server_segment *g = s->segment; g < s->segment + s->count; g++) {
        free = g->users ? free : g;
        if (g->users && g->device == file.st_dev && g->inode == file.st_ino && g->bytes == bytes) {
            g->users++;
            *out = g;
            return NBCOLL_OK;
        }
    }
    nbcoll_status status =
        nbcolli_commands_map(fd, bytes, &free->memory); /* a rank has one at most: there is a place */
    if (status != NBCOLL_OK)
        return status;
    free->device = file.st_dev;
    free->inode = file.st_ino;
    free->users = 1;
    free->bytes = bytes;
    *out = free;
    return NBCOLL_OK;
}

/* Takes the rank's control message, if it has come. */
static nbcoll_status nbcolli_server_attach(nbcolli_server *s, nbcolli_server_rank *r)
{
    nbcolli_commands_control l;
    int fd;
    nbcoll_status status = nbcolli_commands_receive(r->socket, &l, &fd);
    if (status != NBCOLL_OK)
        return status;
    if (fd >= 0 && l.segment)
        status = nbcolli_server_map(s, fd, l.segment, &r->segment);
    nbcolli_agent_keep(r->agent, r->commands, nbcolli_commands_bytes(&s->shape));
    if (r->segment)
        nbcolli_agent_keep(r->agent, r->segment->memory, r->segment->bytes);
    if (fd >= 0)
        close(fd);
    r->watch = nbcolli_commands_watch(l.pid);
    r->is_attached = 1;
    l = nbcolli_commands_control_of(r->ep->rank, r->ep->ranks);
    l.status = status;
    nbcoll_status sent = nbcolli_commands_send(r->socket, &l, -1);
    return status == NBCOLL_OK ? sent : status;
}

static void nbcolli_server_hear(nbcolli_server *s, nbcolli_server_rank *r, const struct pollfd polls[2])
{
    nbcoll_status status = NBCOLL_PENDING;
    if (r->socket < 0)
        return;
    if (polls[0].revents && !r->is_attached)
        status = nbcolli_server_attach(s, r);
    else if ((polls[0].revents || polls[1].revents) && !nbcolli_commands_hush(r->socket, r->watch))
        status = NBCOLL_ERR_PEER_LOST;
    if (status != NBCOLL_OK && status != NBCOLL_PENDING)
        nbcolli_server_go(s, r);
}

/* ---- the loop ---------------------------------------------------------------------------------------------------- */

static int nbcolli_server_pass(nbcolli_server *s)
{
    int moved = 0;
    for (int i = 0; i < s->count; i++) {
        nbcolli_server_rank *r = &s->rank[i];
        if (!r->is_attached)
            continue;
        if (!r->is_cancelled && atomic_load_explicit(&r->commands->is_cancelled, memory_order_relaxed)) { /* a wish */
            r->is_cancelled = moved = 1;
            nbcoll_agent_cancel(r->agent);
        }
        moved |= nbcolli_server_take(s, r);
        moved |= nbcoll_agent_progress(r->agent);
        moved |= nbcolli_server_report(s, r);
    }
    return moved;
}

/* Says on all command areas that it is about to sleep. 0: there is something to do. */
static int nbcolli_server_arm(nbcolli_server *s)
{
    int sleeps = 1;
    for (int i = 0; i < s->count; i++)
        if (s->rank[i].is_attached)
            atomic_store(&s->rank[i].commands->agent_sleeps, 1); /* seq_cst: before the looks */
    for (int i = 0; i < s->count; i++) {
        const nbcolli_server_rank *r = &s->rank[i];
        uint32_t at;
        if (r->is_attached && (nbcolli_server_next(s, r, &at) ||
                               (!r->is_cancelled && atomic_load(&r->commands->is_cancelled))))
            sleeps = 0;
    }
    return sleeps;
}

/* Do relays stand? Then looks are what finds that ranks have done something. */
static int nbcolli_server_stands(const nbcolli_server *s)
{
    for (int i = 0; i < s->count; i++)
        if (s->rank[i].is_attached && s->rank[i].agent->preposted)
            return 1;
    return 0;
}

/* How long it may sleep, if nobody rings; 0: for ever. */
static long nbcolli_server_patience(nbcolli_server *s)
{
    if (s->flags & NBCOLL_SERVE_OUTSIDE && s->open)
        return NBCOLLI_SERVER_LOOK;
    if (!nbcolli_server_stands(s))
        return 0;
    long rest = s->rest;
    s->rest = 2 * rest < NBCOLLI_SERVER_REST ? 2 * rest : NBCOLLI_SERVER_REST;
    return rest;
}

/* Looks at the sockets; sleeps until one of them has something, if nothing else is to be done. */
static void nbcolli_server_listen(nbcolli_server *s, int may_sleep)
{
    struct timespec sleep = {0, 0};
    const struct timespec *patience = &sleep;
    if (may_sleep && nbcolli_server_arm(s)) {
        sleep.tv_nsec = nbcolli_server_patience(s);
        patience = sleep.tv_nsec ? &sleep : NULL;
    }
    for (int i = 0; i < s->count; i++) {
        s->polls[2 * i] = (struct pollfd){s->rank[i].socket, POLLIN, 0};
        s->polls[2 * i + 1] = (struct pollfd){s->rank[i].watch, POLLIN, 0};
    }
    if (ppoll(s->polls, 2 * (nfds_t)s->count, patience, NULL) < 0) /* a signal */
        return;
    for (int i = 0; i < s->count; i++) {
        if (s->rank[i].is_attached && may_sleep)
            atomic_store_explicit(&s->rank[i].commands->agent_sleeps, 0,
                                  memory_order_relaxed); /* who took it has rung */
        nbcolli_server_hear(s, &s->rank[i], &s->polls[2 * i]);
    }
}

/* ---- its beginning and end --------------------------------------------------------------------------------------- */

/* Makes a rank's command area and says where it is. */
static nbcoll_status nbcolli_server_greet(nbcolli_server *s, nbcolli_server_rank *r)
{
    nbcolli_commands_control l = nbcolli_commands_control_of(r->ep->rank, r->ep->ranks);
    size_t bytes;
    void *commands;
    int fd;
    l.eager = r->agent->config.eager;
    l.depth = r->agent->config.depth;
    l.in_flight = r->agent->config.in_flight;
    l.programs = s->shape.programs;
    l.tables = s->shape.tables;
    l.copied = s->shape.copied;
    l.scratch = s->shape.scratch;
    l.commands = 1 + (uint32_t)(r - s->rank);
    bytes = nbcolli_commands_bytes(&l);
    nbcoll_status status = nbcolli_commands_make(bytes, &fd);
    if (status != NBCOLL_OK)
        return status;
    status = nbcolli_commands_map(fd, bytes, &commands);
    if (status == NBCOLL_OK) {
        r->commands = commands;
        (void)nbcolli_commands_send(r->socket, &l, fd); /* a rank that has gone is seen by its socket */
    }
    close(fd);
    return status;
}

static nbcoll_status nbcolli_server_begin(nbcolli_server *s, const nbcoll_agent_config *agent)
{
    nbcoll_status status = NBCOLL_OK;
    for (int i = 0; i < s->count && status == NBCOLL_OK; i++)
        status = nbcoll_agent_open(s->rank[i].ep, agent, &s->rank[i].agent);
    for (int i = 0; i < s->count && status == NBCOLL_OK; i++)
        status = nbcolli_server_greet(s, &s->rank[i]);
    return status;
}

/* Serves, or after an error closes all that it was given. */
static nbcoll_status nbcolli_server_all(nbcolli_server *s, const nbcoll_agent_config *agent)
{
    nbcoll_status status = nbcolli_server_begin(s, agent);
    for (int i = 0; i < s->count && status != NBCOLL_OK; i++) {
        if (s->rank[i].agent) {
            nbcolli_server_go(s, &s->rank[i]);
            continue;
        }
        nbcoll_endpoint_close(s->rank[i].ep);
        close(s->rank[i].socket);
    }
    for (unsigned busy = 0; status == NBCOLL_OK && s->left;) {
        int moved = nbcolli_server_pass(s);
        s->rest = moved ? NBCOLLI_SERVER_LOOK : s->rest;
        if (!moved || ++busy % NBCOLLI_SERVER_PASSES == 0)
            nbcolli_server_listen(s, !moved);
    }
    return status;
}

static nbcolli_server *nbcolli_server_new(const nbcoll_host *host, const nbcoll_serve_config *c)
{
    size_t count = (size_t)c->count;
    size_t ranks = nbcolli_lines(sizeof(nbcolli_server) + count * sizeof(nbcolli_server_rank));
    size_t polls = nbcolli_lines(2 * count * sizeof(struct pollfd));
    size_t segments = nbcolli_lines(count * sizeof(nbcolli_server_segment));
    size_t programs = c->programs * sizeof(nbcolli_server_program);
    size_t memory = ranks + polls + segments + count * programs;
    nbcolli_server *s = nbcolli_alloc(host, memory, 64);
    if (!s)
        return NULL;
    memset(s, 0, memory);
    s->host = *host;
    s->memory = memory;
    s->count = s->left = c->count;
    s->flags = c->flags;
    s->rest = NBCOLLI_SERVER_LOOK;
    s->shape.programs = c->programs;
    s->shape.tables = c->tables;
    s->shape.copied = c->copied;
    s->shape.scratch = c->scratch;
    s->polls = (struct pollfd *)(void *)((char *)s + ranks);
    s->segment = (nbcolli_server_segment *)(void *)((char *)s + ranks + polls);
    for (int i = 0; i < c->count; i++)
        s->rank[i] = (nbcolli_server_rank){
            .ep = c->endpoints[i],
            .socket = c->sockets[i],
            .watch = -1,
            .program = (nbcolli_server_program *)(void *)((char *)s + ranks + polls + segments + (size_t)i * programs)};
    return s;
}

nbcoll_status nbcoll_agent_serve(const nbcoll_serve_config *config)
{
    nbcoll_serve_config c = {0};
    nbcoll_agent_config agent = {.size = sizeof agent};
    nbcoll_host host = {0};
    if (!config)
        return NBCOLL_ERR_NULL;
    nbcoll_status status = nbcolli_copy_tagged(&c, config, sizeof c);
    if (status != NBCOLL_OK)
        return status;
    if (!c.endpoints || !c.sockets)
        return NBCOLL_ERR_NULL;
    if (c.agent)
        status = nbcolli_copy_tagged(&agent, c.agent, sizeof agent);
    if (status == NBCOLL_OK && agent.host && agent.host->size)
        status = nbcolli_copy_tagged(&host, agent.host, sizeof host);
    c.programs = c.programs ? c.programs : 32;
    c.tables = c.tables ? c.tables : 65536;
    c.copied = c.copied ? c.copied : 16384;
    c.scratch = c.scratch ? c.scratch : 1 << 20;
    const nbcolli_commands_control shape = {
        .programs = c.programs, .tables = c.tables, .copied = c.copied, .scratch = c.scratch};
    if (status == NBCOLL_OK && (c.count < 1 || c.flags & ~NBCOLL_SERVE_OUTSIDE || !nbcolli_commands_is_shape(&shape)))
        status = NBCOLL_ERR_CONFIG;
    nbcolli_server *s = status == NBCOLL_OK ? nbcolli_server_new(&host, &c) : NULL;
    if (s) {
        status = nbcolli_server_all(s, &agent);
        nbcolli_free(&host, s, s->memory);
        return status;
    }
    for (int i = 0; i < c.count; i++) {
        nbcoll_endpoint_close(c.endpoints[i]);
        close(c.sockets[i]);
    }
    return status == NBCOLL_OK ? NBCOLL_ERR_MEMORY : status;
}
