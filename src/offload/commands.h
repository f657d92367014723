/* SPDX-License-Identifier: BSD-3-Clause
 * The command area: memory that a rank and the agent's process share, over which the one hands programs to the other;
 * and the control messages by which they find it. The process makes it, one for each rank. Private to this folder.
 *
 * A rank writes a program's tables, and where its buffers lie, into the next slot, and stores HANDED; the process takes
 * the slots in the same order, and stores ENDED into each when its program has; the rank reports it, and stores FREE.
 * Pre-posted relays come by a slot, too.
 * Who is about to sleep sets its word and looks once more; who has stored something for the other side takes that
 * side's word and rings: a byte on the socket. A rank sleeps so for all that the process stores for it, in slots and in
 * its node's store, where it has written which command area is its. All of these stores and looks are seq_cst; what
 * takes back the own word need not be (test/model/commands.pml). */
#ifndef NBCOLLI_OFFLOAD_COMMANDS_H
#define NBCOLLI_OFFLOAD_COMMANDS_H

#include <stdatomic.h>

#include "agent.h"
#include "node_relays.h"

typedef enum nbcolli_commands_state {
    NBCOLLI_COMMANDS_FREE,
    NBCOLLI_COMMANDS_HANDED,
    NBCOLLI_COMMANDS_ENDED
} nbcolli_commands_state;

/* RELAYS: their store is where a program's send buffer would be. The slot has ended when the process has taken them
 * over, or refused them: from then on their store says how they are. */
typedef enum nbcolli_commands_kind { NBCOLLI_COMMANDS_PROGRAM, NBCOLLI_COMMANDS_RELAYS } nbcolli_commands_kind;

/* Where a buffer lies. NOWHERE: the program touches none of it. */
typedef enum nbcolli_commands_where {
    NBCOLLI_COMMANDS_NOWHERE,
    NBCOLLI_COMMANDS_SEGMENT, /* at `offset` of the file that the rank has sent */
    NBCOLLI_COMMANDS_COPY     /* in the slot's own room */
} nbcolli_commands_where;

typedef struct nbcolli_commands_slot {
    _Alignas(64) _Atomic uint32_t state; /* nbcolli_commands_state */
    int32_t status;                      /* ENDED: the program's; the rest is the rank's */
    uint64_t bytes;                      /* of the tables */
    uint64_t offset[2];                  /* of send and receive buffer */
    uint32_t where[2];
    uint32_t kind;    /* nbcolli_commands_kind */
    uint32_t has_scratch; /* scratch memory lies at that place of the command area's; else it is the process's own */
    uint64_t scratch;
    uint64_t number; /* of a program, among those of the communicator */
} nbcolli_commands_slot;

typedef struct nbcolli_commands {
    _Alignas(64) _Atomic uint32_t agent_sleeps, is_cancelled;
    _Alignas(64) _Atomic uint32_t rank_sleeps;
    nbcolli_commands_slot slot[]; /* then, for each slot, room for tables, send buffer and receive buffer; then for
                                 scratch memory, which the rank lends to its runs (lent.c) */
} nbcolli_commands;

/* From the process: who it is, what it asks of programs, and the command area. The answer has the rank's memory, and a
 * last control message what the process makes of that. */
typedef struct nbcolli_commands_control {
    uint32_t magic, abi, task, view; /* sizes of what tables are made of */
    int32_t rank, ranks, status, pid;
    uint32_t commands; /* from the process: 1 + which of its command areas it is */
    uint64_t eager, tables, copied, scratch;
    uint32_t depth, in_flight, programs;
    uint64_t segment; /* bytes of the rank's memory; 0: it has none that can be named */
} nbcolli_commands_control;

#define NBCOLLI_COMMANDS_MAGIC UINT32_C(0x6e626b65)

/* May there be such a command area? Then its bytes can be counted. */
static inline int nbcolli_commands_is_shape(const nbcolli_commands_control *l)
{
    const uint64_t most = UINT64_C(1) << 30;
    return l->programs && l->programs <= 65536 && l->tables <= most && l->copied <= most && l->scratch <= most;
}

static inline size_t nbcolli_commands_room(const nbcolli_commands_control *l)
{
    return nbcolli_lines(l->tables) + 2 * nbcolli_lines(l->copied);
}

static inline size_t nbcolli_commands_bytes(const nbcolli_commands_control *l)
{
    return sizeof(nbcolli_commands) + l->programs * (sizeof(nbcolli_commands_slot) + nbcolli_commands_room(l)) +
           nbcolli_lines(l->scratch);
}

static inline char *nbcolli_commands_tables(nbcolli_commands *d, const nbcolli_commands_control *l, uint32_t slot)
{
    return (char *)(d->slot + l->programs) + slot * nbcolli_commands_room(l);
}

static inline char *nbcolli_commands_scratch(nbcolli_commands *d, const nbcolli_commands_control *l)
{
    return nbcolli_commands_tables(d, l, l->programs);
}

/* 0: the send buffer, 1: the receive buffer. */
static inline char *nbcolli_commands_copy(nbcolli_commands *d, const nbcolli_commands_control *l, uint32_t slot,
                                          int buffer)
{
    return nbcolli_commands_tables(d, l, slot) + nbcolli_lines(l->tables) + (size_t)buffer * nbcolli_lines(l->copied);
}

/* commands.c */
/* A control message of this version, of rank `rank`. */
nbcolli_commands_control nbcolli_commands_control_of(int rank, int ranks);
/* With a descriptor, or -1. ERR_PEER_LOST, ERR_TRANSPORT. */
nbcoll_status nbcolli_commands_send(int socket, const nbcolli_commands_control *l, int fd);
/* *fd: a descriptor that came with it, or -1. PENDING: none is there; ERR_PEER_LOST, ERR_ABI, ERR_TRANSPORT. */
nbcoll_status nbcolli_commands_receive(int socket, nbcolli_commands_control *l, int *fd);
/* Wakes the other side. */
void nbcolli_commands_ring(int socket);
/* A descriptor that polls readable when that process ends, since what it has forked may keep the socket open; -1:
 * nobody tells. */
int nbcolli_commands_watch(int pid);
/* Takes what has rung. 0: the other side has gone: it has closed its socket, or `watch` says that it has ended. */
int nbcolli_commands_hush(int socket, int watch);
/* Zeroed memory that can neither shrink nor grow. ERR_MEMORY, ERR_UNSUPPORTED. */
nbcoll_status nbcolli_commands_make(size_t bytes, int *fd);
/* Maps a file of that kind. ERR_ABI: it is another one; ERR_MEMORY. */
nbcoll_status nbcolli_commands_map(int fd, size_t bytes, void **out);
void nbcolli_commands_unmap(void *memory, size_t bytes);

/* program_bytes.c: programs as bytes. */
size_t nbcolli_packed_program_bytes(const nbcoll_program *p);
/* With blocks where they are bound to, so that who reads it knows of none. */
void nbcolli_packed_program_write(const nbcoll_program *p, const nbcolli_binding *b, const size_t extent[3], char *to);
/* Copies what that program writes to its receive buffer, of `extent` bytes, from one place of that to another. The
 * bytes say where, and another process may write to it: what lies beyond the buffer is left out. */
void nbcolli_packed_program_bring(const nbcoll_program *p, const char *packed, size_t extent, char *to,
                                  const char *from);
/* Makes a program of bytes that another process has written, and may write to meanwhile. ERR_ARGUMENT: it names what is
 * not there; ERR_MEMORY. */
nbcoll_status nbcolli_packed_program_read(const nbcoll_host *host, const char *from, size_t bytes,
                                          nbcoll_program **out);

/* node_bytes.c: relays of a node as bytes. */
size_t nbcolli_node_bytes_bytes(const nbcolli_node_relays_config *c);
void nbcolli_node_bytes_write(const nbcolli_node_relays_config *c, char *to);
/* Connections with that peer get numbers from `first` on: only then can it be read. */
void nbcolli_node_bytes_meet(char *packed, int peer, uint32_t first);
/* What an agent's process is to make of such bytes, which another process may write to meanwhile: all but the store's
 * place. It lies in the arena. ERR_ARGUMENT: its numbers are none that relays of this agent can have; ERR_MEMORY. */
nbcoll_status nbcolli_node_bytes_read(const nbcoll_agent *a, nbcolli_arena *arena, const char *from, size_t bytes,
                                       nbcolli_node_relays_config *out);

#endif
