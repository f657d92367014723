/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A provider of libfabric's interface whose ranks all live in this process, for the ofi transport of a program that is
 * linked with --wrap of fi_getinfo, fi_fabric and connect: it delivers what is posted, late, in the order of each pair,
 * and completes it in any order; refuses posts, drops messages, fails what it is told to; all by a seed. It checks what
 * it is given: descriptors, lengths, keys.
 */
#ifndef TEST_OFI_FAKE_H
#define TEST_OFI_FAKE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Of a program with a time, ranks and a judge of its own. */
typedef struct fake_world {
    void (*enters)(void); /* a call begins */
    uint64_t (*now)(void);
    int (*caller)(void);                               /* the rank that calls */
    void (*rings)(int rank, uint64_t at);              /* there may be something for it from then on */
    uint64_t (*passes)(int from, int to, uint64_t at); /* when something gets there that would then */
    void (*finds)(int rank, const char *what);         /* it was given what it must not be */
} fake_world;

typedef struct fake {
    const fake_world *world; /* null: its time are reads of completion queues, descriptors are the system's */
    uint64_t seed;
    int mr_mode;      /* FI_MR_... */
    size_t key_bytes; /* of a raw key */
    size_t inject;    /* bytes of a message that fi_inject takes */
    size_t piece;     /* bytes of a write, at most; 0: any */
    bool has_rma, has_fd;
    bool is_rxm;      /* by its name */
    bool is_alone;    /* no socket connects: ENETUNREACH */
    unsigned refused; /* of 1000 posts: FI_EAGAIN */
    unsigned late;    /* what something takes at most: reads of a completion queue, or of the world's time */
    /* So many from now on: messages of which nothing is said, sends and writes that fail, registrations
     * and endpoints for which there is no memory. */
    int dropped, failed_sends, failed_writes, refused_regions, refused_endpoints;
    int only; /* in a world: the calls of this rank */
} fake;

extern fake fake_provider;

/* Messages under way or not received, from all to all; fabrics, domains and all else that is open. */
int fake_messages(void);
int fake_open(void);

/* Raw keys that are mapped. */
int fake_mapped(void);

/* In a world: FAKE_FD and its rank is the descriptor of a completion queue. When there is something to be read by that
 * rank (UINT64_MAX: nothing is under way to it); it dies: from its endpoints nothing more comes, and what is sent to
 * them fails; a world begins. */
enum { FAKE_FD = 1 << 20 };
uint64_t fake_next(int rank);
void fake_dies(int rank);
void fake_begins(void);

#endif
