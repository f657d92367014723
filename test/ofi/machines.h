/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Two ranks on two machines: each a process in a network namespace of its own, joined by a veth pair or by a path that
 * relay.c makes bad. Include cmocka.h first.
 */
#ifndef TEST_OFI_MACHINES_H
#define TEST_OFI_MACHINES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <nbcoll/cluster.h>
#include <nbcoll/ofi.h>

#include "board.h"
#include "crew.h"

/* What becomes of a packet between the two, either way. */
typedef struct path {
    uint64_t delay_ns;
    unsigned lost, late; /* of 1000 packets; late ones are overtaken by others */
    unsigned mtu;        /* longer ones do not arrive; 0: all do */
    bool is_silent;      /* nobody tells the sender of these (no ICMP), else the relay does */
    bool is_one_way;     /* those of rank 1 arrive */
    bool is_probed;      /* the kernels look for what passes (tcp_mtu_probing) */
    int device_mtu;      /* of both ends; 0: 1500 */
} path;

/* What the two ranks and their parent tell each other. */
typedef struct pair {
    board *board;
    const path *path; /* null: a veth pair */
    uint32_t lost_ms; /* 0: as it is by default */
    bool is_v6;       /* by IPv6, whose addresses are tentative at first */
    bool is_late;     /* the link is up a second after the ranks have begun */
    bool are_one;     /* both have rank 0's address */
    nbcoll_tcp_id id;
    atomic_int is_named;      /* the id */
    atomic_int alone, joined; /* ranks in namespaces of their own; 1: the link is there */
    atomic_int is_cut;        /* the path passes nothing more */
    atomic_uint_fast64_t vanished;
    nbcoll_level price[2]; /* as each rank has it */
    atomic_int late; /* ranks that took longer than they may */
} pair;

typedef void machine_main(pair *p, int rank);

/* Can this process make a namespace, and in it a veth pair or, for a relay, a TUN device? */
bool machines_are_allowed(bool by_relay);

/* Runs two ranks, of which the second one is killed, if it is to vanish, when the first has ended. */
void machines_run(machine_main *main, pair *p, bool vanishes);

/* Runs all tests at the same time, each in a process of its own: they wait more than they work. Argument 1, if there is
 * one, is the name of the only one. Returns how many have failed. */
int machines_side_by_side(const struct CMUnitTest tests[], size_t n, int argc, char **argv);

/* ---- in a rank --------------------------------------------------------------------------------------------------- */

void must_run(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* This process is a machine of its own, at *address. */
void machine_begins(pair *p, int rank, char address[32]);
nbcoll_comm *machine_joins(pair *p, int rank, nbcoll_context **context);

/* Waits until *what is at least so much; adds 1 to it, which ends that. In memory that the processes share. */
void machine_awaits(atomic_int *what, int least);
void machine_tells(atomic_int *what);

/* Opens end[0..2) by nbcoll_cluster_open; the id is brought as below. */
void machine_opens(pair *p, int rank, nbcoll_endpoint *end[2]);

/* With what a program on two machines has: no memory that they share, but an id that somebody brings from one to the
 * other. They sum, and close. */
void machines_find_each_other(pair *p, int rank);

/* Allreduces of 1 to 100000 numbers, which are checked. */
void machine_sums(nbcoll_comm *comm);

/* ---- relay.c ----------------------------------------------------------------------------------------------------- */

/* Starts the process that is the path between the namespaces of two processes, as their devices nb0 and nb1. */
pid_t relay_starts(pair *p, const pid_t of[2]);

#endif
