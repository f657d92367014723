/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A provider of libfabric's interface whose ranks all live in this process, for the ofi transport of a program that is
 * linked with --wrap of fi_getinfo, fi_fabric and connect: it delivers what is posted, late, in the order of each pair,
 * and completes it in any order; refuses posts, drops messages, fails what it is told to; all by a seed. It checks what it
 * is given: descriptors, lengths, keys.
 */
#ifndef TEST_OFI_FAKE_H
#define TEST_OFI_FAKE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct fake {
    uint64_t seed;
    int mr_mode;      /* FI_MR_... */
    size_t key_bytes; /* of a raw key */
    size_t inject;    /* bytes of a message that fi_inject takes */
    size_t piece;     /* bytes of a write, at most; 0: any */
    bool has_rma, has_fd;
    bool is_alone;    /* no socket connects: ENETUNREACH */
    unsigned refused; /* of 1000 posts: FI_EAGAIN */
    unsigned late;    /* reads of a completion queue that something takes, at most */
    /* So many from now on: messages of which nothing is said, sends and writes that fail. */
    int dropped, failed_sends, failed_writes;
} fake;

extern fake fake_provider;

/* Messages under way or not received, from all to all; fabrics, domains and all else that is open. */
int fake_messages(void);
int fake_open(void);

/* Raw keys that are mapped. */
int fake_mapped(void);

#endif
