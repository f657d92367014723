/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the files of the exchange by TCP share. The rank that made the id is the host, the others are its guests. A
 * guest connects; the host says a random number; the guest another one, who it is, and a proof: a keyed hash of all
 * that, the secret being the key; the host its own proof; the guest its bytes; then the host, to all, a verdict, and
 * the bytes of all.
 *
 *     wire.c   proofs, reading and writing
 *     host.c   the host's side of an exchange
 *     guest.c  a guest's side of it
 *     tcp.c    ids, opening and closing
 *     meet.c   opening without an id
 */
#ifndef NBCOLLI_TCP_H
#define NBCOLLI_TCP_H

#include <stdbool.h>
#include <sys/socket.h>

#include "nbcoll/cluster.h"
#include "../host/host.h"

#define NBCOLLI_TCP_MAGIC UINT64_C(0x6e62746370310000) /* raised with every change of what travels */
#define NBCOLLI_TCP_ADDRESSES 8                        /* of an id, at most */
#define NBCOLLI_TCP_PATIENCE UINT64_C(5000000000)      /* with a stranger; and with a guest that is told the verdict */
#define NBCOLLI_TCP_PROBES 10   /* a second apart, not answered by the other's machine: then it is not there any more */
#define NBCOLLI_TCP_LOOK_MS 50 /* between two looks at the clock, which may be the host's */

typedef struct nbcolli_tcp_hello {
    uint64_t magic, nonce[2];
} nbcolli_tcp_hello;

typedef struct nbcolli_tcp_reply {
    uint64_t magic, nonce[2], round, bytes;
    uint32_t rank, ranks;
    uint64_t proof;
} nbcolli_tcp_reply;

typedef struct nbcolli_tcp_address {
    socklen_t bytes;
    struct sockaddr_storage at;
} nbcolli_tcp_address;

struct nbcoll_tcp {
    nbcoll_host host;
    int rank, ranks;
    uint64_t timeout, round;
    uint64_t secret[2];
    int listener;    /* of the host; else -1 */
    bool is_patient; /* the host may not listen yet */
    int addresses;
    nbcolli_tcp_address address[NBCOLLI_TCP_ADDRESSES];
};

nbcoll_status nbcolli_tcp_new(const nbcoll_tcp_config *config, nbcoll_tcp_config *c, nbcoll_tcp **out);
int nbcolli_tcp_listen(uint16_t port, int *family);

/* Proofs that sender and receiver know the secret, of a guest and of the host. */
uint64_t nbcolli_tcp_proof_of_guest(const nbcoll_tcp *t, const nbcolli_tcp_hello *said,
                                    const nbcolli_tcp_reply *reply);
uint64_t nbcolli_tcp_proof_of_host(const nbcoll_tcp *t, const nbcolli_tcp_hello *said, const nbcolli_tcp_reply *reply);
/* In a time that tells nothing of the two. */
bool nbcolli_tcp_is_proof(uint64_t said, uint64_t right);
uint64_t nbcolli_tcp_hash(const uint64_t key[2], const uint64_t *word, size_t words);

bool nbcolli_tcp_nonce(uint64_t nonce[2]);
uint64_t nbcolli_tcp_until(const nbcoll_tcp *t, uint64_t ns);

/* From now on the connection ends, too, where the other side's machine does not know of it any more, or is gone: so who
 * only reads learns of it. A connection that the other's system had made, and nobody accepted, may end unsaid. */
void nbcolli_tcp_watch(int fd);

/* Moves what the socket takes or gives now of [at + *done, at + bytes). False: it has ended, or failed. */
bool nbcolli_tcp_write(int fd, const void *at, size_t bytes, size_t *done);
bool nbcolli_tcp_read(int fd, void *at, size_t bytes, size_t *done);

nbcoll_status nbcolli_tcp_be_host(nbcoll_tcp *t, const void *mine, void *all, size_t bytes);
nbcoll_status nbcolli_tcp_be_guest(nbcoll_tcp *t, const void *mine, void *all, size_t bytes);

#endif
