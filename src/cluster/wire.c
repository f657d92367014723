/* SPDX-License-Identifier: BSD-3-Clause
 * What both sides of an exchange by TCP do: proofs, reading and writing. See tcp.h. */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stddef.h>
#include <string.h>
#include <sys/random.h>

#include "tcp.h"

/* ---- proofs ------------------------------------------------------------------------------------------------------ */

static inline uint64_t nbcolli_tcp_turn(uint64_t x, int by)
{
    return x << by | x >> (64 - by);
}

static void nbcolli_tcp_sip_round(uint64_t v[4])
{
    v[0] += v[1];
    v[1] = nbcolli_tcp_turn(v[1], 13) ^ v[0];
    v[0] = nbcolli_tcp_turn(v[0], 32);
    v[2] += v[3];
    v[3] = nbcolli_tcp_turn(v[3], 16) ^ v[2];
    v[0] += v[3];
    v[3] = nbcolli_tcp_turn(v[3], 21) ^ v[0];
    v[2] += v[1];
    v[1] = nbcolli_tcp_turn(v[1], 17) ^ v[2];
    v[2] = nbcolli_tcp_turn(v[2], 32);
}

/* SipHash-2-4 (Aumasson and Bernstein) of whole words. */
uint64_t nbcolli_tcp_hash(const uint64_t key[2], const uint64_t *word, size_t words)
{
    uint64_t v[4] = {key[0] ^ UINT64_C(0x736f6d6570736575), key[1] ^ UINT64_C(0x646f72616e646f6d),
                     key[0] ^ UINT64_C(0x6c7967656e657261), key[1] ^ UINT64_C(0x7465646279746573)};

    for (size_t i = 0; i <= words; i++) {
        uint64_t m = i < words ? word[i] : (uint64_t)words << 59; /* 8 * words, in the highest byte */
        v[3] ^= m;
        nbcolli_tcp_sip_round(v);
        nbcolli_tcp_sip_round(v);
        v[0] ^= m;
    }
    v[2] ^= 0xff;
    for (int i = 0; i < 4; i++)
        nbcolli_tcp_sip_round(v);
    return v[0] ^ v[1] ^ v[2] ^ v[3];
}

static uint64_t nbcolli_tcp_proof(const nbcoll_tcp *t, const nbcolli_tcp_hello *said, const nbcolli_tcp_reply *reply,
                                  uint64_t who)
{
    enum { HELLO = sizeof *said / 8, REPLY = offsetof(nbcolli_tcp_reply, proof) / 8 };
    uint64_t word[1 + HELLO + REPLY] = {who};

    memcpy(word + 1, said, 8 * HELLO);
    memcpy(word + 1 + HELLO, reply, 8 * REPLY);
    return nbcolli_tcp_hash(t->secret, word, 1 + HELLO + REPLY);
}

uint64_t nbcolli_tcp_proof_of_guest(const nbcoll_tcp *t, const nbcolli_tcp_hello *said,
                                    const nbcolli_tcp_reply *reply)
{
    return nbcolli_tcp_proof(t, said, reply, 1);
}

uint64_t nbcolli_tcp_proof_of_host(const nbcoll_tcp *t, const nbcolli_tcp_hello *said, const nbcolli_tcp_reply *reply)
{
    return nbcolli_tcp_proof(t, said, reply, 2);
}

bool nbcolli_tcp_is_proof(uint64_t said, uint64_t right)
{
    volatile uint32_t differs = 0; /* no half is left out where a word is two registers */

    differs |= (uint32_t)(said ^ right);
    differs |= (uint32_t)((said ^ right) >> 32);
    return differs == 0;
}

bool nbcolli_tcp_nonce(uint64_t nonce[2])
{
    return getrandom(nonce, 16, 0) == 16;
}

/* ---- sockets ----------------------------------------------------------------------------------------------------- */

uint64_t nbcolli_tcp_until(const nbcoll_tcp *t, uint64_t ns)
{
    uint64_t now = nbcolli_now(&t->host);
    return ns < UINT64_MAX - now ? now + ns : UINT64_MAX;
}

void nbcolli_tcp_watch(int fd)
{
    const int on = 1, seconds = 1, probes = NBCOLLI_TCP_PROBES;

    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &seconds, sizeof seconds);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &seconds, sizeof seconds);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof probes);
}

bool nbcolli_tcp_write(int fd, const void *at, size_t bytes, size_t *done)
{
    while (*done < bytes) {
        ssize_t n = send(fd, (const char *)at + *done, bytes - *done, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return errno == EAGAIN || errno == EWOULDBLOCK;
        *done += (size_t)n;
    }
    return true;
}

bool nbcolli_tcp_read(int fd, void *at, size_t bytes, size_t *done)
{
    while (*done < bytes) {
        ssize_t n = recv(fd, (char *)at + *done, bytes - *done, MSG_DONTWAIT);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return errno == EAGAIN || errno == EWOULDBLOCK;
        if (n == 0)
            return false;
        *done += (size_t)n;
    }
    return true;
}
