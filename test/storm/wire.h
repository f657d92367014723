/* SPDX-License-Identifier: BSD-3-Clause
 * What wire.c, ends.c and bulk.c share: ends, orders (posts, gets and puts that are lent), registrations. */
#ifndef STORM_WIRE_H
#define STORM_WIRE_H

#include "storm.h"

typedef struct message {
    struct message *next; /* of those that the core reads, or that are unused */
    union {
        nbcoll_arrival arrival;
        nbcoll_line_arrival line;
    } as;
    bool is_line;
    int from;
    void *cut;   /* it has lost its end: where its pages are, of which the last one cannot be read */
    uint64_t at; /* from then on it can be seen */
    uint64_t data[];
} message;

typedef struct back { /* a work request that comes back */
    nbcoll_work *work;
    nbcoll_status status;
    uint64_t at;
} back;

#define NO_ROOM UINT64_MAX

struct end {
    nbcoll_endpoint base;
    nbcoll_transport table;
    nbcoll_bulk bulk; /* of the table */
    actor *actor;
    storm *storm;
    int number, rank;    /* of its net; of all */
    int who[RANKS_MOST]; /* has which rank on this net */
    net net;             /* as it is for this rank */
    uint64_t prices;     /* by this number */
    message **queue;
    size_t queued, queue_room;
    message *given;
    back *backs;
    size_t n_backs, backs_room;
    uint64_t room_at; /* when there is room again where a post was refused; NO_ROOM: when somebody makes some */
    bool is_refused;  /* since the last progress */
    bool is_armed, is_closed, is_gone; /* gone: dead or abandoned */
    uint64_t seen_at[RANKS_MOST];      /* when that rank sees that this one has closed, or is gone */
    bool has_seen[RANKS_MOST];         /* this one has reported that one */
    bool given_up[RANKS_MOST];
    uint64_t gave_up_at;            /* the last one */
    bool said_lost[RANKS_MOST];     /* the answer to a post: it touches nothing here any more */
    uint64_t lost_at[RANKS_MOST];   /* from then on that one is lost to this one, which lives; 0: it is not */
    bool touches[RANKS_MOST];       /* and may touch memory here till it is given up; */
    uint64_t over_at[RANKS_MOST];   /* then it is reported once more; 0: no more */
    uint32_t under_way[RANKS_MOST]; /* messages to that one */
    unsigned last_type;             /* of message that came: for the table of what was met */
};

typedef enum order_kind { ORDER_POST, ORDER_GET, ORDER_PUT } order_kind;

typedef struct order {
    order_kind kind;
    end *end;
    int peer;
    nbcoll_work *work;
    const nbcoll_header *header;
    const void *from;
    void *to;
    size_t bytes, offset;
    nbcoll_key key;
    uint64_t local; /* the id of a registration, or 0 */
    uint64_t sum;   /* of what was lent */
    uint64_t at;
    nbcoll_status fails; /* how, or OK */
} order;

typedef struct registered {
    end *end; /* null: it has ended */
    char *memory;
    size_t bytes;
    uint32_t access;
    int peer;
} registered;

typedef struct reserved {
    uint64_t at;
    size_t bytes;
} reserved;

struct wire {
    order *orders;
    size_t n_orders, orders_room;
    uint64_t orders_due;
    registered *registered; /* id - 1 is the index */
    size_t n_registered, registered_room;
    reserved *reserved[NETS][RANKS_MOST];
    size_t n_reserved[NETS][RANKS_MOST];
};

/* Makes room for one more in an array. */
void *grown(void *array, size_t n, size_t *room, size_t size);

/* That of another rank on the same net. Ranks are numbers of all, but for what the core says and is told. */
end *wire_end(const end *e, int rank);
bool wire_reaches(const end *e, int rank);
bool wire_waits_from(const end *e, int rank); /* for something that it has sent */
/* What it was given, and what is under way to it, is gone. */
void wire_clear(end *e);
extern const nbcoll_transport wire_calls;
extern const nbcoll_lines wire_lines, wire_lines_taken;
/* Lends it until a time that is drawn; then it is carried out. */
nbcoll_posted wire_lend(end *e, order o);
/* A message appears at the peer some time later. */
void wire_send(end *e, int peer, const nbcoll_header *header, const void *payload, size_t bytes);
/* An endpoint that has nothing but messages, not even a descriptor, and belongs to no net. */
nbcoll_endpoint *wire_stray(actor *a, end *e);
/* The answer where this cannot reach the peer at all, or -1. */
int wire_refuses(end *e, int peer);
/* For lack of room, or for a while. */
void wire_refused(end *e, bool is_full);

nbcoll_bulk bulk_table(const net *n);
extern const nbcoll_shared wire_shared, wire_shared_of_all;
/* Carries out a get or put that was lent: its status. */
nbcoll_status bulk_carry_out(storm *s, order *o);
void bulk_give_up(nbcoll_endpoint *ep, int peer);
int bulk_touches(nbcoll_endpoint *ep, int peer);
void bulk_closes(end *e);

#endif
