/* SPDX-License-Identifier: BSD-3-Clause
 * A rank whose programs another process executes: its side of the command area (commands.h). */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "../host/sleep.h"
#include "../host/wakeup.h"
#include "agent.h"
#include "commands.h"

#define NBCOLLI_ATTACHED_MINUTE (60 * UINT64_C(1000000000))
#define NBCOLLI_ATTACHED_LOOKS 64u /* unsuccessful tests from one look at the socket to the next */

struct nbcolli_attached {
    int socket, watch, is_lost;
    uint32_t looks;
    uint64_t started;
    nbcolli_commands_control shape;
    nbcolli_commands *commands;
    char *segment; /* what the process can name of this rank's memory; its bytes are 0 where that is nothing */
    size_t segment_bytes;
    nbcolli_loan *loans; /* of the command area's scratch memory, by places */
    nbcoll_program_run run[];  /* [shape.programs], by slots: agent, p, base, extent, set (the slot) */
};

static size_t nbcolli_attached_bytes(const nbcolli_commands_control *shape)
{
    return sizeof(nbcolli_attached) + shape->programs * sizeof(nbcoll_program_run);
}

/* ---- finding it -------------------------------------------------------------------------------------------------- */

/* *fd is -1 unless it came. */
static nbcoll_status nbcolli_attached_await(const nbcoll_host *host, int socket, uint64_t deadline,
                                          nbcolli_commands_control *l, int *fd)
{
    uint64_t looks = 0;
    for (;;) {
        struct pollfd polled = {socket, POLLIN, 0};
        nbcoll_status status = nbcolli_commands_receive(socket, l, fd);
        uint64_t left = nbcolli_time_left(host, deadline, UINT64_MAX);
        if (status != NBCOLL_PENDING)
            return status;
        if (!left)
            return NBCOLL_ERR_TIMEOUT;
        status = nbcolli_sleep(host, &polled, 1, left, &looks);
        if (status == NBCOLL_ERR_TRANSPORT)
            return status;
    }
}

int nbcolli_attached_process(const nbcoll_agent *a)
{
    return a->attached->shape.pid;
}

uint32_t nbcolli_attached_commands(const nbcoll_agent *a)
{
    return a->attached->shape.commands;
}

/* What it says of itself: programs are made for that. */
static nbcoll_status nbcolli_attached_shape(const nbcoll_agent *a, const nbcolli_commands_control *l)
{
    if (l->rank != a->rank || l->ranks != a->ranks)
        return NBCOLL_ERR_RANK;
    int is_whole = nbcolli_commands_is_shape(l) && l->depth && l->eager && l->in_flight && l->pid > 0;
    return is_whole ? nbcolli_ended_as((uint32_t)l->status) : NBCOLL_ERR_ABI;
}

/* This rank's memory there, if the transport can say where it lies; -1. */
static int nbcolli_attached_memory(nbcoll_endpoint *ep, void **base, size_t *bytes)
{
    const nbcoll_transport *t = ep->transport;
    const nbcoll_shared *group = t->size >= offsetof(nbcoll_transport, shared) + sizeof t->shared ? t->shared : NULL;
    if (!group || group->size < offsetof(nbcoll_shared, descriptor) + sizeof group->descriptor || !group->descriptor)
        return -1;
    return group->descriptor(ep, base, bytes);
}

static nbcoll_status nbcolli_attached_make(nbcoll_agent *a, const nbcoll_attach_config *config,
                                           const nbcolli_commands_control *shape, int fd)
{
    void *commands, *segment = NULL;
    nbcoll_status status = nbcolli_commands_map(fd, nbcolli_commands_bytes(shape), &commands);
    if (status != NBCOLL_OK)
        return status;
    nbcolli_attached *m = nbcolli_alloc(&a->host, nbcolli_attached_bytes(shape), 64);
    if (!m) {
        nbcolli_commands_unmap(commands, nbcolli_commands_bytes(shape));
        return NBCOLL_ERR_MEMORY;
    }
    memset(m, 0, nbcolli_attached_bytes(shape));
    m->socket = config->socket;
    m->watch = nbcolli_commands_watch(shape->pid);
    m->shape = *shape;
    m->commands = commands;
    a->attached = m;
    nbcolli_commands_control l = nbcolli_commands_control_of(a->rank, a->ranks);
    int memory = nbcolli_attached_memory(config->memory ? config->memory : a->ep, &segment, &m->segment_bytes);
    m->segment = segment;
    m->segment_bytes = memory < 0 ? 0 : m->segment_bytes;
    l.segment = m->segment_bytes;
    return nbcolli_commands_send(config->socket, &l, memory);
}

static nbcoll_status nbcolli_attached_open(nbcoll_agent *a, const nbcoll_attach_config *config)
{
    uint64_t deadline = nbcolli_deadline(&a->host, config->timeout ? config->timeout : NBCOLLI_ATTACHED_MINUTE);
    nbcolli_commands_control l;
    int fd, none;
    if (fcntl(config->socket, F_SETFD, FD_CLOEXEC) != 0)
        return NBCOLL_ERR_CONFIG;
    nbcoll_status status = nbcolli_attached_await(&a->host, config->socket, deadline, &l, &fd);
    if (status == NBCOLL_OK)
        status = nbcolli_attached_shape(a, &l);
    if (status == NBCOLL_OK) {
        a->config.eager = l.eager;
        a->config.depth = l.depth;
        a->config.in_flight = l.in_flight;
        status = nbcolli_attached_make(a, config, &l, fd);
    }
    if (fd >= 0)
        close(fd);
    if (status != NBCOLL_OK)
        return status;
    status = nbcolli_attached_await(&a->host, config->socket, deadline, &l, &none);
    if (none >= 0)
        close(none);
    return status == NBCOLL_OK ? nbcolli_ended_as((uint32_t)l.status) : status;
}

static void nbcolli_attached_free(nbcoll_agent *a)
{
    nbcolli_attached *m = a->attached;
    if (m) {
        nbcolli_commands_unmap(m->commands, nbcolli_commands_bytes(&m->shape));
        if (m->watch >= 0)
            close(m->watch);
        nbcolli_free(&a->host, m, nbcolli_attached_bytes(&m->shape));
    }
    nbcoll_host host = a->host;
    nbcolli_free(&host, a, sizeof *a);
}

nbcoll_status nbcoll_agent_attach(nbcoll_endpoint *ep, const nbcoll_attach_config *config, nbcoll_agent **out)
{
    nbcoll_attach_config c = {.socket = -1};
    nbcoll_host host = {0};
    if (!ep || !config || !out)
        return NBCOLL_ERR_NULL;
    nbcoll_status status = nbcolli_copy_tagged(&c, config, sizeof c);
    if (status == NBCOLL_OK && c.host && c.host->size)
        status = nbcolli_copy_tagged(&host, c.host, sizeof host);
    nbcoll_agent *a = status == NBCOLL_OK ? nbcolli_alloc(&host, sizeof *a, 64) : NULL;
    if (a) {
        memset(a, 0, sizeof *a);
        a->serves = &nbcolli_agent_serves.agent;
        a->host = host;
        a->ep = ep;
        a->rank = ep->rank;
        a->ranks = ep->ranks;
        a->alarm.bell = a->alarm.poller = -1;
        atomic_init(&a->failed, NBCOLL_OK);
        atomic_init(&a->open, 0);
        status = nbcolli_attached_open(a, &c);
    } else if (status == NBCOLL_OK)
        status = NBCOLL_ERR_MEMORY;
    if (status == NBCOLL_OK) {
        *out = a;
        return NBCOLL_OK;
    }
    if (a)
        nbcolli_attached_free(a);
    if (c.socket >= 0)
        close(c.socket);
    return status;
}

void nbcolli_attached_close(nbcoll_agent *a)
{
    close(a->attached->socket);
    nbcolli_attached_free(a);
}

/* ---- starting ---------------------------------------------------------------------------------------------------- */

static nbcolli_commands_where nbcolli_attached_where(const nbcolli_attached *m, const void *buffer, size_t bytes)
{
    /* as numbers: it may lie anywhere */
    uintptr_t at = (uintptr_t)buffer, base = (uintptr_t)m->segment;
    if (!bytes)
        return NBCOLLI_COMMANDS_NOWHERE;
    if (at >= base && bytes <= m->segment_bytes && at - base <= m->segment_bytes - bytes)
        return NBCOLLI_COMMANDS_SEGMENT;
    return NBCOLLI_COMMANDS_COPY;
}

uint64_t nbcolli_attached_tables(const nbcoll_agent *a, const nbcoll_program *p, uint64_t *allowed)
{
    *allowed = a->attached->shape.tables;
    return nbcolli_packed_program_bytes(p);
}

nbcoll_refusal_reason nbcolli_attached_refuses(const nbcoll_agent *a, const nbcoll_program *p, const size_t extent[3],
                                               const void *const buffer[2], uint64_t *needed, uint64_t *allowed)
{
    const nbcolli_attached *m = a->attached;
    *needed = nbcolli_attached_tables(a, p, allowed);
    if (*needed > *allowed)
        return NBCOLL_REFUSAL_TABLES;
    *allowed = m->shape.copied;
    for (int i = 0; i < 2; i++) {
        *needed = extent[i];
        if (*needed > *allowed && nbcolli_attached_where(m, buffer[i], *needed) == NBCOLLI_COMMANDS_COPY)
            return NBCOLL_REFUSAL_MEMORY;
    }
    *needed = *allowed = 0;
    return NBCOLL_REFUSAL_NONE;
}

/* Shows a slot its buffers. */
static void nbcolli_attached_place(nbcolli_attached *m, nbcolli_commands_slot *slot, const nbcoll_program_run *r)
{
    for (int i = 0; i < 2; i++) {
        size_t bytes = r->extent[i];
        slot->where[i] = nbcolli_attached_where(m, r->base[i], bytes);
        slot->offset[i] = slot->where[i] == NBCOLLI_COMMANDS_SEGMENT ? (uint64_t)(r->base[i] - m->segment) : 0;
        if (slot->where[i] == NBCOLLI_COMMANDS_COPY)
            memcpy(nbcolli_commands_copy(m->commands, &m->shape, r->set, i), r->base[i], bytes);
    }
}

/* After what the process may wait for was stored seq_cst. */
static void nbcolli_attached_wake(const nbcolli_attached *m)
{
    if (nbcolli_wakeup_take(&m->commands->agent_sleeps))
        nbcolli_commands_ring(m->socket);
}

/* The slot of the next start; null: it has not been reported. */
static nbcolli_commands_slot *nbcolli_attached_next(nbcolli_attached *m, uint32_t *at)
{
    *at = (uint32_t)(m->started % m->shape.programs);
    nbcolli_commands_slot *slot = &m->commands->slot[*at];
    /* acquire: stored by this rank, by whichever thread has taken the end of the last one there */
    return atomic_load_explicit(&slot->state, memory_order_acquire) == NBCOLLI_COMMANDS_FREE ? slot : NULL;
}

static void nbcolli_attached_publish(nbcolli_attached *m, nbcolli_commands_slot *slot)
{
    m->started++;
    atomic_store(&slot->state, NBCOLLI_COMMANDS_HANDED); /* seq_cst: with all of it; then the look whether it sleeps */
    nbcolli_attached_wake(m);
}

nbcoll_status nbcolli_attached_start(nbcoll_agent *a, const nbcoll_program *p, const void *const buffer[2],
                                     const char *scratch, const nbcolli_binding *binding, nbcoll_program_run **out)
{
    nbcolli_attached *m = a->attached;
    uint32_t at;
    nbcolli_commands_slot *slot = nbcolli_attached_next(m, &at);
    nbcoll_program_run *r = &m->run[at];
    if (!slot)
        return NBCOLL_ERR_LIMIT;
    r->agent = a;
    r->p = p;
    r->set = at;
    r->base[NBCOLL_BUFFER_SEND] = (char *)(uintptr_t)buffer[0]; /* only read */
    r->base[NBCOLL_BUFFER_RECV] = (char *)(uintptr_t)buffer[1];
    nbcoll_status status = nbcolli_bound_extent(p, binding, r->extent);
    if (status != NBCOLL_OK)
        return status;
    nbcolli_attached_place(m, slot, r);
    slot->kind = NBCOLLI_COMMANDS_PROGRAM;
    slot->has_scratch = scratch && r->extent[NBCOLL_BUFFER_SCRATCH];
    slot->scratch = slot->has_scratch ? (uint64_t)(scratch - nbcolli_commands_scratch(m->commands, &m->shape)) : 0;
    slot->bytes = nbcolli_packed_program_bytes(p);
    nbcolli_packed_program_write(p, binding, r->extent, nbcolli_commands_tables(m->commands, &m->shape, at));
    atomic_fetch_add_explicit(&a->open, 1, memory_order_relaxed); /* a count */
    *out = r;
    return NBCOLL_OK;
}

void nbcolli_attached_give(nbcoll_program_run *r, uint64_t number)
{
    nbcolli_attached *m = r->agent->attached;
    m->commands->slot[r->set].number = number;
    nbcolli_attached_publish(m, &m->commands->slot[r->set]);
}

/* ---- scratch memory ---------------------------------------------------------------------------------------------- */

size_t nbcolli_attached_lends(const nbcoll_agent *a)
{
    return a->attached->shape.scratch;
}

void *nbcolli_attached_lend(nbcoll_agent *a, size_t bytes, nbcolli_loan *loan)
{
    nbcolli_attached *m = a->attached;
    nbcolli_loan **at = &m->loans;
    size_t begin = 0;
    while (*at && (*at)->begin - begin < bytes) {
        begin = nbcolli_lines((*at)->end);
        at = &(*at)->next;
    }
    if (!*at && (begin > m->shape.scratch || m->shape.scratch - begin < bytes))
        return NULL;
    *loan = (nbcolli_loan){*at, begin, begin + bytes};
    *at = loan;
    return nbcolli_commands_scratch(m->commands, &m->shape) + begin;
}

void nbcolli_attached_take_back(nbcoll_agent *a, const nbcolli_loan *loan)
{
    nbcolli_loan **at = &a->attached->loans;
    while (*at != loan)
        at = &(*at)->next;
    *at = loan->next;
}

/* ---- ends -------------------------------------------------------------------------------------------------------- */

/* Takes what has rung, and sees whether the process is there. */
static void nbcolli_attached_listen(nbcolli_attached *m)
{
    if (!m->is_lost)
        m->is_lost = !nbcolli_commands_hush(m->socket, m->watch);
}

/* What the process has written lies in the slot; a last copy brings it to the rank. Where, and how much, the rank knows
 * itself: the process may write there still. */
static nbcoll_status nbcolli_attached_fetch(const nbcolli_attached *m, const nbcoll_program_run *r)
{
    nbcoll_status status = nbcolli_ended_as((uint32_t)m->commands->slot[r->set].status);
    size_t extent = r->extent[NBCOLL_BUFFER_RECV];
    char *to = r->base[NBCOLL_BUFFER_RECV];
    if (status == NBCOLL_OK && nbcolli_attached_where(m, to, extent) == NBCOLLI_COMMANDS_COPY)
        nbcolli_packed_program_bring(r->p, nbcolli_commands_tables(m->commands, &m->shape, r->set), extent, to,
                             nbcolli_commands_copy(m->commands, &m->shape, r->set, NBCOLL_BUFFER_RECV));
    return status;
}

nbcoll_status nbcolli_attached_test(nbcoll_program_run *r)
{
    nbcoll_agent *a = r->agent;
    nbcolli_attached *m = a->attached;
    nbcolli_commands_slot *slot = &m->commands->slot[r->set];
    nbcoll_status status = NBCOLL_ERR_PEER_LOST;
    int was_lost = m->is_lost;
    if (atomic_load_explicit(&slot->state, memory_order_acquire) ==
        NBCOLLI_COMMANDS_ENDED) /* sees what it has written */
        status = nbcolli_attached_fetch(m, r);
    else {
        if (++m->looks % NBCOLLI_ATTACHED_LOOKS == 0)
            nbcolli_attached_listen(m);
        if (!was_lost) /* what ended before the process did is looked at once more */
            return NBCOLL_PENDING;
    }
    if (status != NBCOLL_OK)
        atomic_store_explicit(&a->failed, status, memory_order_relaxed);
    /* release: for the next start there; the process awaits HANDED */
    atomic_store_explicit(&slot->state, NBCOLLI_COMMANDS_FREE, memory_order_release);
    atomic_fetch_sub_explicit(&a->open, 1, memory_order_release);
    return status;
}

int nbcolli_attached_has_ended(const nbcoll_program_run *r)
{
    const nbcolli_attached *m = r->agent->attached;
    return m->is_lost ||
           atomic_load(&m->commands->slot[r->set].state) == NBCOLLI_COMMANDS_ENDED; /* seq_cst: after the word */
}

int nbcolli_attached_watch(nbcoll_agent *a, int poller)
{
    nbcolli_attached *m = a->attached;
    struct epoll_event event = {.events = EPOLLIN};
    if (a->alarm.poller < 0) {
        nbcolli_attached_listen(m);
        if (m->is_lost || epoll_ctl(poller, EPOLL_CTL_ADD, m->socket, &event))
            return 0;
        a->alarm.poller = poller;
        if (m->watch >= 0)
            epoll_ctl(poller, EPOLL_CTL_ADD, m->watch, &event);
    }
    if (a->alarm.poller != poller) /* of another context, in the same wait */
        return 0;
    atomic_store(&m->commands->rank_sleeps, 1); /* seq_cst: before the look at runs and stores */
    return 1;
}

void nbcolli_attached_unwatch(nbcoll_agent *a)
{
    nbcolli_attached *m = a->attached;
    if (a->alarm.poller < 0)
        return;
    atomic_store_explicit(&m->commands->rank_sleeps, 0, memory_order_relaxed); /* who has taken it rings for nobody */
    epoll_ctl(a->alarm.poller, EPOLL_CTL_DEL, m->socket, NULL);
    if (m->watch >= 0)
        epoll_ctl(a->alarm.poller, EPOLL_CTL_DEL, m->watch, NULL);
    a->alarm.poller = -1;
    nbcolli_attached_listen(m);
}

void nbcolli_attached_cancel(nbcoll_agent *a)
{
    atomic_store(&a->attached->commands->is_cancelled, 1); /* seq_cst: then the look whether it sleeps */
    nbcolli_attached_wake(a->attached);
}

/* ---- pre-posted relays ------------------------------------------------------------------------------------------- */

int nbcolli_attached_shares(const nbcoll_agent *a, const void *memory, size_t bytes)
{
    return nbcolli_attached_where(a->attached, memory, bytes) == NBCOLLI_COMMANDS_SEGMENT;
}

size_t nbcolli_attached_room(const nbcoll_agent *a)
{
    return a->attached->shape.tables;
}

int nbcolli_attached_is_lost(nbcoll_agent *a)
{
    nbcolli_attached *m = a->attached;
    if (++m->looks % NBCOLLI_ATTACHED_LOOKS == 0)
        nbcolli_attached_listen(m);
    return m->is_lost;
}

nbcoll_status nbcolli_attached_hand(nbcoll_agent *a, const char *packed, size_t bytes, const void *store,
                                    uint32_t *at)
{
    nbcolli_attached *m = a->attached;
    nbcolli_commands_slot *slot = nbcolli_attached_next(m, at);
    if (!slot)
        return nbcolli_attached_is_lost(a) ? NBCOLL_ERR_PEER_LOST : NBCOLL_PENDING;
    slot->kind = NBCOLLI_COMMANDS_RELAYS;
    slot->where[0] = NBCOLLI_COMMANDS_SEGMENT;
    slot->offset[0] = (uint64_t)((const char *)store - m->segment);
    slot->bytes = bytes;
    memcpy(nbcolli_commands_tables(m->commands, &m->shape, *at), packed, bytes);
    nbcolli_attached_publish(m, slot);
    return NBCOLL_OK;
}

nbcoll_status nbcolli_attached_taken(nbcoll_agent *a, uint32_t at)
{
    nbcolli_commands_slot *slot = &a->attached->commands->slot[at];
    nbcoll_status status = NBCOLL_ERR_PEER_LOST;
    if (atomic_load(&slot->state) == NBCOLLI_COMMANDS_ENDED) /* seq_cst: sees how, and comes after the word */
        status = nbcolli_ended_as((uint32_t)slot->status);
    else if (!nbcolli_attached_is_lost(a))
        return NBCOLL_PENDING;
    /* release: for the next start there; the process awaits HANDED */
    atomic_store_explicit(&slot->state, NBCOLLI_COMMANDS_FREE, memory_order_release);
    return status;
}
