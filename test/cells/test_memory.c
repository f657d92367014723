/* SPDX-License-Identifier: BSD-3-Clause
 * Memory that other ranks read in place: what the calls refuse, and that large data in it needs no messages, where no
 * process may read another's memory. And how much of it cells take. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "nbcoll/trace.h"

#include "../shm/ranks.h"
#include "native.h"
#include "world.h"

static void the_calls_refuse_what_is_not_theirs(void **state)
{
    nbcoll_loopback_config loopback = world_variant(WORLD_SHARED, 0), without_bulk = world_variant(1, 0);
    void *memory = NULL, *other = NULL;
    int mine;
    world w;
    (void)state;
    world_open(&w, 2, &loopback, NULL, NULL);
    EXPECT(ERR_NULL, nbcoll_mem_alloc(NULL, 1, &memory));
    EXPECT(ERR_NULL, nbcoll_mem_alloc(w.comm[0], 1, NULL));
    EXPECT(ERR_MEMORY, nbcoll_mem_alloc(w.comm[0], SIZE_MAX, &memory));
    EXPECT(ERR_MEMORY, nbcoll_mem_alloc(w.comm[0], SIZE_MAX - 200, &memory));
    assert_null(memory);
    EXPECT(OK, nbcoll_mem_alloc(w.comm[0], 0, &memory));
    EXPECT(OK, nbcoll_mem_alloc(w.comm[0], 1000, &other));
    assert_ptr_not_equal(memory, other);
    EXPECT(ERR_NULL, nbcoll_mem_free(NULL, memory));
    EXPECT(ERR_BUFFER, nbcoll_mem_free(w.comm[0], &mine));
    EXPECT(ERR_BUFFER, nbcoll_mem_free(w.comm[1], memory));
    EXPECT(ERR_BUFFER, nbcoll_mem_free(w.comm[0], (char *)other + 128));
    EXPECT(OK, nbcoll_mem_free(w.comm[0], NULL));
    EXPECT(OK, nbcoll_mem_free(w.comm[0], memory));
    EXPECT(ERR_BUFFER, nbcoll_mem_free(w.comm[0], memory));
    world_close(&w); /* `other` ends with its context */
    world_open(&w, 2, &without_bulk, NULL, NULL);
    EXPECT(ERR_UNSUPPORTED, nbcoll_mem_alloc(w.comm[0], 1, &memory));
    world_close(&w);
}

/* ---- over shm -------------------------------------------------------------------------------------------------- */

enum { BYTES = 300000, QUOTA = 1 << 20 };

struct plan {
    nbcoll_shm_config config;
    int is_shared; /* the buffers are */
    int sends;     /* a schedule's send, else a broadcast */
};

/* What the endpoint has brought. */
typedef struct tally {
    size_t payload, got;
} tally;

static void count(void *user, const nbcoll_trace_event *e)
{
    tally *t = user;
    t->payload += e->call == NBCOLL_TRACE_ARRIVED ? e->bytes : 0;
    t->got += e->call == NBCOLL_TRACE_GET ? e->bytes : 0;
}

static void join_traced(member *m, const nbcoll_shm_config *config, tally *t)
{
    nbcoll_trace_config trace = {.size = sizeof trace, .user = t, .event = count};
    nbcoll_endpoint *inner;
    native n;

    native_init(&n, NULL);
    CHECK_STATUS(NBCOLL_OK, nbcoll_shm_open(config, &inner));
    CHECK_STATUS(NBCOLL_OK, nbcoll_trace_open(&trace, inner, &m->endpoint));
    CHECK_STATUS(NBCOLL_OK, nbcoll_context_create(NBCOLL_ABI, NULL, &m->context));
    CHECK_STATUS(NBCOLL_OK, nbcoll_comm_create(m->context, m->endpoint, &n.config, &m->comm, 30 * SECOND));
}

static void move(const struct plan *p, nbcoll_comm *comm, void *data)
{
    int rank = nbcoll_comm_rank(comm);
    nbcoll_builder_config config = {.size = sizeof config, .rank = rank, .ranks = 2};
    nbcoll_addr at = {NBCOLL_BUFFER_RECV, 0};
    nbcoll_builder *b;
    nbcoll_schedule *s;
    nbcoll_request q;

    if (!p->sends) {
        CHECK_STATUS(NBCOLL_OK, nbcoll_bcast(data, BYTES, NBCOLL_BYTE, 0, comm, 30 * SECOND));
        return;
    }
    CHECK_STATUS(NBCOLL_OK, nbcoll_builder_open(&config, &b));
    if (rank == 0)
        nbcoll_add_send(b, 1, at, BYTES);
    else
        nbcoll_add_recv(b, 0, at, BYTES);
    CHECK_STATUS(NBCOLL_OK, nbcoll_builder_finish(b, &s));
    CHECK_STATUS(NBCOLL_OK, nbcoll_schedule_start(s, NULL, data, comm, &q));
    CHECK_STATUS(NBCOLL_OK, nbcoll_wait(&q, 30 * SECOND));
    CHECK_STATUS(NBCOLL_OK, nbcoll_schedule_free(s));
}

static void take_part(int rank, void *user)
{
    struct plan p = *(const struct plan *)user;
    void *memory = NULL, *more;
    tally t = {0, 0};
    member m;

    p.config.rank = rank;
    join_traced(&m, &p.config, &t);
    for (int peer = 0; peer < 2; peer++)
        CHECK(nbcoll_comm_shares(m.comm, peer) == (peer == rank)); /* so that messages are chosen */
    if (p.is_shared)
        CHECK_STATUS(NBCOLL_OK, nbcoll_mem_alloc(m.comm, BYTES, &memory));
    else
        memory = aligned_alloc(128, (BYTES + 127) / 128 * 128);
    CHECK((uintptr_t)memory % 128 == 0);
    unsigned char *data = memory;
    for (size_t i = 0; i < BYTES; i++) {
        CHECK(!p.is_shared || !data[i]);
        data[i] = (unsigned char)(rank ? 0 : i * 7 >> 3);
    }
    tally before = t;
    move(&p, m.comm, data);
    for (size_t i = 0; i < BYTES; i++)
        CHECK(data[i] == (unsigned char)(i * 7 >> 3));
    size_t payload = t.payload - before.payload, got = t.got - before.got;
    if (rank == 1 && p.is_shared)
        CHECK(payload <= sizeof(nbcoll_key) + 8 && got >= BYTES); /* where it is */
    if (rank == 1 && !p.is_shared)
        CHECK(payload >= BYTES && got == 0);
    CHECK_STATUS(NBCOLL_OK, nbcoll_barrier(m.comm, 30 * SECOND));
    CHECK_STATUS(NBCOLL_ERR_MEMORY, nbcoll_mem_alloc(m.comm, QUOTA + 1, &more));
    CHECK_STATUS(NBCOLL_ERR_MEMORY, nbcoll_mem_alloc(m.comm, SIZE_MAX, &more));
    if (p.is_shared) { /* it comes back zeroed */
        CHECK_STATUS(NBCOLL_OK, nbcoll_mem_free(m.comm, memory));
        CHECK_STATUS(NBCOLL_OK, nbcoll_mem_alloc(m.comm, BYTES, &more));
        CHECK(more == memory);
        for (size_t i = 0; i < BYTES; i++)
            CHECK(!data[i]);
    } else
        free(memory);
    member_leave(&m);
}

static void move_large_data(int is_shared)
{
    for (int sends = 0; sends < 2; sends++) {
        struct plan p = {.config = {.size = sizeof p.config, .id = fresh_id(), .ranks = 2, .quota = QUOTA,
                                    .flags = NBCOLL_SHM_NO_CMA | NBCOLL_SHM_NO_PIECES},
                         .is_shared = is_shared, .sends = sends};
        crew_succeeds(&PROCESSES_2, take_part, &p);
    }
}

static void large_data_in_it_moves_without_messages_where_processes_cannot_read_each_other(void **state)
{
    (void)state;
    move_large_data(1);
}

static void other_large_data_moves_in_fragments_there(void **state)
{
    (void)state;
    move_large_data(0);
}

/* A rank offers memory for all ranks of the parent before it is known how many are of its colour. */
static void cells_of_more_ranks_take_no_less(void **state)
{
    nbcoll_comm_config config = NBCOLL_COMM_DEFAULTS;
    (void)state;
    for (config.cells = 1; config.cells <= 8; config.cells *= 8)
        for (int ranks = 2; ranks <= 200; ranks++)
            assert_true(nbcoll_cells_bytes(&config, ranks) >= nbcoll_cells_bytes(&config, ranks - 1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_calls_refuse_what_is_not_theirs),
        cmocka_unit_test(large_data_in_it_moves_without_messages_where_processes_cannot_read_each_other),
        cmocka_unit_test(other_large_data_moves_in_fragments_there),
        cmocka_unit_test(cells_of_more_ranks_take_no_less),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
