/* SPDX-License-Identifier: BSD-3-Clause
 * No element of a list of buffers is copied twice: the library reads each byte of what is sent once, and writes each
 * byte of what is received once. The program is linked so that memcpy and memmove come here first (--wrap). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "nbcoll/lists.h"
#include "world.h"

enum { RANKS = 3, PIECES = 5, ALL = 3 + 4000 + 1 + 900 + 70, BYTES = ALL * 4, MOST = RANKS * PIECES };

static const size_t counts[PIECES] = {3, 4000, 1, 900, 70};

/* ---- what is counted --------------------------------------------------------------------------------------------- */

typedef struct side {
    unsigned char *memory; /* of all pieces, with gaps */
    nbcoll_list_piece piece[MOST];
    size_t bytes, pieces;
    size_t out, in; /* bytes that were copied */
} side;

static side sends[RANKS], recvs[RANKS];

static int is_in(const side *s, const void *at)
{
    return s->memory && (uintptr_t)at - (uintptr_t)s->memory < s->bytes;
}

static void count(const void *to, const void *from, size_t n)
{
    for (int r = 0; r < RANKS; r++) {
        sends[r].out += is_in(&sends[r], from) ? n : 0;
        sends[r].in += is_in(&sends[r], to) ? n : 0;
        recvs[r].out += is_in(&recvs[r], from) ? n : 0;
        recvs[r].in += is_in(&recvs[r], to) ? n : 0;
    }
}

void *__real_memcpy(void *to, const void *from, size_t n);
void *__wrap_memcpy(void *to, const void *from, size_t n);
void *__wrap_memcpy(void *to, const void *from, size_t n)
{
    count(to, from, n);
    return __real_memcpy(to, from, n);
}

void *__real_memmove(void *to, const void *from, size_t n);
void *__wrap_memmove(void *to, const void *from, size_t n);
void *__wrap_memmove(void *to, const void *from, size_t n)
{
    count(to, from, n);
    return __real_memmove(to, from, n);
}

/* ---- lists ------------------------------------------------------------------------------------------------------- */

/* `times` of each piece, in turn, 8 bytes apart. */
static void side_open(side *s, size_t times)
{
    *s = (side){.bytes = times * (BYTES + 8 * PIECES), .pieces = times * PIECES};
    s->memory = times ? calloc(1, s->bytes) : NULL;
    unsigned char *at = s->memory;
    for (size_t i = 0; i < s->pieces; at += counts[i++ % PIECES] * 4 + 8)
        s->piece[i] = (nbcoll_list_piece){at, counts[i % PIECES]};
}

typedef nbcoll_status starts(const nbcoll_lists *l, nbcoll_comm *comm, nbcoll_request *request);

/* One operation of all ranks. */
static void run(starts *start, size_t sent, size_t received)
{
    nbcoll_lists *lists[RANKS];
    nbcoll_request request[RANKS];
    world w;

#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
    skip(); /* their copies are functions of their own */
#endif
    world_open(&w, RANKS, NULL, NULL, NULL);
    for (int r = 0; r < RANKS; r++) {
        side_open(&sends[r], sent);
        side_open(&recvs[r], received);
        EXPECT(OK, nbcoll_lists_make(w.context[r], NBCOLL_INT32, NBCOLL_SUM, sends[r].pieces, sends[r].piece,
                                     recvs[r].pieces, recvs[r].piece, &lists[r]));
    }
    for (int r = 0; r < RANKS; r++)
        EXPECT(OK, start(lists[r], w.comm[r], &request[r]));
    world_finish(&w, RANKS, request);
    for (int r = 0; r < RANKS; r++) {
        nbcoll_lists_free(lists[r]);
        free(sends[r].memory);
        free(recvs[r].memory);
        sends[r].memory = recvs[r].memory = NULL;
    }
    world_close(&w);
}

static nbcoll_status broadcast(const nbcoll_lists *l, nbcoll_comm *comm, nbcoll_request *request)
{
    return nbcoll_ibcast(l->recv, l->received, l->type, 0, comm, request);
}

static nbcoll_status gather(const nbcoll_lists *l, nbcoll_comm *comm, nbcoll_request *request)
{
    return nbcoll_iallgather(l->send, l->recv, l->sent, l->type, comm, request);
}

static nbcoll_status sum(const nbcoll_lists *l, nbcoll_comm *comm, nbcoll_request *request)
{
    return nbcoll_iallreduce(l->send, l->recv, l->received, l->type, l->op, comm, request);
}

static void a_broadcast_reads_once_and_writes_once(void **state)
{
    (void)state;
    run(broadcast, 0, 1);
    assert_int_equal(recvs[0].out, BYTES);
    assert_int_equal(recvs[0].in, 0);
    for (int r = 1; r < RANKS; r++) {
        assert_true(recvs[r].out <= BYTES); /* to pass it on, as it came */
        assert_int_equal(recvs[r].in, BYTES);
    }
}

/* Its own block, too, which goes to its place from what is sent. */
static void an_allgather_reads_once_and_writes_once(void **state)
{
    (void)state;
    run(gather, 1, RANKS);
    for (int r = 0; r < RANKS; r++) {
        assert_int_equal(sends[r].out + recvs[r].out, BYTES);
        assert_int_equal(sends[r].in, 0);
        assert_int_equal(recvs[r].in, RANKS * BYTES);
    }
}

static void an_allreduce_reads_once_and_writes_once(void **state)
{
    (void)state;
    run(sum, 1, 1);
    for (int r = 0; r < RANKS; r++) {
        assert_int_equal(sends[r].out + recvs[r].out, BYTES);
        assert_int_equal(sends[r].in, 0);
        assert_int_equal(recvs[r].in, BYTES);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_broadcast_reads_once_and_writes_once),
                                       cmocka_unit_test(an_allgather_reads_once_and_writes_once),
                                       cmocka_unit_test(an_allreduce_reads_once_and_writes_once)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
