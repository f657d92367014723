/* SPDX-License-Identifier: BSD-3-Clause
 * What the files of ofi in the storm's place share: the ranks' endpoints, their connections and timers. */
#ifndef STORM_OFI_H
#define STORM_OFI_H

#include <errno.h>

#include "../storm.h"
#include "../../ofi/fake.h"
#include "../../../transports/ofi/ofi.h"

/* What the network between the ranks is like. */
typedef struct climate {
    uint64_t far;                  /* ns that bytes of a connection take at most */
    unsigned interrupted, partial; /* of 1000: calls; sends that take a part only */
    uint32_t credits, lost_ms;
    int refuses, refused_call, refused_with; /* as weather's (shm.h) */
} climate;

/* The link between two ranks is down, from `since` till `until` (UINT64_MAX: for ever). */
typedef struct outage {
    int a, b;
    uint64_t since, until;
} outage;

typedef enum thing_kind { THING_GATHER, THING_TIMER, THING_LISTENER, THING_SOCKET } thing_kind;

typedef struct chunk { /* bytes under way, or not read */
    struct chunk *next;
    uint64_t at;
    size_t bytes, read;
    unsigned char data[];
} chunk;

typedef struct attended {
    int fd;
    uint32_t events, data;
} attended;

typedef struct thing {
    thing_kind kind;
    int rank;
    bool is_closed;
    attended *attended; /* GATHER */
    size_t n_attended;
    uint64_t at;            /* TIMER: when it wakes. SOCKET: when it is connected, or can be accepted */
    struct thing **waiting; /* LISTENER: connections that are not accepted */
    size_t n_waiting;
    struct thing *other; /* SOCKET: null where that is closed, or not connected */
    int peer;
    bool is_connecting, is_waiting;
    chunk *first;
    uint64_t ends_at; /* when its end is seen; UINT64_MAX: it has none */
    int error;        /* how it ends; 0: in good order */
} thing;

typedef struct station { /* a rank's */
    actor *actor;
    nbcoll_host host;
    nbcoll_endpoint *endpoint; /* null: it has none, or none any more */
    const nbcoll_transport *real;
    nbcoll_transport table;
    nbcoll_bulk bulk;
    nbcoll_wakeup wakeup;
    nbcoll_ofi_address address;
    int has_opened; /* 1: it has an address; -1: it has failed */
    bool is_opening, is_leaving, is_closed, is_gone, is_armed;
    int things; /* that are open */
    uint64_t calls;
    unsigned last_type;
    bool has_given_up[RANKS_MOST];
} station;

typedef struct ofi {
    storm *storm;
    climate climate;
    station station[RANKS_MOST];
    thing **thing; /* by descriptor */
    size_t things, things_room;
    outage outage; /* since UINT64_MAX: there is none */
} ofi;

extern ofi ofi_world;
extern const struct nbcolli_ofi_system lines_system;

enum { THING_FD = 5000 };

station *ofi_caller(void);
/* A call of the system's begins. Returns 0, or the errno with which it is refused. */
int ofi_call(station *p);
/* When something gets from one rank to another that would get there then: while the link is down, when that is up, and
 * its kernel tries again. */
uint64_t ofi_passes(int from, int to, uint64_t at);
/* The kernels of both ends find that the link stays down. */
void lines_break(const outage *o);
/* When a descriptor that gathers others is ready. */
uint64_t lines_next(const station *p, int fd);
void lines_die(station *p);
void lines_free(void);

#endif
